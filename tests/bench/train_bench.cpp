// train_bench FILE LAYERS WIDTH HEADS FEED_FORWARD STEPS THREADS [PRECISION [DEVICE]]: trains a
// model from the weights in FILE on the batches there, and prints a line for each step: its loss,
// its time in ms, and the processor time of all threads in ms. PRECISION is that of products of
// f32, by default highest, or bf16 for parameters and activations of that dtype.
// FILE (safetensors) holds the model's parameters by their names, and `ids` and `targets`, i32
// [batches, B, T].
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "autograd/ops.h"
#include "autograd/serialize.h"
#include "backends/cpu/threads.h"
#include "backends/matmul_precision.h"
#include "nn/transformer.h"
#include "optim/adamw.h"

namespace tapir {
namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string file;
  nn::TransformerConfig config;
  DType dtype = DType::f32;
  Device device = kCpu;
  int steps = 0;
};

Arguments parse(int argc, char** argv) {
  require(argc >= 8 && argc <= 10, "train_bench", "needs 7 to 9 arguments, got {}", argc - 1);
  Arguments arguments;
  arguments.file = argv[1];
  arguments.config.n_layers = std::atoi(argv[2]);
  arguments.config.d_model = std::atoi(argv[3]);
  arguments.config.n_heads = std::atoi(argv[4]);
  arguments.config.d_ff = std::atoi(argv[5]);
  arguments.config.rope_layout = RopeLayout::half_split;
  arguments.steps = std::atoi(argv[6]);
  cpu::set_threads(std::atoi(argv[7]));
  if (argc > 8 && argv[8] == std::string_view("bf16")) {
    arguments.dtype = DType::bf16;
  } else if (argc > 8) {
    set_matmul_precision(parse_matmul_precision(argv[8]));
  }
  if (argc > 9) arguments.device = parse_device(argv[9]);
  return arguments;
}

// i32 [batches, B, T] as one tensor [B, T] for each batch.
std::vector<Tensor> batches_on(Device device, const Tensor& all) {
  std::vector<Tensor> batches;
  for (int64_t i = 0; i < all.size(0); ++i) {
    const std::vector<int32_t> values = select(all, 0, i).to_ints();
    batches.push_back(
        Tensor::from(std::span<const int32_t>(values), {all.size(1), all.size(2)}, device));
  }
  return batches;
}

void train(Arguments arguments) {
  StateDict state = load_safetensors(arguments.file).tensors;
  const std::vector<Tensor> ids = batches_on(arguments.device, state.at("ids"));
  const std::vector<Tensor> targets = batches_on(arguments.device, state.at("targets"));
  state.erase("ids");
  state.erase("targets");
  arguments.config.vocab_size = state.at("token_embeddings.weight").size(0);
  arguments.config.max_seq_len = ids.front().size(1);
  Generator generator(0);
  nn::TransformerLM model(arguments.config, generator);
  model.load_state_dict(state);
  model.to(arguments.dtype);
  model.to(arguments.device);
  optim::AdamW optimizer(model.named_parameters(),
                         {.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1});
  nn::ForwardContext context;
  context.positions = Tensor::arange(ids.front().size(1), DType::i32, arguments.device);
  for (int step = 0; step < arguments.steps; ++step) {
    const auto batch = static_cast<size_t>(step) % ids.size();
    const Clock::time_point start = Clock::now();
    const std::clock_t processor_start = std::clock();
    Tensor mean;
    const auto work = [&] {
      Tape tape;
      mean = cross_entropy(model(ids[batch], context), targets[batch]);
      tape.backward(mean);
      optimizer.step();
      optimizer.zero_grad();
    };
    step == 0 ? work() : backend(arguments.device).run_as_one(work);
    const double loss = mean.item();
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    const double processor_ms =
        1e3 * static_cast<double>(std::clock() - processor_start) / CLOCKS_PER_SEC;
    std::printf("%.6f %.4f %.4f\n", loss, ms, processor_ms);
  }
}

}  // namespace
}  // namespace tapir

int main(int argc, char** argv) {
  try {
    tapir::train(tapir::parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
