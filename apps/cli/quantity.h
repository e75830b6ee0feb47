// Numbers as people write them, with their units.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapir::app {

std::string format_count(double count);       // 950, 12.3 k, 4.56 M, 1.20 G
std::string format_bytes(double bytes);       // 950 B, 12.3 KiB, 4.56 MiB
std::string format_duration(double seconds);  // 0.42 s, 12 s, 3 min 20 s, 2 h 05 min, 3 d 4 h

// "10M", "1.5k", "2G", "120000" as a whole number; anything else is an Error that begins with
// `where`.
int64_t parse_count(std::string_view text, std::string_view where);

}  // namespace tapir::app
