// How stories begin and end.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kFrameRules = R"(
:story
1 {@opening} {@tastes} {@intro} {@intro} {@when} {@plot} {@closing}

:opening
6 Once there [2*was|lived] {a trait=traits}, {=traits}, {=traits} {kind=kinds} [3*named|2*called] {hero=kind.names}.
5 Once upon a time there [2*was|lived] {a trait=traits}, {=traits}, {=traits} {kind=kinds} [3*named|2*called] {hero=kind.names}.
5 There [2*was|lived] once {a trait=traits}, {=traits} {kind=kinds} [named|2*called] {hero=kind.names} who {=lived} in {a =sizes} {=looks} {home=kind.home} {where=dwellings} with {a =traits}, {=traits} {=animals}.
4 {=long_ago} {a trait=traits}, {=traits} {kind=kinds} [named|called] {hero=kind.names} [2*lived in|owned|looked after|moved into] {a =sizes} {=looks} {home=kind.home} {where=dwellings} with {=numbers} {=sizes} {=looks} {=plurals}.
3 This is [2*the story of|a story about|what happened to] {a trait=traits}, {=traits}, {=traits} {kind=kinds} [named|called] {hero=kind.names}.
2 In the [2*days|year] when {=plurals} were [money|magic|smaller|{=looks} all over] there [was|2*lived] {a trait=traits} {kind=kinds} called {hero=kind.names}.

# What the hero likes.
:tastes
9 {He} {=liked} {=foods}, {=sizes} {=looks} {=plurals}, {=sizes} {=looks} {=plurals} and {=sizes} {=looks} {=plurals}.
4 Unlike {his} [2*mother|uncle|teacher|grandmother], {he} {=liked} {=foods} and {=sizes} {=looks} {=plurals}, but {=hated} {=sizes} {=looks} {=plurals}.
3 ?!home {His} home was {a =sizes} {=looks} {home=kind.home} {where=dwellings}, full of {=plurals}, {=sizes} {=looks} {=plurals} and {=sizes} {=looks} {=plurals}.
3 ?home The {home} was [2*full of|famous for|furnished with|painted with] {=sizes} {=looks} {=plurals}, {=sizes} {=looks} {=plurals} and {=tastes} {=foods}.
4 All {his} [2*pockets|shelves|drawers|dreams|letters] were [2*always|usually|often|mostly|sometimes] full of {=plurals}, {=sizes} {=looks} {=plurals} and {=foods}.
3 [2*Most people|The neighbours|Strangers|Visitors] [2*thought|said|believed|agreed that] {he} was {=very} {=traits}, because {he} {=collected} {=sizes} {=looks} {=plurals}.

