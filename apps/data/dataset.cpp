#include "apps/data/dataset.h"

#include <cmath>

#include "apps/cli/quantity.h"
#include "apps/corpus/corpus.h"
#include "apps/data/story_dataset.h"
#include "apps/data/text_files.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/char_tokenizer.h"

namespace tapir::app {
namespace {

constexpr size_t kSplitByDocument = 20;

struct Texts {
  std::vector<std::string> texts;
  std::vector<std::string> notes;
};

Texts read_texts(const std::vector<std::string>& paths) {
  TextFiles read = read_text_files(paths);
  Texts result;
  result.notes = std::move(read.notes);
  for (TextFile& file : read.files) result.texts.push_back(std::move(file.text));
  return result;
}

// Documents spread evenly over the list validate, so that both parts see the whole range: the
// validation part grows by one whenever `fraction` of the documents so far reaches a whole number.
void split_documents(const std::vector<std::string>& texts, double fraction, Dataset& data) {
  const auto validating = [&](size_t count) {
    constexpr double kRounding = 1e-9;
    return std::floor(static_cast<double>(count) * fraction + kRounding);
  };
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool validates = validating(i + 1) > validating(i);
    append_document(*data.tokenizer, texts[i], validates ? data.validation : data.train);
  }
}

void split_text(const std::vector<std::string>& texts, double fraction, Dataset& data) {
  TokenSequence all(data.tokenizer->vocab_size());
  for (const std::string& text : texts) append_document(*data.tokenizer, text, all);
  const auto train_size = all.size() - std::llround(static_cast<double>(all.size()) * fraction);
  std::vector<int32_t> ids(static_cast<size_t>(all.size()));
  all.copy(0, ids);
  data.train.append(std::span(ids).first(static_cast<size_t>(train_size)));
  data.validation.append(std::span(ids).subspan(static_cast<size_t>(train_size)));
}

std::shared_ptr<const Tokenizer> train_bpe(int64_t vocab_size,
                                           const std::vector<std::string>& texts) {
  constexpr int64_t kMost = 1 << 20;
  require(vocab_size <= kMost, "--tokenizer", "bpe:{} is too large; the most is {}", vocab_size,
          kMost);
  BpeTrainerOptions options;
  options.vocab_size = static_cast<int32_t>(vocab_size);
  BpeTrainer trainer(options);
  for (const std::string& text : texts) {
    trainer.add_text(text);
    trainer.end_document();
  }
  return trainer.train();
}

}  // namespace

void append_document(const Tokenizer& tokenizer, const std::string& text, TokenSequence& tokens) {
  std::vector<int32_t> ids;
  if (const auto separator = tokenizer.end_of_text()) ids.push_back(*separator);
  tokenizer.encode_append(text, ids, SpecialText::kParse);
  tokens.append(ids);
}

std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& name,
                                                const std::vector<std::string>& texts) {
  constexpr std::string_view kBpe = "bpe:";
  if (name == "byte") return make_byte_tokenizer();
  if (name == "char") {
    CharTrainer trainer;
    for (const std::string& text : texts) trainer.add_text(text);
    return trainer.train();
  }
  if (name.starts_with(kBpe)) {
    return train_bpe(parse_count(name.substr(kBpe.size()), "--tokenizer bpe:N"), texts);
  }
  require(std::filesystem::exists(name), "--tokenizer",
          "there is no tokenizer '{}'; it is byte, char, bpe:N (as bpe:4096), or the folder or "
          "file of a saved one",
          name);
  return load_tokenizer(name);
}

std::vector<std::string> training_texts(const DataConfig& config) {
  if (!config.paths.empty()) return read_texts(config.paths).texts;
  return corpus(static_cast<uint64_t>(config.corpus_seed),
                static_cast<uint64_t>(config.corpus_bytes))
      .documents;
}

Dataset load_dataset(const RunConfig& run, std::shared_ptr<const Tokenizer> tokenizer) {
  const DataConfig& config = run.data;
  if (config.paths.empty()) return load_story_dataset(run, std::move(tokenizer));
  const Texts training = read_texts(config.paths);
  if (!tokenizer) tokenizer = make_tokenizer(config.tokenizer, training.texts);
  const int64_t vocab_size = tokenizer->vocab_size();
  Dataset data{.tokenizer = std::move(tokenizer),
               .train = TokenSequence(vocab_size),
               .validation = TokenSequence(vocab_size),
               .name = config.paths.size() == 1 ? config.paths[0] : "several paths",
               .notes = training.notes};
  for (const std::string& text : training.texts) {
    data.bytes += static_cast<int64_t>(text.size());
    ++data.documents;
  }
  const bool separate = !config.validation_paths.empty();
  const double fraction = separate ? 0 : config.validation_fraction;
  if (training.texts.size() >= kSplitByDocument) {
    split_documents(training.texts, fraction, data);
  } else {
    split_text(training.texts, fraction, data);
  }
  if (separate) {
    const Texts validation = read_texts(config.validation_paths);
    data.notes.insert(data.notes.end(), validation.notes.begin(), validation.notes.end());
    for (const std::string& text : validation.texts) {
      append_document(*data.tokenizer, text, data.validation);
    }
  }
  return data;
}

}  // namespace tapir::app
