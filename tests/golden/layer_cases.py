"""Cases of single layers: forward and every gradient."""

import torch
import torch.nn.functional as F

import reference
from group import Group

INF = torch.inf
LENGTH = 4


def linear(group):
    for name, shape, bias in (("linear", (4, 7), False), ("linear_bias", (4, 7), True),
                              ("linear_1d_bias", (7,), True), ("linear_4d", (2, 1, 2, 7), False),
                              ("linear_4d_bias", (2, 1, 2, 7), True)):
        case = group.case(name, "linear", bias=bias)
        x = case.input("x", case.normal(*shape))
        weight = case.param("weight", case.normal(5, 7))
        case.finish(F.linear(x, weight, case.param("bias", case.normal(5)) if bias else None))


def embedding(group):
    for name, ids in (("embedding", [3, 0, 3, 10, 3]),
                      ("embedding_2d", [[1, 1, 4], [4, 1, 9]])):
        case = group.case(name, "embedding")
        ids = case.constant("ids", torch.tensor(ids))
        case.finish(F.embedding(ids, case.param("weight", case.normal(11, 6))))


def rope(group):
    batch_positions = torch.tensor([[0, 1, 2], [7, 30, 7]])
    forms = (
        ("", (1, 2, 5, 6), 10000.0, None),
        ("_2d", (3, 8), 10000.0, None),
        ("_theta", (1, 2, 3, 4), 500.0, None),
        ("_positions", (1, 2, 3, 4), 10000.0, torch.tensor([4, 0, 31])),
        ("_batch_positions", (2, 2, 3, 4), 10000.0, batch_positions),
        ("_batch_positions_3d", (2, 3, 4), 100.0, batch_positions),
    )
    for layout in ("interleaved", "half_split"):
        for suffix, shape, theta, positions in forms:
            case = group.case(f"rope_{layout}{suffix}", "rope", theta=theta, layout=layout,
                              max_seq_len=32)
            x = case.input("x", case.normal(*shape))
            if positions is not None:
                case.constant("positions", positions)
            case.finish(reference.rope(x, positions, theta, layout))


SOFTMAXES = {
    "softmax": reference.softmax,
    "log_softmax": torch.log_softmax,
    "logsumexp": torch.logsumexp,
}


def softmaxes(group):
    huge = torch.tensor([[1000.0, 999.5, -1000.0, 998.0], [-1e30, -1e30, -1e30, -1e30],
                         [1e30, 1e30, 0.0, -1e30], [-1000.0, -1001.0, -1000.5, -999.0]])
    masked = torch.tensor([[0.5, -INF, -0.25, -INF], [-INF, 2.0, -INF, -INF],
                           [1.5, 0.25, -1.0, 0.75]])
    for layer, function in SOFTMAXES.items():
        for suffix, dim in (("dim0", 0), ("dim1", 1), ("last", -1)):
            case = group.case(f"{layer}_{suffix}", layer, dim=dim)
            case.finish(function(case.input("x", 2.0 * case.normal(2, 3, 5)), dim))
        for suffix, values in (("huge", huge), ("neg_inf", masked)):
            if layer == "logsumexp" and suffix == "huge":
                # PyTorch's gradient is exp(x - out), where 1e30 + log 4 rounds to 1e30.
                values = values[[0, 3]]
            case = group.case(f"{layer}_{suffix}", layer, dim=-1)
            case.finish(function(case.input("x", values), -1))

    case = group.case("logsumexp_keepdim", "logsumexp", dim=1, keepdim=True)
    case.finish(torch.logsumexp(case.input("x", case.normal(2, 3, 5)), 1, keepdim=True))

    dead_row = torch.tensor([[-INF, -INF, -INF], [0.5, -INF, 1.5], [-INF, -INF, -INF]])
    case = group.case("softmax_all_neg_inf", "softmax", dim=-1)
    case.finish(reference.softmax(case.input("x", dead_row), -1))
    case = group.case("softmax_all_neg_inf_dim0", "softmax", dim=0)
    case.finish(reference.softmax(case.input("x", dead_row.T), 0))
    case = group.case("logsumexp_all_neg_inf", "logsumexp", dim=-1)
    case.value(torch.logsumexp(case.constant("x", dead_row), -1))


