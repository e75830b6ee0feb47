#include "backends/cpu/bf16_attention.h"
#include "backends/cpu/bf16_product.h"
#include "backends/cpu/instances.h"

namespace tapir::TAPIR_ISA {

cpu::Bf16Kernels bf16_kernels() {
  return {multiply_bf16, attend_bf16, attend_bf16_backward};
}

}  // namespace tapir::TAPIR_ISA
