#include "apps/interchange/llama_config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "apps/tokenizer/strict_json.h"

namespace tapir::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMostSize = 1 << 24;

// Fields that do not change what the model computes.
constexpr std::array<std::string_view, 18> kWithoutEffect = {
    "_name_or_path",           "architectures", "auto_map",    "bos_token_id",
    "chunk_size_feed_forward", "dtype",         "id2label",    "initializer_range",
    "is_llama_config",         "label2id",      "max_length",  "pad_token_id",
    "pretraining_tp",          "problem_type",  "return_dict", "torch_dtype",
    "transformers_version",    "use_cache"};

// One object of config.json. Each field that is asked for counts as known.
class Fields {
 public:
  // `path` stands in front of the fields' names in messages: "config.json: ".
  Fields(const JsonValue& object, std::string path) : object_(object), path_(std::move(path)) {
    object.object(path_ + "the whole");
  }

  const JsonValue& get(std::string_view key) {
    known_.emplace_back(key);
    return object_[key];
  }

  template <typename... Args>
  [[noreturn]] void refuse(std::string_view key, fmt::format_string<Args...> format,
                           Args&&... args) const {
    fail("import", "{}{} is {}; {}", path_, key, object_[key].describe(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  int64_t size(std::string_view key, std::optional<int64_t> otherwise = std::nullopt) {
    const JsonValue& value = get(key);
    if (value.is_null() && otherwise) return *otherwise;
    const int64_t number = value.integer(path_ + std::string(key));
    if (number < 1 || static_cast<double>(number) > kMostSize) {
      refuse(key, "it must be in 1 .. {}", static_cast<int64_t>(kMostSize));
    }
    return number;
  }

  double number(std::string_view key, std::optional<double> otherwise, double low, double high) {
    const JsonValue& value = get(key);
    if (value.is_null() && otherwise) return *otherwise;
    const double number = value.number(path_ + std::string(key));
    if (!(number >= low && number <= high)) refuse(key, "it must be in {} .. {}", low, high);
    return number;
  }

  bool flag(std::string_view key) { return get(key).boolean_or(false, path_ + std::string(key)); }

  std::string text(std::string_view key, const std::string& otherwise) {
    const JsonValue& value = get(key);
    return value.is_null() ? otherwise : value.string(path_ + std::string(key));
  }

  // Anything that was not asked for, unless it says that something is switched off.
  void require_all_known() const {
    for (const JsonValue::Member& member : object_.object(path_)) {
      const bool off = member.value.is_null() || member.value.describe() == "false";
      if (off || std::count(known_.begin(), known_.end(), member.key) > 0) continue;
      refuse(member.key, "this field is not known here, and may change what the model computes");
    }
  }

 private:
  const JsonValue& object_;
  std::string path_;
  std::vector<std::string> known_;
};

nn::RopeScaling parse_scaling(Fields& fields, const std::string& type) {
  nn::RopeScaling scaling;
  if (type == "default") return scaling;
  scaling.factor = fields.number("factor", std::nullopt, 1, 1e6);
  if (type == "linear") {
    scaling.kind = nn::RopeScalingKind::linear;
    return scaling;
  }
  scaling.kind = nn::RopeScalingKind::llama3;
  scaling.low_freq_factor = fields.number("low_freq_factor", std::nullopt, 1e-3, 1e6);
  scaling.high_freq_factor = fields.number("high_freq_factor", std::nullopt, 1e-3, 1e6);
  scaling.original_context = fields.size("original_max_position_embeddings");
  scaling.validate();
  return scaling;
}

// Newer files have the base of the wavelengths and the scaling in rope_parameters, older ones
// rope_theta beside rope_scaling.
void parse_rope(Fields& fields, const std::string& file, ModelConfig& model) {
  model.rope_theta = fields.number("rope_theta", 10000.0, 1, 1e12);
  for (const std::string_view name : {"rope_scaling", "rope_parameters"}) {
    const JsonValue& value = fields.get(name);
    if (value.is_null()) continue;
    Fields rope(value, fmt::format("{}: {}.", file, name));
    const std::string older = rope.text("type", "default");
    const std::string type = rope.text("rope_type", older);
    if (type != "default" && type != "linear" && type != "llama3") {
      rope.refuse(value["rope_type"].is_null() ? "type" : "rope_type",
                  "default, linear and llama3 are supported");
    }
    model.rope_theta = rope.number("rope_theta", model.rope_theta, 1, 1e12);
    if (rope.number("partial_rotary_factor", 1.0, 0, 1) != 1) {
      rope.refuse("partial_rotary_factor", "only 1 is supported: whole heads are rotated");
    }
    model.rope_scaling = parse_scaling(rope, type);
    rope.require_all_known();
  }
}

void parse_sizes(Fields& fields, LlamaConfig& config) {
  ModelConfig& model = config.model;
  config.vocab_size = fields.size("vocab_size");
  model.d_model = fields.size("hidden_size");
  model.d_ff = fields.size("intermediate_size");
  model.layers = fields.size("num_hidden_layers");
  model.heads = fields.size("num_attention_heads");
  model.kv_heads = fields.size("num_key_value_heads", model.heads);
  model.context = fields.size("max_position_embeddings", 2048);
  if (model.d_model % model.heads != 0) {
    fields.refuse("num_attention_heads", "it must divide hidden_size {}", model.d_model);
  }
  if (model.heads % *model.kv_heads != 0) {
    fields.refuse("num_key_value_heads", "it must divide num_attention_heads {}", model.heads);
  }
  const int64_t head_dim = model.d_model / model.heads;
  if (fields.size("head_dim", head_dim) != head_dim) {
    fields.refuse("head_dim", "only hidden_size / num_attention_heads = {} is supported", head_dim);
  }
  if (head_dim % 2 != 0) {
    fields.refuse("num_attention_heads", "heads of {} elements cannot be rotated in pairs",
                  head_dim);
  }
}

// Fields that must have one value.
void require_supported(Fields& fields) {
  const std::string type = fields.text("model_type", "");
  if (type != "llama" && type != "mistral") {
    fields.refuse("model_type", "llama, and mistral without a sliding window, are supported");
  }
  if (fields.text("hidden_act", "silu") != "silu") {
    fields.refuse("hidden_act", "only silu is supported");
  }
  if (!fields.get("sliding_window").is_null()) {
    fields.refuse("sliding_window", "only null is supported");
  }
  if (fields.number("attention_dropout", 0.0, 0, 1) != 0) {
    fields.refuse("attention_dropout", "only 0 is supported");
  }
  if (!fields.get("quantization_config").is_null()) {
    fields.refuse("quantization_config", "only weights of 16, 32 and 64 bits are supported");
  }
  for (const std::string_view key : kWithoutEffect) fields.get(key);
}

// One id, several, or none.
std::vector<int32_t> parse_end_tokens(Fields& fields, const std::string& file, int64_t vocab_size) {
  constexpr const char* kKey = "eos_token_id";
  const JsonValue& value = fields.get(kKey);
  std::vector<int32_t> ids;
  const auto add = [&](const JsonValue& id) {
    const int64_t number = id.integer(fmt::format("{}: {}", file, kKey));
    require(number >= 0 && number < vocab_size, "import",
            "{}: {} holds {}, which is no token id: vocab_size is {}, so ids are 0 .. {}", file,
            kKey, number, vocab_size, vocab_size - 1);
    ids.push_back(static_cast<int32_t>(number));
  };
  if (value.is_array()) {
    for (const JsonValue& id : value.array(kKey)) add(id);
  } else if (!value.is_null()) {
    add(value);
  }
  return ids;
}

Json rope_scaling_json(const nn::RopeScaling& scaling, bool with_theta, double theta) {
  Json rope = {{"rope_type", "default"}};
  if (scaling.kind == nn::RopeScalingKind::linear) {
    rope = {{"rope_type", "linear"}, {"factor", scaling.factor}};
  } else if (scaling.kind == nn::RopeScalingKind::llama3) {
    rope = {{"rope_type", "llama3"},
            {"factor", scaling.factor},
            {"low_freq_factor", scaling.low_freq_factor},
            {"high_freq_factor", scaling.high_freq_factor},
            {"original_max_position_embeddings", scaling.original_context}};
  }
  if (with_theta) rope["rope_theta"] = theta;
  return rope;
}

const char* torch_name(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return "float16";
    case DType::bf16:
      return "bfloat16";
    default:
      return "float32";
  }
}

// As config.json spells them: null, one id, or a list.
Json ids_json(const std::vector<int32_t>& ids) {
  if (ids.empty()) return nullptr;
  return ids.size() == 1 ? Json(ids[0]) : Json(ids);
}

}  // namespace

LlamaConfig parse_llama_config(std::string_view json, const std::string& file) {
  const JsonValue root = parse_strict_json(json, file);
  Fields fields(root, file + ": ");
  require_supported(fields);
  LlamaConfig config;
  ModelConfig& model = config.model;
  parse_sizes(fields, config);
  config.end_tokens = parse_end_tokens(fields, file, config.vocab_size);
  model.norm_eps = fields.number("rms_norm_eps", 1e-6, 1e-30, 1);
  parse_rope(fields, file, model);
  model.rope_layout = RopeLayout::half_split;
  model.tie_embeddings = fields.flag("tie_word_embeddings");
  model.qkv_bias = model.output_bias = fields.flag("attention_bias");
  model.ffn_bias = fields.flag("mlp_bias");
  fields.require_all_known();
  return config;
}

void require_llama(const ModelConfig& model) {
  const auto needs = [](bool right, std::string_view setting, std::string_view value,
                        std::string_view wanted) {
    require(right, "export",
            "{} is {}, but Llama models have {}; this model cannot be written as one", setting,
            value, wanted);
  };
  needs(model.norm == nn::NormKind::rms, "norm", nn::name_of(model.norm), "rms");
  needs(model.norm_position == nn::NormPosition::pre, "norm-position",
        nn::name_of(model.norm_position), "pre");
  needs(model.ffn == nn::FeedForwardKind::swiglu, "ffn", nn::name_of(model.ffn), "swiglu");
  needs(model.rope, "position", "none", "rope");
}

std::string llama_config_json(const LlamaConfig& config, const BoundaryTokens& tokens,
                              DType dtype) {
  const ModelConfig& model = config.model;
  require_llama(model);
  const nn::TransformerConfig sizes = model.transformer(config.vocab_size);
  const bool scaled = model.rope_scaling.kind != nn::RopeScalingKind::none;
  const Json json = {
      {"architectures", {"LlamaForCausalLM"}},
      {"model_type", "llama"},
      {"vocab_size", config.vocab_size},
      {"hidden_size", sizes.d_model},
      {"intermediate_size", sizes.feed_forward_width()},
      {"num_hidden_layers", sizes.n_layers},
      {"num_attention_heads", sizes.n_heads},
      {"num_key_value_heads", sizes.kv_heads()},
      {"head_dim", sizes.head_dim()},
      {"hidden_act", "silu"},
      {"max_position_embeddings", sizes.max_seq_len},
      {"rms_norm_eps", sizes.norm_eps},
      {"rope_theta", model.rope_theta},
      {"rope_scaling",
       scaled ? rope_scaling_json(model.rope_scaling, false, model.rope_theta) : Json(nullptr)},
      {"rope_parameters", rope_scaling_json(model.rope_scaling, true, model.rope_theta)},
      {"attention_bias", model.qkv_bias || model.output_bias},
      {"attention_dropout", 0.0},
      {"mlp_bias", model.ffn_bias},
      {"tie_word_embeddings", model.tie_embeddings},
      {"bos_token_id", tokens.begin ? Json(*tokens.begin) : Json(nullptr)},
      {"eos_token_id", ids_json(tokens.ends)},
      {"torch_dtype", torch_name(dtype)}};
  return json.dump(2) + "\n";
}

std::string llama_generation_json(const BoundaryTokens& tokens) {
  Json json = {{"do_sample", true}, {"temperature", 1.0}};
  if (tokens.begin) json["bos_token_id"] = *tokens.begin;
  if (!tokens.ends.empty()) json["eos_token_id"] = ids_json(tokens.ends);
  return json.dump(2) + "\n";
}

}  // namespace tapir::app
