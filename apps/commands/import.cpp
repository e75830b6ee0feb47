#include <memory>

#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/interchange/import_model.h"

namespace tapir::app {
namespace {

constexpr const char* kImportExamples = R"(Examples:
  tapir import llama-folder --out runs/llama
  tapir generate runs/llama --prompt "Once upon a time"
  tapir train --resume runs/llama --data book.txt --steps 1000

The folder is one that transformers wrote or that a hub was asked for: config.json of a Llama
model, model.safetensors (or several with their index) and tokenizer.json of a byte-level BPE.
`tapir generate` and `tapir eval` take such a folder directly, too. What the model needs and this
program lacks is an error that names the field.)";

struct ImportCommand {
  std::string folder;
  std::string out;
  int64_t context = 0;
  bool overwrite = false;
};

std::vector<Setting> settings(ImportCommand& c) {
  return {
      {"import", "out", &c.out, "Folder of the run that is made"},
      {"import", "context", &c.context,
       "Shorten the model's context to this many tokens; 0: as config.json says", 0, 1e9},
      {"import", "overwrite", &c.overwrite, "Replace the run that is in the folder of --out"},
  };
}

int import(const ImportCommand& command) {
  require(!command.out.empty(), "import", "say where the run is to be made with --out FOLDER");
  const std::vector<std::string> notes =
      import_model(command.folder, command.out, command.context, command.overwrite);
  for (const std::string& note : notes) print_output("{}\n", note);
  print_output("write text with it: tapir generate {}\n", command.out);
  return 0;
}

}  // namespace

void add_import_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ImportCommand>();
  CLI::App* command =
      program.add_subcommand("import", "Make a run of a Llama model in Hugging Face's format");
  command->add_option("folder", options->folder, "Folder of the model")->required();
  set_action(*command, options, settings(*options), kImportExamples, import, chosen);
}

}  // namespace tapir::app
