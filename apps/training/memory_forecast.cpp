#include "apps/training/memory_forecast.h"

#include <functional>
#include <optional>

#include "apps/cli/quantity.h"
#include "apps/machine.h"
#include "backends/cpu/cpu_features.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr double kFloat = 4;  // bytes

// Of a parameter, a gradient or an activation.
double number_bytes(const RunConfig& config) {
  return static_cast<double>(size_of(parameter_dtype(config.training.precision)));
}

// Elements that one block keeps for its backward pass, for each token.
double block_elements(const nn::TransformerConfig& c) {
  const auto width = static_cast<double>(c.d_model);
  const auto kv_width = static_cast<double>(c.head_dim() * c.kv_heads());
  const auto hidden = static_cast<double>(c.feed_forward_width());
  // Two norms and two residuals (input and output of each), q before and after RoPE, the output of
  // attention before and after merging the heads, k and v.
  const double attention = 7 * width + 3 * kv_width;
  // The input; gate, up and their product, or the two sides of the activation.
  const double feed_forward = width + (c.ffn == nn::FeedForwardKind::swiglu ? 3 : 2) * hidden;
  const double masks = c.dropout > 0 ? 2 * width : 0;
  return attention + feed_forward + masks;
}

double activation_bytes(const RunConfig& config, const nn::TransformerConfig& c, Device device) {
  const auto tokens = static_cast<double>(config.training.batch * c.max_seq_len);
  const auto layers = static_cast<double>(c.n_layers);
  const auto width = static_cast<double>(c.d_model);
  // With activation checkpoints each block keeps its input, and one block at a time the rest.
  const double blocks = config.training.checkpoint_activations ? layers * width + block_elements(c)
                                                               : layers * block_elements(c);
  // Logits and their gradient, and the temporaries of a layer, which kernels keep in f32.
  const auto vocabulary = static_cast<double>(c.vocab_size);
  double bytes = tokens * ((blocks + 2 * vocabulary) * number_bytes(config) + 4 * width * kFloat);
  // On a CPU without AMX, products of bf16 are those of f32 copies; the largest is that of the
  // output layer.
  const bool copies = device == kCpu && cpu::chosen_isa() != cpu::Isa::amx;
  if (number_bytes(config) < kFloat && copies)
    bytes += (tokens * (width + vocabulary) + width * vocabulary) * kFloat;
  return bytes;
}

// Flags that bring the forecast below `available`, or "" if none of these do.
std::string advice(const RunConfig& config, double available,
                   const std::function<double(const RunConfig&)>& forecast) {
  RunConfig smaller = config;
  const auto fits = [&] { return forecast(smaller) <= available; };
  const int64_t rows = config.training.batch * config.training.accumulate;
  while (smaller.training.batch > 1) {
    smaller.training.batch /= 2;
    smaller.training.accumulate = (rows + smaller.training.batch - 1) / smaller.training.batch;
    if (fits()) {
      return fmt::format("--batch {} --accumulate {} trains on as much per step and takes {}",
                         smaller.training.batch, smaller.training.accumulate,
                         format_bytes(forecast(smaller)));
    }
  }
  smaller.training.checkpoint_activations = true;
  if (fits()) {
    return fmt::format("--batch 1 --accumulate {} --checkpoint-activations takes {}", rows,
                       format_bytes(forecast(smaller)));
  }
  smaller.training.accumulate = 1;
  if (fits())
    return fmt::format("a step reads {} sequences; take fewer with --batch and --accumulate", rows);
  return "even one sequence at a time is too much; use a smaller --d-model, --layers or --context";
}

}  // namespace

MemoryForecast forecast_memory(const RunConfig& config, int64_t vocab_size, int64_t data_bytes,
                               Device device) {
  const nn::TransformerConfig c = config.model.transformer(vocab_size);
  const auto count = static_cast<double>(c.parameter_count());
  const double weights = count * number_bytes(config);
  // AdamW's two means, and a copy of the weights if these are no f32.
  const double kept = parameter_dtype(config.training.precision) == DType::f32 ? 2 : 3;
  // The tokens of all micro-batches of a step, as inputs and targets, with what a tensor takes.
  constexpr double kId = 4, kTensor = 512;  // bytes
  const auto rows = static_cast<double>(config.training.accumulate);
  const auto tokens = static_cast<double>(config.training.batch * c.max_seq_len);
  const double batches = rows * 2 * (tokens * kId + kTensor);
  return {.weights = weights,
          .gradients = weights,
          .optimizer = kept * count * kFloat,
          .activations = activation_bytes(config, c, device),
          .batches = batches,
          .data = device == kCpu ? static_cast<double>(data_bytes) : 0.0};
}

void require_memory(const RunConfig& config, int64_t vocab_size, int64_t data_bytes,
                    Device device) {
  const auto forecast = [&](const RunConfig& wish) {
    return forecast_memory(wish, vocab_size, data_bytes, device).total();
  };
  const std::optional<int64_t> on_device = backend(device).allocator().available();
  const auto available = static_cast<double>(on_device ? *on_device : memory_available());
  const double needed = forecast(config);
  if (needed <= available) return;
  fail("train", "this run would take about {} of {}memory, but {} are available; {}",
       format_bytes(needed), on_device ? "the GPU's " : "", format_bytes(available),
       advice(config, available, forecast));
}

}  // namespace tapir::app
