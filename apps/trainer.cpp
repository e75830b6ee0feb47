#include "apps/trainer.h"

#include <chrono>
#include <limits>

#include "autograd/ops.h"
#include "optim/clip.h"

namespace tapir::app {
namespace {

// Each use of randomness has a seed of its own, so that none disturbs another.
enum class Purpose : uint64_t { initialisation, batches, dropout };

uint64_t seed_for(const RunConfig& config, Purpose purpose) {
  const PhiloxBlock block =
      philox(static_cast<uint64_t>(config.training.seed), static_cast<uint64_t>(purpose));
  return static_cast<uint64_t>(block.word[1]) << 32 | block.word[0];
}

optim::AdamWOptions adamw_options(const OptimizerConfig& config) {
  return {.lr = config.lr,
          .beta1 = config.beta1,
          .beta2 = config.beta2,
          .eps = config.eps,
          .weight_decay = config.weight_decay};
}

std::optional<Validation> make_validation(const RunConfig& config, const Dataset& data) {
  if (config.training.eval_every == 0) return std::nullopt;
  require(data.validation.size() > config.model.context, "data",
          "the validation text has {} tokens, but a window takes --context + 1 = {}; the longest "
          "legal context is {}; use a shorter one, a larger --val-fraction, or --eval-every 0",
          data.validation.size(), config.model.context + 1, data.validation.size() - 1);
  return Validation(data.validation, *data.tokenizer, config.training.eval_batches,
                    config.training.batch, config.model.context);
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Trainer::Trainer(const RunConfig& config, const Dataset& data, Device device)
    : config_(config),
      device_(device),
      init_(seed_for(config, Purpose::initialisation)),
      model_(config.model.transformer(data.tokenizer->vocab_size()), init_, DType::f32, device),
      parameters_(model_.named_parameters()),
      optimizer_(parameters_, adamw_options(config.optimizer)),
      schedule_(config.schedule()),
      windows_(data.train, "training", config.training.batch, config.model.context,
               seed_for(config, Purpose::batches)),
      validation_(make_validation(config, data)) {
  state_.dropout = Generator(seed_for(config, Purpose::dropout));
}

StopReason Trainer::run(TrainingObserver& observer) {
  while (state_.step < config_.training.steps) {
    StepReport report = train_step();
    if (evaluation_due()) report.validation = validation_->run(model_);
    observer.step_done(report);
  }
  return StopReason::finished;
}

StepReport Trainer::train_step() {
  const Stopwatch watch;
  StepReport report;
  report.step = state_.step + 1;
  report.lr = schedule_.at(report.step);
  report.loss = accumulate_gradients();
  const double max_norm = config_.optimizer.clip;
  report.grad_norm =
      max_norm > 0 ? optim::clip_grad_norm(parameters_, max_norm) : optim::grad_norm(parameters_);
  optimizer_.set_lr(report.lr);
  optimizer_.step();
  optimizer_.zero_grad();

  state_.step = report.step;
  const double seconds = watch.seconds();
  const TrainingConfig& t = config_.training;
  const int64_t tokens = t.batch * t.accumulate * config_.model.context;
  report.tokens_per_s = static_cast<double>(tokens) / seconds;
  report.seconds = state_.seconds += seconds;
  return report;
}

// The gradients of the mean loss over all micro-batches of the step. They are equally long, so the
// mean of their means is the mean over all tokens.
double Trainer::accumulate_gradients() {
  const int64_t parts = config_.training.accumulate;
  nn::ForwardContext context;
  context.dropout = config_.model.dropout > 0 ? &state_.dropout : nullptr;
  double loss = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const Batch batch = windows_.at(state_.step * parts + part, device_);
    Tape tape;
    const Tensor logits = model_(batch.inputs, context);
    const Tensor part_loss = cross_entropy(logits, batch.targets) / static_cast<double>(parts);
    tape.backward(part_loss);
    loss += part_loss.item();
  }
  return loss;
}

bool Trainer::evaluation_due() const {
  if (!validation_) return false;
  return state_.step % config_.training.eval_every == 0 || state_.step == config_.training.steps;
}

}  // namespace tapir::app
