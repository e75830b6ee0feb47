"""Checks of the reference model by other routes through PyTorch, run before anything is written."""

import math

import torch
import torch.nn.functional as F

import half_cases
import reference


def close(a, b):
    torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


def check_rope():
    x = torch.randn(2, 3, 5, 8)
    # The layouts differ by a fixed order of the columns.
    order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])
    half = reference.rope(x[..., order], layout="half_split")
    close(half, reference.rope(x)[..., order])
    # A rotation by the angle is a product with exp(i angle).
    angle = torch.arange(5)[:, None] * 10000.0 ** (-torch.arange(0, 8, 2) / 8)
    turned = torch.view_as_complex(x.reshape(2, 3, 5, 4, 2)) * torch.polar(torch.ones(5, 4), angle)
    close(reference.rope(x), torch.view_as_real(turned).flatten(-2))
    # Scores depend on the distance of two positions only.
    q, k = torch.randn(1, 8), torch.randn(1, 8)

    def score(i, j):
        return reference.rope(q, torch.tensor([i])) @ reference.rope(k, torch.tensor([j])).T

    close(score(3, 1), score(12, 10))
    # Positions [T] for every row equal the same positions given per row.
    positions = torch.tensor([4, 0, 7, 7, 1])
    close(reference.rope(x, positions), reference.rope(x, positions.expand(2, 5)))


def check_attention():
    q, k, v = torch.randn(2, 4, 5, 6), torch.randn(2, 4, 5, 6), torch.randn(2, 4, 5, 3)
    fused = F.scaled_dot_product_attention
    close(reference.attention(q, k, v), fused(q, k, v))
    close(reference.attention(q, k, v, causal=True), fused(q, k, v, is_causal=True))
    close(reference.attention(q, k, v, scale=0.3), fused(q, k, v, scale=0.3))
    mask = torch.rand(2, 1, 5, 5) < 0.7
    mask[..., 0] = True
    close(reference.attention(q, k, v, mask), fused(q, k, v, attn_mask=mask))
    few_k, few_v = k[:, :2], v[:, :2]
    close(reference.attention(q, few_k, few_v, causal=True),
          fused(q, few_k, few_v, is_causal=True, enable_gqa=True))
    # Aligned to the end: the last queries alone give the last rows.
    close(reference.attention(q[:, :, 3:], k, v, causal=True),
          reference.attention(q, k, v, causal=True)[:, :, 3:])
    mask[0, 0, 2] = False
    assert (reference.attention(q, k, v, mask)[0, :, 2] == 0).all()
    assert (reference.attention(q, k[:, :, :3], v[:, :, :3], causal=True)[:, :, :2] == 0).all()


def check_formulas():
    x, weight, bias = torch.randn(3, 7), torch.randn(7), torch.randn(7)
    centred = x - x.mean(-1, keepdim=True)
    variance = (centred**2).mean(-1, keepdim=True)
    state = {"weight": weight, "bias": bias}
    close(reference.norm(state, x, "layer"), centred / (variance + 1e-5).sqrt() * weight + bias)
    mean_square = (x**2).mean(-1, keepdim=True)
    close(reference.norm(state, x, "rms"), x / (mean_square + 1e-5).sqrt() * weight)
    close(reference.ACTIVATIONS["silu"](x), x / (1.0 + torch.exp(-x)))
    close(reference.ACTIVATIONS["gelu"](x), 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0))))
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)
    close(reference.ACTIVATIONS["gelu_tanh"](x), 0.5 * x * (1.0 + torch.tanh(inner)))
    close(reference.softmax(x, 0), torch.softmax(x, 0))


def check_self_attention():
    """Against PyTorch's own layer, which keeps the three projections in one matrix."""
    layer = torch.nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
    q, k, v = layer.in_proj_weight.detach().chunk(3)
    state = {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v,
             "output_proj.weight": layer.out_proj.weight.detach()}
    x = torch.randn(2, 5, 8)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    close(reference.self_attention(state, x, 2, rope_theta=None),
          layer(x, x, x, attn_mask=future, need_weights=False)[0].detach())


