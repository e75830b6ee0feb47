#include "apps/corpus/corpus.h"

#include "apps/corpus/chooser.h"
#include "apps/corpus/grammar.h"
#include "apps/corpus/narrator.h"

namespace tapir::app {
namespace {

// Recovers the choices of a story; see Reader for the two optional results.
double read_story(std::string_view text, std::vector<grammar::Decision>* decisions,
                  std::vector<double>* information) {
  grammar::Reader reader(text, decisions, information);
  grammar::Narrator(grammar::story_grammar(), reader).tell();
  reader.finish();
  return reader.bits();
}

}  // namespace

Story story(uint64_t seed, uint64_t index) {
  grammar::Writer writer(seed, index);
  grammar::Narrator(grammar::story_grammar(), writer).tell();
  return {writer.take_text(), writer.bits()};
}

Corpus corpus(uint64_t seed, uint64_t bytes, uint64_t first) {
  Corpus result;
  StoryStream stream(seed, first);
  while (result.bytes < bytes) {
    Story next = stream.next();
    result.bytes += next.text.size();
    result.bits += next.bits;
    result.documents.push_back(std::move(next.text));
  }
  return result;
}

double story_bits(std::string_view text) {
  return read_story(text, nullptr, nullptr);
}

std::vector<StoryChoice> bits_at(std::string_view text) {
  std::vector<grammar::Decision> decisions;
  read_story(text, &decisions, nullptr);
  std::vector<StoryChoice> choices;
  choices.reserve(decisions.size());
  for (const grammar::Decision& decision : decisions) {
    choices.push_back({decision.position, decision.bits(), decision.category});
  }
  return choices;
}

std::vector<double> information(std::string_view text) {
  std::vector<double> bits(text.size() + 1, 0.0);
  read_story(text, nullptr, &bits);
  return bits;
}

}  // namespace tapir::app
