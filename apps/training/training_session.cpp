#include "apps/training/training_session.h"

#include <utility>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/generation/prompt.h"
#include "apps/plot/loss_chart.h"
#include "apps/report/run_report.h"
#include "apps/signals.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/utf8_stream.h"
#include "nn/generate.h"

namespace tapir::app {
namespace {

// The text with a mark in front of each line.
std::string quote_lines(std::string_view text) {
  std::string quoted = "  | ";
  for (const char c : text) {
    quoted += c;
    if (c == '\n') quoted += "  | ";
  }
  return quoted + "\n";
}

}  // namespace

TrainingSession::TrainingSession(const RunConfig& config, const Dataset& data, Trainer& trainer,
                                 RunFolder& folder, std::vector<int32_t> end_tokens)
    : config_(config),
      data_(data),
      trainer_(trainer),
      folder_(folder),
      end_tokens_(std::move(end_tokens)),
      progress_({.first_step = trainer.state().step,
                 .steps = config.training.steps,
                 .log_every = config.output.log_every,
                 .terminal = output_is_terminal()}),
      saved_step_(trainer.state().step),
      train_data_(data.train.fingerprint()) {
  const Backend& device = trainer.model().token_embeddings.weight.backend();
  write_file(folder.machine_file(), machine_json(device.description()));
}

StopReason TrainingSession::run() {
  StopReason reason;
  try {
    reason = trainer_.run(*this);
    progress_.finish();
    if (saved_step_ != trainer_.state().step) save(false);
  } catch (const Error& error) {
    progress_.finish();
    draw_loss();
    std::string kept = "there was no checkpoint yet";
    if (saved_step_ > 0) {
      kept = fmt::format("the checkpoint of step {} is kept in {}", saved_step_,
                         folder_.path().string());
    } else if (folder_.replaces()) {
      kept += "; the run that was to be replaced is back";
    }
    throw Error(fmt::format("{}; {}", error.what(), kept));
  }
  draw_loss();
  report_end(reason);
  return reason;
}

void TrainingSession::step_done(const StepReport& report) {
  write_measurements(report);
  progress_.show(report);
  if (report.best || due(report.step, config_.output.save_every)) {
    attempt(fmt::format("step {} was not saved", report.step), [&] { save(report.best); });
  }
  if (report.validation) draw_loss_in_turn();
  const bool stopping = StopSignals::stop_requested();
  if (!stopping && due(report.step, config_.output.sample_every)) {
    attempt("the sample was not kept", [&] { sample(report.step); });
  }
}

// The folder keeps what it could not write, so that one warning is enough until it can again.
void TrainingSession::write_measurements(const StepReport& report) {
  try {
    folder_.append_metrics(report);
    measurements_wait_ = false;
  } catch (const Error& error) {
    if (config_.output.stop_unsaved) throw;
    if (!std::exchange(measurements_wait_, true)) {
      warn(fmt::format("measurements wait to be written: {}", error.what()));
    }
  }
}

void TrainingSession::warn(const std::string& what) {
  progress_.finish();
  print_message("tapir: warning: {}\n", what);
}

void TrainingSession::attempt(const std::string& what, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (config_.output.stop_unsaved) throw;
    warn(fmt::format("{}: {}", what, error.what()));
  }
}

void TrainingSession::save(bool best) {
  folder_.save({.config = config_,
                .state = trainer_.state(),
                .tokenizer = *data_.tokenizer,
                .documents = data_.documents,
                .train_tokens = data_.train.size(),
                .train_data = train_data_,
                .end_tokens = end_tokens_,
                .model = trainer_.model().state_dict(),
                .optimizer = trainer_.optimizer().state_dict()},
               best, config_.output.keep);
  saved_step_ = trainer_.state().step;
}

void TrainingSession::sample(int64_t step) {
  const OutputConfig& output = config_.output;
  nn::GenerateOptions options;
  options.max_new_tokens = output.sample_tokens;
  options.sampling.temperature = 0.8;
  options.seed = static_cast<uint64_t>(step);
  options.end_of_text = end_ids(*data_.tokenizer, end_tokens_);
  options.on_token = [](int64_t, int32_t) { return !StopSignals::stop_requested(); };
  const std::vector<int32_t> prompt =
      encode_prompt(*data_.tokenizer, data_.documents, output.sample_prompt);
  const nn::Generation generation = nn::generate(trainer_.model(), {prompt}, options);
  const auto length = static_cast<size_t>(generation.lengths[0]);
  Utf8Stream utf8;
  std::string text = utf8.push(output.sample_prompt +
                               data_.tokenizer->decode(std::span(generation.ids[0]).first(length)));
  text += utf8.finish();
  folder_.append_sample(step, text);
  progress_.print(fmt::format("sample at step {}:\n{}", step, quote_lines(harmless(text))));
}

// Curve and page are conveniences: that they cannot be written stops nothing.
void TrainingSession::draw_loss() {
  try {
    write_file(folder_.plot_file(), chart_svg(loss_chart({folder_.path()})));
    write_file(folder_.report_file(), run_report({folder_.path()}));
  } catch (const Error& error) {
    progress_.print(fmt::format("the loss curve was not drawn: {}\n", error.what()));
  }
}

// All measurements so far are read, which takes seconds after hundreds of thousands of steps.
void TrainingSession::draw_loss_in_turn() {
  const auto start = std::chrono::steady_clock::now();
  if (start < next_drawing_) return;
  draw_loss();
  const auto end = std::chrono::steady_clock::now();
  next_drawing_ = end + 19 * (end - start);
}

void TrainingSession::report_end(StopReason reason) {
  const TrainingState& state = trainer_.state();
  const std::string run = folder_.path().string();
  std::string text;
  if (reason == StopReason::no_improvement) {
    text += fmt::format("stopped: no better validation in the last {} (--patience)\n",
                        state.evaluations_since_best);
  }
  text += fmt::format("saved step {} in {}", state.step, run);
  if (state.best_loss) {
    text += fmt::format("; best validation loss {:.4f} nats/token at step {}", *state.best_loss,
                        state.best_step);
  }
  const Backend& device = trainer_.model().token_embeddings.weight.backend();
  text += fmt::format("; peak memory {}",
                      format_bytes(static_cast<double>(device.allocator().stats().peak_bytes)));
  text += reason == StopReason::interrupted
              ? fmt::format("\ninterrupted; continue with: tapir train --resume {}\n", run)
              : fmt::format("\nwrite text with it: tapir generate {}\n", run);
  progress_.print(text);
}

}  // namespace tapir::app
