// Toys and treasures, food, presents.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kThingTables = R"(
@table things 16 thing : use using part
kite | fly | flying | a long tail, a ribbon on its string, a smiling face
ball | bounce | bouncing | a star on it, a patch on one side, a zigzag stripe
drum | bang | banging | a leather strap, two thin sticks, a picture of a lion
boat | sail | sailing | a paper flag, a white sail, a name on its side
teddy bear | hug | hugging | one glass eye, a torn ear, a tartan waistcoat
whistle | blow | blowing | a pea inside, a loop of string, a tiny dent
scarf | wear | wearing | a woolly fringe, a hole in the middle, pockets at both ends
lantern | light | lighting | a brass handle, a crack in the glass, a star-shaped window
book | read | reading | gold letters on its cover, a missing page, pictures of whales
bell | ring | ringing | a deep voice, a wooden handle, a velvet bow
spoon | polish | polishing | a bent handle, an elephant on its handle, a secret scratch
button | count with | counting with | four neat holes, an anchor on it, a chipped edge
marble | roll | rolling | a swirl inside, a bubble in the middle, a cloudy heart
hat | wear | wearing | a pheasant feather, a floppy brim, a button on top
basket | carry | carrying | a lid that creaked, a lining of cloth, two handles
top | spin | spinning | a humming noise inside, seven stripes, a brass point
flute | play | playing | six little holes, a silver ring, a carved bird at the end
umbrella | open | opening | a duck for a handle, one broken rib, a pattern of clouds
blanket | sleep under | sleeping under | a satin edge, one chewed corner, embroidered moons
wagon | pull | pulling | a wheel that squealed, a rope handle, room for two
cushion | sit on | sitting on | a tassel at each corner, a duck sewn on it, goose feathers inside
shell | listen to | listening to | the sea inside, a rim of pearl, a chip like a smile
clock | wind | winding | a loud tick, a cuckoo inside, only one hand
trumpet | blow | blowing | a dent in its side, a cord of wool, three stiff buttons
key | wear | wearing | a curly handle, a paper label, no lock that it fitted
puppet | play with | playing with | nine strings, a velvet jacket, woollen hair
sledge | ride on | riding on | waxed runners, a bell at the front, a steering rope
map | study | studying | a cross in one corner, a tea stain, a drawing of a sea serpent
mirror | make faces in | making faces in | a frame of shells, a crack across it, roses round its edge
feather | tickle people with | tickling people with | a blue tip, a curl at the end, a gleam like oil
telescope | look through | looking through | three sections, a leather case, a smudge on the lens
jar | keep beetles in | keeping beetles in | holes in its lid, a checked ribbon, a label in curly writing
magnet | play with | playing with | a horseshoe shape, a chipped corner, nails hanging from it
ladle | wave | waving | a hook on its handle, a soup stain, a dent from a battle
accordion | squeeze | squeezing | a wheezy note, pearl buttons, a patched bellows
compass | follow | following | a trembling needle, a glass lid, a motto on the back
walking stick | march about with | marching about with | a fox carved on it, a rubber tip, a silver collar

@list foods 20 food
+buns, ~soup, ~stew, +pears, +plums, ~cocoa, ~fudge, ~broth, +apples, +scones, ~eggnog, +grapes
+olives, trifle, ~toffee, +muffins, ~popcorn, +carrots, +noodles, +walnuts, ~custard, +waffles
+turnips, ~caramel, ~goulash, +oranges, +pickles, ~sherbet, ~spinach, ~yoghurt, +pancakes
+biscuits, ~porridge, +cherries, ~lemonade, +tomatoes, ~pea soup, +radishes, +fritters, +oatcakes
+pretzels, +crumpets, ~meringue, omelette, +rosehips, +sausages, +truffles, ~honey cake, apple pie
~bread and jam, ~cream cheese, +strawberries, ~blackberry jam, +sandwiches, pumpkin pie
~gingerbread, +hazelnuts, ~toast and butter, ~rice pudding, +dumplings, plum cake
~raspberry jelly, +baked potatoes, treacle tart, +peppermints, ~nettle tea, +chestnuts
cheese tart, +mushrooms, ~marmalade, +macaroons, ~elderflower juice, onion tart, ~cabbage soup
cucumber salad, +cinnamon rolls, ~apricot cake, ~almond cake, +beetroots, ~birch syrup
+blackcurrants, ~butterscotch, +candied violets, +currant buns, +doughnuts, +fig rolls, +fishcakes
+gooseberries, ~hot chocolate, +jam puffs, ~lentil soup, +liquorice bootlaces, ~mashed potato
+mince pies, ~mint sauce, +parsnip chips, ~peach jam, +raisin cookies, +raspberries
~rhubarb crumble, ~sauerkraut, seed cake, ~sponge cake, ~vanilla ice, +watercress rolls

@list gifts 16 gift
poem, kazoo, drawing, seashell, bookmark, paper crown, bunch of daisies, woolly hat, bag of nuts
necklace of berries, pair of mittens, jar of honey, wooden spoon, box of chalks, tiny chair
blue ribbon, basket of plums, whistle made of willow, song with three verses, ball of wool
pot of paint, bottle of bubbles, patchwork cushion, sack of potatoes, birthday card
stone shaped like a heart, packet of seeds, magnifying glass, jigsaw puzzle, weathercock
pair of slippers, box of matches, book of riddles, painted egg, tin of polish, toy theatre
hot water bottle, bar of soap, balloon on a stick, barrel of apples, bag of marbles, wooden horse
pot of jam, picture of a ship, spotted handkerchief, bundle of firewood, telescope made of paper
dictionary of birds, cage for a cricket, bunch of keys, knitted tea cosy, left-handed glove
map of the moon, cheese with a bow on it, rubber duck, lucky penny, sandwich in a box, tame snail

@list jobs 16 detail
sweeping the step, hanging out the washing, peeling potatoes, mending a chair, feeding the hens
watering the beans, painting the gate, darning a stocking, making a list, chopping onions
polishing the kettle, stirring a pot, looking for some spectacles, stacking logs, shelling peas
reading the newspaper, beating a carpet, kneading dough, having a nap, winding wool
arguing with a deck chair, pruning the roses, cleaning the windows, writing a letter
talking to the geraniums
sharpening pencils, ironing a hat, tuning the piano, building a wall, counting the spoons
teaching the parrot to spell, bottling plums, folding maps, dusting the barometer, oiling the hinges
cutting out paper stars, making candles, sorting buttons, plaiting straw, varnishing a boat
looking for a lost slipper, weighing potatoes, painting a portrait of a cabbage, untangling string
practising the trombone, chasing a wasp, planting onions, repairing an umbrella, learning Latin
)";

}  // namespace tapir::app::grammar
