// Runs grids: one block at a time, its threads as fibers, until all have finished or none can go
// on. Compiled without -fsanitize=thread, like fiber.cpp.
#include "cudasim/scheduler.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <sys/mman.h>

#include "cudasim/fiber.h"
#include "cudasim/warp.h"

#ifdef CUDASIM_ASAN
#include <sanitizer/asan_interface.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace cudasim {
namespace {

constexpr unsigned kMaxThreads = 1024;
constexpr unsigned kMaxCopies = 128;  // in flight, per thread

enum class State { ready, at_barrier, in_warp_op, finished };

struct Copy {
  void* shared;
  const void* global;
  int group;
};

struct Thread {
  Fiber fiber;
  uint3 index{};
  State state = State::finished;
  Site site{};               // of the barrier
  WarpCall* call = nullptr;  // the warp operation
  std::array<Copy, kMaxCopies> copies;
  unsigned first_copy = 0, copy_count = 0;
  int group = 0;
};

Thread threads[kMaxThreads];
unsigned thread_count = 0;
Thread* current = nullptr;
const std::function<void()>* body = nullptr;
uint64_t random_state = 1;
unsigned order[kMaxThreads];

// Shared memory of the running block. Its last kilobyte holds the objects through which
// ThreadSanitizer learns of barriers: they must not outlive the block, or two blocks would look
// ordered.
constexpr size_t kSharedBytes = 256 * 1024, kSyncBytes = 1024, kSharedGap = 64;
char* shared_memory = nullptr;
size_t shared_top = 0;
constexpr unsigned kMaxStatics = 32;
std::pair<const void*, size_t> statics[kMaxStatics];
unsigned static_count = 0;
char grid_end;  // the object through which the host learns of a grid's writes

void* block_object() {
  return shared_memory + kSharedBytes - kSyncBytes;
}
void* warp_object(unsigned warp) {
  return shared_memory + kSharedBytes - kSyncBytes + 8 * (warp + 1);
}

void poison([[maybe_unused]] char* begin, [[maybe_unused]] size_t bytes) {
#ifdef CUDASIM_ASAN
  __asan_poison_memory_region(begin, bytes);
#endif
}

void unpoison([[maybe_unused]] char* begin, [[maybe_unused]] size_t bytes) {
#ifdef CUDASIM_ASAN
  __asan_unpoison_memory_region(begin, bytes);
#endif
}

// Makes `bytes` of shared memory hold NaN, and so the gap behind them, which nobody may touch.
void provide_shared(char* begin, size_t bytes) {
  unpoison(begin, bytes + kSharedGap);
  for (size_t i = 0; i < bytes + kSharedGap; ++i)
    static_cast<volatile char*>(begin)[i] = static_cast<char>(0xff);
  poison(begin + bytes, kSharedGap);
}

void new_shared_memory(size_t dynamic_bytes) {
#ifdef CUDASIM_TSAN
  if (shared_memory != nullptr) munmap(shared_memory, kSharedBytes);
  shared_memory = nullptr;
#endif
  if (shared_memory == nullptr) {
    shared_memory = static_cast<char*>(
        mmap(nullptr, kSharedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  poison(shared_memory, kSharedBytes);
  provide_shared(shared_memory, dynamic_bytes);
  shared_top = dynamic_bytes + kSharedGap;
  static_count = 0;
}

unsigned random_below(unsigned bound) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return static_cast<unsigned>((random_state >> 32) % bound);
}

void thread_main() {
  arrive();
  (*body)();
  release(&grid_end);
  current->state = State::finished;
  leave(current->fiber, true);
  std::abort();  // a finished fiber is never resumed
}

void resume(Thread& thread) {
  current = &thread;
  threadIdx = thread.index;
  switch_to(thread.fiber);
}

void shuffle_order() {
  for (unsigned i = thread_count; i > 1; --i) std::swap(order[i - 1], order[random_below(i)]);
}

// Resumes every ready thread once; false when there was none.
bool run_ready_threads() {
  if (settings().order == Order::random) shuffle_order();
  bool any = false;
  for (unsigned i = 0; i < thread_count; ++i) {
    Thread& thread = threads[order[i]];
    if (thread.state != State::ready) continue;
    any = true;
    resume(thread);
  }
  return any;
}

void report_stuck_block() {
  unsigned finished = 0, waiting = 0, in_warp = 0;
  const Thread* barrier = nullptr;
  const Thread* warp = nullptr;
  for (unsigned i = 0; i < thread_count; ++i) {
    const Thread& thread = threads[i];
    if (thread.state == State::finished) ++finished;
    if (thread.state == State::at_barrier) {
      ++waiting;
      barrier = &thread;
    }
    if (thread.state == State::in_warp_op) {
      ++in_warp;
      warp = &thread;
    }
  }
  const Site none{"-", 0};
  const Site at = barrier ? barrier->site : none, op = warp ? warp->call->site : none;
  report(cudaErrorLaunchFailure,
         "deadlock in block (%u, %u, %u): %u threads finished, %u at the barrier %s:%d, %u in the "
         "warp operation %s:%d with mask %08x",
         blockIdx.x, blockIdx.y, blockIdx.z, finished, waiting, at.file, at.line, in_warp, op.file,
         op.line, warp ? warp->call->mask : 0u);
}

enum class Meeting { none, complete, different };

// Whether all threads of the block stand at a barrier, and at the same one.
Meeting meeting() {
  for (unsigned i = 0; i < thread_count; ++i) {
    if (threads[i].state != State::at_barrier) return Meeting::none;
  }
  for (unsigned i = 1; i < thread_count; ++i) {
    if (!(threads[i].site == threads[0].site)) return Meeting::different;
  }
  return Meeting::complete;
}

bool all_finished() {
  for (unsigned i = 0; i < thread_count; ++i) {
    if (threads[i].state != State::finished) return false;
  }
  return true;
}

void pass_barrier() {
  static Fiber* fibers[kMaxThreads];
  for (unsigned i = 0; i < thread_count; ++i) {
    threads[i].state = State::ready;
    fibers[i] = &threads[i].fiber;
  }
  synchronize(fibers, thread_count, block_object());
}

bool run_block() {
  for (unsigned i = 0; i < thread_count; ++i) {
    Thread& thread = threads[i];
    prepare(thread.fiber, i, thread_main);
    thread.state = State::ready;
    thread.copy_count = 0;
    thread.group = 0;
  }
  for (;;) {
    if (run_ready_threads()) continue;
    if (all_finished()) return true;
    switch (meeting()) {
      case Meeting::none:
        report_stuck_block();
        return false;
      case Meeting::different:
        report(cudaErrorLaunchFailure,
               "threads of a block wait at different barriers, %s:%d is one", threads[0].site.file,
               threads[0].site.line);
        return false;
      case Meeting::complete:
        pass_barrier();
    }
  }
}

char* stacks = nullptr;
unsigned stack_count = 0;

// ThreadSanitizer needs fresh stacks for each block, or the frames of two blocks would race.
void provide_stacks() {
#ifdef CUDASIM_TSAN
  if (stacks != nullptr) unmap_stacks(stacks, stack_count);
  stacks = nullptr;
  const unsigned wanted = thread_count;
#else
  const unsigned wanted = kMaxThreads;
#endif
  if (stacks == nullptr) {
    stacks = map_stacks(wanted);
    stack_count = wanted;
  }
  for (unsigned i = 0; i < thread_count; ++i) threads[i].fiber.stack = stack_at(stacks, i);
}

void prepare_order() {
  for (unsigned i = 0; i < thread_count; ++i)
    order[i] = settings().order == Order::reverse ? thread_count - 1 - i : i;
}

}  // namespace

bool run_grid(const Launch& launch, const std::function<void()>& thread_body) {
  body = &thread_body;
  gridDim = launch.grid;
  blockDim = launch.block;
  thread_count = blockDim.x * blockDim.y * blockDim.z;
  random_state = settings().seed * 0x9e3779b97f4a7c15u | 1;
  for (unsigned i = 0; i < thread_count; ++i)
    threads[i].index = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
  prepare_order();
  const uint64_t blocks = uint64_t{gridDim.x} * gridDim.y * gridDim.z;
  bool succeeded = true;
  for (uint64_t k = 0; k < blocks && succeeded; ++k) {
    const uint64_t i = settings().order == Order::reverse ? blocks - 1 - k : k;
    blockIdx = {static_cast<unsigned>(i % gridDim.x),
                static_cast<unsigned>(i / gridDim.x % gridDim.y),
                static_cast<unsigned>(i / gridDim.x / gridDim.y)};
    provide_stacks();
    new_shared_memory(launch.shared_bytes);
    succeeded = run_block();
    for (unsigned t = 0; t < thread_count; ++t) {
      if (!succeeded) abandon(threads[t].fiber);
      retire(threads[t].fiber);
    }
  }
  retire_all();
  acquire(&grid_end);
  return succeeded;
}

void block_barrier(Site site) {
  Thread& thread = *current;
  thread.state = State::at_barrier;
  thread.site = site;
  leave(thread.fiber, false);
}

void synchronize_lanes(unsigned warp, unsigned mask) {
  Fiber* fibers[32];
  unsigned count = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) != 0) fibers[count++] = &threads[warp * 32 + i].fiber;
  }
  synchronize(fibers, count, warp_object(warp));
}

