#include "nn/generate.h"

#include "apps/checkpoint.h"
#include "apps/cli/flags.h"
#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/tokenizer/utf8_stream.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr const char* kExamples = R"(Examples:
  tapir generate runs/book --prompt "Once upon a time"
  tapir generate runs/book --tokens 500 --temperature 0.8 --top-p 0.95 --seed 7)";

struct GenerateCommand {
  std::string run;
  std::string prompt;
  int64_t tokens = 256;
  nn::SamplingOptions sampling;
  int64_t seed = 1;
  std::string device = "auto";
  int64_t threads = 0;
};

std::vector<Setting> settings(GenerateCommand& c) {
  const std::string group = "generation";
  return {
      {group, "prompt", &c.prompt, "Text to continue"},
      {group, "tokens", &c.tokens, "Most tokens to generate", 0, 1e9},
      {group, "temperature", &c.sampling.temperature, "0 always takes the likeliest token", 0, 1e6},
      {group, "top-k", &c.sampling.top_k, "Choose among the k likeliest tokens; 0: all", 0, 1e9},
      {group, "top-p", &c.sampling.top_p,
       "Choose among the fewest tokens that reach this probability", 0, 1},
      {group, "min-p", &c.sampling.min_p,
       "Leave out tokens below this fraction of the likeliest one's probability", 0, 1},
      {group, "repetition-penalty", &c.sampling.repetition_penalty,
       "Above 1 makes tokens that occurred before less likely", 1e-6, 1e6},
      {group, "seed", &c.seed, "The same seed gives the same text", 0, 9e15},
      {group, "device", &c.device, "auto, cpu or cuda"},
      {group, "threads", &c.threads, "CPU threads; 0: as many as physical cores", 0, 256},
  };
}

int generate(const GenerateCommand& command) {
  if (command.threads > 0) cpu::set_threads(static_cast<int>(command.threads));
  const LoadedModel loaded =
      load_model(find_checkpoint(command.run), choose_device(command.device));
  std::vector<int32_t> ids = loaded.tokenizer->encode(command.prompt);
  if (ids.empty()) ids = loaded.tokenizer->encode("\n");
  nn::GenerateOptions options;
  options.max_new_tokens = command.tokens;
  options.sampling = command.sampling;
  options.seed = static_cast<uint64_t>(command.seed);
  options.end_of_text = loaded.tokenizer->end_of_text();
  Utf8Stream stream;
  write_output(stream.push(command.prompt));
  options.on_token = [&](int64_t, int32_t id) {
    if (id != options.end_of_text) write_output(stream.push(loaded.tokenizer->token_bytes(id)));
    return true;
  };
  nn::generate(*loaded.model, {ids}, options);
  write_output(stream.finish() + "\n");
  return 0;
}

}  // namespace

void add_generate_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<GenerateCommand>();
  CLI::App* command = program.add_subcommand("generate", "Write text with a trained model");
  command->add_option("run", options->run, "Folder of a run, or of one checkpoint")->required();
  auto flags = std::make_shared<Flags>(*command, settings(*options));
  command->footer(kExamples);
  command->callback([options, flags, &chosen] {
    chosen = [options, flags] {
      flags->apply();
      return generate(*options);
    };
  });
}

}  // namespace tapir::app
