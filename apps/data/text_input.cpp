#include "apps/data/text_input.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

#include "apps/cli/output.h"
#include "apps/data/json_lines.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr std::string_view kOp = "data";
constexpr size_t kPortion = size_t{1} << 20;

// Fills the portion, unless the source ends before.
std::string_view read_portion(ByteSource& source, std::string& portion) {
  size_t size = 0;
  while (size < portion.size()) {
    const size_t count = source.read(portion.data() + size, portion.size() - size);
    if (count == 0) break;
    size += count;
  }
  return std::string_view(portion).substr(0, size);
}

// Text in every encoding that we read has no NUL byte; nearly every other file has one.
size_t find_binary(std::string_view bytes) {
  return bytes.find('\0');
}

bool is_json_lines(const std::string& name) {
  const std::string plain = without_compression(name);
  return has_ending(plain, ".jsonl") || has_ending(plain, ".ndjson");
}

// Copies what it hands on into a file.
class KeepingSource : public ByteSource {
 public:
  KeepingSource(std::unique_ptr<ByteSource> from, std::FILE* copy)
      : from_(std::move(from)), copy_(copy) {}

  size_t read(char* to, size_t most) override {
    const size_t count = from_->read(to, most);
    const bool kept = std::fwrite(to, 1, count, copy_) == count && std::fflush(copy_) == 0;
    require(kept, kOp,
            "standard input cannot be kept in a temporary file: {}; give it as a file instead",
            std::strerror(errno));
    return count;
  }

 private:
  std::unique_ptr<ByteSource> from_;
  std::FILE* copy_;
};

}  // namespace

TextInput::TextInput(InputFiles files, TextInputOptions options)
    : files_(std::move(files)), options_(std::move(options)), notes_(files_.notes) {}

void TextInput::keep_standard_input() {
  kept_input_.reset(std::tmpfile());
  require(kept_input_ != nullptr, kOp, "cannot create a temporary file: {}", std::strerror(errno));
}

TextInputSize TextInput::read(const std::function<void(std::string_view)>& add_text,
                              const std::function<void()>& end_document) {
  TextInputSize size;
  notes_ = files_.notes;
  std::string portion(kPortion, '\0');
  for (const InputFile& file : files_.files) {
    const std::string name = file.shown();
    const std::unique_ptr<ByteSource> source = open(file);
    std::string_view bytes = read_portion(*source, portion);
    if (!accept(file, bytes)) continue;
    const auto add_document_text = [&](std::string_view text) {
      add_text(text);
      size.bytes += static_cast<int64_t>(text.size());
    };
    const auto finish_document = [&] {
      end_document();
      ++size.documents;
    };
    const bool in_lines = is_json_lines(name);
    JsonLines lines(name, options_.jsonl_field, [&](std::string_view text) {
      add_document_text(text);
      finish_document();
    });
    for (int64_t offset = 0; !bytes.empty(); bytes = read_portion(*source, portion)) {
      const size_t bad = find_binary(bytes);
      require(bad == std::string_view::npos, kOp, "{} is not a text file: byte {} is NUL", name,
              offset + static_cast<int64_t>(bad));
      in_lines ? lines.add(bytes) : add_document_text(bytes);
      offset += static_cast<int64_t>(bytes.size());
    }
    in_lines ? lines.finish() : finish_document();
  }
  require(size.bytes > 0, kOp, "there is no text in what --data names");
  return size;
}

std::unique_ptr<ByteSource> TextInput::open(const InputFile& file) {
  return file.is_standard_input() ? open_standard_input() : open_byte_source(file.path.string());
}

std::unique_ptr<ByteSource> TextInput::open_standard_input() {
  const std::string name = "standard input";
  if (!input_was_read_) {
    input_was_read_ = true;
    if (isatty(STDIN_FILENO) == 1) {
      write_message("tapir: reading text from the terminal; end it with Ctrl-D\n");
    }
    std::unique_ptr<ByteSource> input = make_file_source(stdin, name);
    if (!kept_input_) return input;
    return std::make_unique<KeepingSource>(std::move(input), kept_input_.get());
  }
  require(kept_input_ != nullptr, kOp, "standard input (-) can be read only once");
  std::rewind(kept_input_.get());
  return make_file_source(kept_input_.get(), name);
}

// Whether the file's text is wanted; if not, a note says why.
bool TextInput::accept(const InputFile& file, std::string_view first_portion) {
  const auto leave_out = [&](std::string_view why) {
    notes_.push_back(fmt::format("{} {}, left out", file.shown(), why));
    return false;
  };
  if (file.named) {
    require(!first_portion.empty(), kOp, "{} is empty", file.shown());
    return true;
  }
  if (first_portion.empty()) return leave_out("is empty");
  if (find_binary(first_portion) != std::string_view::npos) return leave_out("is not text");
  return true;
}

}  // namespace tapir::app
