// The CUDA runtime's functions that the backend uses. An unknown one fails when linking.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "cudasim/memory.h"
#include "cudasim/scheduler.h"
#include "cudasim/simulator.h"

// What a stream was asked for during a capture.
struct CUgraph_st {
  std::vector<std::function<void()>> work;
  bool valid = true;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};

namespace cudasim {
namespace {

using Work = std::function<void()>;

struct Stream {
  std::deque<Work> queue;
  CUgraph_st* captured = nullptr;  // takes what is asked for, while it is there
};

// Never destroyed, like the device: tensors of static storage duration may outlive any object.
std::set<Stream*>& streams() {
  static auto& instance = *new std::set<Stream*>;
  return instance;
}

Stream& stream_of(cudaStream_t handle) {
  static Stream& default_stream = *new Stream;
  if (handle != nullptr) return *reinterpret_cast<Stream*>(handle);
  streams().insert(&default_stream);
  return default_stream;
}

void drain(Stream& stream) {
  if (stream.queue.empty()) return;
  const DeviceAccess access;
  while (!stream.queue.empty()) {
    const Work work = std::move(stream.queue.front());
    stream.queue.pop_front();
    if (reported_error() == cudaSuccess) work();
  }
}

void drain_all() {
  for (Stream* stream : streams()) drain(*stream);
}

void push(cudaStream_t handle, Work work) {
  Stream& stream = stream_of(handle);
  if (stream.captured != nullptr) {
    stream.captured->work.push_back(std::move(work));
    return;
  }
  stream.queue.push_back(std::move(work));
  if (!settings().lazy_streams) drain(stream);
}

// Page-locked memory of the host, by address. Copies from it read when they run; copies from
// other memory have read when the call returns.
std::map<const char*, size_t> pinned;

bool is_pinned(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  auto block = pinned.upper_bound(byte);
  if (block == pinned.begin()) return false;
  --block;
  return byte < block->first + block->second;
}

std::map<const void*, size_t> allowed_shared;  // by cudaFuncSetAttribute
constexpr size_t kDefaultShared = 48 * 1024, kLargestShared = 227 * 1024;

Settings read_settings() {
  Settings result;
  const char* text = std::getenv("CUDASIM");
  std::istringstream words(text == nullptr ? "" : text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "reverse")
      result.order = Order::reverse;
    else if (word == "random")
      result.order = Order::random;
    else if (word == "eager")
      result.lazy_streams = false;
    else if (word == "open")
      result.protect_memory = false;
    else if (word.rfind("seed=", 0) == 0)
      result.seed = std::stoull(word.substr(5));
    else {
      std::fprintf(stderr, "cudasim: unknown word '%s' in CUDASIM\n", word.c_str());
      std::abort();
    }
  }
  return result;
}

}  // namespace

std::string device_kind() {
  const char* kind = std::getenv("CUDASIM_DEVICE");
  return kind == nullptr ? "" : kind;
}

const Settings& settings() {
  static const Settings instance = read_settings();
  return instance;
}

cudaError_t enqueue(const Launch& launch, cudaStream_t stream, std::function<void()> body) {
  const uint64_t threads = uint64_t{launch.block.x} * launch.block.y * launch.block.z;
  const dim3 grid = launch.grid;
  if (threads == 0 || threads > 1024 || launch.block.z > 64 || grid.x == 0 || grid.y == 0 ||
      grid.z == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) {
    return cudaErrorInvalidConfiguration;
  }
  const auto allowed = allowed_shared.find(launch.kernel);
  const size_t limit = allowed == allowed_shared.end() ? kDefaultShared : allowed->second;
  if (launch.shared_bytes > limit) return cudaErrorInvalidValue;
  if (reported_error() != cudaSuccess) return reported_error();
  push(stream, [launch, body = std::move(body)] { run_grid(launch, body); });
  return reported_error();
}

cudaError_t enqueue_work(cudaStream_t stream, std::function<void()> work) {
  push(stream, std::move(work));
  return reported_error();
}

}  // namespace cudasim

using namespace cudasim;

