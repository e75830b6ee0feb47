// Plots about doing: making something, learning something, growing something, mending something.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kWorkPlots = R"(
:make
1 {@make_parts} {@make_work} {@make_mishap} {@make_comfort} {@make_end}

:make_parts
4 All {he} [2*needed|wanted|asked for] was {craft.from}, {=numbers} {=sizes} {=looks} {=plurals}, and {a =sizes} {=looks} {=clutter} for luck.
3 {=thens} {he} {=fetched} {craft.from}, {a =sizes} {=looks} {=clutter} and {=numbers} {=sizes} {=looks} {=plurals}.
3 "That will [never work|end in tears|take all week]," {=saidplainly} {elder=kind.elders}, who was {=busily} {=jobs}.
2 {His} plan was on the back of {a =sizes} {=looks} {=clutter}. It said: {craft.from}, and {=numbers} {=sizes} {=looks} {=plurals}.

:make_work
4 [2*All day|All night|For hours] {hero} {=busily} {craft.did}.
3 {Friend} came to [2*help|watch|argue] with {a =sizes} {=looks} {=clutter}, and together they {=busily} {craft.did}.

:make_mishap
4 But [2*then|suddenly|at teatime] {craft.oops}. "{=ohdears}!" {=saidsadly} {hero}.
3 Everything went {=well} until {craft.oops}.

:make_comfort
4 {He} {=felt} {=very} {=sads}. "[2*Try again|Never mind|It only needs {a =clutter} or two]," {=saidplainly} {friend}. So they {=busily} {craft.fix}.
3 {Hero} {=felt} so {=crosses} that {he} {=kicked} {a =sizes} {=looks} {=clutter}. {=thens} {he} {craft.fix}.
3 {=thens} {he} had {a =looks} [2*idea|thought|plan], and {=busily} {craft.fix}.

:make_end
4 The {craft} was a little {=flaws}, but it {craft.end}.
3 In the end it {craft.end}, and everybody {=felt} {=very} {=glads}.
3 [2*Everybody|Half the world] came to [2*see|admire|try] it: {a =traits} {one=creatures}, {a =looks} {two=creatures} and {=numbers} {=sizes} {=looks} {=plurals}. It {craft.end}.

:skill
1 {@skill_fail} {@skill_feeling} {@skill_tip} {@skill_practice} {@skill_win}

:skill_fail
4 The first time, {he} {=busily} {skill.fail}.
3 {=thens} {he} tried it at the {=airs} {place=kind.places}, next to {a =traits}, {=traits} {=animals}, and {skill.fail}.
3 {He} watched {friend} do it {=busily} and {=busily}. Then {he} tried, and {skill.fail}.

:skill_feeling
4 "I shall never be any good at {skill.doing}," {=saidsadly} {hero}, and {=felt} {=very} {=sads}.
3 {He} {=felt} {=crosses} and {=kicked} {a =sizes} {=looks} {=clutter}, which did not [2*help|mind|notice].
3 Somebody {=laughed}. It was {a =traits}, {=traits} {=creatures}, and {hero} {=felt} {=very} {=sads}.

:skill_tip
4 Not far away, {elder=kind.elders} was {=busily} {=jobs}. "{Skill.tip}," {elder.he} {=saidplainly} {=softly}.
4 "Who [2*taught|helped|told] you?" asked {elder=kind.elders} {=softly}. "Nobody," {=saidsadly} {hero}. "Then listen: {skill.tip}."

:skill_practice
4 So for {=numbers} {=weathers} days and {=numbers} {=weathers} nights {hero} {=busily} {skill.practice}.
3 Day after {=weathers} day {he} {skill.practice}, and {friend} [2*brought {=foods}.|counted the {=plurals}.|held the {thing}.]

:skill_win
4 {=thens} {he} took {a =sizes} [2*breath|step|sip of {=foods}] and {skill.win}! "{=hoorays}!" {=saidgladly} {friend}. "Will you teach me to {skill}?"
3 And on {a =weathers} {=days} {he} {skill.win}. They had {=tastes} {=foods} to [2*celebrate|remember it|share].
3 The next {=times} {he} {skill.win}, and {elder} [2*clapped|cheered|danced] so {=busily} that {a =sizes} {=looks} {=clutter} [2*fell down|broke|woke up].

