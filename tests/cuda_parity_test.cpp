// The CUDA backend against the CPU backend: every case of the table, the methods that the table
// does not reach, and models. Runs on the simulated device, or on a real one if there is one.
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "autograd/gradcheck.h"
#include "autograd/op_cases.h"
#include "autograd/ops.h"
#include "backends/matmul_precision.h"
#include "backends/random.h"
#include "nn/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tests/support/cuda_device.h"
#include "tests/support/op_case_run.h"

namespace tapir {
namespace {

using testing::case_name;
using testing::CudaTest;
using testing::Result;
using testing::run;

// The largest difference, relative to the largest element where that exceeds 1; infinity for
// different shapes.
double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return HUGE_VAL;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double worst = 0, scale = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double gap = std::fabs(x[i] - y[i]);
    if (!(gap <= worst)) worst = std::isnan(gap) ? HUGE_VAL : gap;
  }
  for (double value : y) scale = std::max(scale, std::isfinite(value) ? std::fabs(value) : 1.0);
  return worst / scale;
}

void expect_close(const Result& cuda, const Result& cpu, double tolerance) {
  EXPECT_EQ(cuda.output.device(), kCuda);
  EXPECT_LE(distance(cuda.output, cpu.output), tolerance) << "output";
  ASSERT_EQ(cuda.grads.size(), cpu.grads.size());
  for (size_t i = 0; i < cpu.grads.size(); ++i)
    EXPECT_LE(distance(cuda.grads[i], cpu.grads[i]), tolerance) << "gradient of input " << i;
}

class CudaOpTest : public CudaTest, public ::testing::WithParamInterface<size_t> {};

// Both devices round every result once to its dtype and sum in f32 (f64 for f64) in different
// orders. The longest sums here have about 600 terms.
TEST_P(CudaOpTest, AgreesWithTheCpu) {
  const OpCase& op_case = op_cases()[GetParam()];
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f64, 1e-12}, std::pair{DType::f32, 1e-5}, std::pair{DType::bf16, 0.04},
        std::pair{DType::f16, 0.005}}) {
    SCOPED_TRACE(name_of(dtype));
    expect_close(run(op_case.run, make_inputs(op_case, 5, dtype, kCuda)),
                 run(op_case.run, make_inputs(op_case, 5, dtype)), tolerance);
  }
}

TEST_P(CudaOpTest, RepeatsBitForBit) {
  const OpCase& op_case = op_cases()[GetParam()];
  const Result first = run(op_case.run, make_inputs(op_case, 5, DType::f32, kCuda));
  const Result second = run(op_case.run, make_inputs(op_case, 5, DType::f32, kCuda));
  EXPECT_EQ(first.output.to_vector(), second.output.to_vector());
  for (size_t i = 0; i < first.grads.size(); ++i)
    EXPECT_EQ(first.grads[i].to_vector(), second.grads[i].to_vector()) << "gradient " << i;
}

INSTANTIATE_TEST_SUITE_P(Table, CudaOpTest, ::testing::Range<size_t>(0, op_cases().size()),
                         case_name);

// A function of one tensor gives the same on both devices.
void expect_same(const Tensor& x, double tolerance, const std::function<Tensor(const Tensor&)>& f) {
  EXPECT_LE(distance(f(to(x, kCuda)), f(x)), tolerance);
}

Tensor normal(const Shape& shape, DType dtype = DType::f32, uint64_t seed = 3) {
  Generator generator(seed);
  return randn(shape, generator, dtype);
}

TEST_F(CudaTest, ConvertsBetweenAllDtypes) {
  const Tensor x = Tensor::from({0, 1, -2.5, 300.25, -70000, 1e9, 1e-7, -0.0}, {2, 4}, DType::f64);
  for (DType from : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::boolean}) {
    for (DType into :
         {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::boolean}) {
      SCOPED_TRACE(fmt::format("{} to {}", from, into));
      expect_same(to(x, from), 0, [&](const Tensor& y) { return to(y, into); });
      expect_same(to(x, from), 0, [&](const Tensor& y) { return to(transpose(y), into); });
    }
  }
}

