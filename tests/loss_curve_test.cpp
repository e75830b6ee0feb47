// The losses of 300 steps against those of PyTorch in f64: to three decimals, for products of f32
// and for those made of products of bf16.
#include "backends/cpu/cpu_features.h"
#include "backends/cpu/instances.h"
#include "backends/matmul_precision.h"
#include "backends/registry.h"
#include "tests/support/golden_model.h"

namespace tapir::twin {
void multiply_bf16(ConstView a, ConstView b, View out, int parts);
}  // namespace tapir::twin

namespace tapir {
namespace {

void expect_curve(MatmulPrecision precision) {
  const testing::GoldenCase golden = testing::golden_cases("curve").at(0);
  Generator generator;
  nn::TransformerLM model(testing::golden_config(golden.options), generator);
  model.load_state_dict(golden.under("param.", DType::f32));
  set_matmul_precision(precision);
  const std::vector<double> losses = testing::golden_training(golden, DType::f32, model).losses;
  set_matmul_precision(MatmulPrecision::highest);
  const std::vector<double> expected = golden.get("train.losses", DType::f64).to_vector();
  ASSERT_EQ(losses.size(), 300u);
  for (size_t step = 0; step < losses.size(); ++step)
    EXPECT_NEAR(losses[step], expected[step], 5e-4) << "step " << step;
}

TEST(LossCurve, OfF32) {
  expect_curve(MatmulPrecision::highest);
}

// With the tiles in plain C++, on any machine.
TEST(LossCurve, OfTwoPartsOfBf16) {
  const std::unique_ptr<const Backend> twin =
      avx2::make_cpu_backend(cpu::Isa::avx2, {twin::multiply_bf16});
  const BackendOverride override(kCpu, *twin);
  expect_curve(MatmulPrecision::high);
}

TEST(LossCurve, OfTwoPartsOfBf16OnThisProcessor) {
  if (!cpu::features().amx) GTEST_SKIP() << "no AMX on this processor";
  expect_curve(MatmulPrecision::high);
}

}  // namespace
}  // namespace tapir
