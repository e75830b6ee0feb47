#include "apps/inspect/subject.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "apps/cli/suggest.h"
#include "apps/config/presets.h"
#include "apps/generation/prompt.h"
#include "apps/gradcheck/targets.h"
#include "apps/interchange/open_model.h"
#include "apps/tokenizer/utf8_stream.h"
#include "autograd/ops.h"

namespace tapir::app {
namespace {

constexpr std::string_view kOp = "inspect";
constexpr std::string_view kModel = "TransformerLM";
constexpr const char* kUsualPrompt = "Once upon a time there was a tapir who read every tape.";

using Use = std::function<void(const Subject&)>;

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string readable(const std::string& bytes) {
  Utf8Stream utf8;
  std::string text = utf8.push(bytes);
  return text + utf8.finish();
}

std::string describe(const nn::TransformerLM& model, const std::vector<int32_t>& ids,
                     int64_t batch) {
  const nn::TransformerConfig& c = model.config();
  return fmt::format("{} parameters, {} layers, {} heads, width {}, vocabulary {}; ids [{}, {}]",
                     model.parameter_count(), c.n_layers, c.n_heads, c.d_model, c.vocab_size, batch,
                     ids.size() - 1);
}

// A language model that predicts each token of the prompt from those before it.
void use_language_model(const SubjectRequest& request, const std::string& name,
                        const nn::TransformerLM& model, const Tokenizer& tokenizer,
                        int64_t documents, const Use& use) {
  const std::string prompt = request.prompt.empty() ? kUsualPrompt : request.prompt;
  std::vector<int32_t> ids = encode_prompt(tokenizer, documents, prompt);
  require(ids.size() >= 2, kOp, "the prompt has {} token; a model needs two, to predict the second",
          ids.size());
  const auto most = static_cast<size_t>(model.config().max_seq_len) + 1;
  if (ids.size() > most) ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));

  std::vector<int32_t> inputs, targets;
  for (int64_t row = 0; row < request.batch; ++row) {
    inputs.insert(inputs.end(), ids.begin(), ids.end() - 1);
    targets.insert(targets.end(), ids.begin() + 1, ids.end());
  }
  const Shape shape{request.batch, static_cast<int64_t>(ids.size()) - 1};
  const Tensor x = Tensor::from(std::span<const int32_t>(inputs), shape, request.device);
  const Tensor y = Tensor::from(std::span<const int32_t>(targets), shape, request.device);
  Subject subject{name, describe(model, ids, request.batch), {}, model.named_parameters(), {}};
  subject.forward = [&] {
    Generator dropout(static_cast<uint64_t>(request.seed) + 7);  // the same masks each time
    nn::ForwardContext context;
    context.dropout = model.config().dropout > 0 ? &dropout : nullptr;
    return cross_entropy(model(x, context), y);
  };
  for (size_t i = 0; i + 1 < ids.size(); ++i) {
    subject.tokens.push_back(readable(tokenizer.token_bytes(ids[i])));
  }
  use(subject);
}

void use_run(const SubjectRequest& request, const Use& use) {
  LoadedModel loaded = open_model(request.name, request.checkpoint, request.device);
  if (request.dtype != DType::f32) loaded.model->to(request.dtype);
  use_language_model(request, request.name, *loaded.model, *loaded.tokenizer, loaded.info.documents,
                     use);
}

void use_new_model(const SubjectRequest& request, const std::string& name,
                   const ModelConfig& config, const Use& use) {
  const std::unique_ptr<Tokenizer> tokenizer = make_byte_tokenizer();
  Generator generator(static_cast<uint64_t>(request.seed));
  const nn::TransformerLM model(config.transformer(tokenizer->vocab_size()), generator,
                                request.dtype, request.device);
  use_language_model(request, name, model, *tokenizer, 1, use);
}

void use_target(const SubjectRequest& request, const GradcheckTarget& target, const Use& use) {
  GradcheckSetup setup;
  setup.model = request.model;
  setup.vocab = request.vocab;
  setup.batch = request.batch;
  setup.time = request.time;
  setup.dtype = request.dtype;
  setup.device = request.device;
  setup.options.seed = static_cast<uint64_t>(request.seed);
  bool used = false;
  target.run(setup, [&](const GradcheckCase& one) {
    const bool empty = std::any_of(one.tensors.begin(), one.tensors.end(),
                                   [](const auto& named) { return named.tensor.numel() == 0; });
    if (empty || std::exchange(used, true)) return;  // its other cases are variations
    use({target.name, one.about, one.function, one.tensors, {}});
  });
  require(used, kOp, "{} has no gradient, so there is no tape to look at", target.name);
}

const GradcheckTarget& find_target(const std::vector<GradcheckTarget>& targets,
                                   const std::string& name) {
  std::vector<std::string> known;
  const GradcheckTarget* containing = nullptr;
  for (const GradcheckTarget& target : targets) {
    if (target.name == name) return target;
    const bool contains = lower_case(target.name).find(lower_case(name)) != std::string::npos;
    // Layers come after operations, and the last one that fits is the largest.
    if (contains && target.kind != "operation") containing = &target;
    known.push_back(target.name);
  }
  for (const Preset& preset : presets()) known.push_back(preset.name);
  require(containing != nullptr, kOp,
          "there is no layer, operation, preset or run called '{}'{}; `tapir gradcheck --list` has "
          "the layers and operations, `tapir train --help` the presets",
          name, did_you_mean(name, known));
  return *containing;
}

}  // namespace

void with_subject(const SubjectRequest& request, const Use& use) {
  const std::string& name = request.name;
  if (std::filesystem::is_directory(name)) return use_run(request, use);
  if (is_preset(name)) return use_new_model(request, "preset " + name, request.model, use);
  const std::vector<GradcheckTarget> targets = gradcheck_targets();
  const GradcheckTarget& target = find_target(targets, name);
  if (target.name == kModel) return use_new_model(request, target.name, request.model, use);
  use_target(request, target, use);
}

}  // namespace tapir::app
