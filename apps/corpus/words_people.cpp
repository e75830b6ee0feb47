// Who the stories are about: names, kinds of hero, grown-ups and other animals.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kPeopleTables = R"(
@table pronouns 0 pronoun : he him his himself young
she | she | her | her | herself | girl
he | he | him | his | himself | boy

@table girls 18 name : g>>pronouns
Lily | she
Anna | she
Mia | she
Rosie | she
Ella | she
Nora | she
Clara | she
Ruby | she
Daisy | she
Maya | she
Sophie | she
Tess | she
Ivy | she
Wren | she
Hannah | she
Molly | she
Zoe | she
Ada | she
Greta | she
Leila | she
Pippa | she
Martha | she
Nina | she
Olive | she
Matilda | she
Juno | she
Priya | she
Beatrice | she
Winifred | she
Yuki | she
Florence | she
Imogen | she
Dorothy | she
Fatima | she
Henrietta | she
Saskia | she
Ottilie | she
Philippa | she
Carmen | she
Elspeth | she
Amelia | she
Bridget | she
Cecily | she
Delia | she
Esther | she
Freya | she
Gwen | she
Harriet | she
Iris | she
Jasmine | she
Kitty | she
Lottie | she
Mabel | she
Nell | she
Petra | she
Ramona | she
Stella | she
Thea | she
Ursula | she
Vera | she

@table boys 18 name : g>>pronouns
Tom | he
Ben | he
Max | he
Sam | he
Leo | he
Finn | he
Oscar | he
Theo | he
Jack | he
Hugo | he
Milo | he
Noah | he
Will | he
Eli | he
Arthur | he
Felix | he
Omar | he
Jonah | he
Barnaby | he
Ravi | he
Albert | he
Rory | he
Kofi | he
Edmund | he
Walter | he
Diego | he
Magnus | he
Ned | he
Gus | he
Rupert | he
Mateo | he
Wilfred | he
Sebastian | he
Kenji | he
Humphrey | he
Cornelius | he
Tobias | he
Linus | he
Percival | he
Angus | he
Alfie | he
Bruno | he
Caspar | he
Dexter | he
Ezra | he
Fergus | he
George | he
Harvey | he
Ivan | he
Jasper | he
Kit | he
Louis | he
Monty | he
Nico | he
Otis | he
Peter | he
Quentin | he
Ralph | he
Stanley | he
Victor | he

@table critters 18 name : g>>pronouns
Pip | he
Hazel | she
Bramble | he
Clover | she
Nutmeg | she
Button | he
Poppy | she
Thistle | he
Biscuit | he
Willow | she
Tumble | he
Bluebell | she
Rusty | he
Primrose | she
Conker | he
Pepper | he
Tansy | she
Mossy | he
Tulip | she
Fidget | he
Pebble | she
Burdock | he
Ginger | she
Crumpet | he
Juniper | she
Snippet | he
Marigold | she
Dumpling | he
Teasel | he
Cinnamon | she
Noodle | he
Parsley | he
Violet | she
Sorrel | she
Humbug | he
Twig | he
Mustard | he
Acorn | he
Lavender | she
Buttercup | she
Bracken | he
Daffodil | she
Fern | she
Gooseberry | she
Heather | she
Jumble | he
Kipper | he
Lupin | she
Muffin | he
Nettle | she
Oakley | he
Pickle | he
Quince | she
Ripple | she
Scamper | he
Toffee | she
Tadpole | he
Whisker | he
Yarrow | she
Zigzag | he

@union kids 18 name : girls boys

@table folk 10 person : g>>pronouns
Grandma | she
Grandpa | he
Mother | she
Father | he
Aunt Rose | she
Uncle Bert | he
Mrs. Plum | she
Mr. Finch | he
Miss Pettigrew | she
Captain Brown | he
Great-Aunt Agatha | she
Doctor Mallow | she
Old Joe | he
Cousin Edith | she
Professor Quill | he

@table elders 10 person : g>>pronouns
Old Badger | he
Mother | she
Granny Mole | she
Father | he
Grandfather Toad | he
Mrs. Magpie | she
Wise Owl | she
Uncle Otter | he
Mr. Heron | he
Aunt Partridge | she
Old Tortoise | he
Captain Drake | he
Madam Goose | she
Professor Stoat | he
Cousin Weasel | he

