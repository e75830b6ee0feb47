// The built-in corpus: the stories, and that their entropy is exact.
#include "apps/corpus/corpus.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/corpus/chooser.h"
#include "apps/corpus/grammar.h"
#include "apps/corpus/narrator.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

using grammar::Decision;
using grammar::Grammar;

constexpr uint64_t kSeed = 42;

// Story `index` of kSeed; the tests below read the same ones, so each is written once.
const std::string& told(uint64_t index) {
  static std::deque<std::string> texts;
  while (texts.size() <= index) texts.push_back(story(kSeed, texts.size()).text);
  return texts[index];
}

// The words of a text in lower case; "Tom's" counts as "tom" and "s".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalpha(byte)) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  words.pop_back();
  return words;
}

std::string last_sentence(const std::string& text) {
  const size_t full_stop = text.rfind(". ", text.size() - 3);
  const size_t quote = text.rfind("\" ", text.size() - 3);
  size_t begin = 0;
  for (const size_t end : {full_stop, quote}) {
    if (end != std::string::npos) begin = std::max(begin, end);
  }
  return text.substr(begin);
}

std::string hero_of(const std::string& text) {
  static const std::regex pattern("(?:named|called) ([A-Z][a-z]+)");
  std::smatch match;
  return std::regex_search(text, match, pattern) ? match[1].str() : "";
}

// --- Stories ------------------------------------------------------------------------------------

TEST(Corpus, AStoryIsAFunctionOfSeedAndIndex) {
  const Story late = story(kSeed, 1000);
  EXPECT_EQ(story(kSeed, 1000).text, late.text);
  StoryStream stream(kSeed, 998);
  stream.next();
  stream.next();
  EXPECT_EQ(stream.index(), 1000u);
  EXPECT_EQ(stream.next().text, late.text);
  EXPECT_NE(story(kSeed + 1, 1000).text, late.text);
  EXPECT_NE(story(kSeed, 1001).text, late.text);
}

TEST(Corpus, CorpusHasTheFirstStoriesAndTheirBits) {
  const Corpus made = corpus(kSeed, 5000, 7);
  ASSERT_GE(made.documents.size(), 3u);
  uint64_t bytes = 0;
  double bits = 0;
  for (size_t i = 0; i < made.documents.size(); ++i) {
    const Story expected = story(kSeed, 7 + i);
    EXPECT_EQ(made.documents[i], expected.text);
    bytes += expected.text.size();
    bits += expected.bits;
  }
  EXPECT_EQ(made.bytes, bytes);
  EXPECT_GE(bytes, 5000u);
  EXPECT_LT(bytes - made.documents.back().size(), 5000u);
  EXPECT_DOUBLE_EQ(made.bits_per_byte(), bits / static_cast<double>(bytes));
  EXPECT_TRUE(corpus(kSeed, 0).documents.empty());
  EXPECT_EQ(corpus(kSeed, 0).bits_per_byte(), 0);
}

TEST(Corpus, SeedsShareNoStories) {
  std::unordered_set<std::string> training;
  for (uint64_t i = 0; i < 10000; ++i) training.insert(story(1, i).text);
  // A story has some 300 bits, so that two of 2 * 10^4 agree with a probability below 2^-60.
  EXPECT_EQ(training.size(), 10000u);
  for (uint64_t i = 0; i < 10000; ++i) EXPECT_EQ(training.count(story(2, i).text), 0u);
}

TEST(Corpus, StoriesArePlainShortText) {
  uint64_t total = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const std::string& text = told(i);
    total += text.size();
    ASSERT_GE(text.size(), 400u) << text;
    ASSERT_LE(text.size(), 1300u) << text;
    ASSERT_EQ(text.find('\n'), text.size() - 1);
    ASSERT_TRUE(
        std::all_of(text.begin(), text.end() - 1, [](char c) { return c >= 32 && c < 127; }));
    ASSERT_EQ(std::count(text.begin(), text.end(), '"') % 2, 0) << text;
  }
  EXPECT_NEAR(static_cast<double>(total) / 5000, 965, 20);
}

