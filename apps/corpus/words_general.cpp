// Adjectives, adverbs, verbs of saying, feelings, numbers, times and weather.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kWordTables = R"(
@list traits 18 adjective
kind, shy, bold, nosy, tidy, rosy, calm, lazy, mild, tall, vain, wild, wise, dozy, glum, idle
keen, prim, rash, spry, brave, quiet, merry, messy, proud, silly, plump, jolly, timid, loyal
lanky, moody, stout, eager, fussy, gruff, lucky, noble, witty, alert, blunt, droll, frank, handy
hardy, hasty, jumpy, perky, rowdy, saucy, sleek, clever, gentle, sleepy, dreamy, polite, hungry
lively, honest, chatty, bouncy, grumpy, daring, solemn, untidy, dainty, plucky, cuddly, giggly
humble, modest, nimble, poetic, sturdy, tender, brainy, breezy, candid, chirpy, clumsy, crafty
docile, frugal, gifted, greedy, hearty, heroic, jaunty, mellow, ragged, sedate, shrewd, steady
subtle, curious, careful, patient, helpful, serious, hopeful, bashful, scruffy, wriggly, earnest
awkward, fidgety, musical, playful, rumpled, thrifty, unlucky, amiable, elderly, flighty, gallant
languid, logical, nervous, pensive, pompous, precise, refined, skilful, soulful, cheerful
stubborn, friendly, restless, freckled, sensible, generous, fearless, cautious, trusting, artistic
boastful, charming, graceful, innocent, peaceful, reliable, romantic, sociable, tireless, truthful
diligent, faithful, gracious, hesitant, mannerly, obliging, punctual, reckless, spirited, studious
thoughtful, forgetful, impatient, mischievous, absent-minded, sprightly, good-natured, inventive
talkative, headstrong, adventurous, affectionate, contented, determined, dependable, energetic
excitable, imaginative, independent, observant, old-fashioned, optimistic, practical, quarrelsome
quick-witted, resourceful, scientific, sensitive, superstitious, warm-hearted, well-behaved
long-legged, snub-nosed, agreeable, ambitious, courteous, dignified, light-footed, methodical
outspoken, persistent, soft-hearted, suspicious

@list looks 18 adjective
red, blue, old, pink, new, pale, grey, clay, silk, ruby, flat, bent, torn, wet, dull, drab, aged
bald, cosy, damp, dark, dim, dyed, icy, inky, limp, green, shiny, white, brown, black
faded, plain, fancy, dusty, rusty, furry, paper, brass, glass, straw, beige, ivory, amber, lilac
heavy, round, noisy, gaudy, lucky, baggy, blunt, bumpy, cubic, dirty, domed, empty, fiery
grand, hairy, laced, leafy, loose, lumpy, mauve, messy, yellow, purple, golden, silver, orange
bright, wooden, wobbly, sturdy, violet, copper, glossy, dented, dotted, velvet, tartan, woolly
fluffy, indigo, maroon, bronze, pearly, hollow, square, folded, mended, sticky, silent, dainty
modern, famous, bashed, beaded, carved, chalky, chunky, clumsy, crusty, curved, exotic, flimsy
frayed, frilly, gilded, greasy, grubby, hooked, jagged, locked, mouldy, striped, spotted, scarlet
painted, patched, crooked, squeaky, crimson, emerald, crinkly, knitted, leather, magenta, mustard
twisted, chipped, cracked, stained, glowing, elegant, comical, unusual, foreign, antique, haunted
angular, charred, crimped, flowery, fragile, fringed, frosted, gnarled, jointed, knobbly, knotted
musical, mottled, homemade, battered, speckled, lopsided, polished, borrowed, peculiar, handsome
ordinary, sky-blue, tattered, feathery, crumpled, gleaming, dazzling, delicate, precious, valuable
lavender, buttoned, coloured, drooping, engraved, foldable, imported, jewelled, jingling, labelled
scratched, turquoise, chequered, second-hand, wonderful, mysterious, sparkling, cardboard
glittering, twinkling, ridiculous, magnificent, marvellous, worthless, enchanted, forgotten
half-finished, upside-down, moth-eaten, sun-bleached, burnished, decorated, embroidered, expensive
hand-sewn

