#include "apps/training/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>

#include "apps/cli/setting_json.h"
#include "apps/files.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/strict_json.h"
#include "apps/training/sealed_text.h"
#include "autograd/serialize.h"
#include "nn/adopt.h"
#include "nn/init.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kOp = "checkpoint";
// Raised when programs of another version could not read the folder.
constexpr int64_t kFormat = 2;

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kTokenizerFile = "tokenizer.json";
constexpr const char* kStateFile = "state.json";

// Seeds use all 64 bits, which JSON numbers do not hold.
std::string hex_text(uint64_t number) {
  return fmt::format("{:016x}", number);
}

uint64_t parse_hex(const std::string& text, const std::string& what) {
  const bool valid =
      text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
  require(valid, kOp, "{} must be 16 hexadecimal digits, found {}", what, text);
  return std::strtoull(text.c_str(), nullptr, 16);
}

Json state_to_json(const TrainingState& state) {
  Json json = {{"step", state.step},
               {"seconds", state.seconds},
               {"data_seed", hex_text(state.data.seed)},
               {"data_windows", state.data.windows},
               {"dropout_seed", hex_text(state.dropout.seed())},
               {"dropout_offset", state.dropout.offset()},
               {"best_loss", nullptr},
               {"best_step", state.best_step},
               {"evaluations_since_best", state.evaluations_since_best}};
  if (state.best_loss) json["best_loss"] = *state.best_loss;
  return json;
}

TrainingState state_from_json(const JsonValue& json, const std::string& where) {
  const auto name = [&](std::string_view key) { return fmt::format("{}: {}", where, key); };
  TrainingState state;
  state.step = json["step"].integer(name("step"));
  state.seconds = json["seconds"].number(name("seconds"));
  const auto seed = [&](std::string_view key) {
    return parse_hex(json[key].string(name(key)), name(key));
  };
  state.data = {seed("data_seed"), json["data_windows"].integer(name("data_windows"))};
  require(state.data.windows >= 0, kOp, "{} is negative", name("data_windows"));
  state.dropout =
      Generator(seed("dropout_seed"),
                static_cast<uint64_t>(json["dropout_offset"].integer(name("dropout_offset"))));
  const JsonValue& best = json["best_loss"];
  if (!best.is_null()) state.best_loss = best.number(name("best_loss"));
  state.best_step = json["best_step"].integer(name("best_step"));
  state.evaluations_since_best =
      json["evaluations_since_best"].integer(name("evaluations_since_best"));
  return state;
}

Json info_to_json(const CheckpointContents& contents, const fs::path& folder) {
  Json files = Json::object();
  for (const char* name : {kModelFile, kOptimizerFile, kTokenizerFile}) {
    if (!fs::exists(folder / name)) continue;
    const auto bytes = static_cast<int64_t>(fs::file_size(folder / name));
    files[name] = {{"bytes", bytes}, {"checksum", file_checksum(folder / name)}};
  }
  RunConfig config = contents.config;
  return {{"format", kFormat},
          {"program", "tapir " TAPIR_VERSION},
          {std::string(kSealKey), kUnsealed},
          {"training", state_to_json(contents.state)},
          {"documents", contents.documents},
          {"train_tokens", contents.train_tokens},
          {"train_data", hex_text(contents.train_data)},
          {"tokenizer_hash", contents.tokenizer.hash()},
          {"end_tokens", contents.end_tokens},
          {"files", files},
          {"config", settings_to_json(settings(config))}};
}

StateDict without_masters(const optim::Optimizer& optimizer) {
  StateDict state = optimizer.state_dict();
  for (const optim::Optimizer::Slot& slot : optimizer.slots())
    state.erase(optim::master_key(slot.name));
  return state;
}

// Between a checkpoint and an optimizer of another precision: f32 weights are the masters of
// weights of 16 bits, and the masters are the f32 weights.
void move_masters(const optim::Optimizer& optimizer, StateDict& weights, StateDict& state) {
  for (const optim::Optimizer::Slot& slot : optimizer.slots()) {
    const std::string key = optim::master_key(slot.name);
    const auto weight = weights.find(slot.name), master = state.find(key);
    if (slot.master.defined() && master == state.end() && weight != weights.end()) {
      state[key] = weight->second;
    } else if (!slot.master.defined() && master != state.end()) {
      if (weight != weights.end()) weight->second = master->second;
      state.erase(master);
    }
  }
}

