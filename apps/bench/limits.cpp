#include "apps/bench/limits.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/cpu/allocator.h"
#include "backends/cpu/instances.h"
#include "backends/cpu/parallel.h"

namespace tapir::app {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_of(const std::function<void()>& body) {
  const Clock::time_point start = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr int64_t kRounds = 20000;  // of a loop that measures a peak

// What all threads reach together with a loop that returns how many operations it did.
double flops_of(const std::function<double(float* result)>& loop) {
  const int64_t items = int64_t{cpu::threads()} * 4;
  std::vector<float> results(static_cast<size_t>(items));
  std::vector<double> flops(static_cast<size_t>(items));
  const auto run = [&] {
    cpu::parallel_for(items, kRounds * 16, [&](int64_t i) {
      const auto item = static_cast<size_t>(i);
      flops[item] = loop(&results[item]);
    });
  };
  const double seconds = shortest_time(run, 0.2);
  return std::accumulate(flops.begin(), flops.end(), 0.0) / seconds;
}

constexpr int64_t kBuffer = int64_t{64} << 20;  // bytes of one buffer; larger than most caches
constexpr int64_t kPiece = int64_t{1} << 16;    // elements

}  // namespace

double shortest_time(const std::function<void()>& body, double budget) {
  body();
  double shortest = std::numeric_limits<double>::infinity(), spent = 0;
  for (int run = 0; run < 3 || spent < budget; ++run) {
    const double seconds = seconds_of(body);
    shortest = std::min(shortest, seconds);
    spent += seconds;
  }
  return shortest;
}

double peak_flops() {
  const cpu::Isa isa = cpu::chosen_isa();
  return flops_of([isa](float* result) { return cpu::multiply_add_loop(isa, kRounds, result); });
}

double tile_peak_flops() {
  return flops_of([](float*) { return cpu::tile_loop(kRounds); });
}

double read_bandwidth(int64_t bytes) {
  constexpr int64_t kLine = 64, kAhead = 2048, kLines = 256;  // of memory, and in one piece
  const int64_t lines = std::max<int64_t>(1, bytes / kLine);
  const cpu::Scratch<char> buffer(lines * kLine);
  std::fill_n(buffer.data(), lines * kLine, char{1});
  std::vector<int64_t> sums(static_cast<size_t>(lines / kLines + 1));
  // One number of each line is enough to have all of it read.
  const auto run = [&] {
    cpu::parallel_pieces(lines, kLines, 16, [&](int64_t piece, int64_t begin, int64_t end) {
      int64_t sum = 0;
      for (const char* line = buffer.data() + begin * kLine; line < buffer.data() + end * kLine;
           line += kLine) {
        __builtin_prefetch(line + kAhead);
        sum += *line;
      }
      sums[static_cast<size_t>(piece)] = sum;
    });
  };
  return static_cast<double>(lines * kLine) / shortest_time(run, 0.2);
}

double triad_bandwidth() {
  constexpr int64_t kCount = kBuffer / int64_t{sizeof(float)};
  const cpu::Scratch<float> a(kCount), b(kCount), d(kCount);
  const auto run = [&] {
    cpu::parallel_pieces(kCount, kPiece, 1, [&](int64_t, int64_t begin, int64_t end) {
      float* to = a.data();
      const float* x = b.data();
      const float* y = d.data();
      for (int64_t i = begin; i < end; ++i) to[i] = x[i] + 0.5f * y[i];
    });
  };
  std::fill_n(b.data(), kCount, 1.0f);
  std::fill_n(d.data(), kCount, 2.0f);
  return 3.0 * static_cast<double>(kBuffer) / shortest_time(run, 0.2);
}

}  // namespace tapir::app
