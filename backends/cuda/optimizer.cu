// Optimizer steps over all parameters in few launches, and the norm that clipping needs.
#include <vector>

#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

constexpr int64_t kThreads = 256, kBlockElements = 1024;

// Several tensors that one launch works on, each cut into blocks of kBlockElements. Arguments of a
// kernel may take 4 KiB.
template <typename Slot>
struct Group {
  static constexpr int kSlots = static_cast<int>(3840 / sizeof(Slot));

  int size = 0;
  int64_t blocks = 0;
  Slot slots[kSlots];

  void add(Slot slot) {
    slot.first_block = blocks;
    blocks += (slot.count + kBlockElements - 1) / kBlockElements;
    slots[size++] = slot;
  }

  // The tensor of a block: the last one that starts at or before it.
  __device__ const Slot& slot_of(int64_t block) const {
    int low = 0, high = size;
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      if (slots[middle].first_block <= block) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return slots[low];
  }
};

// Calls step(i) for this thread's elements of the block's part of a tensor.
template <typename Slot, typename Step>
__device__ void for_own_elements(const Slot& slot, Step step) {
  const int64_t begin = (blockIdx.x - slot.first_block) * kBlockElements;
  const int64_t end = std::min(begin + kBlockElements, slot.count);
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) step(i);
}

struct AdamWSlot {
  void* param;
  const void* grad;
  void* m;
  void* v;
  void* master;
  int64_t count, first_block;
  double keep, step_size;
};

struct AdamWFactors {
  double beta1, beta2, inverse_root, eps;
  const double* guard;
};

__device__ bool forbids(const double* guard) {
  return guard != nullptr && !std::isfinite(*guard);
}

// theta <- theta (1 - lr lambda) - lr mhat / (sqrt(vhat) + eps). Source: Loshchilov and Hutter
// 2019, algorithm 2, in the order of operations that PyTorch uses.
template <typename T>
__global__ void adamw_kernel(const __grid_constant__ Group<AdamWSlot> group, AdamWFactors factors) {
  using A = Accum<T>;
  if (forbids(factors.guard)) return;
  const AdamWSlot& slot = group.slot_of(blockIdx.x);
  T* param = static_cast<T*>(slot.param);
  const T* grad = static_cast<const T*>(slot.grad);
  A* first = static_cast<A*>(slot.m);
  A* second = static_cast<A*>(slot.v);
  A* master = static_cast<A*>(slot.master);
  const A keep = static_cast<A>(slot.keep), step_size = static_cast<A>(slot.step_size);
  const A beta1 = static_cast<A>(factors.beta1), beta2 = static_cast<A>(factors.beta2);
  const A inverse_root = static_cast<A>(factors.inverse_root), eps = static_cast<A>(factors.eps);
  for_own_elements(slot, [&](int64_t i) {
    const A g = widen(grad[i]);
    const A m = first[i] + (g - first[i]) * (A(1) - beta1);
    const A v = second[i] * beta2 + g * g * (A(1) - beta2);
    const A theta = master == nullptr ? widen(param[i]) : master[i];
    const A updated = theta * keep - step_size * m / (std::sqrt(v) * inverse_root + eps);
    first[i] = m;
    second[i] = v;
    if (master != nullptr) master[i] = updated;
    param[i] = narrow<T>(updated);
  });
}

struct SgdSlot {
  void* param;
  const void* grad;
  void* velocity;
  void* master;
  int64_t count, first_block;
  double lr, weight_decay;
};

struct SgdFactors {
  double momentum;
  bool nesterov, first_step;
  const double* guard;
};

// g <- g + lambda theta; velocity <- mu velocity + g; theta <- theta - lr velocity, or with
// Nesterov's rule theta - lr (g + mu velocity).
template <typename T>
__global__ void sgd_kernel(const __grid_constant__ Group<SgdSlot> group, SgdFactors factors) {
  using A = Accum<T>;
  if (forbids(factors.guard)) return;
  const SgdSlot& slot = group.slot_of(blockIdx.x);
  T* param = static_cast<T*>(slot.param);
  const T* grad = static_cast<const T*>(slot.grad);
  A* velocity = static_cast<A*>(slot.velocity);
  A* master = static_cast<A*>(slot.master);
  const A lr = static_cast<A>(slot.lr), decay = static_cast<A>(slot.weight_decay);
  const A momentum = static_cast<A>(factors.momentum);
  for_own_elements(slot, [&](int64_t i) {
    const A theta = master == nullptr ? widen(param[i]) : master[i];
    const A g = widen(grad[i]) + decay * theta;
    A direction = g;
    if (velocity != nullptr) {
      const A speed = factors.first_step ? g : momentum * velocity[i] + g;
      velocity[i] = speed;
      direction = factors.nesterov ? g + momentum * speed : speed;
    }
    const A updated = theta - lr * direction;
    if (master != nullptr) master[i] = updated;
    param[i] = narrow<T>(updated);
  });
}

struct NormSlot {
  void* x;
  int64_t count, first_block;
};