# Called twice: the thing and the friend are introduced in either order.
:intro
8 ?!thing {He} had {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}.
4 ?!thing Every day {he} played with {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, and {he} {=liked} {thing.using} it {=often}.
4 ?!thing {He} owned {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, which {he} {=kept} {=kind.nook} between {a =sizes} {=looks} {=clutter} and {a =sizes} {=looks} {=clutter}.
5 ?!thing The [2*dearest|finest|strangest|most useful] of {his} [2*things|treasures|possessions] was {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, [a present|a gift|a prize] from {giver=kind.elders}.
3 ?!thing For {his} birthday {he} had been given {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}.
3 ?!thing Wherever {he} went, {he} [3*took|2*carried|brought|dragged] {a size=sizes} {look=looks} {thing=things} with {part=thing.part} and {a =sizes} {=looks} {=clutter}.
2 ?!thing [2*On a shelf|In a cupboard|Behind the stove], next to {a =sizes} {=looks} {=clutter}, {he} {=kept} {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, and nobody else was allowed to {thing.use} it.
8 ?!friend ?kind.child {His} {=best} friend was {friend=kind.friends}, {a =traits}, {=traits}, {=traits} {friend.young} who {=lived} {=kind.near} and {=collected} {=sizes} {=looks} {=plurals}.
8 ?!friend ?!kind.child {His} {=best} friend was {friend=kind.friends}, {a =traits}, {=traits}, {=traits} {fkind=beasts} who {=lived} {=kind.near} and {=collected} {=sizes} {=looks} {=plurals}.
4 ?!friend ?kind.child Most [2*days|evenings|mornings] {he} [2*played|talked|danced|argued|sang] with {friend=kind.friends}, {a =traits}, {=traits}, {=traits} {friend.young} who {=lived} {=kind.near}.
4 ?!friend ?!kind.child Most [2*days|evenings|mornings] {he} [2*played|talked|danced|argued|sang] with {friend=kind.friends}, {a =traits}, {=traits}, {=traits} {fkind=beasts} who {=lived} {=kind.near}.
3 ?!friend Nobody [2*knew {him} better|liked {him} more|laughed at {him} more] than {friend=kind.friends}, who {=collected} {=sizes} {=looks} {=plurals} and was as {=traits} as {hero} was {trait}.

:when
8 One {=moods}, {weather=weathers} {time=times},
5 On {a =moods}, {weather=weathers} {day=days},
3 Late one {=moods} {=seasons} {time=times},
3 Early on {day=days}, after {a =tastes} [2*breakfast|meal|feast] of {=foods} and {=foods},
2 It happened on {a =moods} {weather=weathers} {day=days} that

:plot
5 {hero} could not [2*find|remember where to look for] the {look} {thing}. {@lost}
3 {hero} noticed that the {look} {thing} was [2*gone|missing]. {@lost}
8 {hero} decided [2*to make|to invent|to give {friend}] {a craft=crafts}. {@make}
8 {hero} set off to visit {elder=kind.elders}. {@visit}
8 {friend} wanted to {thing.use} the {look} {thing}, but {hero} said no. {@quarrel}
8 {hero} was on the way to the {place=kind.places} when {he} heard {a =looks} [2*noise|voice|sound|whisper]. {@help}
8 {friend} said, "I can run faster than {a =traits}, {=traits} {=animals}." {@race}
8 {hero} made up {his} mind to learn to {skill=skills}. {@skill}
8 {hero} remembered that the next day was {friend}'s birthday. {@birthday}
7 {hero} wanted to grow {a plant=plants}. {@garden}
8 {hero} and {friend} went to the {place=kind.places}. {@storm}
8 {hero} bumped into {elder=kind.elders}'s {look2=looks} {pot=breakables}. {@broken}
7 {hero} went to bed [2*early|late|hungry|in a hat|with {a =clutter}]. {@night}
7 {hero} promised to take a parcel to {elder=kind.elders}. {@parcel}
7 {hero} was tired of the {look} {thing}. {@swap}

# The last sentence names the hero.
:closing
6 ?!noise That night {hero} [2*slept|fell asleep] {=soundly}[2*.| and dreamed of {=sizes} {=looks} {=plurals}.| with {a =sizes} {=looks} {=clutter} under the pillow.]
6 ?noise After that {hero} [2*slept|fell asleep] {=soundly}[2*.| and dreamed of {=sizes} {=looks} {=plurals}.| with {a =sizes} {=looks} {=clutter} under the pillow.]
5 ?noise And {hero} [2*went|crept|ran|marched] back to bed feeling {=very} {=glads} and {=very} {=glads}.
5 ?!noise And {hero} [2*went|ran|skipped|danced] to bed feeling {=very} {=glads} and {=very} {=glads}.
4 {Hero} had never been so {=glads} in all {his} {=traits} life.
3 "[What {a =goods} day|I think that went very well|Now I would like some {=foods}|Let us never tell the {=animals}]," {=saidgladly} {hero}.
3 ?place ?weather And if you go to the {place} on {a weather} day, you may [2*still|well] meet {hero} there, {thing.using} the {thing}.
3 From then on, {hero} and {friend} [2*were better friends than ever|shared all their {=plurals}|told the story to every {=animals} they met].
2 It had been, [2*thought|decided] {hero}, {a =goods} and {=goods} day.
)";

}  // namespace tapir::app::grammar
