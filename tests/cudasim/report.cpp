// What the simulator has found. Compiled without -fsanitize=thread, like fiber.cpp: threads of a
// kernel that get stuck report from their fibers, in no order that ThreadSanitizer knows of.
#include <cstdarg>
#include <cstdio>

#include "cudasim/simulator.h"

namespace cudasim {
namespace {

constexpr size_t kLength = 512;
char first_report[kLength];
cudaError_t first_error = cudaSuccess;

void copy_text(char* to, const char* from) {
  size_t i = 0;
  for (; i + 1 < kLength && from[i] != 0; ++i) static_cast<volatile char*>(to)[i] = from[i];
  to[i] = 0;
}

}  // namespace

void report(cudaError_t error, const char* format, ...) {
  char text[kLength];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (first_error == cudaSuccess) {
    first_error = error;
    copy_text(first_report, text);
  }
  std::fprintf(stderr, "cudasim: %s\n", text);
}

cudaError_t reported_error() {
  return first_error;
}

const char* take_report() {
  static char taken[kLength];
  copy_text(taken, first_error == cudaSuccess ? "" : first_report);
  first_error = cudaSuccess;
  return taken;
}

}  // namespace cudasim
