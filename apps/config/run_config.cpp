#include "apps/config/run_config.h"

#include <algorithm>

#include "apps/tokenizer/utf8.h"

namespace tapir::app {
namespace {

using Settings = std::vector<Setting>;

// Keeps sizes far from overflow; no machine trains anything near it.
constexpr double kMostSize = 1 << 24;
// What nn::TransformerConfig takes.
constexpr double kMostLayers = 1 << 12, kMostWidth = 1 << 22;

Choice position_choice(bool& rope) {
  return {{"rope", "none"},
          [&rope] { return std::string(rope ? "rope" : "none"); },
          [&rope](std::string_view name) { rope = name == "rope"; }};
}

Choice rope_layout_choice(RopeLayout& layout) {
  return {{"interleaved", "half_split"},
          [&layout] { return std::string(nn::name_of(layout)); },
          [&layout](std::string_view name) { layout = nn::parse_rope_layout(name); }};
}

Choice save_error_choice(bool& stop) {
  return {{"continue", "stop"},
          [&stop] { return std::string(stop ? "stop" : "continue"); },
          [&stop](std::string_view name) { stop = name == "stop"; }};
}

Choice device_choice(std::string& device) {
  return {{"auto", "cpu", "cuda"},
          [&device] { return device; },
          [&device](std::string_view name) { device = name; }};
}

void add_model(Settings& list, ModelConfig& m) {
  const std::string group = "model";
  list.insert(
      list.end(),
      {
          {group, "layers", &m.layers, "Transformer blocks", 1, kMostLayers},
          {group, "heads", &m.heads, "Attention heads; they divide --d-model", 1, kMostWidth},
          {group, "kv-heads", &m.kv_heads,
           "Heads of keys and values, shared by groups of attention heads; they divide --heads", 1,
           kMostWidth},
          {group, "d-model", &m.d_model, "Width of the model", 1, kMostWidth},
          {group, "d-ff", &m.d_ff,
           "Width of the feed-forward layers; by default 4 (swiglu: 8/3) times --d-model", 1,
           kMostWidth},
          {group, "context", &m.context, "Tokens that the model sees at once", 1, kMostWidth},
          {group, "norm", choice_of(m.norm, {"rms", "layer", "none"}, nn::parse_norm_kind),
           "Normalisation layers"},
          {group, "norm-position",
           choice_of(m.norm_position, {"pre", "post"}, nn::parse_norm_position),
           "Before or after each sublayer"},
          {group, "norm-bias", &m.norm_bias, "Give LayerNorm a bias"},
          {group, "norm-eps", &m.norm_eps, "What normalisation adds to the mean square", 1e-30, 1},
          {group, "ffn",
           choice_of(m.ffn, {"swiglu", "silu", "relu", "gelu", "gelu_tanh"},
                     nn::parse_feed_forward_kind),
           "Feed-forward layers"},
          {group, "position", position_choice(m.rope), "Position embedding"},
          {group, "rope-theta", &m.rope_theta, "Base of RoPE's wavelengths", 1, 1e12},
          {group, "rope-layout", rope_layout_choice(m.rope_layout),
           "Which elements RoPE rotates together"},
          {group, "rope-scaling",
           choice_of(m.rope_scaling.kind, {"none", "linear", "llama3"}, nn::parse_rope_scaling),
           "How RoPE reaches beyond the context of an earlier training"},
          {group, "rope-factor", &m.rope_scaling.factor, "By how much RoPE's scaling stretches", 1,
           1e6},
          {group, "rope-low-freq-factor", &m.rope_scaling.low_freq_factor,
           "llama3: pairs with fewer turns in the original context are stretched", 1e-3, 1e6},
          {group, "rope-high-freq-factor", &m.rope_scaling.high_freq_factor,
           "llama3: pairs with more turns in the original context stay as they are", 1e-3, 1e6},
          {group, "rope-original-context", &m.rope_scaling.original_context,
           "llama3: the context of the earlier training", 1, kMostSize},
          {group, "tie-embeddings", &m.tie_embeddings,
           "Use the embedding matrix as the output layer too"},
          {group, "qkv-bias", &m.qkv_bias, "Give the q, k and v projections a bias"},
          {group, "output-bias", &m.output_bias, "Give attention's output projection a bias"},
          {group, "ffn-bias", &m.ffn_bias, "Give the feed-forward layers a bias"},
          {group, "dropout", &m.dropout, "Probability of dropping an activation, below 1", 0,
           0.999999},
      });
}

void add_data(Settings& list, DataConfig& d) {
  const std::string group = "data";
  list.insert(list.end(),
              {
                  {group, "data", &d.paths,
                   "Text files, folders and quoted patterns to train on, - for standard input, or "
                   "token files; without any, built-in stories"},
                  {group, "val-data", &d.validation_paths,
                   "Text to validate on, instead of a part of --data"},
                  {group, "val-fraction", &d.validation_fraction,
                   "Part of the text that is kept for validation", 0, 0.9},
                  {group, "jsonl-field", &d.jsonl_field, "Where .jsonl files have their text"},
                  {group, "sampling",
                   choice_of(d.sampling, {"shuffled", "sequential", "random"}, parse_sampling),
                   "Order of the text: all of it shuffled or from front to back, or pieces from "
                   "random places"},
                  {group, "tokenizer", &d.tokenizer,
                   "How text becomes tokens: byte, char, bpe:N (as bpe:4096), or the folder of a "
                   "saved tokenizer"},
                  {group, "corpus-bytes", &d.corpus_bytes,
                   "Size of the built-in corpus, which is used without --data", 1000, 1e10},
                  {group, "corpus-seed", &d.corpus_seed, "Of the built-in corpus", 0, 9e15},
              });
}

void add_optimizer(Settings& list, OptimizerConfig& o) {
  const std::string group = "optimizer";
  list.insert(
      list.end(),
      {
          {group, "lr", &o.lr, "Highest learning rate", 0, 1e6},
          {group, "min-lr", &o.min_lr, "Learning rate at the end", 0, 1e6},
          {group, "warmup", &o.warmup,
           "Steps until the learning rate is at its highest; auto: a tenth of the run, at most 100",
           0, 1e15},
          {group, "schedule",
           choice_of(o.schedule, {"cosine", "linear", "constant", "wsd"},
                     optim::parse_schedule_kind),
           "Learning rate after the warm-up"},
          {group, "decay-steps", &o.decay_steps, "Steps of wsd's decay at the end", 0, 1e15},
          {group, "weight-decay", &o.weight_decay, "AdamW's decay of matrices", 0, 1e6},
          {group, "beta1", &o.beta1, "AdamW's decay of the mean gradient", 0, 0.9999999},
          {group, "beta2", &o.beta2, "AdamW's decay of the squared gradient", 0, 0.9999999},
          {group, "eps", &o.eps, "AdamW's epsilon", 1e-30, 1},
          {group, "clip", &o.clip, "Largest gradient norm; 0 switches clipping off", 0, 1e9},
      });
}

void add_training(Settings& list, TrainingConfig& t) {
  const std::string group = "training";
  list.insert(
      list.end(),
      {
          {group, "steps", &t.steps, "Optimizer steps", 1, 1e15},
          {group, "batch", &t.batch, "Sequences per micro-batch", 1, kMostSize},
          {group, "accumulate", &t.accumulate, "Micro-batches per step", 1, kMostSize},
          {group, "seed", &t.seed, "Of everything random in the run", 0, 9e15},
          {group, "threads", &t.threads, "CPU threads; 0: as many as physical cores", 0, 256},
          {group, "device", device_choice(t.device), "Where to compute"},
          precision_setting(group, t.precision),
          matmul_precision_setting(group, t.matmul_precision),
          {group, "eval-every", &t.eval_every, "Steps between validations; 0: never", 0, 1e15},
          {group, "eval-batches", &t.eval_batches, "Batches in a validation", 1, 1e9},
          {group, "patience", &t.patience,
           "Stop after this many validations without a better one; 0: never", 0, 1e9},
          {group, "checkpoint-activations", &t.checkpoint_activations,
           "Keep only the inputs of the blocks and compute the rest twice: less memory, more time"},
          {group, "detect-anomaly", &t.detect_anomaly,
           "Look for values that are not finite in every operation; slow"},
          {group, "overfit-one-batch", &t.overfit_one_batch,
           "Train on the first batch only, to see whether a model can learn at all"},
      });
}

void add_output(Settings& list, OutputConfig& o) {
  const std::string group = "output";
  list.insert(
      list.end(),
      {
          {group, "save-every", &o.save_every,
           "Steps between checkpoints, besides the best and the last one; 0: none", 0, 1e15},
          {group, "keep", &o.keep, "Checkpoints to keep besides the best and the last one", 0, 1e9},
          {group, "on-save-error", save_error_choice(o.stop_unsaved),
           "What to do when something cannot be written, as on a full disk: go on with the "
           "training "
           "and try again at the next save, or stop"},
          {group, "sample-every", &o.sample_every, "Steps between sample texts; 0: never", 0, 1e15},
          {group, "sample-tokens", &o.sample_tokens, "Length of a sample text, in tokens", 1, 1e6},
          {group, "sample-prompt", &o.sample_prompt, "What sample texts continue"},
          {group, "log-every", &o.log_every,
           "Steps between progress lines when output is no terminal; 0: about 50 in all", 0, 1e15},
      });
}

}  // namespace

nn::TransformerConfig ModelConfig::transformer(int64_t vocab_size) const {
  nn::TransformerConfig config;
  config.vocab_size = vocab_size;
  config.max_seq_len = context;
  config.d_model = d_model;
  config.n_layers = layers;
  config.n_heads = heads;
  config.n_kv_heads = kv_heads;
  config.d_ff = d_ff;
  config.norm = norm;
  config.norm_position = norm_position;
  config.norm_bias = norm_bias ? nn::Bias::yes : nn::Bias::no;
  config.norm_eps = norm_eps;
  config.ffn = ffn;
  config.rope_theta = rope ? std::optional(rope_theta) : std::nullopt;
  config.rope_layout = rope_layout;
  config.rope_scaling = rope_scaling;
  config.tie_embeddings = tie_embeddings;
  config.qkv_bias = qkv_bias ? nn::Bias::yes : nn::Bias::no;
  config.output_bias = output_bias ? nn::Bias::yes : nn::Bias::no;
  config.ffn_bias = ffn_bias ? nn::Bias::yes : nn::Bias::no;
  config.dropout = dropout;
  return config;
}

std::vector<Setting> model_settings(ModelConfig& config) {
  Settings list;
  add_model(list, config);
  return list;
}

Setting precision_setting(const std::string& group, Precision& precision) {
  return {
      group, "precision", choice_of(precision, {"f32", "bf16", "auto"}, parse_precision),
      "Numbers to compute with: f32, or bf16 with the optimizer and all sums in f32; auto: bf16 "
      "where it is faster, on CUDA and on a CPU with AMX"};
}

Setting matmul_precision_setting(const std::string& group, MatmulPrecision& precision) {
  return {group, "matmul-precision",
          choice_of(precision, {"highest", "high", "medium"}, parse_matmul_precision),
          "Products of matrices: highest is f32; on a CPU with AMX, high takes them from bf16 with "
          "16 bits of each number, medium with 8; on CUDA, medium is TF32"};
}

std::vector<Setting> settings(RunConfig& config) {
  Settings list = model_settings(config.model);
  add_data(list, config.data);
  add_optimizer(list, config.optimizer);
  add_training(list, config.training);
  add_output(list, config.output);
  return list;
}

void RunConfig::validate() const {
  constexpr std::string_view kOp = "train";
  require(model.d_model % model.heads == 0, kOp,
          "--d-model {} is not a multiple of --heads {}; each head gets an equal part",
          model.d_model, model.heads);
  const int64_t kv_heads = model.kv_heads.value_or(model.heads);
  require(model.heads % kv_heads == 0, kOp, "--heads {} is not a multiple of --kv-heads {}",
          model.heads, kv_heads);
  require(!model.rope || model.d_model / model.heads % 2 == 0, kOp,
          "RoPE rotates pairs, but a head has --d-model / --heads = {} / {} = {} elements; use an "
          "even number or --position none",
          model.d_model, model.heads, model.d_model / model.heads);
  for (const std::vector<std::string>* paths : {&data.paths, &data.validation_paths}) {
    for (const std::string& path : *paths) {
      require(is_valid_utf8(path), kOp,
              "the name {} is not UTF-8, so a run cannot keep it to be resumed; rename the file",
              path);
    }
  }
  require(optimizer.min_lr <= optimizer.lr, kOp, "--min-lr {} is above --lr {}", optimizer.min_lr,
          optimizer.lr);
  require(warmup_steps() <= training.steps, kOp, "--warmup {} is more than --steps {}",
          warmup_steps(), training.steps);
  require(optimizer.decay_steps <= training.steps - warmup_steps(), kOp,
          "--decay-steps {} is more than the {} steps after the warm-up", optimizer.decay_steps,
          training.steps - warmup_steps());
  model.transformer(1).validate();
}

int64_t RunConfig::warmup_steps() const {
  constexpr int64_t kUsual = 100;
  return optimizer.warmup.value_or(std::min(kUsual, training.steps / 10));
}

optim::Schedule RunConfig::schedule() const {
  return {.kind = optimizer.schedule,
          .lr_max = optimizer.lr,
          .lr_min = optimizer.min_lr,
          .warmup = warmup_steps(),
          .cycle = training.steps,
          .decay = optimizer.decay_steps};
}

}  // namespace tapir::app
