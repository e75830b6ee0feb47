#include <initializer_list>
#include <optional>
#include <unordered_set>
#include <utility>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/byte_level.h"
#include "apps/tokenizer/excerpt.h"
#include "apps/tokenizer/text_index.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr const char* kOp = "tokenizer";
constexpr int64_t kMaxVocab = int64_t{1} << 24;

// The vocabulary as the file spells it.
struct Vocabulary {
  explicit Vocabulary(size_t count) : ids(count) {}

  std::vector<std::string_view> texts;  // by id
  std::vector<bool> used;
  TextIndex ids;

  void add(std::string_view text, int64_t id) {
    if (id < 0 || id >= kMaxVocab) {
      fail(kOp, "token {} has id {}, outside 0 .. {}", quoted_excerpt(text), id, kMaxVocab - 1);
    }
    const auto index = static_cast<size_t>(id);
    if (index >= texts.size()) {
      texts.resize(index + 1);
      used.resize(index + 1);
    }
    if (used[index]) {
      fail(kOp, "id {} belongs to two tokens, {} and {}", id, quoted_excerpt(texts[index]),
           quoted_excerpt(text));
    }
    texts[index] = text;
    used[index] = true;
    ids.insert(text, static_cast<int32_t>(id));
  }

  // Fewer ids than the largest one promises would leave tokens that stand for nothing.
  void require_no_gap() const {
    for (size_t id = 0; id < used.size(); ++id) {
      require(used[id], kOp, "no token has id {}, though ids go up to {}", id, used.size() - 1);
    }
  }
};

Vocabulary read_vocabulary(const JsonValue& object, std::string_view what) {
  Vocabulary vocabulary(object.object(what).size());
  for (const JsonValue::Member& member : object.object(what)) {
    vocabulary.add(member.key, member.value.integer(what));
  }
  return vocabulary;
}

// A token that byte-level spelling cannot express keeps its text: it is an added token, or one
// that no text reaches.
std::string token_bytes_of(std::string_view text) {
  return from_byte_level(text).value_or(std::string(text));
}

Merge make_merge(const Vocabulary& vocabulary, std::string_view left, std::string_view right,
                 size_t rank) {
  const auto id_of = [&](std::string_view text) {
    const int32_t id = vocabulary.ids.find(text);
    if (id < 0) {
      fail(kOp, "merge {} ({} {}) needs {}, not in the vocabulary", rank, excerpt(left),
           excerpt(right), quoted_excerpt(text));
    }
    return id;
  };
  return {id_of(left), id_of(right), id_of(std::string(left) + std::string(right))};
}

Merge parse_merge(const Vocabulary& vocabulary, std::string_view line, size_t rank) {
  const size_t space = line.find(' ');
  require(space != std::string_view::npos && line.find(' ', space + 1) == std::string_view::npos,
          kOp, "merge {} is not two tokens with one space between them: {}", rank,
          line.size() <= 80 ? line : "a long line");
  return make_merge(vocabulary, line.substr(0, space), line.substr(space + 1), rank);
}

std::vector<Merge> read_merges(const JsonValue& list, const Vocabulary& vocabulary) {
  std::vector<Merge> merges;
  for (const JsonValue& item : list.array("model.merges")) {
    const size_t rank = merges.size();
    if (item.is_string()) {
      merges.push_back(parse_merge(vocabulary, item.string("a merge"), rank));
      continue;
    }
    const JsonValue::Array& pair = item.array("a merge");
    require(pair.size() == 2, kOp, "merge {} has {} parts instead of 2", rank, pair.size());
    merges.push_back(make_merge(vocabulary, pair[0].string("a part of a merge"),
                                pair[1].string("a part of a merge"), rank));
  }
  return merges;
}

void require_null(const JsonValue& value, std::string_view what) {
  require(value.is_null(), kOp, "{} is {}, which is not supported; only null is", what,
          value.describe());
}

void require_empty(const JsonValue& value, std::string_view what) {
  if (value.is_null()) return;
  require(value.string(what).empty(), kOp,
          "{} is {}, which is not supported; byte-level BPE has none", what, value.describe());
}

void require_known_keys(const JsonValue& object, std::string_view what,
                        std::initializer_list<std::string_view> known) {
  for (const JsonValue::Member& member : object.object(what)) {
    bool found = false;
    for (const std::string_view key : known) found = found || key == member.key;
    require(found, kOp, "{} has an unknown member {}", what, quoted_excerpt(member.key));
  }
}

// A step of a pipeline and those of a "Sequence", in one row.
std::vector<const JsonValue*> steps_of(const JsonValue& value, const char* list) {
  if (value.is_null()) return {};
  if (!value["type"].is_string() || value["type"].string("type") != "Sequence") return {&value};
  std::vector<const JsonValue*> steps;
  for (const JsonValue& step : value[list].array(list)) steps.push_back(&step);
  return steps;
}

