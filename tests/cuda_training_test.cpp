// Training on a CUDA device without waiting for it: work that runs as one unit, and the program.
#include <cmath>

#include "autograd/ops.h"
#include "backends/backend.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/support/cuda_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_models.h"
#include "tests/support/tiny_run.h"

namespace tapir {
namespace {

using testing::CudaTest;
using testing::expect_error;

const Backend& cuda() {
  return backend(kCuda);
}

Tensor ids_from(int32_t start) {
  std::vector<int32_t> ids(8);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = (start + static_cast<int32_t>(i * i)) % 13;
  return Tensor::from(std::span<const int32_t>(ids), {1, 8}, kCuda);
}

// The weights after four steps, each of which is run by `run`.
template <typename Run>
std::vector<double> weights_after_training(Run run) {
  Generator generator(1);
  nn::TransformerLM model(testing::tiny_config(), generator, DType::f32, kCuda);
  const std::vector<NamedTensor> parameters = model.named_parameters();
  optim::AdamW adamw(parameters, {.lr = 0.01});
  nn::ForwardContext context;
  context.positions = Tensor::arange(8, DType::i32, kCuda);
  context.dropout = &generator;
  for (int32_t step = 0; step < 4; ++step) {
    const Tensor inputs = ids_from(step), targets = ids_from(step + 1);
    run([&] {
      Tape tape;
      tape.backward(cross_entropy(model(inputs, context), targets));
      const Tensor squared_norm = optim::squared_grad_norm(parameters);
      optim::limit_grad_norm(parameters, squared_norm, 0.5);
      adamw.set_lr(0.01 / (step + 1));
      adamw.step(squared_norm);
      adamw.zero_grad();
    });
  }
  std::vector<double> all;
  for (const NamedTensor& parameter : parameters) {
    const std::vector<double> values = parameter.tensor.to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST_F(CudaTest, AWholeStepRunsAsOneUnit) {
  EXPECT_EQ(weights_after_training([](auto work) { cuda().run_as_one(work); }),
            weights_after_training([](auto work) { work(); }));
}

TEST_F(CudaTest, ASteadyStepAsksTheDriverForNoMemory) {
  if (std::getenv("TAPIR_CUDA_NO_RECYCLING") != nullptr)
    GTEST_SKIP() << "recycling is switched off";
  std::vector<int64_t> requests;
  weights_after_training([&](auto work) {
    cuda().run_as_one(work);
    requests.push_back(cuda().allocator().stats().system_allocations);
  });
  EXPECT_EQ(requests[2], requests[1]);
  EXPECT_EQ(requests[3], requests[1]);
}

TEST_F(CudaTest, UnitsMayDiffer) {
  Tensor x = Tensor::ones({5}, DType::f32, kCuda);
  cuda().run_as_one([&] { x = x * 3.0; });
  cuda().run_as_one([&] { x = x * 5.0; });  // the same kernel with another argument
  cuda().run_as_one([&] { x = sum(exp(x - 15.0)) + 2.0; });
  EXPECT_EQ(x.item(), 7.0);
}

TEST_F(CudaTest, NothingOfAUnitReachesTheHost) {
  Tensor x = Tensor::ones({5}, DType::f32, kCuda);
  expect_error([&] { cuda().run_as_one([&] { sum(x).item(); }); }, {"writing to the host", "unit"});
  expect_error([&] { cuda().run_as_one([&] { Tensor::from({1.0}, {1}, DType::f32, kCuda); }); },
               {"reading from the host"});
  expect_error([&] { cuda().run_as_one([&] { cuda().synchronize(); }); }, {"waiting"});
  // Ids whose range only the device knows.
  const Tensor unknown = argmax(Tensor::zeros({3, 4}, DType::f32, kCuda), 1);
  expect_error(
      [&] {
        cuda().run_as_one([&] { embedding(Tensor::zeros({4, 2}, DType::f32, kCuda), unknown); });
      },
      {"to the host"});
  cuda().run_as_one([&] { x = x + 1.0; });
  EXPECT_EQ(x.to_vector(), std::vector<double>(5, 2.0));
}

}  // namespace
}  // namespace tapir

namespace tapir::testing {
namespace {

using ProgramOnCuda = CudaTest;

// Loss and gradient norm of every step.
std::vector<double> measured(const std::filesystem::path& run) {
  std::vector<double> values;
  for (const nlohmann::json& line : json_lines(read_text(run / "metrics.jsonl"))) {
    values.push_back(line.at("loss"));
    values.push_back(line.at("grad_norm"));
  }
  return values;
}

TEST_F(ProgramOnCuda, TrainsAsOnTheCpu) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  for (const char* device : {"cpu", "cuda"}) {
    const ProcessResult result =
        run_tapir(tiny_train(data, folder / device,
                             {"--device", device, "--steps", "37", "--dropout", "0.1",
                              "--eval-every", "20", "--accumulate", "2"}));
    ASSERT_EQ(result.status, 0) << result.err;
  }
  const std::vector<double> cpu = measured(folder / "cpu"), cuda = measured(folder / "cuda");
  ASSERT_EQ(cpu.size(), 2 * 37u);
  ASSERT_EQ(cuda.size(), cpu.size());
  // Both compute in f32; rounding differs, and 37 steps amplify it.
  for (size_t i = 0; i < cpu.size(); ++i)
    EXPECT_NEAR(cuda[i], cpu[i], 1e-3 * std::fabs(cpu[i])) << i;
}

TEST_F(ProgramOnCuda, AutoTrainsInBf16AsOnTheCpu) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const auto train = [&](const char* device, const char* precision) {
    const std::filesystem::path run = folder / device;
    const ProcessResult result =
        run_tapir(tiny_train(data, run, {"--device", device, "--precision", precision}));
    EXPECT_EQ(result.status, 0) << result.err;
    expect_contains(read_text(run / "config.toml"), {"precision = \"bf16\""});
    expect_contains(read_text(run / "checkpoints/last/model.safetensors"), {"\"BF16\""});
    return measured(run);
  };
  const std::vector<double> cuda = train("cuda", "auto"), cpu = train("cpu", "bf16");
  ASSERT_EQ(cuda.size(), 2 * 12u);
  ASSERT_EQ(cpu.size(), cuda.size());
  // Means over 64 tokens of logits that are off by up to 2^-8 of the largest, in either direction;
  // the norm of the gradient is a sum of numbers rounded alike.
  for (size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(cuda[i], cpu[i], 0.02 * cpu[i]) << i;
}

// The probabilities of the tokens that a model writes with weights of fewer bits.
std::vector<double> generated(const std::string& run, const char* weights, const char* device) {
  const ProcessResult result =
      run_tapir({"generate", run, "--prompt", "The cat", "--tokens", "5", "--temperature", "0",
                 "--logprobs", "--weights", weights, "--device", device, "--threads", "1"});
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<double> values;
  for (const nlohmann::json& line : json_lines(result.out)) {
    values.push_back(line.at("id"));
    values.push_back(line.at("probability"));
  }
  return values;
}

TEST_F(ProgramOnCuda, GeneratesWithWeightsOfFewerBitsAsOnTheCpu) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult trained =
      run_tapir(tiny_train(data, folder / "run", {"--device", "cpu", "--d-model", "32"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  for (const char* weights : {"bf16", "int8"}) {
    const std::vector<double> cpu = generated(folder / "run", weights, "cpu");
    const std::vector<double> cuda = generated(folder / "run", weights, "cuda");
    ASSERT_EQ(cpu.size(), 2 * 5u);
    ASSERT_EQ(cuda.size(), cpu.size());
    // Both sum in f32, in different orders, and the CPU rounds activations to 16 bits for int8.
    for (size_t i = 0; i < cpu.size(); ++i) EXPECT_NEAR(cuda[i], cpu[i], 1e-4 * cpu[i]) << i;
  }
}

// Before it starts, with the numbers: the activations of ten million sequences fit no card.
TEST_F(ProgramOnCuda, ARunThatTheGpuCannotHoldIsRefusedWithAdvice) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult result = run_tapir(tiny_train(
      data, folder / "run", {"--device", "cuda", "--batch", "10000", "--accumulate", "4"}));
  expect_failure(result, 1,
                 {"train: this run would take about", "of the GPU's memory, but",
                  "are available; --batch ", " --accumulate ", "as much per step"});
}

TEST_F(ProgramOnCuda, ALossThatIsNotFiniteIsExplainedFromItsStep) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const auto train = [&](const char* device) {
    return run_tapir(tiny_train(data, folder / device,
                                {"--device", device, "--lr", "100000", "--warmup", "0", "--clip",
                                 "0", "--norm", "none", "--steps", "200", "--eval-every", "0"}));
  };
  const ProcessResult cpu = train("cpu"), cuda = train("cuda");
  EXPECT_EQ(cuda.status, 1);
  const auto explanation = [](const std::string& text) {
    const size_t begin = text.find("of step");
    return text.substr(begin, text.find(';', begin) - begin);
  };
  expect_contains(cuda.err, {"is not finite", explanation(cpu.err)});
}

}  // namespace
}  // namespace tapir::testing
