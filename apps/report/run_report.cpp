#include "apps/report/run_report.h"

#include <charconv>
#include <cmath>

#include "apps/cli/quantity.h"
#include "apps/config/config_file.h"
#include "apps/config/run_config.h"
#include "apps/machine.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/strict_json.h"
#include "apps/training/metrics.h"
#include "apps/training/run_names.h"
#include "apps/web/web_page.h"
#include "backends/cpu/cpu_features.h"
#include "backends/cpu/threads.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kReportPoints = 1000;  // of a curve; more would only make the page large
constexpr size_t kMostSamples = 200;    // the latest ones
constexpr size_t kMostSampleText = 20'000;

const std::vector<std::string> kMeasured = {"loss", "lr", "grad_norm", "tokens_per_s"};

// Other programs may have written what is there.
std::optional<double> number_at(const Json& line, const std::string& name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_number() ? std::optional(found->get<double>())
                                                   : std::nullopt;
}

// The mean of each stretch of lines, so that a curve has at most kReportPoints.
Json training_curve(const std::vector<Json>& lines) {
  Json curve = Json::array();
  const size_t stretch = lines.size() / kReportPoints + 1;
  for (size_t first = 0; first < lines.size(); first += stretch) {
    const size_t last = std::min(first + stretch, lines.size());
    Json point = {{"step", lines[last - 1]["step"]},
                  {"seconds", number_at(lines[last - 1], "seconds").value_or(0)}};
    for (const std::string& name : kMeasured) {
      double sum = 0, count = 0;
      for (size_t i = first; i < last; ++i) {
        const auto value = number_at(lines[i], name);
        sum += value.value_or(0);
        count += value ? 1 : 0;
      }
      if (count > 0) point[name] = sum / count;
    }
    curve.push_back(std::move(point));
  }
  return curve;
}

// Validations, with the floor in the unit of the loss.
Json validation_curve(const std::vector<Json>& lines) {
  Json curve = Json::array();
  for (const Json& line : lines) {
    const auto loss = number_at(line, "val_loss");
    if (!loss) continue;
    Json point = {{"step", line["step"]},
                  {"seconds", number_at(line, "seconds").value_or(0)},
                  {"loss", *loss}};
    const auto bits = number_at(line, "bits_per_byte");
    const auto floor = number_at(line, "floor_bits_per_byte");
    if (bits) point["bits_per_byte"] = *bits;
    if (bits && floor) point["floor"] = *floor * *loss / *bits;
    curve.push_back(std::move(point));
  }
  return curve;
}

// samples.txt: texts, each under a line "==== step N".
Json samples(const fs::path& path) {
  constexpr std::string_view kMark = "==== step ";
  Json all = Json::array();
  if (!fs::exists(path)) return all;
  const std::string text = read_file(path);
  std::vector<size_t> starts;
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') starts.push_back(at);
  }
  const size_t first = starts.size() > kMostSamples ? starts.size() - kMostSamples : 0;
  for (size_t i = first; i < starts.size(); ++i) {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : text.size();
    const size_t line_end = std::min(text.find('\n', starts[i]), end);
    int64_t step = 0;
    std::from_chars(text.data() + starts[i] + kMark.size(), text.data() + line_end, step);
    all.push_back({{"step", step},
                   {"text", text.substr(std::min(line_end + 1, end),
                                        std::min(end - line_end, kMostSampleText))}});
  }
  return all;
}

Json configuration(const fs::path& path) {
  Json list = Json::array();
  if (!fs::exists(path)) return list;
  RunConfig config;
  const std::vector<Setting> all = settings(config);
  read_config_file(path, all);
  for (const Setting& setting : all) {
    list.push_back({{"group", setting.group},
                    {"name", setting.name},
                    {"value", fmt::format("{}", fmt::join(values_of(setting), " "))},
                    {"help", setting.help}});
  }
  return list;
}

Json machine(const fs::path& path) {
  if (!fs::exists(path)) return nullptr;
  const std::string text = read_file(path);
  try {
    parse_strict_json(text, path.string());
    return Json::parse(text);
  } catch (const Error&) {
    return nullptr;  // somebody changed it; the page does without
  }
}

Json describe_run(const fs::path& run, const std::string& name) {
  std::vector<Json> lines;
  for (const Metrics& line : read_metrics(run / "metrics.jsonl")) {
    lines.push_back(Json::parse(line.text));
  }
  require(!lines.empty(), "report", "there are no measurements in {} yet", run.string());
  return {{"name", name},
          {"training", training_curve(lines)},
          {"validation", validation_curve(lines)},
          {"samples", samples(run / "samples.txt")},
          {"config", configuration(run / "config.toml")},
          {"machine", machine(run / "machine.json")}};
}

}  // namespace

std::string run_report(const std::vector<fs::path>& runs) {
  Json described = Json::array();
  const std::vector<std::string> names = run_names(runs);
  for (size_t i = 0; i < runs.size(); ++i) described.push_back(describe_run(runs[i], names[i]));
  WebPage page{.title = fmt::format("{}", fmt::join(names, ", ")),
               .body = "report/page/report.html",
               .styles = {"report/page/report.css"},
               .scripts = {"report/page/report.js"},
               .data = {{"runs", std::move(described)}}};
  return render(page);
}

std::string machine_json(const std::string& device) {
  const Json json = {{"tapir", TAPIR_VERSION},
                     {"build", TAPIR_BUILD_TYPE},
                     {"device", device},
                     {"processor", cpu::features().model},
                     {"kernels", cpu::name_of(cpu::chosen_isa())},
                     {"threads", cpu::threads()},
                     {"memory", format_bytes(static_cast<double>(memory_limit()))}};
  return json.dump(2) + "\n";
}

}  // namespace tapir::app
