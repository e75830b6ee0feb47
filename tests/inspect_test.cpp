// What `tapir inspect` measures, on graphs small enough to count by hand.
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "apps/inspect/attention_map.h"
#include "apps/inspect/dot.h"
#include "apps/inspect/page.h"
#include "apps/inspect/pass.h"
#include "apps/inspect/pass_observer.h"
#include "apps/inspect/table.h"
#include "apps/inspect/value_stats.h"
#include "apps/web/web_page.h"
#include "autograd/ops.h"
#include "backends/observed_backend.h"
#include "tests/support/expect_error.h"

namespace tapir::app {
namespace {

using testing::expect_error;

TEST(PassObserver, CountsWhatTheTapeSaves) {
  const Tensor a = Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}).set_requires_grad();
  PassObserver observer(kCpu, false);
  observer.add_parameter("a", a);
  Inspection result;
  {
    Tape tape;
    observer.begin(tape, result);
    Tensor b = a * a;       // saves a, twice: a parameter, which lives in any case
    Tensor c = exp(b);      // saves c, 6 floats
    Tensor d = c * b;       // saves c and b
    Tensor e = sum(d, {});  // saves nothing
    tape.backward(e);
  }
  observer.end();
  ASSERT_EQ(result.nodes.size(), 4u);
  EXPECT_EQ(result.nodes[0].saved_bytes(), 0);
  EXPECT_FALSE(result.nodes[0].saved.empty());
  EXPECT_EQ(result.nodes[1].saved_bytes(), 24);
  EXPECT_EQ(result.nodes[2].saved_bytes(), 48);
  EXPECT_EQ(result.nodes[3].saved_bytes(), 0);
  EXPECT_EQ(result.saved_bytes(), 48) << "b and c, each once";
  EXPECT_EQ(result.nodes[1].saved.at(0).what, "output");
  EXPECT_EQ(result.nodes[2].inputs.at(0).node, 1);
  EXPECT_EQ(result.nodes[2].inputs.at(1).node, 0);
  EXPECT_EQ(result.nodes[0].inputs.at(0).parameter, "a");
  EXPECT_EQ(result.memory.size(), 8u) << "four steps forward, four backward";
  EXPECT_GE(result.peak_bytes(), result.bytes_before + 3 * 24 + 4);
  EXPECT_EQ(TapeObserver::current(), &observer);
}

// d sum(a * a) / da = 2 a: the norm that arrives at mul is that of ones.
TEST(PassObserver, MeasuresGradientNorms) {
  const Tensor a = Tensor::from({3, 4, 0, 0}, {4}).set_requires_grad();
  PassObserver observer(kCpu, true);
  Inspection result;
  Tape tape;
  observer.begin(tape, result);
  Tensor loss = sum(a * a);
  tape.backward(loss);
  observer.end();
  EXPECT_DOUBLE_EQ(result.nodes.at(0).gradient_norm, 2.0);
  EXPECT_DOUBLE_EQ(l2_norm(a.grad()), 10.0);
  EXPECT_EQ(result.nodes.at(0).output.count, 4);
  EXPECT_DOUBLE_EQ(result.nodes.at(0).output.high, 16.0);
}

