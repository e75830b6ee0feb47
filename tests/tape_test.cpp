// The tape's rules: order, lifetime, accumulation, in-place writes, hooks, threads and memory.
#include "autograd/tape.h"

#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::Doubles;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::leaf;
using testing::shares_storage;

int64_t bytes_in_use() {
  return backend(kCpu).allocator().stats().bytes_in_use;
}

// x with gradient `factor` times the right one.
Tensor scaled_identity(const Tensor& x, double factor) {
  return record("scaled_identity", clone(detach(x)), {x},
                [factor](const Tensor& grad) { return std::vector{grad * factor}; });
}

TEST(TapeGraph, Diamond) {
  const Tensor a = leaf({3});
  Tape tape;
  const Tensor b = a + a, c = b + b;
  tape.backward(c);
  EXPECT_EQ(a.grad().item(), 4);
}

TEST(TapeGraph, ReusedNodesAndProducts) {
  const Tensor x = leaf({2});
  Tape tape;
  const Tensor square = x * x;                               // 2x = 4
  const Tensor y = square * x + square + exp(square * 0.0);  // x^3 + x^2 + 1: 12 + 4
  tape.backward(y);
  EXPECT_EQ(x.grad().item(), 16);
}

TEST(TapeGraph, BranchesThatDoNotReachTheLossAreLeftOut) {
  const Tensor x = leaf({2}), unused = leaf({5});
  Tape tape;
  const Tensor dead = unused * x;
  const Tensor y = x * 3.0;
  const Tensor later = y * unused;
  tape.backward(y);
  EXPECT_EQ(x.grad().item(), 3);
  EXPECT_FALSE(unused.grad().defined());
}

#ifdef TAPIR_SANITIZED
constexpr int kLongChain = 100'000;  // sanitizers make each operation many times slower
#else
constexpr int kLongChain = 1'000'000;
#endif

