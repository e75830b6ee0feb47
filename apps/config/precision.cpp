#include "apps/config/precision.h"

#include "backends/cpu/cpu_features.h"

namespace tapir::app {
namespace {

std::string describe(Precision precision) {
  return precision == Precision::bf16 ? "bf16, with weights and moments of the optimizer in f32"
                                      : "f32";
}

}  // namespace

PrecisionChoice choose_precision(Precision wish, Device device) {
  const bool amx = device == kCpu && cpu::chosen_isa() == cpu::Isa::amx;
  const std::string where =
      device != kCpu ? "on CUDA" : fmt::format("with {} kernels", cpu::name_of(cpu::chosen_isa()));
  const bool faster = amx || device != kCpu;
  if (wish == Precision::automatic) {
    const Precision chosen = faster ? Precision::bf16 : Precision::f32;
    return {chosen, fmt::format("{} (auto: bf16 is {} {})", describe(chosen),
                                faster ? "faster" : "no faster", where)};
  }
  std::string about = describe(wish);
  if (wish == Precision::bf16 && !faster) about += fmt::format(" (f32 is faster {})", where);
  return {wish, about};
}

}  // namespace tapir::app
