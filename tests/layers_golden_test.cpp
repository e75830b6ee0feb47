// Every layer and option against PyTorch: forward, and the gradients of inputs and parameters.
#include <functional>
#include <map>
#include <optional>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/rotary.h"
#include "tests/support/golden_model.h"

namespace tapir {
namespace {

using nlohmann::json;
using testing::GoldenCase;
using testing::GoldenParam;

// One run of a case: hands out inputs and loads parameters, and remembers both for their gradients.
class GoldenRun {
 public:
  GoldenRun(const GoldenCase& golden, DType dtype) : golden_(golden), dtype_(dtype) {}

  const json& options() const { return golden_.options; }
  DType dtype() const { return dtype_; }
  bool has_input(const std::string& name) const { return golden_.has("in." + name); }

  Tensor input(const std::string& name) {
    Tensor tensor = golden_.get("in." + name, dtype_);
    if (!is_floating(tensor.dtype()) || !golden_.has("grad_out")) return tensor;
    leaves_.push_back({name, tensor.set_requires_grad()});
    return tensor;
  }
  Tensor optional_input(const std::string& name) {
    return has_input(name) ? input(name) : Tensor();
  }
  void load(nn::Module& layer) {
    layer.load_state_dict(golden_.under("param.", dtype_));
    for (const NamedTensor& parameter : layer.named_parameters()) leaves_.push_back(parameter);
  }
  const std::vector<NamedTensor>& leaves() const { return leaves_; }