TEST(ValueStats, CountsAndBins) {
  const Tensor x = Tensor::from({0, 1, 2, 3, std::nan("")}, {5}, DType::f64);
  const ValueStats stats = value_stats(x, 3);
  EXPECT_EQ(stats.count, 5);
  EXPECT_EQ(stats.nonfinite, 1);
  EXPECT_DOUBLE_EQ(stats.mean, 1.5);
  EXPECT_DOUBLE_EQ(stats.deviation, std::sqrt(1.25));
  EXPECT_EQ(stats.histogram, (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(value_stats(Tensor::zeros({0})).count, 0);
  EXPECT_EQ(value_stats(Tensor::full({4}, 2.0)).histogram.at(0), 4) << "no width";
}

TEST(ObservedBackend, CountsFloatingPointOperations) {
  std::map<std::string, double> flops;
  const Backend* before = &backend(kCpu);
  const ObservedBackend observed(*before, [&](const KernelReport& report) {
    flops[std::string(report.kernel)] += report.flops;
    EXPECT_LE(report.begin, report.end);
  });
  {
    const BackendOverride override(kCpu, observed);
    matmul(Tensor::ones({3, 4}), Tensor::ones({4, 5}));
    // Two heads of three queries, which see 1 + 2 + 3 keys; q k^T and p v with 4 elements each.
    const Tensor q = Tensor::ones({1, 2, 3, 4});
    AttentionArguments causal;
    causal.causal = true;
    scaled_dot_product_attention(q, q, q, causal);
    exp(q);
  }
  EXPECT_EQ(&backend(kCpu), before);
  EXPECT_DOUBLE_EQ(flops["matmul"], 2 * 3 * 4 * 5);
  EXPECT_DOUBLE_EQ(flops["attention"], 2 * 2 * 6 * (4 + 4));
  EXPECT_DOUBLE_EQ(flops["unary"], 24);
}

// y = x W^T with x [T, 8] and W [12, 8]: one product forward, two of the same size backward.
TEST(Inspect, ALinearLayerComputesThreeProducts) {
  SubjectRequest request;
  request.name = "Linear";
  request.model.d_model = 8;
  request.vocab = 12;
  request.time = 5;
  Subject subject;
  const Inspection result = inspect(request, {}, &subject);
  double forward = 0, backward = 0;
  for (const NodeRecord& node : result.nodes) {
    if (node.op != "linear") continue;
    forward += node.forward_flops;
    backward += node.backward_flops;
    // x, which is the input itself, and the weight: both were there before.
    EXPECT_EQ(node.saved_bytes(), 0);
    EXPECT_EQ(node.saved.size(), 2u);
  }
  EXPECT_DOUBLE_EQ(forward, 2 * 5 * 8 * 12);
  EXPECT_DOUBLE_EQ(backward, 2 * 2 * 5 * 8 * 12);
  EXPECT_EQ(subject.tensors.at(0).name, "x");
  EXPECT_TRUE(subject.tensors.at(1).tensor.grad().defined());
}

SubjectRequest tiny_model() {
  SubjectRequest request;
  request.model.layers = 2;
  request.model.heads = 2;
  request.model.d_model = 8;
  request.prompt = "abcdef";
  return request;
}

TEST(Inspect, AModelKnowsItsLayersAndTokens) {
  Subject subject;
  const Inspection result = inspect(tiny_model(), {.details = true}, &subject);
  ASSERT_TRUE(result.loss.has_value());
  EXPECT_NEAR(*result.loss, std::log(257), 1.5) << "an untrained model knows nothing";
  EXPECT_EQ(subject.tokens, (std::vector<std::string>{"a", "b", "c", "d", "e"}))
      << "f is only predicted";
  std::map<std::string, int> layers;
  for (const NodeRecord& node : result.nodes) ++layers[node.layer];
  for (const char* layer : {"token_embeddings", "layers.0.attn.q_proj", "layers.1.ffn.w2",
                            "layers.0", "ln_final", "lm_head"}) {
    EXPECT_GT(layers[layer], 0) << layer;
  }
  ASSERT_EQ(result.attention.size(), 2u);
  const AttentionMap& map = result.attention[0];
  EXPECT_EQ(map.layer, "layers.0.attn");
  ASSERT_EQ(map.probabilities.size(), 2u * 15u);
  size_t at = 0;
  for (int64_t head = 0; head < 2; ++head) {
    for (int row = 1; row <= 5; ++row) {
      int total = 0;
      for (int i = 0; i < row; ++i) total += map.probabilities[at++];
      EXPECT_NEAR(total, 255, 0.5 * row + 0.5) << "rounded probabilities of a row";
    }
  }
}

TEST(AttentionMap, EqualKeysShareEqually) {
  const Tensor zeros = Tensor::zeros({1, 1, 3, 2});
  const AttentionMap map = attention_map("a", zeros, zeros);
  EXPECT_EQ(map.probabilities, (std::vector<uint8_t>{255, 128, 128, 85, 85, 85}));
  EXPECT_EQ(attention_map("a", zeros, zeros, 2).probabilities.size(), 3u);
}

// The composed model computes the same with other operations; in f64 they agree to rounding.
TEST(Inspect, ComposedAgreesWithFused) {
  SubjectRequest request = tiny_model();
  request.dtype = DType::f64;
  Subject fused, composed;
  const Inspection a = inspect(request, {}, &fused);
  const Inspection b = inspect(request, {.composed = true}, &composed);
  EXPECT_NEAR(*a.loss, *b.loss, 1e-12);
  EXPECT_GT(b.nodes.size(), 2 * a.nodes.size());
  EXPECT_GT(b.saved_bytes(), a.saved_bytes());
  ASSERT_EQ(fused.tensors.size(), composed.tensors.size());
  for (size_t i = 0; i < fused.tensors.size(); ++i) {
    const std::vector<double> x = fused.tensors[i].tensor.grad().to_vector();
    const std::vector<double> y = composed.tensors[i].tensor.grad().to_vector();
    for (size_t j = 0; j < x.size(); ++j) {
      ASSERT_NEAR(x[j], y[j], 1e-12 + 1e-10 * std::abs(y[j])) << fused.tensors[i].name;
    }
  }
  for (const NodeRecord& node : b.nodes) {
    EXPECT_NE(node.op, "linear");
    EXPECT_NE(node.op, "scaled_dot_product_attention");
  }
  const std::string table = comparison_table(a, fused, b, composed);
  EXPECT_NE(table.find("layers.1.ffn"), std::string::npos) << table;
}

TEST(Inspect, TheTableSaysWhatIsKeptAndWhy) {
  SubjectRequest request;
  request.name = "SwiGLU";
  request.model.d_model = 8;
  const std::string table = inspection_table(inspect(request, {}, nullptr));
  for (const char* part : {"swiglu", "w1", "[1, 16, 8]", "|grad|", "peak memory", "because",
                           "dW = grad^T x", "there anyway"}) {
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  }
}

TEST(Inspect, TheGraphHasAClusterForEachLayer) {
  const std::string dot = inspection_dot(inspect(tiny_model(), {}, nullptr), "a \"title\"");
  EXPECT_EQ(dot.find("digraph"), 0u);
  EXPECT_NE(dot.find("\"cluster_layers.0.attn.q_proj\""), std::string::npos);
  EXPECT_NE(dot.find("a \\\"title\\\""), std::string::npos);
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

TEST(Inspect, UnknownNamesAreErrors) {
  SubjectRequest request;
  request.name = "SwiGLUU";
  expect_error([&] { inspect(request, {}, nullptr); }, {"inspect", "SwiGLUU", "SwiGLU"});
  request.name = "TransformerLM";
  request.prompt = "a";
  expect_error([&] { inspect(request, {}, nullptr); }, {"inspect", "1 token"});
}

TEST(WebPage, EscapesWhatStrangersWrote) {
  EXPECT_EQ(html_escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  const nlohmann::ordered_json data = {{"text", "</script><script>alert(1)</script><!--"}};
  const std::string json = script_json(data);
  EXPECT_EQ(json.find('<'), std::string::npos) << json;
  EXPECT_EQ(nlohmann::ordered_json::parse(json), data);
  EXPECT_TRUE(nlohmann::json::accept(script_json({{"bytes", "\xff\xfe"}})));
}

TEST(InspectionPage, HoldsEverythingAndNothingFromElsewhere) {
  SubjectRequest request = tiny_model();
  request.prompt = "<script>alert(1)</script>";
  Subject subject;
  const Inspection result = inspect(request, {.details = true}, &subject);
  subject.name = request.prompt;
  const std::string page = inspection_page(subject, result, nullptr);
  EXPECT_EQ(page.find("<!DOCTYPE html>"), 0u);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script>"), std::string::npos);
  for (const char* remote : {"src=\"", "href=\"http", "@import", "url("}) {
    EXPECT_EQ(page.find(remote), std::string::npos) << remote;
  }
}

}  // namespace
}  // namespace tapir::app