@list airs 16 adjective
busy, dim, wide, cool, bare, dewy, quiet, sunny, windy, muddy, shady, noisy, leafy, mossy, steep
misty, stony, sandy, rocky, weedy, pretty, lonely, grassy, narrow, breezy, sleepy, famous, drowsy
secret, lively, gloomy, puddly, silent, sunlit, untidy, hushed, nettly, crowded, tangled, crooked
ancient, faraway, peaceful, cheerful, deserted, glorious, slippery, draughty, neglected, sheltered
enchanting, overgrown, windswept, mysterious, picturesque

@list tastes 14 adjective
warm, hot, cold, sour, sweet, fresh, tasty, spicy, juicy, nutty, tangy, lumpy, burnt, chewy, crisp
gooey, minty, salty, smoky, soggy, sticky, creamy, golden, sugary, mouldy, tender, crumbly
buttery, crunchy, squashy, peppery, honeyed, steaming, splendid, fragrant, lukewarm, delicious
wholesome, scrumptious, undercooked

@list glads 12 feeling
glad, warm, cosy, rich, happy, proud, merry, lucky, jolly, giddy, sunny, joyful, elated, pleased
excited, content, hopeful, radiant, tickled, cheerful, thankful, grateful, relieved, peaceful
thrilled, ecstatic, delighted, overjoyed, satisfied, triumphant, encouraged, exhilarated
important, light-hearted, victorious

@list sads 12 feeling
sad, glum, low, sorry, upset, small, empty, bleak, tired, lonely, gloomy, dismal, guilty, rotten
unhappy, worried, tearful, anxious, forlorn, foolish, useless, wretched, downcast, mournful
dejected, desolate, hopeless, troubled, miserable, disappointed, sorrowful, heartbroken
crestfallen

@list crosses 10 feeling
sour, cross, angry, huffy, sulky, livid, grumpy, bitter, stormy, annoyed, furious, prickly
stubborn, offended, insulted, outraged, bad-tempered, indignant, impatient, irritable, resentful

@list afraids 10 feeling
shaky, jumpy, timid, scared, afraid, uneasy, wobbly, nervous, alarmed, fearful, trembly, panicky
spooked, startled, frightened, terrified, petrified

@list saidgladly 10 verb
said, cried, laughed, called, cheered, shouted, sang, exclaimed, chuckled, beamed, giggled, whooped
crowed, hooted, trilled, squealed

@list saidsadly 10 verb
said, sighed, whispered, sniffed, cried, murmured, mumbled, groaned, sobbed, wailed, muttered
moaned, whimpered, gulped, croaked, stammered

@list saidplainly 10 verb
said, whispered, replied, called, murmured, explained, declared, suggested, announced, remarked
answered, observed, promised, added, decided, insisted

@list saidcrossly 10 verb
said, shouted, snapped, cried, grumbled, growled, muttered, yelled, roared, hissed, huffed, barked
bellowed, complained, scolded, snarled

@list softly 14 adverb
shyly, slyly, drily, softly, gently, kindly, warmly, wisely, calmly, firmly, fondly, mildly
simply, slowly, quietly, gravely, frankly, lightly, sternly, sweetly, vaguely, politely, brightly
sleepily, solemnly, tenderly, modestly, honestly, promptly, cheerfully, thoughtfully, patiently
hopefully, mysteriously, reluctantly, seriously, sincerely, truthfully, wistfully

@list busily 18 adverb
slowly, gently, busily, neatly, boldly, calmly, firmly, nimbly, quickly, quietly, happily, eagerly
bravely, proudly, hastily, noisily, swiftly, briskly, merrily, steadily, clumsily, solemnly
daintily, cleverly, dreamily, politely, secretly, silently, sleepily, speedily, urgently
carefully, patiently, cheerfully, nervously, hopefully, cautiously, thoroughly, gracefully
energetically, stubbornly, breathlessly, absent-mindedly, awkwardly, cunningly, desperately
diligently, earnestly, efficiently, elegantly, feverishly, gleefully, hurriedly, methodically
obediently, painstakingly, recklessly, seriously, skilfully, tirelessly, vigorously