std::vector<FileRecord> files_from_json(const JsonValue& json, const std::string& where) {
  std::vector<FileRecord> files;
  for (const JsonValue::Member& file : json.object(where + ": files")) {
    const std::string what = fmt::format("{}: files: {}", where, file.key);
    require(file.key.find('/') == std::string::npos, what, "a file of the folder has no '/'");
    files.push_back({file.key, file.value["bytes"].integer(what + ": bytes"),
                     file.value["checksum"].string(what + ": checksum")});
  }
  return files;
}

std::vector<int32_t> ids_from_json(const JsonValue& json, const std::string& where) {
  std::vector<int32_t> ids;
  for (const JsonValue& id : json.array(where)) {
    const int64_t number = id.integer(where);
    require(number >= 0 && number <= INT32_MAX, kOp, "{} has {}, which is no token id", where,
            number);
    ids.push_back(static_cast<int32_t>(number));
  }
  return ids;
}

// Fields of state.json and of its "training" that may not be missing.
constexpr const char* kFields[] = {"program",        "documents",  "train_tokens", "train_data",
                                   "tokenizer_hash", "end_tokens", "files",        "config"};
constexpr const char* kTrainingFields[] = {
    "step",         "seconds",        "data_seed", "data_windows",
    "dropout_seed", "dropout_offset", "best_step", "evaluations_since_best"};

// Refuses what another version wrote before any field is read, so that the user does not hear of
// fields.
void require_format(const JsonValue& json, const std::string& where) {
  const auto foreign = [&](const std::string& because) {
    const JsonValue& program = json["program"];
    fail(kOp,
         "{} was written by another version of Tapir ({}) with a different format: {}; use that "
         "version, or train the model anew",
         where, program.is_string() ? program.string("program") : "unknown", because);
  };
  const std::string format = json["format"].describe();
  if (format != std::to_string(kFormat)) {
    foreign(fmt::format("it has format {}, this one reads format {}", format, kFormat));
  }
  for (const char* field : kFields) {
    if (json[field].is_null()) foreign(fmt::format("it has no {}", field));
  }
  for (const char* field : kTrainingFields) {
    if (json["training"][field].is_null()) foreign(fmt::format("it has no training.{}", field));
  }
}

[[noreturn]] void fail_with_changed(const fs::path& path) {
  fail(kOp,
       "{} has changed since it was written: its checksum differs; bring back the file as it was, "
       "or use another checkpoint",
       path.string());
}

void verify_files(const fs::path& folder, const std::function<bool(const FileRecord&)>& is_needed) {
  const CheckpointInfo info = read_checkpoint_info(folder);
  if (!is_sealed(read_file(folder / kStateFile))) fail_with_changed(folder / kStateFile);
  for (const FileRecord& file : info.files) {
    if (!is_needed(file)) continue;
    const fs::path path = folder / file.name;
    std::error_code error;
    const auto bytes = static_cast<int64_t>(fs::file_size(path, error));
    require(!error, kOp, "cannot read {}: {}", path.string(), error.message());
    require(bytes == file.bytes, kOp, "{} has {} bytes, but {} were written", path.string(), bytes,
            file.bytes);
    if (file_checksum(path) != file.checksum) fail_with_changed(path);
  }
}

// What stands in front of the number in a checkpoint's name.
constexpr std::string_view kStepPrefix = "step-";

// Those that were completed.
std::vector<int64_t> steps_in(const fs::path& folder) {
  std::vector<int64_t> steps = checkpoint_steps(folder);
  std::erase_if(steps, [&](int64_t step) {
    std::error_code error;
    return !fs::exists(folder / checkpoint_name(step) / kStateFile, error);
  });
  return steps;
}

