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

Shape coordinates(const Shape& shape, int64_t flat) {
  Shape position = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return position;
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

// Analytic gradients of all tensors, as host values; the loss weights come along.
std::vector<std::vector<double>> analytic_gradients(const std::function<Tensor()>& fn,
                                                    const std::vector<NamedTensor>& tensors,
                                                    Generator& generator,
                                                    std::vector<double>& weights) {
  for (const NamedTensor& entry : tensors) entry.tensor.zero_grad();
  {
    Tape tape;
    const Tensor output = fn();
    const Tensor seed = randn(output.shape(), generator, output.dtype(), output.device());
    weights = seed.to_vector();
    require(output.requires_grad(), "gradcheck",
            "the output does not depend on a tensor that requires grad");
    tape.backward(output, seed);
  }
  std::vector<std::vector<double>> gradients;
  for (const NamedTensor& entry : tensors) {
    const Tensor grad = entry.tensor.grad();
    gradients.push_back(grad.defined()
                            ? grad.to_vector()
                            : std::vector<double>(static_cast<size_t>(entry.tensor.numel())));
    entry.tensor.zero_grad();
  }
  return gradients;
}

void require_checkable(const NamedTensor& entry) {
  require(is_floating(entry.tensor.dtype()), "gradcheck", "{} is {}, not a floating dtype",
          entry.name, entry.tensor.dtype());
  require(entry.tensor.is_leaf() && entry.tensor.requires_grad(), "gradcheck",
          "{} must be a leaf that requires grad", entry.name);
  require(entry.tensor.is_contiguous(), "gradcheck", "{} {} is not dense; pass contiguous(x)",
          entry.name, entry.tensor.shape());
}

}  // namespace

GradcheckReport gradcheck(const std::function<Tensor()>& fn,
                          const std::vector<NamedTensor>& tensors,
                          const GradcheckOptions& options) {
  for (const NamedTensor& entry : tensors) require_checkable(entry);
  Generator generator(options.seed);
  std::vector<double> weights;
  const auto analytic = analytic_gradients(fn, tensors, generator, weights);

  NoGrad pause;
  const auto loss = [&] { return weighted_sum(fn(), weights); };
  std::vector<Compared> compared(tensors.size());
  double largest = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    Compared& c = compared[i];
    c.elements = elements_to_check(tensors[i].tensor.numel(), options.max_elements, generator);
    for (int64_t element : c.elements) {
      c.analytic.push_back(analytic[i][static_cast<size_t>(element)]);
      c.numeric.push_back(difference(loss, tensors[i].tensor, element, options.step));
    }
    largest = std::max(largest, c.scale());
  }
  GradcheckReport report;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const double scale = std::max(compared[i].scale(), 1e-3 * largest);
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
