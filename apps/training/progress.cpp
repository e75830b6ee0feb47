#include "apps/training/progress.h"

#include <algorithm>
#include <cmath>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"

namespace tapir::app {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr std::chrono::milliseconds kRedraw{100};

// The least of 1, 2, 5, 10, 20, 50, ... that makes at most `most` steps of `count`.
int64_t round_interval(int64_t count, int64_t most) {
  for (int64_t power = 1;; power *= 10) {
    for (const int64_t factor : {1, 2, 5}) {
      if (count / (power * factor) <= most) return power * factor;
    }
  }
}

// The figures of a step. On a narrow line the less important ones are left out.
class Figures {
 public:
  Figures(const StepReport& report, int64_t steps, double tokens_per_s, double seconds_left)
      : parts_{{fmt::format("step {}/{}", report.step, steps), 0},
               {fmt::format("loss {:.4f}", report.loss), 1},
               {fmt::format("lr {:.2e}", report.lr), 5},
               {fmt::format("grad norm {:.2f}", report.grad_norm), 4},
               {format_count(tokens_per_s) + " tokens/s", 3},
               {report.step == steps ? "done" : format_duration(seconds_left) + " left", 2}} {}

  // At most `width` characters, unless the most important figure alone has more.
  std::string line(size_t width) const {
    std::string text;
    for (int least = static_cast<int>(parts_.size()); least > 0; --least) {
      text.clear();
      for (const Part& part : parts_) {
        if (part.rank >= least) continue;
        text += (text.empty() ? "" : "  ") + part.text;
      }
      if (text.size() <= width) break;
    }
    return text;
  }

 private:
  struct Part {
    std::string text;
    int rank;  // 0: the most important
  };
  std::vector<Part> parts_;
};

}  // namespace

std::string progress_bar(const StepReport& report, int64_t steps, double tokens_per_s,
                         double seconds_left, int width) {
  constexpr int kShortest = 8, kLongest = 30;
  const double done = static_cast<double>(report.step) / static_cast<double>(steps);
  std::string line = fmt::format("{:3.0f} % ", std::floor(done * 100));
  const int left = std::max(width - static_cast<int>(line.size()), 0);
  const std::string text =
      Figures(report, steps, tokens_per_s, seconds_left).line(static_cast<size_t>(left));
  const int room = left - static_cast<int>(text.size()) - 3;
  if (room >= kShortest) {
    const int length = std::min(room, kLongest);
    const int filled = static_cast<int>(done * length);
    line += fmt::format("[{:-<{}}] ", std::string(static_cast<size_t>(filled), '='), length);
  }
  return (line + text).substr(0, static_cast<size_t>(std::max(width, 1)));
}

std::string describe(const Evaluation& evaluation) {
  std::string text =
      fmt::format("validation loss {:.4f} nats/token, perplexity {:.2f}, {:.4f} bits/byte",
                  evaluation.loss(), evaluation.perplexity(), evaluation.bits_per_byte());
  if (const auto floor = evaluation.floor_bits_per_byte()) {
    text += fmt::format(", {:.1f} % above the floor of {:.4f}",
                        (evaluation.bits_per_byte() / *floor - 1) * 100, *floor);
  }
  return text;
}

void Progress::show(const StepReport& report) {
  measure(report);
  if (report.validation) {
    print(fmt::format("step {}: {}{}\n", report.step, describe(*report.validation),
                      report.best ? " (best)" : ""));
  }
  if (!options_.terminal) {
    if (line_due(report.step)) {
      const Figures figures(report, options_.steps, tokens_per_s_, seconds_left(report));
      write_output_if_possible(figures.line(std::string::npos) + "\n");
    }
    return;
  }
  const auto now = Clock::now();
  if (now - drawn_ < kRedraw && report.step != options_.steps) return;
  drawn_ = now;
  bar_shown_ = true;
  write_output_if_possible(fmt::format("{}{}", kClearLine,
                                       progress_bar(report, options_.steps, tokens_per_s_,
                                                    seconds_left(report), terminal_width() - 1)));
}

void Progress::print(std::string_view text) {
  if (bar_shown_) write_output_if_possible(kClearLine);
  bar_shown_ = false;
  write_output_if_possible(text);
}

void Progress::finish() {
  print("");
}

void Progress::measure(const StepReport& report) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  // A plain mean at first, then one that forgets what is more than a hundred steps old.
  ++measured_;
  const double weight = std::max(1.0 / static_cast<double>(measured_), 0.01);
  seconds_per_step_ += weight * (seconds - seconds_per_step_);
  tokens_per_s_ += weight * (report.tokens_per_s - tokens_per_s_);
}

double Progress::seconds_left(const StepReport& report) const {
  return static_cast<double>(options_.steps - report.step) * seconds_per_step_;
}

bool Progress::line_due(int64_t step) const {
  constexpr int64_t kLines = 50;
  const int64_t interval =
      options_.log_every > 0 ? options_.log_every : round_interval(options_.steps, kLines);
  const bool first = step == options_.first_step + 1;
  return first || step % interval == 0 || step == options_.steps;
}

}  // namespace tapir::app
