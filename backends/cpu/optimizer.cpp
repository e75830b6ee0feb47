// Optimizer steps over all parameters at once, and the norm that clipping needs.
#include <cmath>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// A piece of one tensor; work over many tensors is a list of these.
struct Piece {
  size_t tensor;
  int64_t begin, end;
};

constexpr int64_t kPiece = 16384;

// The view whose elements are cut into pieces.
ConstView elements(const AdamWTensor& tensor) {
  return tensor.param;
}
ConstView elements(const SgdTensor& tensor) {
  return tensor.param;
}
ConstView elements(const ConstView& tensor) {
  return tensor;
}

template <typename Tensor>
std::vector<Piece> make_pieces(std::span<const Tensor> tensors) {
  std::vector<Piece> pieces;
  for (size_t tensor = 0; tensor < tensors.size(); ++tensor) {
    const int64_t size = elements(tensors[tensor]).numel();
    for (int64_t begin = 0; begin < size; begin += kPiece)
      pieces.push_back({tensor, begin, std::min(begin + kPiece, size)});
  }
  return pieces;
}

// Calls body.operator()<T>(tensor, piece) for each of make_pieces(tensors), T being the type of the
// elements. `cost` is the work for one of them.
template <typename Tensor, typename Body>
void for_each_piece(const char* op, std::span<const Tensor> tensors,
                    const std::vector<Piece>& pieces, int64_t cost, Body body) {
  cpu::parallel_for(static_cast<int64_t>(pieces.size()), kPiece * cost, [&](int64_t i) {
    const Piece& piece = pieces[static_cast<size_t>(i)];
    const Tensor& tensor = tensors[piece.tensor];
    dispatch_floating(elements(tensor).dtype, op,
                      [&]<typename T>() { body.template operator()<T>(tensor, piece); });
  });
}

// The numbers of an AdamW step that are the same for all elements of a tensor.
template <typename A>
struct AdamWFactors {
  A keep, beta1, beta2, step_size, inverse_root, eps;

  AdamWFactors(const AdamWTensor& tensor, const AdamWConstants& c)
      : keep(static_cast<A>(1 - tensor.lr * tensor.weight_decay)),
        beta1(static_cast<A>(c.beta1)),
        beta2(static_cast<A>(c.beta2)),
        step_size(static_cast<A>(tensor.lr / (1 - std::pow(c.beta1, c.step)))),
        inverse_root(static_cast<A>(1 / std::sqrt(1 - std::pow(c.beta2, c.step)))),
        eps(static_cast<A>(c.eps)) {}
};

// theta <- theta (1 - lr lambda) - lr mhat / (sqrt(vhat) + eps). Source: Loshchilov and Hutter
// 2019, algorithm 2, in the order of operations that PyTorch uses.
template <typename T>
void adamw_piece(const AdamWTensor& tensor, const AdamWConstants& constants, int64_t begin,
                 int64_t end) {
  using A = Accum<T>;
  const AdamWFactors<A> f(tensor, constants);
  const T* grad = tensor.grad.as<T>();
  A* m = tensor.m.as<A>();
  A* v = tensor.v.as<A>();
  T* param = tensor.param.as<T>();
  A* master = tensor.master.as<A>();
  const auto step = [=](int64_t i, A theta) {
    const A g = widen(grad[i]);
    m[i] += (g - m[i]) * (A(1) - f.beta1);
    v[i] = v[i] * f.beta2 + g * g * (A(1) - f.beta2);
    return theta * f.keep - f.step_size * m[i] / (std::sqrt(v[i]) * f.inverse_root + f.eps);
  };
  if (master == nullptr) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) param[i] = narrow<T>(step(i, widen(param[i])));
  } else {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      master[i] = step(i, master[i]);
      param[i] = narrow<T>(master[i]);
    }
  }
}

// g <- g + lambda theta; velocity <- mu velocity + g; theta <- theta - lr velocity, or with
// Nesterov's rule theta - lr (g + mu velocity).
template <typename T>
void sgd_piece(const SgdTensor& tensor, const SgdConstants& c, int64_t begin, int64_t end) {
  using A = Accum<T>;
  const A lr = static_cast<A>(tensor.lr), decay = static_cast<A>(tensor.weight_decay);
  const A momentum = static_cast<A>(c.momentum);
  const T* grad = tensor.grad.as<T>();
  T* param = tensor.param.as<T>();
  A* velocity = tensor.velocity.as<A>();
  A* master = tensor.master.as<A>();
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) {
    const A theta = master == nullptr ? widen(param[i]) : master[i];
    const A g = widen(grad[i]) + decay * theta;
    A direction = g;
    if (velocity != nullptr) {
      velocity[i] = c.first_step ? g : momentum * velocity[i] + g;
      direction = c.nesterov ? g + momentum * velocity[i] : velocity[i];
    }
    const A updated = theta - lr * direction;
    if (master != nullptr) master[i] = updated;
    param[i] = narrow<T>(updated);
  }
}

bool forbids(ConstView guard) {
  return guard.data != nullptr && !std::isfinite(*guard.as<double>());
}

}  // namespace

void CpuBackend::adamw(std::span<const AdamWTensor> tensors, const AdamWConstants& c) const {
  if (forbids(c.guard)) return;
  for_each_piece("adamw", tensors, make_pieces(tensors), 4,
                 [&]<typename T>(const AdamWTensor& tensor, const Piece& piece) {
                   adamw_piece<T>(tensor, c, piece.begin, piece.end);
                 });
}

void CpuBackend::sgd(std::span<const SgdTensor> tensors, const SgdConstants& c) const {
  if (forbids(c.guard)) return;
  for_each_piece("sgd", tensors, make_pieces(tensors), 2,
                 [&]<typename T>(const SgdTensor& tensor, const Piece& piece) {
                   sgd_piece<T>(tensor, c, piece.begin, piece.end);
                 });
}

void CpuBackend::sum_of_squares(std::span<const ConstView> tensors, View out) const {
  const std::vector<Piece> pieces = make_pieces(tensors);
  std::vector<double> sums(pieces.size());
  for_each_piece("sum_of_squares", tensors, pieces, 1,
                 [&]<typename T>(const ConstView& tensor, const Piece& piece) {
                   const T* x = tensor.as<T>() + piece.begin;
                   sums[static_cast<size_t>(&piece - pieces.data())] =
                       lane_sum<double>(piece.end - piece.begin, [=](int64_t i) {
                         const double value = static_cast<double>(widen(x[i]));
                         return value * value;
                       });
                 });
  double total = 0;
  for (double sum : sums) total += sum;
  *out.as<double>() = total;
}

void CpuBackend::limit_norm(std::span<const View> tensors, ConstView squares,
                            double max_norm) const {
  const double norm = std::sqrt(*squares.as<double>());
  if (!std::isfinite(norm) || norm <= max_norm) return;
  const double scale = max_norm / (norm + 1e-6);
  for_each_piece("limit_norm", tensors, make_pieces(tensors), 1,
                 [&]<typename T>(const View& tensor, const Piece& piece) {
                   T* x = tensor.as<T>();
                   const auto factor = static_cast<Accum<T>>(scale);
#pragma omp simd
                   for (int64_t i = piece.begin; i < piece.end; ++i)
                     x[i] = narrow<T>(widen(x[i]) * factor);
                 });
}

}  // namespace tapir::TAPIR_ISA
