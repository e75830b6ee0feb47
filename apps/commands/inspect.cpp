#include <filesystem>
#include <memory>

#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/config/presets.h"
#include "apps/files.h"
#include "apps/inspect/dot.h"
#include "apps/inspect/page.h"
#include "apps/inspect/pass.h"
#include "apps/inspect/table.h"
#include "apps/interchange/open_model.h"
#include "apps/tokenizer/file_io.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr const char* kInspectExamples = R"(Examples:
  tapir inspect TransformerBlock
  tapir inspect SwiGLU --d-model 128 --time 64 --composed
  tapir inspect cpu-tiny --html tiny.html
  tapir inspect cpu-tiny --layers 2 --norm layer
  tapir inspect runs/book --prompt "It was a dark" --html book.html --dot book.dot
  tapir inspect softmax

Each line of the table is a node of the tape, in the order in which it was recorded; the backward
pass runs them from the last to the first. `saved` is what the tape keeps alive for it.)";

struct InspectCommand {
  SubjectRequest subject;
  bool composed = false;
  std::string html;
  std::string dot;
  std::string dtype = "f32";
  std::string device = "auto";
  int64_t threads = 0;

  InspectCommand() {
    subject.model.layers = 2;
    subject.model.d_model = 64;
  }
};

std::vector<Setting> settings(InspectCommand& c) {
  const std::string group = "inspect";
  SubjectRequest& s = c.subject;
  std::vector<Setting> list = {
      {group, "composed", &c.composed,
       "Also run it with every fused operation composed of primitive ones, and compare"},
      {group, "html", &c.html, "Write one page with everything to this file"},
      {group, "dot", &c.dot, "Write the graph for Graphviz to this file"},
      {group, "prompt", &s.prompt, "The text that a language model reads"},
      {group, "checkpoint", &s.checkpoint, "Of a run: best, last or a step"},
      {group, "batch", &s.batch, "Sequences; a prompt is repeated", 1, 1e6},
      {group, "time", &s.time, "Tokens in each sequence, for layers and blocks", 1, 1e6},
      {group, "vocab", &s.vocab, "Vocabulary of layers that have one", 1, 1e6},
      {group, "dtype",
       Choice{{"f32", "f64", "bf16", "f16"},
              [&c] { return c.dtype; },
              [&c](std::string_view name) { c.dtype = name; }},
       "Of parameters and activations"},
      {group, "seed", &s.seed, "Of all random values", 0, 9e15},
      {group, "device", &c.device, "auto, cpu or cuda"},
      {group, "threads", &c.threads, "CPU threads; 0: as many as physical cores", 0, 256},
  };
  for (Setting& setting : model_settings(s.model)) list.push_back(std::move(setting));
  return list;
}

// Flags of the model change a preset, and have nothing to say about a run.
void choose_model(InspectCommand& c, const Flags& flags) {
  if (std::filesystem::is_directory(c.subject.name)) {
    ModelConfig unused;
    for (const Setting& setting : model_settings(unused)) {
      require(!flags.given(setting.name), "inspect",
              "--{} does not go with the run {}, whose model is what it is", setting.name,
              c.subject.name);
    }
  } else if (is_preset(c.subject.name)) {
    RunConfig config;
    apply_preset(c.subject.name, settings(config));
    c.subject.model = config.model;
  }
  flags.apply();
}

void complete(InspectCommand& c) {
  if (std::filesystem::is_directory(c.subject.name)) {
    verify_model(c.subject.name, c.subject.checkpoint);
  }
  if (c.threads > 0) cpu::set_threads(static_cast<int>(c.threads));
  c.subject.device = choose_device(c.device);
  c.subject.dtype = parse_dtype(c.dtype);
  require(!c.composed || c.dtype == "f32" || c.dtype == "f64", "inspect",
          "--composed compares f32 or f64, whose rounding hides no differences; leave out --dtype "
          "{}",
          c.dtype);
  RunConfig config;
  config.model = c.subject.model;
  config.validate();
}

void write_result(const std::string& path, const std::string& text) {
  require_replaceable(path, text.substr(0, 8));
  write_file(path, text);
  print_message("wrote {}\n", path);
}

int inspect_subject(InspectCommand& command) {
  complete(command);
  const bool with_page = !command.html.empty();
  Subject subject;
  const Inspection fused = inspect(command.subject, {.details = with_page}, &subject);
  const std::string title = fmt::format("{}: {}", subject.name, subject.about);
  print_output("{}\n\n{}", harmless(title), inspection_table(fused));
  std::optional<Inspection> composed;
  if (command.composed) {
    Subject other;
    composed = inspect(command.subject, {.details = with_page, .composed = true}, &other);
    print_output("\n{}", comparison_table(fused, subject, *composed, other));
  }
  if (!command.dot.empty()) write_result(command.dot, inspection_dot(fused, title));
  if (with_page) {
    write_result(command.html, inspection_page(subject, fused, composed ? &*composed : nullptr));
  }
  return 0;
}

}  // namespace

void add_inspect_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<InspectCommand>();
  CLI::App* command = program.add_subcommand(
      "inspect", "Show the tape of a layer or model: one forward and backward pass, node by node");
  command->add_option("name", options->subject.name,
                      "A layer, block, operation or preset by name, or the folder of a run; by "
                      "default a small TransformerLM");
  auto flags = std::make_shared<Flags>(*command, settings(*options));
  command->footer(kInspectExamples);
  command->callback([options, flags, &chosen] {
    chosen = [options, flags] {
      choose_model(*options, *flags);
      return inspect_subject(*options);
    };
  });
}

}  // namespace tapir::app
