#include "autograd/gradcheck.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "autograd/ops.h"

namespace tapir {
namespace {

// The loss in f64 on the host, whatever the dtype: sum of weights * output.
double weighted_sum(const Tensor& output, const std::vector<double>& weights) {
  const std::vector<double> values = output.to_vector();
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) total += values[i] * weights[i];
  return total;
}

// Which elements to look at: all, or a random sample in ascending order.
std::vector<int64_t> elements_to_check(int64_t count, int64_t limit, Generator& generator) {
  std::set<int64_t> chosen;
  if (limit == 0 || count <= limit) {
    for (int64_t i = 0; i < count; ++i) chosen.insert(chosen.end(), i);
  } else {
    while (static_cast<int64_t>(chosen.size()) < limit) {
      chosen.insert(static_cast<int64_t>(generator.below(static_cast<uint64_t>(count))));
    }
  }
  return {chosen.begin(), chosen.end()};
}

// The derivative with respect to one element by a central difference.
double difference(const std::function<double()>& loss, const Tensor& tensor, int64_t element,
                  double step) {
  Tensor cell = reshape(tensor, {tensor.numel()});
  cell = slice(cell, 0, element, element + 1);
  const double before = cell.item();
  cell.fill_(before + step);
  const double high_at = cell.item(), high = loss();
  cell.fill_(before - step);
  const double low_at = cell.item(), low = loss();
  cell.fill_(before);
  return (high - low) / (high_at - low_at);  // the step that rounding really made
}

struct Compared {
  std::vector<int64_t> elements;
  std::vector<double> analytic, numeric;

  double scale() const {
    double largest = 0;
    for (double value : analytic) largest = std::max(largest, std::fabs(value));
    for (double value : numeric) largest = std::max(largest, std::fabs(value));
    return largest;
  }
};

GradcheckEntry judge(const NamedTensor& tensor, const Compared& compared, double scale,
                     double tolerance) {
  GradcheckEntry entry;
  entry.name = tensor.name;
  entry.shape = tensor.tensor.shape();
  entry.checked = static_cast<int64_t>(compared.elements.size());
  double worst = -1;
  for (size_t i = 0; i < compared.elements.size(); ++i) {
    const double gap = std::fabs(compared.analytic[i] - compared.numeric[i]);
    const double error = gap == 0 ? 0 : gap / scale;
    if (error <= worst) continue;  // a NaN is not <= anything, so it becomes the worst
    worst = error;
    entry.worst = coordinates(entry.shape, compared.elements[i]);
    entry.analytic = compared.analytic[i];
    entry.numeric = compared.numeric[i];
    entry.error = error;
    if (std::isnan(error)) break;
  }
  entry.passed = entry.error <= tolerance;
  return entry;
}

// The largest error of one rounding, relative to the number.
double rounding(DType dtype) {
  return dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
}

// What one recorded pass gives, as host values.
struct Pass {
  std::vector<double> output, weights;  // of the loss
  std::vector<std::vector<double>> gradients;