// No recursion anywhere, neither in the pass nor when the graph is freed.
TEST(TapeGraph, MillionOperations) {
  const int64_t before = bytes_in_use();
  for (const bool run_backward : {true, false}) {
    const int length = run_backward ? kLongChain : kLongChain / 3;
    const Tensor x = leaf({1});
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < length; ++i) y = neg(y);
    EXPECT_EQ(tape.size(), static_cast<size_t>(length));
    if (!run_backward) continue;
    tape.backward(y);
    EXPECT_EQ(x.grad().item(), 1);
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST(TapeGraph, InfoDescribesTheNodes) {
  const Tensor x = leaf({1, 2});
  const Scope scope(std::make_shared<const std::string>("layers.0"));
  Tape tape;
  const Tensor y = sum(exp(x) * x);
  ASSERT_EQ(tape.size(), 3u);
  EXPECT_EQ(tape.info(0).op, "exp");
  EXPECT_EQ(tape.info(0).layer, "layers.0");
  EXPECT_EQ(tape.info(1).op, "mul");
  EXPECT_EQ(tape.info(1).inputs, (std::vector<int64_t>{0, -1}));
  EXPECT_EQ(tape.info(2).output_shape, Shape{});
  expect_error([&] { tape.info(3); }, {"tape", "node 3", "has 3"});
}

TEST(TapeRecording, OnlyWhatNeedsAGradient) {
  const Tensor x = leaf({1}), constant = f64({2});
  const Tensor outside = x * 2.0;
  EXPECT_FALSE(outside.requires_grad());  // no tape
  EXPECT_EQ(Tape::recording(), nullptr);
  Tape tape;
  EXPECT_EQ(Tape::recording(), &tape);
  EXPECT_FALSE((constant * 2.0).requires_grad());
  EXPECT_EQ(tape.size(), 0u);
  const Tensor y = constant * x;
  EXPECT_TRUE(y.requires_grad());
  {
    NoGrad pause;
    EXPECT_EQ(Tape::recording(), nullptr);
    EXPECT_FALSE((y * x).requires_grad());
    { NoGrad again; }
    EXPECT_EQ(Tape::recording(), nullptr);
  }
  EXPECT_EQ(Tape::recording(), &tape);
  EXPECT_EQ(tape.size(), 1u);
}

TEST(TapeRecording, NestedTapesRecordApart) {
  const Tensor x = leaf({3});
  Tape outer;
  const Tensor y = x * 2.0;
  {
    NoGrad pause;  // a tape of its own records inside a pause too
    Tape inner;
    EXPECT_EQ(Tape::recording(), &inner);
    const Tensor z = x * x;
    expect_error([&] { y* z; }, {"mul", "recorded by another tape", "detach()"});
    expect_error([&] { inner.backward(y); }, {"backward", "not recorded by this tape"});
    inner.backward(z);
    EXPECT_EQ(x.grad().item(), 6);
  }
  EXPECT_EQ(Tape::recording(), &outer);
  outer.backward(y);
  EXPECT_EQ(x.grad().item(), 6 + 2);
}

TEST(TapeLifetime, SecondBackwardIsAnError) {
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = x * x;
  tape.backward(y);
  expect_error([&] { tape.backward(y); }, {"backward", "already run", "new tape"});
  expect_error([&] { y.backward(); }, {"backward", "already run"});
  EXPECT_EQ(x.grad().item(), 6);
}

TEST(TapeLifetime, ASpentTapeRecordsNothing) {
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = x * x;
  tape.backward(y);
  EXPECT_EQ(Tape::recording(), nullptr);
  EXPECT_FALSE((x * y).requires_grad());
  EXPECT_EQ(tape.size(), 0u);
  Tape next;
  expect_error([&] { y* x; }, {"mul", "[1]", "has ended"});
  EXPECT_TRUE((detach(y) * x).requires_grad());
}

TEST(TapeLifetime, TensorsOfAnEndedTape) {
  const Tensor x = leaf({3});
  Tensor y;
  {
    Tape tape;
    y = x * x;
  }
  EXPECT_EQ(y.item(), 9);
  EXPECT_FALSE((y * x).requires_grad());  // without a tape its values may be read
  Tape tape;
  expect_error([&] { y + x; }, {"add", "has ended", "detach()"});
  expect_error([&] { tape.backward(y); }, {"backward", "not recorded by this tape"});
  expect_error([&] { y.register_hook([](const Tensor&) {}); }, {"register_hook", "not recording"});
  tape.backward(detach(y) * x);
  EXPECT_EQ(x.grad().item(), 9);
}

TEST(TapeLifetime, BackwardNeedsARecordedScalar) {
  const Tensor x = leaf({1, 2});
  expect_error([&] { sum(x).backward(); }, {"backward", "no tape is in scope"});
  Tape tape;
  const Tensor y = x * x;
  expect_error([&] { tape.backward(y); }, {"backward", "[2]", "one element"});
  expect_error([&] { tape.backward(x, x); }, {"backward", "[2]", "not recorded"});
  expect_error([&] { tape.backward(f64({1})); }, {"backward", "not recorded"});
  expect_error([&] { tape.backward(y, f64({1})); }, {"backward", "seed [1]", "output [2]"});
  expect_error([&] { tape.backward(y, Tensor::ones({2})); }, {"backward", "f32", "f64"});
  expect_error([&] { tape.backward(Tensor()); }, {"tensor"});
  tape.backward(y, f64({1, 10}));  // none of these errors spent the tape
  expect_tensor(x.grad(), {2}, {2, 40});
}

TEST(TapeLifetime, ATapeLeftWithoutBackwardLeaksNothing) {
  const Tensor x = Tensor::ones({1000}, DType::f64).set_requires_grad();
  const int64_t before = bytes_in_use();
  {
    Tape tape;
    const Tensor y = exp(x) * x;
    EXPECT_GT(bytes_in_use(), before);
  }
  EXPECT_EQ(bytes_in_use(), before);
  {
    Tape tape;
    const Tensor y = matmul(reshape(exp(x), {10, 100}), reshape(x, {100, 10}));
    expect_error([&] { y + Tensor::zeros({3}, DType::f64); }, {"add"});  // and one left by an error
  }
  EXPECT_EQ(bytes_in_use(), before);
}

TEST(TapeLifetime, BackwardFreesWhatWasSavedAsItRuns) {
  constexpr int64_t kBytes = 8 * 100'000;
  const Tensor x = Tensor::ones({100'000}, DType::f64).set_requires_grad();
  Allocator& allocator = backend(kCpu).allocator();
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = tanh(y);  // each saves its output
  const Tensor loss = sum(y);
  y = Tensor();
  const int64_t saved = bytes_in_use();
  allocator.reset_peak();
  tape.backward(loss);
  // The gradient at hand and the one being made, while 20 saved outputs go away one by one.
  EXPECT_LE(allocator.stats().peak_bytes, saved + 3 * kBytes);
  EXPECT_LE(bytes_in_use(), saved - 18 * kBytes);
}

TEST(TapeGradients, AccumulateOverTapesUntilZeroed) {
  const Tensor x = leaf({1, 2});
  for (int pass = 1; pass <= 3; ++pass) {
    Tape tape;
    tape.backward(sum(x * x));
    expect_tensor(x.grad(), {2}, {2.0 * pass, 4.0 * pass});
  }
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(TapeGradients, OfLeavesAreDenseAndNotShared) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4}), c = leaf({5});
  const Tensor seed = f64({10, 20});
  Tape tape;
  tape.backward(a + (b + expand(c, {2})), seed);  // add hands one gradient to both of its inputs
  EXPECT_FALSE(shares_storage(a.grad(), b.grad()));
  EXPECT_FALSE(shares_storage(a.grad(), seed));
  EXPECT_FALSE(shares_storage(b.grad(), seed));
  Tensor of_a = a.grad();
  of_a.fill_(0);
  expect_tensor(b.grad(), {2}, {10, 20});
  expect_tensor(c.grad(), {1}, {30});
}

TEST(TapeGradients, OfViewsAreDense) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6}, {2, 3}), y = leaf({1, 2}), z = leaf({1, 2});
  {
    Tape tape;
    tape.backward(transpose(x), Tensor::ones({3, 2}, DType::f64));
  }
  EXPECT_TRUE(x.grad().is_contiguous());
  {
    Tape tape;
    tape.backward(sum(x));  // its gradient is one element, repeated
  }
  EXPECT_TRUE(x.grad().is_contiguous());
  expect_tensor(x.grad(), {2, 3}, {2, 2, 2, 2, 2, 2});
  Tape tape;
  tape.backward(cat({y, z}, 0), f64({1, 2, 3, 4}));
  for (const Tensor& grad : {y.grad(), z.grad()}) {
    EXPECT_TRUE(grad.is_contiguous());
    EXPECT_EQ(grad.storage().bytes(), 16u);  // not a window into the joined gradient
  }
}