TEST(Corpus, SpacingAndArticlesAreRight) {
  // `a` before a vowel and `an` before a consonant, but for the words where the sound differs.
  const std::regex wrong_a("\\b[Aa] (?!uku|uni|use|one)[aeiou]");
  const std::regex wrong_an("\\b[Aa]n (?!hour|honest)[bcdfghjklmnpqrstvwxyz]");
  const std::regex spacing("  | [.,!?;:]|[,;:][A-Za-z]|[{}\\[\\]|=@*~+]");
  for (uint64_t i = 0; i < 2000; ++i) {
    const std::string& text = told(i);
    ASSERT_FALSE(std::regex_search(text, wrong_a)) << text;
    ASSERT_FALSE(std::regex_search(text, wrong_an)) << text;
    ASSERT_FALSE(std::regex_search(text, spacing)) << text;
  }
}

TEST(Corpus, HasThousandsOfWordForms) {
  std::map<std::string, int> count;
  for (uint64_t i = 0; i < 20000; ++i) {
    for (const std::string& word : words_of(told(i))) ++count[word];
  }
  EXPECT_GE(count.size(), 2000u);
  // And most of them often enough that a model can learn to spell them.
  const auto frequent = std::count_if(count.begin(), count.end(),
                                      [](const auto& entry) { return entry.second >= 50; });
  EXPECT_GE(frequent, 2000);
}

// "A lazy, shy, lazy mouse", "a blue blue feather": told again in one breath, a word is a mistake.
TEST(Corpus, ListsDoNotRepeatAWord) {
  const std::regex list("[Aa]n? ([a-z-]+), ([a-z-]+)(?:, ([a-z-]+))? [a-z]");
  // Noises, what is practised, and sentences that meet at a comma.
  const std::set<std::string> meant = {"tap",   "scratch", "thump", "creak", "rustle",   "clank",
                                       "munch", "whoo",    "flap",  "round", "everybody"};
  int lists = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    const std::string& text = told(i);
    for (std::sregex_iterator it(text.begin(), text.end(), list), end; it != end; ++it) {
      ++lists;
      ASSERT_NE((*it)[1], (*it)[2]) << it->str();
      ASSERT_NE((*it)[1], (*it)[3]) << it->str();
      ASSERT_NE((*it)[2], (*it)[3]) << it->str();
    }
    std::istringstream words(text);
    std::string before, word;
    while (words >> word) {
      if (word == "and") continue;
      if (word.back() == ',') word.pop_back();
      const bool name = std::isupper(static_cast<unsigned char>(word[0])) != 0;
      ASSERT_TRUE(name || meant.count(word) || word != before) << word << " in: " << text;
      before = word;
    }
  }
  EXPECT_GT(lists, 1000);
}

// --- Consistency over a story -------------------------------------------------------------------

TEST(Corpus, TheLastSentenceNamesTheHero) {
  for (uint64_t i = 0; i < 3000; ++i) {
    const std::string& text = told(i);
    const std::string hero = hero_of(text);
    ASSERT_FALSE(hero.empty()) << text;
    ASSERT_NE(last_sentence(text).find(hero), std::string::npos) << text;
  }
}

TEST(Corpus, PronounsFitTheHero) {
  const std::set<std::string> girls = {"Lily", "Anna", "Mia", "Rosie", "Ella", "Nora", "Hazel"};
  const std::set<std::string> boys = {"Tom", "Ben", "Max", "Sam", "Leo", "Finn", "Pip"};
  // What follows the opening is about the hero alone.
  const std::regex his("^[^.]*\\. (?:He |His |All his |Unlike his |The |[A-Z][a-z ]+ he was )");
  const std::regex hers("^[^.]*\\. (?:She |Her |All her |Unlike her |The |[A-Z][a-z ]+ she was )");
  int seen = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const std::string& text = told(i);
    const std::string hero = hero_of(text);
    if (girls.count(hero)) {
      ASSERT_TRUE(std::regex_search(text, hers)) << text;
      ++seen;
    } else if (boys.count(hero)) {
      ASSERT_TRUE(std::regex_search(text, his)) << text;
      ++seen;
    }
  }
  EXPECT_GT(seen, 300);
}

