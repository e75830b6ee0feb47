// Where the stories happen, and what is seen, found and done there.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kPlaceTables = R"(
@table wilds 14 place : at sees>creatures finds spots doing
pond | by | frog, duck, dragonfly, newt | smooth stone, lily petal, fish bone | among the reeds, under a lily leaf, behind the rushes | skipping stones, feeding the ducks, catching tadpoles
wood | in | squirrel, owl, woodpecker, deer | pine cone, acorn cup, blue feather | behind a fallen log, under the ferns, in a hollow tree | climbing trees, building dens, playing hide-and-seek
meadow | in | butterfly, rabbit, cricket, bee | four-leaf clover, daisy, snail shell | in the long grass, among the poppies, behind a molehill | making daisy chains, rolling down the slope, chasing butterflies
river | by | otter, heron, swan, fox | round pebble, piece of driftwood, rusty fishhook | under the bridge, between two rocks, beside the stepping stones | paddling, racing sticks, fishing with a bent pin
hill | on | sheep, crow, goat, lizard | flat stone, tuft of wool, kite string | behind a thorn bush, under a ledge, beside the old wall | flying kites, rolling down, counting clouds
orchard | in | robin, hedgehog, bee, pig | ripe apple, twig, wasp nest | under an apple tree, behind a ladder, in a barrel | picking apples, swinging on branches, napping in the shade
beach | on | crab, seagull, dog, donkey | pink shell, starfish, glass bottle | behind a sandcastle, under an upturned boat, among the seaweed | building sandcastles, collecting shells, jumping over waves
garden | in | snail, robin, worm, ladybird | marigold, broken pot, rubber band | behind the watering can, under the rhubarb, beside the beehive | digging for treasure, watering the beans, having tea parties
field | in | cow, pony, mole, sparrow | horseshoe, ear of wheat, conker | under a haystack, behind the scarecrow, beside the trough | running races, making hay, playing leapfrog
stream | by | frog, heron, otter, dragonfly | shiny pebble, wet leaf, bent spoon | under a willow root, behind the waterfall, in the watercress | building dams, sailing leaves, washing socks
barn | at | hen, owl, cat, spider | brown egg, rusty nail, length of rope | behind the hay bales, in the manger, under the cart | swinging on the rope, looking for eggs, telling ghost stories
bridge | on | goat, pigeon, duck, cat | lost glove, copper coin, splinter | under the arch, behind the parapet, beside the lamp post | dropping sticks, waving at boats, shouting for an echo
lake | by | swan, goose, heron, toad | duck feather, fishing float, grey pebble | in the rowing boat, under the jetty, behind the bulrushes | rowing, skimming stones, looking for monsters
cave | in | bat, lizard, beetle, toad | white crystal, candle end, old bone | behind a boulder, in a dark corner, beside the puddle | making echoes, drawing on the walls, playing pirates
farm | at | hen, turkey, sheep, donkey | speckled egg, wisp of straw, turnip | behind the tractor, under the milk churn, in the hayloft | feeding the lambs, riding the gate, chasing the geese
heath | on | lizard, grasshopper, pony, bat | sprig of heather, bleached stick, beetle wing | behind the gorse, in a sandy hollow, under the bracken | picking berries, following tracks, flying kites

@table towns 14 place : at sees>creatures finds spots doing
park | in | pigeon, dog, sparrow, squirrel | conker, balloon, yellow leaf | under a bench, behind the fountain, beside the bandstand | riding the roundabout, feeding the pigeons, playing tag
market | at | cat, donkey, hen, pigeon | squashed tomato, penny, paper bag | under the cheese stall, behind the fish barrels, among the pumpkins | tasting the cheese, smelling the flowers, counting the melons
playground | in | dog, sparrow, magpie, worm | skipping rope, red mitten, bottle top | under the slide, behind the swings, in the sandpit | going down the slide, hopping, playing marbles
harbour | at | seagull, cat, crab, swan | coil of rope, cork, fish scale | behind the lobster pots, under a tarpaulin, in a rowing boat | watching the ships, fishing for crabs, waving to sailors
library | at | mouse, spider, cat, owl | bookmark, pencil stub, paper boat | behind the atlases, under the reading table, between two dictionaries | reading about volcanoes, whispering, looking at maps
station | at | pigeon, dog, crow, mouse | torn ticket, brass button, sandwich crust | under the clock, behind the luggage, beside the ticket office | counting trains, waving at the driver, guessing where people were going
school | at | hen, sparrow, mouse, frog | piece of chalk, apple core, paper dart | behind the coats, under the blackboard, in the bell tower | learning to count, painting pictures, playing catch
village green | on | goose, pony, dog, goat | daisy, cricket ball, raffle ticket | under the oak tree, behind the pump, beside the duck pond | playing cricket, flying paper planes, dancing
windmill | at | owl, mouse, pigeon, cat | grain of wheat, wooden peg, scrap of sailcloth | behind the flour sacks, under the stairs, beside the millstone | watching the sails, sliding down sacks, drawing in the flour
museum | at | spider, mouse, beetle, bat | brass key, ticket stub, button | behind the dinosaur, under a glass case, inside the suit of armour | drawing the mummies, tiptoeing, counting the bones

@union places 14 place : wilds towns
)";

}  // namespace tapir::app::grammar