TEST_F(CudaTest, FillsAndWritesThroughStrides) {
  for (DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::boolean}) {
    Tensor x = Tensor::zeros({4, 6}, dtype, kCuda), y = Tensor::zeros({4, 6}, dtype);
    for (Tensor* z : {&x, &y}) {
      transpose(slice(*z, 1, 1, 6, 2)).fill_(1);
      slice(*z, 0, 0, 4, 3).copy_(Tensor::ones({6}, dtype, z->device()));
    }
    EXPECT_EQ(x.to_vector(), y.to_vector()) << name_of(dtype);
  }
}

TEST_F(CudaTest, ComparesAndChooses) {
  const Tensor x = Tensor::from({1, 2, NAN, -1, 0, 5}, {2, 3}), y = Tensor::from({1, 3, 0}, {3});
  using Comparison = Tensor (*)(const Tensor&, const Tensor&);
  for (Comparison compare : {Comparison(eq), Comparison(ne), Comparison(lt), Comparison(le),
                             Comparison(gt), Comparison(ge)}) {
    for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::boolean}) {
      const Tensor right = to(y, dtype);
      expect_same(to(x, dtype), 0,
                  [&](const Tensor& left) { return compare(left, to(right, left.device())); });
    }
  }
  expect_same(x, 0, [](const Tensor& z) {
    return logical_not(gt(z, Tensor::zeros({}, z.dtype(), z.device())));
  });
}

TEST_F(CudaTest, IntegerArithmeticWrapsAndDividesLikeTheCpu) {
  const std::vector<int32_t> a = {7, -7, 2147483647, -2147483647 - 1, 5, 0};
  const std::vector<int32_t> b = {2, 2, 1, -1, 0, 3};
  for (BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::div, BinaryOp::pow,
                      BinaryOp::maximum, BinaryOp::minimum}) {
    const auto apply = [&](Device device) {
      const Tensor x = Tensor::from(std::span(a), {6}, device),
                   y = Tensor::from(std::span(b), {6}, device);
      Tensor out = Tensor::empty({6}, DType::i32, device);
      x.backend().binary(op, x.view(), y.view(), out.view());
      return out.to_ints();
    };
    EXPECT_EQ(apply(kCuda), apply(kCpu)) << "operation " << static_cast<int>(op);
  }
}

TEST_F(CudaTest, ScansSortsAndCounts) {
  Tensor x = normal({3, 70});
  x.copy_(to(to(x * 4.0, DType::i32), DType::f32));  // many equal elements
  Tensor with_nan = clone(x);
  slice(slice(with_nan, 1, 40, 42), 0, 1, 2).fill_(NAN);
  for (const Tensor& y : {x, with_nan, to(x, DType::bf16), to(x, DType::f64)}) {
    expect_same(y, 0, [](const Tensor& z) { return argmax(z, 1); });
    expect_same(y, 0, [](const Tensor& z) { return argmax(z, 0); });
    expect_same(y, 0, [](const Tensor& z) { return sort(z, 1).second; });
    expect_same(y, 0, [](const Tensor& z) { return sort(z, 1, true).first; });
    expect_same(y, 0, [](const Tensor& z) { return sort(z, 1, true).second; });
  }
  expect_same(to(x, DType::i32), 0, [](const Tensor& z) {
    Tensor sums = Tensor::empty_like(z);
    z.backend().cumsum(z.view(), true, sums.view());
    return sums;
  });
  expect_same(to(x, DType::i32), 0, [](const Tensor& z) {
    Tensor index = Tensor::empty({3}, DType::i32, z.device());
    z.backend().argmax(z.view(), index.view());
    return index;
  });
  expect_same(to(x, DType::i32), 0, [](const Tensor& z) { return sum(z, {0}); });
  const Tensor on_device = to(with_nan, kCuda);
  EXPECT_EQ(on_device.backend().count_nonfinite(on_device.view()), 2);
  EXPECT_EQ(on_device.backend().count_nonfinite(slice(on_device, 1, 0, 70, 2).view()), 1);
  EXPECT_EQ(on_device.backend().count_nonfinite(to(on_device, DType::i32).view()), 0);
}

