// How many threads the CPU kernels use.
#pragma once

namespace tapir::cpu {

inline constexpr int kMaxThreads = 256;

// The threads of a parallel loop: at first, the physical cores this process may run on.
int threads();
// 1 to kMaxThreads, otherwise an Error. Not to be called while a kernel runs.
void set_threads(int count);

// The number of physical cores that the scheduler lets this process use, at least 1.
int physical_cores();

}  // namespace tapir::cpu
