// The one error type that users see, and the one function that raises it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "backends/scope.h"

namespace tapir {

// What went wrong because of the caller: a shape, a flag, a file. The message reads
// `op (in layer.path): what is wrong, with the values; remedy`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws Error. `op` names the operation the user called; the layer path, when one is active, is
// added here so that no call site has to know it.
template <typename... Args>
[[noreturn]] void fail(std::string_view op, fmt::format_string<Args...> format, Args&&... args) {
  const std::string where = Scope::path().empty() ? "" : fmt::format(" (in {})", Scope::path());
  throw Error(fmt::format("{}{}: {}", op, where, fmt::format(format, std::forward<Args>(args)...)));
}

template <typename... Args>
void require(bool condition, std::string_view op, fmt::format_string<Args...> format,
             Args&&... args) {
  if (!condition) fail(op, format, std::forward<Args>(args)...);
}

}  // namespace tapir
