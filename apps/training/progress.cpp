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

}  // namespace

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
    if (line_due(report.step)) write_output_if_read(status(report) + "\n");
    return;
  }
  const auto now = Clock::now();
  if (now - drawn_ < kRedraw && report.step != options_.steps) return;
  drawn_ = now;
  bar_shown_ = true;
  write_output_if_read(fmt::format("{}{}", kClearLine, bar(report, terminal_width() - 1)));
}

void Progress::print(std::string_view text) {
  if (bar_shown_) write_output_if_read(kClearLine);
  bar_shown_ = false;
  write_output_if_read(text);
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

std::string Progress::status(const StepReport& report) const {
  const auto left = static_cast<double>(options_.steps - report.step) * seconds_per_step_;
  return fmt::format("step {}/{}  loss {:.4f}  lr {:.2e}  grad norm {:.2f}  {} tokens/s  {}",
                     report.step, options_.steps, report.loss, report.lr, report.grad_norm,
                     format_count(tokens_per_s_),
                     report.step == options_.steps ? "done" : format_duration(left) + " left");
}

std::string Progress::bar(const StepReport& report, int width) const {
  const double done = static_cast<double>(report.step) / static_cast<double>(options_.steps);
  const std::string text = status(report);
  const int room = width - static_cast<int>(text.size()) - 9;
  std::string line = fmt::format("{:3.0f} % ", std::floor(done * 100));
  if (room >= 8) {
    const int length = std::min(room, 30);
    const int filled = static_cast<int>(done * length);
    line += fmt::format("[{:-<{}}] ", std::string(static_cast<size_t>(filled), '='), length);
  }
  line += text;
  return line.substr(0, static_cast<size_t>(std::max(width, 1)));
}

bool Progress::line_due(int64_t step) const {
  constexpr int64_t kLines = 50;
  const int64_t interval =
      options_.log_every > 0 ? options_.log_every : round_interval(options_.steps, kLines);
  const bool first = step == options_.first_step + 1;
  return first || step % interval == 0 || step == options_.steps;
}

}  // namespace tapir::app
