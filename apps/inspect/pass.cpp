#include "apps/inspect/pass.h"

#include <algorithm>

#include "apps/inspect/pass_observer.h"
#include "apps/inspect/value_stats.h"
#include "autograd/ops.h"
#include "autograd/reference.h"
#include "backends/observed_backend.h"

namespace tapir::app {
namespace {

Tensor random_like(const Tensor& output) {
  const NoGrad pause;
  Generator generator(1);
  return to(to(randn(output.shape(), generator, DType::f64), output.dtype()), output.device());
}

void backward_from(Tape& tape, const Tensor& output) {
  const Tensor seed = output.numel() == 1
                          ? Tensor::ones(output.shape(), output.dtype(), output.device())
                          : random_like(output);
  tape.backward(output, seed);
}

void clear_gradients(const Subject& subject) {
  for (const NamedTensor& named : subject.tensors) named.tensor.zero_grad();
}

// The first passes load libraries and fill the allocator; the fastest of three is the pass.
double unobserved_seconds(const Subject& subject) {
  using Clock = std::chrono::steady_clock;
  const TapeObserver::Paused pause;
  double fastest = 0;
  for (int pass = 0; pass < 3; ++pass) {
    const Clock::time_point start = Clock::now();
    {
      Tape tape;
      backward_from(tape, subject.forward());
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    fastest = pass == 0 ? seconds : std::min(fastest, seconds);
    clear_gradients(subject);
  }
  return fastest;
}

void note_parameters(const Subject& subject, bool details, Inspection& result) {
  for (const NamedTensor& named : subject.tensors) {
    ParameterRecord record{named.name, named.tensor.shape(), 0, {}, {}};
    const Tensor grad = named.tensor.grad();
    if (grad.defined()) record.gradient_norm = l2_norm(grad);
    if (details) record.values = value_stats(named.tensor);
    if (details && grad.defined()) record.gradient = value_stats(grad);
    result.parameters.push_back(std::move(record));
  }
}

void watch(const Subject& subject, PassObserver& observer, Inspection& result) {
  Tape tape;
  observer.begin(tape, result);
  Tensor output = subject.forward();
  require(output.requires_grad(), "inspect", "{} recorded nothing", subject.name);
  if (output.numel() == 1) {
    const TapeObserver::Paused pause;
    result.loss = detach(output).item();
  }
  backward_from(tape, output);
  observer.end();
}

}  // namespace

Inspection inspect(const SubjectRequest& request, const PassOptions& options, Subject* seen) {
  Inspection result;
  const Backend& device = backend(request.device);
  PassObserver observer(request.device, options.details);
  const reference::Composed composed(options.composed);
  with_subject(request, [&](const Subject& subject) {
    for (const NamedTensor& named : subject.tensors) {
      observer.add_parameter(named.name, named.tensor);
      named.tensor.zero_grad();
    }
    result.unobserved_seconds = unobserved_seconds(subject);
    const ObservedBackend observed(
        device, [&](const KernelReport& report) { observer.add_flops(report.flops); });
    {
      const BackendOverride override(request.device, observed);
      watch(subject, observer, result);
    }
    note_parameters(subject, options.details, result);
    if (seen != nullptr) *seen = {subject.name, subject.about, {}, subject.tensors, subject.tokens};
  });
  return result;
}

}  // namespace tapir::app
