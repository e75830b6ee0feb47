// A PCRE2 pattern over UTF-8, compiled by its JIT where there is one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tapir::app {

// Immutable; one Regex serves several threads, each with its own Matcher.
class Regex {
 public:
  // `pattern` is one of ours, never a user's.
  explicit Regex(const std::string& pattern);
  ~Regex();
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;

  struct Match {
    size_t begin = 0;
    size_t end = 0;
    bool found = false;
  };

  // Holds PCRE2's working memory.
  class Matcher {
   public:
    explicit Matcher(const Regex& regex);
    ~Matcher();
    Matcher(const Matcher&) = delete;
    Matcher& operator=(const Matcher&) = delete;

    // The first match at or after `from`. `text` must be valid UTF-8.
    Match find(std::string_view text, size_t from);

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace tapir::app
