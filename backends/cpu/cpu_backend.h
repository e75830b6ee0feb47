// The CPU backend: one kernel file per group of methods. This header and the kernel files are
// compiled once for each instruction set, inside namespace tapir::TAPIR_ISA.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/instances.h"

namespace tapir::TAPIR_ISA {

class CpuBackend final : public Backend {
 public:
  CpuBackend(cpu::Isa isa, const cpu::Bf16Kernels& bf16) : isa_(isa), bf16_(bf16) {}

  Device device() const override;
  std::string description() const override;
  Allocator& allocator() const override;
  void synchronize() const override;
  void copy_from_host(const void* host, void* device, size_t bytes) const override;
  void copy_to_host(const void* device, void* host, size_t bytes) const override;
  void copy(ConstView x, View out) const override;
  void fill(double value, View out) const override;
  void unary(UnaryOp op, ConstView x, double p, View out) const override;
  void unary_backward(UnaryOp op, ConstView grad, ConstView saved, double p,
                      View dx) const override;
  void binary(BinaryOp op, ConstView a, ConstView b, View out) const override;
  void compare(CompareOp op, ConstView a, ConstView b, View out) const override;
  void where(ConstView condition, ConstView a, ConstView b, View out) const override;
  void swiglu(ConstView gate, ConstView up, View out) const override;
  void swiglu_backward(ConstView grad, ConstView gate, ConstView up, View dgate,
                       View dup) const override;
  void reduce(ReduceOp op, ConstView x, View out) const override;
  void argmax(ConstView x, View index) const override;
  void cumsum(ConstView x, bool reverse, View out) const override;
  void sort(ConstView x, bool descending, View values, View index) const override;
  int64_t count_nonfinite(ConstView x) const override;
  void gather(ConstView x, ConstView index, View out) const override;
  void scatter_add(ConstView index, ConstView source, View out) const override;
  int64_t find_out_of_range(ConstView index, int64_t bound) const override;
  void embedding(ConstView weight, ConstView ids, View out) const override;
  void embedding_backward(ConstView grad, ConstView ids, View dweight) const override;
  void matmul(ConstView a, ConstView b, View out) const override;
  void compress(ConstView x, const CompressedMatrix& out) const override;
  void compressed_rows(const CompressedMatrix& w, ConstView ids, View out) const override;
  void compressed_product(ConstView x, const CompressedMatrix& w, View out) const override;
  void compressed_products(ConstView x, std::span<const WeightProduct> products) const override;
  bool draw_weights(ConstView logits, double temperature, View weights, View sums) const override;
  void softmax(ConstView x, bool log, View out) const override;
  void softmax_backward(ConstView grad, ConstView out, bool log, View dx) const override;
  void cross_entropy(ConstView logits, ConstView targets, int64_t ignore_index, View losses,
                     View lse) const override;
  void cross_entropy_backward(ConstView grad, ConstView logits, ConstView targets,
                              int64_t ignore_index, ConstView lse, View dlogits) const override;
  void layer_norm(ConstView x, ConstView weight, ConstView bias, double eps, View out, View mean,
                  View rstd) const override;
  void layer_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView mean,
                           ConstView rstd, View dx, View dweight, View dbias) const override;
  void rms_norm(ConstView x, ConstView weight, double eps, View out, View rstd) const override;
  void rms_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView rstd, View dx,
                         View dweight) const override;
  void rope(ConstView x, ConstView cos, ConstView sin, ConstView positions, RopeLayout layout,
            bool inverse, View out) const override;
  void attention(ConstView q, ConstView k, ConstView v, ConstView mask,
                 const AttentionOptions& options, View out, View lse) const override;
  void attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v, ConstView mask,
                          ConstView out, ConstView lse, const AttentionOptions& options, View dq,
                          View dk, View dv) const override;
  void random(RandomKind kind, uint64_t seed, uint64_t offset, double bound,
              View out) const override;
  void dropout(ConstView x, double p, uint64_t seed, uint64_t offset, View out) const override;
  void adamw(std::span<const AdamWTensor> tensors, const AdamWConstants& c) const override;
  void sgd(std::span<const SgdTensor> tensors, const SgdConstants& c) const override;
  void sum_of_squares(std::span<const ConstView> tensors, View out) const override;
  void limit_norm(std::span<const View> tensors, ConstView squares, double max_norm) const override;

 private:
  cpu::Isa isa_;
  cpu::Bf16Kernels bf16_;
};

}  // namespace tapir::TAPIR_ISA
