// The built-in corpus: little English stories from a seeded generator that knows the exact
// probability of everything it writes, so that the best loss any model can reach is known.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

// A story ends with a newline, its only one. `bits` is -log2 of the exact probability that the
// generator writes this text and then stops (when to stop is never in doubt, so it costs 0 bits).
struct Story {
  std::string text;
  double bits = 0;
};

// Story `index` of seed `seed`, a pure function of the two: stories can be made in any order and
// on any number of threads, and split into training and validation parts by their index.
Story story(uint64_t seed, uint64_t index);

// Stories first, first + 1, ... of a seed, one after the other.
class StoryStream {
 public:
  explicit StoryStream(uint64_t seed, uint64_t first = 0) : seed_(seed), index_(first) {}
  Story next() { return story(seed_, index_++); }
  // The index of the story that next() returns.
  uint64_t index() const { return index_; }

 private:
  uint64_t seed_, index_;
};

struct Corpus {
  std::vector<std::string> documents;  // one story each
  double bits = 0;                     // the sum over the documents
  uint64_t bytes = 0;                  // of all documents; the text is ASCII, so also characters

  double bits_per_byte() const { return bytes == 0 ? 0 : bits / static_cast<double>(bytes); }
};

// The first stories from index `first` on, until they have at least `bytes` bytes.
Corpus corpus(uint64_t seed, uint64_t bytes, uint64_t first = 0);

// The functions below read a story back. A text that the generator cannot have written is an Error
// that names the first byte that does not fit.

// -log2 of the probability of the text.
double story_bits(std::string_view text);

// One choice of the generator: its alternatives begin at byte `position`.
struct StoryChoice {
  uint64_t position = 0;
  double bits = 0;
  std::string_view category;  // "sentence", "wording", or what kind of word was chosen
};
std::vector<StoryChoice> bits_at(std::string_view text);

// The exact information of each byte given all bytes before it, -log2 P(byte k | bytes < k), in
// bits: text.size() values and one more, always 0, for the end of the text. The mean over the first
// k bytes is the floor for the loss of a model that reads the first k bytes of stories.
std::vector<double> information(std::string_view text);

}  // namespace tapir::app
