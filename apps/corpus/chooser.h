// The one interface through which every random choice of a story goes. The same grammar is run
// with a chooser that draws (to write a story) or with one that recognises (to read one).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app::grammar {

// An alternative of a choice: it is taken with probability weight / (sum of weights), and then the
// story goes on with `text` and `delimiter` (0: none).
struct Option {
  uint32_t weight = 0;
  std::string_view text;
  char delimiter = 0;

  size_t size() const { return text.size() + (delimiter != 0); }
  char operator[](size_t i) const { return i < text.size() ? text[i] : delimiter; }
};

// What was chosen, where: byte `position` is where the chosen text begins.
struct Decision {
  size_t position = 0;
  uint32_t index = 0;
  uint32_t weight = 0;
  uint32_t total = 0;
  std::string_view category;

  double bits() const;
};

class Chooser {
 public:
  virtual ~Chooser() = default;
  // Whether choose() needs the text of the options; if not, it may be left empty.
  virtual bool reads() const = 0;
  // Text that is certain.
  virtual void write(std::string_view text) = 0;
  // Returns the index of the option taken. `category` says what kind of choice this is.
  virtual size_t choose(std::span<const Option> options, std::string_view category) = 0;
};

// Draws from Philox: draw k of story `index` is a function of (seed, index, k) only.
class Writer : public Chooser {
 public:
  // `decisions`, if not null, receives every choice.
  Writer(uint64_t seed, uint64_t index, std::vector<Decision>* decisions = nullptr)
      : seed_(seed), index_(index), decisions_(decisions) {}

  bool reads() const override { return false; }
  void write(std::string_view text) override { text_ += text; }
  size_t choose(std::span<const Option> options, std::string_view category) override;

  double bits() const { return bits_; }
  std::string take_text() { return std::move(text_); }

 private:
  uint32_t random_word();
  uint32_t random_below(uint32_t bound);

  uint64_t seed_, index_, counter_ = 0;
  uint32_t words_[4] = {};
  int words_left_ = 0;
  std::string text_;
  double bits_ = 0;
  std::vector<Decision>* decisions_;
};

// Recovers the choices from a text. A text that the grammar cannot have written is a tapir::Error
// with the position of the first byte that does not fit.
class Reader : public Chooser {
 public:
  // `information`, if not null, must have text.size() + 1 zeros; the bits of every byte given those
  // before it are added to it.
  explicit Reader(std::string_view text, std::vector<Decision>* decisions = nullptr,
                  std::vector<double>* information = nullptr)
      : text_(text), decisions_(decisions), information_(information) {}

  bool reads() const override { return true; }
  void write(std::string_view text) override;
  size_t choose(std::span<const Option> options, std::string_view category) override;
  // Must be called after the story: text that goes on is an Error.
  void finish() const;

  double bits() const { return bits_; }

 private:
  std::string_view text_;
  size_t position_ = 0;
  double bits_ = 0;
  std::vector<Decision>* decisions_;
  std::vector<double>* information_;
  std::vector<uint32_t> alive_;
};

}  // namespace tapir::app::grammar
