#include "apps/cli/flags.h"
#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/commands/command.h"
#include "apps/run_folder.h"
#include "apps/trainer.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr const char* kExamples = R"(Examples:
  tapir train --data book.txt --out runs/book
  tapir train --data texts/ more.txt --out runs/mine --layers 6 --d-model 192 --heads 6)";

struct TrainOptions {
  RunConfig config;
  std::string out;
};

class Reporter : public TrainingObserver {
 public:
  Reporter(RunFolder& folder, int64_t steps) : folder_(folder), steps_(steps) {}

  void step_done(const StepReport& report) override {
    folder_.append_metrics(report);
    if (report.step % 10 != 0 && !report.validation && report.step != steps_) return;
    print_output("step {}/{}  loss {:.4f}  lr {:.2e}  grad norm {:.2f}  {} tokens/s\n", report.step,
                 steps_, report.loss, report.lr, report.grad_norm,
                 format_count(report.tokens_per_s));
    if (!report.validation) return;
    print_output("  validation loss {:.4f} nats per token, perplexity {:.2f}, {:.4f} bits/byte\n",
                 report.validation->loss(), report.validation->perplexity(),
                 report.validation->bits_per_byte());
  }

 private:
  RunFolder& folder_;
  int64_t steps_;
};

int train(TrainOptions& options) {
  const RunConfig& config = options.config;
  config.validate();
  require(!options.out.empty(), "train", "say where to keep the run with --out FOLDER");
  if (config.training.threads > 0) cpu::set_threads(static_cast<int>(config.training.threads));
  const Device device = choose_device(config.training.device);
  const Dataset data = load_dataset(config.data);
  Trainer trainer(config, data, device);
  RunFolder folder(options.out);
  Reporter reporter(folder, config.training.steps);
  trainer.run(reporter);
  folder.save({.config = config,
               .state = trainer.state(),
               .tokenizer = *data.tokenizer,
               .documents = data.documents,
               .model = trainer.model(),
               .optimizer = trainer.optimizer()},
              false);
  print_output("saved {}\n", options.out);
  return 0;
}

}  // namespace

void add_train_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<TrainOptions>();
  CLI::App* command = program.add_subcommand("train", "Train a model on text");
  std::vector<Setting> list = settings(options->config);
  list.push_back({"output", "out", &options->out, "Folder for the run"});
  auto flags = std::make_shared<Flags>(*command, std::move(list));
  command->footer(kExamples);
  command->callback([options, flags, &chosen] {
    chosen = [options, flags] {
      flags->apply();
      return train(*options);
    };
  });
}

}  // namespace tapir::app
