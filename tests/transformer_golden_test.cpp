// Tiny TransformerLMs against PyTorch: logits, loss, all gradients, and ten steps of AdamW with
// clipping and a schedule.
#include "tests/support/golden_model.h"

namespace tapir {
namespace {

using testing::GoldenParam;

class TransformerGolden : public ::testing::TestWithParam<GoldenParam> {
 protected:
  TransformerGolden()
      : golden_(GetParam().golden),
        dtype_(GetParam().dtype),
        tolerance_(testing::golden_tolerance(dtype_)),
        model_(testing::golden_config(golden_.options), generator_, dtype_) {
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

TEST_P(TransformerGolden, TrainingRun) {
  const testing::Course course = testing::golden_training(golden_, dtype_, model_);
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
    nn::TransformerLM model(testing::golden_config(golden.options), generator, DType::bf16);
    model.load_state_dict(golden.under("param.", DType::bf16));
    const std::vector<double> losses = testing::golden_training(golden, DType::bf16, model).losses;
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
