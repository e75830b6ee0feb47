#include "backends/observed_backend.h"

#include <algorithm>
#include <type_traits>

#include "backends/compressed_matrix.h"

namespace tapir {
namespace {

double elements(ConstView x) {
  return static_cast<double>(x.numel());
}

template <typename Tensors, typename Part>
double elements(const Tensors& tensors, Part&& part) {
  double count = 0;
  for (const auto& tensor : tensors) count += elements(part(tensor));
  return count;
}

double product_flops(ConstView a, ConstView out) {
  return 2 * elements(out) * static_cast<double>(a.size(-1));
}

// How many keys all queries of q [B, H, T, D] see together.
double visible_pairs(ConstView q, ConstView k, bool causal) {
  const int64_t queries = q.size(2), keys = k.size(2);
  int64_t visible = 0;
  for (int64_t t = 0; t < queries; ++t) {
    visible += causal ? std::clamp<int64_t>(t + keys - queries + 1, 0, keys) : keys;
  }
  return static_cast<double>(q.size(0) * q.size(1) * visible);
}

}  // namespace

template <typename Kernel>
auto ObservedBackend::observe(std::string_view name, double flops, Kernel&& kernel) const {
  KernelReport report{name, std::chrono::steady_clock::now(), {}, flops};
  const auto finish = [&] {
    inner_.synchronize();
    report.end = std::chrono::steady_clock::now();
    watcher_(report);
  };
  if constexpr (std::is_void_v<std::invoke_result_t<Kernel>>) {
    kernel();
    finish();
  } else {
    const auto result = kernel();
    finish();
    return result;
  }
}

void ObservedBackend::copy_from_host(const void* host, void* device, size_t bytes) const {
  observe("copy_from_host", 0, [&] { inner_.copy_from_host(host, device, bytes); });
}

void ObservedBackend::copy_to_host(const void* device, void* host, size_t bytes) const {
  observe("copy_to_host", 0, [&] { inner_.copy_to_host(device, host, bytes); });
}

void ObservedBackend::copy(ConstView x, View out) const {
  observe("copy", 0, [&] { inner_.copy(x, out); });
}

void ObservedBackend::fill(double value, View out) const {
  observe("fill", 0, [&] { inner_.fill(value, out); });
}

void ObservedBackend::unary(UnaryOp op, ConstView x, double p, View out) const {
  observe("unary", elements(out), [&] { inner_.unary(op, x, p, out); });
}

void ObservedBackend::unary_backward(UnaryOp op, ConstView grad, ConstView saved, double p,
                                     View dx) const {
  observe("unary_backward", elements(dx), [&] { inner_.unary_backward(op, grad, saved, p, dx); });
}

void ObservedBackend::binary(BinaryOp op, ConstView a, ConstView b, View out) const {
  observe("binary", elements(out), [&] { inner_.binary(op, a, b, out); });
}

void ObservedBackend::compare(CompareOp op, ConstView a, ConstView b, View out) const {
  observe("compare", elements(out), [&] { inner_.compare(op, a, b, out); });
}

void ObservedBackend::where(ConstView condition, ConstView a, ConstView b, View out) const {
  observe("where", elements(out), [&] { inner_.where(condition, a, b, out); });
}

void ObservedBackend::swiglu(ConstView gate, ConstView up, View out) const {
  observe("swiglu", elements(out), [&] { inner_.swiglu(gate, up, out); });
}

void ObservedBackend::swiglu_backward(ConstView grad, ConstView gate, ConstView up, View dgate,
                                      View dup) const {
  observe("swiglu_backward", elements(dgate) + elements(dup),
          [&] { inner_.swiglu_backward(grad, gate, up, dgate, dup); });
}

void ObservedBackend::reduce(ReduceOp op, ConstView x, View out) const {
  observe("reduce", elements(x), [&] { inner_.reduce(op, x, out); });
}

void ObservedBackend::argmax(ConstView x, View index) const {
  observe("argmax", elements(x), [&] { inner_.argmax(x, index); });
}

void ObservedBackend::cumsum(ConstView x, bool reverse, View out) const {
  observe("cumsum", elements(out), [&] { inner_.cumsum(x, reverse, out); });
}

void ObservedBackend::sort(ConstView x, bool descending, View values, View index) const {
  observe("sort", 0, [&] { inner_.sort(x, descending, values, index); });
}

int64_t ObservedBackend::count_nonfinite(ConstView x) const {
  return observe("count_nonfinite", 0, [&] { return inner_.count_nonfinite(x); });
}

void ObservedBackend::gather(ConstView x, ConstView index, View out) const {
  observe("gather", 0, [&] { inner_.gather(x, index, out); });
}

void ObservedBackend::scatter_add(ConstView index, ConstView source, View out) const {
  observe("scatter_add", elements(source), [&] { inner_.scatter_add(index, source, out); });
}

int64_t ObservedBackend::find_out_of_range(ConstView index, int64_t bound) const {
  return observe("find_out_of_range", 0, [&] { return inner_.find_out_of_range(index, bound); });
}

void ObservedBackend::embedding(ConstView weight, ConstView ids, View out) const {
  observe("embedding", 0, [&] { inner_.embedding(weight, ids, out); });
}

void ObservedBackend::embedding_backward(ConstView grad, ConstView ids, View dweight) const {
  observe("embedding_backward", elements(grad),
          [&] { inner_.embedding_backward(grad, ids, dweight); });
}

void ObservedBackend::matmul(ConstView a, ConstView b, View out) const {
  observe("matmul", product_flops(a, out), [&] { inner_.matmul(a, b, out); });
}

void ObservedBackend::compress(ConstView x, const CompressedMatrix& out) const {
  observe("compress", elements(x), [&] { inner_.compress(x, out); });
}

void ObservedBackend::compressed_rows(const CompressedMatrix& w, ConstView ids, View out) const {
  observe("compressed_rows", 0, [&] { inner_.compressed_rows(w, ids, out); });
}

void ObservedBackend::compressed_product(ConstView x, const CompressedMatrix& w, View out) const {
  observe("compressed_product", product_flops(x, out),
          [&] { inner_.compressed_product(x, w, out); });
}

void ObservedBackend::compressed_products(ConstView x,
                                          std::span<const WeightProduct> products) const {
  double flops = 0;
  for (const WeightProduct& product : products) flops += product_flops(x, product.out);
  observe("compressed_products", flops, [&] { inner_.compressed_products(x, products); });
}

bool ObservedBackend::draw_weights(ConstView logits, double temperature, View weights,
                                   View sums) const {
  bool finite = false;
  observe("draw_weights", elements(weights),
          [&] { finite = inner_.draw_weights(logits, temperature, weights, sums); });
  return finite;
}

void ObservedBackend::softmax(ConstView x, bool log, View out) const {
  observe("softmax", elements(out), [&] { inner_.softmax(x, log, out); });
}

void ObservedBackend::softmax_backward(ConstView grad, ConstView out, bool log, View dx) const {
  observe("softmax_backward", elements(dx), [&] { inner_.softmax_backward(grad, out, log, dx); });
}

void ObservedBackend::cross_entropy(ConstView logits, ConstView targets, int64_t ignore_index,
                                    View losses, View lse) const {
  observe("cross_entropy", elements(logits),
          [&] { inner_.cross_entropy(logits, targets, ignore_index, losses, lse); });
}

void ObservedBackend::cross_entropy_backward(ConstView grad, ConstView logits, ConstView targets,
                                             int64_t ignore_index, ConstView lse,
                                             View dlogits) const {
  observe("cross_entropy_backward", elements(dlogits), [&] {
    inner_.cross_entropy_backward(grad, logits, targets, ignore_index, lse, dlogits);
  });
}

void ObservedBackend::layer_norm(ConstView x, ConstView weight, ConstView bias, double eps,
                                 View out, View mean, View rstd) const {
  observe("layer_norm", elements(out),
          [&] { inner_.layer_norm(x, weight, bias, eps, out, mean, rstd); });
}

void ObservedBackend::layer_norm_backward(ConstView grad, ConstView x, ConstView weight,
                                          ConstView mean, ConstView rstd, View dx, View dweight,
                                          View dbias) const {
  observe("layer_norm_backward", elements(dx),
          [&] { inner_.layer_norm_backward(grad, x, weight, mean, rstd, dx, dweight, dbias); });
}

void ObservedBackend::rms_norm(ConstView x, ConstView weight, double eps, View out,
                               View rstd) const {
  observe("rms_norm", elements(out), [&] { inner_.rms_norm(x, weight, eps, out, rstd); });
}

void ObservedBackend::rms_norm_backward(ConstView grad, ConstView x, ConstView weight,
                                        ConstView rstd, View dx, View dweight) const {
  observe("rms_norm_backward", elements(dx),
          [&] { inner_.rms_norm_backward(grad, x, weight, rstd, dx, dweight); });
}

void ObservedBackend::rope(ConstView x, ConstView cos, ConstView sin, ConstView positions,
                           RopeLayout layout, bool inverse, View out) const {
  observe("rope", elements(out),
          [&] { inner_.rope(x, cos, sin, positions, layout, inverse, out); });
}

// The products q k^T and p v.
void ObservedBackend::attention(ConstView q, ConstView k, ConstView v, ConstView mask,
                                const AttentionOptions& options, View out, View lse) const {
  const auto width = static_cast<double>(q.size(3) + v.size(3));
  observe("attention", 2 * visible_pairs(q, k, options.causal) * width,
          [&] { inner_.attention(q, k, v, mask, options, out, lse); });
}

// The scores again; then the gradients of p, v, q and k.
void ObservedBackend::attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                         ConstView mask, ConstView out, ConstView lse,
                                         const AttentionOptions& options, View dq, View dk,
                                         View dv) const {
  const auto width = static_cast<double>(3 * q.size(3) + 2 * v.size(3));
  observe("attention_backward", 2 * visible_pairs(q, k, options.causal) * width,
          [&] { inner_.attention_backward(grad, q, k, v, mask, out, lse, options, dq, dk, dv); });
}

