#include "apps/machine.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "backends/cpu/cpu_features.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

// A line "Name:  123 kB" of /proc/meminfo, in bytes.
int64_t meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  int64_t kilobytes = 0;
  while (file >> key >> kilobytes) {
    std::getline(file, unit);
    if (key == name + ":") return kilobytes * 1024;
  }
  return kUnlimited;
}

std::optional<int64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;  // no such file, or "max"
}

// Control groups of version 2, and of version 1.
int64_t container_limit() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    if (const auto limit = number_in(path)) return *limit;
  }
  return kUnlimited;
}

int64_t container_use() {
  for (const char* path :
       {"/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}) {
    if (const auto use = number_in(path)) return *use;
  }
  return 0;
}

}  // namespace

int64_t memory_limit() {
  return std::min(meminfo("MemTotal"), container_limit());
}

int64_t memory_available() {
  const int64_t limit = container_limit();
  const int64_t in_container = limit == kUnlimited ? kUnlimited : limit - container_use();
  return std::max<int64_t>(0, std::min(meminfo("MemAvailable"), in_container));
}

std::optional<std::string> use_matmul_precision(MatmulPrecision precision, Device device) {
  set_matmul_precision(precision);
  if (precision == MatmulPrecision::highest) return std::nullopt;
  if (device != kCpu) {
    if (precision == MatmulPrecision::medium) return std::nullopt;
    return "--matmul-precision high computes in f32 here: TF32, which CUDA has, is for medium";
  }
  if (cpu::chosen_isa() == cpu::Isa::amx) return std::nullopt;
  return fmt::format(
      "--matmul-precision {} computes in f32 here: only a CPU with AMX is faster, and the kernels "
      "are those for {}",
      name_of(precision), cpu::name_of(cpu::chosen_isa()));
}

}  // namespace tapir::app
