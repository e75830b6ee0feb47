#include "apps/corpus/grammar.h"
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const Grammar& story_grammar() {
  static const Grammar grammar(
      {kWordTables, kPeopleTables, kThingTables, kPlaceTables, kPlotTables},
      {kFrameRules, kSearchPlots, kWorkPlots, kFriendPlots, kJourneyPlots});
  return grammar;
}

}  // namespace tapir::app::grammar
