#include "backends/backend.h"
#include "backends/device.h"
#include "backends/dtype.h"

namespace tapir {

DType parse_dtype(std::string_view name) {
  for (DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::boolean}) {
    if (name_of(dtype) == name) return dtype;
  }
  fail("dtype", "unknown name '{}'; use f64, f32, bf16, f16, i32 or bool", name);
}

Device parse_device(std::string_view name) {
  if (name == "cpu") return kCpu;
  if (name == "cuda") return kCuda;
  fail("device", "unknown device '{}'; use cpu or cuda", name);
}

void Backend::compressed_products(ConstView, std::span<const WeightProduct>) const {
  fail("weights", "{} multiplies one matrix at a time; use compressed_product", name_of(device()));
}
bool Backend::draw_weights(ConstView, double, View, View) const {
  fail("sampling", "{} does not draw tokens; copy the logits to the CPU", name_of(device()));
}

}  // namespace tapir
