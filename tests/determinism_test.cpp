// One seed, one result: forward and backward of a small network of every kind of kernel give the
// same bits for any number of threads and from run to run.
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "backends/cpu/threads.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bits_of;

using Bits = std::vector<std::vector<uint64_t>>;

// Sizes are above what the kernels do on one thread, and no multiples of their block sizes.
constexpr int64_t kBatch = 3, kTime = 67, kHeads = 3, kWidth = 96, kHidden = 259, kVocabulary = 517;

struct Network {
  Generator generator{123};
  DType dtype;
  std::vector<Tensor> parameters;

  Tensor parameter(const Shape& shape, double scale) {
    Tensor value = to(randn(shape, generator) * scale, dtype).set_requires_grad();
    parameters.push_back(value);
    return value;
  }
};

std::vector<int32_t> some_ids(int64_t count, int64_t bound, uint64_t seed) {
  Generator generator(seed);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<int32_t>(generator.below(static_cast<uint64_t>(bound))));
  }
  return ids;
}

Tensor attention_sublayer(Network& net, const Tensor& x) {
  const Tensor query = linear(x, net.parameter({kWidth, kWidth}, 0.1));
  const Tensor key = linear(x, net.parameter({kWidth / kHeads, kWidth}, 0.1));
  const Tensor value = linear(x, net.parameter({kWidth / kHeads, kWidth}, 0.1),
                              net.parameter({kWidth / kHeads}, 0.1));
  const DType statistics = accum_dtype(net.dtype);
  const Tensor angles = to(rand({kTime, kWidth / kHeads / 2}, net.generator), statistics);
  const auto turned = [&](const Tensor& heads) {
    return rope(heads, cos(angles), sin(angles), Tensor::arange(kTime), RopeLayout::half_split);
  };
  AttentionArguments arguments;
  arguments.causal = true;
  return merge_heads(scaled_dot_product_attention(turned(split_heads(query, kHeads)),
                                                  turned(split_heads(key, 1)),
                                                  split_heads(value, 1), arguments));
}

// Loss and all gradients as bits.
Bits train_once(DType dtype) {
  Network net;
  net.dtype = dtype;
  const Shape shape{kBatch, kTime};
  const std::vector<int32_t> ids = some_ids(numel(shape), 40, 1);  // few, so that rows repeat
  const std::vector<int32_t> targets = some_ids(numel(shape), kVocabulary, 2);
  Tape tape;
  Tensor x = embedding(net.parameter({kVocabulary, kWidth}, 1), testing::ints(ids, shape));
  x = x + attention_sublayer(net,
                             layer_norm(x, net.parameter({kWidth}, 1), net.parameter({kWidth}, 1)));
  const Tensor h = rms_norm(x, net.parameter({kWidth}, 1));
  const Tensor hidden = swiglu(linear(h, net.parameter({kHidden, kWidth}, 0.1)),
                               linear(h, net.parameter({kHidden, kWidth}, 0.1)));
  x = x + dropout(linear(hidden, net.parameter({kWidth, kHidden}, 0.1)), 0.1, net.generator);
  x = x * net.parameter({kTime, 1}, 1) + gelu(cumsum(x, 1) * 0.1);  // broadcasting, a scan
  x = x - mean(x, {0, 2}, true) / (sqrt(var(x, {1}, true, true)) + 1.0);
  const Tensor logits = linear(x, net.parameter({kVocabulary, kWidth}, 0.1));
  const Tensor loss = to(cross_entropy(logits, testing::ints(targets, shape)), DType::f64) +
                      to(sum(softmax(logits, 1) * log_softmax(logits)), DType::f64) * 1e-3;
  tape.backward(loss);
  Bits bits{bits_of(loss)};
  for (const Tensor& parameter : net.parameters) bits.push_back(bits_of(parameter.grad()));
  return bits;
}

class Determinism : public ::testing::TestWithParam<DType> {
 protected:
  ~Determinism() override { cpu::set_threads(before_); }

 private:
  int before_ = cpu::threads();
};

TEST_P(Determinism, AnyNumberOfThreadsGivesTheSameBits) {
  cpu::set_threads(1);
  const Bits one = train_once(GetParam());
  EXPECT_EQ(one.size(), 14u);
  for (const int threads : {1, 2, 3, 8}) {
    cpu::set_threads(threads);
    const Bits bits = train_once(GetParam());
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(bits[i] == one[i])
          << "with " << threads << " threads "
          << (i == 0 ? std::string("the loss")
                     : fmt::format("the gradient of parameter {}", i - 1));
    }
  }
}

// A test of the test: equal bits of zeros would mean nothing.
TEST_P(Determinism, NoGradientIsAllZero) {
  const Bits bits = train_once(GetParam());
  for (const auto& part : bits) {
    EXPECT_TRUE(std::any_of(part.begin(), part.end(), [](uint64_t b) { return b << 1 != 0; }));
  }
}

std::string dtype_name(const ::testing::TestParamInfo<DType>& info) {
  return std::string(name_of(info.param));
}

INSTANTIATE_TEST_SUITE_P(DTypes, Determinism,
                         ::testing::Values(DType::f32, DType::f64, DType::bf16), dtype_name);

}  // namespace
}  // namespace tapir
