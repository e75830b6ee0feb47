// Models of transformers: read, imported and exported. Expected logits come from transformers
// itself (tests/interchange).
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/interchange/export_model.h"
#include "apps/interchange/import_model.h"
#include "apps/interchange/llama_folder.h"
#include "apps/interchange/open_model.h"
#include "apps/tokenizer/char_tokenizer.h"
#include "autograd/ops.h"
#include "autograd/serialize.h"
#include "nn/init.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::expect_error;
using testing::TemporaryFolder;

fs::path golden(const std::string& name) {
  return fs::path(TAPIR_TEST_DIR) / "interchange" / name;
}

// Logits [T, V] of one sequence.
Tensor logits_of(const LoadedModel& model, const Tensor& ids) {
  const Tensor row = reshape(ids, {1, ids.numel()});
  const Tensor logits = (*model.model)(row);
  return reshape(logits, {ids.numel(), logits.size(-1)});
}

double largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape().to_string(), b.shape().to_string());
  return abs(a - b).numel() == 0 ? 0 : max(reshape(abs(a - b), {a.numel()}), 0).item();
}

struct Expected {
  Tensor ids, logits, logsumexp;
};

Expected expected_of(const std::string& name) {
  const StateDict tensors = load_safetensors(golden(name) / "expected.safetensors").tensors;
  return {tensors.at("ids"), tensors.at("logits"), tensors.at("logsumexp")};
}

class Golden : public ::testing::TestWithParam<std::string> {};

// 200 positions in f32. The logits reach 20, where neighbouring f32 numbers are 2e-6 apart, and
// both programs add up dozens of products in different orders.
TEST_P(Golden, LogitsAreThoseOfTransformers) {
  const Expected expected = expected_of(GetParam());
  const LoadedModel model = open_model(golden(GetParam()), "", kCpu);
  const Tensor logits = logits_of(model, expected.ids);
  ASSERT_EQ(logits.size(0), 200);
  constexpr double kTolerance = 1e-5;
  EXPECT_LE(largest_difference(slice(logits, 1, 0, logits.size(1), 16), expected.logits),
            kTolerance);
  EXPECT_LE(largest_difference(logsumexp(logits, -1), expected.logsumexp), kTolerance);
}

TEST_P(Golden, AnImportedRunHasTheSameModel) {
  const TemporaryFolder folder;
  const Expected expected = expected_of(GetParam());
  import_model(golden(GetParam()), folder / "run", 0, false);
  const LoadedModel direct = open_model(golden(GetParam()), "", kCpu);
  const LoadedModel run = open_model(folder / "run", "last", kCpu);
  EXPECT_EQ(largest_difference(logits_of(direct, expected.ids), logits_of(run, expected.ids)), 0);
  EXPECT_EQ(run.info.tokenizer_hash, direct.info.tokenizer_hash);
  EXPECT_EQ(run.info.state.step, 0);
  EXPECT_FALSE(run.info.has_optimizer());
  verify_checkpoint(run.folder);
  expect_error([&] { import_model(golden(GetParam()), folder / "run", 0, false); },
               {"holds another run", "--overwrite"});
  import_model(golden(GetParam()), folder / "run", 100, true);
  EXPECT_EQ(open_model(folder / "run", "", kCpu).model->config().max_seq_len, 100);
}

TEST_P(Golden, ExportedAndReadAgainItIsTheSameModel) {
  const TemporaryFolder folder;
  const Expected expected = expected_of(GetParam());
  const LoadedModel original = open_model(golden(GetParam()), "", kCpu);
  export_hugging_face(original, folder / "hf", DType::f32, false);
  const LoadedModel again = open_model(folder / "hf", "", kCpu);
  EXPECT_EQ(largest_difference(logits_of(original, expected.ids), logits_of(again, expected.ids)),
            0);
  for (const char* name : {"config.json", "generation_config.json", "model.safetensors",
                           "tokenizer.json", "tokenizer_config.json"}) {
    EXPECT_TRUE(fs::exists(fs::path(folder / "hf") / name)) << name;
  }
  expect_error([&] { export_hugging_face(original, folder / "hf", DType::f32, false); },
               {"exists", "--overwrite"});
  export_hugging_face(original, folder / "hf", DType::bf16, true);
  EXPECT_EQ(load_safetensors(fs::path(folder / "hf") / "model.safetensors")
                .tensors.at("model.norm.weight")
                .dtype(),
            DType::bf16);
}

