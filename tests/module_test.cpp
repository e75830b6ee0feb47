// Module: names, state dicts, tied parameters, conversion, layer paths.
#include "nn/module.h"

#include "nn/init.h"
#include "nn/norm.h"
#include "nn/rotary.h"
#include "nn/transformer.h"
#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace tapir::nn {
namespace {

using tapir::testing::expect_error;

std::vector<std::string> names_of(const std::vector<NamedTensor>& tensors) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

// Two linear layers that share one square weight, a buffer below a child, and a list.
class Shared : public Module {
 public:
  explicit Shared(Generator& generator, DType dtype = DType::f32)
      : first(3, 3, generator, Bias::yes, dtype), second(first.weight), rope(2, 4, 100.0) {
    norms.emplace_back(3);
    norms.emplace_back(3);
    name_layers();
  }
  void visit(Visitor& visitor) override {
    visitor.child("first", first);
    visitor.child("second", second);
    visitor.child("rope", rope);
    visitor.children("norms", norms);
  }
  Linear first, second;
  RotaryEmbedding rope;
  std::vector<RMSNorm> norms;
};

TEST(Module, NamesParametersOnceInOrder) {
  Generator generator(1);
  const Shared module(generator);
  EXPECT_EQ(
      names_of(module.named_parameters()),
      (std::vector<std::string>{"first.weight", "first.bias", "norms.0.weight", "norms.1.weight"}));
  EXPECT_EQ(module.parameters().size(), 4u);
  EXPECT_EQ(module.parameter_count(), 9 + 3 + 3 + 3);
  EXPECT_EQ(names_of(module.named_buffers()), (std::vector<std::string>{"rope.cos", "rope.sin"}));
}

TEST(Module, StateDictSharesStorageAndHoldsNoBuffers) {
  Generator generator(1);
  const Shared module(generator);
  const StateDict state = module.state_dict();
  EXPECT_EQ(state.size(), 4u);
  EXPECT_TRUE(state.at("first.weight").is(module.first.weight));
  EXPECT_FALSE(state.count("second.weight"));
  EXPECT_FALSE(state.count("rope.cos"));
}

TEST(Module, LoadingCopiesValuesAndConverts) {
  Generator generator(1);
  Shared module(generator);
  const Tensor weight = module.first.weight;
  StateDict state;
  for (const NamedTensor& p : module.named_parameters()) {
    state[p.name] = Tensor::full(p.tensor.shape(), 0.5, DType::f64);
  }
  module.load_state_dict(state);
  EXPECT_TRUE(module.first.weight.is(weight)) << "the tensor itself must stay";
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ(weight.to_vector(), std::vector<double>(9, 0.5));
  state["first.weight"].fill_(2.0);
  EXPECT_EQ(weight.to_vector()[0], 0.5) << "values are copied";
}

TEST(Module, LoadingReportsEverythingAtOnceAndWritesNothing) {
  Generator generator(1);
  Shared module(generator);
  StateDict state;
  for (const NamedTensor& p : module.named_parameters())
    state[p.name] = Tensor::zeros_like(p.tensor);
  state.erase("norms.1.weight");
  state["norms.2.weight"] = Tensor::zeros({3});
  state["first.weight"] = Tensor::zeros({3, 2});
  state["first.bias"] = Tensor::zeros({3}, DType::i32);
  const std::vector<double> before = module.norms[0].weight.to_vector();
  expect_error([&] { module.load_state_dict(state); },
               {"load_state_dict: ", "missing norms.1.weight", "unexpected norms.2.weight",
                "first.weight is [3, 2], must be [3, 3]", "first.bias is i32, must be f32"});
  EXPECT_EQ(module.norms[0].weight.to_vector(), before);
}

TEST(Module, LongListsOfProblemsAreCut) {
  Generator generator(1);
  Shared module(generator);
  StateDict state = module.state_dict();
  for (int i = 0; i < 100; ++i) state[fmt::format("extra.{:03}", i)] = Tensor::zeros({1});
  expect_error([&] { module.load_state_dict(state); }, {"unexpected extra.019", "and 80 more"});
}

TEST(Module, SecondNameOfATiedParameterMayBeGivenIfEqual) {
  Generator generator(1);
  Shared module(generator);
  StateDict state;
  for (const NamedTensor& p : module.named_parameters())
    state[p.name] = Tensor::ones(p.tensor.shape());
  state["second.weight"] = Tensor::ones({3, 3});
  module.load_state_dict(state);
  EXPECT_EQ(module.second.weight.to_vector(), std::vector<double>(9, 1.0));
  state["second.weight"] = Tensor::zeros({3, 3});
  expect_error([&] { module.load_state_dict(state); },
               {"load_state_dict: second.weight and first.weight differ"});
}

TEST(Module, ConversionKeepsTiesAndFlags) {
  Generator generator(1);
  Shared module(generator);
  module.norms[0].weight.set_requires_grad(false);
  const std::vector<double> before = module.first.weight.to_vector();
  module.to(DType::f64);
  EXPECT_TRUE(module.first.weight.is(module.second.weight));
  EXPECT_EQ(module.first.weight.to_vector(), before);
  EXPECT_TRUE(module.first.weight.requires_grad());
  EXPECT_TRUE(module.first.weight.is_leaf());
  EXPECT_FALSE(module.norms[0].weight.requires_grad());
  for (const NamedTensor& p : module.named_parameters()) EXPECT_EQ(p.tensor.dtype(), DType::f64);
  module.to(DType::bf16);
  EXPECT_EQ(module.first.bias.dtype(), DType::bf16);
  EXPECT_EQ(module.rope.cos.dtype(), DType::f32);
  module.to(kCpu);
  EXPECT_EQ(module.first.weight.device(), kCpu);
  expect_error([&] { module.to(DType::i32); }, {"to: parameters must be floating, not i32"});
}

TEST(Module, RotaryTablesAreComputedAnewInTheNewDType) {
  RotaryEmbedding rope(4, 50, 10000.0);
  rope.to(DType::f64);
  ASSERT_EQ(rope.cos.dtype(), DType::f64);
  EXPECT_EQ(rope.cos.to_vector()[2 * 37 + 1], std::cos(37.0 * 0.01));
  EXPECT_EQ(rope.sin.to_vector()[2 * 37], std::sin(37.0));
}

TEST(Module, LayersKnowTheirPaths) {
  Generator generator(1);
  TransformerConfig config;
  config.n_layers = 2;
  config.d_model = 8;
  config.n_heads = 2;
  config.d_ff = 8;
  const TransformerLM model(config, generator);
  EXPECT_EQ(model.layer_path(), "");
  EXPECT_EQ(model.layers[1].attn.q_proj.layer_path(), "layers.1.attn.q_proj");
  EXPECT_EQ(std::get<RMSNorm>(model.layers[0].ln2).layer_path(), "layers.0.ln2");
  EXPECT_EQ(std::get<SwiGLU>(model.layers[0].ffn).w3.layer_path(), "layers.0.ffn.w3");
  EXPECT_EQ(model.layers[0].attn.rope->layer_path(), "layers.0.attn.rope");
  EXPECT_EQ(model.lm_head.layer_path(), "lm_head");
}

TEST(Module, TheTapeNamesLayers) {
  Generator generator(1);
  TransformerConfig config;
  config.n_layers = 1;
  config.d_model = 8;
  config.n_heads = 2;
  config.d_ff = 8;
  const TransformerLM model(config, generator);
  Tape tape;
  model(Tensor::zeros({1, 3}, DType::i32));
  std::map<std::string, int> nodes;
  for (size_t i = 0; i < tape.size(); ++i) ++nodes[std::string(tape.info(i).layer)];
  for (const std::string path :
       {"token_embeddings", "layers.0", "layers.0.ln1", "layers.0.attn", "layers.0.attn.q_proj",
        "layers.0.attn.rope", "layers.0.ffn", "layers.0.ffn.w2", "ln_final", "lm_head"}) {
    EXPECT_GT(nodes[path], 0) << path;
  }
}

TEST(Module, MovesButDoesNotCopy) {
  static_assert(!std::is_copy_constructible_v<Linear>);
  static_assert(!std::is_copy_assignable_v<TransformerLM>);
  static_assert(std::is_nothrow_move_constructible_v<Linear>);
  Generator generator(1);
  Shared module(generator);
  const Tensor weight = module.first.weight;
  const Shared moved = std::move(module);
  EXPECT_TRUE(moved.first.weight.is(weight));
  EXPECT_TRUE(moved.second.weight.is(weight));
  EXPECT_EQ(moved.first.layer_path(), "first");
}

}  // namespace
}  // namespace tapir::nn
