#include "apps/bench/bench.h"

#include <array>
#include <memory>

#include "apps/cli/output.h"
#include "apps/cli/suggest.h"
#include "apps/commands/command.h"
#include "apps/machine.h"
#include "backends/cpu/threads.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr const char* kBenchExamples = R"(Examples:
  tapir bench
  tapir bench machine gemm
  tapir bench train --layers 6 --d-model 384 --heads 6 --context 256 --batch 16 --vocab 10000

Every figure is the shortest of many runs, with its share of what the machine can do at best:
of the multiplications with addition that all threads do in registers, or of the bandwidth of
memory. These are measured in the same run, because they change with other load on the machine.)";

struct BenchCommand {
  BenchSetup setup;
  std::vector<std::string> names;
  int64_t threads = 0;
};

struct Part {
  const char* name;
  void (*run)(const BenchSetup&);
};

constexpr std::array kParts = {Part{"machine", bench_machine},     Part{"gemm", bench_gemm},
                               Part{"attention", bench_attention}, Part{"kernels", bench_kernels},
                               Part{"train", bench_train},         Part{"generate", bench_generate},
                               Part{"tokenize", bench_tokenize}};

std::vector<Setting> settings(BenchCommand& c) {
  const std::string group = "bench";
  std::vector<Setting> list = {
      {group, "threads", &c.threads, "CPU threads; 0: as many as physical cores", 0, 256},
      {group, "batch", &c.setup.batch, "Sequences", 1, 1e6},
      {group, "vocab", &c.setup.vocab, "Vocabulary size", 1, 1e7},
      {group, "seconds", &c.setup.seconds, "To spend on each figure", 0, 3600},
      precision_setting(group, c.setup.precision),
      matmul_precision_setting(group, c.setup.matmul_precision),
  };
  for (Setting& setting : model_settings(c.setup.model)) list.push_back(std::move(setting));
  return list;
}

const Part& find(const std::string& name) {
  std::vector<std::string> known;
  for (const Part& part : kParts) {
    if (part.name == name) return part;
    known.push_back(part.name);
  }
  fail("bench", "there is no part '{}'{}; there are {}", name, did_you_mean(name, known),
       fmt::join(known, ", "));
}

int bench(const BenchCommand& command) {
  std::vector<Part> chosen;
  for (const std::string& name : command.names) chosen.push_back(find(name));
  if (chosen.empty()) chosen.assign(kParts.begin(), kParts.end());
  command.setup.model.transformer(command.setup.vocab).validate();
  if (command.threads > 0) cpu::set_threads(static_cast<int>(command.threads));
  if (const auto note = use_matmul_precision(command.setup.matmul_precision, kCpu))
    print_notes({*note});
  for (const Part& part : chosen) {
    print_output("{}{}\n", &part == chosen.data() ? "" : "\n", part.name);
    part.run(command.setup);
  }
  return 0;
}

}  // namespace

void add_bench_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = program.add_subcommand(
      "bench", "Measure kernels, training and generation against what the machine can do");
  command->add_option("parts", options->names,
                      "machine, gemm, attention, kernels, train, generate, tokenize; nothing: all");
  set_action(*command, options, settings(*options), kBenchExamples, bench, chosen);
}

}  // namespace tapir::app