@list laters 0 connective
Then, After that, Next, Soon, A little later, Before long, At last, Presently, A moment later
By and by, All at once, After a while, In the end, An hour later, Two minutes later, Suddenly

# Only before somebody who does something.
@list thens 0 connective
Then, So, After that, Next, Soon, A little later, Before long, At last, Presently, A moment later
Without a word, By and by, Straight away, After a while, In the end, An hour later, With a sigh
Two minutes later, Without stopping to think, After some thought, Humming a tune

@list ohdears 10 exclamation
Oh dear, Oh no, Bother, Goodness me, Dear me, What a pity, Botheration, Fiddlesticks
Good gracious, What a muddle, Mercy me, Alas, Crumbs, Heavens, Great goblins, Rats, My poor ears
What a calamity, Whatever next

@list hoorays 10 exclamation
Hooray, Look, How wonderful, Well done, My goodness, Splendid, What luck, Marvellous, Three cheers
How lovely, Bravo, Well I never, Upon my word, What fun, Fancy that, Bless my buttons, Delightful
Extraordinary, Hip hip hooray, What a beauty, Wonders never cease, Yippee

@list numbers 10 number
two, three, four, five, six, seven, a dozen, nine, ten, eleven, twenty, thirteen, forty, eight
several, fifteen, a hundred, too many, sixty, ninety-nine

@list moods 14 adjective
lazy, long, busy, dull, slow, idle, odd, quiet, still, noisy, lovely, drowsy, sleepy, hungry
dreamy, strange, hopeful, perfect, nervous, curious, unlucky, ordinary, peculiar, splendid
glorious, cheerful, promising, memorable, important, mysterious, remarkable, tremendous
unremarkable, wonderful

@list weathers 14 weather
warm, grey, mild, lazy, hazy, damp, dewy, fine, icy, sunny, windy, rainy, misty, snowy, foggy
quiet, still, crisp, balmy, gusty, murky, muggy, soggy, bright, cloudy, frosty, chilly, breezy
golden, stormy, wintry, dreary, sultry, drizzly, showery, silvery, blustery, thundery, sparkling
cloudless

@list times 8 time
morning, afternoon, day, evening

@list days 14 time
Monday, Saturday, Tuesday, Sunday, Friday, Thursday, Wednesday

@list seasons 10 time
spring, summer, autumn, winter

@list often 14 time
every morning, every day, all day long, every evening, on Sundays, whenever it rained, after lunch
before breakfast, in the afternoons, at bedtime, on Tuesdays, whenever nobody was looking
at weekends, by candlelight, between meals, from time to time, in secret, in the bath, on holidays
on rainy days, twice a week, under the table, until midnight, when it snowed, with closed eyes

@list clutter 22 thing
sock, comb, cork, nail, peg, clog, boot, ring, bead, twig, leaf, bean, oar, rake, bolt, bulb, cape
coin, fan, fez, flag, gong, harp, jug, knob, loom, lute, mask, mop, muff, pan, pipe, raft, rug
spoon, glove, acorn, stamp, whisk, hinge, screw, sieve, broom, apron, penny, medal, jewel, daisy
onion, crumb, globe, ruler, quill, banjo, beret, brick, bugle, canoe, conch, crown, diary, easel
flask, lever, pouch, prism, purse, quoit, button, candle, teacup, pencil, marble, cobweb, walnut
raisin, ticket, saucer, buckle, needle, mitten, teabag, funnel, bucket, duster, sponge, bonnet
sandal, collar, brooch, domino, rattle, potato, radish, toffee, kipper, anchor, paddle, inkpot
trowel, saddle, kettle, abacus, banner, binder, bobbin, camera, chisel, cradle, crayon, crutch
cymbal, dipper, eggcup, fender, fiddle, garter, hammer, helmet, kimono, locket, mallet, napkin
oilcan, pestle, pillow, pulley, recipe, ribbon, rocket, feather, thimble, biscuit, slipper
hairpin, gumboot, padlock, egg cup, necktie, skittle, thistle, cracker, sardine, cowbell, almanac
bagpipe, bandage, bathmat, blotter, coaster, dustpan, hammock, ocarina, parasol, pendant, bow tie
shoelace, postcard, doorknob, bracelet, triangle, mushroom, eggshell, nutshell, lollipop, jam tart
starfish, barnacle, fishhook, envelope, notebook, bookmark, calendar, birdcage, doorbell, teaspoon
saucepan, cake tin, armchair, backpack, catapult, cauldron, cogwheel, handbell, knapsack, overcoat
raincoat, rucksack, paintbrush, toothbrush, mousetrap, hairbrush, handkerchief, harmonica
drumstick, paper clip, newspaper, dictionary, photograph, picture frame, lampshade, curtain ring
footstool, coat hanger, flowerpot, watering can, garden gnome, weathervane, horseshoe, cartwheel
milk bottle, cheese grater, pepper pot, toast rack, chopstick, crochet hook, elbow pad, hourglass
ice skate, lace doily, moustache comb, nutcracker, rope ladder, rolling pin, safety pin
pocket watch, skipping rope, apple core, orange peel, false tooth

