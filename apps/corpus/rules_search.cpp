// Plots about finding out: a lost thing, a noise in the night, a parcel, a chain of swaps.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kSearchPlots = R"(
:lost
1 {@lost_indoors} {@lost_outdoors} {@lost_clue} {@lost_found} {@lost_after}

:lost_indoors
5 {He} {=looked} {=kind.nook} and {=found} {a =sizes} {=looks} {=clutter}, {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}.
3 {His} [2*pockets|drawers|boots] held {a junk=clutter}, {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}, but no {thing}.
3 {Hero} {=felt} {=very} {=sads}. "{=ohdears}!" {he} {=saidsadly}. "It cannot have [2*walked|flown|crawled] away like {a =traits}, {=traits} {=animals}."
3 "I will help," {=saidplainly} {friend} {=softly}, and {=looked} {=kind.nook}, but {=found} only {a =sizes} {=looks} {=clutter}.

:lost_outdoors
5 {=thens} {he} {=kind.went} {=busily} to the {=airs} {place=kind.places}, because {he} had been {=place.doing} there on {=days}[2*.| and lost {a =clutter}.]
3 {Hero} asked [2*the way|{=numbers} people the way] to the {=airs} {place=kind.places}, where {friend} was {=place.doing} with {a =traits}, {=traits} {=animals}.
3 Full of {=foods}, {hero} and {friend} {=kind.went} to the {=airs} {place=kind.places}.

:lost_clue
5 [2*Up|Along|Out|By] came {a =traits}, {=traits} {who=place.sees}. "Does it have {part}?" it {=who.said} {=softly}. "Then look {spot=place.spots}."
4 "Have you seen {a look} {thing}?" {he} [2*asked|begged] {a =traits}, {=traits} {who=place.sees}. "[2*Perhaps|Maybe|Certainly]," it {=who.said}. "Look {spot=place.spots}."
3 Something {look} was [2*shining|sticking out|lying|hiding|waiting] {spot=place.spots}, between {a =looks} {=place.finds} and {a =sizes} {=looks} {=clutter}.

:lost_found
4 {=thens} {hero} {=looked} {spot}, and there [2*was|lay|stood] at last the {thing} with {part}!
4 There, {spot}, under {a =sizes} {=looks} {=clutter}, [2*lay|waited|was] the {look} {thing}.
3 And [2*sure enough|believe it or not], {spot} {he} {=found} the {look} {thing}, {part} and all.

:lost_after
4 "{=hoorays}!" {=saidgladly} {hero}, and {=hugged} it {=busily}.
3 ?who As a thank-you, {hero} gave the {who} {a =foods} and {=numbers} {=sizes} {=looks} {=plurals}.
3 The wind must have [2*carried|blown] it there, or perhaps {a =traits}, {=traits} {=animals} [2*had|wanted to try it|liked {part}].

:night
1 {@night_noise} {@night_fear} {@night_courage} {@night_cause} {@night_after}

:night_noise
4 [2*In the middle of the night|At midnight|Just before dawn] {he} heard {a =sizes} {=looks} noise: {noise=noises}.
3 {He} [2*was dreaming of|had just counted|was half asleep among] {=sizes} {=looks} {=plurals} and {=sizes} {=looks} {=plurals} when it began: {noise=noises}.

:night_fear
4 {He} {=felt} so {=afraids} that {he} [2*hid|sat|lay] under the blanket with {a =sizes} {=looks} {=clutter} and counted {=sizes} {=looks} {=plurals}.
3 "It is {a =traits}, {=traits} {=monsters} with {=sizes} {=looks} {=plurals}," {=saidsadly} {hero} {=sadly}.
3 {Hero} thought of {a =looks} {monster=monsters}, and then of {a =traits}, {=traits} {=monsters}, which was worse.

:night_courage
4 {He} took the {look} {thing} for courage and {=busily} {=crept} past {a =sizes} {=looks} {=clutter} to the [2*door|window].
3 {He} called {elder=kind.elders}, who [2*came|ran|rolled] {=busily} in with {a =looks} candle and {a =sizes} {=looks} {=clutter}.
3 There it was again: {noise}. With the {thing} and {a =sizes} {=looks} {=clutter}, {he} [2*went|crept|marched] to see.

:night_cause
4 It was not {a =traits}, {=traits} {=monsters}. It was only {noise.cause}.
3 And what do you think it was? It was {noise.cause}.
2 There was no {=looks} {=monsters} there. It was {noise.cause}.

