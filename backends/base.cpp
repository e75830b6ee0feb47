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

}  // namespace tapir
