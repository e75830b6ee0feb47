// Writing text token by token, beside the time that reading the weights once takes.
#include <algorithm>
#include <chrono>
#include <limits>

#include "apps/bench/bench.h"
#include "apps/bench/kernel_parts.h"
#include "apps/bench/limits.h"
#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "autograd/ops.h"
#include "nn/compressed_weight.h"
#include "nn/generate.h"

namespace tapir::app {
namespace {

// Bytes of the weights that each token is multiplied with.
double weight_bytes(double elements, std::optional<Compression> compression) {
  if (!compression) return 4 * elements;
  if (*compression == Compression::bf16) return 2 * elements;
  return (1 + 2.0 / CompressedMatrix::kGroup) * elements;
}

double prompt_seconds(const BenchSetup& setup, const nn::TransformerLM& model, int64_t length) {
  const Tensor ids = some_ids(1, length, setup.vocab);
  nn::KvCache cache = model.make_cache(1);
  nn::ForwardContext with_cache;
  with_cache.cache = &cache;
  const auto run = [&] {
    cache.clear();
    const Tensor hidden = model.hidden(ids, with_cache);
    model.logits(slice(hidden, 1, length - 1, length));
  };
  return shortest_time(run, setup.seconds);
}

// The shortest time from one token to the next, with all that tapir generate does: passes, cache
// and sampling.
double token_seconds(const BenchSetup& setup, const nn::TransformerLM& model, int64_t prompt) {
  using Clock = std::chrono::steady_clock;
  nn::GenerateOptions options;
  options.max_new_tokens = std::max<int64_t>(2, setup.model.context - prompt);
  double shortest = std::numeric_limits<double>::infinity();
  std::vector<Clock::time_point> times;
  options.on_token = [&](int64_t, int32_t) {
    times.push_back(Clock::now());
    return true;
  };
  const std::vector<int32_t> ids = some_ids(1, prompt, setup.vocab).to_ints();
  const auto run = [&] {
    times.clear();
    nn::generate(model, {ids}, options);
    for (size_t i = 1; i < times.size(); ++i) {
      const std::chrono::duration<double> taken = times[i] - times[i - 1];
      shortest = std::min(shortest, taken.count());
    }
  };
  shortest_time(run, 2 * setup.seconds);
  return shortest;
}

void print_parts(const BenchSetup& setup, const nn::TransformerLM& model, int64_t prompt,
                 double bytes, double bandwidth) {
  KernelParts parts;
  nn::GenerateOptions options;
  options.max_new_tokens = std::max<int64_t>(2, setup.model.context - prompt);
  int64_t count = -1;  // the first token comes with the prompt
  options.on_token = [&](int64_t, int32_t) {
    ++count == 0 ? parts.start() : parts.stop();
    return true;
  };
  nn::generate(model, {some_ids(1, prompt, setup.vocab).to_ints()}, options);
  parts.print("token", count, [&](std::string_view kernel, const KernelParts::Part& part) {
    if (kernel.find("product") == std::string_view::npos && kernel != "matmul")
      return std::string();
    // Each weight is used for two operations.
    const double read = part.flops / 2 * bytes / matrix_elements(model.config());
    return fmt::format(" {:>5.0f} % of reading its weights alone",
                       100 * read / part.seconds / bandwidth);
  });
}

}  // namespace

void bench_generate(const BenchSetup& setup) {
  const int64_t prompt = std::max<int64_t>(1, setup.model.context / 2);
  const nn::TransformerConfig config = setup.model.transformer(setup.vocab);
  const double elements = matrix_elements(config);
  const bool groups = config.d_model % CompressedMatrix::kGroup == 0 &&
                      config.feed_forward_width() % CompressedMatrix::kGroup == 0;
  print_output("{} parameters\n", format_count(static_cast<double>(config.parameter_count())));
  for (const char* name : {"f32", "bf16", "int8"}) {
    const auto compression = nn::parse_weights(name);
    if (compression == Compression::int8 && !groups) continue;  // has no such weights
    nn::TransformerLM model = bench_model(setup);
    if (compression) nn::compress_weights(model, *compression);
    const double bytes = weight_bytes(elements, compression);
    const double peak = peak_flops();
    const double prompt_time = prompt_seconds(setup, model, prompt);
    const double bandwidth = read_bandwidth(static_cast<int64_t>(bytes));
    const double token_time = token_seconds(setup, model, prompt);
    print_flops(fmt::format("{} prompt of {} tokens", name, prompt), prompt_time,
                2 * elements * static_cast<double>(prompt), peak);
    print_output(
        "{:<48} {:>10.3f} ms {:>8.1f} GB/s    {:>4.0f} % of reading the weights alone, {:.1f}\n",
        fmt::format("{} one token, {} of weights", name, format_bytes(bytes)), token_time * 1e3,
        bytes / token_time / 1e9, 100 * bytes / token_time / bandwidth, bandwidth / 1e9);
    print_output("{}: prompt {} tokens/s, then {} tokens/s\n", name,
                 format_count(static_cast<double>(prompt) / prompt_time),
                 format_count(1 / token_time));
    print_parts(setup, model, prompt, bytes, bandwidth);
  }
}

}  // namespace tapir::app