INSTANTIATE_TEST_SUITE_P(Interchange, Golden, ::testing::Values("grouped", "llama3", "biases"),
                         [](const auto& test) { return test.param; });

TEST(Interchange, ConfigurationsAreReadInFull) {
  const LlamaFolder llama3 = read_llama_folder(golden("llama3"));
  const ModelConfig& config = llama3.config;
  EXPECT_TRUE(config.tie_embeddings);
  EXPECT_EQ(config.kv_heads, 1);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.rope_theta, 500);
  EXPECT_EQ(config.rope_layout, RopeLayout::half_split);
  EXPECT_EQ(config.rope_scaling, (nn::RopeScaling{nn::RopeScalingKind::llama3, 8, 1, 4, 64}));
  EXPECT_EQ(llama3.weights.at("token_embeddings.weight").dtype(), DType::bf16);
  EXPECT_EQ(llama3.weights.count("lm_head.weight"), 0u);
  const ModelConfig biases = read_llama_folder(golden("biases")).config;
  EXPECT_TRUE(biases.qkv_bias && biases.output_bias && biases.ffn_bias);
  EXPECT_EQ(biases.rope_scaling.kind, nn::RopeScalingKind::linear);
  EXPECT_EQ(biases.rope_scaling.factor, 4);
}

// A copy of a golden folder, to be changed.
class Changed {
 public:
  explicit Changed(const std::string& name) : path_(folder_ / "model") {
    fs::copy(golden(name), path_, fs::copy_options::recursive);
  }
  const fs::path& path() const { return path_; }
  TemporaryFolder& folder() { return folder_; }

  json read(const std::string& name) const { return json::parse(testing::read_text(path_ / name)); }
  void write(const std::string& name, const std::string& text) const {
    folder_.write("model/" + name, text);
  }
  // config.json with these fields changed; null removes one.
  Changed& set(const json& fields) {
    json config = read("config.json");
    config.merge_patch(fields);
    write("config.json", config.dump());
    return *this;
  }
  void expect_refused(const std::vector<std::string>& parts) const {
    expect_error([&] { read_llama_folder(path_); }, parts);
  }

 private:
  TemporaryFolder folder_;
  fs::path path_;
};

TEST(Interchange, WhatCannotBeRepresentedIsNamedWithItsValue) {
  const auto refuses = [](const json& fields, const std::vector<std::string>& parts) {
    Changed("grouped").set(fields).expect_refused(parts);
  };
  refuses({{"model_type", "gpt2"}}, {"config.json: model_type is \"gpt2\"", "llama"});
  refuses({{"model_type", nullptr}}, {"model_type is null"});
  refuses({{"hidden_act", "gelu"}}, {"hidden_act is \"gelu\"", "silu"});
  refuses({{"head_dim", 8}}, {"head_dim is 8", "num_attention_heads = 4"});
  refuses({{"hidden_size", 18}}, {"num_attention_heads is 4", "hidden_size 18"});
  refuses({{"num_key_value_heads", 3}}, {"num_key_value_heads is 3", "num_attention_heads 4"});
  refuses({{"num_attention_heads", 16}, {"num_key_value_heads", 16}, {"head_dim", 1}},
          {"num_attention_heads is 16", "pairs"});
  refuses({{"sliding_window", 128}}, {"sliding_window is 128", "null"});
  refuses({{"attention_dropout", 0.1}}, {"attention_dropout is 0.1"});
  refuses({{"quantization_config", {{"bits", 4}}}}, {"quantization_config is an object"});
  refuses({{"rope_parameters", {{"rope_type", "yarn"}}}},
          {"rope_parameters.rope_type is \"yarn\""});
  refuses({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}},
          {"rope_scaling.type is \"dynamic\""});
  refuses({{"rope_parameters", {{"partial_rotary_factor", 0.5}}}},
          {"partial_rotary_factor is 0.5"});
  refuses({{"rope_parameters", {{"mscale", 0.5}}}}, {"rope_parameters.mscale is 0.5"});
  refuses({{"rope_parameters", {{"rope_type", "llama3"}}}}, {"factor", "a number", "null"});
  refuses({{"rope_parameters", {{"rope_type", "linear"}, {"factor", 0.5}}}}, {"factor is 0.5"});
  refuses({{"rms_norm_eps", 0}}, {"rms_norm_eps is 0"});
  refuses({{"embedding_multiplier", 12.0}}, {"embedding_multiplier is 12", "not known"});
  refuses({{"hidden_size", -16}}, {"hidden_size is -16"});
  refuses({{"hidden_size", 1e300}}, {"hidden_size", "an integer"});
  refuses({{"vocab_size", nullptr}}, {"vocab_size", "null"});
}

