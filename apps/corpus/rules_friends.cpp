// Plots about friends: a quarrel, a race, a birthday.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kFriendPlots = R"(
:quarrel
1 {@quarrel_words} {@quarrel_parting} {@quarrel_thought} {@quarrel_peace} {@quarrel_after}

:quarrel_words
4 "It is mine," {=saidcrossly} {hero}. "You would only [2*lend|give|lose] it to {a =traits}, {=traits} {=animals}."
3 "You never share," {=saidcrossly} {friend}. "Not even {=plurals}. Not even {=tastes} {=foods}."
3 {Friend} pulled {=busily}, and {hero} pulled {=busily}, and they both [2*fell|tumbled|rolled] over {a =sizes} {=looks} {=clutter}.

:quarrel_parting
4 {Friend} went home without {a =looks} [2*word|smile|goodbye] and {=felt} {=very} {=crosses}.
3 They turned their backs and [2*counted|looked at|thought of] {=sizes} {=looks} {=plurals}. Each of them {=felt} {=very} {=crosses}.
3 "Then I shall play with {a =traits}, {=traits} {=animals}," {=saidcrossly} {friend}, and {friend.he} went away.

:quarrel_thought
4 "{A thing} cannot [2*laugh at|tell|remember] {a =looks} joke," {=saidsadly} {hero} {=sadly}.
3 "What is worth more, {a thing} or a friend?" asked {elder=kind.elders} {=softly}, and went on {=jobs}.
3 After {=numbers} minutes {he} {=felt} {=sads}. After {=numbers} more {he} {=felt} {=very} {=sads}, and wanted {=foods}.
3 {Hero} tried {thing.using} it alone, but it was {=very} {=sads} work, even with {a =sizes} {=looks} {=clutter}.

:quarrel_peace
4 {=thens} {hero} [2*knocked|tapped|hammered] at {friend}'s door with the {thing}. "I am [2*sorry|so sorry|a goose]," {he} {=saidsadly}. "You can {thing.use} it [2*first|until supper|on {=days}]."
3 There was {a =sizes}, {=looks} knock at the door. It was {friend}, with {a =foods}. "I am [2*sorry|so sorry|a goose]," {friend.he} {=saidsadly}. "So am I."
3 They [2*met|stopped|sat down] by {a =sizes} {=looks} {=clutter}, and both of them {=saidplainly} "sorry" at the same moment.

:quarrel_after
4 They took turns with the {look} {thing} until supper, and both felt {=very} {=glads}.
3 From that day, the {thing} lived with {hero} on {=days} and with {friend} for the rest of the week.
3 For supper they [2*had|shared|ate] {=tastes} {=foods} and {=tastes} {=foods}, and the {thing} had {a =sizes} {=looks} chair of its own.

:race
1 {@race_prize} {@race_start} {@race_fall} {@race_help} {@race_finish}

:race_prize
4 So they {=busily} agreed to race to the {=airs} {place=kind.places}, and the prize was {=tastes} {prize=foods}.
3 "To the {=airs} {place=kind.places}, then," {=saidplainly} {hero} {=softly}, "and the winner gets {a prize=foods}."

:race_start
4 They waited until {a =traits}, {=traits} {who=place.sees} had [2*counted|admired|sold] {=numbers} {=sizes} {=looks} {=plurals}, and off they {=kind.went}.
3 "Ready, steady, go!" cried {a =traits}, {=traits} {who=place.sees}, and {=busily} off they {=kind.went}.
3 Side by side they stood, {=afraids} and {=glads}. {A who=place.sees} {=who.said}, and they ran.

:race_fall
4 {Hero} was ahead by {a =clutter} when {friend} [2*tripped over|fell into|slipped on] {a =looks} {=place.finds}.
3 {Friend} was winning, until {friend.he} [2*tripped over|bumped into|slipped on] {a =sizes} {=looks} {=clutter}.

:race_help
4 {Hero} looked at the {place}, and then at {friend}, and turned back. "You will lose," {=saidsadly} {friend}. "I know," {=saidplainly} {hero} {=softly}.
3 {=thens} {hero} stopped. "Are you hurt?" {he} asked {=softly}. "Only my [2*pride|knee|feelings|lucky {=clutter}]," {=saidsadly} {friend}.

:race_finish
4 They reached the {place} {kind.hand} in {kind.hand}, {=very} {=glads}, and shared the {=tastes} {prize} [2*under|in|beside] {a =looks} tree.
3 By the time they came to the {place}, the {who} had {=busily} won. The {prize} tasted {=tastes} and {=tastes} all the same.

:birthday
1 {@birthday_idea} {@birthday_secret} {@birthday_help} {@birthday_sad} {@birthday_surprise}

:birthday_idea
4 There was no time to lose. "Nobody must know," {=saidplainly} {hero} {=softly}, and {=kept} {a =sizes} {=looks} {=clutter}.
3 What do you give to somebody who already has {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}?
3 {He} {=felt} {=very} {=glads} and {=very} {=afraids}, because {he} had only {a =sizes} {=looks} {=clutter} to [2*give|wrap|offer].

:birthday_secret
4 All {=times} {he} {=busily} made {a =looks} {gift=gifts}, and hid it {hid=kind.nook}.
3 At the {=airs} {place=kind.places} {he} {=busily} {=found} {a =looks} {gift=gifts}, and hid it {hid=kind.nook}.

:birthday_help
4 As for the food, {elder=kind.elders} made {a food=foods}, and {a =traits}, {=traits} {who=creatures} promised to [2*sing|dance|come].
3 With {=numbers} {=looks} candles came {a =traits}, {=traits} {who=creatures}, and {elder=kind.elders} brought {a food=foods}.

:birthday_sad
4 [2*In the morning|The next day|At dawn] {friend} waited {=busily}. "They have all [2*forgotten|gone away|overslept]," {friend.he} {=saidsadly} {=sadly}.
3 The next day they [2*talked about|counted|looked for] {=sizes} {=looks} {=plurals} and {=sizes} {=looks} {=plurals}, but {friend} {=felt} {=very} {=sads}.
3 "Close your eyes," {=saidplainly} {hero} {=softly}, and led {friend.him} by the {kind.hand} past {a =sizes} {=looks} {=clutter}.

:birthday_surprise
4 {=laters} the door flew open. "Surprise!" {=saidgladly} everybody. The {who} [2*sang|danced|hummed] {=softly}, and {hero} fetched the {gift} from where it was, {hid}.
3 And there stood {elder} with the {food}, and the {who}, and {=numbers} {=looks} balloons! The {gift} was still {hid}.
3 When {friend} saw the {gift}, {friend.he} {=felt} so {=glads} that {friend.he} {=busily} forgot to eat the {=tastes} {food}.
)";

}  // namespace tapir::app::grammar
