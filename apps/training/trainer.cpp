#include "apps/training/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "apps/signals.h"
#include "apps/training/checkpoint.h"
#include "autograd/anomaly.h"
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

nn::TransformerLM make_model(const RunConfig& config, const Tokenizer& tokenizer, DType dtype,
                             Device device) {
  Generator generator(seed_for(config, Purpose::initialisation));
  return nn::TransformerLM(config.model.transformer(tokenizer.vocab_size()), generator, dtype,
                           device);
}

optim::AdamWOptions adamw_options(const OptimizerConfig& config) {
  return {.lr = config.lr,
          .beta1 = config.beta1,
          .beta2 = config.beta2,
          .eps = config.eps,
          .weight_decay = config.weight_decay};
}

std::optional<Validation> make_validation(const RunConfig& config, const Dataset& data) {
  const TrainingConfig& training = config.training;
  if (training.eval_every == 0) return std::nullopt;
  return Validation(data, training.eval_batches, training.batch, config.model.context);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Trainer::Trainer(const RunConfig& config, const Dataset& data, Device device)
    : config_(config),
      device_(device),
      model_(
          make_model(config, *data.tokenizer, parameter_dtype(config.training.precision), device)),
      parameters_(model_.named_parameters()),
      optimizer_(parameters_, adamw_options(config.optimizer)),
      schedule_(config.schedule()),
      sampler_(data.train, "training", config.model.context, config.data.sampling,
               seed_for(config, Purpose::batches)),
      validation_(make_validation(config, data)) {
  state_.dropout = Generator(seed_for(config, Purpose::dropout));
  state_.data.seed = sampler_.seed();
  if (parameter_dtype(config.training.precision) == DType::f32) return;
  // The weights that a run in f32 begins with.
  optimizer_.set_masters(make_model(config, *data.tokenizer, DType::f32, device).state_dict());
}

void Trainer::restore(const std::filesystem::path& checkpoint) {
  const CheckpointInfo info = read_checkpoint_info(checkpoint);
  // A model from elsewhere brings no place in any data.
  if (info.train_tokens > 0) state_ = info.state;
  sampler_.set_seed(state_.data.seed);
  load_training(checkpoint, info, model_, optimizer_);
}

StopReason Trainer::run(TrainingObserver& observer) {
  const DetectAnomaly anomaly(config_.training.detect_anomaly);
  while (state_.step < config_.training.steps) {
    StepReport report = train_step();
    if (evaluation_due()) evaluate(report);
    observer.step_done(report);
    if (StopSignals::stop_requested()) return StopReason::interrupted;
    if (out_of_patience()) return StopReason::no_improvement;
  }
  return StopReason::finished;
}

StepReport Trainer::train_step() {
  const Clock::time_point start = Clock::now();
  StepReport report;
  report.step = state_.step + 1;
  report.lr = schedule_.at(report.step);
  DetectAnomaly::set_step(report.step);

  const Generator dropout_before = state_.dropout;
  report.loss = accumulate_gradients(state_.dropout);
  if (!std::isfinite(report.loss)) explain_nonfinite("loss", dropout_before);
  try {
    report.grad_norm = clip_gradients();
  } catch (const Error&) {
    explain_nonfinite("gradient", dropout_before);
  }
  optimizer_.set_lr(report.lr);
  optimizer_.step();
  optimizer_.zero_grad();

  state_.step = report.step;
  state_.data.windows += windows_per_step();
  const double seconds = seconds_since(start);
  report.tokens_per_s = static_cast<double>(tokens_per_step()) / seconds;
  report.seconds = state_.seconds += seconds;
  return report;
}

// Adds up the gradients of the mean loss over all tokens that the micro-batches of a step predict.
double Trainer::accumulate_gradients(Generator& dropout) {
  const TrainingConfig& training = config_.training;
  nn::ForwardContext context;
  context.dropout = config_.model.dropout > 0 ? &dropout : nullptr;
  context.checkpoint = training.checkpoint_activations;
  std::vector<Batch> batches;
  int64_t counted = 0;
  for (int64_t part = 0; part < training.accumulate; ++part) {
    const int64_t first = training.overfit_one_batch ? 0 : state_.data.windows;
    batches.push_back(sampler_.batch(first + part * training.batch, training.batch, device_));
    counted += batches.back().counted;
  }
  double loss = 0;
  for (const Batch& batch : batches) {
    Tape tape;
    const Tensor logits = model_(batch.inputs, context);
    const Tensor part_loss = cross_entropy(logits, batch.targets, Reduction::sum, kIgnored) /
                             static_cast<double>(counted);
    tape.backward(part_loss);
    loss += part_loss.item();
  }
  return loss;
}

double Trainer::clip_gradients() {
  const double max_norm = config_.optimizer.clip;
  return max_norm > 0 ? optim::clip_grad_norm(parameters_, max_norm)
                      : optim::grad_norm(parameters_);
}

// Something was not finite in the step after state_.step: finds out what came first.
void Trainer::explain_nonfinite(std::string_view what, Generator dropout) {
  const int64_t step = state_.step + 1;
  constexpr std::string_view kAdvice = "lower --lr or --clip, or look with --detect-anomaly";
  for (const NamedTensor& parameter : parameters_) {
    const int64_t bad = parameter.tensor.backend().count_nonfinite(parameter.tensor.view());
    require(bad == 0, "train", "the {} of step {} is not finite: {} has {} such values; {}", what,
            step, parameter.name, bad, kAdvice);
  }
  std::string first_bad = "each value by itself is finite, their sum is not";
  try {
    // The same step again, looking at every value.
    optimizer_.zero_grad();
    const DetectAnomaly anomaly;
    accumulate_gradients(dropout);
    clip_gradients();
  } catch (const Error& error) {
    first_bad = error.what();
  }
  fail("train", "the {} of step {} is not finite; first: {}; {}", what, step, first_bad, kAdvice);
}

void Trainer::evaluate(StepReport& report) {
  const Clock::time_point start = Clock::now();
  report.validation = validation_->run(model_, StopSignals::stop_requested);
  if (report.validation) {
    const double loss = report.validation->loss();
    report.best = !state_.best_loss || loss < *state_.best_loss;
    ++state_.evaluations_since_best;
    if (report.best) {
      state_.best_loss = loss;
      state_.best_step = report.step;
      state_.evaluations_since_best = 0;
    }
  }
  report.seconds = state_.seconds += seconds_since(start);
}

bool Trainer::evaluation_due() const {
  if (!validation_) return false;
  return state_.step % config_.training.eval_every == 0 || state_.step == config_.training.steps;
}

bool Trainer::out_of_patience() const {
  const int64_t patience = config_.training.patience;
  return patience > 0 && state_.evaluations_since_best >= patience;
}

double Trainer::time_one_step() {
  constexpr double kBudget = 1.0;  // seconds
  // The first pass also loads libraries and fills the allocator, and other programs may disturb
  // each: the fastest comes nearest to the truth.
  double fastest = std::numeric_limits<double>::infinity(), spent = 0;
  for (int pass = 0; pass < 4 && spent < kBudget; ++pass) {
    Generator dropout = state_.dropout;
    const Clock::time_point start = Clock::now();
    accumulate_gradients(dropout);
    optimizer_.zero_grad();
    const double seconds = seconds_since(start);
    fastest = std::min(fastest, seconds);
    spent += seconds;
  }
  return fastest;
}

int64_t Trainer::windows_per_step() const {
  return config_.training.batch * config_.training.accumulate;
}

int64_t Trainer::tokens_per_step() const {
  return windows_per_step() * config_.model.context;
}

}  // namespace tapir::app
