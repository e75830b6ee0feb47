// The words and rules of the built-in stories, in the notation of table_reader.h and rule_reader.h.
#pragma once

#include <string_view>

namespace tapir::app::grammar {

extern const std::string_view kPeopleTables;
extern const std::string_view kWordTables;
extern const std::string_view kThingTables;
extern const std::string_view kPlaceTables;
extern const std::string_view kPlotTables;

extern const std::string_view kFrameRules;
extern const std::string_view kSearchPlots;
extern const std::string_view kWorkPlots;
extern const std::string_view kFriendPlots;
extern const std::string_view kJourneyPlots;

}  // namespace tapir::app::grammar
