// Settings, config files, presets and the numbers that people read.
#include <gtest/gtest.h>

#include "apps/cli/quantity.h"
#include "apps/cli/suggest.h"
#include "apps/config/config_file.h"
#include "apps/config/precision.h"
#include "apps/config/presets.h"
#include "apps/config/toml.h"
#include "tests/support/expect_error.h"
#include "tests/support/process.h"

namespace tapir::app {
namespace {

using tapir::testing::expect_error;
using tapir::testing::TemporaryFolder;

void set(RunConfig& config, const std::string& name, const std::vector<std::string>& values) {
  const std::vector<Setting> all = settings(config);
  const Setting* setting = find_setting(all, name);
  ASSERT_NE(setting, nullptr) << name;
  assign(*setting, values, "--" + name);
}

TEST(Setting, TakesEachKindOfValue) {
  RunConfig config;
  set(config, "layers", {"7"});
  set(config, "kv-heads", {"2"});
  set(config, "lr", {"3e-4"});
  set(config, "tie-embeddings", {"true"});
  set(config, "ffn", {"gelu"});
  set(config, "position", {"none"});
  set(config, "data", {"a.txt", "b"});
  EXPECT_EQ(config.model.layers, 7);
  EXPECT_EQ(config.model.kv_heads, 2);
  EXPECT_DOUBLE_EQ(config.optimizer.lr, 3e-4);
  EXPECT_TRUE(config.model.tie_embeddings);
  EXPECT_EQ(config.model.ffn, nn::FeedForwardKind::gelu);
  EXPECT_FALSE(config.model.rope);
  EXPECT_EQ(config.data.paths, (std::vector<std::string>{"a.txt", "b"}));
  set(config, "kv-heads", {"auto"});
  EXPECT_EQ(config.model.kv_heads, std::nullopt);
}

TEST(Setting, RefusesWhatItCannotMean) {
  RunConfig config;
  const auto refused = [&](const std::string& name, const std::string& value) {
    return [&config, name, value] { set(config, name, {value}); };
  };
  expect_error(refused("layers", "four"), {"--layers: expected a whole number, got 'four'"});
  expect_error(refused("layers", "4.5"), {"--layers", "whole number"});
  expect_error(refused("layers", ""), {"--layers", "whole number"});
  expect_error(refused("layers", "0"), {"--layers: 0 is too small; the least is 1"});
  expect_error(refused("layers", "99999999999999999999"), {"--layers", "out of range"});
  expect_error(refused("lr", "fast"), {"--lr: expected a number, got 'fast'"});
  expect_error(refused("lr", "nan"), {"--lr", "nan"});
  expect_error(refused("dropout", "1"), {"--dropout: 1 is too large"});
  expect_error(refused("norm", "batch"),
               {"--norm: there is no 'batch'; choose one of rms, layer, none"});
  expect_error(refused("tie-embeddings", "yes"), {"--tie-embeddings: expected true or false"});
}

TEST(RunConfig, NamesTheFlagsThatDoNotFitTogether) {
  const auto invalid = [](auto change) {
    RunConfig config;
    change(config);
    return [config] { config.validate(); };
  };
  expect_error(invalid([](RunConfig& c) { c.model.heads = 3; }), {"--d-model 128", "--heads 3"});
  expect_error(invalid([](RunConfig& c) { c.model.kv_heads = 3; }), {"--heads 4", "--kv-heads 3"});
  expect_error(invalid([](RunConfig& c) { c.model.d_model = 12; }), {"pairs", "12 / 4 = 3"});
  expect_error(invalid([](RunConfig& c) { c.optimizer.min_lr = 1; }), {"--min-lr 1", "--lr 0.001"});
  expect_error(invalid([](RunConfig& c) { c.optimizer.warmup = 3000; }),
               {"--warmup 3000", "--steps 2000"});
  expect_error(invalid([](RunConfig& c) { c.optimizer.decay_steps = 1990; }),
               {"--decay-steps 1990", "1900 steps"});
}

TEST(Toml, ReadsWhatConfigFilesUse) {
  const std::vector<TomlEntry> entries = parse_toml(
      "\xEF\xBB\xBF# comment, behind the mark that some editors begin with\n"
      "top = 1\n"
      "[model]  # another\n"
      "layers = 1_000\n"
      "name = \"a\\\"b\\u00e9\\n\"\r\n"
      "plain = 'C:\\dir'\n"
      "list = [\"a\",\n  \"b\", # comment\n]\n"
      "rate = 1e-3",
      "f.toml");
  ASSERT_EQ(entries.size(), 6u);
  EXPECT_EQ(entries[0].section, "");
  EXPECT_EQ(entries[1].values, std::vector<std::string>{"1000"});
  EXPECT_EQ(entries[1].line, 4);
  EXPECT_EQ(entries[2].values, std::vector<std::string>{"a\"b\xC3\xA9\n"});
  EXPECT_EQ(entries[3].values, std::vector<std::string>{"C:\\dir"});
  EXPECT_EQ(entries[4].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(entries[5].values, std::vector<std::string>{"1e-3"});
  EXPECT_EQ(entries[5].line, 10);
}

TEST(Toml, NamesFileAndLineOfMistakes) {
  const auto parse = [](const std::string& text) { return [text] { parse_toml(text, "f.toml"); }; };
  expect_error(parse("a = 1\nb 2\n"), {"f.toml, line 2", "expected '='"});
  expect_error(parse("a = 1 2\n"), {"line 1", "after the value"});
  expect_error(parse("a = \"x\n"), {"line 1", "closing quote"});
  expect_error(parse("a = 'x\n"), {"line 1", "closing quote"});
  expect_error(parse("a = \n"), {"line 1", "expected a value"});
  expect_error(parse("a = 1\na = 2\n"), {"line 2", "a is set twice"});
  expect_error(parse("[m]\n[m]\n"), {"line 2", "[m] is here twice"});
  expect_error(parse("[m\n"), {"line 1", "expected ']'"});
  expect_error(parse("[[m]]\n"), {"line 1", "arrays of tables"});
  expect_error(parse("a = {b = 1}\n"), {"line 1", "braces"});
  expect_error(parse("a = [1, 2"), {"no end"});
  expect_error(parse("a = [1 2]"), {"expected ','"});
  expect_error(parse("a = \"\\q\""), {"escape \\q"});
  expect_error(parse("a = \"\\u12\""), {"4 hexadecimal digits"});
  expect_error(parse("a = \"\\ud800\""), {"no character"});
  expect_error(parse("= 1"), {"expected a key"});
  // Whole characters, not bytes of them.
  expect_error(parse("a = \xC3\xA9\n"), {"found '\xC3\xA9'"});
  expect_error(parse("a = \"\\\xC3\xA9\""), {"escape \\\xC3\xA9 in"});
}

TEST(ConfigFile, ReadsBackWhatItWrites) {
  RunConfig written;
  set(written, "data", {"a \"quoted\" name.txt", "b\\c", "d\n"});
  set(written, "lr", {"0.00012345678901234567"});
  set(written, "kv-heads", {"2"});
  set(written, "ffn", {"relu"});
  set(written, "checkpoint-activations", {"true"});
  TemporaryFolder folder;
  const std::string path = folder.write("config.toml", config_text(settings(written)));
  RunConfig read;
  read_config_file(path, settings(read));
  EXPECT_EQ(config_text(settings(read)), config_text(settings(written)));
  EXPECT_EQ(read.data.paths[2], "d\n");
  EXPECT_EQ(read.optimizer.lr, written.optimizer.lr);
}

TEST(ConfigFile, SuggestsTheRightKey) {
  TemporaryFolder folder;
  RunConfig config;
  const auto read = [&](const std::string& text) {
    return [&folder, &config, text] {
      read_config_file(folder.write("c.toml", text), settings(config));
    };
  };
  expect_error(read("[model]\nlayres = 3\n"),
               {"c.toml, line 2", "no setting 'layres'", "did you mean layers?"});
  expect_error(read("[modle]\nlayers = 3\n"), {"line 2", "[modle]", "did you mean model?"});
  expect_error(read("[data]\nlayers = 3\n"), {"line 2", "layers belongs into the section [model]"});
  expect_error(read("layers = 3\n"), {"belongs into the section [model]"});
  expect_error(read("[model]\nlayers = \"3\"\n"), {"line 2: layers", "without quotes"});
  expect_error(read("[model]\nlayers = 0\n"), {"line 2: layers", "the least is 1"});
  expect_error(read("[model]\nffn = gelu\n"), {"line 2: ffn", "text in quotes"});
  expect_error(read("[model]\nlayers = [3]\n"), {"line 2: layers", "not a list"});
  expect_error(read("[data]\ndata = \"a\"\n"), {"line 2: data", "a list"});
  expect_error([&] { read_config_file(folder / "none.toml", settings(config)); }, {"none.toml"});
}

TEST(Presets, AllAreValid) {
  for (const Preset& preset : presets()) {
    RunConfig config;
    apply_preset(preset.name, settings(config));
    EXPECT_NO_THROW(config.validate()) << preset.name;
  }
  RunConfig config;
  expect_error([&] { apply_preset("cpu-tny", settings(config)); },
               {"no preset 'cpu-tny'", "did you mean cpu-tiny?", "gpu-small"});
}

TEST(Size, FindsAModelOfThatSize) {
  for (const int64_t wanted : {30'000, 800'000, 10'000'000, 85'000'000, 1'000'000'000}) {
    ModelConfig model;
    apply_size(wanted, 257, model);
    const double count = static_cast<double>(model.transformer(257).parameter_count());
    EXPECT_NEAR(count / static_cast<double>(wanted), 1.0, 0.15) << wanted;
    EXPECT_EQ(model.d_model % model.heads, 0);
    RunConfig config;
    config.model = model;
    EXPECT_NO_THROW(config.validate());
  }
  ModelConfig model;
  expect_error([&] { apply_size(100, 257, model); }, {"--size", "no sensible model"});
}

// Every card that the CUDA backend takes has tensor cores for bf16.
TEST(Precision, OnCudaAutoIsBf16) {
  const PrecisionChoice chosen = choose_precision(Precision::automatic, kCuda);
  EXPECT_EQ(chosen.precision, Precision::bf16);
  EXPECT_EQ(
      chosen.about,
      "bf16, with weights and moments of the optimizer in f32 (auto: bf16 is faster on CUDA)");
  for (const Precision wish : {Precision::f32, Precision::bf16}) {
    EXPECT_EQ(choose_precision(wish, kCuda).precision, wish);
    EXPECT_EQ(choose_precision(wish, kCuda).about.find("faster"), std::string::npos);
  }
}

TEST(Quantity, HasUnits) {
  EXPECT_EQ(format_count(950), "950");
  EXPECT_EQ(format_count(12345), "12.3 k");
  EXPECT_EQ(format_count(999'999), "1.00 M");
  EXPECT_EQ(format_count(4.56e6), "4.56 M");
  EXPECT_EQ(format_bytes(100), "100 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(5.0 * 1024 * 1024 * 1024), "5.00 GiB");
  EXPECT_EQ(format_duration(0.004), "4.00 ms");
  EXPECT_EQ(format_duration(0.42), "0.42 s");
  EXPECT_EQ(format_duration(12.3), "12 s");
  EXPECT_EQ(format_duration(200), "3 min 20 s");
  EXPECT_EQ(format_duration(7500), "2 h 05 min");
  EXPECT_EQ(format_duration(100'000), "1 d 03 h");
  EXPECT_EQ(format_duration(-1), "unknown");
}

TEST(Quantity, ParsesCounts) {
  EXPECT_EQ(parse_count("120000", "x"), 120'000);
  EXPECT_EQ(parse_count("10M", "x"), 10'000'000);
  EXPECT_EQ(parse_count("1.5k", "x"), 1'500);
  EXPECT_EQ(parse_count("2 G", "x"), 2'000'000'000);
  for (const char* bad : {"", "M", "10X", "-5", "0", "1e30", "inf", "nan"}) {
    expect_error([&] { parse_count(bad, "--size"); }, {"--size: expected a number"});
  }
}

TEST(Suggest, FindsTheNearWord) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("ab", "ba"), 1);  // a swap is one mistake
  EXPECT_EQ(edit_distance("", "abc"), 3);
  const std::vector<std::string> words = {"--layers", "--lr", "--temperature"};
  EXPECT_EQ(closest_word("--layer", words), "--layers");
  EXPECT_EQ(closest_word("--temp", words), "--temperature");
  EXPECT_EQ(closest_word("--zzzzzz", words), "");
  EXPECT_EQ(did_you_mean("--lyers", words), "; did you mean --layers?");
}

}  // namespace
}  // namespace tapir::app
