#include "apps/tokenizer/regex.h"

#include <new>

#include "backends/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace tapir::app {
namespace {

constexpr size_t kJitStackStart = 32 * 1024;
constexpr size_t kJitStackLimit = 8 * 1024 * 1024;

std::string error_text(int code) {
  PCRE2_UCHAR buffer[256];
  const int length = pcre2_get_error_message(code, buffer, sizeof buffer);
  if (length < 0) return fmt::format("PCRE2 error {}", code);
  return std::string(buffer, buffer + length);
}

}  // namespace

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
};

struct Regex::Matcher::State {
  const Code* code = nullptr;
  pcre2_match_data* match = nullptr;
  pcre2_match_context* context = nullptr;
  pcre2_jit_stack* stack = nullptr;
};

Regex::Regex(const std::string& pattern) : code_(std::make_unique<Code>()) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  code_->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                              PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
  require(code_->code != nullptr, "regex", "pattern {} does not compile: {}", pattern,
          error_text(error));
  code_->jit = pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE) == 0;
}

Regex::~Regex() {
  pcre2_code_free(code_->code);
}

Regex::Matcher::Matcher(const Regex& regex) : state_(std::make_unique<State>()) {
  state_->code = regex.code_.get();
  state_->match = pcre2_match_data_create(1, nullptr);
  state_->context = pcre2_match_context_create(nullptr);
  if (state_->match == nullptr || state_->context == nullptr) throw std::bad_alloc();
  if (!state_->code->jit) return;
  state_->stack = pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr);
  if (state_->stack == nullptr) throw std::bad_alloc();
  pcre2_jit_stack_assign(state_->context, nullptr, state_->stack);
}

Regex::Matcher::~Matcher() {
  pcre2_jit_stack_free(state_->stack);
  pcre2_match_context_free(state_->context);
  pcre2_match_data_free(state_->match);
}

Regex::Match Regex::Matcher::find(std::string_view text, size_t from) {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const int result = state_->code->jit
                         ? pcre2_jit_match(state_->code->code, subject, text.size(), from, 0,
                                           state_->match, state_->context)
                         : pcre2_match(state_->code->code, subject, text.size(), from,
                                       PCRE2_NO_UTF_CHECK, state_->match, state_->context);
  if (result == PCRE2_ERROR_NOMATCH) return {};
  require(result > 0, "regex", "matching failed at byte {} of {}: {}", from, text.size(),
          error_text(result));
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(state_->match);
  return {offsets[0], offsets[1], true};
}

}  // namespace tapir::app
