// The folder of one training run:
//   config.toml            every setting of the run
//   metrics.jsonl          a line of measurements for each step
//   samples.txt            sample texts
//   loss.svg               the loss curve
//   report.html            a page about the run
//   machine.json           what trained it last
//   checkpoints/step-N/    see checkpoint.h; `last` and `best` beside them are links
//   run.lock               held while a training uses the folder
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "apps/training/checkpoint.h"
#include "apps/training/growing_file.h"
#include "apps/training/trainer.h"

namespace tapir::app {

class RunFolder {
 public:
  enum class Mode {
    create,     // a folder that holds another run is an Error
    overwrite,  // another run in it is replaced, once this one has a checkpoint
    resume,     // a folder without a run is an Error
  };

  // Opens the folder for this process alone: one that another training uses is an Error, and so is
  // one that cannot be written. A folder made here is removed again if the run never begins.
  RunFolder(std::filesystem::path path, Mode mode);
  ~RunFolder();

  // Writes the configuration and gets ready for what comes after `state`: measurements after its
  // step, which are going to be made again, and what an interrupted save left are removed, and the
  // links point to its last and best checkpoints. A run to be replaced is put aside; if this one
  // ends without a checkpoint, or is opened again without one, it comes back.
  void begin(std::string_view config, const TrainingState& state);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.toml"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path plot_file() const { return path_ / "loss.svg"; }
  std::filesystem::path report_file() const { return path_ / "report.html"; }
  std::filesystem::path machine_file() const { return path_ / "machine.json"; }

  // What cannot be written is an Error; it is kept and written with the next measurements.
  void append_metrics(const StepReport& report);
  void append_sample(int64_t step, std::string_view text);

  // Syncs the measurements, writes checkpoint step-N and lets `last`, and `best` if asked, point to
  // it. Then removes old ones: the newest `keep` stay, and those that the links point to.
  void save(const CheckpointContents& contents, bool best, int64_t keep);

  // Whether a run that this one replaces comes back if nothing is saved.
  bool replaces() const { return replaces_; }

  // The newest checkpoint that is intact. Each one passed over adds a line to `notes`. None is an
  // Error.
  std::filesystem::path newest_intact_checkpoint(std::vector<std::string>& notes) const;

 private:
  class Lock {
   public:
    explicit Lock(const std::filesystem::path& file);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int descriptor_;
  };

  void put_aside();
  void bring_back() noexcept;
  void drop_metrics_after(int64_t step);
  void repair_checkpoints(const TrainingState& state);
  void remove_old_checkpoints(int64_t keep);
  // Steps of the checkpoints, in descending order.
  std::vector<int64_t> checkpoint_steps() const;

  std::filesystem::path path_;
  Mode mode_;
  bool created_ = false;
  bool replaces_ = false;  // a run that is still there, put aside
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<GrowingFile> metrics_;
};

}  // namespace tapir::app