TEST(Interchange, FieldsWithoutEffectAndOlderSpellingsAreTaken) {
  Changed older("grouped");
  older.set({{"rope_parameters", nullptr},
             {"rope_theta", 10000.0},
             {"rope_scaling", nullptr},
             {"model_type", "mistral"},
             {"sliding_window", nullptr},
             {"torch_dtype", "float32"},
             {"is_special", false},
             {"transformers_version", "4.40"}});
  const Expected expected = expected_of("grouped");
  EXPECT_EQ(largest_difference(logits_of(open_model(older.path(), "", kCpu), expected.ids),
                               logits_of(open_model(golden("grouped"), "", kCpu), expected.ids)),
            0);
  Changed scaled("llama3");
  json scaling = scaled.read("config.json")["rope_parameters"];
  scaling.erase("rope_theta");
  scaled.set({{"rope_parameters", nullptr}, {"rope_theta", 500.0}, {"rope_scaling", scaling}});
  EXPECT_EQ(read_llama_folder(scaled.path()).config.rope_scaling,
            read_llama_folder(golden("llama3")).config.rope_scaling);
}

TEST(Interchange, TextsEndAtAnyOfTheIdsOfTheConfiguration) {
  const auto ends = [](const json& value) {
    return read_llama_folder(Changed("grouped").set({{"eos_token_id", value}}).path()).end_tokens;
  };
  EXPECT_EQ(ends(7), (std::vector<int32_t>{7}));
  EXPECT_EQ(ends({7, 10}), (std::vector<int32_t>{7, 10}));
  EXPECT_TRUE(ends(nullptr).empty());
  EXPECT_EQ(ends(256), (std::vector<int32_t>{256}));
  for (const int64_t id : {int64_t{257}, int64_t{400}, int64_t{1} << 32}) {
    Changed("grouped")
        .set({{"eos_token_id", {7, id}}})
        .expect_refused({"config.json: eos_token_id holds " + std::to_string(id),
                         "vocab_size is 257, so ids are 0 .. 256"});
  }
  Changed("grouped").set({{"eos_token_id", -1}}).expect_refused({"eos_token_id holds -1"});
  Changed("grouped").set({{"eos_token_id", "</s>"}}).expect_refused({"eos_token_id", "an integer"});

  // Through an import and an export.
  const TemporaryFolder folder;
  import_model(Changed("grouped").set({{"eos_token_id", {7, 10}}}).path(), folder / "run", 0,
               false);
  const LoadedModel run = open_model(folder / "run", "", kCpu);
  EXPECT_EQ(run.info.end_tokens, (std::vector<int32_t>{7, 10}));
  export_hugging_face(run, folder / "hf", DType::f32, false);
  for (const char* file : {"hf/config.json", "hf/generation_config.json"}) {
    EXPECT_EQ(json::parse(testing::read_text(folder / file))["eos_token_id"], json({7, 10, 256}));
  }
}

// Writes the tensors of a golden folder with a change.
void change_tensors(const Changed& model, const std::function<void(StateDict&)>& change) {
  StateDict tensors = load_safetensors(model.path() / "model.safetensors").tensors;
  change(tensors);
  save_safetensors(model.path() / "model.safetensors", tensors);
}

TEST(Interchange, TensorsThatDoNotFitAreNamed) {
  const auto refuses = [](const std::function<void(StateDict&)>& change,
                          const std::vector<std::string>& parts) {
    const Changed model("grouped");
    change_tensors(model, change);
    model.expect_refused(parts);
  };
  const std::string k = "model.layers.1.self_attn.k_proj.weight";
  refuses([&](StateDict& t) { t.erase(k); }, {"there is no tensor " + k});
  refuses([&](StateDict& t) { t[k] = Tensor::zeros({4, 16}); }, {k, "[4, 16]", "[8, 16]"});
  refuses([&](StateDict& t) { t[k] = Tensor::zeros({8, 16}, DType::i32); }, {k, "i32", "floating"});
  refuses([](StateDict& t) { t["model.extra"] = Tensor::zeros({1}); }, {"no use", "model.extra"});
}

