#include "apps/interchange/shard_index.h"

#include "apps/tokenizer/strict_json.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr std::string_view kOp = "import";

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_shard_index(std::string_view json,
                                                                   const std::string& file) {
  const JsonValue root = parse_strict_json(json, file);
  std::vector<std::pair<std::string, std::string>> entries;
  for (const JsonValue::Member& member : root["weight_map"].object(file + ": weight_map")) {
    const std::string& name = member.value.string(fmt::format("{}: {}", file, member.key));
    require(is_plain_name(name), kOp,
            "{}: {} is said to be in {}, which is no file of the folder itself", file, member.key,
            json_quote(name));
    entries.emplace_back(member.key, name);
  }
  require(!entries.empty(), kOp, "{}: weight_map is empty", file);
  return entries;
}

}  // namespace tapir::app
