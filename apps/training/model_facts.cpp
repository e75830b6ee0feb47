#include "apps/training/model_facts.h"

#include <cmath>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/generation/prompt.h"

namespace tapir::app {
namespace {

std::string steps(const CheckpointInfo& info) {
  if (info.train_tokens == 0) return "0; not trained by this program";
  return fmt::format("{} of {}, after {} of training", info.state.step, info.config.training.steps,
                     format_duration(info.state.seconds));
}

// In the dtype in which a run keeps them.
std::string parameters(const nn::TransformerLM& model, Precision precision) {
  const int64_t count = model.parameter_count();
  const DType dtype = parameter_dtype(precision);
  return fmt::format("{} ({}, {} as {})", count, format_count(static_cast<double>(count)),
                     format_bytes(static_cast<double>(count) * static_cast<double>(size_of(dtype))),
                     dtype);
}

std::string architecture(const ModelConfig& m, const nn::TransformerConfig& c) {
  std::string text = fmt::format(
      "{} layers, width {}, {} heads of {} ({} of keys and values), feed-forward {} of {}, context "
      "{}",
      c.n_layers, c.d_model, c.n_heads, c.head_dim(), c.kv_heads(), nn::name_of(c.ffn),
      c.feed_forward_width(), c.max_seq_len);
  text += fmt::format("; norm {} {}, position {}", nn::name_of(c.norm),
                      nn::name_of(c.norm_position), m.rope ? "rope" : "none");
  if (m.rope) text += fmt::format(" ({}, theta {})", nn::name_of(m.rope_layout), m.rope_theta);
  if (m.tie_embeddings) text += ", tied embeddings";
  return text;
}

std::string tokenizer(const Tokenizer& tokenizer, const CheckpointInfo& info) {
  std::string text = fmt::format("{}, vocabulary of {}, hash {}", tokenizer.kind(),
                                 tokenizer.vocab_size(), tokenizer.hash());
  const std::vector<int32_t> ends = end_ids(tokenizer, info.end_tokens);
  if (!ends.empty()) text += fmt::format("; a text ends at {}", fmt::join(ends, ", "));
  return text;
}

std::string data(const CheckpointInfo& info) {
  if (info.train_tokens == 0) return "unknown";
  const DataConfig& d = info.config.data;
  const std::string name = d.paths.empty()
                               ? fmt::format("built-in stories (seed {})", d.corpus_seed)
                               : fmt::format("{}", fmt::join(d.paths, " "));
  return fmt::format("{}: {} tokens to train on, {} document{}, {}", name, info.train_tokens,
                     info.documents, info.documents == 1 ? "" : "s", name_of(d.sampling));
}

std::string best(const TrainingState& state) {
  if (!state.best_loss) return "no validation so far";
  return fmt::format("{:.4f} nats/token (perplexity {:.2f}) at step {}", *state.best_loss,
                     std::exp(*state.best_loss), state.best_step);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> model_facts(const LoadedModel& model) {
  const CheckpointInfo& info = model.info;
  const std::string format = info.format == 0
                                 ? "that of transformers"
                                 : fmt::format("{}, written by {}", info.format, info.program);
  return {{"model", model.folder.string()},
          {"step", steps(info)},
          {"parameters", parameters(*model.model, info.config.training.precision)},
          {"precision", std::string(name_of(info.config.training.precision))},
          {"architecture", architecture(info.config.model, model.model->config())},
          {"tokenizer", tokenizer(*model.tokenizer, info)},
          {"data", harmless(data(info))},
          {"best validation", best(info.state)},
          {"format", harmless(format)}};
}

}  // namespace tapir::app
