// Everything that determines a training run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/setting.h"
#include "apps/config/precision.h"
#include "apps/config/sampling.h"
#include "backends/matmul_precision.h"
#include "nn/transformer_config.h"
#include "optim/schedule.h"

namespace tapir::app {

struct ModelConfig {
  int64_t layers = 4;
  int64_t heads = 4;
  std::optional<int64_t> kv_heads;  // as many as heads
  int64_t d_model = 128;
  std::optional<int64_t> d_ff;  // nn::default_d_ff
  int64_t context = 128;        // tokens
  nn::NormKind norm = nn::NormKind::rms;
  nn::NormPosition norm_position = nn::NormPosition::pre;
  bool norm_bias = true;  // of LayerNorm
  double norm_eps = 1e-5;
  nn::FeedForwardKind ffn = nn::FeedForwardKind::swiglu;
  bool rope = true;  // false: no position embedding (NoPE)
  double rope_theta = 10000;
  RopeLayout rope_layout = RopeLayout::interleaved;
  nn::RopeScaling rope_scaling;
  bool tie_embeddings = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool ffn_bias = false;
  double dropout = 0;

  nn::TransformerConfig transformer(int64_t vocab_size) const;
};

struct DataConfig {
  std::vector<std::string> paths;             // files and folders; none: the built-in corpus
  std::vector<std::string> validation_paths;  // none: split off the training text
  double validation_fraction = 0.1;
  std::string jsonl_field = "text";  // of .jsonl files
  Sampling sampling = Sampling::shuffled;
  std::string tokenizer = "byte";
  int64_t corpus_bytes = 8'000'000;  // of the built-in corpus
  int64_t corpus_seed = 1;
};

struct OptimizerConfig {
  double lr = 1e-3;
  double min_lr = 1e-4;
  std::optional<int64_t> warmup;  // steps; a tenth of the run, at most 100
  optim::ScheduleKind schedule = optim::ScheduleKind::cosine;
  int64_t decay_steps = 0;  // of the warm-up-stable-decay schedule
  double weight_decay = 0.1;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-8;
  double clip = 1.0;  // 0: never
};

struct TrainingConfig {
  int64_t steps = 2000;
  int64_t batch = 12;      // sequences per step and micro-batch
  int64_t accumulate = 1;  // micro-batches per step
  int64_t seed = 1337;
  int64_t threads = 0;  // 0: the physical cores that this process may use
  std::string device = "auto";
  Precision precision = Precision::f32;
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  int64_t eval_every = 250;  // steps; 0: never
  int64_t eval_batches = 20;
  int64_t patience = 0;  // evaluations without improvement until training stops; 0: never
  bool checkpoint_activations = false;
  bool detect_anomaly = false;
  bool overfit_one_batch = false;
};

// What a run writes and shows.
struct OutputConfig {
  int64_t save_every = 0;      // steps; besides the best and the last step
  int64_t keep = 2;            // checkpoints besides the best and the last
  bool stop_unsaved = false;   // when a checkpoint or a measurement cannot be written
  int64_t sample_every = 500;  // steps; 0: never
  int64_t sample_tokens = 160;
  std::string sample_prompt;
  int64_t log_every = 0;  // steps between lines when nobody watches; 0: about 50 lines in all
};

struct RunConfig {
  ModelConfig model;
  DataConfig data;
  OptimizerConfig optimizer;
  TrainingConfig training;
  OutputConfig output;

  // Values that do not fit together are an Error that names the flags.
  void validate() const;
  int64_t warmup_steps() const;
  optim::Schedule schedule() const;
};

// The settings of a run: what `tapir train` takes as flags and config.toml holds. They refer to
// `config`, which must outlive them.
std::vector<Setting> settings(RunConfig& config);
std::vector<Setting> model_settings(ModelConfig& config);
// How exact products are, which other commands have too.
Setting matmul_precision_setting(const std::string& group, MatmulPrecision& precision);
// The numbers that training computes with.
Setting precision_setting(const std::string& group, Precision& precision);

}  // namespace tapir::app
