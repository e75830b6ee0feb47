// How exact products of f32 matrices have to be.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace tapir {

// highest: products and sums in f32. high: each number may become the sum of two bf16, which keeps
// 16 of f32's 24 bits. medium: numbers may be rounded to bf16, which keeps 8, or on CUDA to TF32,
// which keeps 11. Sums are f32 always. Where less is not faster, it is f32: on CPUs without AMX,
// and for high on CUDA. It concerns matmul alone, not attention. docs/numerics.md has the errors.
enum class MatmulPrecision : uint8_t { highest, high, medium };

std::string_view name_of(MatmulPrecision precision);
// An unknown name is an Error that lists the legal ones.
MatmulPrecision parse_matmul_precision(std::string_view name);

// The precision in this process, `highest` at first. Not to be set while a kernel runs.
MatmulPrecision matmul_precision();
void set_matmul_precision(MatmulPrecision precision);
// The setting itself, for backends in libraries of their own, which have no other way to it.
const std::atomic<MatmulPrecision>& shared_matmul_precision();

}  // namespace tapir
