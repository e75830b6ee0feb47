#include "apps/data/dataset.h"

#include <cmath>

#include "apps/data/text_files.h"
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

// Appends end-of-text and the document. Text that spells a special token is one: files often hold
// many documents separated that way.
void append_document(const Tokenizer& tokenizer, const std::string& text, TokenSequence& tokens) {
  std::vector<int32_t> ids;
  if (const auto separator = tokenizer.end_of_text()) ids.push_back(*separator);
  tokenizer.encode_append(text, ids, SpecialText::kParse);
  tokens.append(ids);
}

// Every k-th document validates, so that both parts see the whole range.
void split_documents(const std::vector<std::string>& texts, double fraction, Dataset& data) {
  double owed = 0;
  for (const std::string& text : texts) {
    owed += fraction;
    const bool validates = owed >= 1;
    if (validates) owed -= 1;
    append_document(*data.tokenizer, text, validates ? data.validation : data.train);
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

}  // namespace

std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& name,
                                                const std::vector<std::string>& texts) {
  if (name == "byte") return make_byte_tokenizer();
  if (name == "char") {
    CharTrainer trainer;
    for (const std::string& text : texts) trainer.add_text(text);
    return trainer.train();
  }
  return load_tokenizer(name);
}

Dataset load_dataset(const DataConfig& config) {
  require(!config.paths.empty(), "data", "nothing to train on; give files or folders with --data");
  const Texts training = read_texts(config.paths);
  std::shared_ptr<const Tokenizer> tokenizer = make_tokenizer(config.tokenizer, training.texts);
  const int64_t vocab_size = tokenizer->vocab_size();
  Dataset data{.tokenizer = std::move(tokenizer),
               .train = TokenSequence(vocab_size),
               .validation = TokenSequence(vocab_size),
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
