// Which device a tensor lives on.
#pragma once

#include <string>
#include <string_view>

#include "backends/error.h"

namespace tapir {

enum class DeviceKind : uint8_t { cpu, cuda };

struct Device {
  DeviceKind kind = DeviceKind::cpu;

  bool operator==(const Device&) const = default;
};

constexpr Device kCpu{DeviceKind::cpu};
constexpr Device kCuda{DeviceKind::cuda};

constexpr std::string_view name_of(Device device) {
  return device.kind == DeviceKind::cpu ? "cpu" : "cuda";
}

// "cpu" or "cuda"; anything else is an Error.
Device parse_device(std::string_view name);

}  // namespace tapir

template <>
struct fmt::formatter<tapir::Device> : fmt::formatter<std::string_view> {
  auto format(tapir::Device device, format_context& context) const {
    return fmt::formatter<std::string_view>::format(tapir::name_of(device), context);
  }
};