TEST(Interchange, ATiedOutputMatrixMayBePresentOnlyIfItIsTheSame) {
  Changed differs("grouped");
  differs.set({{"tie_word_embeddings", true}});
  differs.expect_refused({"tie_word_embeddings is true", "lm_head.weight", "differ"});
  change_tensors(differs, [](StateDict& tensors) {
    tensors["lm_head.weight"] = tensors.at("model.embed_tokens.weight");
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = Tensor::zeros({2});
  });
  EXPECT_EQ(read_llama_folder(differs.path()).weights.count("lm_head.weight"), 0u);
}

TEST(Interchange, APaddedVocabularyIsCutToTheTokenizers) {
  Changed padded("grouped");
  padded.set({{"vocab_size", 264}});
  change_tensors(padded, [](StateDict& tensors) {
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
      tensors[name] = cat({tensors.at(name), Tensor::ones({7, 16})}, 0);
    }
  });
  const Expected expected = expected_of("grouped");
  EXPECT_EQ(largest_difference(logits_of(open_model(padded.path(), "", kCpu), expected.ids),
                               logits_of(open_model(golden("grouped"), "", kCpu), expected.ids)),
            0);
  EXPECT_THAT(read_llama_folder(padded.path()).notes.at(0), ::testing::HasSubstr("last 7 of 264"));
  // An id in the padding can never be produced.
  const LlamaFolder read = read_llama_folder(padded.set({{"eos_token_id", {7, 260}}}).path());
  EXPECT_EQ(read.end_tokens, (std::vector<int32_t>{7}));
  EXPECT_THAT(read.notes.at(1), ::testing::HasSubstr("eos_token_id has 260"));
  Changed small("grouped");
  small.set({{"vocab_size", 256}, {"eos_token_id", nullptr}});
  change_tensors(small, [](StateDict& tensors) {
    for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
      tensors[name] = slice(tensors.at(name), 0, 0, 256);
    }
  });
  small.expect_refused({"257 tokens", "vocab_size", "256"});
}

TEST(Interchange, AConfigurationMayNotClaimMoreThanTheFilesHold) {
  Changed huge("grouped");
  huge.set({{"num_hidden_layers", 4096}, {"intermediate_size", 4194304}});
  huge.expect_refused({"by config.json the model has", "the files hold"});
  huge.set({{"num_hidden_layers", 16000000}});
  huge.expect_refused({"n_layers is 16000000"});
}

TEST(Interchange, IncompleteFoldersAreRefused) {
  const TemporaryFolder empty;
  expect_error([&] { read_llama_folder(empty.path()); }, {"no config.json"});
  expect_error([&] { read_llama_folder(empty / "none"); }, {"there is no folder", "none"});
  const auto without = [](const std::string& name, const std::vector<std::string>& parts) {
    const Changed model("grouped");
    fs::remove(model.path() / name);
    model.expect_refused(parts);
  };
  without("tokenizer.json", {"neither tokenizer.json nor vocab.json"});
  without("model.safetensors", {"neither model.safetensors nor model.safetensors.index.json"});
}

// The index of the sharded golden folder, with one entry changed.
void expect_index_refused(const std::string& file, const std::vector<std::string>& parts) {
  const Changed model("llama3");
  json index = model.read("model.safetensors.index.json");
  index["weight_map"]["model.norm.weight"] = file;
  model.write("model.safetensors.index.json", index.dump());
  model.expect_refused(parts);
}

TEST(HostileIndex, NamesThatLeaveTheFolderAreRefused) {
  for (const char* name : {"../model.safetensors", "/etc/passwd", "a/b.safetensors", "..", ".", "",
                           "a\\b.safetensors", "./model-00001-of-00002.safetensors"}) {
    expect_index_refused(name, {"model.norm.weight is said to be in", "no file of the folder"});
  }
  expect_index_refused(std::string("model-00001-of-00002.safetensors\0x", 34), {"no file of the"});
  expect_index_refused(std::string(5000, 'x'), {"no file of the folder"});
  expect_index_refused("missing.safetensors", {"missing.safetensors", "No such file"});
}