TEST(TapeGradients, OfABroadcastAreSummed) {
  const Tensor x = leaf({1, 2, 3}, {3, 1}), scalar = leaf({2}, {});
  Tape tape;
  tape.backward(sum(expand(x, {2, 3, 4}) * scalar));
  expect_tensor(x.grad(), {3, 1}, {16, 16, 16});
  expect_tensor(scalar.grad(), {}, {48});
}

TEST(TapeGradients, WithoutNeedAreNotComputed) {
  int calls = 0;
  const Tensor x = leaf({2}), constant = f64({3});
  Tape tape;
  const Tensor y = record("pair", x * constant + 0.0,
                          {{constant,
                            [&](const Tensor& grad) {
                              ++calls;
                              return grad;
                            }},
                           {detach(x), [&](const Tensor& grad) {
                              ++calls;
                              return grad;
                            }}});
  tape.backward(y);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(x.grad().item(), 3);
}

TEST(TapeRecord, BothFormsGiveTheGradient) {
  const Tensor x = leaf({2}), y = leaf({5});
  const auto product = [&](bool by_input) {
    const Tensor out = detach(x) * detach(y);
    if (by_input) {
      return record("product", out,
                    {{x, [y](const Tensor& grad) { return grad * y; }},
                     {y, [x](const Tensor& grad) { return grad * x; }}});
    }
    return record("product", out, {x, y}, [x, y](const Tensor& grad) {
      return std::vector{grad * y, grad * x};
    });
  };
  for (const bool by_input : {false, true}) {
    x.zero_grad();
    y.zero_grad();
    Tape tape;
    tape.backward(product(by_input));
    EXPECT_EQ(x.grad().item(), 5);
    EXPECT_EQ(y.grad().item(), 2);
  }
}

