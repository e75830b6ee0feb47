#include "apps/interchange/llama_folder.h"

#include <cstring>
#include <map>
#include <set>

#include "apps/interchange/llama_config.h"
#include "apps/interchange/llama_names.h"
#include "apps/interchange/shard_index.h"
#include "apps/tokenizer/file_io.h"
#include "autograd/ops.h"
#include "autograd/serialize.h"
#include "nn/init.h"
#include "nn/transformer.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "import";
constexpr const char* kConfigFile = "config.json";
constexpr const char* kWeightsFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";

// A link may lead to another file of the folder, or into the store of files that a download cache
// keeps beside its snapshots. Others could hand out a file that the folder's sender cannot see.
void require_inside(const fs::path& folder, const fs::path& file) {
  std::error_code error;
  const fs::path real = fs::canonical(file, error);
  require(!error, kOp, "{} cannot be opened: {}", file.string(), error.message());
  const fs::path home = fs::canonical(folder, error);
  const bool in_store = home.parent_path().filename() == "snapshots" &&
                        real.parent_path() == home.parent_path().parent_path() / "blobs";
  require(!error && (real.parent_path() == home || in_store), kOp,
          "{} is a link that leads out of the folder, to {}", file.string(), real.string());
}

// Tensors by the names that they have in the folder.
StateDict load_file(const fs::path& folder, const std::string& name) {
  require_inside(folder, folder / name);
  return load_safetensors(folder / name).tensors;
}

StateDict load_shards(const fs::path& folder) {
  const fs::path index = folder / kIndexFile;
  require_inside(folder, index);
  std::map<std::string, std::set<std::string>> tensors_of;
  for (const auto& entry : parse_shard_index(read_file(index), index.string())) {
    tensors_of[entry.second].insert(entry.first);
  }
  StateDict all;
  for (const auto& shard : tensors_of) {
    StateDict tensors = load_file(folder, shard.first);
    for (const std::string& name : shard.second) {
      require(tensors.count(name) > 0, kOp, "{} says that {} holds {}, but it does not",
              index.string(), shard.first, name);
    }
    for (const auto& tensor : tensors) {
      require(shard.second.count(tensor.first) > 0, kOp, "{} holds {}, which {} does not say",
              (folder / shard.first).string(), tensor.first, index.string());
    }
    all.merge(tensors);
  }
  return all;
}

StateDict load_tensors_of(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kWeightsFile, error)) return load_file(folder, kWeightsFile);
  require(fs::exists(folder / kIndexFile, error), kOp,
          "{} holds neither {} nor {}; weights in other formats are not read", folder.string(),
          kWeightsFile, kIndexFile);
  return load_shards(folder);
}

// Names and shapes of the parameters that the configuration asks for.
std::vector<NamedTensor> expected_parameters(const nn::TransformerConfig& config) {
  const nn::WithoutValues scope;
  Generator unused;
  return nn::TransformerLM(config, unused).named_parameters();
}

bool same_values(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.view().data, b.view().data,
                     static_cast<size_t>(a.numel()) * size_of(a.dtype())) == 0;
}

// Tensors that files may hold besides the parameters.
void drop_surplus(const std::string& folder, const ModelConfig& config, StateDict& tensors) {
  std::erase_if(tensors, [](const auto& tensor) {
    return tensor.first.ends_with(".rotary_emb.inv_freq");  // follows from the configuration
  });
  const auto head = tensors.find("lm_head.weight");
  if (!config.tie_embeddings || head == tensors.end()) return;
  const auto embeddings = tensors.find("model.embed_tokens.weight");
  require(embeddings != tensors.end() && same_values(head->second, embeddings->second), kOp,
          "{}: tie_word_embeddings is true, but lm_head.weight and model.embed_tokens.weight "
          "differ; which of the two holds?",
          folder);
  tensors.erase(head);
}

