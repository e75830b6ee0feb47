#include "apps/tokenizer/tokenizer.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/commands/command.h"
#include "apps/data/input_files.h"
#include "apps/data/text_input.h"
#include "apps/data/token_data.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/char_tokenizer.h"
#include "apps/tokenizer/excerpt.h"
#include "apps/tokenizer/stream_encoder.h"
#include "apps/tokenizer/strict_json.h"
#include "apps/tokenizer/token_file.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr const char* kOp = "tokenizer";

constexpr const char* kTokenizerExamples = R"(Examples:
  tapir tokenizer train --data book.txt --vocab-size 300 --out tokens
  tapir tokenizer encode tokens --text "Once upon a time"
  tapir tokenizer encode tokens --data book.txt --out book.tok
  tapir tokenizer decode tokens --file book.tok
  tapir tokenizer info book.tok)";

struct TrainFlags {
  std::vector<std::string> data;
  std::string jsonl_field = "text";
  std::string kind = "bpe";
  std::string vocab_size = "8192";
  std::vector<std::string> special;
  std::string pattern = "gpt2";
  int64_t min_count = 2;
  std::string out;
  bool overwrite = false;
  std::string of_bpe_only;  // a flag that was given
};

struct EncodeFlags {
  std::string tokenizer;
  std::vector<std::string> data = {"-"};
  std::string jsonl_field = "text";
  std::optional<std::string> text;
  std::string out;
  bool parse_special = false;
  bool special_as_text = false;
  bool data_given = false;

  // Text on the command line may hold anything; data is what `tapir train` would make of it.
  SpecialText special() const {
    const bool parse = text ? parse_special : !special_as_text;
    return parse ? SpecialText::kParse : SpecialText::kAsText;
  }
};

struct DecodeFlags {
  std::string tokenizer;
  std::vector<std::string> ids;
  std::string file;
  bool keep_special = false;
};

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name) {
  return name == "byte" ? make_byte_tokenizer() : load_tokenizer(name);
}

// What --data names, as `tapir train` reads it, but for token files.
DataFiles open_text_files(const std::vector<std::string>& data, const std::string& jsonl_field) {
  DataFiles files(data, jsonl_field);
  if (files.hold_tokens()) {
    fail(kOp, "{} holds tokens already; name the text that they come from", files.token_file());
  }
  return files;
}

BpeTrainerOptions trainer_options(const TrainFlags& flags) {
  BpeTrainerOptions options;
  const int64_t vocab_size = parse_count(flags.vocab_size, "--vocab-size");
  require(vocab_size <= INT32_MAX, kOp, "--vocab-size {} is too large", vocab_size);
  options.vocab_size = static_cast<int32_t>(vocab_size);
  for (const std::string& token : flags.special) {
    if (token != kEndOfText) options.special_tokens.push_back(token);
  }
  options.rule = split_rule_from_name(flags.pattern);
  require(flags.min_count >= 1, kOp, "--min-count {} is too small; use 1 or more", flags.min_count);
  options.min_pair_count = flags.min_count;
  return options;
}

// Before the text is read, which may take long.
void check_train_flags(const TrainFlags& flags) {
  require(flags.kind == "char" || flags.kind == "bpe", kOp,
          "--kind {} is unknown; bpe and char can be trained", flags.kind);
  require(flags.kind == "bpe" || flags.of_bpe_only.empty(), kOp,
          "{} does not go with --kind char, which takes every character of the text",
          flags.of_bpe_only);
  require(flags.overwrite || !holds_tokenizer(flags.out), kOp,
          "{} holds a tokenizer; choose another folder with --out, or replace it with --overwrite",
          flags.out);
}

int train(const TrainFlags& flags) {
  const auto begin = std::chrono::steady_clock::now();
  check_train_flags(flags);
  DataFiles files = open_text_files(flags.data, flags.jsonl_field);
  TextInput& input = files.text();
  std::unique_ptr<Tokenizer> tokenizer;
  TextInputSize size;
  if (flags.kind == "char") {
    CharTrainer trainer;
    size = input.read([&](std::string_view text) { trainer.add_text(text); });
    tokenizer = trainer.train();
  } else {
    BpeTrainer trainer(trainer_options(flags));
    size = input.read([&](std::string_view text) { trainer.add_text(text); },
                      [&] { trainer.end_document(); });
    tokenizer = trainer.train();
    const int64_t wanted = trainer_options(flags).vocab_size;
    if (tokenizer->vocab_size() < wanted) {
      print_message("the text has pairs for {} tokens only, not {}\n", tokenizer->vocab_size(),
                    wanted);
    }
  }
  print_notes(input.notes());
  tokenizer->save(flags.out);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  print_output("{}: {} tokens from {} in {}; hash {}; written to {}\n", tokenizer->kind(),
               tokenizer->vocab_size(), format_bytes(static_cast<double>(size.bytes)),
               format_duration(taken.count()), tokenizer->hash(), flags.out);
  return 0;
}

