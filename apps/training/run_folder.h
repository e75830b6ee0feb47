// The folder of one training run:
//   config.toml            every setting of the run
//   metrics.jsonl          a line of measurements for each step
//   samples.txt            sample texts
//   loss.svg               the loss curve
//   checkpoints/step-N/    see checkpoint.h; `last` and `best` beside them are links
//   run.lock               held while a training uses the folder
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "apps/training/checkpoint.h"
#include "apps/training/trainer.h"

namespace tapir::app {

class RunFolder {
 public:
  enum class Mode {
    create,     // a folder that holds another run is an Error
    overwrite,  // another run in it is removed
    resume,     // a folder without a run is an Error
  };

  // Opens the folder for this process alone: one that another training uses is an Error, and so is
  // one that cannot be written. A folder made here is removed again if the run never begins.
  RunFolder(std::filesystem::path path, Mode mode);
  ~RunFolder();

  // Writes the configuration and gets ready for what comes after `step`: measurements after it,
  // which are going to be made again, are removed.
  void begin(std::string_view config, int64_t step);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path config_file() const { return path_ / "config.toml"; }
  std::filesystem::path metrics_file() const { return path_ / "metrics.jsonl"; }
  std::filesystem::path plot_file() const { return path_ / "loss.svg"; }

  void append_metrics(const StepReport& report);
  void append_sample(int64_t step, std::string_view text);

  // Writes checkpoint step-N and lets `last`, and `best` if asked, point to it. Then removes old
  // ones: the newest `keep` stay, and those that the links point to.
  void save(const CheckpointContents& contents, bool best, int64_t keep);

  // The newest checkpoint that is intact. Each one passed over adds a line to `notes`. None is an
  // Error.
  std::filesystem::path newest_intact_checkpoint(std::vector<std::string>& notes) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  class Lock {
   public:
    explicit Lock(const std::filesystem::path& file);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int descriptor_;
  };

  void drop_metrics_after(int64_t step);
  void remove_old_checkpoints(int64_t keep);
  // Steps of the checkpoints, in descending order.
  std::vector<int64_t> checkpoint_steps() const;

  std::filesystem::path path_;
  Mode mode_;
  bool created_ = false;
  std::unique_ptr<Lock> lock_;
  std::unique_ptr<std::FILE, Close> metrics_;
};

}  // namespace tapir::app
