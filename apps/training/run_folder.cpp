#include "apps/training/run_folder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "apps/files.h"
#include "apps/tokenizer/file_io.h"
#include "apps/training/metrics.h"
#include "autograd/serialize.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "run folder";

constexpr const char* kLock = "run.lock";
// The run that --overwrite put aside, and while it is being put there.
constexpr const char* kReplaced = ".replaced";
constexpr const char* kPuttingAside = ".replaced.new";
constexpr std::array kContents = {"config.toml", "metrics.jsonl", "samples.txt", "loss.svg",
                                  "report.html", "machine.json",  "checkpoints"};

bool holds_run(const fs::path& path) {
  return std::any_of(kContents.begin(), kContents.end(),
                     [&](const char* name) { return fs::exists(path / name); });
}

// Moves what there is of a run.
void move_contents(const fs::path& from, const fs::path& to, std::error_code& error) {
  for (const char* name : kContents) {
    if (error || !fs::exists(from / name)) continue;
    fs::remove_all(to / name, error);
    if (!error) fs::rename(from / name, to / name, error);
  }
}

}  // namespace

RunFolder::Lock::Lock(const fs::path& file)
    : descriptor_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  require(descriptor_ >= 0, kOp, "cannot write to {}: {}", file.parent_path().string(),
          std::strerror(errno));
  // The system gives the lock back when the process ends, however it ends.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    close(descriptor_);
    fail(kOp, "another training is using {} now; choose another folder with --out",
         file.parent_path().string());
  }
}

RunFolder::Lock::~Lock() {
  close(descriptor_);
}

RunFolder::RunFolder(fs::path path, Mode mode) : path_(std::move(path)), mode_(mode) {
  require(mode != Mode::resume || holds_run(path_), kOp, "there is no run in {} to resume",
          path_.string());
  std::error_code error;
  created_ = fs::create_directories(path_, error);
  require(!error, kOp, "cannot create {}: {}", path_.string(), error.message());
  lock_ = std::make_unique<Lock>(path_ / kLock);
  bring_back();  // what a process that was killed has put aside
  require(mode != Mode::create || !holds_run(path_), kOp,
          "{} holds another run; choose another folder with --out, continue that run with "
          "--resume, or replace it with --overwrite",
          path_.string());
}

RunFolder::~RunFolder() {
  bring_back();
  const bool begun = metrics_ != nullptr;
  if (begun || !created_) return;
  std::error_code ignored;
  fs::remove(path_ / kLock, ignored);
  fs::remove(path_, ignored);
}

void RunFolder::begin(std::string_view config, const TrainingState& state) {
  std::error_code error;
  if (mode_ == Mode::overwrite && holds_run(path_)) put_aside();
  fs::create_directories(path_ / "checkpoints", error);
  require(!error, kOp, "cannot create {}: {}", (path_ / "checkpoints").string(), error.message());
  write_file_atomically(config_file(), config);
  if (mode_ == Mode::resume) {
    drop_metrics_after(state.step);
    repair_checkpoints(state);
  }
  metrics_ = std::make_unique<GrowingFile>(metrics_file());
}

void RunFolder::put_aside() {
  std::error_code error;
  fs::create_directory(path_ / kPuttingAside, error);
  if (!error) move_contents(path_, path_ / kPuttingAside, error);
  if (!error) fs::rename(path_ / kPuttingAside, path_ / kReplaced, error);
  replaces_ = !error;
  require(!error, kOp, "cannot put the run in {} aside: {}; choose another folder with --out",
          path_.string(), error.message());
}

// A run that has been put aside stays away if there is a checkpoint of the one in its place.
void RunFolder::bring_back() noexcept {
  replaces_ = false;
  for (const char* aside : {kPuttingAside, kReplaced}) {
    std::error_code error;
    if (!fs::exists(path_ / aside, error)) continue;
    if (aside == kPuttingAside || checkpoint_steps().empty())
      move_contents(path_ / aside, path_, error);
    if (!error) fs::remove_all(path_ / aside, error);
  }
}

void RunFolder::append_metrics(const StepReport& report) {
  metrics_->append(metrics_line(report));
}

void RunFolder::drop_metrics_after(int64_t step) {
  if (!fs::exists(metrics_file())) return;
  std::string kept;
  for (const Metrics& line : read_metrics(metrics_file(), DamagedLines::skip)) {
    if (line.step <= step) kept += line.text + "\n";
  }
  write_file_atomically(metrics_file(), kept);
}

// A crash may have come between a checkpoint and its links.
void RunFolder::repair_checkpoints(const TrainingState& state) {
  const fs::path folder = path_ / "checkpoints";
  std::vector<fs::path> unfinished;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') && name.ends_with(".new")) unfinished.push_back(entry.path());
  }
  for (const fs::path& path : unfinished) fs::remove_all(path, error);
  const auto link = [&](const char* name, int64_t step) {
    const std::string target = checkpoint_name(step);
    if (fs::exists(folder / target)) replace_link(folder / name, target);
  };
  link("last", state.step);
  if (state.best_loss) link("best", state.best_step);
}

void RunFolder::append_sample(int64_t step, std::string_view text) {
  const fs::path path = path_ / "samples.txt";
  GrowingFile(path).append(fmt::format("==== step {}\n{}\n\n", step, text));
}

void RunFolder::save(const CheckpointContents& contents, bool best, int64_t keep) {
  const fs::path name = checkpoint_name(contents.state.step);
  const fs::path folder = path_ / "checkpoints";
  metrics_->sync();
  write_checkpoint(folder / name, contents);
  replace_link(folder / "last", name);
  if (best) replace_link(folder / "best", name);
  if (std::exchange(replaces_, false)) {
    std::error_code ignored;
    fs::remove_all(path_ / kReplaced, ignored);
  }
  remove_old_checkpoints(keep);
}

void RunFolder::remove_old_checkpoints(int64_t keep) {
  const fs::path folder = path_ / "checkpoints";
  std::vector<std::string> needed;
  for (const char* link : {"last", "best"}) needed.push_back(link_target(folder / link).string());
  for (const int64_t step : checkpoint_steps()) {
    const std::string name = checkpoint_name(step);
    if (std::find(needed.begin(), needed.end(), name) != needed.end()) continue;
    std::error_code ignored;
    if (--keep < 0) fs::remove_all(folder / name, ignored);
  }
}

std::vector<int64_t> RunFolder::checkpoint_steps() const {
  return app::checkpoint_steps(path_ / "checkpoints");
}

fs::path RunFolder::newest_intact_checkpoint(std::vector<std::string>& notes) const {
  for (const int64_t step : checkpoint_steps()) {
    const fs::path folder = path_ / "checkpoints" / checkpoint_name(step);
    try {
      verify_checkpoint(folder);
      return folder;
    } catch (const Error& error) {
      notes.push_back(fmt::format("passing over step {}: {}", step, error.what()));
    }
  }
  fail(kOp, "{} has no intact checkpoint to resume from{}", path_.string(),
       notes.empty() ? "" : "; " + fmt::format("{}", fmt::join(notes, "; ")));
}

}  // namespace tapir::app