// What the function of an input that needs no gradient captured must not stay alive.
TEST(TapeRecord, DropsUnneededFunctionsAtOnce) {
  const Tensor x = leaf({2}), constant = f64({3});
  Tape tape;
  const auto witness = std::make_shared<int>(0);
  const Tensor y = record("op", f64({1}),
                          {{x, [](const Tensor& grad) { return grad; }},
                           {constant, [witness](const Tensor& grad) { return grad; }}});
  EXPECT_EQ(witness.use_count(), 1);
}

TEST(TapeRecord, UndefinedGradientsMeanNone) {
  const Tensor x = leaf({2}), y = leaf({3});
  Tape tape;
  tape.backward(record("first_only", f64({1}), {x, y}, [](const Tensor& grad) {
    return std::vector{grad, Tensor()};
  }));
  EXPECT_EQ(x.grad().item(), 1);
  EXPECT_FALSE(y.grad().defined());
}

TEST(TapeRecord, GradientShapesAndCountsAreStrict) {
  const Tensor x = leaf({1, 2}, {1, 2});
  const auto run = [&](std::vector<Tensor> grads) {
    Tape tape;
    tape.backward(record("custom", Tensor::ones({1, 2}, DType::f64), {x},
                         [grads](const Tensor&) { return grads; }),
                  Tensor::ones({1, 2}, DType::f64));
  };
  expect_error([&] { run({f64({1, 2})}); }, {"custom", "input 0", "shape [2], not [1, 2]"});
  expect_error([&] { run({}); }, {"custom", "0 parts for 1 inputs"});
  expect_error([&] { run({Tensor(), Tensor()}); }, {"custom", "2 parts for 1 inputs"});
  EXPECT_FALSE(x.grad().defined());
  run({f64({1, 2}, {1, 2})});
  expect_tensor(x.grad(), {1, 2}, {1, 2});
}

TEST(TapeRecord, TheOutputMustBeNew) {
  const Tensor x = leaf({1});
  Tape tape;
  const auto identity = [](const Tensor& grad) { return std::vector{grad}; };
  expect_error([&] { record("custom", x, {x}, identity); }, {"custom", "detach(output)"});
  expect_error([&] { record("custom", x * 2.0, {x}, identity); }, {"custom", "detach(output)"});
  EXPECT_TRUE(x.is_leaf());
}

TEST(TapeWrites, ToASavedTensorAreAnErrorInBackward) {
  const Scope scope(std::make_shared<const std::string>("layers.1"));
  Tensor constant = f64({2, 3});
  const Tensor x = leaf({1, 1});
  {
    Tape tape;
    const Tensor y = sum(x * constant);
    constant.fill_(7);
    expect_error([&] { tape.backward(y); }, {"mul (in layers.1)", "written in place", "clone()"});
    EXPECT_FALSE(x.grad().defined());
  }
  Tape tape;  // to the saved output, through a view of it
  Tensor y = exp(x);
  const Tensor loss = sum(y);
  {
    NoGrad pause;
    slice(y, 0, 0, 1).fill_(0);
  }
  expect_error([&] { tape.backward(loss); }, {"in place"});
}

TEST(TapeWrites, ToAParameterBetweenForwardAndBackwardAreAnError) {
  Tensor w = leaf({2});
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = x * w;
  {
    NoGrad pause;
    w.fill_(5);  // an optimizer step too early
  }
  expect_error([&] { tape.backward(y); }, {"mul", "in place"});
}

TEST(TapeWrites, AfterBackwardAreFine) {
  Tensor w = leaf({2});
  for (int step = 0; step < 3; ++step) {
    Tape tape;
    tape.backward(w * w);
    NoGrad pause;
    w.copy_(detach(w) - w.grad() * 0.25);
    w.zero_grad();
  }
  EXPECT_EQ(w.item(), 0.25);  // halves each time
}

TEST(TapeHooks, ALeafSeesTheTotalOncePerPass) {
  const Tensor x = leaf({2}), plain = leaf({1});
  Doubles seen;
  x.register_hook([&](const Tensor& grad) { seen.push_back(grad.item()); });
  for (int pass = 0; pass < 2; ++pass) {
    Tape tape;
    tape.backward(x * x + x * 3.0 + plain * x);
  }
  EXPECT_EQ(seen, (Doubles{8, 8}));
  EXPECT_EQ(x.grad().item(), 16);
  EXPECT_EQ(plain.grad().item(), 4);
}