void check_normalizer(const JsonValue& normalizer) {
  for (const JsonValue* const step : steps_of(normalizer, "normalizers")) {
    fail(kOp, "normalizer {} is not supported; byte-level BPE reads the text as it is",
         (*step)["type"].describe());
  }
}

void check_decoder(const JsonValue& decoder) {
  for (const JsonValue* const step : steps_of(decoder, "decoders")) {
    const std::string& type = (*step)["type"].string("decoder.type");
    require(type == "ByteLevel", kOp, "decoder {} is not supported; only ByteLevel is",
            excerpt(type));
  }
}

SplitRule split_step_rule(const JsonValue& step) {
  require_known_keys(step, "pre_tokenizer Split", {"type", "pattern", "behavior", "invert"});
  const std::string& behavior = step["behavior"].string("pre_tokenizer.behavior");
  const bool invert = step["invert"].boolean_or(false, "pre_tokenizer.invert");
  require((behavior == "Isolated" && !invert) || (behavior == "Removed" && invert), kOp,
          "pre_tokenizer Split with behavior {} and invert {} is not supported; Isolated is",
          behavior, invert);
  const std::string& pattern = step["pattern"]["Regex"].string("pre_tokenizer.pattern.Regex");
  const std::optional<SplitRule> rule = split_rule_from_pattern(pattern);
  require(rule.has_value(), kOp,
          "pre_tokenizer pattern {} is not supported; those of GPT-2, Llama 3 and GPT-4 are",
          pattern);
  return *rule;
}

// Does this ByteLevel step cut by GPT-2's pattern, too?
bool byte_level_splits(const JsonValue& step) {
  require_known_keys(step, "pre_tokenizer ByteLevel",
                     {"type", "add_prefix_space", "trim_offsets", "use_regex"});
  require(!step["add_prefix_space"].boolean_or(true, "pre_tokenizer.add_prefix_space"), kOp,
          "pre_tokenizer ByteLevel with add_prefix_space true is not supported; decoding would not "
          "give the text back");
  return step["use_regex"].boolean_or(true, "pre_tokenizer.use_regex");
}

SplitRule read_pre_tokenizer(const JsonValue& pre_tokenizer) {
  std::optional<SplitRule> rule;
  bool byte_level = false;
  for (const JsonValue* const step : steps_of(pre_tokenizer, "pretokenizers")) {
    const std::string& type = (*step)["type"].string("pre_tokenizer.type");
    require(!byte_level && (type == "ByteLevel" || (type == "Split" && !rule)), kOp,
            "pre_tokenizer {} {} is not supported; ByteLevel, or one Split before it, is", type,
            byte_level || rule ? "after another step" : "on its own");
    if (type == "Split") {
      rule = split_step_rule(*step);
      continue;
    }
    byte_level = true;
    const bool splits = byte_level_splits(*step);
    require(splits != rule.has_value(), kOp,
            "pre_tokenizer ByteLevel with use_regex {} {} a Split is not supported", splits,
            rule ? "after" : "without");
    if (splits) rule = SplitRule::kGpt2;
  }
  require(byte_level, kOp, "pre_tokenizer {} is not supported; ByteLevel is",
          pre_tokenizer["type"].describe());
  return *rule;
}

