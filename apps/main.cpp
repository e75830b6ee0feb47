// The entry point. Compiled for any x86-64 processor, unlike everything else, so that a processor
// without AVX2 gets a sentence instead of an illegal instruction.
#include <stdlib.h>
#include <unistd.h>

#include "apps/program.h"

namespace {

// Runs before the initialisers of the other files, which may already use AVX2.
[[gnu::constructor(101)]] void require_avx2() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  constexpr char kMessage[] =
      "tapir: this processor lacks AVX2 and FMA, which this program is compiled for\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  _exit(EXIT_FAILURE);
}

}  // namespace

int main(int argc, char** argv) {
  return tapir::app::run_program(argc, argv);
}
