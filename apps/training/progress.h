// What a person sees of a training run: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "apps/training/trainer.h"

namespace tapir::app {

class Progress {
 public:
  struct Options {
    int64_t first_step = 0;  // steps done by earlier sessions
    int64_t steps = 0;       // of the whole run
    int64_t log_every = 0;   // steps between plain lines; 0: about 50 in all
    bool terminal = false;
  };

  explicit Progress(const Options& options) : options_(options) {}

  void show(const StepReport& report);
  // Prints lines that stay, above the bar if there is one.
  void print(std::string_view text);
  // Removes the bar.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void measure(const StepReport& report);
  double seconds_left(const StepReport& report) const;
  bool line_due(int64_t step) const;

  Options options_;
  Clock::time_point last_ = Clock::now();
  Clock::time_point drawn_;
  double seconds_per_step_ = 0;  // smoothed, with evaluations and all
  double tokens_per_s_ = 0;      // smoothed
  int64_t measured_ = 0;
  bool bar_shown_ = false;
};

// The line of a terminal in at most `width` characters: percentage, a bar if there is room for it,
// and the figures, of which the less important ones give way.
std::string progress_bar(const StepReport& report, int64_t steps, double tokens_per_s,
                         double seconds_left, int width);

// "validation loss 1.5732 nats/token, perplexity 4.82, 2.270 bits/byte", with the distance from
// the floor if it is known.
std::string describe(const Evaluation& evaluation);

}  // namespace tapir::app