@table creatures 20 animal : said moved
rabbit | said, squeaked | hopped, bounded
duck | quacked | waddled
frog | croaked | hopped, leapt
robin | chirped, sang | fluttered, hopped
squirrel | chattered | scampered, darted
snail | whispered | crept, slid
crow | cawed | flapped
bee | hummed, buzzed | buzzed
hen | clucked | strutted
goat | bleated | trotted
owl | hooted | glided
mouse | squeaked | scurried, darted
hedgehog | grunted | shuffled
dog | barked | trotted, bounded
cat | purred | strolled, crept
sheep | bleated | wandered
cow | mooed | plodded
goose | honked | marched, waddled
beetle | whispered | crawled
butterfly | whispered | fluttered, floated
toad | croaked | plopped
pony | neighed | cantered
heron | said | stalked
dragonfly | hummed | zoomed
seagull | screamed | swooped
crab | clicked | scuttled
mole | mumbled | tunnelled
pigeon | cooed | strutted
magpie | chattered | swooped
worm | whispered | wriggled
donkey | brayed | plodded
pig | grunted | trotted
spider | whispered | dangled
sparrow | chirped | flitted
otter | whistled | slithered
lizard | hissed | skittered
fox | said, barked | slunk
woodpecker | cackled | flapped
ladybird | whispered | crawled
peacock | shrieked | paraded
swan | hissed | sailed
deer | said | tiptoed
caterpillar | whispered | inched
bat | squeaked | flitted
cricket | chirped | sprang
turkey | gobbled | strutted
newt | whispered | wriggled
grasshopper | clicked | sprang

@list childhomes 12 place
cottage, house, flat, farmhouse, windmill, houseboat, lighthouse, bakery, caravan, boarding house
toyshop, tower, bungalow, barn

@list burrows 12 place
burrow, nest, den, hollow tree, hole, teapot, log, old boot, haystack, flowerpot, tree stump
hatbox, rabbit hole, wheelbarrow

@list childnooks 16 detail
under the bed, behind the sofa, in the wardrobe, under the stairs, in the kitchen drawer
behind the curtains, on top of the cupboard, under the rug, in the laundry basket
behind the bookcase, in the bathtub, in the toy box, inside the piano, under the cushions
in the attic, in the biscuit tin, behind the coal scuttle, under the doormat, in the pantry
behind the radiator, in the sewing basket, under the kitchen sink, among the mattresses
in the umbrella stand, on the windowsill, inside the grandfather clock, in the bread bin
behind the mirror, in the coal cellar, under the ironing board, in the hatbox

@list burrownooks 16 detail
under the moss bed, behind the big root, in the nut store, under the leaf pile
behind the front door, in the acorn bowl, on top of the mushroom shelf, under the straw
behind the bark cupboard, in the berry jar, inside the walnut cradle, under the thistle rug
in the bramble hedge, behind the kettle, under the fern umbrella, in the honey pot
behind the chestnut barrel, in the back tunnel, under the birch-bark rug, among the turnips
in the feather bed, on the pebble shelf, inside the hollow log, in the mending basket
behind the dandelion clock, in the root cellar, under the pine-needle mat, in the seed drawer

@list dwellings 16 detail
at the edge of the village, near the sea, on a hill, at the end of a lane, beside a river
next to a field of sheep, behind the church, in the middle of a wood, under a chestnut tree
by the railway line, above a bakery, at the bottom of a garden, across from the park
on an island, between two mountains, beyond the allotments, where the road ran out
in the shadow of a castle, near a waterfall, opposite the post office, at the foot of a mountain
behind a row of poplars, by a crooked signpost, halfway up a cliff, in a valley full of mist
between the mill and the marsh, on the sunny side of a ditch, far from anywhere
under a bridge, in a forgotten corner of an orchard, beside a pile of logs

@list nextdoors 12 detail
next door, across the road, over the hill, upstairs, by the canal, two doors down
round the corner, above the shop, on the next farm, beside the school, behind the bakery
down the hill, opposite the pump, near the station, in the yellow house, past the crossroads
by the old gate, at number nine, under the same roof, beyond the chapel

@list neartrees 12 detail
under the next tree, across the stream, over the hill, behind the hedge, beside the pond
two hops away, on the other side of the wood, in the next field, under the bridge
up the bank, beyond the nettles, by the old gate, past the crooked oak, at the end of the tunnel
in the next burrow, beside the waterfall, under a toadstool, inside the old wall
)";

}  // namespace tapir::app::grammar
