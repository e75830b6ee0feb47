#include "backends/cpu/cpu_backend.h"

#include <cstring>

#include "backends/cpu/allocator.h"
#include "backends/cpu/blas.h"
#include "backends/cpu/cpu_features.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {

std::unique_ptr<const Backend> make_cpu_backend(cpu::Isa isa, const cpu::Bf16Kernels& bf16) {
  return std::make_unique<const CpuBackend>(isa, bf16);
}

Device CpuBackend::device() const {
  return kCpu;
}

std::string CpuBackend::description() const {
  std::string text = fmt::format("{}, {} kernels, {} threads", cpu::features().model,
                                 cpu::name_of(isa_), cpu::threads());
  if (const cpu::BlasInfo* blas = cpu::loaded_blas())
    text += fmt::format(", OpenBLAS {} kernels from {}", blas->corename, blas->path);
  return text;
}

Allocator& CpuBackend::allocator() const {
  return cpu::allocator();
}

void CpuBackend::synchronize() const {}

void CpuBackend::copy_from_host(const void* host, void* device, size_t bytes) const {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void CpuBackend::copy_to_host(const void* device, void* host, size_t bytes) const {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

}  // namespace tapir::TAPIR_ISA