@list plurals 22 thing
keys, hats, maps, jars, mice, owls, pens, ants, bees, eggs, jugs, socks, bells, nails, boxes
corks, coins, drums, ducks, frogs, geese, jokes, moths, pears, poems, songs, stars, words, worms
books, boots, cakes, clues, crabs, ferns, flags, forks, goats, holes, kites, knots, lamps, nests
plums, ropes, seeds, shoes, swans, twigs, waves, acorns, snails, shells, stamps, spoons, leaves
stones, sticks, clocks, clouds, lemons, noises, pianos, wishes, apples, aprons, badges, bricks
brooms, canoes, chairs, crowns, crumbs, dreams, flutes, ghosts, gloves, grapes, medals, melons
onions, plates, quilts, robins, rubies, tulips, whales, wolves, buttons, pebbles, candles, marbles
ribbons, beetles, tickets, mittens, kittens, teapots, daisies, baskets, bottles, dragons, fossils
ladders, pigeons, pillows, puddles, recipes, riddles, scarves, secrets, shadows, spiders, stories
turnips, walnuts, anchors, bananas, barrels, berries, bubbles, buckets, carrots, donkeys, fairies
fiddles, hammers, icicles, kettles, lizards, magnets, mirrors, needles, parrots, peaches, pickles
pirates, rabbits, sailors, saucers, valleys, violins, feathers, balloons, goldfish, cushions
lanterns, parsnips, thimbles, tomatoes, trumpets, whistles, blankets, cabbages, cherries, chimneys
crickets, curtains, hairpins, lobsters, peacocks, potatoes, pumpkins, rainbows, sausages, seagulls
slippers, sparrows, starfish, umbrellas, postcards, teaspoons, paper boats, chestnuts, dandelions
mushrooms, elephants, envelopes, grandmothers, hedgehogs, jellyfish, jigsaw pieces, newspapers
pine cones, questions, sandwiches, shoelaces, suitcases, toadstools, butterflies, caterpillars
cucumbers, cupboards, dictionaries, doorknobs, flowerpots, footprints, foxgloves, mountains
mousetraps, necklaces, nightcaps, paintbrushes, peppermints, princesses, raindrops, saucepans
snowballs, spectacles, telescopes, windmills

@list animals 18 animal
lion, seal, dodo, emu, gnat, gnu, gull, hare, hawk, ibis, lynx, mule, newt, ox, pike, rook, vole
yak, eel, tiger, camel, whale, zebra, bison, cobra, crane, finch, heron, lemur, macaw, quail
shark, stork, eagle, raven, koala, panda, moose, llama, hyena, prawn, squid, trout, monkey, parrot
walrus, badger, beetle, condor, coyote, falcon, hornet, jackal, marmot, puffin, cuckoo, canary
ferret, gerbil, wombat, baboon, iguana, python, turtle, oyster, salmon, earwig, penguin, giraffe
octopus, buzzard, jackdaw, mammoth, narwhal, polecat, ostrich, pelican, swallow, buffalo, leopard
gorilla, lobster, herring, elephant, kangaroo, cockatoo, cockerel, dinosaur, ladybird, mongoose
pheasant, flamingo, dormouse, platypus, anteater, reindeer, antelope, bumblebee, chimpanzee
dragonfly, grasshopper, kingfisher, partridge, crocodile, guinea pig, armadillo, porcupine
chameleon, jellyfish, budgerigar, hippopotamus, rhinoceros, orangutan, woodlouse, nightingale

