// Compiled without -fsanitize=thread: this is the hardware, and ThreadSanitizer must not see it.
// For the same reason nothing here calls memcpy or memset, which it intercepts.
#include "cudasim/fiber.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>

#ifdef CUDASIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef CUDASIM_TSAN
#include <vector>
extern "C" {
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void* __tsan_get_current_fiber();
void __tsan_acquire(void* object);
void __tsan_release(void* object);
}
#endif

// void cudasim_switch_stack(void** save, void* load): keeps what the System V ABI asks a callee to
// keep on the old stack, and goes on where the new stack left off.
extern "C" void cudasim_switch_stack(void** save, void* load);
asm(R"(
.pushsection .text
.globl cudasim_switch_stack
.hidden cudasim_switch_stack
.type cudasim_switch_stack, @function
cudasim_switch_stack:
  pushq %r15
  pushq %r14
  pushq %r13
  pushq %r12
  pushq %rbp
  pushq %rbx
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %rbx
  popq %rbp
  popq %r12
  popq %r13
  popq %r14
  popq %r15
  ret
.size cudasim_switch_stack, .-cudasim_switch_stack
.popsection
)");

namespace cudasim {
namespace {

void* scheduler_stack_pointer = nullptr;
#ifdef CUDASIM_ASAN
void* scheduler_fake_stack = nullptr;
const void* scheduler_stack = nullptr;
size_t scheduler_stack_bytes = 0;
#endif
#ifdef CUDASIM_TSAN
void* scheduler_fiber = nullptr;
std::vector<void*> retired;
// Enough to show races among all blocks of a small grid; ThreadSanitizer has few slots.
constexpr size_t kRetired = 640;
constexpr unsigned kNoSynchronization = 1;
#endif

}  // namespace

char* map_stacks(unsigned count) {
  const size_t each = kStackBytes + kPage;
  void* base = mmap(nullptr, each * count, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    std::perror("cudasim: no memory for stacks");
    std::abort();
  }
  char* stacks = static_cast<char*>(base);
  for (unsigned i = 0; i < count; ++i) mprotect(stacks + i * each, kPage, PROT_NONE);
  return stacks;
}

void unmap_stacks(char* stacks, unsigned count) {
  munmap(stacks, count * (kStackBytes + kPage));
}

void prepare(Fiber& fiber, unsigned index, void (*entry)()) {
  // Staggered, so that the tops of the stacks do not fight for one set of the cache. Six saved
  // registers lie below the address that the first switch returns to, and a function starts with
  // its stack pointer 8 below a multiple of 16.
  char* top = fiber.stack + kStackBytes - index % 32 * 128 - 24;
  void** slots = reinterpret_cast<void**>(top);
  slots[0] = nullptr;
  slots[-1] = reinterpret_cast<void*>(entry);
  fiber.stack_pointer = slots - 7;
#ifdef CUDASIM_TSAN
  fiber.tsan_fiber = __tsan_create_fiber(0);
#endif
}

void switch_to(Fiber& fiber) {
#ifdef CUDASIM_ASAN
  __sanitizer_start_switch_fiber(&scheduler_fake_stack, fiber.stack, kStackBytes);
#endif
#ifdef CUDASIM_TSAN
  scheduler_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.tsan_fiber, kNoSynchronization);
#endif
  cudasim_switch_stack(&scheduler_stack_pointer, fiber.stack_pointer);
#ifdef CUDASIM_ASAN
  __sanitizer_finish_switch_fiber(scheduler_fake_stack, nullptr, nullptr);
#endif
}

void arrive() {
#ifdef CUDASIM_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

void leave(Fiber& fiber, [[maybe_unused]] bool finished) {
#ifdef CUDASIM_ASAN
  __sanitizer_start_switch_fiber(finished ? nullptr : &fiber.fake_stack, scheduler_stack,
                                 scheduler_stack_bytes);
#endif
#ifdef CUDASIM_TSAN
  __tsan_switch_to_fiber(scheduler_fiber, kNoSynchronization);
#endif
  cudasim_switch_stack(&fiber.stack_pointer, scheduler_stack_pointer);
#ifdef CUDASIM_ASAN
  __sanitizer_finish_switch_fiber(fiber.fake_stack, &scheduler_stack, &scheduler_stack_bytes);
#endif
}

void abandon([[maybe_unused]] Fiber& fiber) {
#ifdef CUDASIM_ASAN
  __asan_unpoison_memory_region(fiber.stack, kStackBytes);
#endif
#ifdef CUDASIM_TSAN
  // What it did so far comes before what the host does next.
  void* const host = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber.tsan_fiber, kNoSynchronization);
  __tsan_switch_to_fiber(host, 0);
#endif
}

void synchronize([[maybe_unused]] Fiber* const* fibers, [[maybe_unused]] unsigned count,
                 [[maybe_unused]] void* object) {
#ifdef CUDASIM_TSAN
  void* const self = __tsan_get_current_fiber();
  for (unsigned i = 0; i < count; ++i) {
    __tsan_switch_to_fiber(fibers[i]->tsan_fiber, kNoSynchronization);
    __tsan_release(object);
  }
  for (unsigned i = 0; i < count; ++i) {
    __tsan_switch_to_fiber(fibers[i]->tsan_fiber, kNoSynchronization);
    __tsan_acquire(object);
  }
  __tsan_switch_to_fiber(self, kNoSynchronization);
#endif
}

void release([[maybe_unused]] void* object) {
#ifdef CUDASIM_TSAN
  __tsan_release(object);
#endif
}

void acquire([[maybe_unused]] void* object) {
#ifdef CUDASIM_TSAN
  __tsan_acquire(object);
#endif
}

void retire([[maybe_unused]] Fiber& fiber) {
#ifdef CUDASIM_TSAN
  if (retired.size() == kRetired) retire_all();
  retired.push_back(fiber.tsan_fiber);
#endif
}

void retire_all() {
#ifdef CUDASIM_TSAN
  for (void* fiber : retired) __tsan_destroy_fiber(fiber);
  retired.clear();
#endif
}

}  // namespace cudasim