// The sum of squares of each block's part, in f64.
template <typename T>
__global__ void squares_kernel(const __grid_constant__ Group<NormSlot> group, double* sums) {
  const NormSlot& slot = group.slot_of(blockIdx.x);
  const T* x = static_cast<const T*>(slot.x);
  double sum = 0;
  for_own_elements(slot, [&](int64_t i) {
    const double value = static_cast<double>(widen(x[i]));
    sum += value * value;
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// One block adds up all sums; the order depends on their number alone.
__global__ void total_kernel(const double* sums, int64_t count, double* total) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += sums[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *total = sum;
}

template <typename T>
__global__ void limit_norm_kernel(const __grid_constant__ Group<NormSlot> group,
                                  const double* squares, double max_norm) {
  const double norm = std::sqrt(*squares);
  if (!std::isfinite(norm) || norm <= max_norm) return;
  const auto factor = static_cast<Accum<T>>(max_norm / (norm + 1e-6));
  const NormSlot& slot = group.slot_of(blockIdx.x);
  T* x = static_cast<T*>(slot.x);
  for_own_elements(slot, [&](int64_t i) { x[i] = narrow<T>(widen(x[i]) * factor); });
}

// Collects the slots of the non-empty tensors of one dtype after another and calls
// `run.template operator()<T>(group)` for each full group.
template <typename Slot, typename Tensor, typename DTypeOfTensor, typename MakeSlot, typename Run>
void for_groups(std::span<const Tensor> tensors, DTypeOfTensor dtype_of_tensor, MakeSlot make_slot,
                Run run) {
  for (DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    Group<Slot> group;
    const auto flush = [&] {
      if (group.size == 0) return;
      dispatch_floating(dtype, "optimizer",
                        [&]<typename T>() { run.template operator()<T>(group); });
      group = {};
    };
    for (const Tensor& tensor : tensors) {
      if (dtype_of_tensor(tensor) != dtype) continue;
      const Slot slot = make_slot(tensor);
      if (slot.count == 0) continue;
      group.add(slot);
      if (group.size == Group<Slot>::kSlots) flush();
    }
    flush();
  }
}

Grid grid_of(int64_t blocks) {
  return {dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(kThreads))};
}

}  // namespace

void CudaBackend::adamw(std::span<const AdamWTensor> tensors, const AdamWConstants& c) const {
  const double step = static_cast<double>(c.step);
  const double correction = 1 - std::pow(c.beta1, step);
  const AdamWFactors factors{c.beta1, c.beta2, 1 / std::sqrt(1 - std::pow(c.beta2, step)), c.eps,
                             c.guard.as<double>()};
  for_groups<AdamWSlot>(
      tensors, [](const AdamWTensor& t) { return t.param.dtype; },
      [&](const AdamWTensor& t) {
        return AdamWSlot{t.param.data,     t.grad.data,     t.m.data, t.v.data,
                         t.master.data,    t.param.numel(), 0,        1 - t.lr * t.weight_decay,
                         t.lr / correction};
      },
      [&]<typename T>(const Group<AdamWSlot>& group) {
        launch(adamw_kernel<T>, grid_of(group.blocks), group, factors);
      });
}

void CudaBackend::sgd(std::span<const SgdTensor> tensors, const SgdConstants& c) const {
  const SgdFactors factors{c.momentum, c.nesterov, c.first_step, c.guard.as<double>()};
  for_groups<SgdSlot>(
      tensors, [](const SgdTensor& t) { return t.param.dtype; },
      [](const SgdTensor& t) {
        return SgdSlot{t.param.data,  t.grad.data,     t.velocity.data,
                       t.master.data, t.param.numel(), 0,
                       t.lr,          t.weight_decay};
      },
      [&]<typename T>(const Group<SgdSlot>& group) {
        launch(sgd_kernel<T>, grid_of(group.blocks), group, factors);
      });
}

void CudaBackend::sum_of_squares(std::span<const ConstView> tensors, View out) const {
  int64_t blocks = 0;
  for (const ConstView& x : tensors) blocks += (x.numel() + kBlockElements - 1) / kBlockElements;
  const Scratch scratch(static_cast<size_t>(blocks) * sizeof(double));
  auto* sums = scratch.as<double>();
  int64_t done = 0;
  for_groups<NormSlot>(
      tensors, [](const ConstView& x) { return x.dtype; },
      [](const ConstView& x) {
        return NormSlot{const_cast<void*>(x.data), x.numel(), 0};  // read only here
      },
      [&]<typename T>(const Group<NormSlot>& group) {
        launch(squares_kernel<T>, grid_of(group.blocks), group, sums + done);
        done += group.blocks;
      });
  launch(total_kernel, grid_of(1), sums, blocks, out.as<double>());
}

void CudaBackend::limit_norm(std::span<const View> tensors, ConstView squares,
                             double max_norm) const {
  for_groups<NormSlot>(
      tensors, [](const View& x) { return x.dtype; },
      [](const View& x) {
        return NormSlot{x.data, x.numel(), 0};
      },
      [&]<typename T>(const Group<NormSlot>& group) {
        launch(limit_norm_kernel<T>, grid_of(group.blocks), group, squares.as<double>(), max_norm);
      });
}

}  // namespace tapir::cuda
