#include "apps/config/presets.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/quantity.h"
#include "apps/cli/suggest.h"

namespace tapir::app {

const std::vector<Preset>& presets() {
  static const std::vector<Preset> list = {
      {"cpu-tiny",
       "0.9 M parameters, about a minute on 2 cores",
       {{"layers", "4"},
        {"heads", "4"},
        {"d-model", "128"},
        {"context", "64"},
        {"batch", "12"},
        {"steps", "2000"},
        {"lr", "1e-3"},
        {"min-lr", "1e-4"}}},
      {"cpu-small",
       "2.9 M parameters, about half an hour on 2 cores",
       {{"layers", "6"},
        {"heads", "6"},
        {"d-model", "192"},
        {"context", "128"},
        {"batch", "16"},
        {"steps", "4000"},
        {"lr", "1e-3"},
        {"min-lr", "1e-4"}}},
      {"cpu-stories",
       "2.6 M parameters for the built-in stories; on 2 cores twenty minutes with AMX, thirty "
       "without",
       {{"tokenizer", "bpe:2048"},
        {"corpus-bytes", "48000000"},
        {"layers", "4"},
        {"heads", "6"},
        {"d-model", "192"},
        {"context", "128"},
        {"batch", "8"},
        {"steps", "16000"},
        {"matmul-precision", "high"},
        {"lr", "4e-3"},
        {"min-lr", "1e-5"},
        {"warmup", "200"},
        {"eval-every", "500"},
        {"eval-batches", "40"}}},
      {"cpu-medium",
       "11 M parameters, a night on 2 cores, an hour on 16",
       {{"layers", "6"},
        {"heads", "6"},
        {"d-model", "384"},
        {"context", "256"},
        {"batch", "16"},
        {"steps", "5000"},
        {"lr", "1e-3"},
        {"min-lr", "1e-4"},
        {"dropout", "0.1"}}},
      {"gpu-small",
       "11 M parameters, minutes on a graphics card",
       {{"layers", "6"},
        {"heads", "6"},
        {"d-model", "384"},
        {"context", "256"},
        {"batch", "64"},
        {"steps", "5000"},
        {"lr", "1e-3"},
        {"min-lr", "1e-4"},
        {"dropout", "0.2"}}},
      {"gpu-medium",
       "85 M parameters, hours on a graphics card",
       {{"layers", "12"},
        {"heads", "12"},
        {"d-model", "768"},
        {"context", "1024"},
        {"batch", "16"},
        {"accumulate", "4"},
        {"steps", "20000"},
        {"lr", "6e-4"},
        {"min-lr", "6e-5"},
        {"warmup", "1000"}}},
  };
  return list;
}

bool is_preset(std::string_view name) {
  const std::vector<Preset>& all = presets();
  return std::any_of(all.begin(), all.end(),
                     [&](const Preset& preset) { return preset.name == name; });
}

void apply_preset(std::string_view name, std::span<const Setting> settings) {
  std::vector<std::string> names;
  for (const Preset& preset : presets()) {
    names.push_back(preset.name);
    if (preset.name != name) continue;
    for (const auto& value : preset.values) {
      assign(*find_setting(settings, value.first), {&value.second, 1}, "preset");
    }
    return;
  }
  fail("--preset", "there is no preset '{}'{}; they are {}", name, did_you_mean(name, names),
       fmt::join(names, ", "));
}

namespace {

// Heads of 32 elements for narrow models, 64 for wide ones.
int64_t head_width(int64_t d_model) {
  return d_model < 384 ? 32 : 64;
}

// Small models do best with about this many layers for their width.
double usual_layers(int64_t d_model) {
  return std::max(2.0, static_cast<double>(d_model) / static_cast<double>(head_width(d_model)));
}

}  // namespace

void apply_size(int64_t parameters, int64_t vocab_size, ModelConfig& model) {
  constexpr int64_t kWidest = 16384, kDeepest = 128;
  ModelConfig best = model;
  double least_penalty = 1e300;
  for (int64_t d_model = 32; d_model <= kWidest; d_model += head_width(d_model)) {
    for (int64_t layers = 1; layers <= kDeepest; ++layers) {
      ModelConfig candidate = model;
      candidate.d_model = d_model;
      candidate.layers = layers;
      candidate.heads = d_model / head_width(d_model);
      candidate.kv_heads.reset();
      candidate.d_ff.reset();
      const auto count = static_cast<double>(candidate.transformer(vocab_size).parameter_count());
      const double size_error = std::abs(std::log(count / static_cast<double>(parameters)));
      const double shape_error =
          std::abs(std::log(static_cast<double>(layers) / usual_layers(d_model)));
      const double penalty = size_error + 0.1 * shape_error;
      if (penalty >= least_penalty) continue;
      least_penalty = penalty;
      best = candidate;
    }
  }
  const int64_t count = best.transformer(vocab_size).parameter_count();
  require(count <= 2 * parameters && parameters <= 2 * count, "--size",
          "no sensible model has about {} parameters; the nearest has {}",
          format_count(static_cast<double>(parameters)), format_count(static_cast<double>(count)));
  model = best;
}

}  // namespace tapir::app
