#include <chrono>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/commands/command.h"
#include "apps/data/dataset.h"
#include "apps/data/sliding_evaluation.h"
#include "apps/interchange/open_model.h"

namespace tapir::app {
namespace {

constexpr const char* kEvalExamples = R"(Examples:
  tapir eval runs/book
  tapir eval runs/book --data other.txt
  tapir eval runs/book --data other.txt --stride 16 --per-token

With --data every token of the text is predicted once. The window slides by --stride tokens: a
smaller stride gives each token more context, and takes longer. Without --data the model is
measured on the validation text of its run, as in training but on more of it.)";

struct EvalCommand {
  std::string run;
  std::string checkpoint;
  std::vector<std::string> data;
  std::string jsonl_field = "text";
  int64_t stride = 0;
  int64_t batch = 8;
  int64_t batches = 200;
  bool per_token = false;
  InferenceSettings inference;
};

std::vector<Setting> settings(EvalCommand& c) {
  return {
      {"evaluation", "data", &c.data,
       "Text files, folders and quoted patterns to predict, - for standard input, or token files. "
       "Without any: the validation text of the run"},
      {"evaluation", "jsonl-field", &c.jsonl_field, "Where .jsonl files have their text"},
      {"evaluation", "stride", &c.stride, "Tokens between windows; 0: half the context", 0, 1e9},
      {"evaluation", "batch", &c.batch, "Windows at once", 1, 65536},
      {"evaluation", "batches", &c.batches, "Most batches of the run's validation text", 1, 1e9},
      {"evaluation", "per-token", &c.per_token,
       "Write the loss of each token to standard output, as JSON lines"},
      {"run", "checkpoint", &c.checkpoint, "best, last or a step; by default best, else last"},
      {"run", "weights", &c.inference.weights,
       "f32, bf16 or int8: measure the model as tapir generate --weights runs it"},
      {"run", "device", &c.inference.device, "auto, cpu or cuda"},
      matmul_precision_setting("run", c.inference.matmul_precision),
      {"run", "threads", &c.inference.threads, "CPU threads; 0: as many as physical cores", 0, 256},
  };
}

void write_token(const Tokenizer& tokenizer, int64_t position, int32_t id, double nats) {
  const std::string bytes = tokenizer.token_bytes(id);
  const nlohmann::ordered_json line = {
      {"position", position},
      {"id", id},
      {"bytes", std::vector<unsigned char>(bytes.begin(), bytes.end())},
      {"loss", nats}};
  write_output(line.dump() + "\n");
}

std::string describe(const Evaluation& e, double seconds) {
  std::string text = fmt::format(
      "loss           {:.4f} nats/token\nperplexity     {:.4f}\nbits per byte  {:.4f}\n", e.loss(),
      e.perplexity(), e.bits_per_byte());
  if (const auto floor = e.floor_bits_per_byte()) {
    text += fmt::format("floor          {:.4f} bits per byte; the loss is {:.1f} % above it\n",
                        *floor, (e.bits_per_byte() / *floor - 1) * 100);
  }
  return text + fmt::format("predicted      {} tokens, {} bytes, in {} ({} tokens/s)\n", e.tokens,
                            e.bytes, format_duration(seconds),
                            format_count(static_cast<double>(e.tokens) / seconds));
}

// As training measured it: in the precision of the run, unless other weights are asked for.
Evaluation evaluate_run(const EvalCommand& command, const LoadedModel& model) {
  require(!command.per_token, "eval", "--per-token needs a text; give one with --data");
  require(model.info.train_tokens > 0, "eval",
          "{} was not trained by this program and has no validation text; give a text with --data",
          command.run);
  RunConfig config = model.info.config;
  config.training.eval_batches = command.batches;
  const Dataset data = load_dataset(config, model.tokenizer);
  const Validation validation(data, command.batches, config.training.batch, config.model.context);
  if (command.inference.weights == "f32")
    model.model->to(parameter_dtype(config.training.precision));
  return validation.run(*model.model).value();
}

Evaluation evaluate_text(const EvalCommand& command, const LoadedModel& model) {
  const TokenData data = DataFiles(command.data, command.jsonl_field).load(*model.tokenizer);
  print_notes(data.notes);
  const int64_t context = model.model->config().max_seq_len;
  const SlidingOptions options{.context = context,
                               .stride = command.stride > 0 ? command.stride : (context + 1) / 2,
                               .batch = command.batch};
  TokenLoss on_token;
  if (command.per_token) {
    on_token = [&](int64_t position, int32_t id, double nats) {
      write_token(*model.tokenizer, position, id, nats);
    };
  }
  return evaluate_sliding(*model.model, data.tokens, *model.tokenizer, options, on_token);
}

int evaluate(const EvalCommand& command) {
  verify_model(command.run, command.checkpoint);
  const LoadedModel model = open_model(command.run, command.checkpoint, command.inference);
  const auto start = std::chrono::steady_clock::now();
  const Evaluation result =
      command.data.empty() ? evaluate_run(command, model) : evaluate_text(command, model);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  const std::string text = describe(result, taken.count());
  command.per_token ? write_message(text) : write_output(text);
  return 0;
}

}  // namespace

void add_eval_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<EvalCommand>();
  CLI::App* command =
      program.add_subcommand("eval", "Measure how well a trained model predicts a text");
  command->add_option("run", options->run, "Folder of a run, or of one checkpoint")->required();
  set_action(*command, options, settings(*options), kEvalExamples, evaluate, chosen);
}

}  // namespace tapir::app
