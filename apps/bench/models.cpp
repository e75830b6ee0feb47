// Whole models: a training step, generation, and the tokenizer.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <sys/resource.h>

#include "apps/bench/bench.h"
#include "apps/bench/kernel_parts.h"
#include "apps/bench/limits.h"
#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/corpus/corpus.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "autograd/ops.h"
#include "nn/transformer.h"
#include "optim/adamw.h"

namespace tapir::app {
namespace {

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// Of a step with its backward pass: three products with each matrix, and of attention seven halves
// of the squares.
double step_flops(const nn::TransformerConfig& c, int64_t batch, int64_t length) {
  const auto tokens = static_cast<double>(batch * length);
  return 6 * matrix_elements(c) * tokens +
         7 * static_cast<double>(c.n_layers * c.d_model) * static_cast<double>(length + 1) * tokens;
}

// Products and attention also with their share of the peak.
void print_step_parts(const std::function<void()>& step, int64_t count, double peak) {
  KernelParts parts;
  parts.start();
  for (int64_t i = 0; i < count; ++i) step();
  parts.stop();
  parts.print("step", count, [&](std::string_view kernel, const KernelParts::Part& part) {
    if (kernel != "matmul" && !kernel.starts_with("attention")) return std::string();
    return fmt::format(" {:>8.1f} GFLOP/s {:>4.0f} % of the FMA peak",
                       part.flops / part.seconds / 1e9, 100 * part.flops / part.seconds / peak);
  });
}

}  // namespace

double matrix_elements(const nn::TransformerConfig& c) {
  const auto d = static_cast<double>(c.d_model);
  const double kv = d * static_cast<double>(c.kv_heads()) / static_cast<double>(c.n_heads);
  const double feed_forward = (c.ffn == nn::FeedForwardKind::swiglu ? 3 : 2) * d *
                              static_cast<double>(c.feed_forward_width());
  return static_cast<double>(c.n_layers) * (2 * d * d + 2 * d * kv + feed_forward) +
         d * static_cast<double>(c.vocab_size);
}

nn::TransformerLM bench_model(const BenchSetup& setup) {
  Generator generator(1);
  return nn::TransformerLM(setup.model.transformer(setup.vocab), generator);
}

Tensor some_ids(int64_t rows, int64_t length, int64_t vocab) {
  std::vector<int32_t> ids(static_cast<size_t>(rows * length));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int32_t>((i * 7919 + 13) % static_cast<size_t>(vocab));
  return Tensor::from(std::span<const int32_t>(ids), {rows, length});
}

void bench_train(const BenchSetup& setup) {
  nn::TransformerLM model = bench_model(setup);
  const PrecisionChoice precision = choose_precision(setup.precision, kCpu);
  model.to(parameter_dtype(precision.precision));
  optim::AdamW optimizer(model.named_parameters());
  const int64_t length = setup.model.context, tokens = setup.batch * length;
  const Tensor ids = some_ids(setup.batch, length, setup.vocab);
  const Allocator& allocator = backend(kCpu).allocator();
  const double peak = peak_flops();
  const auto forward = [&] { return cross_entropy(model(ids), ids); };
  const auto step = [&] {
    Tape tape;
    tape.backward(forward());
    optimizer.step();
    optimizer.zero_grad();
  };
  step();
  step();
  // Once in a while the system takes pages away by itself, so the best of a few steps counts.
  int64_t new_faults = std::numeric_limits<int64_t>::max(), new_allocations = new_faults;
  for (int i = 0; i < 5; ++i) {
    const int64_t faults = page_faults(), allocations = allocator.stats().system_allocations;
    step();
    new_faults = std::min(new_faults, page_faults() - faults);
    new_allocations = std::min(new_allocations, allocator.stats().system_allocations - allocations);
  }
  const double step_time = shortest_time(step, 5 * setup.seconds);
  const double forward_time = shortest_time(forward, setup.seconds);
  // A step without gradients is none at all, so the optimizer is timed with those of one step.
  {
    Tape tape;
    tape.backward(forward());
  }
  const double optimizer_time = shortest_time([&] { optimizer.step(); }, setup.seconds);
  const double flops = step_flops(model.config(), setup.batch, length);
  print_output("{} parameters, {} x {} tokens, in {}\n",
               format_count(static_cast<double>(model.config().parameter_count())), setup.batch,
               length, precision.about);
  print_flops("training step", step_time, flops, peak);
  print_flops("  forward and loss", forward_time, flops / 3, peak);
  print_flops("  backward (the rest)", std::max(0.0, step_time - forward_time - optimizer_time),
              flops * 2 / 3, peak);
  print_output("{:<48} {:>10.3f} ms\n", "  optimizer", optimizer_time * 1e3);
  print_output(
      "{} tokens/s, peak memory {}; in a steady step {} allocations from the system and "
      "{} page faults\n",
      format_count(static_cast<double>(tokens) / step_time),
      format_bytes(static_cast<double>(allocator.stats().peak_bytes)), new_allocations, new_faults);
  print_step_parts(step, std::clamp<int64_t>(std::lround(setup.seconds / step_time), 1, 100), peak);
}

void bench_tokenize(const BenchSetup& setup) {
  std::string text;
  StoryStream stories(1);
  while (text.size() < 2'000'000) text += stories.next().text;
  std::unique_ptr<Tokenizer> tokenizer;
  const double training = shortest_time(
      [&] {
        BpeTrainer trainer({.vocab_size = 1000});
        trainer.add_text(text);
        tokenizer = trainer.train();
      },
      setup.seconds);
  std::vector<int32_t> ids;
  const double encoding = shortest_time([&] { ids = tokenizer->encode(text); }, setup.seconds);
  const double decoding = shortest_time([&] { tokenizer->decode(ids); }, setup.seconds);
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  print_output("{:.1f} MB of built-in stories, BPE of {} tokens, {:.2f} bytes per token\n",
               megabytes, tokenizer->vocab_size(),
               static_cast<double>(text.size()) / static_cast<double>(ids.size()));
  print_output("train {:>8.1f} MB/s\nencode {:>7.1f} MB/s\ndecode {:>7.1f} MB/s\n",
               megabytes / training, megabytes / encoding, megabytes / decoding);
}

}  // namespace tapir::app
