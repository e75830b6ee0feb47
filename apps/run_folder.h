// The folder of one training run:
//   metrics.jsonl          a line of measurements for each step
//   checkpoints/step-N/    see checkpoint.h; `last` and `best` beside them are links
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/checkpoint.h"
#include "apps/trainer.h"

namespace tapir::app {

class RunFolder {
 public:
  // Creates the folder. One that cannot be written, or that holds another run, is an Error.
  explicit RunFolder(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  void append_metrics(const StepReport& report);
  // Writes checkpoint step-N and lets `last`, and `best` if asked, point to it.
  void save(const CheckpointContents& contents, bool best);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> metrics_;
};

}  // namespace tapir::app