// For every story in which `pattern` matches: its first group must stand before and after.
void expect_recurrence(const char* pattern, bool before) {
  const std::regex expression(pattern);
  int seen = 0;
  for (uint64_t i = 0; i < 5000; ++i) {
    const std::string& text = told(i);
    std::smatch match;
    if (!std::regex_search(text, match, expression)) continue;
    ++seen;
    const std::string thing = match[1].str();
    ASSERT_NE(match.suffix().str().find(thing), std::string::npos) << thing << ": " << text;
    ASSERT_TRUE(!before || match.prefix().str().find(thing) != std::string::npos) << text;
  }
  EXPECT_GT(seen, 50) << pattern;
}

TEST(Corpus, WhatIsLostWasOwnedBeforeAndIsFoundAgain) {
  // "the red kite": an adjective and a noun of at most two words.
  expect_recurrence("could not find the [a-z-]+ ([a-z ]+)\\.", true);
  expect_recurrence("was tired of the ([a-z -]+)\\.", true);
}

TEST(Corpus, PeopleAndPromisesReturn) {
  expect_recurrence("set off to visit ([A-Za-z. -]+?)\\. [A-Z]", false);
  expect_recurrence("promised to take a parcel to ([A-Za-z. -]+?)\\. [A-Z]", false);
  expect_recurrence("the pieces ((?:in|on|under|behind|between|inside)[a-z -]+)[.,]", false);
  expect_recurrence(" an? [a-z-]+ ([a-z -]+), and hid it", false);
}

// --- Exact entropy ------------------------------------------------------------------------------

bool same(const Decision& a, const Decision& b) {
  return a.position == b.position && a.index == b.index && a.weight == b.weight &&
         a.total == b.total && a.category == b.category;
}

TEST(CorpusEntropy, TheGrammarIsProvedUnambiguous) {
  EXPECT_THAT(grammar::ambiguities(grammar::story_grammar()), testing::IsEmpty());
}

TEST(CorpusEntropy, ThousandsOfStoriesAreReadBackChoiceByChoice) {
  for (uint64_t i = 0; i < 5000; ++i) {
    std::vector<Decision> written, read;
    grammar::Writer writer(kSeed, i, &written);
    grammar::Narrator(grammar::story_grammar(), writer).tell();
    const std::string text = writer.take_text();
    grammar::Reader reader(text, &read);
    grammar::Narrator(grammar::story_grammar(), reader).tell();
    reader.finish();
    ASSERT_TRUE(std::equal(written.begin(), written.end(), read.begin(), read.end(), same)) << text;
    ASSERT_DOUBLE_EQ(story_bits(text), story(kSeed, i).bits);
  }
}

TEST(CorpusEntropy, ChoicesAndInformationAddUpToTheBits) {
  for (uint64_t i = 0; i < 1000; ++i) {
    const Story made = story(kSeed, i);
    double choices = 0;
    for (const StoryChoice& choice : bits_at(made.text)) {
      EXPECT_LT(choice.position, made.text.size());
      choices += choice.bits;
    }
    const std::vector<double> bits = information(made.text);
    ASSERT_EQ(bits.size(), made.text.size() + 1);
    EXPECT_EQ(bits.back(), 0);
    EXPECT_GE(*std::min_element(bits.begin(), bits.end()), 0);
    // Some hundred sums and logarithms in double: 1e-9 leaves room for their rounding.
    EXPECT_NEAR(choices, made.bits, 1e-9 * made.bits);
    EXPECT_NEAR(std::accumulate(bits.begin(), bits.end(), 0.0), made.bits, 1e-9 * made.bits);
  }
}