  // How much of a difference may be rounding of the loss: a few units in the last place of every
  // term, over the step.
  double noise(const GradcheckOptions& options) const {
    double terms = 0;
    for (size_t i = 0; i < output.size(); ++i) terms += std::fabs(output[i] * weights[i]);
    return 8 * rounding(options.dtype) * terms / options.step;
  }
};

Pass record_pass(const std::function<Tensor()>& fn, const std::vector<NamedTensor>& tensors,
                 Generator& generator) {
  for (const NamedTensor& entry : tensors) entry.tensor.zero_grad();
  Pass pass;
  {
    Tape tape;
    const Tensor output = fn();
    const Tensor seed = randn(output.shape(), generator, output.dtype(), output.device());
    pass.output = output.to_vector();
    pass.weights = seed.to_vector();
    require(output.requires_grad(), "gradcheck",
            "the output does not depend on a tensor that requires grad");
    tape.backward(output, seed);
  }
  for (const NamedTensor& entry : tensors) {
    const Tensor grad = entry.tensor.grad();
    const auto count = static_cast<size_t>(entry.tensor.numel());
    pass.gradients.push_back(grad.defined() ? grad.to_vector() : std::vector<double>(count));
    entry.tensor.zero_grad();
  }
  return pass;
}

void require_options(const GradcheckOptions& options) {
  require(options.step > 0 && options.tolerance > 0 && options.max_elements >= 0, "gradcheck",
          "step {} and tolerance {} must be positive, max_elements {} not negative", options.step,
          options.tolerance, options.max_elements);
  require(options.dtype == DType::f64 || options.dtype == DType::f32, "gradcheck",
          "cannot check {}, whose rounding exceeds any difference; use f64", options.dtype);
  require(options.tolerance < 1, "gradcheck",
          "tolerance {} accepts any gradient; it is a share of the gradient, so give less than 1",
          options.tolerance);
  // Errors below noise / tolerance are not found; this keeps it well below the terms of the loss.
  const double least = 64 * rounding(options.dtype);
  require(options.step * options.tolerance >= least, "gradcheck",
          "with step {} rounding hides errors that tolerance {} should find; give a larger step or "
          "tolerance, whose product is {:.1g} at least in {}",
          options.step, options.tolerance, least, options.dtype);
}

void require_checkable(const NamedTensor& entry, DType dtype) {
  require(
      entry.tensor.dtype() == dtype, "gradcheck",
      "{} is {}, not {}; in f32 rounding hides errors, so pass f64 tensors, or options for_f32()",
      entry.name, entry.tensor.dtype(), dtype);
  require(entry.tensor.is_leaf() && entry.tensor.requires_grad(), "gradcheck",
          "{} must be a leaf that requires grad", entry.name);
  require(entry.tensor.is_contiguous(), "gradcheck", "{} {} is not dense; pass contiguous(x)",
          entry.name, entry.tensor.shape());
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

}  // namespace

GradcheckReport gradcheck(const std::function<Tensor()>& fn,
                          const std::vector<NamedTensor>& tensors,
                          const GradcheckOptions& options) {
  require_options(options);
  require(!tensors.empty(), "gradcheck", "there is no tensor to check");
  for (const NamedTensor& entry : tensors) require_checkable(entry, options.dtype);
  Generator generator(options.seed);
  const Pass pass = record_pass(fn, tensors, generator);

  NoGrad pause;
  require(same_bits(fn().to_vector(), pass.output), "gradcheck",
          "two calls give different results; let the function start its Generator afresh");
  const auto loss = [&] { return weighted_sum(fn(), pass.weights); };
  std::vector<Compared> compared(tensors.size());
  double largest = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Compared& c = compared[i];
    c.elements = elements_to_check(tensors[i].tensor.numel(), options.max_elements, generator);
    for (int64_t element : c.elements) {
      c.analytic.push_back(pass.gradients[i][static_cast<size_t>(element)]);
      c.numeric.push_back(difference(loss, tensors[i].tensor, element, options.step));
    }
    largest = std::max(largest, c.scale());
  }
  const double floor = std::max(1e-3 * largest, pass.noise(options) / options.tolerance);
  GradcheckReport report;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const double scale = std::max(compared[i].scale(), floor);
    report.entries.push_back(judge(tensors[i], compared[i], scale, options.tolerance));
  }
  return report;
}

GradcheckReport gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& fn,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options) {
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].requires_grad()) named.push_back({fmt::format("input {}", i), inputs[i]});
  }
  return gradcheck([&] { return fn(inputs); }, named, options);
}

bool GradcheckReport::passed() const {
  return std::all_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return entry.passed; });
}

std::string GradcheckReport::to_string() const {
  std::string text = fmt::format("{:<36} {:<16} {:>7} {:<14} {:>14} {:>14} {:>9}\n", "tensor",
                                 "shape", "checked", "worst at", "analytic", "numeric", "error");
  for (const GradcheckEntry& e : entries) {
    text += fmt::format("{:<36} {:<16} {:>7} {:<14} {:>14.6e} {:>14.6e} {:>9.1e} {}\n", e.name,
                        e.shape.to_string(), e.checked, e.worst.to_string(), e.analytic, e.numeric,
                        e.error, e.passed ? "ok" : "WRONG");
  }
  return text;
}

}  // namespace tapir
