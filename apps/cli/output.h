// Writing for people and for other programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace tapir::app {

// The reader of standard output has gone away (`tapir generate ... | head -1`): end quietly.
struct OutputClosed {};

// Input, output and errors that are closed would give their numbers to the next files that are
// opened, and what is meant for people would be written into those. To be called first.
void reserve_standard_descriptors();

// Writes to standard output at once. Throws OutputClosed when nobody reads it any more; every
// other failure (a full disk) is an Error.
void write_output(std::string_view text);

template <typename... Args>
void print_output(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}

// The same, but a failure is no reason to stop: not that nobody reads, a full disk, nor a terminal
// that was closed. All but the first get one warning.
void write_output_if_possible(std::string_view text);

// Text from a model or a stranger, without the control characters that could drive a terminal:
// all but tab and new line become U+FFFD.
std::string harmless(std::string_view text);

// Writes to standard error, where messages go that are not the result. A failure is ignored.
void write_message(std::string_view text);

template <typename... Args>
void print_message(fmt::format_string<Args...> format, Args&&... args) {
  write_message(fmt::format(format, std::forward<Args>(args)...));
}

// Writes a line for each to standard error, but only how many there are behind the first few.
void print_notes(const std::vector<std::string>& notes);

// Whether people read it, rather than a file or a program.
bool output_is_terminal();
// Columns of the terminal on standard output; 80 when there is none.
int terminal_width();

}  // namespace tapir::app