 private:
  const GoldenCase& golden_;
  DType dtype_;
  std::vector<NamedTensor> leaves_;
};

std::optional<double> optional_number(const json& value) {
  return value.is_null() ? std::nullopt : std::optional<double>(value.get<double>());
}

nn::Bias bias_of(const json& value) {
  return value.get<bool>() ? nn::Bias::yes : nn::Bias::no;
}

Tensor run_linear(GoldenRun& run) {
  Generator generator;
  nn::Linear layer(7, 5, generator, bias_of(run.options()["bias"]), run.dtype());
  run.load(layer);
  return layer(run.input("x"));
}

Tensor run_embedding(GoldenRun& run) {
  Generator generator;
  nn::Embedding layer(11, 6, generator, 1.0, run.dtype());
  run.load(layer);
  return layer(run.input("ids"));
}

Tensor run_rope(GoldenRun& run) {
  const Tensor x = run.input("x");
  const json& options = run.options();
  const nn::RotaryEmbedding layer(x.size(-1), options["max_seq_len"], options["theta"],
                                  nn::parse_rope_layout(options["layout"].get<std::string>()),
                                  run.dtype());
  return layer(x, run.optional_input("positions"));
}

Tensor run_attention(GoldenRun& run) {
  AttentionArguments arguments;
  const Tensor mask = run.optional_input("mask");
  if (mask.defined()) arguments.mask = to(mask, DType::boolean);
  arguments.causal = run.options().value("causal", false);
  if (run.options().contains("scale")) arguments.scale = run.options()["scale"].get<double>();
  const Tensor q = run.input("q"), k = run.input("k"), v = run.input("v");
  return scaled_dot_product_attention(q, k, v, arguments);
}

Tensor run_self_attention(GoldenRun& run) {
  const json& options = run.options();
  nn::AttentionConfig config;
  config.d_model = options["d_model"];
  config.n_heads = options["n_heads"];
  config.n_kv_heads = options["n_kv_heads"].get<int64_t>();
  config.qkv_bias = bias_of(options["qkv_bias"]);
  config.rope_theta = optional_number(options["rope_theta"]);
  config.rope_layout = nn::parse_rope_layout(options["rope_layout"].get<std::string>());
  config.max_seq_len = options["max_seq_len"];
  Generator generator;
  nn::CausalSelfAttention layer(config, generator, run.dtype());
  run.load(layer);
  nn::ForwardContext context;
  context.positions = run.optional_input("positions");
  return layer(run.input("x"), context);
}

Tensor run_swiglu(GoldenRun& run) {
  Generator generator;
  nn::SwiGLU layer(run.options()["d_model"], run.options()["d_ff"], generator, run.dtype());
  run.load(layer);
  return layer(run.input("x"));
}

Tensor run_feed_forward(GoldenRun& run) {
  Generator generator;
  const json& options = run.options();
  nn::FeedForward layer(options["d_model"], options["d_ff"],
                        nn::parse_feed_forward_kind(options["activation"].get<std::string>()),
                        generator, run.dtype());
  run.load(layer);
  return layer(run.input("x"));
}

Tensor run_layer_norm(GoldenRun& run) {
  const Tensor x = run.input("x");
  nn::LayerNorm layer(x.size(-1), bias_of(run.options()["bias"]), run.options()["eps"],
                      run.dtype());
  run.load(layer);
  return layer(x);
}

Tensor run_rms_norm(GoldenRun& run) {
  const Tensor x = run.input("x");
  nn::RMSNorm layer(x.size(-1), run.options()["eps"], run.dtype());
  run.load(layer);
  return layer(x);
}

Tensor run_block(GoldenRun& run) {
  const nn::TransformerConfig config = testing::golden_block_config(run.options());
  Generator generator;
  nn::TransformerBlock layer(config, generator, run.dtype());
  run.load(layer);
  return layer(run.input("x"));
}

Tensor run_cross_entropy(GoldenRun& run) {
  const std::map<std::string, Reduction> reductions{
      {"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}};
  const Tensor logits = run.input("logits");
  return cross_entropy(logits, run.input("targets"), reductions.at(run.options()["reduction"]),
                       run.options().value("ignore_index", -100));
}

using Runner = std::function<Tensor(GoldenRun&)>;

Runner elementwise(Tensor (*function)(const Tensor&)) {
  return [function](GoldenRun& run) { return function(run.input("x")); };
}

const std::map<std::string, Runner>& runners() {
  static const std::map<std::string, Runner> all{
      {"linear", run_linear},
      {"embedding", run_embedding},
      {"rope", run_rope},
      {"softmax", [](GoldenRun& run) { return softmax(run.input("x"), run.options()["dim"]); }},
      {"log_softmax",
       [](GoldenRun& run) { return log_softmax(run.input("x"), run.options()["dim"]); }},
      {"logsumexp",
       [](GoldenRun& run) {
         return logsumexp(run.input("x"), run.options()["dim"],
                          run.options().value("keepdim", false));
       }},
      {"scaled_dot_product_attention", run_attention},
      {"causal_self_attention", run_self_attention},
      {"silu", elementwise(silu)},
      {"relu", elementwise(relu)},
      {"gelu", elementwise(gelu)},
      {"gelu_tanh", elementwise(gelu_tanh)},
      {"swiglu", run_swiglu},
      {"feed_forward", run_feed_forward},
      {"layer_norm", run_layer_norm},
      {"rms_norm", run_rms_norm},
      {"transformer_block", run_block},
      {"cross_entropy", run_cross_entropy},
  };
  return all;
}

class LayersGolden : public ::testing::TestWithParam<GoldenParam> {};

TEST_P(LayersGolden, MatchesPyTorch) {
  const auto& [golden, dtype] = GetParam();
  const double tolerance = testing::golden_tolerance(dtype);
  ASSERT_TRUE(runners().count(golden.layer)) << "no runner for " << golden.layer;
  GoldenRun run(golden, dtype);
  Tape tape;
  const Tensor out = runners().at(golden.layer)(run);
  testing::expect_close(out, golden.get("out", dtype), tolerance, "out");
  if (!golden.has("grad_out")) return;
  tape.backward(out, golden.get("grad_out", dtype));
  for (const NamedTensor& leaf : run.leaves()) {
    testing::expect_close(leaf.tensor.grad(), golden.get("grad." + leaf.name, dtype), tolerance,
                          "gradient of " + leaf.name);
  }
  EXPECT_EQ(run.leaves().size(), golden.under("grad.", dtype).size()) << "gradients left over";
}

INSTANTIATE_TEST_SUITE_P(
    Cases, LayersGolden,
    ::testing::ValuesIn(testing::in_f64_and_f32(testing::golden_cases("layers"))),
    testing::golden_param_name);

}  // namespace
}  // namespace tapir
