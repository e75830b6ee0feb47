// Text that carries a checksum of itself.
#pragma once

#include <string>
#include <string_view>

namespace tapir::app {

// What stands in the place of the checksum until the text is sealed.
inline constexpr std::string_view kSealKey = "state_checksum";
inline constexpr std::string_view kUnsealed = "0000000000000000";

// JSON text with `"state_checksum": "0000000000000000"` in it: those zeros become the checksum of
// the text as it was with them.
std::string seal_text(std::string text);

// Whether a sealed text is unchanged.
bool is_sealed(std::string text);

}  // namespace tapir::app
