// Warp operations by the rules of the PTX manual. Compiled without -fsanitize=thread: the lane that
// comes last computes for all, and these accesses to the others' stacks are no races.
#include "cudasim/warp.h"

#include <bit>

namespace cudasim {
namespace {

// A plain loop: memcpy would be seen by ThreadSanitizer as the calling lane's access.
void copy_bytes(void* to, const void* from, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<const volatile char*>(from)[i];
}

// The lane that `lane` reads from. Source: PTX ISA, "shfl.sync"; a lane whose source would lie
// outside its segment of `width` lanes reads its own value.
int source_lane(const WarpCall& call, int lane) {
  const int first = lane & ~(call.width - 1), last = first + call.width - 1;
  switch (call.op) {
    case WarpOp::shuffle_up:
      return lane - call.argument >= first ? lane - call.argument : lane;
    case WarpOp::shuffle_xor:
      return (lane ^ call.argument) <= last ? lane ^ call.argument : lane;
    default:
      return first | (call.argument & (call.width - 1));
  }
}

void shuffle_lanes(WarpCall* const (&calls)[32]) {
  for (int lane = 0; lane < 32; ++lane) {
    if (calls[lane] == nullptr) continue;
    const int source = source_lane(*calls[lane], lane);
    if (calls[source] == nullptr) {
      report(cudaErrorLaunchFailure, "%s:%d: lane %d shuffles from lane %d, which takes no part",
             calls[lane]->site.file, calls[lane]->site.line, lane, source);
      continue;
    }
    copy_bytes(calls[lane]->out, calls[source]->in, calls[lane]->bytes);
  }
}

void ballot_lanes(WarpCall* const (&calls)[32]) {
  unsigned bits = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if (calls[lane] != nullptr && *static_cast<const int*>(calls[lane]->in) != 0)
      bits |= 1u << lane;
  }
  for (WarpCall* call : calls) {
    if (call != nullptr) *static_cast<unsigned*>(call->out) = bits;
  }
}

float from_bf16(uint32_t bits) {
  return std::bit_cast<float>(bits << 16);
}

float from_f16(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 1023;
  float magnitude = static_cast<float>(fraction) * 0x1p-24f;  // zero and subnormal numbers
  if (exponent == 31) {
    magnitude = std::bit_cast<float>(0x7f800000u | fraction << 13);
  } else if (exponent > 0) {
    magnitude = std::bit_cast<float>((exponent + 112) << 23 | fraction << 13);
  }
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

// D = A B + C with A [16, 16], B [16, 8]. Lane l holds, with g = l / 4 and t = l % 4: of A the
// pairs (g, 2t), (g + 8, 2t), (g, 2t + 8), (g + 8, 2t + 8); of B the pairs of rows 2t and 2t + 8
// in column g; of C and D the pairs (g, 2t) and (g + 8, 2t).
void multiply(WarpCall* const (&calls)[32], bool brain) {
  float a[16][16], b[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto& in = *static_cast<const MmaOperands*>(calls[lane]->in);
    const int g = lane / 4, t = lane % 4;
    const auto half = [brain](uint32_t pair, int i) {
      const uint32_t bits = pair >> (16 * i) & 0xffffu;
      return brain ? from_bf16(bits) : from_f16(bits);
    };
    for (int i = 0; i < 2; ++i) {
      a[g][2 * t + i] = half(in.a[0], i);
      a[g + 8][2 * t + i] = half(in.a[1], i);
      a[g][2 * t + 8 + i] = half(in.a[2], i);
      a[g + 8][2 * t + 8 + i] = half(in.a[3], i);
      b[2 * t + i][g] = half(in.b[0], i);
      b[2 * t + 8 + i][g] = half(in.b[1], i);
    }
  }
  for (int lane = 0; lane < 32; ++lane) {
    const auto& in = *static_cast<const MmaOperands*>(calls[lane]->in);
    auto* d = static_cast<float*>(calls[lane]->out);
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + i % 2;
      float sum = in.c[i];
      for (int k = 0; k < 16; ++k) sum += a[row][k] * b[k][column];
      d[i] = sum;
    }
  }
}

// Matrix m has its eight rows in lanes 8m to 8m + 7. Lane l gets elements 2 (l % 4) and the next
// of row l / 4, or, transposed, of column l / 4.
void load_matrices(WarpCall* const (&calls)[32], bool transposed) {
  for (int lane = 0; lane < 32; ++lane) {
    auto* out = static_cast<uint32_t*>(calls[lane]->out);
    for (int matrix = 0; matrix < 4; ++matrix) {
      uint32_t pair = 0;
      for (int i = 0; i < 2; ++i) {
        const int along = lane % 4 * 2 + i, across = lane / 4;
        const int row = transposed ? along : across, column = transposed ? across : along;
        const auto* elements = static_cast<const uint16_t*>(calls[8 * matrix + row]->in);
        pair |= static_cast<uint32_t>(elements[column]) << (16 * i);
      }
      out[matrix] = pair;
    }
  }
}

}  // namespace

void combine(WarpCall* const (&calls)[32], unsigned mask) {
  const WarpOp op = calls[std::countr_zero(mask)]->op;
  switch (op) {
    case WarpOp::sync:
      return;
    case WarpOp::shuffle_index:
    case WarpOp::shuffle_up:
    case WarpOp::shuffle_xor:
      return shuffle_lanes(calls);
    case WarpOp::ballot:
      return ballot_lanes(calls);
    case WarpOp::mma_bf16:
    case WarpOp::mma_f16:
      return multiply(calls, op == WarpOp::mma_bf16);
    case WarpOp::ldmatrix:
    case WarpOp::ldmatrix_trans:
      return load_matrices(calls, op == WarpOp::ldmatrix_trans);
  }
}

}  // namespace cudasim