// Longer than one chunk of a warp or of a column, so that partial results are reduced again.
TEST_F(CudaTest, ReducesLongRowsAndColumns) {
  for (const Shape& shape : {Shape{2, 9000}, Shape{9000, 2}, Shape{3, 1, 5000, 2}}) {
    const Tensor x = normal(shape, DType::f64);
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (shape[axis] < 1000) continue;  // the table of operations has short ones
      expect_same(x, 1e-12, [axis](const Tensor& y) { return sum(y, {axis}); });
      expect_same(x, 0, [axis](const Tensor& y) { return max(y, axis); });
      expect_same(to(x, DType::bf16), 0.01, [axis](const Tensor& y) { return sum(y, {axis}); });
    }
    expect_same(x, 1e-12, [](const Tensor& y) { return sum(y); });
    expect_same(to(x * 100.0, DType::i32), 0, [](const Tensor& y) { return sum(y); });
  }
}

// Products in TF32 keep 11 bits of both operands, and are made only where that is asked for.
TEST_F(CudaTest, MediumPrecisionMultipliesInTf32) {
  const Tensor a = normal({9, 40}), b = normal({40, 7}, DType::f32, 4);
  const auto product = [&](MatmulPrecision precision) {
    set_matmul_precision(precision);
    const Tensor result = matmul(to(a, kCuda), to(b, kCuda));
    set_matmul_precision(MatmulPrecision::highest);
    return result.to_vector();
  };
  const std::vector<double> f32 = product(MatmulPrecision::highest);
  EXPECT_EQ(product(MatmulPrecision::high), f32);
  const std::vector<double> tf32 = product(MatmulPrecision::medium);
  EXPECT_NE(tf32, f32);
  const std::vector<double> magnitudes = matmul(abs(a), abs(b)).to_vector();
  // A unit of the eleventh bit in each operand, which may be rounded or cut off, and some rounding
  // of sums.
  for (size_t i = 0; i < f32.size(); ++i)
    EXPECT_LE(std::fabs(tf32[i] - f32[i]), 1.01 * 2 * 0x1p-10 * magnitudes[i]) << i;
}

TEST_F(CudaTest, FindsIdsOutOfRange) {
  const std::vector<int32_t> ids = {0, 4, 5, -1, 9};
  const Tensor x = Tensor::from(std::span(ids), {5}, kCuda);
  EXPECT_EQ(x.backend().find_out_of_range(x.view(), 10), 3);
  EXPECT_EQ(x.backend().find_out_of_range(x.view(), 5), 2);
  EXPECT_EQ(x.backend().find_out_of_range(slice(x, 0, 0, 3).view(), 6), -1);
}

// Libraries of mathematical functions may differ by a unit in the last place.
TEST_F(CudaTest, DrawsTheSameRandomNumbers) {
  for (RandomKind kind : {RandomKind::uniform, RandomKind::normal, RandomKind::truncated_normal}) {
    for (double bound : {3.0, 0.5}) {
      Tensor x = Tensor::empty({1001}, DType::f64, kCuda), y = Tensor::empty({1001}, DType::f64);
      for (Tensor* z : {&x, &y}) z->backend().random(kind, 11, 5, bound, z->view());
      EXPECT_LE(distance(x, y), 1e-14) << static_cast<int>(kind);
    }
  }
  const Tensor x = normal({7, 30});
  expect_same(x, 0, [](const Tensor& y) {
    Generator generator(4);
    return dropout(y, 0.4, generator);
  });
}