// The checkpoint that "last" or "best" stands for; empty if that leads to none.
fs::path linked_checkpoint(const fs::path& folder, const std::string& link) {
  std::error_code error;
  if (fs::exists(folder / link / kStateFile, error)) return folder / link;
  if (!fs::is_regular_file(folder / link, error)) return {};
  const fs::path name = link_target(folder / link);
  return !name.empty() && fs::exists(folder / name / kStateFile, error) ? folder / name
                                                                        : fs::path();
}

// Of all that a user can name, for messages.
std::string checkpoints_in(const fs::path& folder) {
  constexpr size_t kShown = 10;
  std::vector<std::string> names;
  for (const char* link : {"best", "last"}) {
    if (!linked_checkpoint(folder, link).empty()) names.emplace_back(link);
  }
  const std::vector<int64_t> steps = steps_in(folder);
  for (size_t i = 0; i < std::min(steps.size(), kShown); ++i)
    names.push_back(std::to_string(steps[i]));
  if (names.empty()) return "it has none at all";
  const bool all = steps.size() <= kShown;
  return fmt::format("it has {}{}", fmt::join(names, ", "),
                     all ? "" : fmt::format(" and {} older ones", steps.size() - kShown));
}

// The best one, else the last, else the newest: a copy of a run may lack the links.
fs::path default_checkpoint(const fs::path& folder) {
  for (const char* link : {"best", "last"}) {
    if (fs::path checkpoint = linked_checkpoint(folder, link); !checkpoint.empty())
      return checkpoint;
  }
  const std::vector<int64_t> steps = steps_in(folder);
  return steps.empty() ? fs::path() : folder / checkpoint_name(steps[0]);
}

fs::path chosen_checkpoint(const fs::path& folder, const std::string& which) {
  if (which.empty()) return default_checkpoint(folder);
  if (which == "last" || which == "best") return linked_checkpoint(folder, which);
  const bool whole_name = which.starts_with(kStepPrefix);
  const fs::path checkpoint = folder / (whole_name ? which : std::string(kStepPrefix) + which);
  std::error_code error;
  return fs::exists(checkpoint, error) ? checkpoint : fs::path();
}

}  // namespace

void write_checkpoint(const fs::path& folder, const CheckpointContents& contents) {
  const fs::path temporary = folder.parent_path() / ("." + folder.filename().string() + ".new");
  std::error_code error;
  fs::remove_all(temporary, error);
  fs::create_directories(temporary, error);
  require(!error, kOp, "cannot create {}: {}", temporary.string(), error.message());
  const RemovedUnlessMoved remover{temporary};
  save_safetensors(temporary / kModelFile, contents.model);
  if (!contents.optimizer.empty()) {
    save_safetensors(temporary / kOptimizerFile, contents.optimizer);
  }
  write_file_atomically(temporary / kTokenizerFile, tokenizer_to_json(contents.tokenizer));
  // A path in the configuration need not be valid UTF-8, which JSON has to be.
  const std::string state =
      info_to_json(contents, temporary).dump(2, ' ', false, Json::error_handler_t::replace);
  write_file_atomically(temporary / kStateFile, seal_text(state + "\n"));
  move_folder_into_place(temporary, folder);
}

CheckpointInfo read_checkpoint_info(const fs::path& folder) {
  const fs::path path = folder / kStateFile;
  require(fs::exists(path), kOp, "{} has no {}, so it is no checkpoint of tapir", folder.string(),
          kStateFile);
  const std::string where = path.string();
  const JsonValue json = parse_strict_json(read_file(path), where);
  require_format(json, where);
  CheckpointInfo info;
  info.format = kFormat;
  info.program = json["program"].string(where + ": program");
  info.state = state_from_json(json["training"], where);
  info.documents = json["documents"].integer(where + ": documents");
  info.train_tokens = json["train_tokens"].integer(where + ": train_tokens");
  info.train_data =
      parse_hex(json["train_data"].string(where + ": train_data"), where + ": train_data");
  info.tokenizer_hash = json["tokenizer_hash"].string(where + ": tokenizer_hash");
  info.end_tokens = ids_from_json(json["end_tokens"], where + ": end_tokens");
  info.files = files_from_json(json["files"], where);
  settings_from_json(json["config"], settings(info.config), where);
  info.config.validate();
  return info;
}

