// Reading tokenizer.json, vocab.json and merges.txt: what is not honoured is named.
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/excerpt.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/strict_json.h"
#include "apps/tokenizer/tokenizer.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tapir::app {
namespace {

using nlohmann::json;
using testing::expect_error;
using testing::TemporaryFolder;
using Ids = std::vector<int32_t>;

const std::filesystem::path kFolder = std::filesystem::path(TAPIR_TEST_DIR) / "golden/tokenizer";

json sample(const char* name = "gpt2_style.json") {
  return json::parse(testing::read_text(kFolder / name));
}

// Loads the sample with one member, named by its JSON pointer, changed.
auto changed(const char* pointer, const json& value, const char* name = "gpt2_style.json") {
  return [=] {
    json root = sample(name);
    root[json::json_pointer(pointer)] = value;
    tokenizer_from_json(root.dump());
  };
}

TEST(TokenizerJson, TheSamplesLoad) {
  EXPECT_EQ(tokenizer_from_json(sample().dump())->kind(), "bpe");
  EXPECT_EQ(tokenizer_from_json(sample("llama3_style.json").dump(2))->kind(), "bpe");
}

TEST(TokenizerJson, OptionsThatChangeIdsAreNamed) {
  expect_error(changed("/truncation", {{"max_length", 5}}), {"truncation"});
  expect_error(changed("/padding", {{"length", 5}}), {"padding"});
  expect_error(changed("/normalizer", {{"type", "NFC"}}), {"normalizer \"NFC\""});
  expect_error(
      changed("/normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Lowercase"}}}}}),
      {"normalizer \"Lowercase\""});
  expect_error(changed("/decoder", {{"type", "Metaspace"}}), {"decoder Metaspace"});
  expect_error(changed("/surprise", 1), {"unknown member \"surprise\""});
}

TEST(TokenizerJson, ModelsThatAreNoByteLevelBpeAreNamed) {
  expect_error(changed("/model/type", "Unigram"), {"model type Unigram"});
  expect_error(changed("/model/type", "WordPiece"), {"model type WordPiece"});
  expect_error(changed("/model/dropout", 0.1), {"model.dropout", "0.1"});
  expect_error(changed("/model/continuing_subword_prefix", "##"), {"continuing_subword_prefix"});
  expect_error(changed("/model/end_of_word_suffix", "</w>"), {"end_of_word_suffix"});
  expect_error(changed("/model/max_input_chars", 5), {"model", "max_input_chars"});
  expect_error(changed("/model/ignore_merges", "yes"), {"ignore_merges", "\"yes\""});
  expect_error(changed("/model", nullptr), {"no \"model\""});
}

TEST(TokenizerJson, PreTokenizersThatAreNotKnownAreNamed) {
  expect_error(changed("/pre_tokenizer", nullptr), {"pre_tokenizer null"});
  expect_error(changed("/pre_tokenizer", {{"type", "Whitespace"}}), {"pre_tokenizer Whitespace"});
  expect_error(changed("/pre_tokenizer/add_prefix_space", true), {"add_prefix_space true"});
  expect_error(changed("/pre_tokenizer/use_regex", false), {"use_regex false"});
  expect_error(changed("/pre_tokenizer/speed", 2), {"ByteLevel", "speed"});
  const char* const llama = "llama3_style.json";
  expect_error(changed("/pre_tokenizer/pretokenizers/0/pattern/Regex", R"(\w+)", llama),
               {"pattern \\w+"});
  expect_error(changed("/pre_tokenizer/pretokenizers/0/pattern", {{"String", " "}}, llama),
               {"pre_tokenizer.pattern.Regex"});
  expect_error(changed("/pre_tokenizer/pretokenizers/0/behavior", "Removed", llama), {"Removed"});
  expect_error(changed("/pre_tokenizer/pretokenizers/0/invert", true, llama), {"invert true"});
  expect_error(changed("/pre_tokenizer/pretokenizers/1/use_regex", true, llama),
               {"use_regex true"});
  expect_error(changed("/pre_tokenizer/pretokenizers/0", {{"type", "Digits"}}, llama), {"Digits"});
}