def check_block():
    """Against PyTorch's encoder layer, without biases in the linear maps and with LayerNorm."""
    for position in ("pre", "post"):
        layer = torch.nn.TransformerEncoderLayer(
            8, 2, 10, dropout=0.0, activation="gelu", batch_first=True,
            norm_first=position == "pre")
        for linear in (layer.self_attn.out_proj, layer.linear1, layer.linear2):
            torch.nn.init.zeros_(linear.bias)
        torch.nn.init.normal_(layer.self_attn.in_proj_bias)
        with torch.no_grad():
            state = dict(zip(("attn.q_proj.weight", "attn.k_proj.weight", "attn.v_proj.weight"),
                             layer.self_attn.in_proj_weight.chunk(3)))
            state |= zip(("attn.q_proj.bias", "attn.k_proj.bias", "attn.v_proj.bias"),
                         layer.self_attn.in_proj_bias.chunk(3))
            state |= {"attn.output_proj.weight": layer.self_attn.out_proj.weight,
                      "ffn.w1.weight": layer.linear1.weight, "ffn.w2.weight": layer.linear2.weight}
            for ours, theirs in (("ln1", layer.norm1), ("ln2", layer.norm2)):
                torch.nn.init.normal_(theirs.weight)
                torch.nn.init.normal_(theirs.bias)
                state |= {f"{ours}.weight": theirs.weight, f"{ours}.bias": theirs.bias}
            x = torch.randn(2, 5, 8)
            future = torch.ones(5, 5, dtype=torch.bool).triu(1)
            options = dict(n_heads=2, n_kv_heads=2, rope_theta=None, rope_layout="interleaved",
                           norm="layer", norm_position=position, ffn="gelu")
            close(reference.block(state, x, options), layer(x, src_mask=future))


def round_bits(pattern, mantissa_bits, exponent_bits):
    """Rounds a finite f32 pattern to nearest, ties to even, with whole numbers only."""
    sign, magnitude = pattern >> 31 & 1, pattern & 0x7FFFFFFF
    exponent, fraction = magnitude >> 23, magnitude & 0x7FFFFF
    if exponent:
        fraction |= 0x800000
    bias = 2 ** (exponent_bits - 1) - 1
    # value = fraction * 2^(scale); result = units * 2^(unit_scale)
    scale = max(exponent, 1) - 127 - 23
    unit_scale = max(scale + 23, 1 - bias) - mantissa_bits
    shift = unit_scale - scale
    units = fraction >> shift
    rest, half = fraction - (units << shift), 1 << shift >> 1
    if rest > half or rest == half and units & 1:
        units += 1
    field = max(unit_scale + mantissa_bits + bias - 1, 0)
    result = (field << mantissa_bits) + units
    infinity = (2**exponent_bits - 1) << mantissa_bits
    return sign << (mantissa_bits + exponent_bits) | min(result, infinity)


def check_half():
    tensors = half_cases.make().tensors
    patterns, bf16, f16 = (tensors[f"half/{key}"].tolist()
                           for key in ("in.f32_bits", "out.bf16_bits", "out.f16_bits"))
    for pattern, as_bf16, as_f16 in zip(patterns, bf16, f16):
        pattern &= 0xFFFFFFFF
        if pattern & 0x7FFFFFFF > 0x7F800000:
            assert (as_bf16, as_f16) == (half_cases.BF16_NAN, half_cases.F16_NAN)
            continue
        if pattern & 0x7FFFFFFF == 0x7F800000:
            sign = pattern >> 16 & 0x8000
            assert (as_bf16, as_f16) == (sign | 0x7F80, sign | 0x7C00)
            continue
        assert as_bf16 == round_bits(pattern, 7, 8), hex(pattern)
        assert as_f16 == round_bits(pattern, 10, 5), hex(pattern)


def run():
    torch.manual_seed(0)
    for check in (check_rope, check_attention, check_formulas, check_self_attention, check_block,
                  check_half):
        check()
