// The models of the golden files, and their training.
#pragma once

#include "nn/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "tests/support/golden.h"

namespace tapir::testing {

// What a block of the model needs.
inline nn::TransformerConfig golden_block_config(const nlohmann::json& options) {
  nn::TransformerConfig config;
  config.max_seq_len = options["max_seq_len"];
  config.d_model = options["d_model"];
  config.n_heads = options["n_heads"];
  config.n_kv_heads = options["n_kv_heads"].get<int64_t>();
  config.d_ff = options["d_ff"].get<int64_t>();
  config.norm = nn::parse_norm_kind(options["norm"].get<std::string>());
  config.norm_position = nn::parse_norm_position(options["norm_position"].get<std::string>());
  config.ffn = nn::parse_feed_forward_kind(options["ffn"].get<std::string>());
  config.rope_theta.reset();
  if (!options["rope_theta"].is_null()) config.rope_theta = options["rope_theta"].get<double>();
  config.rope_layout = nn::parse_rope_layout(options["rope_layout"].get<std::string>());
  config.qkv_bias = options["qkv_bias"].get<bool>() ? nn::Bias::yes : nn::Bias::no;
  return config;
}

// Of a case of tests/golden/transformer.safetensors or curve.safetensors.
inline nn::TransformerConfig golden_config(const nlohmann::json& options) {
  nn::TransformerConfig config = golden_block_config(options);
  config.vocab_size = options["vocab_size"];
  config.n_layers = options["n_layers"];
  config.tie_embeddings = options["tie_embeddings"];
  return config;
}

// What the steps of a training measured.
struct Course {
  std::vector<double> losses, norms, rates;
};

inline Course golden_training(const GoldenCase& golden, DType dtype,
                              const nn::TransformerLM& model) {
  const nlohmann::json& train = golden.options["train"];
  optim::AdamWOptions options;
  options.beta1 = train["betas"][0];
  options.beta2 = train["betas"][1];
  options.eps = train["eps"];
  options.weight_decay = train["weight_decay"];
  const std::vector<NamedTensor> parameters = model.named_parameters();
  optim::AdamW optimizer(parameters, options);
  optim::Schedule schedule;
  schedule.kind = optim::parse_schedule_kind(train["schedule"].get<std::string>());
  schedule.lr_max = train["lr_max"];
  schedule.lr_min = train["lr_min"];
  schedule.warmup = train["warmup_steps"];
  schedule.cycle = train["cycle_steps"];

  const Tensor ids = golden.get("train.ids", dtype);
  const Tensor targets = golden.get("train.targets", dtype);
  Course course;
  for (int64_t step = 0; step < train["steps"]; ++step) {
    Tape tape;
    const Tensor loss = cross_entropy(model(select(ids, 0, step)), select(targets, 0, step));
    tape.backward(loss);
    course.losses.push_back(loss.item());
    course.norms.push_back(optim::clip_grad_norm(parameters, train["max_norm"]));
    course.rates.push_back(schedule.at(step));
    optimizer.set_lr(course.rates.back());
    optimizer.step();
    optimizer.zero_grad();
  }
  return course;
}

}  // namespace tapir::testing
