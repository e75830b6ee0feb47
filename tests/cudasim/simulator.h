// What the simulator offers to the code that it runs: the scheduler, shared memory, asynchronous
// copies, and the queue of work. Everything happens on one thread of the host, which plays the
// device whenever the program waits for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <cuda_runtime_api.h>

namespace cudasim {

// A place in a kernel source.
struct Site {
  const char* file;
  int line;

  static Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
  bool operator==(const Site& other) const { return line == other.line && file == other.file; }
};

// In which order the ready threads of a block run, and blocks of a grid.
enum class Order { forward, reverse, random };

// Read once from the environment variable CUDASIM: words among reverse, random, eager, open and
// seed=N, separated by commas.
struct Settings {
  Order order = Order::forward;
  uint64_t seed = 1;
  bool lazy_streams = true;    // queued work runs only when something waits for it
  bool protect_memory = true;  // the host cannot touch device memory
};
const Settings& settings();
// What the environment variable CUDASIM_DEVICE makes of the device, for tests of the reasons why
// one cannot be used: "none", "old driver", "broken", "silent", "old", "no cublas", or "" for one
// that works.
std::string device_kind();

struct Launch {
  const void* kernel;
  dim3 grid, block;
  size_t shared_bytes;
};

// Checks the launch and queues it; `body` is one thread's run through the kernel.
cudaError_t enqueue(const Launch& launch, cudaStream_t stream, std::function<void()> body);
// Queues work that the host does for the device, such as a library's.
cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work);

// Whether [address, address + bytes) lies inside one live device allocation.
bool is_device_range(const void* address, size_t bytes);
// The same for the pointers among a kernel's arguments, with a report.
bool is_kernel_pointer(const void* pointer, int argument);

// Notes a mistake of the simulated program. Every later call of the runtime fails with the first
// one's error, until the report is taken.
void report(cudaError_t error, const char* format, ...) __attribute__((format(printf, 2, 3)));
cudaError_t reported_error();
// The first report since the last call, or "".
const char* take_report();

// Called by kernels.
void block_barrier(Site site);

enum class WarpOp {
  sync,
  shuffle_index,
  shuffle_up,
  shuffle_xor,
  ballot,
  mma_bf16,
  mma_f16,
  ldmatrix,
  ldmatrix_trans
};

// One lane's part in a warp operation.
struct WarpCall {
  WarpOp op;
  unsigned mask;
  Site site;
  const void* in = nullptr;
  void* out = nullptr;
  size_t bytes = 0;
  int argument = 0, width = 32;
};
// Returns when every lane of the mask has called; the last one computes all results.
void meet(WarpCall& call);

struct MmaOperands {
  uint32_t a[4], b[2];
  float c[4];
};

void* static_shared_bytes(const void* key, size_t bytes, size_t alignment);
void* dynamic_shared();

// Asynchronous copies of 16 bytes to shared memory; a null source means zeros.
void start_copy(void* shared, const void* global);
void commit_copies();
// Takes the oldest copy of this thread whose group is older than the `pending` latest ones.
bool take_copy(int pending, void** shared, const void** global);

}  // namespace cudasim
