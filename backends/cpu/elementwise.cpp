// Elementwise functions of floating and integer tensors.
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/dense_runs.h"

namespace tapir::TAPIR_ISA {
namespace {

// Estimates for parallel_for, in additions.
constexpr int64_t kCheap = 1, kTranscendental = 8;

int64_t cost_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::neg:
    case UnaryOp::abs:
    case UnaryOp::square:
    case UnaryOp::relu:
    case UnaryOp::add_scalar:
    case UnaryOp::mul_scalar:
    case UnaryOp::clamp_min:
      return kCheap;
    default:
      return kTranscendental;
  }
}

// Calls body with a value of the type that a floating dtype is computed in.
template <typename Body>
void with_compute_type(DType dtype, Body&& body) {
  if (dtype == DType::f64) return body(double());
  return body(float());
}

template <typename A>
using In1 = std::array<const A*, 1>;
template <typename A>
using In2 = std::array<const A*, 2>;
template <typename A>
using In3 = std::array<const A*, 3>;
template <typename A>
using Out1 = std::array<A*, 1>;
template <typename A>
using Out2 = std::array<A*, 2>;

template <typename A, typename Op>
void unary_run(A p, const In1<A>& in, const Out1<A>& out, int64_t n) {
  const A* x = in[0];
  A* y = out[0];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = Op::value(x[i], p);
}

// The derivative reads the input or the output, never both, so `saved` stands for either.
template <typename A, typename Op>
void derivative_run(A p, const In2<A>& in, const Out1<A>& out, int64_t n) {
  const A* grad = in[0];
  const A* saved = in[1];
  A* dx = out[0];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) dx[i] = grad[i] * Op::derivative(saved[i], saved[i], p);
}

template <typename A, BinaryOp op>
void binary_run(A, const In2<A>& in, const Out1<A>& out, int64_t n) {
  const A* a = in[0];
  const A* b = in[1];
  A* y = out[0];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = apply_binary<A>(op, a[i], b[i]);
}

// Integers wrap around; a quotient by zero is zero, and a power follows the rounding of doubles.
template <BinaryOp op>
int32_t integer_binary(int32_t a, int32_t b) {
  if (op == BinaryOp::div && b == 0) return 0;
  if (op == BinaryOp::pow) {
    const double power = std::pow(static_cast<double>(a), static_cast<double>(b));
    constexpr double kLimit = 2147483648.0;
    return power >= -kLimit && power < kLimit ? static_cast<int32_t>(power) : 0;
  }
  return static_cast<int32_t>(apply_binary<int64_t>(op, a, b));
}

template <BinaryOp op>
void integer_run(int32_t, const In2<int32_t>& in, const Out1<int32_t>& out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[0][i] = integer_binary<op>(in[0][i], in[1][i]);
}

// Every dtype but f64 fits into f64 exactly, so one comparison serves all.
template <CompareOp op>
void compare_run(double, const In2<double>& in, const Out1<double>& out, int64_t n) {
  const double* a = in[0];
  const double* b = in[1];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[0][i] = apply_compare(op, a[i], b[i]) ? 1.0 : 0.0;
}

template <typename A>
void swiglu_run(A, const In2<A>& in, const Out1<A>& out, int64_t n) {
  const A* gate = in[0];
  const A* up = in[1];
  A* y = out[0];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = gate[i] * scalar::sigmoid(gate[i]) * up[i];
}

template <typename A>
void swiglu_backward_run(A, const In3<A>& in, const Out2<A>& out, int64_t n) {
  const A* grad = in[0];
  const A* gate = in[1];
  const A* up = in[2];
  A* dgate = out[0];
  A* dup = out[1];
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const A g = grad[i], x = gate[i], s = scalar::sigmoid(x);
    dgate[i] = g * up[i] * (s * (A(1) + x * (A(1) - s)));
    dup[i] = g * (x * s);
  }
}

// One kernel for each BinaryOp, in the order of the enumeration.
template <typename A>
constexpr RunKernel<A, 2, 1> kBinary[] = {
    binary_run<A, BinaryOp::add>,    binary_run<A, BinaryOp::sub>, binary_run<A, BinaryOp::mul>,
    binary_run<A, BinaryOp::div>,    binary_run<A, BinaryOp::pow>, binary_run<A, BinaryOp::maximum>,
    binary_run<A, BinaryOp::minimum>};
