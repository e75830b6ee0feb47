// Cross-entropy from logits. Saved: the logits and one log-sum-exp per row.
#include <cstdint>

#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

// Targets that are neither a class nor ignore_index are an Error; returns how many count.
int64_t checked_count(const Tensor& targets, int64_t classes, int64_t ignore_index) {
  const std::optional<IntRange> range = targets.storage().known_range();
  const bool none_ignored =
      range && (ignore_index < range->lowest || ignore_index > range->highest);
  if (none_ignored && find_out_of_range(targets, classes) < 0) return targets.numel();
  NoGrad pause;
  const Tensor ignored =
      eq(targets, Tensor::scalar(static_cast<double>(ignore_index), DType::i32, targets.device()));
  const Tensor to_check = where(ignored, Tensor::zeros({}, DType::i32, targets.device()), targets);
  const int64_t bad = find_out_of_range(to_check, classes);
  require(bad < 0, "cross_entropy",
          "target {} at position {} is outside [0, {}) and is not ignore_index {}",
          bad < 0 ? 0 : targets.to_ints()[static_cast<size_t>(bad)], bad, classes, ignore_index);
  return targets.numel() - static_cast<int64_t>(sum(to(ignored, DType::i32)).item());
}

// logits [N, V], targets [N] -> losses [N], f32 or f64.
Tensor per_token(const Tensor& logits, const Tensor& targets, int64_t ignore_index) {
  const DType dtype = accum_dtype(logits.dtype());
  Tensor losses = Tensor::empty(targets.shape(), dtype, logits.device());
  const Tensor lse = Tensor::empty(targets.shape(), DType::f64, logits.device());
  logits.backend().cross_entropy(logits.view(), targets.view(), ignore_index, losses.view(),
                                 lse.view());
  return record("cross_entropy", losses, {logits}, [=](const Tensor& grad) {
    Tensor dlogits = Tensor::empty_like(logits);
    grad.backend().cross_entropy_backward(contiguous(grad).view(), logits.view(), targets.view(),
                                          ignore_index, lse.view(), dlogits.view());
    return std::vector{dlogits};
  });
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, Reduction reduction,
                     int64_t ignore_index) {
  require_floating("cross_entropy", logits);
  require(targets.dtype() == DType::i32, "cross_entropy", "targets must be i32, got {}",
          targets.dtype());
  require_same_device("cross_entropy", logits, targets);
  require(ignore_index >= INT32_MIN && ignore_index <= INT32_MAX, "cross_entropy",
          "ignore_index {} is outside the range of i32", ignore_index);
  require(logits.rank() >= 1 && logits.size(-1) > 0, "cross_entropy",
          "logits must be [..., V], got {}", logits.shape());
  Shape expected = logits.shape();
  expected.erase(logits.rank() - 1);
  require(targets.shape() == expected, "cross_entropy",
          "logits are {} so targets must be {}, got {}; targets are never broadcast",
          logits.shape(), expected, targets.shape());
  const int64_t classes = logits.size(-1), tokens = targets.numel();
  const Tensor flat = reshape(contiguous(targets), {tokens});
  const int64_t counted = checked_count(flat, classes, ignore_index);
  if (reference::Composed::enabled()) {
    return reference::cross_entropy(logits, targets, reduction, ignore_index);
  }
  const Tensor losses =
      per_token(contiguous(reshape(logits, {tokens, classes})), flat, ignore_index);
  if (reduction == Reduction::none) return reshape(losses, targets.shape());
  if (reduction == Reduction::sum) return sum(losses);
  require(counted > 0, "cross_entropy", "the mean over no targets; all {} equal ignore_index {}",
          tokens, ignore_index);
  return sum(losses) * (1.0 / static_cast<double>(counted));
}

}  // namespace tapir