std::vector<AddedToken> read_added_tokens(const JsonValue& list, Vocabulary& vocabulary) {
  std::vector<AddedToken> added;
  if (list.is_null()) return added;
  std::unordered_set<int64_t> seen;
  for (const JsonValue& item : list.array("added_tokens")) {
    require_known_keys(
        item, "added token",
        {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    const std::string& text = item["content"].string("added_tokens.content");
    const int64_t id = item["id"].integer("added_tokens.id");
    require(!text.empty(), kOp, "added token {} is empty", id);
    for (const char* const option : {"single_word", "lstrip", "rstrip"}) {
      require(!item[option].boolean_or(false, option), kOp,
              "added token {} has {} true, which is not supported", quoted_excerpt(text), option);
    }
    const int32_t known = vocabulary.ids.find(text);
    if (known < 0) vocabulary.add(text, id);
    require(known < 0 || known == id, kOp, "added token {} has id {}, but {} in the vocabulary",
            quoted_excerpt(text), id, known);
    require(seen.insert(id).second, kOp, "added token {} is listed twice", quoted_excerpt(text));
    added.push_back({static_cast<int32_t>(id), text, item["special"].boolean_or(false, "special"),
                     item["normalized"].boolean_or(false, "normalized")});
  }
  return added;
}

// The special token that a template puts in front of a text, if any.
std::optional<int32_t> read_template(const JsonValue& step, const Vocabulary& vocabulary) {
  std::optional<int32_t> begin;
  bool text_seen = false;
  for (const JsonValue& part : step["single"].array("post_processor.single")) {
    if (!part["Sequence"].is_null()) {
      require(!text_seen, kOp, "post_processor template repeats the text, which is not supported");
      text_seen = true;
      continue;
    }
    const std::string& name = part["SpecialToken"]["id"].string("post_processor SpecialToken.id");
    require(!text_seen && !begin, kOp,
            "post_processor template puts {} {}, which is not supported; one token in front is",
            name, text_seen ? "after the text" : "in front as a second token");
    const int32_t id = vocabulary.ids.find(name);
    require(id >= 0, kOp, "post_processor template names {}, not in the vocabulary", excerpt(name));
    begin = id;
  }
  return begin;
}

std::optional<int32_t> read_post_processor(const JsonValue& value, const Vocabulary& vocabulary) {
  std::optional<int32_t> begin;
  for (const JsonValue* const step : steps_of(value, "processors")) {
    const std::string& type = (*step)["type"].string("post_processor.type");
    if (type == "ByteLevel") continue;  // only moves offsets, which do not exist here
    require(type == "TemplateProcessing" && !begin, kOp,
            "post_processor {} is not supported; ByteLevel and one TemplateProcessing are", type);
    begin = read_template(*step, vocabulary);
  }
  return begin;
}

void check_model_options(const JsonValue& model) {
  require_known_keys(
      model, "model",
      {"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
       "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
  if (!model["type"].is_null()) {
    const std::string& type = model["type"].string("model.type");
    require(type == "BPE", kOp, "model type {} is not supported; BPE is", excerpt(type));
  }
  if (model["dropout"].describe() != "0") require_null(model["dropout"], "model.dropout");
  require_empty(model["continuing_subword_prefix"], "model.continuing_subword_prefix");
  require_empty(model["end_of_word_suffix"], "model.end_of_word_suffix");
  // unk_token, fuse_unk and byte_fallback only matter for bytes that are not in the vocabulary, and
  // all 256 must be.
}

BpeModel assemble(const Vocabulary& vocabulary, std::vector<AddedToken> added) {
  vocabulary.require_no_gap();
  BpeModel model;
  for (const std::string_view text : vocabulary.texts) model.tokens.push_back(token_bytes_of(text));
  for (const AddedToken& token : added) model.tokens[static_cast<size_t>(token.id)] = token.text;
  model.added = std::move(added);
  return model;
}

std::string_view next_line(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace

BpeModel bpe_from_json(const JsonValue& root) {
  require_known_keys(root, "tokenizer.json",
                     {"version", "truncation", "padding", "added_tokens", "normalizer",
                      "pre_tokenizer", "post_processor", "decoder", "model"});
  require_null(root["truncation"], "truncation");
  require_null(root["padding"], "padding");
  check_normalizer(root["normalizer"]);
  check_model_options(root["model"]);
  const SplitRule rule = read_pre_tokenizer(root["pre_tokenizer"]);
  check_decoder(root["decoder"]);
  Vocabulary vocabulary = read_vocabulary(root["model"]["vocab"], "model.vocab");
  std::vector<Merge> merges = read_merges(root["model"]["merges"], vocabulary);
  std::vector<AddedToken> added = read_added_tokens(root["added_tokens"], vocabulary);
  BpeModel model = assemble(vocabulary, std::move(added));
  model.merges = std::move(merges);
  model.rule = rule;
  model.ignore_merges = root["model"]["ignore_merges"].boolean_or(false, "model.ignore_merges");
  model.begin_of_text = read_post_processor(root["post_processor"], vocabulary);
  return model;
}

BpeModel bpe_from_gpt2(std::string_view vocab_json, std::string_view merges_text) {
  const JsonValue root = parse_strict_json(vocab_json, kOp);
  const Vocabulary vocabulary = read_vocabulary(root, "vocab.json");
  std::vector<Merge> merges;
  std::vector<bool> reached(vocabulary.texts.size());
  while (!merges_text.empty()) {
    const std::string_view line = next_line(merges_text);
    if (line.empty() || line.starts_with("#version")) continue;
    merges.push_back(parse_merge(vocabulary, line, merges.size()));
    reached[static_cast<size_t>(merges.back().product)] = true;
  }
  std::vector<AddedToken> added;
  for (size_t id = 0; id < vocabulary.texts.size(); ++id) {
    const std::string_view text = vocabulary.texts[id];
    if (reached[id] || token_bytes_of(text).size() == 1) continue;
    added.push_back({static_cast<int32_t>(id), std::string(text)});
  }
  BpeModel model = assemble(vocabulary, std::move(added));
  model.merges = std::move(merges);
  return model;
}

}  // namespace tapir::app
