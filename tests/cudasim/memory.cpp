#include "cudasim/memory.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <sys/mman.h>

#include "cudasim/fiber.h"
#include "cudasim/simulator.h"

#ifdef CUDASIM_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace cudasim {
namespace {

// Addresses are handed out once, except to blocks of the same size; memory is what is in use.
constexpr size_t kAddresses = size_t{1} << 32, kDeviceBytes = size_t{1} << 27;
constexpr size_t kAlignment = 256, kFence = 256;
constexpr unsigned char kPoison = 0xff;  // NaN in every floating dtype, -1 as an integer

struct Device {
  char* base = nullptr;
  size_t top = 0, in_use = 0;
  std::map<char*, size_t> live;              // requested bytes
  std::multimap<size_t, char*> free_blocks;  // by size with fence
  int users = 0;

  Device() {
    const int protection = settings().protect_memory ? PROT_NONE : PROT_READ | PROT_WRITE;
    void* range =
        mmap(nullptr, kAddresses, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
      std::perror("cudasim: no memory for the device");
      std::abort();
    }
    base = static_cast<char*>(range);
  }

  void protect(int protection) {
    if (settings().protect_memory && top > 0)
      mprotect(base, (top + kPage - 1) / kPage * kPage, protection);
  }
};

Device& device() {
  static Device& instance = *new Device;
  return instance;
}

size_t with_fence(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment + kFence;
}

char* find_block(size_t bytes) {
  Device& d = device();
  if (auto found = d.free_blocks.find(bytes); found != d.free_blocks.end()) {
    char* block = found->second;
    d.free_blocks.erase(found);
    return block;
  }
  if (d.top + bytes > kAddresses) return nullptr;
  char* block = d.base + d.top;
  d.top += bytes;
#ifdef CUDASIM_ASAN
  __asan_poison_memory_region(block, bytes);
#endif
  return block;
}

// With AddressSanitizer the fence is poisoned and needs no look.
bool fence_intact([[maybe_unused]] const char* block, [[maybe_unused]] size_t bytes) {
#ifndef CUDASIM_ASAN
  for (size_t i = bytes; i < with_fence(bytes); ++i) {
    if (static_cast<unsigned char>(block[i]) != kPoison) {
      report(cudaErrorIllegalAddress,
             "write past the end of a device allocation of %zu bytes, at %zu", bytes, i);
      return false;
    }
  }
#endif
  return true;
}

}  // namespace

DeviceAccess::DeviceAccess() {
  if (device().users++ == 0) device().protect(PROT_READ | PROT_WRITE);
}

DeviceAccess::~DeviceAccess() {
  if (--device().users == 0) device().protect(PROT_NONE);
}

void* device_allocate(size_t bytes) {
  Device& d = device();
  if (bytes > kDeviceBytes - d.in_use) return nullptr;
  char* block = find_block(with_fence(bytes));
  if (block == nullptr) return nullptr;
  const DeviceAccess access;
#ifdef CUDASIM_ASAN
  __asan_unpoison_memory_region(block, bytes);
  std::memset(block, kPoison, bytes);
#else
  std::memset(block, kPoison, with_fence(bytes));
#endif
  d.live[block] = bytes;
  d.in_use += bytes;
  return block;
}

bool device_free(void* address) {
  Device& d = device();
  const auto found = d.live.find(static_cast<char*>(address));
  if (found == d.live.end()) {
    report(cudaErrorInvalidValue, "cudaFree of something that is not a live allocation");
    return false;
  }
  const auto [block, bytes] = *found;
  const DeviceAccess access;
  const bool intact = fence_intact(block, bytes);
  std::memset(block, kPoison, bytes);
#ifdef CUDASIM_ASAN
  __asan_poison_memory_region(block, bytes);
#endif
  d.live.erase(found);
  d.free_blocks.emplace(with_fence(bytes), block);
  d.in_use -= bytes;
  return intact;
}

bool is_device_address(const void* address) {
  const auto* byte = static_cast<const char*>(address);
  return byte >= device().base && byte < device().base + kAddresses;
}

bool is_device_range(const void* address, size_t bytes) {
  const auto& live = device().live;
  auto block = live.upper_bound(const_cast<char*>(static_cast<const char*>(address)));
  if (block == live.begin()) return false;
  --block;
  return static_cast<const char*>(address) + bytes <= block->first + block->second;
}

bool is_kernel_pointer(const void* pointer, int argument) {
  if (pointer == nullptr || is_device_range(pointer, 0)) return true;
  report(cudaErrorIllegalAddress, "argument %d of a kernel points to no live device memory",
         argument);
  return false;
}

size_t device_bytes() {
  return kDeviceBytes;
}
size_t device_bytes_free() {
  return kDeviceBytes - device().in_use;
}

}  // namespace cudasim
