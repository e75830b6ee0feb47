// Tiny TransformerLMs against PyTorch: logits, loss, all gradients, and ten steps of AdamW with
// clipping and a schedule.
#include "nn/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "tests/support/golden.h"

namespace tapir {
namespace {

using nlohmann::json;
using testing::GoldenParam;

nn::TransformerConfig config_of(const json& options) {
  nn::TransformerConfig config;
  config.vocab_size = options["vocab_size"];
  config.max_seq_len = options["max_seq_len"];
  config.n_layers = options["n_layers"];
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
  config.tie_embeddings = options["tie_embeddings"];
  return config;
}

class TransformerGolden : public ::testing::TestWithParam<GoldenParam> {
 protected:
  TransformerGolden()
      : golden_(GetParam().golden),
        dtype_(GetParam().dtype),
        tolerance_(testing::golden_tolerance(dtype_)),
        model_(config_of(golden_.options), generator_, dtype_) {
    model_.load_state_dict(golden_.under("param.", dtype_));
  }

  const testing::GoldenCase& golden_;
  DType dtype_;
  double tolerance_;
  Generator generator_;
  nn::TransformerLM model_;
};

TEST_P(TransformerGolden, LogitsLossAndGradients) {
  Tape tape;
  const Tensor logits = model_(golden_.get("in.ids", dtype_));
  testing::expect_close(logits, golden_.get("out", dtype_), tolerance_, "logits");
  const Tensor loss = cross_entropy(logits, golden_.get("in.targets", dtype_));
  testing::expect_close(loss, golden_.get("loss", dtype_), tolerance_, "loss");
  tape.backward(loss);
  const std::vector<NamedTensor> parameters = model_.named_parameters();
  for (const NamedTensor& parameter : parameters) {
    testing::expect_close(parameter.tensor.grad(), golden_.get("grad." + parameter.name, dtype_),
                          tolerance_, "gradient of " + parameter.name);
  }
  EXPECT_EQ(parameters.size(), golden_.under("grad.", dtype_).size());
}

// What ten steps of training measured.
struct Course {
  std::vector<double> losses, norms, rates;
};

Course train(const testing::GoldenCase& golden, DType dtype, const nn::TransformerLM& model) {
  const json& train = golden.options["train"];
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

TEST_P(TransformerGolden, TrainingRun) {
  const Course course = train(golden_, dtype_, model_);
  const auto expect_course = [&](const std::vector<double>& values, const std::string& key) {
    const Tensor expected = golden_.get(key, DType::f64);
    testing::expect_close(Tensor::from(values, expected.shape(), DType::f64), expected, tolerance_,
                          key);
  };
  expect_course(course.losses, "train.losses");
  expect_course(course.norms, "train.grad_norms");
  expect_course(course.rates, "train.lrs");
  // In f32 an element whose gradient is mostly rounding moves by the full rate in a random
  // direction, because AdamW divides by the gradient's own size. So only f64 compares elements.
  if (dtype_ != DType::f64) return;
  for (const auto& entry : golden_.under("train.final.", dtype_)) {
    testing::expect_close(model_.state_dict().at(entry.first), entry.second, tolerance_,
                          "final " + entry.first);
  }
}

// bf16 with f32 masters. A rounding is off by 2^-8 of a number at most, and by half of that as a
// rule. From a weight to a logit about ten roundings follow each other, which add up like their
// root: the logits, of which the largest is about 2, are off by 2 * sqrt(10) * 2^-9 = 0.012. A loss
// is a mean over tokens, whose logits are off in different directions.
TEST(TransformerInBf16, LosesNoMoreThanItsRoundingInTenSteps) {
  for (const testing::GoldenCase& golden : testing::golden_cases("transformer")) {
    Generator generator;
    nn::TransformerLM model(config_of(golden.options), generator, DType::bf16);
    model.load_state_dict(golden.under("param.", DType::bf16));
    const std::vector<double> losses = train(golden, DType::bf16, model).losses;
    const std::vector<double> expected = golden.get("train.losses", DType::f64).to_vector();
    for (size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(losses[step], expected[step], 0.012) << golden.name << ", step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TransformerGolden,
    ::testing::ValuesIn(testing::in_f64_and_f32(testing::golden_cases("transformer"))),
    testing::golden_param_name);

}  // namespace
}  // namespace tapir
