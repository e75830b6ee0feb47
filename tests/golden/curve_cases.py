"""The losses of 300 steps of AdamW, for products of less precision to be compared with."""

import torch

import reference
import transformer_cases
from group import Group

STEPS, BATCH, LENGTH = 300, 4, 16
SCHEDULE = {"lr_max": 3e-3, "lr_min": 3e-4, "warmup_steps": 20, "cycle_steps": 300}
# Products of these sizes are large enough for tiles.
OPTIONS = transformer_cases.DEFAULTS | dict(vocab_size=32, max_seq_len=16, d_model=32, d_ff=64)


def batches(case):
    """Each id follows from the one before, but for one in four, which is random."""
    ids = [case.integers(OPTIONS["vocab_size"], STEPS, BATCH)]
    for position in range(1, LENGTH + 1):
        follows = (7 * ids[-1] + 3) % OPTIONS["vocab_size"]
        ids.append(follows if position % 4 else case.integers(OPTIONS["vocab_size"], STEPS, BATCH))
    windows = torch.stack(ids, dim=-1)
    return windows[..., :-1], windows[..., 1:]


def make():
    group = Group()
    case = group.case("curve", "transformer_lm", **OPTIONS,
                      train={**transformer_cases.OPTIMIZER, **SCHEDULE, "schedule": "cosine",
                             "max_norm": 1.0, "steps": STEPS})
    # Rounded to f32, which takes half the space; the course begins from the rounded numbers.
    state = {}
    for key, shape in reference.transformer_shapes(OPTIONS).items():
        value = case.initial(key, shape).to(torch.float32)
        case.store(f"param.{key}", value)
        state[key] = value.to(torch.float64).requires_grad_()
    ids, targets = batches(case)
    case.store("train.ids", ids)
    case.store("train.targets", targets)
    losses, _, _ = transformer_cases.train(state, ids, targets, OPTIONS, 1.0, SCHEDULE)
    case.store("train.losses", losses)
    return group