std::shared_ptr<const Tokenizer> load_checkpoint_tokenizer(const fs::path& folder) {
  const std::string expected = read_checkpoint_info(folder).tokenizer_hash;
  std::shared_ptr<const Tokenizer> tokenizer = load_tokenizer(folder / kTokenizerFile);
  require(tokenizer->hash() == expected, kOp,
          "{} is not the tokenizer that the model was trained with: its hash is {}, expected {}",
          (folder / kTokenizerFile).string(), tokenizer->hash(), expected);
  return tokenizer;
}

void load_training(const fs::path& folder, const CheckpointInfo& info, nn::TransformerLM& model,
                   optim::Optimizer& optimizer) {
  const fs::path path = folder / kModelFile, optimizer_path = folder / kOptimizerFile;
  StateDict weights = load_safetensors(path).tensors;
  StateDict state =
      info.has_optimizer() ? load_safetensors(optimizer_path).tensors : without_masters(optimizer);
  move_masters(optimizer, weights, state);
  try {
    model.load_state_dict(weights);
  } catch (const Error& error) {
    fail(kOp, "{} does not fit its configuration: {}", path.string(), error.what());
  }
  try {
    optimizer.load_state_dict(state);
  } catch (const Error& error) {
    fail(kOp, "{} does not fit the model: {}", optimizer_path.string(), error.what());
  }
}

bool CheckpointInfo::has_optimizer() const {
  return std::any_of(files.begin(), files.end(),
                     [](const FileRecord& file) { return file.name == kOptimizerFile; });
}

std::unique_ptr<nn::TransformerLM> make_model(const nn::TransformerConfig& config,
                                              const StateDict& weights, Device device) {
  const nn::WithoutValues scope;
  Generator unused;
  auto model = std::make_unique<nn::TransformerLM>(config, unused, DType::f32, device);
  nn::adopt_state_dict(*model, weights);
  return model;
}

LoadedModel load_model(const fs::path& folder, Device device) {
  LoadedModel loaded{folder, read_checkpoint_info(folder), load_checkpoint_tokenizer(folder),
                     nullptr};
  const auto config = loaded.info.config.model.transformer(loaded.tokenizer->vocab_size());
  const fs::path path = folder / kModelFile;
  const SafetensorsFile file = load_safetensors(path);
  try {
    loaded.model = make_model(config, file.tensors, device);
  } catch (const Error& error) {
    fail(kOp, "{} does not fit its configuration: {}", path.string(), error.what());
  }
  return loaded;
}

std::string checkpoint_name(int64_t step) {
  return fmt::format("{}{}", kStepPrefix, step);
}

std::vector<int64_t> checkpoint_steps(const fs::path& folder) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kStepPrefix)) continue;
    int64_t step = 0;
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + kStepPrefix.size(), end, step);
    if (parsed.ec == std::errc() && parsed.ptr == end) steps.push_back(step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

void verify_checkpoint(const fs::path& folder) {
  verify_files(folder, [](const FileRecord&) { return true; });
}

void verify_model_files(const fs::path& folder) {
  verify_files(folder, [](const FileRecord& file) { return file.name != kOptimizerFile; });
}

fs::path find_checkpoint(const fs::path& path, const std::string& which) {
  require(fs::exists(path), kOp, "there is no run or checkpoint {}", path.string());
  if (fs::exists(path / kStateFile)) {
    require(which.empty(), kOp, "{} is one checkpoint, not a run to choose '{}' from",
            path.string(), which);
    return path;
  }
  const fs::path folder = path / "checkpoints";
  require(fs::is_directory(folder), kOp,
          "{} holds no checkpoints; is it the folder given to `tapir train --out`?", path.string());
  const fs::path checkpoint = chosen_checkpoint(folder, which);
  const std::string wish = which.empty() ? which : fmt::format(" '{}'", which);
  require(!checkpoint.empty(), kOp, "{} has no checkpoint{}; {}", path.string(), wish,
          checkpoints_in(folder));
  return checkpoint;
}

}  // namespace tapir::app