def attention(group):
    def add(name, q, k, v, mask=None, **options):
        case = group.case(f"attention_{name}", "scaled_dot_product_attention", **options)
        q, k, v = (case.input(n, case.normal(*s)) for n, s in (("q", q), ("k", k), ("v", v)))
        keep = None if mask is None else case.constant("mask", mask(case))
        case.finish(reference.attention(q, k, v, keep, **options))

    def random_mask(*shape):
        """Keeps about two keys in three, and key 0 always, so that no row is empty."""
        def make(case):
            mask = case.uniform(0.0, 1.0, *shape) < 0.66
            mask[..., 0] = True
            return mask
        return make

    def empty_rows(case):
        mask = random_mask(5, 7)(case)
        mask[1] = False
        mask[4] = False
        return mask

    square = ((2, 2, 4, 3), (2, 2, 4, 3), (2, 2, 4, 3))
    single = ((1, 2, 4, 3), (1, 2, 4, 3), (1, 2, 4, 3))
    longer = ((2, 2, 3, 3), (2, 2, 5, 3), (2, 2, 5, 3))
    add("plain", *square)
    add("2d", (5, 4), (7, 4), (7, 3))
    add("3d", (2, 4, 3), (2, 5, 3), (2, 5, 3))
    add("scale", *single, scale=0.3)
    add("value_width", (1, 2, 4, 3), (1, 2, 4, 3), (1, 2, 4, 5))
    add("mask", *square, mask=random_mask(2, 2, 4, 4))
    add("mask_shared", *longer, mask=random_mask(3, 5))
    add("mask_per_batch", *longer, mask=random_mask(2, 1, 1, 5))
    add("mask_empty_rows", (1, 2, 5, 3), (1, 2, 7, 3), (1, 2, 7, 2), mask=empty_rows)
    add("causal", *single, causal=True)
    add("causal_longer_keys", *longer, causal=True)
    add("causal_one_query", (2, 2, 1, 3), (2, 2, 6, 3), (2, 2, 6, 3), causal=True)
    add("causal_fewer_keys", (1, 2, 5, 3), (1, 2, 3, 3), (1, 2, 3, 3), causal=True)
    add("causal_mask", *longer, mask=random_mask(2, 1, 3, 5), causal=True)
    add("grouped", (1, 4, 4, 3), (1, 2, 4, 3), (1, 2, 4, 3))
    add("grouped_one", (2, 3, 4, 3), (2, 1, 4, 3), (2, 1, 4, 2), causal=True)
    add("grouped_mask", (2, 4, 3, 3), (2, 2, 5, 3), (2, 2, 5, 2), mask=random_mask(2, 1, 3, 5),
        causal=True, scale=0.7)


def self_attention(group):
    def add(name, positions=None, **changes):
        options = dict(d_model=8, n_heads=2, n_kv_heads=2, qkv_bias=False, rope_theta=10000.0,
                       rope_layout="interleaved", max_seq_len=16) | changes
        case = group.case(f"self_attention_{name}", "causal_self_attention", **options)
        x = case.input("x", case.normal(2, LENGTH, options["d_model"]))
        if positions is not None:
            case.constant("positions", positions)
        state = case.params(reference.attention_shapes(options))
        case.finish(reference.self_attention(
            state, x, options["n_heads"], options["n_kv_heads"], options["rope_theta"],
            options["rope_layout"], positions))

    add("default")
    add("half_split", rope_layout="half_split")
    add("nope", d_model=6, n_heads=3, n_kv_heads=3, rope_theta=None)
    add("one_kv_head", n_kv_heads=1)
    add("grouped", n_heads=4, n_kv_heads=2)
    add("qkv_bias", d_model=6, n_heads=3, n_kv_heads=3, qkv_bias=True)
    add("qkv_bias_one_kv_head", n_kv_heads=1, qkv_bias=True, rope_layout="half_split",
        rope_theta=100.0)
    add("positions", torch.tensor([3, 4, 5, 6]), d_model=4, n_heads=1, n_kv_heads=1)
    add("batch_positions", torch.tensor([[0, 1, 2, 3], [9, 11, 12, 15]]))


def activations(group):
    extremes = torch.tensor([-1000.0, -80.0, -20.0, -1.0, 0.0, 1.0, 20.0, 80.0, 1000.0])
    functions = {"silu": F.silu, "gelu": F.gelu, "gelu_tanh": reference.ACTIVATIONS["gelu_tanh"]}
    for layer, function in functions.items():
        case = group.case(layer, layer)
        case.finish(function(case.input("x", 2.0 * case.normal(3, 7))))
        case = group.case(f"{layer}_extremes", layer)
        case.finish(function(case.input("x", extremes)))
    case = group.case("relu", "relu")
    case.finish(F.relu(case.input("x", torch.cat([case.normal(20), torch.zeros(1)]))))


def feed_forwards(group):
    options = {"d_model": 6, "d_ff": 7}
    case = group.case("swiglu", "swiglu", **options)
    x = case.input("x", case.normal(2, 2, 6))
    state = case.params(reference.feed_forward_shapes(options, "swiglu"))
    case.finish(reference.swiglu(state, x))
    for activation in ("silu", "relu", "gelu", "gelu_tanh"):
        case = group.case(f"feed_forward_{activation}", "feed_forward", activation=activation,
                          **options)
        x = case.input("x", case.normal(2, 2, 6))
        state = case.params(reference.feed_forward_shapes(options, activation))
        case.finish(reference.feed_forward(state, x, activation))


