#include "autograd/anomaly.h"

#include "autograd/tensor.h"

namespace tapir {
namespace {

thread_local bool anomaly_enabled = false;
thread_local int64_t anomaly_step = -1;

}  // namespace

DetectAnomaly::DetectAnomaly(bool enabled) : before_(anomaly_enabled) {
  anomaly_enabled = enabled;
}
DetectAnomaly::~DetectAnomaly() {
  anomaly_enabled = before_;
}
bool DetectAnomaly::enabled() {
  return anomaly_enabled;
}
void DetectAnomaly::set_step(int64_t step) {
  anomaly_step = step;
}
int64_t DetectAnomaly::step() {
  return anomaly_step;
}

void DetectAnomaly::check(std::string_view op, std::string_view what, const Tensor& x) {
  if (!is_floating(x.dtype())) return;
  const int64_t bad = x.backend().count_nonfinite(x.view());
  const std::string step = anomaly_step < 0 ? "" : fmt::format(" at step {}", anomaly_step);
  require(bad == 0, op, "anomaly: {} of {} values of the {} {} are NaN or infinite{}", bad,
          x.numel(), what, x.shape(), step);
}

}  // namespace tapir
