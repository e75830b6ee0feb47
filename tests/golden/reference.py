"""The model's layers in plain PyTorch, written as functions of tensors and of a state dict.

Shapes use B batch, T query positions, S key positions, C model width, H heads, D head width,
F feed-forward width, V vocabulary. A state dict is a plain dict from key to tensor.
"""

import torch
import torch.nn.functional as F

NORM_EPS = 1e-5

ACTIVATIONS = {
    "silu": F.silu,
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def under(state, prefix):
    """The entries of `state` whose key starts with `prefix`, with the prefix removed."""
    return {key[len(prefix):]: value for key, value in state.items() if key.startswith(prefix)}


def softmax(x, dim):
    """Softmax in which a row of -inf alone gives zeros and passes no gradient."""
    dead = (x == -torch.inf).all(dim, keepdim=True)
    return torch.softmax(x.masked_fill(dead, 0.0), dim).masked_fill(dead, 0.0)


def rope(x, positions=None, theta=10000.0, layout="interleaved"):
    """Rotates the pairs of x [..., T, D]; positions [T] or [B, T], by default 0 .. T-1."""
    length, width = x.shape[-2:]
    if positions is None:
        positions = torch.arange(length)
    if positions.dim() == 2:
        heads = [1] * (x.dim() - 3)
        positions = positions.reshape(positions.shape[0], *heads, length)
    frequency = theta ** (-2.0 * torch.arange(width // 2) / width)
    angle = positions[..., None] * frequency
    cos, sin = torch.cos(angle), torch.sin(angle)
    if layout == "interleaved":
        first, second = x[..., 0::2], x[..., 1::2]
    else:
        first, second = x[..., : width // 2], x[..., width // 2 :]
    rotated = [first * cos - second * sin, first * sin + second * cos]
    if layout == "interleaved":
        return torch.stack(rotated, dim=-1).flatten(-2)
    return torch.cat(rotated, dim=-1)


def attention(q, k, v, mask=None, causal=False, scale=None):
    """Scaled dot products of q [..., H, T, D], k [..., Hkv, S, D], v [..., Hkv, S, Dv].

    In `mask`, true keeps. Causal: the last query sees every key. With fewer key heads than query
    heads, each key head serves H / Hkv neighbouring query heads.
    """
    if q.dim() > 2 and q.shape[-3] != k.shape[-3]:
        repeats = q.shape[-3] // k.shape[-3]
        k = k.repeat_interleave(repeats, dim=-3)
        v = v.repeat_interleave(repeats, dim=-3)
    queries, keys = q.shape[-2], k.shape[-2]
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    keep = torch.ones(queries, keys, dtype=torch.bool)
    if causal:
        keep = keep.tril(keys - queries)
    if mask is not None:
        keep = keep & mask
    return softmax(scores.masked_fill(~keep, -torch.inf), dim=-1) @ v


def self_attention(state, x, n_heads, n_kv_heads=None, rope_theta=10000.0,
                   rope_layout="interleaved", positions=None):
    """Causal self-attention of x [B, T, C]; rope_theta None leaves positions out (NoPE)."""
    batch, length, _ = x.shape

    def project(name, heads):
        y = F.linear(x, state[f"{name}.weight"], state.get(f"{name}.bias"))
        return y.reshape(batch, length, heads, -1).transpose(1, 2)

    q = project("q_proj", n_heads)
    k = project("k_proj", n_kv_heads or n_heads)
    v = project("v_proj", n_kv_heads or n_heads)
    if rope_theta is not None:
        q = rope(q, positions, rope_theta, rope_layout)
        k = rope(k, positions, rope_theta, rope_layout)
    heads = attention(q, k, v, causal=True)
    return F.linear(heads.transpose(1, 2).reshape(batch, length, -1), state["output_proj.weight"])


def swiglu(state, x):
    gated = F.silu(F.linear(x, state["w1.weight"])) * F.linear(x, state["w3.weight"])
    return F.linear(gated, state["w2.weight"])


def feed_forward(state, x, activation):
    if activation == "swiglu":
        return swiglu(state, x)
    hidden = ACTIVATIONS[activation](F.linear(x, state["w1.weight"]))
    return F.linear(hidden, state["w2.weight"])


def norm(state, x, kind):
    if kind == "none":
        return x
    if kind == "layer":
        return F.layer_norm(x, x.shape[-1:], state["weight"], state.get("bias"), NORM_EPS)
    return F.rms_norm(x, x.shape[-1:], state["weight"], NORM_EPS)


def block(state, x, options, positions=None):
    """One Transformer block: attention, then feed-forward, each with a norm and a residual."""
    def attend(y):
        return self_attention(under(state, "attn."), y, options["n_heads"], options["n_kv_heads"],
                              options["rope_theta"], options["rope_layout"], positions)

    def feed(y):
        return feed_forward(under(state, "ffn."), y, options["ffn"])

    for name, sublayer in (("ln1.", attend), ("ln2.", feed)):
        if options["norm_position"] == "pre":
            x = x + sublayer(norm(under(state, name), x, options["norm"]))
        else:
            x = norm(under(state, name), x + sublayer(x), options["norm"])
    return x


def transformer_lm(state, ids, options):
    """Logits [B, T, V] of ids [B, T]."""
    x = F.embedding(ids, state["token_embeddings.weight"])
    for layer in range(options["n_layers"]):
        x = block(under(state, f"layers.{layer}."), x, options)
    if options["norm_position"] == "pre":
        x = norm(under(state, "ln_final."), x, options["norm"])
    tied = options["tie_embeddings"]
    return F.linear(x, state["token_embeddings.weight" if tied else "lm_head.weight"])


def attention_shapes(options):
    """Key and shape of each parameter of a self-attention layer."""
    width = options["d_model"]
    kv_width = width // options["n_heads"] * options["n_kv_heads"]
    shapes = {}
    for name, rows in (("q_proj", width), ("k_proj", kv_width), ("v_proj", kv_width)):
        shapes[f"{name}.weight"] = (rows, width)
        if options["qkv_bias"]:
            shapes[f"{name}.bias"] = (rows,)
    shapes["output_proj.weight"] = (width, width)
    return shapes


def feed_forward_shapes(options, activation):
    width, inner = options["d_model"], options["d_ff"]
    shapes = {"w1.weight": (inner, width), "w2.weight": (width, inner)}
    if activation == "swiglu":
        shapes["w3.weight"] = (inner, width)
    return shapes


def norm_shapes(options):
    width = options["d_model"]
    kinds = {"none": [], "rms": ["weight"], "layer": ["weight", "bias"]}
    return {key: (width,) for key in kinds[options["norm"]]}


def block_shapes(options):
    parts = {
        "ln1": norm_shapes(options),
        "attn": attention_shapes(options),
        "ln2": norm_shapes(options),
        "ffn": feed_forward_shapes(options, options["ffn"]),
    }
    return {f"{part}.{key}": shape for part, keys in parts.items() for key, shape in keys.items()}


def transformer_shapes(options):
    matrix = (options["vocab_size"], options["d_model"])
    shapes = {"token_embeddings.weight": matrix}
    for layer in range(options["n_layers"]):
        for key, shape in block_shapes(options).items():
            shapes[f"layers.{layer}.{key}"] = shape
    if options["norm_position"] == "pre":
        for key, shape in norm_shapes(options).items():
            shapes[f"ln_final.{key}"] = shape
    if not options["tie_embeddings"]:
        shapes["lm_head.weight"] = matrix
    return shapes
