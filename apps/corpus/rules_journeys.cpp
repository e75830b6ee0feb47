// Plots about going somewhere: a visit, somebody in trouble, a storm.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kJourneyPlots = R"(
:visit
1 {@visit_gift} {@visit_way} {@visit_question} {@visit_arrival} {@visit_tea} {@visit_home}

:visit_gift
4 {He} {=busily} [2*packed|took|wrapped] {a gift=gifts} as a present, {=numbers} {=sizes} {=looks} {=plurals}, and the {thing} for company.
3 In {a =sizes} {=looks} basket {he} carried {a gift=foods}, because {elder} never had enough of {gift.them}.
3 Under {his} arm {he} carried {a =looks} {gift=gifts} and {a =sizes} {=looks} {=clutter}.

:visit_way
4 The way went past the {=airs} {place=kind.places}, where {a =traits}, {=traits} {who=place.sees} {=who.moved} [2*up|by].
3 {He} {=kind.went} {=busily} as far as the {=airs} {place=kind.places}, where {he} {=met} {a =traits}, {=traits} {who=place.sees}.

:visit_question
4 "Where are you going?" {=who.said} the {who}. "To see {elder}," {=saidplainly} {hero} {=softly}, "with {a gift}."
3 "What have you got there?" {=who.said} the {who}. "{A gift}," {=saidplainly} {hero} {=softly}, "and it is not for you."
3 {He} stayed to look for {=sizes} {=looks} {=plurals} and {=sizes} {=looks} {=plurals}, and nearly [2*forgot|lost|swapped] the {gift}.

:visit_arrival
4 When {he} arrived, {elder} was {=busily} {job=jobs}. "{A gift}!" {elder.he} {=saidgladly}. "Just what I needed for {job}."
3 {Elder} had opened the {=looks} door already. "How {=virtues} of you!" {elder.he} {=saidgladly}. "I have not had {a gift} since {=seasons}."

:visit_tea
4 They had {=tastes} {=foods} and {=tastes} {=foods}, and {elder} [2*told a story|sang a song|made up a poem] about {a =traits}, {=traits} {=monsters}.
3 {=thens} they {=looked} {=kind.nook}, where there was {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}.

:visit_home
4 On the way back, the {who} was [2*asleep|waiting|dancing] at the {place}, so {hero} {=kind.went} past {=busily}.
3 It was getting [2*dark|late|cold], so {elder} came along as far as the {place}, and {=busily} waved {a =sizes} {=looks} {=clutter}.

:help
1 {@help_who} {@help_plea} {@help_doubt} {@help_deed} {@help_return}

:help_who
4 Somebody was {trouble=troubles}! It was {a =traits}, {=traits} {who=trouble.who}.
3 There, {trouble=troubles}, between {=sizes} {=looks} {=plurals} and {=sizes} {=looks} {=plurals}, was {a =traits}, {=traits} {who=trouble.who}.

:help_plea
4 "Please help me," {=who.said} the {who} {=softly}. "I have been here since [2*breakfast|yesterday|the last {=weathers} {=times}]."
3 "I am perfectly all right," {=who.said} the {who} {=softly}, which was not true.
3 "Go away," {=who.said} the {who}. "No, wait. Have you got {=tastes} {=foods}?"

:help_doubt
4 {Hero} {=felt} {=very} {=afraids} and {=very} {=afraids}, but [2*somebody had to do something|it was too late to run|there was nobody else].
3 {=thens} {hero} fetched {friend}, who always had {a =sizes} {=looks} {=clutter} and some {=sizes} {=looks} {=plurals}.{helper:=friend}
2 {He} was not as {=traits} as {a =animals}, but {he} had {a =looks} [2*plan|hat|idea].

:help_deed
5 ?!helper {=thens} {he} {=busily} {=trouble.remedy}.
5 ?helper Together they {=busily} {=trouble.remedy}.
+3 It took {=numbers} tries, {a =sizes} {=looks} {=clutter} and {a =sizes} {=looks} {=clutter}.

:help_return
4 [2*A week|Two days|A month|A year] later {hero} lost the {look} {thing}, and who should {=busily} bring it back but the {who}!
3 The next {=times} there was {a =looks} {gift=gifts} on the doorstep. "From the one who was {trouble}," said {a =looks} note.
3 And whenever {hero} came to the {=airs} {place} after that, the {who} {=who.moved} up with {a =sizes} {=looks} {=clutter}.
3 "Thank you!" {=who.said} the {who}, and {=felt} so {=glads} that it {=who.moved} [2*round|over|under] {a =sizes} {=looks} {=clutter}.

:storm
1 {@storm_play} {@storm_begin} {@storm_shelter} {@storm_wait} {@storm_end}

:storm_play
4 They were {=busily} {=place.doing} when the sky turned as {=looks} as {a =traits}, {=traits} {=animals}.
3 It was {=airs} and {=airs} there, and they began {=place.doing}. Nobody [2*saw|minded|counted] the {=looks} clouds.

:storm_begin
4 All at once the rain [2*came down|fell|drummed] like {=sizes} {=looks} {=plurals}. "{=ohdears}!" {=saidplainly} {friend}.
3 There was {a =sizes}, {=looks} flash, and the rain began. After {=numbers} drops nobody could count any more.

:storm_shelter
4 {=thens} they hid {spot=place.spots}, where they [2*met|found|saw] {a =traits}, {=traits} {who=place.sees}.
3 They {=busily} {=found} a dry place {spot=place.spots}. {A =traits} {who=place.sees} came too, with {a =sizes} {=looks} {=clutter}.

:storm_wait
4 To pass the time {friend} [2*told a story|sang a song|had a dream] about {a =traits}, {=traits} {=monsters}, {a =traits}, {=traits} {=monsters} and {a =sizes} {=looks} {=clutter}.
3 {Hero} {=felt} {=very} {=afraids}, so {friend} {=softly} [2*held|squeezed|patted] {his} {kind.hand}.
3 They shared {=tastes} {=foods} and {=numbers} {=sizes} {=looks} {=plurals} with the {who}.

:storm_end
4 {=laters} the sun came out, and {a =sizes}, {=looks} rainbow [2*stood|hung|shone] over the {place}. The {thing} was wet through, so they hung it up to dry {spot}.
3 When it was over, the whole {place} [2*smelled of|looked like|was covered in] {=foods} and {=sizes} {=looks} {=plurals}. They [2*jumped|danced|splashed] in {=numbers} puddles, and the {who} came too.
3 "You are very wet," {=saidplainly} {elder=kind.elders} {=softly}, and gave them {=tastes} {=foods} and {a =sizes} {=looks} {=clutter}.
)";

}  // namespace tapir::app::grammar
