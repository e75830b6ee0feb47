// One session of a training run: the loop with everything that a person sees and keeps of it.
#pragma once

#include <string>

#include "apps/training/progress.h"
#include "apps/training/run_folder.h"
#include "apps/training/trainer.h"

namespace tapir::app {

class TrainingSession : public TrainingObserver {
 public:
  // All must outlive the session.
  TrainingSession(const RunConfig& config, const Dataset& data, Trainer& trainer,
                  RunFolder& folder);

  // Trains, and saves at the end or at a signal. An Error from training says which checkpoint is
  // still there.
  StopReason run();

 private:
  void step_done(const StepReport& report) override;
  void save(bool best);
  void save_if_due(const StepReport& report);
  void sample(int64_t step);
  void draw_loss();
  void report_end(StopReason reason);

  const RunConfig& config_;
  const Dataset& data_;
  Trainer& trainer_;
  RunFolder& folder_;
  Progress progress_;
  int64_t saved_step_;
};

}  // namespace tapir::app