TEST(TokenizerJson, PostProcessorsMayPutOneTokenInFront) {
  const json begin = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}};
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto with_template = [](const json& single) {
    json root = sample();
    root["post_processor"] = {{"type", "TemplateProcessing"}, {"single", single}};
    return root.dump();
  };
  const auto tokenizer = tokenizer_from_json(with_template({begin, text}));
  EXPECT_EQ(tokenizer->begin_of_text(), tokenizer->end_of_text());
  const auto again = tokenizer_from_json(tokenizer_to_json(*tokenizer));
  EXPECT_EQ(again->begin_of_text(), tokenizer->begin_of_text());
  EXPECT_EQ(again->hash(), tokenizer->hash());
  EXPECT_NE(again->hash(), tokenizer_from_json(sample().dump())->hash());

  const auto fails = [&](const json& single, const std::string& part) {
    expect_error([&] { tokenizer_from_json(with_template(single)); }, {part});
  };
  fails({text, begin}, "after the text");
  fails({begin, begin, text}, "second token");
  fails({text, text}, "repeats the text");
  fails({{{"SpecialToken", {{"id", "<none>"}}}}, text}, "<none>");
  expect_error(changed("/post_processor", {{"type", "BertProcessing"}}), {"BertProcessing"});
}

TEST(TokenizerJson, AddedTokensAreChecked) {
  const auto token = [](int64_t id, const char* text, const char* option = nullptr) {
    json added = {{"id", id}, {"content", text}, {"special", true}};
    if (option != nullptr) added[option] = true;
    return added;
  };
  const json end = token(0, "<|endoftext|>");
  const auto next = static_cast<int64_t>(sample()["model"]["vocab"].size());
  changed("/added_tokens", {end, token(next, "<x>")})();  // must not throw
  for (const char* const option : {"single_word", "lstrip", "rstrip"}) {
    expect_error(changed("/added_tokens", {end, token(next, "<x>", option)}), {option, "<x>"});
  }
  const auto fails = [&](const json& list, const std::vector<std::string>& parts) {
    expect_error(changed("/added_tokens", list), parts);
  };
  fails({end, token(next + 1, "<x>")}, {fmt::format("no token has id {}", next)});
  fails({end, token(5, "<x>")}, {"id 5", "<x>"});
  fails({end, end}, {"<|endoftext|>", "twice"});
  fails(json::array({token(1, "<|endoftext|>")}), {"<|endoftext|>", "id 1"});
  fails(json::array({token(next, "")}), {std::to_string(next), "empty"});
  fails(json::array({token(-7, "<x>")}), {"-7"});
  fails(json::array({token(int64_t{1} << 40, "<x>")}), {"1099511627776"});
  fails(json::array({{{"content", "<x>"}}}), {"added_tokens.id", "null"});
  fails(7, {"added_tokens must be an array", "7"});
}

TEST(TokenizerJson, BrokenVocabulariesAreErrors) {
  json root = sample();
  root["model"]["vocab"].erase("a");
  expect_error([&] { tokenizer_from_json(root.dump()); }, {"not in the vocabulary"});
  root["model"]["merges"] = json::array();
  expect_error([&] { tokenizer_from_json(root.dump()); }, {"no token has id"});
  expect_error(changed("/model/vocab/x", 1), {"id 1", "two tokens"});
  expect_error(changed("/model/vocab/x", "1"), {"model.vocab must be an integer"});
  expect_error(changed("/model/vocab/x", 1.5), {"model.vocab must be an integer", "1.5"});
  expect_error(changed("/model/vocab", {1, 2}), {"model.vocab must be an object"});
  expect_error(changed("/model/merges", json::array({"a"})), {"merge 0"});
  expect_error(changed("/model/merges", json::array({"a b c"})), {"merge 0", "a b c"});
  expect_error(changed("/model/merges", json::array({json::array({"a", "b", "c"})})),
               {"merge 0", "3 parts"});
  expect_error(changed("/model/merges", json::array({json::array({"a", "zzz"})})), {"\"zzz\""});
  expect_error(changed("/model/merges", json::array({5})), {"a merge must be an array"});
}