constexpr RunKernel<int32_t, 2, 1> kInteger[] = {
    integer_run<BinaryOp::add>,    integer_run<BinaryOp::sub>, integer_run<BinaryOp::mul>,
    integer_run<BinaryOp::div>,    integer_run<BinaryOp::pow>, integer_run<BinaryOp::maximum>,
    integer_run<BinaryOp::minimum>};
constexpr RunKernel<double, 2, 1> kCompare[] = {
    compare_run<CompareOp::eq>, compare_run<CompareOp::ne>, compare_run<CompareOp::lt>,
    compare_run<CompareOp::le>, compare_run<CompareOp::gt>, compare_run<CompareOp::ge>};

}  // namespace

void CpuBackend::unary(UnaryOp op, ConstView x, double p, View out) const {
  with_compute_type(x.dtype, [&]<typename A>(A) {
    const auto kernel =
        dispatch_unary(op, []<typename Op>() -> RunKernel<A, 1, 1> { return unary_run<A, Op>; });
    run_elementwise<A, 1, 1>(cost_of(op), static_cast<A>(p), {x}, {out}, kernel);
  });
}

void CpuBackend::unary_backward(UnaryOp op, ConstView grad, ConstView saved, double p,
                                View dx) const {
  with_compute_type(grad.dtype, [&]<typename A>(A) {
    const auto kernel = dispatch_unary(
        op, []<typename Op>() -> RunKernel<A, 2, 1> { return derivative_run<A, Op>; });
    // A derivative that reads nothing is given the gradient to ignore.
    const ConstView read = saves(op) == Saves::nothing ? grad : saved;
    run_elementwise<A, 2, 1>(cost_of(op), static_cast<A>(p), {grad, read}, {dx}, kernel);
  });
}

void CpuBackend::binary(BinaryOp op, ConstView a, ConstView b, View out) const {
  const int64_t cost = op == BinaryOp::pow ? kTranscendental : kCheap;
  const auto index = static_cast<size_t>(op);
  if (a.dtype == DType::i32) {
    return run_elementwise<int32_t, 2, 1>(cost, 0, {a, b}, {out}, kInteger[index]);
  }
  with_compute_type(a.dtype, [&]<typename A>(A) {
    run_elementwise<A, 2, 1>(cost, A(0), {a, b}, {out}, kBinary<A>[index]);
  });
}

void CpuBackend::compare(CompareOp op, ConstView a, ConstView b, View out) const {
  run_elementwise<double, 2, 1>(kCheap, 0, {a, b}, {out}, kCompare[static_cast<size_t>(op)]);
}

void CpuBackend::where(ConstView condition, ConstView a, ConstView b, View out) const {
  const auto choose = [&]<typename Bits>(Bits) {
    map<Bits, unsigned char, Bits, Bits>(
        kCheap, [](unsigned char keep, Bits x, Bits y) { return keep != 0 ? x : y; }, out,
        condition, a, b);
  };
  switch (size_of(out.dtype)) {
    case 8:
      return choose(uint64_t());
    case 4:
      return choose(uint32_t());
    case 2:
      return choose(uint16_t());
    default:
      return choose(uint8_t());
  }
}

void CpuBackend::swiglu(ConstView gate, ConstView up, View out) const {
  with_compute_type(out.dtype, [&]<typename A>(A) {
    run_elementwise<A, 2, 1>(kTranscendental, A(0), {gate, up}, {out}, swiglu_run<A>);
  });
}

void CpuBackend::swiglu_backward(ConstView grad, ConstView gate, ConstView up, View dgate,
                                 View dup) const {
  with_compute_type(grad.dtype, [&]<typename A>(A) {
    run_elementwise<A, 3, 2>(2 * kTranscendental, A(0), {grad, gate, up}, {dgate, dup},
                             swiglu_backward_run<A>);
  });
}

}  // namespace tapir::TAPIR_ISA
