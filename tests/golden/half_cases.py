"""Roundings from f32 to bf16 and f16, as bit patterns."""

import torch

from group import Group

BF16_NAN, F16_NAN = 0x7FC0, 0x7E00

# Around each of these patterns the neighbours at several distances are taken too.
CENTRES = (
    0x00000000,  # zero
    0x00000001,  # smallest subnormal
    0x007FFFFF,  # largest subnormal
    0x00800000,  # smallest normal number
    0x00008000,  # half of bf16's smallest subnormal: a tie with zero
    0x00018000,  # tie between bf16 subnormals
    0x3F800000,  # 1
    0x3F808000,  # bf16 tie, rounds down to even
    0x3F818000,  # bf16 tie, rounds up to even
    0x3F801000,  # f16 tie, rounds down to even
    0x3F803000,  # f16 tie, rounds up to even
    0x3FFF8000,  # bf16 tie that carries into the exponent
    0x3FFFF000,  # f16 tie that carries into the exponent
    0x33000000,  # 2^-25, half of f16's smallest subnormal: a tie with zero
    0x33800000,  # 2^-24, f16's smallest subnormal
    0x33C00000,  # tie between f16 subnormals
    0x387FC000,  # f16's largest subnormal
    0x387FE000,  # tie between f16's largest subnormal and smallest normal number
    0x38800000,  # 2^-14, f16's smallest normal number
    0x477FE000,  # 65504, f16's largest number
    0x477FF000,  # 65520, the tie at which f16 overflows
    0x7F7F0000,  # bf16's largest number
    0x7F7F8000,  # the tie at which bf16 overflows
    0x7F7FFFFF,  # f32's largest number
    0x7F800000,  # infinity, and NaN above it
    0x7FC00000,  # NaN
)
OFFSETS = (-1, 0, 1)
ORDINARY = (0.1, 1.0 / 3.0, 2.0, 3.14159265, 100.7, 1e-3, 1e-5, 1e-7, 1e-20, 1e-39, 12345.678,
            60000.1, 1e5, 1e10, 1e30)


def bits(values, dtype):
    """The patterns of 16-bit floats as non-negative int32; every NaN becomes the given one."""
    nan = BF16_NAN if dtype == torch.bfloat16 else F16_NAN
    patterns = values.to(dtype).view(torch.int16).to(torch.int32) & 0xFFFF
    return torch.where(values.isnan(), nan, patterns)


def make():
    group = Group()
    case = group.case("half", "round_to_half")
    patterns = {pattern + offset for pattern in CENTRES for offset in OFFSETS
                if pattern + offset >= 0}
    patterns |= set(torch.tensor(ORDINARY, dtype=torch.float32).view(torch.int32).tolist())
    patterns |= {pattern - 2**31 for pattern in patterns}   # the same with the sign bit set
    f32_bits = torch.tensor(sorted(patterns), dtype=torch.int32)
    values = f32_bits.view(torch.float32)
    case.constant("f32_bits", f32_bits)
    case.store("out.bf16_bits", bits(values, torch.bfloat16))
    case.store("out.f16_bits", bits(values, torch.float16))
    return group