// The information of the first k bytes says how often stories begin with them.
TEST(CorpusEntropy, InformationOfPrefixesMatchesTheirFrequency) {
  constexpr int kStories = 20000;
  std::map<std::string, int> count;
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < kStories; ++i) texts.push_back(told(i).substr(0, 60));
  int checked = 0;
  for (size_t example = 0; example < 40; ++example) {
    const std::vector<double> bits = information(story(kSeed, example).text);
    double sum = 0;
    for (size_t k = 1; k <= 60; ++k) {
      sum += bits[k - 1];
      const double probability = std::exp2(-sum);
      const double expected = kStories * probability;
      if (probability > 0.9 || expected < 25) continue;
      const std::string prefix = texts[example].substr(0, k);
      const auto seen = std::count_if(texts.begin(), texts.end(),
                                      [&](const std::string& t) { return t.starts_with(prefix); });
      // Five standard deviations of a binomial; the seed is fixed.
      EXPECT_NEAR(static_cast<double>(seen), expected, 5 * std::sqrt(expected)) << prefix;
      ++checked;
    }
  }
  EXPECT_GT(checked, 500);
}

// Sums, for each position in the lists of one category and length, how often it was drawn and how
// often it should have been. What a sentence or a role has taken is not offered again, so that the
// probabilities differ from draw to draw.
class TallyingWriter : public grammar::Writer {
 public:
  struct Tally {
    std::vector<double> hits, expected;
  };
  using Tallies = std::map<std::pair<std::string_view, size_t>, Tally>;

  TallyingWriter(uint64_t index, Tallies& tallies) : Writer(kSeed, index), tallies_(tallies) {}
  size_t choose(std::span<const grammar::Option> options, std::string_view category) override {
    const size_t chosen = Writer::choose(options, category);
    Tally& tally = tallies_[{category, options.size()}];
    tally.hits.resize(options.size());
    tally.expected.resize(options.size());
    ++tally.hits[chosen];
    double total = 0;
    for (const grammar::Option& option : options) total += option.weight;
    for (size_t i = 0; i < options.size(); ++i) tally.expected[i] += options[i].weight / total;
    return chosen;
  }

 private:
  Tallies& tallies_;
};

// Each entry of each word list is drawn as often as its weight says.
TEST(CorpusEntropy, FrequenciesMatchTheWeights) {
  TallyingWriter::Tallies tallies;
  for (uint64_t i = 0; i < 10000; ++i) {
    TallyingWriter writer(i, tallies);
    grammar::Narrator(grammar::story_grammar(), writer).tell();
  }
  int checked = 0;
  for (const auto& [list, tally] : tallies) {
    for (size_t entry = 0; entry < tally.hits.size(); ++entry) {
      const double expected = tally.expected[entry];
      if (expected < 50) continue;
      // Of some thousand entries the worst is about 3.5 standard deviations off; 6 is a bug.
      EXPECT_NEAR(tally.hits[entry], expected, 6 * std::sqrt(expected))
          << list.first << " " << entry;
      ++checked;
    }
  }
  EXPECT_GT(checked, 500);
}

TEST(CorpusEntropy, IsWhatTheDocumentationSays) {
  const Corpus sample = corpus(1, 2'000'000);
  EXPECT_NEAR(sample.bits_per_byte(), 0.327, 0.003);
}

// --- Against brute force ------------------------------------------------------------------------

// Follows a given path through the choices, then always the first option.
class PathChooser : public grammar::Chooser {
 public:
  explicit PathChooser(std::vector<size_t>& path) : path_(path) {}
  bool reads() const override { return false; }
  void write(std::string_view text) override { text_ += text; }
  size_t choose(std::span<const grammar::Option> options, std::string_view) override {
    if (depth_ == path_.size()) path_.push_back(0);
    sizes_.push_back(options.size());
    double total = 0;
    for (const grammar::Option& option : options) total += option.weight;
    const size_t chosen = path_[depth_++];
    probability_ *= options[chosen].weight / total;
    return chosen;
  }
  // Moves `path` to the next one in order; false after the last.
  bool advance() {
    path_.resize(depth_);
    while (!path_.empty() && path_.back() + 1 == sizes_[path_.size() - 1]) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back();
    return true;
  }
  const std::string& text() const { return text_; }
  double probability() const { return probability_; }

