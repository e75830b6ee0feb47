#include "nn/token_step.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "autograd/anomaly.h"
#include "autograd/reference.h"
#include "nn/compressed_weight.h"

namespace tapir::nn {
namespace {

CompressedMatrix matrix_of(const Linear& layer) {
  if (layer.compressed) return layer.compressed->matrix();
  return {Compression::none, layer.weight.size(0), layer.weight.size(1), layer.weight.view().data};
}

bool is_plain(const Linear& layer) {
  if (layer.bias.defined()) return false;
  return layer.compressed || (layer.weight.dtype() == DType::f32 && layer.weight.is_contiguous());
}

bool are_plain(std::initializer_list<const Linear*> layers) {
  return std::all_of(layers.begin(), layers.end(),
                     [](const Linear* layer) { return is_plain(*layer); });
}

bool is_plain(const TransformerBlock& block) {
  const auto* ffn = std::get_if<SwiGLU>(&block.ffn);
  const CausalSelfAttention& attn = block.attn;
  return ffn != nullptr && are_plain({&attn.q_proj, &attn.k_proj, &attn.v_proj, &attn.output_proj,
                                      &ffn->w1, &ffn->w2, &ffn->w3});
}

// Heads of vectors [B, H D] as [B, H, 1, D].
View heads_of(const Tensor& x, int64_t heads) {
  const int64_t width = x.size(1) / heads;
  return {x.view().data, x.dtype(), {x.size(0), heads, 1, width}, {x.size(1), width, x.size(1), 1}};
}

// Positions from `begin` to `end` of a layer's keys or values [B, H, capacity, D].
View positions_of(const Tensor& x, int64_t begin, int64_t end) {
  View view = x.view();
  view.data = view.as<float>() + begin * view.stride(2);
  view.shape[2] = end - begin;
  return view;
}

}  // namespace

bool TokenStep::supports(const TransformerLM& model) {
  const TransformerConfig& c = model.config();
  const Tensor& embeddings = model.token_embeddings.weight;
  return c.norm == NormKind::rms && c.norm_position == NormPosition::pre &&
         embeddings.device() == kCpu && embeddings.dtype() == DType::f32 &&
         (model.token_embeddings.compressed || embeddings.is_contiguous()) &&
         is_plain(model.lm_head) &&
         std::all_of(model.layers.begin(), model.layers.end(),
                     [](const TransformerBlock& block) { return is_plain(block); }) &&
         !reference::Composed::enabled() && !DetectAnomaly::enabled();
}

TokenStep::TokenStep(const TransformerLM& model, int64_t batch) : model_(model), batch_(batch) {
  const TransformerConfig& c = model.config();
  const int64_t width = c.d_model, kv_width = c.kv_heads() * c.head_dim();
  const auto vectors = [batch](int64_t size) { return Tensor::empty({batch, size}); };
  for (Tensor* x : {&b_.x, &b_.normed, &b_.q, &b_.q_rotated, &b_.attended, &b_.sum})
    *x = vectors(width);
  for (Tensor* x : {&b_.k, &b_.v, &b_.k_rotated}) *x = vectors(kv_width);
  for (Tensor* x : {&b_.gate, &b_.up, &b_.inner}) *x = vectors(c.feed_forward_width());
  b_.lse = Tensor::empty({batch, c.n_heads, 1});
  b_.rstd = Tensor::empty({batch});
  b_.logits = vectors(c.vocab_size);
}

const Tensor& TokenStep::logits(std::span<const int32_t> ids, std::span<const int32_t> positions,
                                const Tensor& mask, KvCache& cache) {
  const ConstView id_view{ids.data(), DType::i32, {batch_}, {1}};
  const ConstView position_view{positions.data(), DType::i32, {batch_, 1}, {1, 1}};
  const Embedding& embeddings = model_.token_embeddings;
  if (embeddings.compressed) {
    backend(kCpu).compressed_rows(embeddings.compressed->matrix(), id_view, b_.x.view());
  } else {
    backend(kCpu).embedding(embeddings.weight.view(), id_view, b_.x.view());
  }
  for (size_t i = 0; i < model_.layers.size(); ++i) {
    const TransformerBlock& block = model_.layers[i];
    norm(block.ln1);
    attention(block.attn, i, position_view, mask, cache);
    norm(block.ln2);
    feed_forward(std::get<SwiGLU>(block.ffn));
  }
  cache.advance(1);
  norm(model_.ln_final);
  backend(kCpu).compressed_product(b_.normed.view(), matrix_of(model_.lm_head), b_.logits.view());
  return b_.logits;
}

void TokenStep::attention(const CausalSelfAttention& layer, size_t index, ConstView positions,
                          const Tensor& mask, KvCache& cache) {
  const TransformerConfig& c = model_.config();
  const std::array products{WeightProduct{matrix_of(layer.q_proj), b_.q.view()},
                            WeightProduct{matrix_of(layer.k_proj), b_.k.view()},
                            WeightProduct{matrix_of(layer.v_proj), b_.v.view()}};
  backend(kCpu).compressed_products(b_.normed.view(), products);
  View q = heads_of(b_.q, c.n_heads), k = heads_of(b_.k, c.kv_heads());
  if (layer.rope) {
    const auto rotate = [&](View& x, const Tensor& rotated, int64_t heads) {
      const View to = heads_of(rotated, heads);
      backend(kCpu).rope(x, layer.rope->cos.view(), layer.rope->sin.view(), positions,
                         c.rope_layout, false, to);
      x = to;
    };
    rotate(q, b_.q_rotated, c.n_heads);
    rotate(k, b_.k_rotated, c.kv_heads());
  }
  const int64_t start = cache.length(), end = start + 1;
  const Tensor &keys = cache.keys(index), &values = cache.values(index);
  backend(kCpu).copy(k, positions_of(keys, start, end));
  backend(kCpu).copy(heads_of(b_.v, c.kv_heads()), positions_of(values, start, end));
  const AttentionOptions options{1.0 / std::sqrt(static_cast<double>(c.head_dim())), true};
  ConstView hidden;
  if (mask.defined())
    hidden = {mask.view().data, DType::boolean, {batch_, c.n_heads, 1, end}, {end, 0, 0, 1}};
  backend(kCpu).attention(q, positions_of(keys, 0, end), positions_of(values, 0, end), hidden,
                          options, heads_of(b_.attended, c.n_heads), b_.lse.view());
  backend(kCpu).compressed_product(b_.attended.view(), matrix_of(layer.output_proj), b_.sum.view());
  add_to_x();
}

void TokenStep::feed_forward(const SwiGLU& layer) {
  const std::array products{WeightProduct{matrix_of(layer.w1), b_.gate.view()},
                            WeightProduct{matrix_of(layer.w3), b_.up.view()}};
  backend(kCpu).compressed_products(b_.normed.view(), products);
  backend(kCpu).swiglu(b_.gate.view(), b_.up.view(), b_.inner.view());
  backend(kCpu).compressed_product(b_.inner.view(), matrix_of(layer.w2), b_.sum.view());
  add_to_x();
}

void TokenStep::norm(const Norm& layer) {
  backend(kCpu).rms_norm(b_.x.view(), std::get<RMSNorm>(layer).weight.view(),
                         model_.config().norm_eps, b_.normed.view(), b_.rstd.view());
}

void TokenStep::add_to_x() {
  backend(kCpu).binary(BinaryOp::add, b_.x.view(), b_.sum.view(), b_.x.view());
}

}  // namespace tapir::nn
