#include "apps/run_folder.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "apps/files.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "run folder";

}  // namespace

RunFolder::RunFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::create_directories(path_ / "checkpoints", error);
  require(!error, kOp, "cannot create {}: {}", path_.string(), error.message());
  const fs::path metrics = path_ / "metrics.jsonl";
  require(!fs::exists(metrics), kOp, "{} holds another run; choose another folder with --out",
          path_.string());
  metrics_.reset(std::fopen(metrics.c_str(), "we"));
  require(metrics_ != nullptr, kOp, "cannot create {}: {}", metrics.string(), std::strerror(errno));
}

void RunFolder::append_metrics(const StepReport& report) {
  nlohmann::ordered_json line = {{"step", report.step}, {"loss", report.loss}};
  if (report.validation) {
    line["val_loss"] = report.validation->loss();
    line["bits_per_byte"] = report.validation->bits_per_byte();
  }
  line["lr"] = report.lr;
  line["grad_norm"] = report.grad_norm;
  line["tokens_per_s"] = report.tokens_per_s;
  line["seconds"] = report.seconds;
  const std::string text = line.dump() + "\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), metrics_.get()) == text.size() &&
                       std::fflush(metrics_.get()) == 0;
  require(written, kOp, "cannot write {}: {}", (path_ / "metrics.jsonl").string(),
          std::strerror(errno));
}

void RunFolder::save(const CheckpointContents& contents, bool best) {
  const fs::path name = fmt::format("step-{}", contents.state.step);
  const fs::path folder = path_ / "checkpoints";
  write_checkpoint(folder / name, contents);
  replace_link(folder / "last", name);
  if (best) replace_link(folder / "best", name);
}

}  // namespace tapir::app
