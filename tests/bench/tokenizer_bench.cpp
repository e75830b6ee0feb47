// Times training and encoding; tokenizer_bench.py sets the times beside those of other programs.
//
//   tokenizer_bench train TEXT VOCAB_SIZE
//   tokenizer_bench encode TEXT FOLDER_WITH_GPT2_FILES [IDS_FILE]
//
// Prints one line of JSON a measurement. Both use the first bytes of TEXT that make whole
// documents of 20,000 bytes; `encode` the first 20 MB.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/tokenizer.h"
#include "backends/cpu/parallel.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr size_t kDocumentBytes = 20'000;
constexpr size_t kEncodeBytes = 20'000'000;

double seconds_of(auto&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void bench_training(const std::string& path, int32_t vocab_size) {
  std::unique_ptr<Tokenizer> tokenizer;
  size_t bytes = 0;
  const double seconds = seconds_of([&] {
    BpeTrainer trainer({.vocab_size = vocab_size});
    std::ifstream file(path, std::ios::binary);
    std::string portion(1 << 20, '\0');
    while (file.read(portion.data(), static_cast<std::streamsize>(portion.size())),
           file.gcount() > 0) {
      trainer.add_text(std::string_view(portion).substr(0, static_cast<size_t>(file.gcount())));
      bytes += static_cast<size_t>(file.gcount());
    }
    tokenizer = trainer.train();
  });
  fmt::print(R"({{"what": "train", "threads": {}, "bytes": {}, "vocab": {}, "seconds": {:.3f}}})"
             "\n",
             cpu::threads(), bytes, tokenizer->vocab_size(), seconds);
}

void bench_encoding(const std::string& path, const std::filesystem::path& gpt2,
                    const std::string& ids_path) {
  const auto tokenizer = make_bpe_tokenizer(
      bpe_from_gpt2(read_file(gpt2 / "gpt2_vocab.json"), read_file(gpt2 / "gpt2_merges.txt")));
  const std::string text = read_file(path).substr(0, kEncodeBytes);
  const auto documents = static_cast<int64_t>((text.size() + kDocumentBytes - 1) / kDocumentBytes);
  std::vector<size_t> counts(static_cast<size_t>(documents));
  const int all_threads = cpu::threads();
  for (int threads = 1; threads <= std::min(2, all_threads); ++threads) {
    cpu::set_threads(threads);
    const double seconds = seconds_of([&] {
      cpu::parallel_for(documents, kDocumentBytes * 10, [&](int64_t index) {
        const auto i = static_cast<size_t>(index);
        const std::string_view document =
            std::string_view(text).substr(i * kDocumentBytes, kDocumentBytes);
        counts[i] = tokenizer->encode(document).size();
      });
    });
    fmt::print(R"({{"what": "encode", "threads": {}, "bytes": {}, "mb_per_s": {:.2f}}})"
               "\n",
               threads, text.size(), static_cast<double>(text.size()) / 1e6 / seconds);
  }
  if (ids_path.empty()) return;
  const std::vector<int32_t> ids = tokenizer->encode(text);
  write_file(ids_path, {reinterpret_cast<const char*>(ids.data()), 4 * ids.size()});
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "train") {
    bench_training(words[1], std::atoi(words[2].c_str()));
  } else if (words.size() >= 3 && words[0] == "encode") {
    bench_encoding(words[1], words[2], words.size() > 3 ? words[3] : "");
  } else {
    fmt::print(stderr, "usage: tokenizer_bench train TEXT N | encode TEXT GPT2_FOLDER [IDS]\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace tapir::app

int main(int argc, char** argv) {
  try {
    return tapir::app::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tokenizer_bench: {}\n", error.what());
    return 1;
  }
}