def norms(group):
    def add(name, layer, bias, x, eps=reference.NORM_EPS, f64_only=False):
        options = {"bias": bias} if layer == "layer_norm" else {}
        case = group.case(name, layer, f64_only, eps=eps, **options)
        x = case.input("x", x(case))
        width = x.shape[-1:]
        weight = case.param("weight", case.initial("weight", width))
        if layer == "rms_norm":
            case.finish(F.rms_norm(x, width, weight, eps))
        else:
            beta = case.param("bias", case.initial("bias", width)) if bias else None
            case.finish(F.layer_norm(x, width, weight, beta, eps))

    def ordinary(case):
        return 0.5 + 2.0 * case.normal(2, 3, 7)

    def tiny(case):
        """Mean squares near epsilon, and a row of zeros."""
        return torch.cat([0.003 * case.normal(3, 7), torch.zeros(1, 7)])

    def offset(case):
        """A mean far above the spread: E[x^2] - E[x]^2 would lose eight digits."""
        return 10000.0 + case.normal(3, 9)

    for suffix, bias in (("", False), ("_bias", True)):
        add(f"layer_norm{suffix}", "layer_norm", bias, ordinary)
        add(f"layer_norm{suffix}_tiny", "layer_norm", bias, tiny)
    add("layer_norm_offset", "layer_norm", True, offset, f64_only=True)
    add("layer_norm_eps", "layer_norm", True, ordinary, eps=0.1)
    add("rms_norm", "rms_norm", False, ordinary)
    add("rms_norm_tiny", "rms_norm", False, tiny)
    add("rms_norm_eps", "rms_norm", False, ordinary, eps=0.1)


def blocks(group):
    def add(norm, norm_position, ffn, suffix="", **changes):
        options = dict(d_model=6, n_heads=3, n_kv_heads=3, d_ff=5, norm=norm,
                       norm_position=norm_position, ffn=ffn, rope_theta=10000.0,
                       rope_layout="interleaved", qkv_bias=False, max_seq_len=16) | changes
        case = group.case(f"block_{norm}_{norm_position}_{ffn}{suffix}", "transformer_block",
                          **options)
        x = case.input("x", case.normal(2, 3, options["d_model"]))
        state = case.params(reference.block_shapes(options))
        case.finish(reference.block(state, x, options))

    add("rms", "pre", "swiglu")
    add("rms", "post", "swiglu", d_model=8, n_heads=2, n_kv_heads=2, rope_layout="half_split")
    add("rms", "pre", "relu")
    add("rms", "post", "gelu", n_kv_heads=1)
    add("layer", "pre", "gelu")
    add("layer", "post", "silu")
    add("layer", "post", "swiglu", rope_theta=None)
    add("none", "pre", "silu")
    add("none", "post", "relu")
    add("none", "pre", "swiglu", "_qkv_bias", qkv_bias=True)


def cross_entropy(group):
    def add(name, logits, targets, **options):
        case = group.case(f"cross_entropy_{name}", "cross_entropy", **options)
        logits = case.input("logits", logits(case) if callable(logits) else logits)
        targets = case.constant("targets", torch.tensor(targets))
        loss = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), **options)
        case.finish(loss.reshape(targets.shape) if options["reduction"] == "none" else loss)

    def ordinary(case):
        return 2.0 * case.normal(5, 11)

    huge = torch.tensor([[1000.0, -1000.0, 0.0, 999.5], [1000.0, -1000.0, 0.0, 999.5],
                         [-1000.0, -1000.0, -1000.0, -1000.5], [-1000.0, 1000.0, 1000.0, 1000.0]])
    for reduction in ("mean", "sum", "none"):
        add(reduction, ordinary, [3, 0, 10, 3, 7], reduction=reduction)
        add(f"{reduction}_3d", lambda case: case.normal(2, 3, 11), [[3, 0, 10], [3, 7, 7]],
            reduction=reduction)
        add(f"{reduction}_ignore", ordinary, [3, -100, 10, -100, 7], reduction=reduction,
            ignore_index=-100)
        add(f"{reduction}_huge", huge, [0, 1, 3, 2], reduction=reduction)
    add("mean_ignore_class", ordinary, [3, 0, 10, 3, 7], reduction="mean", ignore_index=3)


def make():
    group = Group()
    for add in (linear, embedding, rope, softmaxes, attention, self_attention, activations,
                feed_forwards, norms, blocks, cross_entropy):
        add(group)
    return group
