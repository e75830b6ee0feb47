// What attention without tensor cores reads, forward and backward.
#pragma once

#include "backends/cuda/attention.h"
#include "backends/cuda/device.h"
#include "backends/cuda/squares.h"

namespace tapir::cuda {

template <typename T>
struct AttentionOperands {
  AttentionShape<Accum<T>> shape;
  HeadSteps q_steps, k_steps, v_steps;
  Mask mask;
  const T* q;
  const T* k;
  const T* v;

  AttentionOperands(ConstView q_view, ConstView k_view, ConstView v_view, ConstView mask_view,
                    const AttentionOptions& options)
      : shape(q_view, k_view, v_view, options),
        q_steps(q_view),
        k_steps(k_view),
        v_steps(v_view),
        mask(mask_view),
        q(q_view.as<T>()),
        k(k_view.as<T>()),
        v(v_view.as<T>()) {}

  // The matrices of query head h, and of key head kh, in sequence b.
  __device__ Matrix<T> queries(int64_t b, int64_t h) const {
    return {q + q_steps.at(b, h), q_steps.row, shape.queries, shape.width};
  }
  __device__ Matrix<T> keys(int64_t b, int64_t kh) const {
    return {k + k_steps.at(b, kh), k_steps.row, shape.keys, shape.width};
  }
  __device__ Matrix<T> values(int64_t b, int64_t kh) const {
    return {v + v_steps.at(b, kh), v_steps.row, shape.keys, shape.value_width};
  }
};

}  // namespace tapir::cuda
