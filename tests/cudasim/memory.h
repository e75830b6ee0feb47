// Simulated device memory: one reserved range of addresses, fences around each allocation.
#pragma once

#include <cstddef>

namespace cudasim {

// Null when the device is full. New memory holds NaN.
void* device_allocate(size_t bytes);
// False, with a report, for what is not a live allocation or was written past its end.
bool device_free(void* address);
// Whether the address lies in the device's range at all.
bool is_device_address(const void* address);
size_t device_bytes();
size_t device_bytes_free();

// While one is alive, device memory may be touched: work of the device runs inside one.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
};

}  // namespace cudasim