// What softmax and cross-entropy say about rows of -inf, infinities and NaN.
TEST_F(CudaTest, KeepsTheEdgesOfSoftmax) {
  const double inf = HUGE_VAL;
  const Tensor x =
      Tensor::from({-inf, -inf, -inf, 1000, -1000, 0, 1, -inf, 2, -inf, NAN, -inf}, {4, 3});
  expect_same(x, 1e-6, [](const Tensor& y) { return softmax(y, 1); });
  expect_same(x, 1e-6, [](const Tensor& y) { return log_softmax(y, 1); });
  expect_same(x, 1e-6, [](const Tensor& y) {
    const std::vector<int32_t> targets = {1, 0, 1, 2};
    return cross_entropy(y, Tensor::from(std::span(targets), {4}, y.device()), Reduction::none);
  });
}

TEST_F(CudaTest, OptimizersStepAlike) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(name_of(dtype));
    const double tolerance = dtype == DType::f64 ? 1e-14 : (dtype == DType::f32 ? 1e-6 : 0.01);
    std::vector<std::vector<Tensor>> trained;
    for (Device device : {kCpu, kCuda}) {
      std::vector<NamedTensor> parameters;
      // More tensors than one launch takes, of sizes around the elements of a block.
      for (int64_t i = 0; i < 60; ++i) {
        const Shape shape = i == 7 ? Shape{40, 60} : Shape{i % 5 + 1};
        Tensor p = to(to(normal(shape, DType::f64, static_cast<uint64_t>(i)), dtype), device);
        p.set_requires_grad();
        p.set_grad(
            to(to(normal(shape, DType::f64, static_cast<uint64_t>(100 + i)), dtype), device));
        parameters.push_back({fmt::format("p{}", i), p});
      }
      optim::AdamW adamw(parameters, {.lr = 0.01, .weight_decay = 0.1});
      optim::Sgd sgd(parameters, {.lr = 0.01, .momentum = 0.9, .nesterov = true});
      for (int step = 0; step < 3; ++step) {
        adamw.step(Tensor::scalar(step < 2 ? 1 : NAN, DType::f64, device));
        sgd.step(Tensor::scalar(step < 2 ? 1 : NAN, DType::f64, device));
      }
      const double norm = optim::clip_grad_norm(parameters, 1.0);
      std::vector<Tensor> values = {Tensor::scalar(norm, DType::f64)};
      for (const NamedTensor& p : parameters) {
        values.push_back(p.tensor);
        values.push_back(p.tensor.grad());
      }
      trained.push_back(values);
    }
    for (size_t i = 0; i < trained[0].size(); ++i)
      EXPECT_LE(distance(trained[1][i], trained[0][i]), tolerance) << "tensor " << i;
  }
}

// Head sizes, lengths and options for which the tensor cores are used, around the sizes of tiles.
void expect_same_attention(DType dtype) {
  struct Sizes {
    int64_t heads, key_heads, queries, keys, width;
    bool causal;
  };
  for (const Sizes& s : {Sizes{2, 2, 64, 64, 16, false}, Sizes{2, 1, 65, 130, 64, true},
                         Sizes{1, 1, 130, 65, 32, true}, Sizes{4, 2, 33, 33, 80, true},
                         Sizes{1, 1, 70, 100, 128, false}, Sizes{2, 2, 100, 100, 128, true},
                         Sizes{1, 1, 1, 90, 64, true}}) {
    SCOPED_TRACE(fmt::format("{} heads of {}, {} queries, {} keys, causal {}, {}", s.heads, s.width,
                             s.queries, s.keys, s.causal, dtype));
    // Transposed from [B, T, H, D], as a model has them.
    const auto input = [&](int64_t length, int64_t heads, uint64_t seed, Device device) {
      Tensor x = to(to(normal({2, length, heads, s.width}, DType::f32, seed), dtype), device);
      return x.set_requires_grad();
    };
    const OpFunction attend = [&](const std::vector<Tensor>& in) {
      AttentionArguments arguments;
      arguments.causal = s.causal;
      return scaled_dot_product_attention(transpose(in[0], 1, 2), transpose(in[1], 1, 2),
                                          transpose(in[2], 1, 2), arguments);
    };
    const auto inputs = [&](Device device) {
      return std::vector{input(s.queries, s.heads, 1, device),
                         input(s.keys, s.key_heads, 2, device),
                         input(s.keys, s.key_heads, 3, device)};
    };
    // Weights and score gradients are rounded to 16 bits before the second product.
    expect_close(run(attend, inputs(kCuda)), run(attend, inputs(kCpu)),
                 dtype == DType::bf16 ? 0.02 : 0.003);
  }
}

