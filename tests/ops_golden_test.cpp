// Every operation of the golden file against PyTorch: forward, and the gradient of every input.
// Softmax, attention, norms, activations and losses are in layers_golden_test.
#include <functional>
#include <map>

#include "tests/support/golden.h"

namespace tapir {
namespace {

using nlohmann::json;
using testing::GoldenCase;
using testing::GoldenParam;

// What an operation gave: values, and positions where it has them.
struct Output {
  Tensor values, indices;
};

// One run of a case: hands out its inputs and remembers them for their gradients.
class OpRun {
 public:
  OpRun(const GoldenCase& golden, DType dtype) : golden_(golden), dtype_(dtype) {}

  const json& option(const std::string& name) const { return golden_.options.at(name); }
  int64_t dim() const { return option("dim"); }
  bool keepdim() const { return option("keepdim"); }
  std::vector<int64_t> dims() const {
    return option("dims").is_null() ? std::vector<int64_t>()
                                    : option("dims").get<std::vector<int64_t>>();
  }
  Tensor input(const std::string& name) {
    Tensor tensor = golden_.get("in." + name, dtype_);
    if (!is_floating(tensor.dtype())) return tensor;
    leaves_.push_back({name, tensor.set_requires_grad()});
    return tensor;
  }
  Tensor flags(const std::string& name) { return to(input(name), DType::boolean); }
  const std::vector<NamedTensor>& leaves() const { return leaves_; }

 private:
  const GoldenCase& golden_;
  DType dtype_;
  std::vector<NamedTensor> leaves_;
};

using Runner = std::function<Output(OpRun&)>;

Runner unary(Tensor (*function)(const Tensor&)) {
  return [function](OpRun& run) { return Output{function(run.input("x")), {}}; };
}

Runner binary(Tensor (*function)(const Tensor&, const Tensor&)) {
  return [function](OpRun& run) {
    const Tensor a = run.input("a");
    return Output{function(a, run.input("b")), {}};
  };
}

Runner values_of(std::function<Tensor(OpRun&)> function) {
  return [function](OpRun& run) { return Output{function(run), {}}; };
}

Output both(const std::pair<Tensor, Tensor>& result) {
  return {result.first, result.second};
}

std::vector<Tensor> three(OpRun& run) {
  std::vector<Tensor> parts;
  for (const char* name : {"a", "b", "c"}) parts.push_back(run.input(name));
  return parts;
}

std::map<std::string, Runner> reductions() {
  return {
      {"sum", values_of([](OpRun& run) { return sum(run.input("x"), run.dims(), run.keepdim()); })},
      {"mean",
       values_of([](OpRun& run) { return mean(run.input("x"), run.dims(), run.keepdim()); })},
      {"var", values_of([](OpRun& run) {
         return var(run.input("x"), run.dims(), run.option("unbiased"), run.keepdim());
       })},
      {"max",
       [](OpRun& run) {
         const Tensor x = run.input("x");
         return Output{max(x, run.dim(), run.keepdim()), argmax(x, run.dim(), run.keepdim())};
       }},
      {"argmax",
       values_of([](OpRun& run) { return argmax(run.input("x"), run.dim(), run.keepdim()); })},
      {"cumsum", values_of([](OpRun& run) { return cumsum(run.input("x"), run.dim()); })},
      {"sort",
       [](OpRun& run) { return both(sort(run.input("x"), run.dim(), run.option("descending"))); }},
      {"topk", [](OpRun& run) { return both(topk(run.input("x"), run.option("k"), run.dim())); }},
  };
}

std::map<std::string, Runner> selections() {
  return {
      {"gather",
       values_of([](OpRun& run) { return gather(run.input("x"), run.dim(), run.input("index")); })},
      {"scatter", values_of([](OpRun& run) {
         const Tensor x = run.input("x"), source = run.input("src");
         return scatter(x, run.dim(), run.input("index"), source);
       })},
      {"scatter_add", values_of([](OpRun& run) {
         const Tensor x = run.input("x"), source = run.input("src");
         return scatter_add(x, run.dim(), run.input("index"), source);
       })},
      {"index_select", values_of([](OpRun& run) {
         return index_select(run.input("x"), run.dim(), run.input("index"));
       })},
      {"where", values_of([](OpRun& run) {
         const Tensor a = run.input("a"), b = run.input("b");
         return where(run.flags("condition"), a, b);
       })},
      {"masked_fill", values_of([](OpRun& run) {
         return masked_fill(run.input("x"), run.flags("mask"), run.option("value"));
       })},
      {"tril", values_of([](OpRun& run) { return tril(run.input("x"), run.option("diagonal")); })},
      {"cat", values_of([](OpRun& run) { return cat(three(run), run.dim()); })},
      {"stack", values_of([](OpRun& run) { return stack(three(run), run.dim()); })},
      {"slice", values_of([](OpRun& run) {
         return slice(run.input("x"), run.dim(), run.option("start"), run.option("stop"),
                      run.option("step"));
       })},
  };
}

std::map<std::string, Runner> all_runners() {
  std::map<std::string, Runner> all{
      {"add", binary(add)},
      {"sub", binary(sub)},
      {"mul", binary(mul)},
      {"div", binary(div)},
      {"exp", unary(exp)},
      {"log", unary(log)},
      {"sqrt", unary(sqrt)},
      {"rsqrt", unary(rsqrt)},
      {"cos", unary(cos)},
      {"sin", unary(sin)},
      {"sigmoid", unary(sigmoid)},
      {"pow", values_of([](OpRun& run) {
         return pow(run.input("x"), run.option("exponent").get<double>());
       })},
      {"matmul", binary(matmul)},
      {"outer", binary(outer)},
      {"einsum", values_of([](OpRun& run) {
         const Tensor a = run.input("a");
         return einsum(run.option("equation").get<std::string>(), a, run.input("b"));
       })},
  };
  all.merge(reductions());
  all.merge(selections());
  return all;
}

class OpsGolden : public ::testing::TestWithParam<GoldenParam> {};

TEST_P(OpsGolden, MatchesPyTorch) {
  const auto& [golden, dtype] = GetParam();
  static const std::map<std::string, Runner> runners = all_runners();
  ASSERT_TRUE(runners.count(golden.layer)) << "no runner for " << golden.layer;
  const double tolerance = testing::golden_tolerance(dtype);
  OpRun run(golden, dtype);
  Tape tape;
  const Output out = runners.at(golden.layer)(run);
  testing::expect_close(out.values, golden.get("out", dtype), tolerance, "out");
  if (golden.has("out.indices")) {
    EXPECT_EQ(out.indices.to_ints(), golden.get("out.indices", dtype).to_ints());
  }
  if (!golden.has("grad_out")) return;
  tape.backward(out.values, golden.get("grad_out", dtype));
  for (const NamedTensor& leaf : run.leaves()) {
    testing::expect_close(leaf.tensor.grad(), golden.get("grad." + leaf.name, dtype), tolerance,
                          "gradient of " + leaf.name);
  }
  EXPECT_EQ(run.leaves().size(), golden.under("grad.", dtype).size()) << "gradients left over";
}

INSTANTIATE_TEST_SUITE_P(Cases, OpsGolden,
                         ::testing::ValuesIn(testing::in_f64_and_f32(testing::golden_cases("ops"))),
                         testing::golden_param_name);

// A file that lost its cases would let the suite above pass without testing anything.
TEST(OpsGoldenFile, HasAllCases) {
  EXPECT_EQ(testing::golden_cases("ops").size(), 115u);
}

}  // namespace
}  // namespace tapir