:night_after
3 {Hero} {=laughed} {=softly} and {=felt} {=very} {=glads}.
3 ?elder "We all [2*hear|see|dream of] {=looks} things in the dark," {=saidplainly} {elder} {=softly}, and made {=tastes} {=foods}.
3 The next day {he} told {friend}, who {=saidplainly}, "I would have been more {=afraids} than {a =traits}, {=traits} {=animals}."
2 "Good night, noise," {=saidplainly} {hero} {=softly}, and [2*ate|counted|dreamed of] {=numbers} {=tastes} biscuits.

:parcel
1 {@parcel_warning} {@parcel_way} {@parcel_guess} {@parcel_arrival} {@parcel_inside}

:parcel_warning
4 "Do not [2*drop|open|shake|sit on] it," {=saidplainly} {friend} {=softly}. It was {=looks} and {=looks}, and it [2*rattled|smelled|jingled] like {=plurals}.
3 It was {a =sizes}, {=looks} parcel, [2*tied|wrapped] with {a =looks} [2*ribbon|string|scarf], and it [2*smelled of|felt like] {=foods}.
3 It weighed as much as {a =traits}, {=traits} {=animals} or {=numbers} {=sizes} {=looks} {=plurals}.

:parcel_way
4 {He} {=kind.went} {=busily} past the {=airs} {place=kind.places}, and there {he} {=met} {a =traits}, {=traits} {who=place.sees}.
3 At the {=airs} {place=kind.places}, where {he} stopped for {=tastes} {=foods}, {he} {=met} {a =traits}, {=traits} {who=place.sees}.

:parcel_guess
4 "Is it {a =looks} {guess=gifts}?" {=who.said} the {who}. "It might be {a =sizes} {=looks} {=clutter}," {=saidplainly} {hero}, "or {a =foods}."
3 "What is [2*in it|that|inside]?" {=who.said} the {who} {=softly}. "It is not mine," {=saidplainly} {hero}, "so I must not [2*look|know|ask]."
2 "You could open {a =looks} corner," {=who.said} the {who}. {=thens} {hero} {=busily} {=kept} it behind {a =sizes} {=looks} {=clutter}.

:parcel_arrival
4 {Elder} was {=busily} {=jobs}. "{=hoorays}!" {elder.he} {=saidgladly}.
3 When {hero} [2*arrived|knocked] at last, {elder} was {=busily} {=jobs}.

:parcel_inside
4 {=laters} {elder} [2*cut|untied|bit through] the string. Inside was {a =looks} {present=gifts}, and a card: "For {hero}, who keeps promises."
3 In the parcel [2*was|lay] {a =looks} {present=gifts} and {a =foods}. "Half of it is for you," {=saidplainly} {elder} {=softly}.
3 It was {a =looks} {present=gifts}. "The {who} can look now," {=saidgladly} {elder}, and everybody {=felt} {=very} {=glads}.

:swap
1 {@swap_first} {@swap_second} {@swap_third} {@swap_missing} {@swap_back}

:swap_first
4 At the {=airs} {place=kind.places} {he} swapped it with {a =traits}, {=traits} {who=place.sees} for {a one=gifts} and {=numbers} {=sizes} {=looks} {=plurals}.
3 {He} {=met} {a =traits}, {=traits} {who=creatures} and {=busily} [2*gave|swapped] it away for {a one=gifts}.

:swap_second
4 {=thens} {he} swapped the {one} with {elder=kind.elders} for {a two=gifts} and {=numbers} {=sizes} {=looks} {=plurals}.
3 But the {one} [2*was|looked|smelled] too {=looks}, and {elder=kind.elders} had {a two=gifts}, so {he} swapped again.

:swap_third
4 {Friend} {=liked} the {two} and gave {him} {a food=foods} for it. {Food.it} tasted {=very} {=tastes}.
3 {=thens} the {two} went to {friend}, who paid with {=numbers} {=sizes} {=looks} {=plurals} and {a food=foods}. {Hero} ate {food.them} {=busily}.

:swap_missing
4 {=thens} {he} [2*began|started] to miss the {thing}, and {=felt} {=very} {=sads}, and a little {=crosses}.
3 "I want my {look} {thing} back," {=saidsadly} {hero} {=sadly}. "[2*I miss {part}.|It was the best thing I had.]"

:swap_back
4 So {friend} gave the {two} back to {elder}, and {elder} gave the {one} back to the {who}, and the {who} {=who.moved} up with the {look} {thing}.
3 That meant going {=busily} from {friend} to {elder} with the {two}, and from {elder} to the {who} with the {one}. But there it was: the {look} {thing}!
)";

}  // namespace tapir::app::grammar