void ObservedBackend::random(RandomKind kind, uint64_t seed, uint64_t offset, double bound,
                             View out) const {
  observe("random", 0, [&] { inner_.random(kind, seed, offset, bound, out); });
}

void ObservedBackend::dropout(ConstView x, double p, uint64_t seed, uint64_t offset,
                              View out) const {
  observe("dropout", elements(out), [&] { inner_.dropout(x, p, seed, offset, out); });
}

void ObservedBackend::adamw(std::span<const AdamWTensor> tensors, const AdamWConstants& c) const {
  const auto of_parameter = [](const AdamWTensor& tensor) { return ConstView(tensor.param); };
  observe("adamw", elements(tensors, of_parameter), [&] { inner_.adamw(tensors, c); });
}

void ObservedBackend::sgd(std::span<const SgdTensor> tensors, const SgdConstants& c) const {
  const auto of_parameter = [](const SgdTensor& tensor) { return ConstView(tensor.param); };
  observe("sgd", elements(tensors, of_parameter), [&] { inner_.sgd(tensors, c); });
}

void ObservedBackend::sum_of_squares(std::span<const ConstView> tensors, View out) const {
  const auto itself = [](const ConstView& tensor) { return tensor; };
  observe("sum_of_squares", 2 * elements(tensors, itself),
          [&] { inner_.sum_of_squares(tensors, out); });
}

void ObservedBackend::limit_norm(std::span<const View> tensors, ConstView squares,
                                 double max_norm) const {
  const auto itself = [](const View& tensor) { return ConstView(tensor); };
  observe("limit_norm", elements(tensors, itself),
          [&] { inner_.limit_norm(tensors, squares, max_norm); });
}

}  // namespace tapir
