// What the single plots need: things to make, to learn, to grow and to put right. Last of all the
// kinds of hero, since their attributes are lists of the other tables.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kPlotTables = R"(
@table crafts 8 craft : from did oops fix end
cake | flour and six eggs | beat the batter until both arms ached | it sank in the middle like a tired balloon | filled the hole with cream | tasted like a birthday
raft | three planks and a rope | tied knot after knot | one corner began to sink | tied two barrels underneath | floated as well as any duck
~soup | every vegetable in the house | chopped and stirred and chopped again | the lid flew off and hit the ceiling | mopped the floor and started again | tasted of summer
scarecrow | an old coat and some straw | stuffed both the sleeves | its head fell off | put a pumpkin there instead | frightened nobody and made the crows laugh
swing | a plank and two ropes | climbed up to tie the knots | one side hung lower than the other | made the short rope longer | went higher than the hedge
rocket | a laundry basket and two saucepans | painted numbers on the side | it would not leave the ground | counted down from ten with closed eyes | flew to the moon and back before supper
tree house | boards and crooked nails | hammered until it was dark | the door would not open | climbed in through the window | was the best house in the world
go-cart | four wheels of four sizes | oiled every wheel | it would only turn left | planned a journey with no right turns | went like the wind
birdhouse | a shoebox and some glue | cut out a round front door | the roof slid off | held it down until the glue was dry | had a tenant by Thursday
quilt | a hundred scraps of cloth | sewed until late | the whole thing was sewn to the tablecloth | snipped every thread and sewed it again | kept out the cold all winter
~jam | a bucket of blackberries | stirred the big pot | it boiled over and crept across the stove | scraped up what was left | filled one very small jar
puppet theatre | a cupboard door and a curtain | painted the scenery | the curtain came down on the king | turned it into a comedy | was sold out every night
bench | an old door and four logs | sawed the legs the same length | it rocked like a boat | pushed a book under one leg | had room for everybody

@table skills 8 skill : doing fail tip practice win
swim | swimming | sank like a spoon | kick with both legs and think of frogs | kicked until the water frothed | swam right across and back again
whistle | whistling | made a noise like a puncture | make a small round mouth | blew until the kettle was jealous | whistled a whole tune
ride a bicycle | riding a bicycle | fell into the hedge | look ahead and not at the wheel | wobbled up and down the lane | rode as far as the gate without a wobble
juggle | juggling | dropped everything on one toe | only watch the highest one | threw and caught and threw again | kept three plums in the air
dance | dancing | trod on the cat | listen to the drum and not to your feet | twirled from wall to wall | danced all the way round the room
skate | skating | sat down very hard | bend your knees and trust the ice | went round and round holding a chair | glided like a leaf on a pond
bake bread | baking bread | made a loaf that broke the table | be kind to the dough and wait | kneaded and waited and kneaded | took a perfect loaf out of the oven
tie a bow | tying a bow | tied two fingers together | make one ear and then the other | looped and pulled and looped again | tied a bow like a butterfly
turn a cartwheel | turning a cartwheel | landed in the wheelbarrow | keep your legs as straight as broomsticks | tumbled across the grass | turned three cartwheels in a row
row a boat | rowing a boat | went round in circles | pull both oars at the same time | splashed to and fro | rowed in a line as straight as a ruler
knit | knitting | knitted a sleeve with no way out | count every stitch aloud | clicked the needles by the fire | finished a hat with only one hole
tell the time | telling the time | came to breakfast at supper | let the short hand speak first | read every clock in the street | was exactly on time for the first time

@table plants 8 plant : seed sprout grew dish
pumpkin | flat white seed | two round leaves | as big as a drum | pumpkin soup
sunflower | striped seed | a bent green neck | taller than the chimney | +seeds for every bird
bean | speckled bean | a pale green curl | right up to the window | bean stew
strawberry plant | seed like a speck of dust | three jagged leaves | heavy with red fruit | strawberries and cream
carrot | seed as thin as a hair | a feathery green tuft | as long as an arm | carrot cake
apple tree | brown pip | a stick with one leaf | strong enough to climb | apple pie
tomato plant | pale furry seed | a tiny hairy stem | bright with round tomatoes | tomato sandwiches
cabbage | round black seed | a crinkled rosette | wider than an umbrella | cabbage soup for a week
rose bush | thorny twig | one red bud | all over the gate | a vase on every table
marrow | oval seed | a pair of floppy leaves | longer than the wheelbarrow | stuffed marrow for twelve

