#include "apps/training/metrics.h"

#include <nlohmann/json.hpp>

#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/strict_json.h"

namespace tapir::app {
namespace {

std::optional<double> number_in(const JsonValue& object, std::string_view key) {
  const JsonValue& value = object[key];
  return value.is_null() ? std::nullopt : std::optional(value.number(key));
}

Metrics parse_line(const std::string& text, const std::string& where) {
  const JsonValue object = parse_strict_json(text, where);
  return {.step = object["step"].integer("step"),
          .loss = number_in(object, "loss"),
          .val_loss = number_in(object, "val_loss"),
          .bits_per_byte = number_in(object, "bits_per_byte"),
          .seconds = number_in(object, "seconds"),
          .text = text};
}

}  // namespace

std::string metrics_line(const StepReport& report) {
  nlohmann::ordered_json line = {{"step", report.step}, {"loss", report.loss}};
  if (report.validation) {
    line["val_loss"] = report.validation->loss();
    line["bits_per_byte"] = report.validation->bits_per_byte();
    if (const auto floor = report.validation->floor_bits_per_byte()) {
      line["floor_bits_per_byte"] = *floor;
    }
  }
  line["lr"] = report.lr;
  line["grad_norm"] = report.grad_norm;
  line["tokens_per_s"] = report.tokens_per_s;
  line["seconds"] = report.seconds;
  return line.dump() + "\n";
}

std::vector<Metrics> read_metrics(const std::filesystem::path& path, DamagedLines damaged) {
  const std::string text = read_file(path);
  std::vector<Metrics> result;
  int line = 1;
  for (size_t begin = 0; begin < text.size(); ++line) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) break;  // being written, or cut off by a crash
    const std::string where = fmt::format("{}, line {}", path.string(), line);
    try {
      result.push_back(parse_line(text.substr(begin, end - begin), where));
    } catch (const Error&) {
      if (damaged == DamagedLines::refuse) throw;
    }
    begin = end + 1;
  }
  return result;
}

}  // namespace tapir::app
