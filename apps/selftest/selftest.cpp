#include "apps/selftest/selftest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "apps/gradcheck/targets.h"
#include "autograd/op_cases.h"
#include "nn/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"

namespace tapir::app {
namespace {

struct Tolerance {
  DType dtype;
  double operation;  // of one operation and its gradients
  double layer;      // of a layer or model and theirs; 0: not compared
  double training;   // of a loss after five steps
};
// Both sides round each result once to the dtype and sum in f32 (f64 for f64) in different orders.
constexpr Tolerance kTolerances[] = {{DType::f64, 1e-11, 1e-10, 1e-9},
                                     {DType::f32, 3e-5, 1e-4, 1e-3},
                                     {DType::bf16, 0.06, 0, 0.1},
                                     {DType::f16, 0.01, 0, 0.02}};

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double worst = 0, scale = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    const double gap = x[i] == y[i] ? 0 : std::fabs(x[i] - y[i]);
    worst = std::isnan(gap) ? HUGE_VAL : std::max(worst, gap);
    scale = std::max(scale, std::fabs(y[i]));
  }
  return worst / scale;
}

double largest_distance(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  double error = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    error = std::max(error, distance(actual[i], expected[i]));
  return error;
}

// The output, and the gradients of the inputs under a fixed random weighted sum.
std::vector<Tensor> results(const std::function<Tensor()>& function,
                            const std::vector<Tensor>& inputs) {
  Tape tape;
  const Tensor output = function();
  std::vector<Tensor> all = {output};
  if (!output.requires_grad()) return all;
  Generator generator(17);
  const Tensor weights = to(randn(output.shape(), generator, DType::f64), output.dtype());
  tape.backward(output, to(weights, output.device()));
  for (const Tensor& input : inputs)
    all.push_back(input.grad().defined() ? input.grad() : Tensor::zeros_like(input));
  return all;
}

double op_error(const OpCase& op_case, DType dtype, Device device) {
  const auto on = [&](Device where) {
    const std::vector<Tensor> inputs = make_inputs(op_case, 5, dtype, where);
    return results([&] { return op_case.run(inputs); }, inputs);
  };
  return largest_distance(on(device), on(kCpu));
}

// Of a layer with random parameters, in all the options that `tapir gradcheck` checks.
double layer_error(const GradcheckTarget& layer, DType dtype, Device device) {
  const auto on = [&](Device where) {
    GradcheckSetup setup;
    setup.model.layers = 2;
    setup.model.heads = 4;
    setup.model.kv_heads = 2;
    setup.model.d_model = 64;
    setup.vocab = 61;
    setup.time = 33;
    setup.dtype = dtype;
    setup.device = where;
    std::vector<Tensor> all;
    layer.run(setup, [&](const GradcheckCase& one) {
      std::vector<Tensor> inputs;
      for (const NamedTensor& input : one.tensors) inputs.push_back(input.tensor);
      const std::vector<Tensor> of_case = results(one.function, inputs);
      all.insert(all.end(), of_case.begin(), of_case.end());
    });
    return all;
  };
  return largest_distance(on(device), on(kCpu));
}

// The losses of five training steps of a small model.
std::vector<double> training_losses(DType dtype, Device device) {
  nn::TransformerConfig config;
  config.vocab_size = 61;
  config.max_seq_len = 64;
  config.d_model = 64;
  config.n_layers = 2;
  config.n_heads = 2;
  Generator generator(1);
  nn::TransformerLM model(config, generator, dtype, kCpu);
  model.to(device);
  optim::AdamW adamw(model.named_parameters(), {.lr = 0.003});
  std::vector<int32_t> tokens(2 * 65);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 61);
  const Tensor windows = Tensor::from(std::span<const int32_t>(tokens), {2, 65}, device);
  std::vector<double> losses;
  for (int step = 0; step < 5; ++step) {
    Tape tape;
    const Tensor logits = model(contiguous(slice(windows, 1, 0, 64)));
    const Tensor loss = cross_entropy(logits, contiguous(slice(windows, 1, 1, 65)));
    losses.push_back(loss.item());
    adamw.zero_grad();
    tape.backward(loss);
    optim::clip_grad_norm(model.named_parameters(), 1.0);
    adamw.step();
  }
  return losses;
}

double training_error(DType dtype, Device device) {
  const std::vector<double> actual = training_losses(dtype, device);
  const std::vector<double> expected = training_losses(dtype, kCpu);
  double error = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double gap = std::fabs(actual[i] - expected[i]);
    error = std::isnan(gap) ? HUGE_VAL : std::max(error, gap);
  }
  return error;
}

template <typename Check>
void timed(SelftestResult result, const std::function<void(const SelftestResult&)>& report,
           Check check) {
  const auto start = std::chrono::steady_clock::now();
  result.error = check();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report(result);
}

}  // namespace

void run_selftest(Device device, const std::function<void(const SelftestResult&)>& report) {
  std::map<std::string, std::vector<const OpCase*>> by_operation;
  for (const OpCase& op_case : op_cases()) by_operation[op_case.op].push_back(&op_case);
  for (const Tolerance& checked : kTolerances) {
    for (const auto& entry : by_operation) {
      const std::vector<const OpCase*>& cases = entry.second;
      timed({fmt::format("{} {}", entry.first, checked.dtype), 0, checked.operation}, report, [&] {
        double error = 0;
        for (const OpCase* op_case : cases)
          error = std::max(error, op_error(*op_case, checked.dtype, device));
        return error;
      });
    }
    for (const GradcheckTarget& target : gradcheck_targets()) {
      if (target.kind == "operation" || checked.layer == 0) continue;
      timed({fmt::format("{} {}", target.name, checked.dtype), 0, checked.layer}, report,
            [&] { return layer_error(target, checked.dtype, device); });
    }
    timed({fmt::format("training {}", checked.dtype), 0, checked.training}, report,
          [&] { return training_error(checked.dtype, device); });
  }
}

}  // namespace tapir::app
