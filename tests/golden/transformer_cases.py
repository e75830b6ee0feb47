"""Tiny TransformerLMs: logits, loss, all gradients, and ten steps of AdamW."""

import torch
import torch.nn.functional as F

import reference
import schedules
from group import Group

STEPS = 10
BATCH, LENGTH = 2, 5
OPTIMIZER = {"betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
SCHEDULE = {"lr_max": 1e-2, "lr_min": 1e-3, "warmup_steps": 2, "cycle_steps": 8}

DEFAULTS = dict(vocab_size=11, max_seq_len=8, n_layers=2, d_model=8, n_heads=2, n_kv_heads=2,
                d_ff=12, norm="rms", norm_position="pre", ffn="swiglu", rope_theta=10000.0,
                rope_layout="interleaved", qkv_bias=False, tie_embeddings=False)


def batches(case, vocab_size):
    """Ids and targets of every step, each [STEPS, BATCH, LENGTH]; each id decides the next one.

    The last id never occurs, so one row of an untied embedding has gradient zero and only decays.
    """
    last = vocab_size - 1
    ids = [case.integers(last, STEPS, BATCH)]
    for _ in range(LENGTH):
        ids.append((7 * ids[-1] + 3) % last)
    windows = torch.stack(ids, dim=-1)
    return windows[..., :-1], windows[..., 1:]


def loss_of(state, ids, targets, options):
    logits = reference.transformer_lm(state, ids, options)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def train(state, all_ids, all_targets, options, max_norm, schedule=SCHEDULE):
    """A step for each batch; weight decay on matrices only. Returns losses, norms before clipping,
    rates."""
    decayed = [p for p in state.values() if p.dim() >= 2]
    others = [p for p in state.values() if p.dim() < 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed}, {"params": others, "weight_decay": 0.0}],
        lr=0.0, foreach=False, betas=tuple(OPTIMIZER["betas"]), eps=OPTIMIZER["eps"],
        weight_decay=OPTIMIZER["weight_decay"])
    losses, norms, rates = [], [], []
    for step in range(len(all_ids)):
        optimizer.zero_grad()
        loss = loss_of(state, all_ids[step], all_targets[step], options)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(state.values(), max_norm, foreach=False)
        rate = schedules.cosine(step, **schedule)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        losses.append(loss.item())
        norms.append(norm.item())
        rates.append(rate)
    return torch.tensor(losses), torch.tensor(norms), torch.tensor(rates)


def add(group, name, keep_final=False, max_norm=1.0, **changes):
    options = DEFAULTS | changes
    case = group.case(name, "transformer_lm", **options,
                      train={**OPTIMIZER, **SCHEDULE, "schedule": "cosine", "max_norm": max_norm,
                             "steps": STEPS})
    # A tied embedding is the last projection too, so it starts as small as one.
    embedding_scale = options["d_model"] ** -0.5 if options["tie_embeddings"] else 1.0
    state = case.params(reference.transformer_shapes(options), embedding_scale)

    all_ids, all_targets = batches(case, options["vocab_size"])
    ids, targets = all_ids[0], all_targets[0]
    case.constant("ids", ids)
    case.constant("targets", targets)
    case.store("train.ids", all_ids)
    case.store("train.targets", all_targets)

    case.value(reference.transformer_lm(state, ids, options))
    loss = loss_of(state, ids, targets, options)
    case.store("loss", loss)
    case.gradients(loss, torch.ones(()))

    trained = {key: value.detach().clone().requires_grad_() for key, value in state.items()}
    losses, norms, rates = train(trained, all_ids, all_targets, options, max_norm)
    case.store("train.losses", losses)
    case.store("train.grad_norms", norms)
    case.store("train.lrs", rates)
    if keep_final:
        for key, value in trained.items():
            case.store(f"train.final.{key}", value)


def make():
    group = Group()
    add(group, "default", keep_final=True)
    add(group, "tied", n_layers=1, d_ff=9, tie_embeddings=True, keep_final=True)
    # Some of this one's gradients are below the limit and some above.
    add(group, "post_layer_norm", max_norm=1.5, n_layers=1, norm="layer", norm_position="post",
        ffn="relu")
    add(group, "grouped_half_split_gelu", n_layers=1, d_model=12, n_heads=3, n_kv_heads=1,
        rope_layout="half_split", ffn="gelu", norm="layer")
    add(group, "nope_no_norm", n_layers=1, norm="none", rope_theta=None, ffn="silu")
    add(group, "qkv_bias_tied", n_layers=1, n_kv_heads=1, qkv_bias=True, tie_embeddings=True,
        rope_theta=500.0)
    return group