@table troubles 8 trouble : who>creatures remedy
stuck in the mud | cow, pony, donkey, pig | laid down planks and pulled, pushed from behind, dug with both hands
caught in the brambles | sheep, goat, rabbit | unhooked the thorns one by one, cut the longest stems
up a tree and afraid to come down | cat, lizard | fetched a ladder, held out a basket on a pole
upside down in the road | beetle, ladybird, newt | turned it over with a twig, lifted it on a leaf
tangled in a fishing line | swan, duck, goose, heron | untied every knot, bit through the line
shut in a shed | hen, dog, turkey | lifted the rusty latch, climbed in through a loose board
at the bottom of a bucket | frog, mouse, toad, cricket | laid a stick inside for a ladder, tipped the bucket over
too tired to fly | bee, butterfly, robin, bat | fed it a drop of sugar water, warmed it in two cupped hands
lost and a long way from home | hedgehog, mole, duck | asked the way at every door, followed its own small tracks back
full of hiccups | owl, crow, pigeon, donkey | said boo very loudly, told it to drink from the wrong side of a cup
in a terrible sulk | peacock, turkey, pony, cat | said how splendid it looked, tickled it under the chin

@table noises 8 noise : cause
tap, tap, tap | a twig knocking on the window
a long, low moan | the wind in the chimney
scratch, scratch | a hedgehog eating up the crumbs
drip, drop, drip | the tap that nobody had turned off
thump, thump, thump | a rabbit dancing in the moonlight
creak, creak | the old gate swinging to and fro
rustle, rustle | a mouse making its bed in a newspaper
clank, clank | a bucket rolling about in the wind
munch, munch | a pony in the cabbages
a dreadful snort | somebody snoring
whoo, whoo | an owl practising its one and only song
flap, flap | a forgotten shirt on the washing line
grumble, rumble | an empty stomach under the blanket

@list childwent 10 verb
ran, hurried, skipped, walked, raced, marched, wandered, dashed, strolled, trotted, galloped

@table lives 0 life : names friends elders home nook near places child
woodland life | *critters | *critters | *elders | *burrows | *burrownooks | *neartrees | *wilds | -
village life | - | *kids | *folk | *childhomes | *childnooks | *nextdoors | *places | yes

@table beasts 14 hero : life>>lives went hand
rabbit | woodland life | hopped, bounded, scampered | paw
mouse | woodland life | scurried, scampered, tiptoed | paw
hedgehog | woodland life | shuffled, trotted, pattered | paw
squirrel | woodland life | darted, bounded, raced | paw
fox | woodland life | trotted, slipped, loped | paw
badger | woodland life | trotted, trundled, plodded | paw
bear | woodland life | ambled, lumbered, trotted | paw
otter | woodland life | slithered, bounded, trotted | paw
mole | woodland life | shuffled, trundled, hurried | paw
duckling | woodland life | waddled, paddled, pattered | wing
frog | woodland life | hopped, leapt, bounced | hand
kitten | woodland life | padded, crept, scampered | paw
puppy | woodland life | bounded, raced, trotted | paw
piglet | woodland life | trotted, scuttled, galloped | hand
lamb | woodland life | skipped, frisked, trotted | hand
owl | woodland life | glided, flapped, swooped | wing
beaver | woodland life | waddled, paddled, bustled | paw
hamster | woodland life | scuttled, bustled, trundled | paw

@table humans 0 hero : life>>lives names went hand
1000000*girl | village life | *girls | *childwent | hand
1000000*boy | village life | *boys | *childwent | hand

@union kinds 10 hero : humans beasts
)";

}  // namespace tapir::app::grammar