 private:
  std::vector<size_t>& path_;
  size_t depth_ = 0;
  std::vector<size_t> sizes_;
  std::string text_;
  double probability_ = 1;
};

std::map<std::string, double> all_texts(const Grammar& grammar) {
  std::map<std::string, double> texts;
  std::vector<size_t> path;
  while (true) {
    PathChooser chooser(path);
    grammar::Narrator(grammar, chooser).tell();
    texts[chooser.text()] += chooser.probability();
    if (!chooser.advance()) return texts;
  }
}

constexpr const char* kTables = R"(
@list colours 3 adjective
red, reddish, blue
@table pets 2 pet : said food
cat | purred | fish, milk
~mice | squeaked | cheese
+owls | hooted | mice, moths, bats
)";
constexpr const char* kRules = R"(
:story
3 See {a pet=pets}, {=colours} and {=colours}, {@meal}
1 Then {=colours} {pet=pets} {@meal}
1 [The|2*That] {pet=pets} {pet.was} {second=colours} or {=colours}.
:meal
+2 {pet.said}
2 ate {=pet.food}[.|, and more.]
1 ?!second slept like {other=pets}.
)";

TEST(CorpusEntropy, MatchesBruteForceOnASmallGrammar) {
  const Grammar small({kTables}, {kRules});
  ASSERT_THAT(grammar::ambiguities(small), testing::IsEmpty());
  const std::map<std::string, double> texts = all_texts(small);
  EXPECT_GT(texts.size(), 200u);
  double sum = 0;
  for (const auto& [text, probability] : texts) sum += probability;
  EXPECT_NEAR(sum, 1, 1e-12);
  for (const auto& [text, probability] : texts) {
    std::vector<double> bits(text.size() + 1, 0.0);
    grammar::Reader reader(text, nullptr, &bits);
    grammar::Narrator(small, reader).tell();
    reader.finish();
    EXPECT_NEAR(reader.bits(), -std::log2(probability), 1e-9) << text;
    // The information of byte k is the logarithm of P(first k bytes) / P(first k + 1 bytes).
    double before = 1;
    for (size_t k = 0; k < text.size(); ++k) {
      double after = 0;
      for (const auto& [other, p] : texts) {
        if (other.starts_with(text.substr(0, k + 1))) after += p;
      }
      ASSERT_NEAR(bits[k], std::log2(before / after), 1e-9) << text << " at " << k;
      before = after;
    }
  }
}

TEST(CorpusGrammar, ASentenceRepeatsAWordOnlyWhenNoneIsLeft) {
  const auto texts = [](const char* rules) {
    std::set<std::string> result;
    const Grammar grammar({"@list sizes 0 adjective\nbig, big round, small"}, {rules});
    for (const auto& entry : all_texts(grammar)) result.insert(entry.first);
    return result;
  };
  using testing::ElementsAre;
  EXPECT_THAT(texts(":story\n1 A {=sizes}, {=sizes} cat."),
              ElementsAre("A big round, small cat.\n", "A big, small cat.\n", "A small, big cat.\n",
                          "A small, big round cat.\n"));
  // Two words for three places; and the next sentence may begin with either.
  EXPECT_EQ(texts(":story\n1 A {=sizes}, {=sizes}, {=sizes} cat.").size(), 4u * 3u);
  EXPECT_EQ(texts(":story\n1 {@one} {@one}\n:one\n1 A {=sizes} cat.").size(), 9u);
}

