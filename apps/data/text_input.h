// Text from files, folders and standard input, as a stream of documents: what every command that
// takes --data reads with.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/data/byte_source.h"
#include "apps/data/input_files.h"

namespace tapir::app {

struct TextInputOptions {
  std::string jsonl_field = "text";  // of .jsonl files
};

struct TextInputSize {
  int64_t documents = 0;
  int64_t bytes = 0;
};

class TextInput {
 public:
  // The paths are those of find_input_files.
  explicit TextInput(const std::vector<std::string>& paths, TextInputOptions options = {})
      : TextInput(find_input_files(paths), std::move(options)) {}
  explicit TextInput(InputFiles files, TextInputOptions options = {});

  // Hands the text of every document to `add_text` in portions of at most about a megabyte (a line
  // of a .jsonl file in one), and calls `end_document` behind each. A document is a file, or a line
  // of a file that ends in .jsonl or .ndjson; .gz and .zst files are decompressed (endings in
  // letters of either case). May be called again.
  //
  // A file that cannot be read, is damaged, empty or binary (it holds a NUL byte) is an Error that
  // names it, and so is that there is no text at all. Empty and binary files that the user did not
  // name themselves are only noted.
  TextInputSize read(
      const std::function<void(std::string_view)>& add_text,
      const std::function<void()>& end_document = [] {});

  // Keeps what comes from standard input in a temporary file while it is read first, so that it can
  // be read again. To be called before read.
  void keep_standard_input();

  // What the latest read left out, for people.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::unique_ptr<ByteSource> open(const InputFile& file);
  std::unique_ptr<ByteSource> open_standard_input();
  bool accept(const InputFile& file, std::string_view first_portion);

  InputFiles files_;
  TextInputOptions options_;
  std::vector<std::string> notes_;
  std::unique_ptr<std::FILE, Close> kept_input_;
  bool input_was_read_ = false;
};

}  // namespace tapir::app
