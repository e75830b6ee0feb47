#include "apps/corpus/corpus.h"

#include <fstream>
#include <memory>

#include "apps/cli/output.h"
#include "apps/cli/quantity.h"
#include "apps/commands/command.h"
#include "autograd/atomic_file.h"

namespace tapir::app {
namespace {

constexpr const char* kCorpusExamples = R"(Examples:
  tapir corpus --bytes 2k
  tapir corpus --bytes 10M --seed 3 --out stories.txt

Little English stories from a generator that knows the probability of everything it writes:
no model can, on average, predict them with fewer bits than the entropy that is printed.)";

struct CorpusCommand {
  std::string bytes = "1M";
  int64_t seed = 1;
  int64_t first = 0;
  std::string separator;
  std::string out;
};

std::vector<Setting> settings(CorpusCommand& c) {
  return {
      {"corpus", "bytes", &c.bytes, "How much text to write, at least; as 2k, 10M"},
      {"corpus", "seed", &c.seed, "The same seed gives the same stories", 0, 9e15},
      {"corpus", "first", &c.first, "Number of the first story", 0, 9e15},
      {"corpus", "separator", &c.separator, "Text between stories, as <|endoftext|>"},
      {"corpus", "out", &c.out, "File to write; by default standard output"},
  };
}

int write_corpus(const CorpusCommand& command) {
  const auto wanted = static_cast<uint64_t>(parse_count(command.bytes, "--bytes"));
  std::unique_ptr<AtomicFile> file;
  if (!command.out.empty()) file = std::make_unique<AtomicFile>(command.out);
  StoryStream stream(static_cast<uint64_t>(command.seed), static_cast<uint64_t>(command.first));
  uint64_t bytes = 0, stories = 0;
  double bits = 0;
  while (bytes < wanted) {
    const Story story = stream.next();
    const std::string text = (stories == 0 ? "" : command.separator) + story.text;
    file ? file->write(text) : write_output(text);
    bytes += story.text.size();
    bits += story.bits;
    ++stories;
  }
  if (file) file->commit();
  print_message("{} stories, {}, {:.5f} bits per byte\n", stories,
                format_bytes(static_cast<double>(bytes)), bits / static_cast<double>(bytes));
  return 0;
}

}  // namespace

void add_corpus_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<CorpusCommand>();
  CLI::App* command = program.add_subcommand(
      "corpus", "Write the built-in stories and print how predictable they are");
  set_action(*command, options, settings(*options), kCorpusExamples, write_corpus, chosen);
}

}  // namespace tapir::app
