#include "apps/cli/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backends/error.h"

namespace tapir::app {
namespace {

// Writes all of it; false leaves the reason in errno.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

void reserve_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    // Takes the lowest number that is free. For reading only: writing fails, as it did.
    if (open("/dev/null", O_RDONLY) < 0) return;
  }
}

void write_output(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  if (errno == EPIPE) throw OutputClosed();
  fail("standard output", "cannot be written: {}", std::strerror(errno));
}

void write_output_if_possible(std::string_view text) {
  static bool warned = false;
  if (write_all(STDOUT_FILENO, text)) return;
  const int reason = errno;
  if (reason == EPIPE || std::exchange(warned, true)) return;
  print_message("tapir: warning: standard output cannot be written: {}\n", std::strerror(reason));
}

std::string harmless(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const bool control = (code < 0x20 && c != '\n' && c != '\t') || code == 0x7F;
    control ? result += "\xEF\xBF\xBD" : result += c;
  }
  return result;
}

void write_message(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

void print_notes(const std::vector<std::string>& notes) {
  constexpr size_t kShown = 5;
  for (size_t i = 0; i < std::min(notes.size(), kShown); ++i) {
    print_message("tapir: note: {}\n", notes[i]);
  }
  if (notes.size() > kShown) {
    print_message("tapir: note: and {} more left out\n", notes.size() - kShown);
  }
}

bool output_is_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

int terminal_width() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

}  // namespace tapir::app
