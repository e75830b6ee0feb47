// Elementwise functions of floating and integer tensors. The operation is chosen inside the
// kernel: all threads take the same branch, and memory is what takes the time.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// Calls `body.template operator()<Exp>()` for UnaryOp::exp, and so on.
template <typename A, typename Body>
__device__ A visit_unary(UnaryOp op, const Body& body) {
  switch (op) {
    case UnaryOp::neg:
      return body.template operator()<Neg>();
    case UnaryOp::abs:
      return body.template operator()<Abs>();
    case UnaryOp::exp:
      return body.template operator()<Exp>();
    case UnaryOp::log:
      return body.template operator()<Log>();
    case UnaryOp::sqrt:
      return body.template operator()<Sqrt>();
    case UnaryOp::rsqrt:
      return body.template operator()<Rsqrt>();
    case UnaryOp::square:
      return body.template operator()<Square>();
    case UnaryOp::reciprocal:
      return body.template operator()<Reciprocal>();
    case UnaryOp::sin:
      return body.template operator()<Sin>();
    case UnaryOp::cos:
      return body.template operator()<Cos>();
    case UnaryOp::tanh:
      return body.template operator()<Tanh>();
    case UnaryOp::sigmoid:
      return body.template operator()<Sigmoid>();
    case UnaryOp::relu:
      return body.template operator()<Relu>();
    case UnaryOp::silu:
      return body.template operator()<Silu>();
    case UnaryOp::gelu:
      return body.template operator()<Gelu>();
    case UnaryOp::gelu_tanh:
      return body.template operator()<GeluTanh>();
    case UnaryOp::erf:
      return body.template operator()<Erf>();
    case UnaryOp::pow_scalar:
      return body.template operator()<PowScalar>();
    case UnaryOp::add_scalar:
      return body.template operator()<AddScalar>();
    case UnaryOp::mul_scalar:
      return body.template operator()<MulScalar>();
    case UnaryOp::clamp_min:
      return body.template operator()<ClampMin>();
  }
  return A(0);
}

template <typename A>
struct Value {
  A x, p;
  template <typename Op>
  __device__ A operator()() const {
    return Op::value(x, p);
  }
};

// The derivative reads only one of its two tensors, so both may be the saved one.
template <typename A>
struct Derivative {
  A saved, p;
  template <typename Op>
  __device__ A operator()() const {
    return Op::derivative(saved, saved, p);
  }
};

template <typename T>
struct Unary {
  UnaryOp op;
  Accum<T> p;
  T* out;
  const T* x;
  __device__ void operator()(const int64_t (&at)[2]) const {
    using A = Accum<T>;
    out[at[0]] = narrow<T>(visit_unary<A>(op, Value<A>{widen(x[at[1]]), p}));
  }
};

template <typename T>
struct UnaryBackward {
  UnaryOp op;
  Accum<T> p;
  T* dx;
  const T* grad;
  const T* saved;
  __device__ void operator()(const int64_t (&at)[3]) const {
    using A = Accum<T>;
    const Derivative<A> derivative{widen(saved[at[2]]), p};
    dx[at[0]] = narrow<T>(widen(grad[at[1]]) * visit_unary<A>(op, derivative));
  }
};

template <typename T>
struct Binary {
  BinaryOp op;
  T* out;
  const T* a;
  const T* b;
  __device__ void operator()(const int64_t (&at)[3]) const {
    out[at[0]] = narrow<T>(apply_binary(op, widen(a[at[1]]), widen(b[at[2]])));
  }
};

// Integers wrap around; a quotient by zero is zero, and a power follows the rounding of doubles.
struct IntegerBinary {
  BinaryOp op;
  int32_t* out;
  const int32_t* a;
  const int32_t* b;
  __device__ void operator()(const int64_t (&at)[3]) const {
    const int64_t x = a[at[1]], y = b[at[2]];
    int64_t result = 0;
    if (op == BinaryOp::pow) {
      const double power = std::pow(static_cast<double>(x), static_cast<double>(y));
      constexpr double kLimit = 2147483648.0;
      if (power >= -kLimit && power < kLimit) result = static_cast<int64_t>(power);
    } else if (op != BinaryOp::div || y != 0) {
      result = apply_binary<int64_t>(op, x, y);
    }
    out[at[0]] = static_cast<int32_t>(result);
  }
};

template <typename T>
struct Compare {
  CompareOp op;
  uint8_t* out;
  const T* a;
  const T* b;
  __device__ void operator()(const int64_t (&at)[3]) const {
    out[at[0]] = apply_compare(op, widen(a[at[1]]), widen(b[at[2]]));
  }
};

