// Every fused operation written with primitive ones: its executable specification, the oracle of
// its tests, and what `--composed` shows. Slow and memory-hungry on purpose; same contracts as in
// ops.h.
#pragma once

#include "autograd/ops.h"

namespace tapir::reference {

// While alive, the fused operations of this thread run as they are written here.
class Composed {
 public:
  explicit Composed(bool enabled = true) : before_(enabled_) { enabled_ = enabled; }
  ~Composed() { enabled_ = before_; }
  Composed(const Composed&) = delete;
  Composed& operator=(const Composed&) = delete;

  static bool enabled() { return enabled_; }

 private:
  bool before_;
  static constinit inline thread_local bool enabled_ = false;
};

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());
Tensor softmax(const Tensor& x, int64_t axis);
Tensor log_softmax(const Tensor& x, int64_t axis);
Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor cumsum(const Tensor& x, int64_t axis);
Tensor embedding(const Tensor& weight, const Tensor& ids);
Tensor swiglu(const Tensor& gate, const Tensor& up);
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-5);
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
            RopeLayout layout);
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionArguments& arguments = {});
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     Reduction reduction = Reduction::mean, int64_t ignore_index = -100);

// Rows of the identity matrix: ids i32 [...] -> [..., classes].
Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype);

}  // namespace tapir::reference
