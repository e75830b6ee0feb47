// The training loop.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

#include "apps/config/run_config.h"
#include "apps/data/dataset.h"
#include "apps/data/evaluation.h"
#include "apps/data/window_sampler.h"
#include "apps/training/training_state.h"
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
  bool best = false;  // the validation is the best so far
};

// Is told after each step.
class TrainingObserver {
 public:
  virtual ~TrainingObserver() = default;
  virtual void step_done(const StepReport& report) = 0;
};

enum class StopReason { finished, interrupted, no_improvement };

class Trainer {
 public:
  // `data` must outlive the trainer. Text shorter than a window is an Error.
  Trainer(const RunConfig& config, const Dataset& data, Device device);

  // Continues from a checkpoint of a run with the same model, in whichever precision that was.
  void restore(const std::filesystem::path& checkpoint);

  // Trains until the last step, a signal, or the end of patience. A loss or gradient that is not
  // finite is an Error that names the first bad tensor; the weights are then those before the step.
  StopReason run(TrainingObserver& observer);

  // The seconds that the passes of a step take, judged by one micro-batch. Nothing is learned.
  double time_one_step();

  const nn::TransformerLM& model() const { return model_; }
  const optim::AdamW& optimizer() const { return optimizer_; }
  const TrainingState& state() const { return state_; }
  const WindowSampler& sampler() const { return sampler_; }
  int64_t tokens_per_step() const;

 private:
  using Clock = std::chrono::steady_clock;

  // A step that the device may still be busy with. Its loss and the square of its gradient's norm
  // are f64 scalars there, which nobody has read yet.
  struct OpenStep {
    TrainingState before;
    double lr = 0;
    Tensor loss, squared_norm;
  };

  void begin_step();
  bool must_finish() const;
  std::vector<StepReport> finish_steps();
  std::vector<Batch> next_batches() const;
  Tensor accumulate_gradients(const std::vector<Batch>& batches, Generator& dropout) const;
  void update_weights(OpenStep& step);
  int64_t windows_per_step() const;
  [[noreturn]] void explain_nonfinite(std::string_view what, const TrainingState& before);
  void evaluate(StepReport& report);
  bool evaluation_due() const;
  bool out_of_patience() const;

  RunConfig config_;
  Device device_;
  nn::TransformerLM model_;
  std::vector<NamedTensor> parameters_;
  optim::AdamW optimizer_;
  optim::Schedule schedule_;
  WindowSampler sampler_;
  std::optional<Validation> validation_;
  TrainingState state_;
  Tensor positions_;  // of a window's tokens
  // 0, or NaN since a loss or gradient was not finite: from then on no step changes anything.
  Tensor health_;
  std::vector<OpenStep> open_;
  Clock::time_point opened_;  // the first of them
  bool warm_ = false;         // a step was finished, so kernels are loaded and memory is there
};

}  // namespace tapir::app