TEST(CorpusEntropy, AmbiguousGrammarsAreFound) {
  const auto problems = [](const std::string& rules) {
    return grammar::ambiguities(Grammar({kTables}, {rules})).size();
  };
  EXPECT_EQ(problems(":story\n1 One.\n1 Two.\n"), 0u);
  EXPECT_EQ(problems(":story\n1 One\n1 One more\n"), 1u) << "a prefix";
  EXPECT_EQ(problems(":story\n1 A {=colours} cat\n1 A dog\n"), 1u) << "a draw against text";
  EXPECT_EQ(problems(":story\n1 {x=colours} {@b}\n:b\n1 {x} cat\n1 red dog\n"), 0u);
  EXPECT_EQ(problems(":story\n1 {x=colours} {@b}\n:b\n1 {x} cat\n1 red cats\n"), 1u)
      << "only if the fact is red";
  EXPECT_EQ(problems(":story\n1 {=colours}[.|!]\n"), 1u) << "red and reddish, nothing between";
  EXPECT_EQ(problems(":story\n1 {x=colours} {@b}\n:b\n1 ?x One\n1 ?!x One\n"), 0u)
      << "guards that exclude each other";
}

TEST(CorpusGrammar, MistakesNameTheLine) {
  const auto message = [](const std::string& tables, const std::string& rules) -> std::string {
    try {
      const Grammar grammar({tables}, {rules});
    } catch (const std::logic_error& error) {
      return error.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(message("@list a 0\nx", ":story\n1 x"), HasSubstr("@list a 0"));
  EXPECT_THAT(message("@table a 0 c : b\nx | y | z", ":story\n1 x"), HasSubstr("x | y | z"));
  EXPECT_THAT(message("@table a 0 c : b>a\nx | y", ":story\n1 x"), HasSubstr("y"));
  EXPECT_THAT(message("", ":story\nno weight"), HasSubstr("no weight"));
  EXPECT_THAT(message("", ":story\n1 {open"), HasSubstr("{open"));
  EXPECT_THAT(message("", ":story\n1 {@nowhere}"), HasSubstr("nowhere"));
  EXPECT_THAT(message("", ":story\n1 {=nothing}"), HasSubstr("nothing"));
  EXPECT_THAT(message("", ":story\n1 a\n:story\n1 b"), HasSubstr(":story"));
}

// --- Texts that are no stories ------------------------------------------------------------------

std::string complaint(const std::string& text) {
  try {
    story_bits(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(CorpusErrors, AChangedByteIsFoundWhereItIs) {
  for (uint64_t i = 0; i < 20; ++i) {
    const std::string& text = told(i);
    for (size_t k = 0; k < text.size(); ++k) {
      std::string changed = text;
      changed[k] = '#';  // no story has one
      ASSERT_THAT(complaint(changed),
                  testing::HasSubstr(fmt::format("at byte {} there is '#'", k)));
    }
  }
}

TEST(CorpusErrors, AChangedStoryIsAnotherStoryOrNone) {
  int refused = 0, other = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    std::string text = told(i);
    const size_t k = (i * 7919) % (text.size() - 1);
    text[k] = text[k] == 'e' ? 'a' : 'e';
    const std::string reason = complaint(text);
    reason.empty() ? ++other : ++refused;
  }
  EXPECT_GT(refused, 280) << "a few words differ by one letter: " << other;
}

TEST(CorpusErrors, EndsAreExact) {
  const std::string& text = told(3);
  EXPECT_EQ(complaint(text), "");
  EXPECT_THAT(complaint(text.substr(0, 100)), testing::HasSubstr("at byte 100 there is the end"));
  EXPECT_THAT(complaint(text + text), testing::HasSubstr("where the end of the story was due"));
  EXPECT_THAT(complaint(""), testing::HasSubstr("at byte 0 there is the end of the text"));
  EXPECT_THAT(complaint(std::string("Once\0", 5)), testing::HasSubstr("byte 0x00"));
  EXPECT_THAT(complaint("Call me Ishmael.\n"), testing::HasSubstr("corpus: not a story"));
  EXPECT_THROW(information("x"), Error);
  EXPECT_THROW(bits_at("x"), Error);
}

}  // namespace
}  // namespace tapir::app
