// One table of operation cases drives every check: gradients against differences, fused operations
// against their composed reference, f32 against f64, strided inputs, one device against another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/ops.h"

namespace tapir {

// How the values of an input are drawn, so that no case sits on a kink or outside a domain.
enum class Values : uint8_t {
  normal,
  positive,        // in [0.5, 2)
  away_from_zero,  // |x| >= 0.3
  distinct,        // shuffled multiples of 0.1
  between,         // the same plus 0.05, so that none is near one of `distinct`
};

struct OpInput {
  Shape shape;
  Values values = Values::normal;
};

// Sizes around the widths of vectors, and larger than a block of a kernel's loop.
inline constexpr int64_t kOddSizes[] = {1, 7, 31, 32, 33, 129};

using OpFunction = std::function<Tensor(const std::vector<Tensor>& inputs)>;

struct OpCase {
  std::string op;       // its name in ops.h
  std::string variant;  // what this case is about, with sizes
  std::vector<OpInput> inputs;
  OpFunction run;
  OpFunction reference = nullptr;  // the same from other operations or plain host loops

  std::string name() const { return op + " " + variant; }
};

// All cases: sizes 0, 1, 7, 31 to 33 and 129, each option, each way to broadcast.
const std::vector<OpCase>& op_cases();

// Fresh leaves that require grad, the same values (rounded) for each dtype.
std::vector<Tensor> make_inputs(const OpCase& op_case, uint64_t seed, DType dtype,
                                Device device = kCpu);

// The parts of the table.
void add_elementwise_cases(std::vector<OpCase>& cases);
void add_shape_cases(std::vector<OpCase>& cases);
void add_reduction_cases(std::vector<OpCase>& cases);
void add_product_cases(std::vector<OpCase>& cases);
void add_fused_cases(std::vector<OpCase>& cases);
void add_attention_cases(std::vector<OpCase>& cases);

}  // namespace tapir