:garden
1 {@garden_plant} {@garden_wait} {@garden_sprout} {@garden_visitor} {@garden_share}

:garden_plant
4 {He} {=busily} pushed {a plant.seed} into the earth, between {a =sizes} {=looks} {=clutter} and some {=sizes} {=looks} {=plurals}.
3 From {elder=kind.elders} {he} got {a plant.seed}, and {he} planted it in {a =sizes}, {=looks} {=pots}.

:garden_wait
4 Every {=weathers} {=times} {he} [2*told it about {=sizes} {=looks} {=plurals}|sang to it {=softly}|read to it {=softly}], but [2*nothing happened|it did not stir|it slept on].
3 "It is asleep," {=saidplainly} {friend} {=softly}. "No, it is {=traits}," {=saidplainly} {hero}, who {=felt} {=very} {=sads}.
3 ?!elder "How long does it take?" {he} asked {elder=kind.elders}, who was {=busily} {=jobs}. "Longer than {a =animals}."
2 {He} put the {look} {thing} next to it, and {a =sizes} {=looks} {=clutter}, so that it would not be {=sads}.

:garden_sprout
4 {=thens} {he} saw {plant.sprout}, no bigger than {a =sizes} {=looks} {=clutter}!
3 And one {=weathers} {=times}, after {=numbers} {=weathers} days, {he} saw {plant.sprout}.

:garden_visitor
4 One day {a =traits}, {=traits} {who=creatures} came to [2*nibble|sniff|sing] at it, but {hero} gave it {a =foods} and they became friends.
3 It was too {=looks}, {=saidplainly} {a =traits}, {=traits} {who=creatures} that {=who.moved} past.
3 To keep it safe, {friend} {=busily} built a fence of {=sizes} {=looks} {=plurals}, and {a =traits}, {=traits} {who=creatures} kept watch.

:garden_share
4 By {=seasons} it was {plant.grew}. They had {plant.dish}, and {=tastes} {=foods} for {friend} and the {who}.
3 It grew {=busily}, until it was {plant.grew}. Even the {who} {=felt} {=very} {=glads}.

:broken
1 {@broken_crash} {@broken_hide} {@broken_question} {@broken_truth} {@broken_mended}

:broken_crash
4 Crash! Now there were {pieces=numbers} {=looks} pieces and {a =sizes}, {=looks} [2*silence|smell|echo].
3 It [2*wobbled|spun|hummed] {=busily}, and it fell over {a =sizes} {=looks} {=clutter}, and it broke into {pieces=numbers} {=looks} pieces.

:broken_hide
4 Nobody had seen it but {a =traits}, {=traits} {=animals}. {Hero} {=busily} [2*hid|stowed|buried] the pieces {hid=kind.nook}.
3 {He} {=busily} [2*pushed|swept|kicked] the pieces {hid=kind.nook}, behind {a =sizes} {=looks} {=clutter}.

:broken_question
4 "Where is my {pot}?" {elder} asked {=softly}. "Perhaps {a =looks} {=animals} took it," {=saidsadly} {hero}.
3 "What is the matter?" asked {friend} {=softly}. "Nothing," {=saidsadly} {hero}, who {=felt} {=very} {=sads}.
3 The {=tastes} {=foods} tasted of {=sizes} {=looks} {=plurals}, and {he} could hear the {pieces} pieces [2*rattling|whispering|sighing] {hid}.

:broken_truth
4 {=thens} {he} showed {elder} what was {hid}. "It was me," {he} {=saidsadly} {=sadly}.
3 {Hero} could not bear it. "I broke the {look2} {pot}," {he} {=saidsadly} {=sadly}, "and I hid it {hid}."

:broken_mended
4 {Elder} was quiet for {=numbers} breaths. "Thank you for telling me," {elder.he} {=saidplainly} {=softly}, and they {=busily} [2*mended|glued|painted] it.
3 "I know," {=saidplainly} {elder} {=softly}. "I have been looking {hid} since {=days}." Then they {=busily} filled it with {=sizes} {=looks} {=plurals}.
3 {Elder} was not {=crosses} at all. "A {pot} can be glued," {elder.he} {=saidplainly} {=softly}. "A lie cannot."
)";

}  // namespace tapir::app::grammar
