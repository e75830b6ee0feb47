// Text to token ids and back. Every tokenizer works on raw bytes: decode(encode(x)) == x for any
// byte string, valid UTF-8 or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tokenizer/added_tokens.h"

namespace tapir::app {

// What encode does with text that spells a special token.
enum class SpecialText {
  kAsText,  // plain text like any other: safe for text from strangers
  kParse,   // becomes the special token's id
};

// What decode does with special tokens.
enum class SpecialOutput { kSkip, kKeep };

// Immutable after construction, so one tokenizer may be used from several threads at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // "byte", "char" or "bpe".
  virtual std::string kind() const = 0;

  // Ids are 0 .. vocab_size() - 1.
  virtual int32_t vocab_size() const = 0;

  std::vector<int32_t> encode(std::string_view text,
                              SpecialText special = SpecialText::kAsText) const;

  // As encode, but appends to `ids`.
  void encode_append(std::string_view text, std::vector<int32_t>& ids,
                     SpecialText special = SpecialText::kAsText) const;

  // The largest cut <= text.size() such that the ids of text[0, cut) followed by those of
  // text[cut, ...) are the ids of the whole, whatever comes after `text`; 0 if there is none.
  size_t safe_cut(std::string_view text, SpecialText special = SpecialText::kAsText) const;

  // The bytes that `id` stands for; the text of an added token. An id out of range is an Error.
  virtual std::string token_bytes(int32_t id) const = 0;

  // The bytes of the tokens one after the other. They need not be valid UTF-8: see Utf8Stream.
  std::string decode(std::span<const int32_t> ids,
                     SpecialOutput special = SpecialOutput::kSkip) const;

  const std::vector<AddedToken>& added_tokens() const { return added_; }
  bool is_special(int32_t id) const;
  std::optional<int32_t> find_special(std::string_view text) const;

  // Separates documents; empty where the vocabulary has no such token.
  std::optional<int32_t> end_of_text() const;

  // What the tokenizer's own model expects in front of a prompt (Llama 3), if anything.
  virtual std::optional<int32_t> begin_of_text() const { return std::nullopt; }

  // Writes tokenizer.json, and for bpe also vocab.json and merges.txt, creating `dir`. A tokenizer
  // that is there is replaced with all its files.
  void save(const std::filesystem::path& dir) const;

  // 16 hexadecimal digits that depend on the ids, their bytes and the rules alone, not on how a
  // file spells them: two tokenizers with one hash encode alike.
  std::string hash() const;

 protected:
  // `added` sorted or not; ids must be below vocab_size().
  explicit Tokenizer(std::vector<AddedToken> added);

 private:
  friend std::string tokenizer_to_json(const Tokenizer& tokenizer);

  // Encodes text in which no added token is to be found any more.
  virtual void encode_plain(std::string_view text, std::vector<int32_t>& ids) const = 0;

  // safe_cut for text in which no added token is to be found.
  virtual size_t plain_cut(std::string_view text) const = 0;

  virtual std::string to_json() const = 0;

  // Files beside tokenizer.json: by default none, not even of the tokenizer before.
  virtual void save_extra(const std::filesystem::path& dir) const;

  // What else decides the encoding, as text that never changes its form: goes into hash().
  virtual std::string rules() const = 0;

  std::vector<AddedToken> added_;  // by id
  AddedTokenMatcher ordinary_;     // the added tokens that are not special
  AddedTokenMatcher all_;
};

// 256 bytes, id = value, and 256 = <|endoftext|>, which may be what prompts begin with.
std::unique_ptr<Tokenizer> make_byte_tokenizer(bool begins_with_end_of_text = false);

// Reads what save wrote, a Hugging Face tokenizer.json of a byte-level BPE, or a folder with
// GPT-2's vocab.json and merges.txt. What cannot be honoured exactly is an Error that names it.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& dir_or_file);

// Whether the folder holds a file that Tokenizer::save writes.
bool holds_tokenizer(const std::filesystem::path& dir);

// The text of tokenizer.json, which also travels inside a checkpoint.
std::string tokenizer_to_json(const Tokenizer& tokenizer);
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json);

inline constexpr const char* kEndOfText = "<|endoftext|>";

}  // namespace tapir::app