// Ids as text, on one line.
class IdPrinter {
 public:
  void print(std::span<const int32_t> ids) {
    std::string line;
    for (const int32_t id : ids) {
      line += fmt::format("{}{}", first_ ? "" : " ", id);
      first_ = false;
    }
    write_output(line);
  }

 private:
  bool first_ = true;
};

int encode_to_output(const Tokenizer& tokenizer, const EncodeFlags& flags) {
  IdPrinter printer;
  if (flags.text) {
    printer.print(tokenizer.encode(*flags.text, flags.special()));
  } else {
    StreamEncoder encoder(tokenizer, flags.special(),
                          [&](std::span<const int32_t> ids) { printer.print(ids); });
    DataFiles files = open_text_files(flags.data, flags.jsonl_field);
    files.text().read([&](std::string_view text) { encoder.add_text(text); });
    encoder.finish();
    print_notes(files.text().notes());
  }
  write_output("\n");
  return 0;
}

// The tokens would take the place of the text that they come from.
void require_other_file(const EncodeFlags& flags) {
  for (const InputFile& file : find_input_files(flags.data).files) {
    std::error_code error;
    const bool same =
        !file.is_standard_input() && std::filesystem::equivalent(file.path, flags.out, error);
    require(!same, kOp, "--out {} is a file of --data; name another one", flags.out);
  }
}

int encode(const EncodeFlags& flags) {
  require(!flags.text || !flags.data_given, kOp, "--data does not go with --text");
  require(!flags.parse_special || !flags.special_as_text, kOp,
          "--special-as-text does not go with --parse-special");
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(flags.tokenizer);
  if (flags.out.empty()) return encode_to_output(*tokenizer, flags);
  if (!flags.text) require_other_file(flags);
  TokenFileWriter writer(flags.out, *tokenizer);
  StreamEncoder encoder(*tokenizer, flags.special(),
                        [&](std::span<const int32_t> ids) { writer.append(ids); });
  TextInputSize size;
  if (!flags.text) {
    DataFiles files = open_text_files(flags.data, flags.jsonl_field);
    size = files.text().read([&](std::string_view text) { encoder.add_text(text); },
                             [&] { encoder.end_document(); });
    print_notes(files.text().notes());
  } else {
    encoder.add_text(*flags.text);
    encoder.end_document();
    size = {1, static_cast<int64_t>(flags.text->size())};
  }
  encoder.finish();
  writer.finish();
  print_output("{} tokens of {} documents, {}; written to {}\n", writer.size(), size.documents,
               format_bytes(static_cast<double>(size.bytes)), flags.out);
  return 0;
}

int32_t parse_id(std::string_view word) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  if (error != std::errc() || end != word.data() + word.size()) {
    fail(kOp, "'{}' is no token id", excerpt(word));
  }
  return id;
}

void decode_words(const Tokenizer& tokenizer, std::string_view words, SpecialOutput special) {
  constexpr std::string_view kSpace = " \t\r\n,";
  std::string text;
  for (size_t at = words.find_first_not_of(kSpace); at != std::string_view::npos;) {
    const size_t end = std::min(words.find_first_of(kSpace, at), words.size());
    const int32_t id = parse_id(words.substr(at, end - at));
    text += tokenizer.decode(std::span(&id, 1), special);
    at = words.find_first_not_of(kSpace, end);
  }
  write_output(text);
}

void decode_file(const Tokenizer& tokenizer, const std::string& path, SpecialOutput special) {
  constexpr int64_t kPortion = 1 << 16;
  const TokenFile file(path);
  file.require_tokenizer(tokenizer);
  for (int64_t at = 0; at < file.size(); at += kPortion) {
    std::vector<int32_t> ids(static_cast<size_t>(std::min(kPortion, file.size() - at)));
    file.read(at, ids);
    write_output(tokenizer.decode(ids, special));
  }
}

int decode(const DecodeFlags& flags) {
  require(flags.file.empty() || flags.ids.empty(), kOp, "token ids do not go with --file");
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(flags.tokenizer);
  const SpecialOutput special = flags.keep_special ? SpecialOutput::kKeep : SpecialOutput::kSkip;
  if (!flags.file.empty()) {
    decode_file(*tokenizer, flags.file, special);
    return 0;
  }
  std::string words;
  for (const std::string& word : flags.ids) words += word + " ";
  if (flags.ids.empty()) {
    TextInput({kStandardInput}).read([&](std::string_view text) { words += text; });
  }
  decode_words(*tokenizer, words, special);
  return 0;
}