void meet(WarpCall& call) {
  Thread& thread = *current;
  const auto index = static_cast<unsigned>(&thread - threads);
  const unsigned lane = index % 32, warp = index / 32;
  if ((call.mask >> lane & 1) == 0) {
    report(cudaErrorLaunchFailure, "%s:%d: lane %u calls a warp operation whose mask %08x lacks it",
           call.site.file, call.site.line, lane, call.mask);
  }
  thread.state = State::in_warp_op;
  thread.call = &call;
  WarpCall* calls[32] = {};
  bool complete = true;
  for (unsigned i = 0; i < 32; ++i) {
    if ((call.mask >> i & 1) == 0) continue;
    const unsigned other = warp * 32 + i;
    complete = complete && other < thread_count && threads[other].state == State::in_warp_op &&
               threads[other].call->op == call.op && threads[other].call->mask == call.mask;
    if (complete) calls[i] = threads[other].call;
  }
  if (complete) {
    combine(calls, call.mask);
    if (call.op == WarpOp::sync) synchronize_lanes(warp, call.mask);
    for (unsigned i = 0; i < 32; ++i) {
      if (calls[i] != nullptr) threads[warp * 32 + i].state = State::ready;
    }
  } else {
    leave(thread.fiber, false);
  }
}

void* static_shared_bytes(const void* key, size_t bytes, size_t alignment) {
  for (unsigned i = 0; i < static_count; ++i) {
    if (statics[i].first == key) return shared_memory + statics[i].second;
  }
  alignment = alignment < 16 ? 16 : alignment;
  const size_t offset = (shared_top + alignment - 1) / alignment * alignment;
  if (static_count == kMaxStatics || offset + bytes + kSharedGap > kSharedBytes - kSyncBytes) {
    std::fputs("cudasim: too much static shared memory\n", stderr);
    std::abort();
  }
  provide_shared(shared_memory + offset, bytes);
  shared_top = offset + bytes + kSharedGap;
  statics[static_count++] = {key, offset};
  return shared_memory + offset;
}

void* dynamic_shared() {
  return shared_memory;
}

void start_copy(void* shared, const void* global) {
  Thread& thread = *current;
  if (thread.copy_count == kMaxCopies) {
    std::fputs("cudasim: too many asynchronous copies in flight\n", stderr);
    std::abort();
  }
  const unsigned slot = (thread.first_copy + thread.copy_count++) % kMaxCopies;
  thread.copies[slot] = {shared, global, thread.group};
}

void commit_copies() {
  ++current->group;
}

bool take_copy(int pending, void** shared, const void** global) {
  Thread& thread = *current;
  const Copy& oldest = thread.copies[thread.first_copy];
  if (thread.copy_count == 0 || oldest.group >= thread.group - pending) return false;
  *shared = oldest.shared;
  *global = oldest.global;
  thread.first_copy = (thread.first_copy + 1) % kMaxCopies;
  --thread.copy_count;
  return true;
}

}  // namespace cudasim
