#include <fmt/format.h>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/byte_level.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/json_parts.h"

namespace tapir::app {
namespace {

// The tokens as byte-level text, which added tokens are not subject to.
std::vector<std::string> spell_tokens(const BpeModel& model) {
  std::vector<std::string> texts;
  texts.reserve(model.tokens.size());
  for (const std::string& bytes : model.tokens) texts.push_back(to_byte_level(bytes));
  for (const AddedToken& token : model.added) texts[static_cast<size_t>(token.id)] = token.text;
  return texts;
}

std::string pre_tokenizer_json(SplitRule rule) {
  const auto byte_level = [](bool use_regex) {
    return fmt::format(
        R"({{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":{}}})",
        use_regex);
  };
  if (rule == SplitRule::kGpt2) return byte_level(true);
  return fmt::format(
      R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},)"
      R"("behavior":"Isolated","invert":false}},{}]}})",
      json_quote(published_pattern(rule)), byte_level(false));
}

std::string post_processor_json(const BpeModel& model) {
  const std::string byte_level =
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true})";
  if (!model.begin_of_text) return byte_level;
  const int32_t id = *model.begin_of_text;
  return fmt::format(R"({{"type":"Sequence","processors":[{},{}]}})", byte_level,
                     template_json(model.tokens[static_cast<size_t>(id)], id));
}

}  // namespace

std::string bpe_to_json(const BpeModel& model) {
  const std::vector<std::string> texts = spell_tokens(model);
  std::string merges;
  for (const Merge& merge : model.merges) {
    merges += fmt::format("{}[{},{}]", merges.empty() ? "" : ",\n",
                          json_quote(texts[static_cast<size_t>(merge.left)]),
                          json_quote(texts[static_cast<size_t>(merge.right)]));
  }
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":null,)"
      R"("pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{{"type":"BPE",)"
      R"("dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
      R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":{},)"
      "\"vocab\":{},\n\"merges\":[{}]}}}}\n",
      added_tokens_json(model.added), pre_tokenizer_json(model.rule), post_processor_json(model),
      R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})",
      model.ignore_merges, vocab_json(texts), merges);
}

void save_gpt2(const BpeModel& model, const std::filesystem::path& dir) {
  const std::vector<std::string> texts = spell_tokens(model);
  std::string merges = "#version: 0.2\n";
  for (const Merge& merge : model.merges) {
    merges += fmt::format("{} {}\n", texts[static_cast<size_t>(merge.left)],
                          texts[static_cast<size_t>(merge.right)]);
  }
  write_file(dir / "vocab.json", vocab_json(texts) + "\n");
  write_file(dir / "merges.txt", merges);
}

}  // namespace tapir::app
