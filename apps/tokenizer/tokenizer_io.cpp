#include <algorithm>
#include <array>
#include <system_error>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/byte_tokenizer.h"
#include "apps/tokenizer/char_tokenizer.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/strict_json.h"
#include "apps/tokenizer/tokenizer.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr std::array kGpt2Files = {"vocab.json", "merges.txt"};

std::unique_ptr<Tokenizer> load_json_file(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  try {
    return tokenizer_from_json(text);
  } catch (const Error& error) {
    throw Error(fmt::format("{} (in {})", error.what(), file.string()));
  }
}

std::unique_ptr<Tokenizer> load_gpt2_folder(const std::filesystem::path& dir) {
  const std::string vocab = read_file(dir / "vocab.json");
  const std::string merges = read_file(dir / "merges.txt");
  try {
    return make_bpe_tokenizer(bpe_from_gpt2(vocab, merges));
  } catch (const Error& error) {
    throw Error(fmt::format("{} (in {})", error.what(), dir.string()));
  }
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& dir_or_file) {
  std::error_code error;
  if (!std::filesystem::is_directory(dir_or_file, error)) return load_json_file(dir_or_file);
  if (std::filesystem::exists(dir_or_file / "tokenizer.json", error)) {
    return load_json_file(dir_or_file / "tokenizer.json");
  }
  require(std::filesystem::exists(dir_or_file / "vocab.json", error), "tokenizer",
          "{} holds neither tokenizer.json nor vocab.json with merges.txt", dir_or_file.string());
  return load_gpt2_folder(dir_or_file);
}

void Tokenizer::save(const std::filesystem::path& dir) const {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  require(!error, "tokenizer", "folder {} cannot be made: {}", dir.string(), error.message());
  write_file(dir / "tokenizer.json", to_json());
  save_extra(dir);
}

void Tokenizer::save_extra(const std::filesystem::path& dir) const {
  for (const char* name : kGpt2Files) {
    std::error_code error;
    std::filesystem::remove(dir / name, error);
    require(!error, "tokenizer", "{} of another tokenizer cannot be removed: {}",
            (dir / name).string(), error.message());
  }
}

bool holds_tokenizer(const std::filesystem::path& dir) {
  const auto is_there = [&](const char* name) {
    std::error_code error;
    return std::filesystem::exists(dir / name, error);
  };
  return is_there("tokenizer.json") || std::any_of(kGpt2Files.begin(), kGpt2Files.end(), is_there);
}

std::string tokenizer_to_json(const Tokenizer& tokenizer) {
  return tokenizer.to_json();
}

std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json) {
  const JsonValue root = parse_strict_json(json, "tokenizer");
  require(
      root["model"].is_object(), "tokenizer",
      "not a tokenizer.json: there is no \"model\"; of vocab.json and merges.txt, name the folder");
  if (is_char_tokenizer_json(root)) return char_tokenizer_from_json(root);
  if (is_byte_tokenizer_json(root)) return byte_tokenizer_from_json(root);
  return make_bpe_tokenizer(bpe_from_json(root));
}

}  // namespace tapir::app
