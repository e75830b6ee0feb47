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
      validation_(make_validation(config, data)),
      positions_(Tensor::arange(config.model.context, DType::i32, device)),
      health_(Tensor::zeros({}, DType::f64, device)) {
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
    begin_step();
    if (!must_finish()) continue;
    for (StepReport& report : finish_steps()) {
      if (report.step == state_.step && evaluation_due()) evaluate(report);
      observer.step_done(report);
    }
    if (StopSignals::stop_requested()) return StopReason::interrupted;
    if (out_of_patience()) return StopReason::no_improvement;
  }
  return StopReason::finished;
}

// Asks the device for a step. What it measures is read later, so that the device need not wait for
// the host to ask for the next one.
void Trainer::begin_step() {
  if (open_.empty()) opened_ = Clock::now();
  OpenStep& step = open_.emplace_back();
  step.before = state_;
  step.lr = schedule_.at(state_.step + 1);
  DetectAnomaly::set_step(state_.step + 1);
  const std::vector<Batch> batches = next_batches();
  const auto work = [&] {
    step.loss = accumulate_gradients(batches, state_.dropout);
    update_weights(step);
  };
  // Targets that do not count, and looking for values that are not finite, need the host.
  const bool by_itself = warm_ && !config_.training.detect_anomaly &&
                         std::all_of(batches.begin(), batches.end(), [](const Batch& batch) {
                           return batch.counted == batch.targets.numel();
                         });
  by_itself ? health_.backend().run_as_one(work) : work();
  ++state_.step;
  state_.data.windows += windows_per_step();
}

void Trainer::update_weights(OpenStep& step) {
  step.squared_norm = optim::squared_grad_norm(parameters_);
  if (config_.optimizer.clip > 0)
    optim::limit_grad_norm(parameters_, step.squared_norm, config_.optimizer.clip);
  health_ = health_ + (step.loss + step.squared_norm) * 0.0;
  optimizer_.set_lr(step.lr);
  optimizer_.step(health_);
  optimizer_.zero_grad();
}

// Whether somebody needs what the last step measured, or enough steps are open.
bool Trainer::must_finish() const {
  constexpr size_t kStepsAhead = 16;
  return device_ == kCpu || open_.size() >= kStepsAhead || evaluation_due() ||
         due(state_.step, config_.output.save_every) ||
         due(state_.step, config_.output.sample_every) || state_.step == config_.training.steps ||
         StopSignals::stop_requested();
}

// Reads what the open steps measured. They are taken to have lasted equally long.
std::vector<StepReport> Trainer::finish_steps() {
  std::vector<StepReport> reports;
  for (const OpenStep& step : open_) {
    StepReport& report = reports.emplace_back();
    report.step = step.before.step + 1;
    report.lr = step.lr;
    report.loss = step.loss.item();
    if (!std::isfinite(report.loss)) explain_nonfinite("loss", step.before);
    report.grad_norm = std::sqrt(step.squared_norm.item());
    if (!std::isfinite(report.grad_norm)) explain_nonfinite("gradient", step.before);
  }
  const double seconds = seconds_since(opened_) / static_cast<double>(open_.size());
  for (StepReport& report : reports) {
    report.tokens_per_s = static_cast<double>(tokens_per_step()) / seconds;
    report.seconds = state_.seconds += seconds;
  }
  open_.clear();
  warm_ = true;
  return reports;
}

// The micro-batches of the step after state_.step.
std::vector<Batch> Trainer::next_batches() const {
  const TrainingConfig& training = config_.training;
  std::vector<Batch> batches;
  for (int64_t part = 0; part < training.accumulate; ++part) {
    const int64_t first = training.overfit_one_batch ? 0 : state_.data.windows;
    batches.push_back(sampler_.batch(first + part * training.batch, training.batch, device_));
  }
  return batches;
}

// Adds up the gradients of the mean loss over all tokens that the batches predict, and returns that
// loss: an f64 scalar.
Tensor Trainer::accumulate_gradients(const std::vector<Batch>& batches, Generator& dropout) const {
  nn::ForwardContext context;
  context.positions = positions_;
  context.dropout = config_.model.dropout > 0 ? &dropout : nullptr;
  context.checkpoint = config_.training.checkpoint_activations;
  int64_t counted = 0;
  for (const Batch& batch : batches) counted += batch.counted;
  Tensor loss = Tensor::zeros({}, DType::f64, device_);
  for (const Batch& batch : batches) {
    Tape tape;
    const Tensor logits = model_(batch.inputs, context);
    const Tensor part_loss = cross_entropy(logits, batch.targets, Reduction::sum, kIgnored) /
                             static_cast<double>(counted);
    tape.backward(part_loss);
    loss = loss + to(detach(part_loss), DType::f64);
  }
  return loss;
}

// Something was not finite in the step after `before`: finds out what came first. The weights are
// still those from before it.
void Trainer::explain_nonfinite(std::string_view what, const TrainingState& before) {
  state_ = before;
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
    const DetectAnomaly anomaly;
    DetectAnomaly::set_step(step);
    accumulate_gradients(next_batches(), state_.dropout);
    optim::grad_norm(parameters_);
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
  return due(state_.step, config_.training.eval_every) || state_.step == config_.training.steps;
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
  const TrainingConfig& training = config_.training;
  const std::vector<Batch> part = {sampler_.batch(
      training.overfit_one_batch ? 0 : state_.data.windows, training.batch, device_)};
  for (int pass = 0; pass < 4 && spent < kBudget; ++pass) {
    Generator dropout = state_.dropout;
    const Clock::time_point start = Clock::now();
    accumulate_gradients(part, dropout).item();
    optimizer_.zero_grad();
    const double seconds = seconds_since(start);
    fastest = std::min(fastest, seconds);
    spent += seconds;
  }
  return fastest * static_cast<double>(training.accumulate);
}

int64_t Trainer::windows_per_step() const {
  return config_.training.batch * config_.training.accumulate;
}

int64_t Trainer::tokens_per_step() const {
  return windows_per_step() * config_.model.context;
}

}  // namespace tapir::app
