#include <cstdlib>
#include <thread>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/commands/command.h"
#include "apps/interchange/open_model.h"
#include "apps/machine.h"
#include "apps/training/model_facts.h"
#include "backends/cpu/blas.h"
#include "backends/cpu/cpu_features.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr const char* kInfoExamples = R"(Examples:
  tapir info
  tapir info runs/book
  tapir info runs/book --checkpoint last

Without a model it describes the machine and the program.)";

struct InfoCommand {
  std::string run;
  std::string checkpoint;
};

std::vector<Setting> settings(InfoCommand& c) {
  return {{"run", "checkpoint", &c.checkpoint, "best, last or a step; by default best, else last"}};
}

void print_line(std::string_view name, const std::string& value) {
  print_output("{:<16} {}\n", name, value);
}

#ifdef __clang__
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

// What the processor can run, or the build has kernels for, up to `isa`.
std::string instruction_sets(cpu::Isa isa) {
  return isa == cpu::Isa::avx2     ? "AVX2"
         : isa == cpu::Isa::avx512 ? "AVX2 and AVX-512"
                                   : "AVX2, AVX-512 and AMX";
}

// Which kernels are used, and why.
std::string describe_instructions() {
  const char* wish = std::getenv("TAPIR_CPU");
  const bool wished = wish != nullptr && *wish != '\0';
  return fmt::format(
      "{} kernels ({}); the processor runs {}, the build has {}", cpu::name_of(cpu::chosen_isa()),
      wished ? "by TAPIR_CPU" : "the best that processor and build have",
      instruction_sets(cpu::best_of(cpu::features())), instruction_sets(cpu::best_built()));
}

// What --matmul-precision is good for.
std::string describe_products() {
  if (cpu::chosen_isa() == cpu::Isa::amx)
    return "f32; --matmul-precision high and medium use AMX, as products of bf16 do always";
  return "f32, with any --matmul-precision: the others need AMX";
}

void print_blas() {
  const cpu::BlasInfo& blas = cpu::load_blas();
  print_line("OpenBLAS", blas.path + ", for f64; f32 has kernels of its own");
  print_line("  threading",
             fmt::format("{}; one thread for each of our own loops", blas.threading));
  print_line("  kernels", fmt::format("{} (chosen by {})", blas.corename, blas.coretype_source));
  print_line("  config", blas.config);
  if (blas.warning) print_message("tapir: warning: {}\n", *blas.warning);
}

int describe_machine() {
  const cpu::Features& features = cpu::features();
  print_line("tapir", TAPIR_VERSION);
  print_line("build", fmt::format("{}, {}", TAPIR_BUILD_TYPE, kCompiler));
  print_line("processor", features.model);
  print_line("instructions", describe_instructions());
  print_line("products", describe_products());
  print_line("threads", fmt::format("{} (physical cores that this process may use; {} processors "
                                    "in all)",
                                    cpu::threads(), std::thread::hardware_concurrency()));
  print_line("memory",
             fmt::format("{} ({} available)", format_bytes(static_cast<double>(memory_limit())),
                         format_bytes(static_cast<double>(memory_available()))));
  print_blas();
  std::string reason;
  const bool cuda = is_available(kCuda, &reason);
  print_line("CUDA", cuda ? backend(kCuda).description() : "not available: " + reason);
  return 0;
}

int info(const InfoCommand& command) {
  if (command.run.empty()) {
    require(command.checkpoint.empty(), "info", "--checkpoint {} needs a run to choose it from",
            command.checkpoint);
    return describe_machine();
  }
  const LoadedModel model = open_model(command.run, command.checkpoint, kCpu);
  for (const auto& fact : model_facts(model)) print_line(fact.first, fact.second);
  return 0;
}

}  // namespace

void add_info_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<InfoCommand>();
  CLI::App* command = program.add_subcommand(
      "info", "Show what a model is, or version, build, processor, memory and libraries");
  command->add_option("run", options->run, "Folder of a run, or of one checkpoint");
  set_action(*command, options, settings(*options), kInfoExamples, info, chosen);
}

}  // namespace tapir::app
