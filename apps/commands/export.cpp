#include <memory>

#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/interchange/export_model.h"
#include "apps/interchange/open_model.h"
#include "apps/interchange/weight_values.h"

namespace tapir::app {
namespace {

constexpr const char* kExportExamples = R"(Examples:
  tapir export runs/book --format hf --out book-hf
  tapir export runs/book --format gguf --dtype f16 --out book.gguf

hf is a folder for Hugging Face's transformers, gguf a file for llama.cpp. The model must be one
that Llama's architecture covers, as the default settings are, with a byte or BPE tokenizer.)";

struct ExportCommand {
  std::string run;
  std::string format = "hf";
  std::string out;
  std::string checkpoint;
  std::string dtype = "f32";
  bool overwrite = false;
};

Choice name_choice(std::string& value, std::vector<std::string> names) {
  return {std::move(names), [&value] { return value; },
          [&value](std::string_view name) { value = name; }};
}

std::vector<Setting> settings(ExportCommand& c) {
  return {
      {"export", "format", name_choice(c.format, {"hf", "gguf"}), "What to write"},
      {"export", "out", &c.out, "Folder (hf) or file (gguf) that is made"},
      {"export", "dtype", name_choice(c.dtype, {"f32", "f16", "bf16"}),
       "Numbers of the matrices; 16 bits round them"},
      {"export", "checkpoint", &c.checkpoint, "best, last or a step; by default best, else last"},
      {"export", "overwrite", &c.overwrite, "Replace what is at --out"},
  };
}

int export_run(const ExportCommand& command) {
  require(!command.out.empty(), "export", "say where to with --out PATH");
  verify_model(command.run, command.checkpoint);
  const LoadedModel model = open_model(command.run, command.checkpoint, kCpu);
  const DType dtype = command.dtype == "f16"    ? DType::f16
                      : command.dtype == "bf16" ? DType::bf16
                                                : DType::f32;
  if (const auto note = note_on_infinite(model.model->named_parameters())) print_notes({*note});
  const auto write = command.format == "hf" ? export_hugging_face : export_gguf;
  write(model, command.out, dtype, command.overwrite);
  print_output("wrote {}\n", command.out);
  return 0;
}

}  // namespace

void add_export_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ExportCommand>();
  CLI::App* command =
      program.add_subcommand("export", "Write a model for transformers or llama.cpp");
  command->add_option("run", options->run, "Folder of a run, or of one checkpoint")->required();
  set_action(*command, options, settings(*options), kExportExamples, export_run, chosen);
}

}  // namespace tapir::app