template <typename Bits>
struct Where {
  Bits* out;
  const uint8_t* condition;
  const Bits* a;
  const Bits* b;
  __device__ void operator()(const int64_t (&at)[4]) const {
    out[at[0]] = condition[at[1]] != 0 ? a[at[2]] : b[at[3]];
  }
};

template <typename T>
struct SwiGlu {
  T* out;
  const T* gate;
  const T* up;
  __device__ void operator()(const int64_t (&at)[3]) const {
    const Accum<T> x = widen(gate[at[1]]);
    out[at[0]] = narrow<T>(x * scalar::sigmoid(x) * widen(up[at[2]]));
  }
};

template <typename T>
struct SwiGluBackward {
  T* dgate;
  T* dup;
  const T* grad;
  const T* gate;
  const T* up;
  __device__ void operator()(const int64_t (&at)[5]) const {
    using A = Accum<T>;
    const A g = widen(grad[at[2]]), x = widen(gate[at[3]]), u = widen(up[at[4]]);
    const A s = scalar::sigmoid(x);
    dgate[at[0]] = narrow<T>(g * u * (s * (A(1) + x * (A(1) - s))));
    dup[at[1]] = narrow<T>(g * (x * s));
  }
};

}  // namespace

void CudaBackend::unary(UnaryOp op, ConstView x, double p, View out) const {
  dispatch_floating(x.dtype, "unary", [&]<typename T>() {
    each_element(Unary<T>{op, static_cast<Accum<T>>(p), out.as<T>(), x.as<T>()},
                 Walk<2>(out.shape, {out.strides, x.strides}));
  });
}

void CudaBackend::unary_backward(UnaryOp op, ConstView grad, ConstView saved, double p,
                                 View dx) const {
  const ConstView& read = saved.data == nullptr ? grad : saved;
  dispatch_floating(grad.dtype, "unary_backward", [&]<typename T>() {
    each_element(
        UnaryBackward<T>{op, static_cast<Accum<T>>(p), dx.as<T>(), grad.as<T>(), read.as<T>()},
        Walk<3>(dx.shape, {dx.strides, grad.strides, read.strides}));
  });
}

void CudaBackend::binary(BinaryOp op, ConstView a, ConstView b, View out) const {
  const Walk<3> walk(out.shape, {out.strides, a.strides, b.strides});
  if (a.dtype == DType::i32) {
    return each_element(IntegerBinary{op, out.as<int32_t>(), a.as<int32_t>(), b.as<int32_t>()},
                        walk);
  }
  dispatch_floating(a.dtype, "binary", [&]<typename T>() {
    each_element(Binary<T>{op, out.as<T>(), a.as<T>(), b.as<T>()}, walk);
  });
}

void CudaBackend::compare(CompareOp op, ConstView a, ConstView b, View out) const {
  const Walk<3> walk(out.shape, {out.strides, a.strides, b.strides});
  const auto run = [&]<typename T>() {
    each_element(Compare<T>{op, out.as<uint8_t>(), a.as<T>(), b.as<T>()}, walk);
  };
  if (a.dtype == DType::i32) return run.template operator()<int32_t>();
  if (a.dtype == DType::boolean) return run.template operator()<uint8_t>();
  dispatch_floating(a.dtype, "compare", run);
}

void CudaBackend::where(ConstView condition, ConstView a, ConstView b, View out) const {
  const Walk<4> walk(out.shape, {out.strides, condition.strides, a.strides, b.strides});
  const auto run = [&]<typename Bits>() {
    each_element(Where<Bits>{out.as<Bits>(), condition.as<uint8_t>(), a.as<Bits>(), b.as<Bits>()},
                 walk);
  };
  switch (size_of(out.dtype)) {
    case 8:
      return run.template operator()<uint64_t>();
    case 4:
      return run.template operator()<uint32_t>();
    case 2:
      return run.template operator()<uint16_t>();
    default:
      return run.template operator()<uint8_t>();
  }
}

void CudaBackend::swiglu(ConstView gate, ConstView up, View out) const {
  dispatch_floating(out.dtype, "swiglu", [&]<typename T>() {
    each_element(SwiGlu<T>{out.as<T>(), gate.as<T>(), up.as<T>()},
                 Walk<3>(out.shape, {out.strides, gate.strides, up.strides}));
  });
}

void CudaBackend::swiglu_backward(ConstView grad, ConstView gate, ConstView up, View dgate,
                                  View dup) const {
  dispatch_floating(grad.dtype, "swiglu_backward", [&]<typename T>() {
    each_element(
        SwiGluBackward<T>{dgate.as<T>(), dup.as<T>(), grad.as<T>(), gate.as<T>(), up.as<T>()},
        Walk<5>(grad.shape, {dgate.strides, dup.strides, grad.strides, gate.strides, up.strides}));
  });
}

}  // namespace tapir::cuda
