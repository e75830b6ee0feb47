// How stories begin and end.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kFrameRules = R"(
:story
1 {@opening} {@tastes} {@intro} {@intro} {@when} {@plot} {@closing}

:opening
8 Once upon a time there was {a trait=traits}, {=traits} {kind=kinds} [3*named|2*called] {hero=kind.names}.
6 There was once {a trait=traits} {kind=kinds} [named|2*called] {hero=kind.names} who lived in {a =looks} {home=kind.home} {where=dwellings} with {a =traits} {=animals}.
4 {=long_ago} {a trait=traits} {kind=kinds} [named|called] {hero=kind.names} lived in {a =looks} {home=kind.home} {where=dwellings} with {=numbers} {=looks} {=plurals}.
3 This is the story of {a trait=traits}, {=traits} {kind=kinds} [named|called] {hero=kind.names}[3*.|, and most of it is true.]
2 In the [2*days|year] when {=plurals} were [money|magic|smaller|{=looks} all over] there lived {a trait=traits} {kind=kinds} called {hero=kind.names}.

# What the hero likes.
:tastes
9 {He} {=liked} {=foods}, {=looks} {=plurals} and {=looks} {=plurals}, but {=hated} {=looks} {=plurals}.
3 ?!home {His} home was {a =looks} {home=kind.home} {where=dwellings}, full of {=looks} {=plurals} and {=looks} {=plurals}.
3 ?home The {home} was full of {=looks} {=plurals}, {=looks} {=plurals} and {=tastes} {=foods}.
3 {His} pockets were always full of {=plurals}, {=looks} {=plurals} and {=foods}.
3 Most people [2*thought|said] {he} was {=very} {=traits}, because {he} {=collected} {=looks} {=plurals}.

# Called twice: the thing and the friend are introduced in either order.
:intro
8 ?!thing {He} had {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, and {he} {=liked} {thing.using} it {=often}.
4 ?!thing {He} owned {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, which {he} kept {=kind.nook} between {a =looks} {=clutter} and {a =looks} {=clutter}.
5 ?!thing {His} favourite thing in the [2*world|house|whole world] was {a size=sizes} {look=looks} {thing=things} with {part=thing.part}.
3 ?!thing For {his} birthday {he} had been given {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, {a =looks} {=clutter} and {=numbers} {=looks} {=plurals}.
3 ?!thing Wherever {he} went, {he} [2*took|carried] {a size=sizes} {look=looks} {thing=things} with {part=thing.part} and {a =sizes} {=looks} {=clutter}.
2 ?!thing On a shelf, next to {a =looks} {=clutter}, {he} kept {a size=sizes} {look=looks} {thing=things} with {part=thing.part}, and nobody else was allowed to {thing.use} it.
8 ?!friend ?kind.child {His} best friend was {friend=kind.friends}, {a =traits} {friend.young} who lived {=kind.near} and {=collected} {=looks} {=plurals}.
8 ?!friend ?!kind.child {His} best friend was {friend=kind.friends}, {a =traits} {fkind=beasts} who lived {=kind.near} and {=collected} {=looks} {=plurals}.
4 ?!friend ?kind.child Most days {he} played with {friend=kind.friends}, {a =traits}, {=traits} {friend.young} who lived {=kind.near}.
4 ?!friend ?!kind.child Most days {he} played with {friend=kind.friends}, {a =traits}, {=traits} {fkind=beasts} who lived {=kind.near}.
3 ?!friend Nobody knew {him} better than {friend=kind.friends}, who {=collected} {=looks} {=plurals} and was as {=traits} as {hero} was {trait}.

:when
8 One {=moods}, {weather=weathers} {time=times},
5 On {a =moods}, {weather=weathers} {day=days},
3 Late one {=moods} {=seasons} {time=times},
3 Early on {day=days}, after {a =tastes} breakfast of {=foods} and {=foods},
2 It happened on {a =moods} {weather=weathers} {day=days} that

:plot
5 {hero} could not find the {look} {thing}. {@lost}
3 {hero} noticed that the {look} {thing} was [2*gone|missing]. {@lost}
8 {hero} decided to make {a craft=crafts}. {@make}
8 {hero} set off to visit {elder=kind.elders}. {@visit}
8 {friend} wanted to {thing.use} the {look} {thing}, but {hero} said no. {@quarrel}
8 {hero} was on the way to the {place=kind.places} when {he} heard {a =looks} noise. {@help}
8 {friend} said, "I can run faster than {a =traits} {=animals}." {@race}
8 {hero} made up {his} mind to learn to {skill=skills}. {@skill}
8 {hero} remembered that the next day was {friend}'s birthday. {@birthday}
7 {hero} wanted to grow {a plant=plants}. {@garden}
8 {hero} and {friend} went to the {place=kind.places}. {@storm}
8 {hero} bumped into {elder=kind.elders}'s {look2=looks} {pot=breakables}. {@broken}
7 {hero} went to bed early. {@night}
7 {hero} promised to take a parcel to {elder=kind.elders}. {@parcel}
7 {hero} was tired of the {look} {thing}. {@swap}

# The last sentence names the hero.
:closing
6 ?!noise That night {hero} [2*slept|fell asleep] {=soundly}[2*.| and dreamed of {=looks} {=plurals}.| with {a =looks} {=clutter} under the pillow.]
6 ?noise After that {hero} [2*slept|fell asleep] {=soundly}[2*.| and dreamed of {=looks} {=plurals}.| with {a =looks} {=clutter} under the pillow.]
5 ?noise And {hero} went back to bed feeling {=very} {=glads} and {=very} {=glads}.
5 ?!noise And {hero} went to bed feeling {=very} {=glads} and {=very} {=glads}.
4 {Hero} had never been so {=glads} in all {his} {=traits} life.
3 "[What {a =goods} day|I think that went very well|Now I would like some {=foods}|Let us never tell the {=animals}]," {=saidgladly} {hero}.
3 ?place ?weather And if you go to the {place} on {a weather} day, you may [2*still|well] meet {hero} there, {thing.using} the {thing}.
3 From then on, {hero} and {friend} [2*were better friends than ever|shared all their {=plurals}|told the story to every {=animals} they met].
2 It had been, [2*thought|decided] {hero}, {a =goods} and {=goods} day.
)";

}  // namespace tapir::app::grammar
