// train_bench FILE LAYERS WIDTH HEADS FEED_FORWARD STEPS THREADS [PRECISION]: trains a model from
// the weights in FILE on the batches there, and prints a line for each step: its loss, its time in
// ms, and the processor time of all threads in ms. PRECISION is that of products of f32, by default
// highest, or bf16 for parameters and activations of that dtype.
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
  int steps = 0;
};

Arguments parse(int argc, char** argv) {
  require(argc == 8 || argc == 9, "train_bench", "needs 7 or 8 arguments, got {}", argc - 1);
  Arguments arguments;
  arguments.file = argv[1];
  arguments.config.n_layers = std::atoi(argv[2]);
  arguments.config.d_model = std::atoi(argv[3]);
  arguments.config.n_heads = std::atoi(argv[4]);
  arguments.config.d_ff = std::atoi(argv[5]);
  arguments.config.rope_layout = RopeLayout::half_split;
  arguments.steps = std::atoi(argv[6]);
  cpu::set_threads(std::atoi(argv[7]));
  if (argc == 9 && argv[8] == std::string_view("bf16")) {
    arguments.dtype = DType::bf16;
  } else if (argc == 9) {
    set_matmul_precision(parse_matmul_precision(argv[8]));
  }
  return arguments;
}

void train(Arguments arguments) {
  StateDict state = load_safetensors(arguments.file).tensors;
  const Tensor ids = state.at("ids"), targets = state.at("targets");
  state.erase("ids");
  state.erase("targets");
  arguments.config.vocab_size = state.at("token_embeddings.weight").size(0);
  arguments.config.max_seq_len = ids.size(2);
  Generator generator(0);
  nn::TransformerLM model(arguments.config, generator);
  model.load_state_dict(state);
  model.to(arguments.dtype);
  optim::AdamW optimizer(model.named_parameters(),
                         {.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.95, .weight_decay = 0.1});
  for (int step = 0; step < arguments.steps; ++step) {
    const int64_t batch = step % ids.size(0);
    const Clock::time_point start = Clock::now();
    const std::clock_t processor_start = std::clock();
    double loss = 0;
    {
      Tape tape;
      const Tensor mean = cross_entropy(model(select(ids, 0, batch)), select(targets, 0, batch));
      tape.backward(mean);
      loss = mean.item();
    }
    optimizer.step();
    optimizer.zero_grad();
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