TEST(HostileIndex, IndexAndFilesMustAgree) {
  expect_index_refused("model-00001-of-00002.safetensors",
                       {"says that model-00001-of-00002.safetensors holds model.norm.weight"});
  const Changed extra("llama3");
  json index = extra.read("model.safetensors.index.json");
  index["weight_map"].erase("model.norm.weight");
  extra.write("model.safetensors.index.json", index.dump());
  extra.expect_refused({"holds model.norm.weight, which", "does not say"});
  const Changed broken("llama3");
  broken.write("model.safetensors.index.json", R"({"weight_map": {"a": "x", "a": "y"}})");
  broken.expect_refused({"\"a\" appears twice"});
  broken.write("model.safetensors.index.json", R"({"weight_map": {"a": 1}})");
  broken.expect_refused({"a must be a string, found 1"});
  broken.write("model.safetensors.index.json", R"({"weight_map": {}})");
  broken.expect_refused({"weight_map is empty"});
  broken.write("model.safetensors.index.json", "[");
  broken.expect_refused({"not valid JSON"});
}

TEST(HostileIndex, LinksMayNotLeadOut) {
  Changed model("grouped");
  const fs::path weights = model.path() / "model.safetensors";
  const fs::path outside = model.folder() / "outside.safetensors";
  fs::rename(weights, outside);
  fs::create_symlink(outside, weights);
  model.expect_refused({"model.safetensors is a link that leads out of the folder"});
  fs::remove(weights);
  fs::rename(outside, model.path() / "renamed.safetensors");
  fs::create_symlink("renamed.safetensors", weights);
  EXPECT_NO_THROW(read_llama_folder(model.path()));
  // As a download cache has it: snapshots/NAME/model.safetensors -> ../../blobs/HASH.
  const fs::path snapshot = model.folder() / "cache/snapshots/main";
  const fs::path blobs = model.folder() / "cache/blobs";
  fs::create_directories(blobs);
  fs::create_directories(snapshot.parent_path());
  fs::remove(weights);
  fs::rename(model.path() / "renamed.safetensors", blobs / "abc");
  fs::rename(model.path(), snapshot);
  fs::create_symlink("../../blobs/abc", snapshot / "model.safetensors");
  EXPECT_NO_THROW(read_llama_folder(snapshot));
}

// A model with the layout that this program trains with, and all weights at random.
LoadedModel random_model(const ModelConfig& config, std::shared_ptr<const Tokenizer> tokenizer) {
  LoadedModel model{"", CheckpointInfo(), std::move(tokenizer), nullptr};
  model.info.config.model = config;
  Generator generator(5);
  model.model = std::make_unique<nn::TransformerLM>(
      config.transformer(model.tokenizer->vocab_size()), generator);
  return model;
}

ModelConfig small_config() {
  ModelConfig config;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.d_model = 32;
  config.d_ff = 24;
  config.context = 64;
  return config;
}

Tensor some_ids(int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(i * 37 % 257));
  return Tensor::from(ids, {count});
}

// Reordering the rows of q and k must not change anything but the order of sums.
TEST(Export, AnInterleavedModelIsWrittenInTheOtherLayout) {
  const TemporaryFolder folder;
  ModelConfig config = small_config();
  config.qkv_bias = true;
  const LoadedModel original = random_model(config, make_byte_tokenizer());
  for (const nn::TransformerBlock& block : original.model->layers) {
    Generator generator(9);
    Tensor(block.attn.q_proj.bias).copy_(randn({32}, generator));
    Tensor(block.attn.k_proj.bias).copy_(randn({16}, generator));
  }
  export_hugging_face(original, folder / "hf", DType::f32, false);
  const LoadedModel again = open_model(folder / "hf", "", kCpu);
  EXPECT_EQ(again.info.config.model.rope_layout, RopeLayout::half_split);
  EXPECT_TRUE(again.info.config.model.output_bias);  // zeros: Llama has all four or none
  EXPECT_GT(largest_difference(original.model->layers[0].attn.q_proj.weight,
                               again.model->layers[0].attn.q_proj.weight),
            0.1);
  const Tensor ids = some_ids(64);
  EXPECT_LE(largest_difference(logits_of(original, ids), logits_of(again, ids)), 1e-5);
}

