#include "apps/cli/quantity.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "backends/error.h"

namespace tapir::app {
namespace {

// Three significant digits and a unit; whole numbers below the first step.
std::string scaled(double value, double step, const std::array<const char*, 5>& units) {
  size_t unit = 0;
  while (std::abs(value) >= step * 0.9995 && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  const int decimals = unit == 0 || std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  const char* space = *units[unit] == '\0' ? "" : " ";
  return fmt::format("{:.{}f}{}{}", value, decimals, space, units[unit]);
}

}  // namespace

std::string format_count(double count) {
  return scaled(count, 1000, {"", "k", "M", "G", "T"});
}

std::string format_bytes(double bytes) {
  return scaled(bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "unknown";
  if (seconds < 0.01) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 9.95) return fmt::format("{:.2g} s", seconds);
  const int64_t total = std::llround(seconds);
  if (total < 60) return fmt::format("{} s", total);
  if (total < 3600) return fmt::format("{} min {:02} s", total / 60, total % 60);
  if (total < 86400) return fmt::format("{} h {:02} min", total / 3600, total / 60 % 60);
  return fmt::format("{} d {:02} h", total / 86400, total / 3600 % 24);
}

int64_t parse_count(std::string_view text, std::string_view where) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  std::string_view unit(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  double scale = 0;
  if (unit.empty()) scale = 1;
  if (unit == "k" || unit == "K") scale = 1e3;
  if (unit == "m" || unit == "M") scale = 1e6;
  if (unit == "g" || unit == "G" || unit == "b" || unit == "B") scale = 1e9;
  const double count = value * scale;
  require(parsed.ec == std::errc() && scale > 0 && count >= 1 && count < 9e15, where,
          "expected a number such as 120000, 800k or 10M, got '{}'", text);
  return std::llround(count);
}

}  // namespace tapir::app
