// Ids equal to those of Hugging Face tokenizers and tiktoken; golden/tokenizer/make_goldens.py says
// how they were made.
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/merge_learner.h"
#include "apps/tokenizer/tokenizer.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tokenizer_cases.h"

namespace tapir::app {
namespace {

using testing::from_hex;
using testing::read_text;

const std::filesystem::path kFolder = std::filesystem::path(TAPIR_TEST_DIR) / "golden/tokenizer";

const nlohmann::json& goldens() {
  static const nlohmann::json cases = nlohmann::json::parse(read_text(kFolder / "cases.json"));
  return cases;
}

void expect_golden_ids(const Tokenizer& tokenizer, const std::string& vocabulary) {
  ASSERT_GT(goldens()["texts"].size(), 20u);
  for (const nlohmann::json& text : goldens()["texts"]) {
    const std::string bytes = from_hex(text["hex"].get<std::string>());
    const auto expected = text[vocabulary].get<std::vector<int32_t>>();
    EXPECT_EQ(tokenizer.encode(bytes), expected) << text["name"];
    EXPECT_EQ(tokenizer.decode(expected), bytes) << text["name"];
  }
  const nlohmann::json& special = goldens()["special"];
  EXPECT_EQ(tokenizer.encode(special["text"].get<std::string>(), SpecialText::kParse),
            special[vocabulary].get<std::vector<int32_t>>());
}

TEST(TokenizerGolden, Gpt2PatternGivesTheIdsOfTheReferences) {
  expect_golden_ids(*load_tokenizer(kFolder / "gpt2_style.json"), "gpt2_style");
}

TEST(TokenizerGolden, Llama3PatternGivesTheIdsOfTheReferences) {
  expect_golden_ids(*load_tokenizer(kFolder / "llama3_style.json"), "llama3_style");
}

TEST(TokenizerGolden, WritingAndReadingBackChangesNothing) {
  for (const std::string vocabulary : {"gpt2_style", "llama3_style"}) {
    const std::unique_ptr<Tokenizer> original = load_tokenizer(kFolder / (vocabulary + ".json"));
    const std::unique_ptr<Tokenizer> again = tokenizer_from_json(tokenizer_to_json(*original));
    EXPECT_EQ(again->hash(), original->hash());
    expect_golden_ids(*again, vocabulary);
  }
}

// The folder with GPT-2's own vocabulary is not part of the project.
std::filesystem::path gpt2_folder() {
  if (const char* const named = std::getenv("TAPIR_GPT2_DIR")) return named;
  return std::filesystem::path(TAPIR_SOURCE_DIR) / "../shared/data";
}

TEST(TokenizerGolden, Gpt2VocabularyGivesTheIdsOfTheReferences) {
  const std::filesystem::path folder = gpt2_folder();
  if (!std::filesystem::exists(folder / "gpt2_vocab.json")) {
    GTEST_SKIP() << "no gpt2_vocab.json and gpt2_merges.txt in " << folder
                 << "; TAPIR_GPT2_DIR names another folder";
  }
  const std::unique_ptr<Tokenizer> tokenizer = make_bpe_tokenizer(
      bpe_from_gpt2(read_text(folder / "gpt2_vocab.json"), read_text(folder / "gpt2_merges.txt")));
  EXPECT_EQ(tokenizer->vocab_size(), 50257);
  EXPECT_EQ(tokenizer->end_of_text(), 50256);
  expect_golden_ids(*tokenizer, "gpt2");
  // Short texts do without the index of whole pieces; after this much text there is one.
  tokenizer->encode(std::string(1 << 20, ' '));
  expect_golden_ids(*tokenizer, "gpt2");
  const std::unique_ptr<Tokenizer> again = tokenizer_from_json(tokenizer_to_json(*tokenizer));
  EXPECT_EQ(again->hash(), tokenizer->hash());
}

TEST(TokenizerGolden, TrainingLearnsTheMergesOfTheReferenceWhereNoTiesDecide) {
  const nlohmann::json& training = goldens()["training"];
  const auto merges = training["merges"].get<std::vector<std::vector<std::string>>>();
  ASSERT_GT(merges.size(), 40u);
  MergeLearner learner;
  for (const nlohmann::json& word : training["words"]) {
    learner.add_word(from_hex(word[0].get<std::string>()), word[1].get<uint64_t>());
  }
  learner.learn(256 + merges.size(), 1);
  ASSERT_EQ(learner.merges().size(), merges.size());
  for (size_t i = 0; i < merges.size(); ++i) {
    const Merge& merge = learner.merges()[i];
    EXPECT_EQ(learner.tokens()[static_cast<size_t>(merge.left)], from_hex(merges[i][0])) << i;
    EXPECT_EQ(learner.tokens()[static_cast<size_t>(merge.right)], from_hex(merges[i][1])) << i;
  }
}

}  // namespace
}  // namespace tapir::app
