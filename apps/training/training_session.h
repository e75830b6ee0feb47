// One session of a training run: the loop with everything that a person sees and keeps of it.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "apps/training/progress.h"
#include "apps/training/run_folder.h"
#include "apps/training/trainer.h"

namespace tapir::app {

class TrainingSession : public TrainingObserver {
 public:
  // All but the last must outlive the session. `end_tokens` are those of an imported model, which
  // its checkpoints keep.
  TrainingSession(const RunConfig& config, const Dataset& data, Trainer& trainer, RunFolder& folder,
                  std::vector<int32_t> end_tokens);

  // Trains, and saves at the end or at a signal. What cannot be written meanwhile is an Error or a
  // warning, as the configuration says; at the end it is an Error. An Error says which checkpoint
  // is still there.
  StopReason run();

 private:
  void step_done(const StepReport& report) override;
  void save(bool best);
  // Writes something. An Error ends the training only if the user wants it to; else it is shown.
  void attempt(const std::string& what, const std::function<void()>& write);
  void write_measurements(const StepReport& report);
  void warn(const std::string& what);
  void sample(int64_t step);
  void draw_loss();
  // At a validation: not again until drawing is a twentieth of the time.
  void draw_loss_in_turn();
  void report_end(StopReason reason);

  const RunConfig& config_;
  const Dataset& data_;
  Trainer& trainer_;
  RunFolder& folder_;
  std::vector<int32_t> end_tokens_;
  Progress progress_;
  int64_t saved_step_;
  uint64_t train_data_;
  bool measurements_wait_ = false;  // the latest could not be written
  std::chrono::steady_clock::time_point next_drawing_;
};

}  // namespace tapir::app
