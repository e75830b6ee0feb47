#include "apps/inspect/page.h"

#include "apps/web/web_page.h"

namespace tapir::app {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Shape& shape) {
  return std::vector<int64_t>(shape.begin(), shape.end());
}

Json to_json(const ValueStats& stats) {
  if (stats.count == 0) return nullptr;
  return {
      {"count", stats.count},        {"nonfinite", stats.nonfinite}, {"low", stats.low},
      {"high", stats.high},          {"mean", stats.mean},           {"deviation", stats.deviation},
      {"histogram", stats.histogram}};
}

Json to_json(const NodeRecord& node) {
  Json inputs = Json::array(), saved = Json::array();
  for (const NodeInput& input : node.inputs) {
    inputs.push_back(
        {{"node", input.node}, {"parameter", input.parameter}, {"shape", to_json(input.shape)}});
  }
  for (const SavedTensor& tensor : node.saved) {
    saved.push_back({{"what", tensor.what},
                     {"why", tensor.why},
                     {"shape", to_json(tensor.shape)},
                     {"dtype", name_of(tensor.dtype)},
                     {"bytes", tensor.bytes},
                     {"storage", tensor.storage},
                     {"lasting", tensor.lasting}});
  }
  return {{"op", node.op},
          {"layer", node.layer},
          {"inputs", std::move(inputs)},
          {"shape", to_json(node.output_shape)},
          {"dtype", name_of(node.dtype)},
          {"view", node.view},
          {"saved", std::move(saved)},
          {"savedBytes", node.saved_bytes()},
          {"forwardSeconds", node.forward_seconds},
          {"backwardSeconds", node.backward_seconds},
          {"flops", node.forward_flops + node.backward_flops},
          {"gradientNorm", node.had_gradient ? Json(node.gradient_norm) : Json(nullptr)},
          {"output", to_json(node.output)},
          {"gradient", to_json(node.gradient)}};
}

std::string base64(const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? bytes[i + j] : 0u);
    for (size_t digit = 0; digit < 4; ++digit) {
      text += digit <= count ? kDigits[group >> (18 - 6 * digit) & 63] : '=';
    }
  }
  return text;
}

Json to_json(const Inspection& inspection) {
  Json json = {{"loss", inspection.loss ? Json(*inspection.loss) : Json(nullptr)},
               {"bytesBefore", inspection.bytes_before},
               {"peakBytes", inspection.peak_bytes()},
               {"savedBytes", inspection.saved_bytes()},
               {"forwardSeconds", inspection.forward_seconds()},
               {"backwardSeconds", inspection.backward_seconds()},
               {"unobservedSeconds", inspection.unobserved_seconds},
               {"flops", inspection.flops()}};
  for (const char* list : {"nodes", "memory", "parameters", "attention"})
    json[list] = Json::array();
  for (const NodeRecord& node : inspection.nodes) json["nodes"].push_back(to_json(node));
  for (const MemoryPoint& point : inspection.memory) {
    json["memory"].push_back({{"node", point.node},
                              {"backward", point.backward},
                              {"bytes", point.bytes},
                              {"peak", point.peak}});
  }
  for (const ParameterRecord& parameter : inspection.parameters) {
    json["parameters"].push_back({{"name", parameter.name},
                                  {"shape", to_json(parameter.shape)},
                                  {"gradientNorm", parameter.gradient_norm},
                                  {"values", to_json(parameter.values)},
                                  {"gradient", to_json(parameter.gradient)}});
  }
  for (const AttentionMap& map : inspection.attention) {
    json["attention"].push_back({{"layer", map.layer},
                                 {"heads", map.heads},
                                 {"tokens", map.tokens},
                                 {"probabilities", base64(map.probabilities)}});
  }
  return json;
}

}  // namespace

std::string inspection_page(const Subject& subject, const Inspection& inspection,
                            const Inspection* composed) {
  WebPage page{.title = subject.name + ", inspected",
               .body = "inspect/page/inspect.html",
               .styles = {"inspect/page/inspect.css"},
               .scripts = {},
               .data = {}};
  for (const char* part : {"model", "graph", "details", "timeline", "attention", "inspect"}) {
    page.scripts.push_back(fmt::format("inspect/page/{}.js", part));
  }
  page.data = {{"name", subject.name},
               {"about", subject.about},
               {"tokens", subject.tokens},
               {"pass", to_json(inspection)},
               {"composed", composed != nullptr ? to_json(*composed) : Json(nullptr)}};
  return render(page);
}

}  // namespace tapir::app