TEST_F(CudaTest, AttentionOnTensorCoresAgreesInBf16) {
  expect_same_attention(DType::bf16);
}

TEST_F(CudaTest, AttentionOnTensorCoresAgreesInF16) {
  expect_same_attention(DType::f16);
}

// Without tensor cores a block has 64 columns of the result, in f64 32: wider heads take rounds.
TEST_F(CudaTest, WideMaskedAttentionAgrees) {
  std::vector<double> keep(9 * 70);
  for (size_t i = 0; i < keep.size(); ++i)
    keep[i] = i % 7 != 2 && i >= 70;  // the first sees nothing
  const Tensor mask = Tensor::from(keep, {9, 70}, DType::boolean);
  for (const auto& [type, tolerance] :
       {std::pair{DType::f64, 1e-12}, std::pair{DType::f32, 1e-5}, std::pair{DType::bf16, 0.02}}) {
    const DType dtype = type;  // lambdas cannot capture a structured binding
    SCOPED_TRACE(name_of(dtype));
    const auto attend_on = [&](Device device) {
      AttentionArguments arguments;
      arguments.causal = true;
      arguments.mask = to(mask, device);
      const auto input = [&](int64_t heads, int64_t length, int64_t width) {
        const uint64_t seed = static_cast<uint64_t>(width);
        return to(to(normal({1, heads, length, width}, DType::f64, seed), dtype), device)
            .set_requires_grad();
      };
      return run(
          [&](const std::vector<Tensor>& in) {
            return scaled_dot_product_attention(in[0], in[1], in[2], arguments);
          },
          {input(2, 9, 70), input(1, 70, 70), input(1, 70, 131)});
    };
    expect_close(attend_on(kCuda), attend_on(kCpu), tolerance);
  }
}

nn::TransformerConfig small_model() {
  nn::TransformerConfig config;
  config.vocab_size = 23;
  config.max_seq_len = 12;
  config.d_model = 32;
  config.n_layers = 2;
  config.n_heads = 4;
  config.n_kv_heads = 2;
  config.d_ff = 48;
  return config;
}

Tensor some_ids(int64_t batch, int64_t length, int64_t start, Device device) {
  std::vector<int32_t> ids(static_cast<size_t>(batch * length));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int32_t>((i * i * 7 + static_cast<size_t>(start)) % 23);
  return Tensor::from(std::span<const int32_t>(ids), {batch, length}, device);
}

// Weights of 16 bits are the rounded f32 copies that the optimizer steps.
void expect_rounded_masters(const optim::AdamW& adamw) {
  for (const auto& slot : adamw.slots()) {
    ASSERT_EQ(slot.master.defined(), size_of(slot.param.dtype()) < 4) << slot.name;
    if (!slot.master.defined()) continue;
    EXPECT_EQ(slot.master.device(), slot.param.device());
    EXPECT_EQ(slot.master.dtype(), DType::f32);
    EXPECT_EQ(to(slot.master, slot.param.dtype()).to_vector(), slot.param.to_vector()) << slot.name;
  }
}

// The losses of five steps of training, dropout included.
std::vector<double> train(const nn::TransformerConfig& config, DType dtype, Device device) {
  Generator generator(1);
  nn::TransformerLM model(config, generator, dtype, kCpu);
  model.to(device);
  optim::AdamW adamw(model.named_parameters(), {.lr = 0.01});
  std::vector<double> losses;
  for (int64_t step = 0; step < 5; ++step) {
    Tape tape;
    nn::ForwardContext context;
    context.dropout = &generator;
    const Tensor logits = model(some_ids(2, 12, step, device), context);
    const Tensor loss = cross_entropy(logits, some_ids(2, 12, step + 1, device));
    losses.push_back(loss.item());
    adamw.zero_grad();
    tape.backward(loss);
    optim::clip_grad_norm(model.named_parameters(), 1.0);
    adamw.step();
  }
  expect_rounded_masters(adamw);
  return losses;
}

