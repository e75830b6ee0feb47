// How exact products of f32 matrices have to be.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapir {

// highest: products and sums in f32. high: each number may become the sum of two bf16, which keeps
// 16 of f32's 24 bits. medium: numbers may be rounded to bf16, which keeps 8. Sums are f32 always.
// A device that is not faster with less computes in f32: all but a CPU with AMX. It concerns matmul
// alone, not attention. docs/numerics.md has the errors.
enum class MatmulPrecision : uint8_t { highest, high, medium };

std::string_view name_of(MatmulPrecision precision);
// An unknown name is an Error that lists the legal ones.
MatmulPrecision parse_matmul_precision(std::string_view name);

// The precision in this process, `highest` at first. Not to be set while a kernel runs.
MatmulPrecision matmul_precision();
void set_matmul_precision(MatmulPrecision precision);

}  // namespace tapir
