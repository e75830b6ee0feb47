#include "nn/forward_context.h"

#include "autograd/ops.h"
#include "nn/kv_cache.h"

namespace tapir::nn {

Tensor default_positions(const ForwardContext& context, int64_t count, Device device) {
  const int64_t start = context.cache ? context.cache->length() : 0;
  const Tensor positions = Tensor::arange(start + count, DType::i32, device);
  return start == 0 ? positions : contiguous(slice(positions, 0, start, start + count));
}

}  // namespace tapir::nn