void print_tokenizer(const Tokenizer& tokenizer) {
  print_output("kind       {}\nvocabulary {}\nhash       {}\n", tokenizer.kind(),
               tokenizer.vocab_size(), tokenizer.hash());
  for (const AddedToken& token : tokenizer.added_tokens()) {
    print_output("{}    {} {}\n", token.special ? "special" : "added  ", token.id,
                 json_quote(token.text));
  }
}

int info(const std::string& path) {
  if (path == "byte" || std::filesystem::is_directory(path) || path.ends_with(".json")) {
    print_tokenizer(*open_tokenizer(path));
    return 0;
  }
  const TokenFile file(path);
  file.verify();
  print_output("tokens     {}\nvocabulary {}\nbytes      {} per token\ntokenizer  {}\n",
               file.size(), file.vocab_size(), file.bytes_per_id(), file.tokenizer_hash());
  return 0;
}

void add_train(CLI::App& parent, Action& chosen) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = parent.add_subcommand("train", "Train a tokenizer on text");
  command
      ->add_option("--data", flags->data,
                   "Text files, folders and quoted patterns; - is standard input")
      ->required();
  command->add_option("--jsonl-field", flags->jsonl_field, "Where .jsonl files have their text")
      ->capture_default_str();
  command->add_option("--out", flags->out, "Folder to write tokenizer.json into")->required();
  command->add_option("--kind", flags->kind, "bpe or char")->capture_default_str();
  command
      ->add_option("--vocab-size", flags->vocab_size,
                   "256 bytes, merges and special tokens together")
      ->capture_default_str();
  command->add_option("--special", flags->special,
                      std::string("Special tokens beside ") + kEndOfText);
  command->add_option("--pattern", flags->pattern, "How text is cut first: gpt2, llama3 or cl100k")
      ->capture_default_str();
  command
      ->add_option("--min-count", flags->min_count, "A pair that occurs less often is not merged")
      ->capture_default_str();
  command->add_flag("--overwrite", flags->overwrite, "Replace the tokenizer that is in --out");
  command->callback([flags, command, &chosen] {
    for (const char* name : {"--vocab-size", "--special", "--pattern", "--min-count"}) {
      if (command->count(name) > 0) flags->of_bpe_only = name;
    }
    chosen = [flags] { return train(*flags); };
  });
}

void add_encode(CLI::App& parent, Action& chosen) {
  auto flags = std::make_shared<EncodeFlags>();
  CLI::App* command = parent.add_subcommand("encode", "Turn text into token ids");
  command->add_option("tokenizer", flags->tokenizer, "Folder or tokenizer.json, or byte")
      ->required();
  command
      ->add_option("--data", flags->data,
                   "Text files, folders and quoted patterns; - is standard input")
      ->capture_default_str();
  command->add_option("--jsonl-field", flags->jsonl_field, "Where .jsonl files have their text")
      ->capture_default_str();
  command->add_option("--text", flags->text, "Text to encode instead");
  command->add_option("--out", flags->out,
                      "Token file to write, with an end-of-text token behind each document; "
                      "without it the ids are printed");
  command->add_flag("--parse-special", flags->parse_special,
                    "--text that spells a special token becomes one");
  command->add_flag("--special-as-text", flags->special_as_text,
                    "--data that spells a special token stays text: for text from strangers");
  command->callback([flags, command, &chosen] {
    flags->data_given = command->count("--data") > 0;
    chosen = [flags] { return encode(*flags); };
  });
}

void add_decode(CLI::App& parent, Action& chosen) {
  auto flags = std::make_shared<DecodeFlags>();
  CLI::App* command = parent.add_subcommand("decode", "Turn token ids into text");
  command->add_option("tokenizer", flags->tokenizer, "Folder or tokenizer.json, or byte")
      ->required();
  command->add_option("ids", flags->ids, "Token ids; without any they come from standard input");
  command->add_option("--file", flags->file, "Token file to decode instead");
  command->add_flag("--keep-special", flags->keep_special, "Write special tokens as their text");
  command->callback([flags, &chosen] { chosen = [flags] { return decode(*flags); }; });
}

void add_info(CLI::App& parent, Action& chosen) {
  auto path = std::make_shared<std::string>();
  CLI::App* command =
      parent.add_subcommand("info", "Show what a tokenizer or token file is, and check it");
  command->add_option("path", *path, "Folder, tokenizer.json or token file")->required();
  command->callback([path, &chosen] { chosen = [path] { return info(*path); }; });
}

}  // namespace

void add_tokenizer_command(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("tokenizer", "Train and use tokenizers; make token files");
  command->footer(kTokenizerExamples);
  command->require_subcommand(1);
  add_train(*command, chosen);
  add_encode(*command, chosen);
  add_decode(*command, chosen);
  add_info(*command, chosen);
}

}  // namespace tapir::app
