#include "apps/gradcheck/targets.h"
#include "nn/transformer.h"

namespace tapir::app {
namespace {

using Check = std::function<void(const GradcheckCase&)>;

// Random inputs and parameters for one case, all from one generator.
class Maker {
 public:
  explicit Maker(const GradcheckSetup& setup) : setup_(setup), generator_(setup.options.seed + 1) {}

  Generator& generator() { return generator_; }

  Tensor normal(const Shape& shape) {
    Tensor values = to(to(randn(shape, generator_, DType::f64), setup_.dtype), setup_.device);
    return values.set_requires_grad();
  }
  Tensor sequence() { return normal({setup_.batch, setup_.time, setup_.model.d_model}); }

  Tensor ids() {
    std::vector<int32_t> values;
    for (int64_t i = 0; i < setup_.batch * setup_.time; ++i) {
      const auto bound = static_cast<uint64_t>(setup_.vocab);
      values.push_back(static_cast<int32_t>(generator_.below(bound)));
    }
    return Tensor::from(std::span<const int32_t>(values), {setup_.batch, setup_.time},
                        setup_.device);
  }

 private:
  const GradcheckSetup& setup_;
  Generator generator_;
};

// Freshly made gains are all one, biases all zero and some gradients therefore equal: random ones
// make a check that more mistakes fail.
void randomize(const nn::Module& module, Generator& generator) {
  for (const NamedTensor& parameter : module.named_parameters()) {
    if (parameter.tensor.rank() > 1) continue;
    Tensor values = randn(parameter.tensor.shape(), generator, DType::f64) * 0.3 + 0.8;
    Tensor(parameter.tensor).copy_(values);
  }
}

// The case of a layer that maps one tensor to another.
template <typename Layer>
void check_layer(Layer& layer, const std::string& about, const Tensor& x, Maker& maker,
                 const Check& check) {
  randomize(layer, maker.generator());
  layer.name_layers();
  std::vector<NamedTensor> tensors{{"x", x}};
  for (const NamedTensor& parameter : layer.named_parameters()) tensors.push_back(parameter);
  check({about, [&] { return layer(x); }, tensors});
}

void check_linear(const GradcheckSetup& s, const Check& check) {
  for (const nn::Bias bias : {nn::Bias::no, nn::Bias::yes}) {
    Maker maker(s);
    nn::Linear layer(s.model.d_model, s.vocab, maker.generator(), bias, s.dtype, s.device);
    const bool with_bias = bias == nn::Bias::yes;
    const std::string about =
        fmt::format("{} -> {}, {} bias", s.model.d_model, s.vocab, with_bias ? "with" : "without");
    check_layer(layer, about, maker.sequence(), maker, check);
  }
}

void check_embedding(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  nn::Embedding layer(s.vocab, s.model.d_model, maker.generator(), 1.0, s.dtype, s.device);
  const Tensor ids = maker.ids();
  check({fmt::format("{} ids of {}", ids.shape(), s.vocab), [&] { return layer(ids); },
         layer.named_parameters()});
}

void check_rotary(const GradcheckSetup& s, const Check& check) {
  for (const RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    Maker maker(s);
    nn::RotaryEmbedding layer(s.model.d_model, s.time, s.model.rope_theta, layout, s.dtype,
                              s.device);
    const Tensor x = maker.sequence();
    check_layer(layer, std::string(nn::name_of(layout)), x, maker, check);
  }
}

void check_rms_norm(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  nn::RMSNorm layer(s.model.d_model, 1e-5, s.dtype, s.device);
  check_layer(layer, fmt::format("width {}", s.model.d_model), maker.sequence(), maker, check);
}

void check_layer_norm(const GradcheckSetup& s, const Check& check) {
  for (const nn::Bias bias : {nn::Bias::no, nn::Bias::yes}) {
    Maker maker(s);
    nn::LayerNorm layer(s.model.d_model, bias, 1e-5, s.dtype, s.device);
    const std::string about = bias == nn::Bias::yes ? "with bias" : "without bias";
    check_layer(layer, about, maker.sequence(), maker, check);
  }
}

int64_t hidden_width(const GradcheckSetup& s) {
  return s.model.d_ff.value_or(2 * s.model.d_model);
}

void check_swiglu(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  const nn::Bias bias = s.model.ffn_bias ? nn::Bias::yes : nn::Bias::no;
  nn::SwiGLU layer(s.model.d_model, hidden_width(s), maker.generator(), s.dtype, s.device, bias);
  const std::string about = fmt::format("{} -> {}", s.model.d_model, hidden_width(s));
  check_layer(layer, about, maker.sequence(), maker, check);
}

void check_feed_forward(const GradcheckSetup& s, const Check& check) {
  using Kind = nn::FeedForwardKind;
  for (const Kind kind : {Kind::silu, Kind::relu, Kind::gelu, Kind::gelu_tanh}) {
    if (s.model.ffn != Kind::swiglu && s.model.ffn != kind) continue;
    Maker maker(s);
    const nn::Bias bias = s.model.ffn_bias ? nn::Bias::yes : nn::Bias::no;
    nn::FeedForward layer(s.model.d_model, hidden_width(s), kind, maker.generator(), s.dtype,
                          s.device, bias);
    check_layer(layer, std::string(nn::name_of(kind)), maker.sequence(), maker, check);
  }
}

void check_dropout(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  const nn::Dropout layer(s.model.dropout > 0 ? s.model.dropout : 0.4);
  const Tensor x = maker.sequence();
  const auto function = [&] {
    Generator mask(7);  // the same one each time
    return layer(x, &mask);
  };
  check({fmt::format("probability {}", layer.probability()), function, {{"x", x}}});
}

nn::TransformerConfig transformer_config(const GradcheckSetup& s) {
  nn::TransformerConfig config = s.model.transformer(s.vocab);
  config.max_seq_len = s.time;
  config.d_ff = hidden_width(s);
  return config;
}

std::string describe(const GradcheckSetup& s) {
  const ModelConfig& m = s.model;
  std::string text = fmt::format("[{}, {}, {}], {} heads", s.batch, s.time, m.d_model, m.heads);
  if (m.kv_heads) text += fmt::format(" ({} of keys and values)", *m.kv_heads);
  text += fmt::format(", {} {}-norm, {}, {}", nn::name_of(m.norm), nn::name_of(m.norm_position),
                      nn::name_of(m.ffn), m.rope ? "rope" : "no position embedding");
  if (m.qkv_bias) text += ", qkv bias";
  if (m.tie_embeddings) text += ", tied embeddings";
  if (m.dropout > 0) text += fmt::format(", dropout {}", m.dropout);
  return text;
}

void check_attention(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  const nn::TransformerConfig config = transformer_config(s);
  nn::CausalSelfAttention layer({.d_model = config.d_model,
                                 .n_heads = config.n_heads,
                                 .n_kv_heads = config.n_kv_heads,
                                 .qkv_bias = config.qkv_bias,
                                 .output_bias = config.output_bias,
                                 .rope_theta = config.rope_theta,
                                 .rope_layout = config.rope_layout,
                                 .rope_scaling = config.rope_scaling,
                                 .max_seq_len = s.time},
                                maker.generator(), s.dtype, s.device);
  check_layer(layer, describe(s), maker.sequence(), maker, check);
}

// Calls a block or model with dropout, which has to draw the same mask each time.
template <typename Layer>
Tensor call_with_dropout(const Layer& layer, const Tensor& x) {
  Generator dropout(7);
  nn::ForwardContext context;
  context.dropout = &dropout;
  return layer(x, context);
}

void check_block(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  nn::TransformerBlock block(transformer_config(s), maker.generator(), s.dtype, s.device);
  randomize(block, maker.generator());
  block.name_layers();
  const Tensor x = maker.sequence();
  std::vector<NamedTensor> tensors{{"x", x}};
  for (const NamedTensor& parameter : block.named_parameters()) tensors.push_back(parameter);
  check({describe(s), [&] { return call_with_dropout(block, x); }, tensors});
}

void check_model(const GradcheckSetup& s, const Check& check) {
  Maker maker(s);
  nn::TransformerLM model(transformer_config(s), maker.generator(), s.dtype, s.device);
  randomize(model, maker.generator());
  const Tensor ids = maker.ids(), targets = maker.ids();
  const std::string about = fmt::format("{} layers, {}", s.model.layers, describe(s));
  const auto logits = [&] { return call_with_dropout(model, ids); };
  check({"logits; " + about, logits, model.named_parameters()});
  const auto loss = [&] { return cross_entropy(logits(), targets); };
  check({"cross-entropy loss; " + about, loss, model.named_parameters()});
}

}  // namespace

void add_layer_targets(std::vector<GradcheckTarget>& targets) {
  targets.insert(
      targets.end(),
      {
          {"Linear", "layer", "with and without bias", check_linear},
          {"Embedding", "layer", "token embedding", check_embedding},
          {"RotaryEmbedding", "layer", "both layouts", check_rotary},
          {"RMSNorm", "layer", "", check_rms_norm},
          {"LayerNorm", "layer", "with and without bias", check_layer_norm},
          {"SwiGLU", "layer", "gated feed-forward", check_swiglu},
          {"FeedForward", "layer", "every activation, or the one of --ffn", check_feed_forward},
          {"Dropout", "layer", "with a fixed mask", check_dropout},
          {"CausalSelfAttention", "layer", "", check_attention},
          {"TransformerBlock", "block", "attention and feed-forward with residuals", check_block},
          {"TransformerLM", "model", "logits, and the loss", check_model},
      });
}

std::vector<GradcheckTarget> gradcheck_targets() {
  std::vector<GradcheckTarget> targets;
  add_operation_targets(targets);
  add_layer_targets(targets);
  return targets;
}

}  // namespace tapir::app