@list sizes 12 adjective
big, small, tiny, little, fat, thin, long, short, huge, tall, wide, fine, odd, nice, rare, great
funny, large, slim, strange, clever, narrow, pretty, gigantic, perfectly good

@list very 10 wording
very, quite, rather, terribly, truly, extremely, a little, awfully, surprisingly, thoroughly
suddenly, remarkably, secretly, strangely, unusually, dreadfully, somewhat, most

@list best 10 wording
best, oldest, dearest, closest, favourite, most trusted, only

@list lived 8 wording
lived, stayed, slept, worked, had been born, kept a shop, was staying

@list met 8 wording
met, saw, noticed, came upon, ran into, was followed by

@list kept 8 wording
kept, hid, stored, left, put

@list kicked 8 wording
kicked, thumped, glared at, shouted at, poked, sat on

@list laughed 10 wording
laughed, giggled, smiled, chuckled, grinned, nodded

@list crept 8 wording
tiptoed, crept, sneaked, crawled, stole, wandered

@list hugged 8 wording
hugged, kissed, squeezed, patted, stroked

@list felt 6 wording
felt, was, grew, became, looked

@list found 6 wording
found, discovered, spotted, noticed

@list liked 6 wording
liked, loved, enjoyed, adored

@list hated 8 wording
feared, hated, disliked, avoided, mistrusted, dreaded, was allergic to, ran away from

@list collected 10 wording
collected, painted, dreamed of, drew, talked about, knew all about, wrote poems about, sold, mended
was afraid of, looked after, sang about

@list fetched 6 wording
fetched, borrowed, collected, bought, found, gathered

@list looked 6 wording
looked, searched, rummaged, peered, hunted, poked about

@list long_ago 8 wording
Not so long ago, Far away and long ago, A hundred years ago, Last year, When I was small
Before you were born, In another country

@list sadly 12 adverb
sadly, dully, softly, slowly, glumly, meekly, quietly, faintly, shakily, timidly, wearily
gloomily, hoarsely, bitterly, uneasily, miserably, tearfully, mournfully, nervously, helplessly
sorrowfully, unhappily

@list well 12 adverb
well, smoothly, beautifully, perfectly, splendidly, nicely, wonderfully, swimmingly, better than ever

@list soundly 8 adverb
soundly, deeply, peacefully, well, snugly, sweetly, like a log, like a stone, like a dormouse
until noon, with a smile, all night long, without a sound, upside down, very late, without a pillow

@list virtues 12 adjective
kind, good, nice, wise, sweet, brave, noble, clever, lovely, polite, generous, sensible, splendid
gracious, thoughtful, neighbourly

@list flaws 12 adjective
damp, lumpy, bumpy, burnt, noisy, dusty, sooty, wobbly, sticky, untidy, patchy, uneven, smelly
dented, ragged, spotty, tilted, crooked, strange, smudged, squeaky, lopsided, squashed, slippery

@list pots 10 thing
pot, cup, boot, hat, tin, jug, bowl, bucket, teapot, drum, bathtub, saucepan, sink, flowerpot, wheelbarrow

@list goods 14 adjective
good, long, fine, busy, lucky, happy, noisy, useful, tiring, strange, unusual, ordinary, sensible
splendid, peculiar, exciting, glorious, remarkable, surprising, satisfactory, memorable
complicated, educational, profitable

@list monsters 14 thing
wolf, ogre, king, ghost, giant, witch, troll, queen, mummy, dragon, robber, pirate, goblin, wizard
knight, vampire, burglar, mermaid, emperor, dentist, skeleton, werewolf, princess, sea serpent
tax collector, sea captain, headmaster

@list breakables 12 thing
vase, jug, lamp, bowl, cup, plate, clock, teapot, mirror, jam pot, milk jug, sugar bowl
candlestick, statue of a duck, barometer, butter dish, fruit bowl, soup tureen, chamber pot
moustache cup
)";

}  // namespace tapir::app::grammar
