#include "backends/cpu/threads.h"

#include <atomic>
#include <fstream>
#include <set>
#include <utility>

#include <sched.h>

#include "backends/error.h"

namespace tapir::cpu {
namespace {

std::atomic<int> thread_count{0};  // 0: not decided yet

// A number from the kernel's description of a processor, or -1.
int read_topology(int processor, const char* name) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", processor, name));
  int value = -1;
  return file >> value ? value : -1;
}

}  // namespace

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  std::set<std::pair<int, int>> cores;
  int unknown = 0;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &allowed)) continue;
    const int core = read_topology(processor, "core_id");
    if (core < 0) {
      ++unknown;
    } else {
      cores.emplace(read_topology(processor, "physical_package_id"), core);
    }
  }
  const int count = static_cast<int>(cores.size()) + unknown;
  return count < 1 ? 1 : (count > kMaxThreads ? kMaxThreads : count);
}

int threads() {
  const int count = thread_count.load(std::memory_order_relaxed);
  if (count > 0) return count;
  const int cores = physical_cores();
  thread_count.store(cores, std::memory_order_relaxed);
  return cores;
}

void set_threads(int count) {
  require(count >= 1 && count <= kMaxThreads, "threads", "must be between 1 and {}, got {}",
          kMaxThreads, count);
  thread_count.store(count, std::memory_order_relaxed);
}

}  // namespace tapir::cpu