TEST(TapeHooks, ALeafUsedInsideACheckpointToo) {
  const Tensor x = leaf({2});
  Doubles seen;
  x.register_hook([&](const Tensor& grad) { seen.push_back(grad.item()); });
  Tape tape;
  const Tensor inside =
      checkpoint([&](const std::vector<Tensor>& in) { return in[0] * x; }, {f64({5})});
  tape.backward(inside + x * 3.0);
  EXPECT_EQ(seen, (Doubles{8}));
  EXPECT_EQ(x.grad().item(), 8);
}

TEST(TapeHooks, ARecordedTensorSeesItsTotal) {
  const Tensor x = leaf({2});
  Tape tape;
  const Tensor y = x * 2.0;
  Doubles seen;
  y.register_hook([&](const Tensor& grad) { seen.push_back(grad.item()); });
  y.register_hook([&](const Tensor& grad) { seen.push_back(-grad.item()); });
  tape.backward(y * y + y);
  EXPECT_EQ(seen, (Doubles{9, -9}));
  expect_error([&] { y.register_hook([](const Tensor&) {}); }, {"register_hook", "not recording"});
  expect_error([] { f64({1}).register_hook([](const Tensor&) {}); },
               {"register_hook", "does not require grad"});
}

// A hook may keep the gradient it is shown: nothing may be added into that buffer afterwards.
TEST(TapeHooks, AKeptGradientDoesNotChange) {
  const Tensor x = leaf({2});
  Tensor kept;
  Tape tape;
  const Tensor y = x * 1.0;
  y.register_hook([&](const Tensor& grad) { kept = grad; });
  tape.backward(scaled_identity(y, 1) + x * 10.0);
  EXPECT_EQ(kept.item(), 1);
  EXPECT_EQ(x.grad().item(), 11);
  {
    Tape again;
    again.backward(x * 5.0);
  }
  EXPECT_EQ(kept.item(), 1);
}

TEST(TapeRetain, KeepsTheGradientOfARecordedTensor) {
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = x * x, z = y * 2.0, forgotten = z * 1.0;
  y.retain_grad();
  tape.backward(forgotten + y);
  EXPECT_EQ(y.grad().item(), 3);
  EXPECT_FALSE(z.grad().defined());
  EXPECT_EQ(x.grad().item(), 18);
}

TEST(TapeRetain, TheKeptGradientIsNotAddedTo) {
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = x * 1.0, z = y + y;
  z.retain_grad();
  y.retain_grad();
  tape.backward(z);
  EXPECT_EQ(z.grad().item(), 1);
  EXPECT_EQ(y.grad().item(), 2);
}

TEST(TapeThreads, EachHasItsOwn) {
  Doubles results(4);
  std::vector<std::thread> threads;
  Tape tape_of_the_main_thread;
  for (size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([i, &results] {
      EXPECT_EQ(Tape::recording(), nullptr);
      const Tensor x = leaf({static_cast<double>(i)});
      for (int pass = 0; pass < 200; ++pass) {
        x.zero_grad();
        Tape tape;
        Tensor y = x;
        for (int j = 0; j < 5; ++j) y = y + x * x;
        NoGrad pause;
        tape.backward(y);
      }
      results[i] = x.grad().item();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (Doubles{1, 11, 21, 31}));
  EXPECT_EQ(tape_of_the_main_thread.size(), 0u);
}

TEST(TapeErrors, AFailedBackwardLeavesTheThreadUsable) {
  const Tensor x = leaf({2});
  {
    Tape tape;
    const Tensor y = record("fails", f64({1}), {x}, [](const Tensor&) -> std::vector<Tensor> {
      fail("fails", "on purpose");
    });
    expect_error([&] { tape.backward(y); }, {"fails", "on purpose"});
  }
  EXPECT_EQ(Tape::recording(), nullptr);
  Doubles seen;
  x.register_hook([&](const Tensor& grad) { seen.push_back(grad.item()); });
  Tape tape;
  tape.backward(x * x);
  EXPECT_EQ(x.grad().item(), 4);
  EXPECT_EQ(seen, Doubles{4});
}

}  // namespace
}  // namespace tapir
