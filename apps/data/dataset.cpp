#include "apps/data/dataset.h"

#include <algorithm>

#include "apps/cli/quantity.h"
#include "apps/corpus/corpus.h"
#include "apps/data/split.h"
#include "apps/data/story_dataset.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/char_tokenizer.h"

namespace tapir::app {
namespace {

constexpr std::string_view kBpe = "bpe:";

bool is_learned(const std::string& tokenizer) {
  return tokenizer == "char" || tokenizer.starts_with(kBpe);
}

std::shared_ptr<const Tokenizer> train_bpe(int64_t vocab_size, const TextPass& text) {
  constexpr int64_t kMost = 1 << 20;
  require(vocab_size <= kMost, "--tokenizer", "bpe:{} is too large; the most is {}", vocab_size,
          kMost);
  BpeTrainerOptions options;
  options.vocab_size = static_cast<int32_t>(vocab_size);
  BpeTrainer trainer(options);
  text([&](std::string_view portion) { trainer.add_text(portion); },
       [&] { trainer.end_document(); });
  return trainer.train();
}

// The tokenizer of a new run, learned from its text if its name says so.
std::shared_ptr<const Tokenizer> make_tokenizer_for(const std::string& name, DataFiles& files) {
  if (files.hold_tokens() && is_learned(name)) {
    fail("--tokenizer",
         "{} is learned from text, but {} holds tokens; name the folder of the tokenizer that made "
         "them",
         name, files.token_file());
  }
  if (is_learned(name)) files.text().keep_standard_input();
  return make_tokenizer(name, [&](const auto& add_text, const auto& end_document) {
    files.text().read(add_text, end_document);
  });
}

std::string describe(const std::vector<std::string>& paths) {
  if (paths.size() > 1) return "several paths";
  return paths[0] == kStandardInput ? "standard input" : paths[0];
}

// Whole documents may make validation much larger or smaller than was asked for.
void note_share(Dataset& data, double fraction) {
  const auto validation = static_cast<double>(data.validation.size());
  const double share =
      validation / std::max(1.0, validation + static_cast<double>(data.train.size()));
  if (fraction == 0 || (share <= 2 * fraction && share >= fraction / 2)) return;
  data.notes.push_back(fmt::format(
      "{:.2g} % of the text are for validation instead of {:.2g} %, because documents differ much "
      "in length; another --val-fraction takes others, or give --val-data",
      100 * share, 100 * fraction));
}

bool names_standard_input(const std::vector<std::string>& paths) {
  return std::find(paths.begin(), paths.end(), kStandardInput) != paths.end();
}

}  // namespace

std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& name, const TextPass& text) {
  if (name == "byte") return make_byte_tokenizer();
  if (name == "char") {
    CharTrainer trainer;
    text([&](std::string_view portion) { trainer.add_text(portion); }, [] {});
    return trainer.train();
  }
  if (name.starts_with(kBpe)) {
    return train_bpe(parse_count(name.substr(kBpe.size()), "--tokenizer bpe:N"), text);
  }
  require(std::filesystem::exists(name), "--tokenizer",
          "there is no tokenizer '{}'; it is byte, char, bpe:N (as bpe:4096), or the folder or "
          "file of a saved one",
          name);
  return load_tokenizer(name);
}

void read_training_text(const DataConfig& config, const Tokenizer& tokenizer,
                        const std::function<void(std::string_view)>& add_text,
                        const std::function<void()>& end_document) {
  if (config.paths.empty()) {
    const Corpus stories = corpus(static_cast<uint64_t>(config.corpus_seed),
                                  static_cast<uint64_t>(config.corpus_bytes));
    for (const std::string& text : stories.documents) {
      add_text(text);
      end_document();
    }
    return;
  }
  DataFiles files(config.paths, config.jsonl_field);
  if (!files.hold_tokens()) {
    files.text().read(add_text, end_document);
    return;
  }
  constexpr int64_t kPortion = 1 << 16;
  const TokenSequence tokens = files.load(tokenizer).tokens;
  std::vector<int32_t> ids;
  for (int64_t begin = 0; begin < tokens.size(); begin += kPortion) {
    ids.resize(static_cast<size_t>(std::min(kPortion, tokens.size() - begin)));
    tokens.copy(begin, ids);
    add_text(tokenizer.decode(ids, SpecialOutput::kKeep));
  }
  end_document();
}

Dataset load_dataset(const RunConfig& run, std::shared_ptr<const Tokenizer> tokenizer) {
  const DataConfig& config = run.data;
  require(!names_standard_input(config.paths) || !names_standard_input(config.validation_paths),
          "data", "standard input (-) can be read only once, by --data or --val-data");
  if (config.paths.empty()) return load_story_dataset(run, std::move(tokenizer));
  DataFiles files(config.paths, config.jsonl_field);
  if (!tokenizer) tokenizer = make_tokenizer_for(config.tokenizer, files);
  const TokenData training = files.load(*tokenizer);
  const bool separate = !config.validation_paths.empty();
  Split split =
      split_tokens(training, separate ? 0 : config.validation_fraction, tokenizer->end_of_text());
  Dataset data{.tokenizer = std::move(tokenizer),
               .train = std::move(split.train),
               .validation = std::move(split.validation),
               .name = describe(config.paths),
               .documents = split.documents,
               .bytes = training.bytes,
               .notes = training.notes};
  if (separate) {
    TokenData validation =
        DataFiles(config.validation_paths, config.jsonl_field).load(*data.tokenizer);
    data.notes.insert(data.notes.end(), validation.notes.begin(), validation.notes.end());
    data.validation = std::move(validation.tokens);
  } else {
    note_share(data, config.validation_fraction);
  }
  return data;
}

}  // namespace tapir::app