// A configuration may claim any size, but memory is only taken for what the files really hold.
void require_plausible(const std::string& folder, const nn::TransformerConfig& config,
                       const StateDict& tensors) {
  config.validate();
  int64_t held = 0;
  for (const auto& tensor : tensors) held += tensor.second.numel();
  require(config.parameter_count() / 2 <= held, kOp,
          "{}: by config.json the model has {} parameters, but the files hold {}", folder,
          config.parameter_count(), held);
}

// Renames the tensors, after comparing their shapes with those that the configuration asks for.
StateDict rename(const std::string& folder, const nn::TransformerConfig& config,
                 StateDict tensors) {
  StateDict weights;
  for (const NamedTensor& parameter : expected_parameters(config)) {
    const std::string name = hugging_face_name(parameter.name);
    const auto found = tensors.find(name);
    require(found != tensors.end(), kOp, "{}: there is no tensor {}", folder, name);
    const Tensor& tensor = found->second;
    require(is_floating(tensor.dtype()), kOp, "{}: {} is {}, must be floating", folder, name,
            tensor.dtype());
    require(tensor.shape() == parameter.tensor.shape(), kOp,
            "{}: {} is {}, but by config.json it must be {}", folder, name, tensor.shape(),
            parameter.tensor.shape());
    weights[parameter.name] = tensor;
    tensors.erase(found);
  }
  if (tensors.empty()) return weights;
  fail(kOp, "{}: this program has no use for the tensor {}{}", folder, tensors.begin()->first,
       tensors.size() > 1 ? fmt::format(" and {} more", tensors.size() - 1) : "");
}

// Rows beyond the tokenizer's vocabulary only pad the matrices to a round size.
void cut_vocabulary(int64_t padded, LlamaFolder& result) {
  const int64_t vocab_size = result.tokenizer->vocab_size();
  require(vocab_size <= padded, kOp,
          "the tokenizer has {} tokens, but vocab_size in config.json is {}; they do not belong "
          "together",
          vocab_size, padded);
  if (vocab_size == padded) return;
  result.notes.push_back(
      fmt::format("the tokenizer has {} tokens; the last {} of {} rows of the embedding are left "
                  "out",
                  vocab_size, padded - vocab_size, padded));
  for (const char* name : {"token_embeddings.weight", "lm_head.weight"}) {
    const auto found = result.weights.find(name);
    if (found != result.weights.end()) found->second = slice(found->second, 0, 0, vocab_size);
  }
}

// Ids that no token has can never be produced.
void take_end_tokens(const std::vector<int32_t>& ids, LlamaFolder& result) {
  for (const int32_t id : ids) {
    if (id < result.tokenizer->vocab_size()) {
      result.end_tokens.push_back(id);
    } else {
      result.notes.push_back(
          fmt::format("eos_token_id has {}, but the tokenizer has no such token", id));
    }
  }
}

}  // namespace

bool is_llama_folder(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kConfigFile, error);
}

LlamaFolder read_llama_folder(const fs::path& folder) {
  require(fs::is_directory(folder), kOp, "there is no folder {}", folder.string());
  require(is_llama_folder(folder), kOp, "{} has no {}, so it is no model of transformers",
          folder.string(), kConfigFile);
  const fs::path file = folder / kConfigFile;
  const LlamaConfig config = parse_llama_config(read_file(file), file.string());
  LlamaFolder result;
  result.config = config.model;
  result.tokenizer = load_tokenizer(folder);
  StateDict tensors = load_tensors_of(folder);
  drop_surplus(folder.string(), config.model, tensors);
  const nn::TransformerConfig sizes = config.model.transformer(config.vocab_size);
  require_plausible(folder.string(), sizes, tensors);
  result.weights = rename(folder.string(), sizes, std::move(tensors));
  cut_vocabulary(config.vocab_size, result);
  take_end_tokens(config.end_tokens, result);
  return result;
}

RunConfig run_config_of(const LlamaFolder& llama, const fs::path& folder) {
  RunConfig config;
  config.model = llama.config;
  config.data.tokenizer = folder.string();
  config.validate();
  return config;
}

}  // namespace tapir::app
