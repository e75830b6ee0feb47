// What the machine can do at best, measured beside what is compared with it.
#pragma once

#include <functional>

namespace tapir::app {

// The shortest of many runs of `body`, in seconds: other programs only make runs longer. Runs it
// for about `budget` seconds, at least three times after a first one that does not count.
double shortest_time(const std::function<void()>& body, double budget);

// Floating-point operations per second of all threads, from multiplications with addition of f32
// in registers, with the instructions that the kernels use.
double peak_flops();
// The same of bf16 with the tiles of AMX, which build and processor must have.
double tile_peak_flops();

// Bytes per second that all threads read, one after the other, out of a buffer of that size: by
// default one that is larger than most caches.
double read_bandwidth(int64_t bytes = int64_t{64} << 20);
// Bytes per second, read and written together, of a[i] = b[i] + c * d[i] with such buffers.
double triad_bandwidth();

}  // namespace tapir::app