TEST(Export, TheTokenizerSaysThatDocumentsBeginWithEndOfText) {
  const TemporaryFolder folder;
  LoadedModel original = random_model(small_config(), make_byte_tokenizer());
  export_hugging_face(original, folder / "one", DType::f32, false);
  EXPECT_FALSE(open_model(folder / "one", "", kCpu).tokenizer->begin_of_text());
  original.info.documents = 7;
  export_hugging_face(original, folder / "many", DType::f32, false);
  EXPECT_EQ(open_model(folder / "many", "", kCpu).tokenizer->begin_of_text(), 256);
  const json config = json::parse(testing::read_text(folder / "many/config.json"));
  EXPECT_EQ(config["bos_token_id"], 256);
  EXPECT_EQ(config["eos_token_id"], 256);
}

// 65504 is the largest number of f16; what lies less than half a step of 32 beyond it is rounded to
// it, and more becomes infinite.
TEST(Export, WhatTheNumbersOfTheFileCannotHoldIsNamed) {
  const TemporaryFolder folder;
  const LoadedModel model = random_model(small_config(), make_byte_tokenizer());
  const auto set = [](const Tensor& weight, float value) {
    static_cast<float*>(Tensor(weight).view().data)[5] = value;
  };
  const auto refuses = [&](DType dtype, const std::vector<std::string>& parts) {
    expect_error([&] { export_hugging_face(model, folder / "x", dtype, false); }, parts);
    expect_error([&] { export_gguf(model, folder / "x", dtype, false); }, parts);
    EXPECT_FALSE(fs::exists(folder / "x"));
  };
  const auto writes = [&](DType dtype) {
    EXPECT_NO_THROW(export_hugging_face(model, folder / "hf", dtype, true));
    EXPECT_NO_THROW(export_gguf(model, folder / "gguf", dtype, true));
  };
  const Tensor& query = model.model->layers[1].attn.q_proj.weight;
  set(query, -65519);
  writes(DType::f16);
  for (const auto& [value, text] : {std::pair(65520.0F, "65520"), std::pair(-1e10F, "-1e+10")}) {
    set(query, value);
    refuses(DType::f16, {fmt::format("layers.1.attn.q_proj.weight holds {}", text), "f16, 65504",
                         "--dtype bf16 or f32"});
    writes(DType::bf16);
  }
  set(query, std::numeric_limits<float>::max());
  refuses(DType::bf16, {"layers.1.attn.q_proj.weight holds 3.40282e+38", "--dtype f32"});
  writes(DType::f32);
  // What was infinite before stays so.
  set(query, std::numeric_limits<float>::infinity());
  writes(DType::f16);
  // Vectors stay f32 in GGUF.
  set(std::get<nn::RMSNorm>(model.model->ln_final).weight, 1e10F);
  EXPECT_NO_THROW(export_gguf(model, folder / "gguf", DType::f16, true));
  expect_error([&] { export_hugging_face(model, folder / "x", DType::f16, false); },
               {"ln_final.weight holds 1e+10"});
}

TEST(Export, WhatLlamaLacksIsNamed) {
  const TemporaryFolder folder;
  const auto refuses = [&](const std::function<void(ModelConfig&)>& change,
                           const std::vector<std::string>& parts) {
    ModelConfig config = small_config();
    change(config);
    const LoadedModel model = random_model(config, make_byte_tokenizer());
    expect_error([&] { export_hugging_face(model, folder / "x", DType::f32, false); }, parts);
    expect_error([&] { export_gguf(model, folder / "x", DType::f32, false); }, parts);
    EXPECT_FALSE(fs::exists(folder / "x"));
  };
  refuses([](ModelConfig& c) { c.norm = nn::NormKind::layer; }, {"export: norm is layer", "rms"});
  refuses([](ModelConfig& c) { c.norm_position = nn::NormPosition::post; },
          {"norm-position is post", "pre"});
  refuses([](ModelConfig& c) { c.ffn = nn::FeedForwardKind::gelu; }, {"ffn is gelu", "swiglu"});
  refuses([](ModelConfig& c) { c.rope = false; }, {"position is none", "rope"});
  CharTrainer trainer;
  trainer.add_text("abc");
  const LoadedModel chars = random_model(small_config(), trainer.train());
  expect_error([&] { export_hugging_face(chars, folder / "x", DType::f32, false); },
               {"tokenizer is char", "byte or bpe"});
  expect_error([&] { export_gguf(chars, folder / "x", DType::f32, false); }, {"tokenizer is char"});
}

}  // namespace
}  // namespace tapir::app