namespace {

bool copy_fits(const void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return is_device_address(to) == to_device && is_device_address(from) == from_device &&
         (!to_device || is_device_range(to, bytes)) &&
         (!from_device || is_device_range(from, bytes));
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  if (device_kind() == "none") return cudaErrorNoDevice;
  if (device_kind() == "old driver") return cudaErrorInsufficientDriver;
  if (device_kind() == "broken") return cudaErrorUnknown;
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  if (device_kind() == "silent") return cudaErrorUnknown;
  *properties = cudaDeviceProp{};
  std::strcpy(properties->name, "simulated device");
  properties->major = device_kind() == "old" ? 7 : 8;
  properties->minor = 0;
  properties->multiProcessorCount = 4;
  properties->totalGlobalMem = device_bytes();
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  *free_bytes = device_bytes_free();
  *total = device_bytes();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** block, size_t bytes) {
  *block = bytes == 0 ? nullptr : device_allocate(bytes);
  return *block == nullptr && bytes > 0 ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFree(void* block) {
  drain_all();
  if (block == nullptr) return cudaSuccess;
  return device_free(block) ? reported_error() : cudaErrorInvalidValue;
}

cudaError_t cudaMallocHost(void** block, size_t bytes) {
  *block = std::malloc(bytes);
  pinned[static_cast<char*>(*block)] = bytes;
  return *block == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFreeHost(void* block) {
  drain_all();
  pinned.erase(static_cast<char*>(block));
  std::free(block);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!copy_fits(to, from, bytes, kind)) {
    report(cudaErrorInvalidValue, "a copy of %zu bytes does not fit its kind or its allocations",
           bytes);
    return cudaErrorInvalidValue;
  }
  const bool staged = kind == cudaMemcpyHostToDevice && !is_pinned(from);
  if (staged) {
    const auto* bytes_of = static_cast<const char*>(from);
    auto stage = std::make_shared<std::vector<char>>(bytes_of, bytes_of + bytes);
    push(stream, [=] { std::memcpy(to, stage->data(), bytes); });
  } else {
    push(stream, [=] { std::memmove(to, from, bytes); });
  }
  if (kind == cudaMemcpyDeviceToHost && !is_pinned(to)) return cudaStreamSynchronize(stream);
  return reported_error();
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (!is_device_range(to, bytes)) {
    report(cudaErrorInvalidValue, "cudaMemset of %zu bytes leaves its allocation", bytes);
    return cudaErrorInvalidValue;
  }
  push(stream, [=] { std::memset(to, value, bytes); });
  return reported_error();
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  auto* created = new Stream;
  streams().insert(created);
  *stream = reinterpret_cast<cudaStream_t>(created);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (CUgraph_st* captured = stream_of(stream).captured) {
    captured->valid = false;
    return cudaErrorStreamCaptureUnsupported;
  }
  drain(stream_of(stream));
  return reported_error();
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream_of(stream).captured != nullptr) return cudaErrorIllegalState;
  stream_of(stream).captured = new CUgraph_st;
  return reported_error();
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = std::exchange(stream_of(stream).captured, nullptr);
  if (*graph == nullptr) return cudaErrorIllegalState;
  if ((*graph)->valid) return reported_error();
  delete std::exchange(*graph, nullptr);
  return cudaErrorStreamCaptureInvalidated;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = new CUgraphExec_st{graph->work};
  return cudaSuccess;
}

// The real one compares kernels too; that other numbers of them are refused must be enough here.
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo* result) {
  *result = cudaGraphExecUpdateResultInfo{};
  if (executable->work.size() != graph->work.size()) return cudaErrorGraphExecUpdateFailure;
  executable->work = graph->work;
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  for (const Work& work : executable->work) push(stream, work);
  return reported_error();
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  drain_all();
  return reported_error();
}

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaErrorInvalidValue;
  if (value < 0 || static_cast<size_t>(value) > kLargestShared) return cudaErrorInvalidValue;
  allowed_shared[kernel] = static_cast<size_t>(value);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return reported_error();
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    default:
      return "another cudaError";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "reported by the simulator";
}

}  // extern "C"