TEST(TokenizerJson, OlderSpellingsAreUnderstood) {
  json root = sample();
  for (json& merge : root["model"]["merges"]) {
    merge = fmt::format("{} {}", merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  root["model"].erase("type");
  root["model"].erase("ignore_merges");
  root.erase("post_processor");
  EXPECT_EQ(tokenizer_from_json(root.dump())->hash(), tokenizer_from_json(sample().dump())->hash());
}

TEST(TokenizerJson, ByteAndCharFilesMustBeWhole) {
  json root = json::parse(tokenizer_to_json(*make_byte_tokenizer()));
  root["model"]["vocab"]["b"] = 97;
  root["model"]["vocab"]["a"] = 98;
  expect_error([&] { tokenizer_from_json(root.dump()); }, {"byte tokenizer"});
  root["pre_tokenizer"] = nullptr;
  root["model"]["byte_fallback"] = true;
  expect_error([&] { tokenizer_from_json(root.dump()); }, {"char tokenizer"});
}

// Messages stay on one line of bounded length, whatever the file holds.
TEST(TokenizerJson, MessagesShowLittleOfAFile) {
  EXPECT_EQ(excerpt("caf\xC3\xA9 \"x\""), "caf\xC3\xA9 \"x\"");
  EXPECT_EQ(excerpt("a\nb\x1b[31m\x7f\xC2\x9B\xFF"), "a\\u000ab\\u001b[31m\\u007f\\u009b\\xff");
  EXPECT_EQ(excerpt(std::string(60, 'x')), std::string(60, 'x'));
  EXPECT_EQ(excerpt(std::string(61, 'x')), std::string(60, 'x') + "...");
  // A character is not cut.
  EXPECT_EQ(excerpt(std::string(59, 'x') + "\xC3\xA9y"), std::string(59, 'x') + "\xC3\xA9...");
  const std::string key(100'000, 'k');
  for (const std::string& text :
       {"{\"a\": " + std::string(100'000, '1') + "}", "{\"a\": \"" + key,
        "{\"" + key + "\": 1, \"" + key + "\": 1}", std::string("{\"a\": \"\x1b[31m\"}")}) {
    try {
      tokenizer_from_json(text);
      FAIL() << text.substr(0, 20);
    } catch (const Error& error) {
      EXPECT_LT(std::strlen(error.what()), 300u);
      EXPECT_EQ(std::string_view(error.what()).find('\x1b'), std::string_view::npos);
    }
  }
}

TEST(TokenizerJson, MalformedTextIsAnError) {
  expect_error([] { tokenizer_from_json(""); }, {"not valid JSON"});
  expect_error([] { tokenizer_from_json("[1, 2"); }, {"not valid JSON"});
  expect_error([] { tokenizer_from_json("[]"); }, {"no \"model\""});
  expect_error([] { tokenizer_from_json("{\"model\": \"\xFF\"}"); }, {"not valid JSON", "UTF-8"});
  expect_error([] { tokenizer_from_json(R"({"a": 1, "b": {"c": 1, "c": 2}})"); },
               {"key \"c\" appears twice"});
  expect_error([] { tokenizer_from_json(std::string(1'000'000, '[')); }, {"deeper than 64"});
  expect_error([] { tokenizer_from_json("{\"model\": 1e999}"); }, {"not valid JSON"});
  const std::string whole = sample().dump();
  for (size_t size = 0; size < whole.size(); size += 97) {
    expect_error([&] { tokenizer_from_json(whole.substr(0, size)); }, {"not valid JSON"});
  }
}

TEST(Gpt2Files, ReadBackWhatWasWritten) {
  const TemporaryFolder folder;
  const auto original = load_tokenizer(kFolder / "gpt2_style.json");
  original->save(folder.path());
  EXPECT_EQ(testing::read_text(folder / "merges.txt").substr(0, 14), "#version: 0.2\n");
  std::filesystem::remove(folder / "tokenizer.json");
  const auto again = load_tokenizer(folder.path());
  EXPECT_EQ(again->hash(), original->hash());
  // Without the first line and with Windows line ends, too.
  std::string merges;
  for (const char byte : testing::read_text(folder / "merges.txt").substr(14)) {
    if (byte == '\n') merges.push_back('\r');
    merges.push_back(byte);
  }
  folder.write("merges.txt", merges);
  EXPECT_EQ(load_tokenizer(folder.path())->hash(), original->hash());
}

TEST(Gpt2Files, BrokenFilesAreErrors) {
  const json byte_file = json::parse(tokenizer_to_json(*make_byte_tokenizer()));
  const std::string bytes = byte_file["model"]["vocab"].dump();
  EXPECT_EQ(make_bpe_tokenizer(bpe_from_gpt2(bytes, ""))->end_of_text(), 256);
  expect_error([&] { bpe_from_gpt2(bytes, "a b"); }, {"merge 0", "\"ab\""});
  expect_error([&] { bpe_from_gpt2(bytes, "ab\n"); }, {"merge 0", "one space"});
  expect_error([&] { bpe_from_gpt2(bytes, "a \xFF\n"); }, {"merge 0", "\"\\xff\""});
  expect_error([&] { bpe_from_gpt2("[]", ""); }, {"vocab.json must be an object"});
  expect_error([&] { make_bpe_tokenizer(bpe_from_gpt2("{\"a\": 0}", "")); }, {"byte 0x00"});
}

TEST(LoadTokenizer, MissingFilesAreErrorsThatNameThePath) {
  const TemporaryFolder folder;
  expect_error([&] { load_tokenizer(folder / "none.json"); }, {"none.json", "does not exist"});
  expect_error([&] { load_tokenizer(folder.path()); }, {"neither tokenizer.json nor vocab.json"});
  folder.write("vocab.json", "{}");
  expect_error([&] { load_tokenizer(folder.path()); }, {"merges.txt", "does not exist"});
  folder.write("tokenizer.json", "{}");
  expect_error([&] { load_tokenizer(folder.path()); }, {"no \"model\"", "tokenizer.json"});
  expect_error([] { read_file("/dev/zero"); }, {"/dev/zero", "not a file"});
  folder.write("plain", "x");
  expect_error([&] { make_byte_tokenizer()->save(folder / "plain"); }, {"plain"});
  expect_error([&] { write_file(folder / "none/x", "x"); }, {"cannot write"});
}

TEST(StrictJson, KeepsOrderAndTypes) {
  const JsonValue root =
      parse_strict_json(R"({"b": [1, -2, 3.5, "x", null, true], "a": {}})", "test");
  EXPECT_EQ(root.object("root")[0].key, "b");
  const JsonValue::Array& list = root["b"].array("b");
  EXPECT_EQ(list[0].integer("0"), 1);
  EXPECT_EQ(list[1].integer("1"), -2);
  EXPECT_EQ(list[2].describe(), "3.5");
  EXPECT_EQ(list[3].string("3"), "x");
  EXPECT_TRUE(list[4].is_null());
  EXPECT_TRUE(list[5].boolean("5"));
  EXPECT_TRUE(root["none"].is_null());
  EXPECT_EQ(root, parse_strict_json(R"({"a": {}, "b": [1, -2, 3.5, "x", null, true]})", "test"));
  EXPECT_FALSE(root == parse_strict_json(R"({"a": {}, "b": [1, -2]})", "test"));
  expect_error([&] { root["b"].string("b"); }, {"b must be a string, found an array"});
  expect_error([&] { parse_strict_json("18446744073709551615", "test").integer("n"); }, {"n must"});
}

}  // namespace
}  // namespace tapir::app
