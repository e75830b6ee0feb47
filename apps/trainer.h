// The training loop.
#pragma once

#include <memory>
#include <optional>

#include "apps/data/batches.h"
#include "apps/data/dataset.h"
#include "apps/data/evaluation.h"
#include "apps/run_config.h"
#include "apps/training_state.h"
#include "nn/transformer.h"
#include "optim/adamw.h"

namespace tapir::app {

// What one step measured.
struct StepReport {
  int64_t step = 0;  // counted from 1
  double loss = 0;   // of the batch, nats per token
  double lr = 0;
  double grad_norm = 0;  // before clipping
  double tokens_per_s = 0;
  double seconds = 0;  // since training began, over all sessions
  std::optional<Evaluation> validation;
};

// Is told what happens during training.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void step_done(const StepReport& report) = 0;
};

enum class StopReason { finished, interrupted };

class Trainer {
 public:
  // `data` must outlive the trainer. Text shorter than a window is an Error.
  Trainer(const RunConfig& config, const Dataset& data, Device device);

  // Trains until the last step.
  StopReason run(TrainingObserver& observer);

  const nn::TransformerLM& model() const { return model_; }
  const optim::AdamW& optimizer() const { return optimizer_; }
  const TrainingState& state() const { return state_; }

 private:
  StepReport train_step();
  double accumulate_gradients();
  bool evaluation_due() const;

  RunConfig config_;
  Device device_;
  Generator init_;
  nn::TransformerLM model_;
  std::vector<NamedTensor> parameters_;
  optim::AdamW optimizer_;
  optim::Schedule schedule_;
  RandomWindows windows_;
  std::optional<Validation> validation_;
  TrainingState state_;
};

}  // namespace tapir::app
