// One fiber per CUDA thread: a stack of its own, and the switch to it and back.
#pragma once

#include <cstddef>

namespace cudasim {

struct Fiber {
  void* stack_pointer = nullptr;
  char* stack = nullptr;
  void* fake_stack = nullptr;  // AddressSanitizer's
  void* tsan_fiber = nullptr;  // ThreadSanitizer's
};

inline constexpr size_t kPage = 4096;
#if defined(CUDASIM_ASAN) || defined(CUDASIM_TSAN)
inline constexpr size_t kStackBytes = 256 * 1024;
#else
inline constexpr size_t kStackBytes = 64 * 1024;
#endif

// Address space for `count` stacks, each above a page that may not be touched.
char* map_stacks(unsigned count);
void unmap_stacks(char* stacks, unsigned count);
inline char* stack_at(char* stacks, unsigned index) {
  return stacks + index * (kStackBytes + kPage) + kPage;
}

// Makes the next switch_to() call `entry`, which must end with leave(true).
void prepare(Fiber& fiber, unsigned index, void (*entry)());
// Runs the fiber until it calls leave().
void switch_to(Fiber& fiber);
// Called on the fiber when it starts, and to return to the scheduler.
void arrive();
void leave(Fiber& fiber, bool finished);
// Forgets the frames of a fiber that will never run again.
void abandon(Fiber& fiber);

// For ThreadSanitizer only, else nothing. What the fibers did so far comes before what any of them
// does next; `object` is an address that stands for their meeting. It happens when the last one has
// come: each for itself, later, would also take over what the fast ones have done by then.
void synchronize(Fiber* const* fibers, unsigned count, void* object);
// What the fibers did before release() becomes visible to whoever acquires the same object.
void release(void* object);
void acquire(void* object);
// The end of a thread's block, and of the grid: old fibers are kept a while, because a reused id
// would make a race between blocks invisible.
void retire(Fiber& fiber);
void retire_all();

}  // namespace cudasim