void expect_same_training(const nn::TransformerConfig& config) {
  // Five steps of size 0.01 amplify the differences of rounding a little.
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f64, 1e-10}, std::pair{DType::f32, 1e-4}, std::pair{DType::bf16, 0.05}}) {
    SCOPED_TRACE(name_of(dtype));
    const std::vector<double> cuda = train(config, dtype, kCuda), cpu = train(config, dtype, kCpu);
    for (size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(cuda[i], cpu[i], tolerance) << "step " << i;
    EXPECT_LT(cuda.back(), cuda.front());
  }
}

TEST_F(CudaTest, TrainsTheDefaultModelAlike) {
  expect_same_training(small_model());
}

TEST_F(CudaTest, TrainsTheOtherOptionsAlike) {
  nn::TransformerConfig config = small_model();
  config.norm = nn::NormKind::layer;
  config.norm_position = nn::NormPosition::post;
  config.ffn = nn::FeedForwardKind::gelu;
  config.rope_layout = RopeLayout::half_split;
  config.tie_embeddings = true;
  config.qkv_bias = nn::Bias::yes;
  config.dropout = 0.1;
  expect_same_training(config);
}

TEST_F(CudaTest, GradcheckOfAModelPasses) {
  Generator generator(2);
  nn::TransformerConfig config = small_model();
  config.n_layers = 1;
  config.d_model = 16;
  config.d_ff = 16;
  nn::TransformerLM model(config, generator, DType::f64, kCpu);
  model.to(kCuda);
  GradcheckOptions options;
  options.max_elements = 2;
  const Tensor ids = some_ids(1, 5, 0, kCuda), targets = some_ids(1, 5, 1, kCuda);
  const GradcheckReport report = gradcheck([&] { return cross_entropy(model(ids), targets); },
                                           model.named_parameters(), options);
  EXPECT_TRUE(report.passed()) << report.to_string();
}

// After the first steps training asks the driver for no more memory.
TEST_F(CudaTest, AllocatorRecycles) {
  if (std::getenv("TAPIR_CUDA_NO_RECYCLING") != nullptr)
    GTEST_SKIP() << "recycling is switched off";
  const auto step = [] {
    const Tensor x = Tensor::ones({100, 33}, DType::f32, kCuda);
    return sum(exp(x) * x).item();
  };
  Allocator& allocator = backend(kCuda).allocator();
  step();
  const int64_t before = allocator.stats().system_allocations;
  for (int i = 0; i < 3; ++i) step();
  EXPECT_EQ(allocator.stats().system_allocations, before);
  allocator.reset_peak();
  EXPECT_EQ(allocator.stats().peak_bytes, allocator.stats().bytes_in_use);
}

TEST_F(CudaTest, BlocksOfOtherSizesAreGivenBackBeforeMemoryIsFull) {
  if (std::getenv("TAPIR_CUDA_NO_RECYCLING") != nullptr)
    GTEST_SKIP() << "recycling is switched off";
  if (backend(kCuda).description().find("simulated device, ") == std::string::npos)
    GTEST_SKIP() << "a real device is too large to fill";
  const int64_t device_bytes = int64_t{128} << 20;
  for (int64_t mebibytes : {60, 70, 80}) {
    EXPECT_TRUE(Tensor::empty({mebibytes << 20}, DType::boolean, kCuda).defined());
    EXPECT_LE(backend(kCuda).allocator().stats().bytes_reserved, device_bytes);
  }
}

TEST_F(CudaTest, RunningOutOfMemorySuggestsARemedy) {
  try {
    Tensor::empty({int64_t{1} << 50}, DType::f32, kCuda);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("smaller batch"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tapir
