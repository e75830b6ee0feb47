#include "apps/training/summary.h"

#include "apps/cli/quantity.h"

namespace tapir::app {
namespace {

template <typename Number>
std::string count(Number value) {
  return format_count(static_cast<double>(value));
}

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<9} {}\n", name, value);
}

std::string model_line(const RunConfig& config, const nn::TransformerConfig& c) {
  return fmt::format(
      "{} parameters: {} layers, {} heads, width {}, context {} tokens, {} "
      "vocabulary of {}",
      count(c.parameter_count()), c.n_layers, c.n_heads, c.d_model, c.max_seq_len,
      config.data.tokenizer, c.vocab_size);
}

std::string data_line(const Dataset& data) {
  // Of token files neither is known.
  const std::string text =
      data.bytes == 0
          ? ""
          : fmt::format(", {} in {} document{}", format_bytes(static_cast<double>(data.bytes)),
                        data.documents, data.documents == 1 ? "" : "s");
  return fmt::format("{}{}: {} tokens to train on, {} to validate", data.name, text,
                     count(data.train.size()), count(data.validation.size()));
}

std::string steps_line(const RunConfig& config, int64_t train_tokens) {
  const TrainingConfig& t = config.training;
  const int64_t tokens = t.batch * t.accumulate * config.model.context;
  const double epochs = static_cast<double>(tokens) * static_cast<double>(t.steps) /
                        static_cast<double>(train_tokens);
  const std::string parts =
      t.accumulate == 1 ? std::to_string(t.batch) : fmt::format("{} x {}", t.accumulate, t.batch);
  return fmt::format("{} of {} tokens ({} sequences), {:.3g} times the training text", t.steps,
                     tokens, parts, epochs);
}

std::string memory_line(const MemoryForecast& m) {
  return fmt::format("about {}: weights {}, gradients {}, optimizer {}, activations {}",
                     format_bytes(m.total()), format_bytes(m.weights), format_bytes(m.gradients),
                     format_bytes(m.optimizer), format_bytes(m.activations));
}

}  // namespace

std::string summary(const SummaryFacts& facts) {
  const RunConfig& config = facts.config;
  const int64_t vocab_size = facts.data.tokenizer->vocab_size();
  const nn::TransformerConfig transformer = config.model.transformer(vocab_size);
  std::string text = line("model", model_line(config, transformer));
  text += line("data", data_line(facts.data));
  text += line("steps", steps_line(config, facts.data.train.size()));
  text += line("memory", memory_line(facts.memory));
  text += line("device", facts.device);
  text += line("precision", facts.precision);
  if (facts.seconds_per_step > 0) {
    const auto left = static_cast<double>(config.training.steps - facts.first_step);
    text += line("time", fmt::format("about {} ({} per step)",
                                     format_duration(left * facts.seconds_per_step),
                                     format_duration(facts.seconds_per_step)));
  }
  return text;
}

}  // namespace tapir::app
