// Adjectives, adverbs, verbs of saying, feelings, numbers, times and weather.
#include "apps/corpus/story_text.h"

namespace tapir::app::grammar {

const std::string_view kWordTables = R"(
@list traits 300 adjective
kind, curious, cheerful, shy, brave, clever, quiet, gentle, merry, stubborn, sleepy, careful
dreamy, polite, bold, patient, hungry, lively, thoughtful, messy, helpful, friendly, restless
proud, silly, honest, serious, plump, freckled, sensible, hopeful, nosy, tidy, forgetful, chatty
bouncy, bashful, jolly, generous, impatient, fearless, grumpy, scruffy, timid, cautious
mischievous, daring, absent-minded, loyal, lanky, wriggly, solemn, sprightly, good-natured, rosy
untidy, earnest, inventive, moody, talkative, dainty, plucky, stout, trusting, headstrong
adventurous, affectionate, artistic, awkward, boastful, calm, charming, contented, cuddly
determined, dependable, eager, energetic, excitable, fidgety, fussy, giggly, graceful, gruff
humble, imaginative, independent, innocent, lazy, lucky, mild, modest, musical, nimble, noble
observant, old-fashioned, optimistic, peaceful, playful, poetic, practical, quarrelsome
quick-witted, reliable, resourceful, romantic, rumpled, scientific, sensitive, sociable, sturdy
superstitious, tall, tender, thrifty, tireless, truthful, unlucky, vain, warm-hearted
well-behaved, wild, wise, witty, long-legged, snub-nosed, agreeable, alert, ambitious, amiable
blunt, brainy, breezy, candid, chirpy, clumsy, courteous, crafty, dignified, diligent, docile
dozy, droll, elderly, faithful, flighty, frank, frugal, gallant, gifted, glum, gracious, greedy
handy, hardy, hasty, hearty, heroic, hesitant, idle, jaunty, jumpy, keen, languid, light-footed
logical, mannerly, mellow, methodical, nervous, obliging, outspoken, pensive, perky, persistent
pompous, precise, prim, punctual, ragged, rash, reckless, refined, rowdy, saucy, sedate, shrewd
skilful, sleek, soft-hearted, soulful, spirited, spry, steady, studious, subtle, suspicious

@list looks 300 adjective
red, blue, green, yellow, shiny, old, purple, striped, white, golden, spotted, brown, silver
orange, pink, black, bright, new, wooden, wobbly, faded, plain, fancy, dusty, homemade, battered
sturdy, speckled, scarlet, lopsided, painted, polished, patched, pale, borrowed
scratched, crooked, grey, squeaky, turquoise, crimson, violet, copper, emerald, chequered
peculiar, handsome, ordinary, second-hand, sky-blue, glossy, dented, rusty, wonderful, mysterious
crinkly, sparkling, dotted, tattered, velvet, tartan, woolly, furry, fluffy, feathery, knitted
paper, brass, clay, glass, leather, silk, straw, cardboard, magenta, indigo, maroon, beige
ivory, amber, bronze, lilac, mustard, ruby, pearly, heavy, hollow, round, square, flat
bent, twisted, folded, crumpled, torn, chipped, cracked, mended, stained, sticky, wet
noisy, silent, glowing, gleaming, glittering, twinkling, dazzling, dull, drab, gaudy, elegant
dainty, delicate, comical, ridiculous, magnificent, marvellous, precious, valuable, worthless
unusual, foreign, antique, modern, famous, enchanted, haunted, lucky, forgotten, half-finished
upside-down, moth-eaten, sun-bleached, lavender, aged, angular, baggy, bald, bashed, beaded
blunt, bumpy, burnished, buttoned, carved, chalky, charred, chunky, clean, clumsy, coloured
cosy, crimped, crusty, cubic, curved, damp, dark, decorated, dim, dirty, domed, drooping, dyed
embroidered, empty, engraved, expensive, exotic, fiery, flimsy, flowery, foldable, fragile, frayed
frilly, fringed, frosted, gilded, grand, greasy, grubby, gnarled, hairy, hand-sewn, hooked
icy, imported, inky, jagged, jewelled, jingling, jointed, knobbly, knotted, labelled, laced, leafy
limp, locked, loose, lumpy, mauve, messy, mouldy, musical, mottled, neat, nice

@list airs 60 adjective
quiet, sunny, busy, windy, muddy, pretty, shady, lonely, noisy, grassy, peaceful, leafy, narrow
crowded, mossy, breezy, dim, steep, sleepy, wide, misty, cool, tangled, stony, crooked, sandy
neglected, cheerful, famous, bare, dewy, sheltered, rocky, drowsy, ancient, faraway, enchanting
overgrown, secret, lively, deserted, gloomy, glorious, puddly, silent, slippery, sunlit, untidy
weedy, windswept, draughty, hushed, mysterious, nettly, picturesque

@list tastes 60 adjective
warm, sweet, fresh, sticky, hot, crumbly, buttery, tasty, delicious, creamy, spicy, crunchy
juicy, steaming, golden, splendid, squashy, sugary, nutty, fragrant, wholesome, tangy, lumpy
scrumptious, peppery, burnt, chewy, cold, crisp, gooey, honeyed, lukewarm, minty, mouldy, salty
smoky, soggy, sour, tender, undercooked

@list glads 30 feeling
happy, glad, proud, pleased, merry, cheerful, delighted, excited, joyful, thankful, content, warm
grateful, relieved, overjoyed, lucky, jolly, peaceful, satisfied, thrilled, hopeful, triumphant
cosy, ecstatic, elated, encouraged, exhilarated, giddy, important, light-hearted, radiant, rich
sunny, tickled, victorious

@list sads 30 feeling
sad, lonely, sorry, gloomy, upset, unhappy, worried, miserable, glum, tearful, small, disappointed
sorrowful, anxious, heartbroken, wretched, downcast, forlorn, empty, mournful, bleak, crestfallen
dejected, desolate, dismal, foolish, guilty, hopeless, low, rotten, tired, troubled, useless

@list crosses 30 feeling
cross, angry, grumpy, annoyed, furious, huffy, sulky, stubborn, bad-tempered, offended, prickly
indignant, bitter, impatient, insulted, irritable, livid, outraged, resentful, sour, stormy

@list afraids 30 feeling
scared, afraid, nervous, frightened, uneasy, shaky, alarmed, jumpy, timid, terrified, fearful
petrified, startled, trembly, panicky, spooked, wobbly

@list saidgladly 24 verb
said, cried, laughed, called, cheered, shouted, sang, exclaimed, chuckled, beamed, giggled, whooped
crowed, hooted, trilled, squealed

@list saidsadly 24 verb
said, sighed, whispered, sniffed, cried, murmured, mumbled, groaned, sobbed, wailed, muttered
moaned, whimpered, gulped, croaked, stammered

@list saidplainly 24 verb
said, whispered, replied, called, murmured, explained, declared, suggested, announced, remarked
answered, observed, promised, added, decided, insisted

@list saidcrossly 24 verb
said, shouted, snapped, cried, grumbled, growled, muttered, yelled, roared, hissed, huffed, barked
bellowed, complained, scolded, snarled

@list softly 60 adverb
softly, gently, kindly, quietly, politely, warmly, cheerfully, gravely, thoughtfully, wisely
calmly, patiently, shyly, brightly, sleepily, solemnly, tenderly, slyly, modestly, drily, firmly
fondly, frankly, honestly, hopefully, lightly, mildly, mysteriously, promptly, reluctantly
seriously, simply, sincerely, slowly, sternly, sweetly, truthfully, vaguely, wistfully

@list busily 80 adverb
carefully, quickly, slowly, quietly, happily, eagerly, bravely, gently, patiently, busily
cheerfully, steadily, nervously, hopefully, neatly, boldly, proudly, calmly, hastily, cautiously
clumsily, noisily, thoroughly, solemnly, swiftly, daintily, briskly, firmly, gracefully
energetically, stubbornly, breathlessly, absent-mindedly, awkwardly, cleverly, cunningly
desperately, diligently, dreamily, earnestly, efficiently, elegantly, feverishly, gleefully
hurriedly, merrily, methodically, nimbly, obediently, painstakingly, politely, recklessly
secretly, seriously, silently, skilfully, sleepily, speedily, tirelessly, urgently, vigorously

@list laters 0 connective
Then, After that, Next, Soon, A little later, Before long, At last, Presently, A moment later
By and by, All at once, After a while, In the end, An hour later, Two minutes later, Suddenly

# Only before somebody who does something.
@list thens 0 connective
Then, So, After that, Next, Soon, A little later, Before long, At last, Presently, A moment later
Without a word, By and by, Straight away, After a while, In the end, An hour later, With a sigh
Two minutes later, Without stopping to think, After some thought, Humming a tune

@list ohdears 24 exclamation
Oh dear, Oh no, Bother, Goodness me, Dear me, What a pity, Botheration, Fiddlesticks
Good gracious, What a muddle, Mercy me, Alas, Crumbs, Heavens, Great goblins, Rats, My poor ears
What a calamity, Whatever next

@list hoorays 24 exclamation
Hooray, Look, How wonderful, Well done, My goodness, Splendid, What luck, Marvellous, Three cheers
How lovely, Bravo, Well I never, Upon my word, What fun, Fancy that, Bless my buttons, Delightful
Extraordinary, Hip hip hooray, What a beauty, Wonders never cease, Yippee

@list numbers 24 number
two, three, four, five, six, seven, a dozen, nine, ten, eleven, twenty, thirteen, forty, eight
several, fifteen, a hundred, too many, sixty, ninety-nine

@list moods 60 adjective
quiet, lazy, long, still, ordinary, strange, lovely, drowsy, busy, dull, noisy, peculiar, splendid
promising, sleepy, hopeful, glorious, memorable, slow, perfect, idle, cheerful, hungry, important
mysterious, remarkable, nervous, tremendous, unremarkable, wonderful, curious, unlucky, dreamy, odd

@list weathers 40 weather
sunny, windy, bright, rainy, cloudy, warm, frosty, misty, chilly, breezy, snowy, foggy, golden
grey, quiet, still, crisp, blustery, drizzly, mild, lazy, sparkling, hazy, stormy, damp
cloudless, wintry, balmy, dewy, dreary, fine, gusty, icy, murky, muggy, showery, silvery, soggy
sultry, thundery

@list times 10 time
morning, afternoon, day, evening

@list days 16 time
Monday, Saturday, Tuesday, Sunday, Friday, Thursday, Wednesday

@list seasons 10 time
spring, summer, autumn, winter

@list often 30 time
every morning, every day, all day long, every evening, on Sundays, whenever it rained, after lunch
before breakfast, in the afternoons, at bedtime, on Tuesdays, whenever nobody was looking
at weekends, by candlelight, between meals, from time to time, in secret, in the bath, on holidays
on rainy days, twice a week, under the table, until midnight, when it snowed, with closed eyes

@list clutter 300 thing
sock, button, spoon, feather, candle, teacup, comb, pencil, cork, thimble, marble, glove, biscuit
cobweb, slipper, walnut, acorn, hairpin, shoelace, postcard, doorknob, raisin, stamp, ticket
paintbrush, toothbrush, gumboot, saucer, whisk, hinge, nail, screw, padlock, buckle, needle, peg
mitten, mousetrap, teabag, egg cup, sieve, funnel, bucket, broom, duster, sponge, hairbrush
handkerchief, necktie, bonnet, clog, sandal, boot, apron, collar, penny, medal, ring, brooch
bracelet, bead, jewel, domino, skittle, rattle, harmonica, triangle, drumstick, twig, leaf, daisy
thistle, mushroom, onion, potato, radish, bean, eggshell, nutshell, crumb, cracker, toffee
lollipop, jam tart, sardine, kipper, starfish, barnacle, anchor, paddle, oar, fishhook, globe
ruler, inkpot, quill, envelope, paper clip, newspaper, notebook, dictionary, bookmark, calendar
photograph, picture frame, lampshade, curtain ring, footstool, coat hanger, birdcage, flowerpot
trowel, rake, watering can, garden gnome, weathervane, doorbell, horseshoe, cartwheel, saddle
cowbell, milk bottle, cheese grater, pepper pot, teaspoon, kettle, saucepan, toast rack, cake tin
abacus, almanac, armchair, backpack, bagpipe, bandage, banjo, banner, bathmat, beret, binder
blotter, bobbin, bolt, brick, bugle, bulb, camera, canoe, cape, catapult, cauldron
chisel, chopstick, coaster, cogwheel, coin, conch, cradle, crayon, crochet hook, crown
crutch, cymbal, diary, dipper, dustpan, easel, eggcup, elbow pad, fan, fender, fez, fiddle, flag
flask, garter, gong, hammer, hammock, handbell, harp, helmet, hourglass, ice skate, jug, kimono
knapsack, knob, lace doily, lever, locket, loom, lute, mallet, mask, mop, moustache comb, muff
napkin, nutcracker, ocarina, oilcan, overcoat, pan, parasol, pendant, pestle, pipe, pillow, pouch
prism, pulley, purse, quoit, raft, raincoat, recipe, ribbon, rocket, rope ladder, rug, rucksack
rolling pin, safety pin, pocket watch, bow tie, skipping rope, apple core, orange peel, false tooth

@list plurals 300 thing
buttons, pebbles, feathers, acorns, candles, marbles, ribbons, socks, snails, beetles, umbrellas
balloons, postcards, tickets, mittens, teaspoons, keys, shells, stamps, kittens, goldfish, spoons
hats, bells, maps, teapots, paper boats, chestnuts, daisies, dandelions, leaves, mushrooms, stones
sticks, nails, jars, boxes, baskets, bottles, corks, coins, clocks, clouds, cushions, dragons
drums, ducks, elephants, envelopes, fossils, frogs, geese, grandmothers, hedgehogs, jellyfish
jigsaw pieces, jokes, ladders, lanterns, lemons, mice, moths, newspapers, noises, owls, parsnips
pears, pens, pianos, pigeons, pillows, pine cones, poems, puddles, questions, recipes, riddles
sandwiches, scarves, secrets, shadows, shoelaces, songs, spiders, stars, stories, suitcases
thimbles, toadstools, tomatoes, trumpets, turnips, walnuts, whistles, wishes, words, worms, ants
anchors, apples, aprons, badges, bananas, barrels, bees, berries, blankets, books, boots, bricks
brooms, bubbles, buckets, butterflies, cabbages, cakes, canoes, carrots, caterpillars
chairs, cherries, chimneys, clues, crabs, crickets, crowns, crumbs, cucumbers, cupboards, curtains
dictionaries, donkeys, doorknobs, dreams, eggs, fairies, ferns, fiddles, flags, flowerpots, flutes
footprints, forks, foxgloves, ghosts, gloves, goats, grapes, hairpins, hammers, holes, icicles, jugs
kettles, kites, knots, lamps, lizards, lobsters, magnets, medals, melons, mirrors, mountains
mousetraps, necklaces, needles, nests, nightcaps, onions, paintbrushes, parrots, peaches, peacocks
peppermints, pickles, pirates, plates, plums, potatoes, princesses, pumpkins, quilts, rabbits
rainbows, raindrops, robins, ropes, rubies, sailors, saucers, saucepans, sausages, seagulls, seeds
shoes, slippers, snowballs, sparrows, spectacles, starfish, swans, telescopes, tulips, twigs
valleys, violins, waves, whales, windmills, wolves

@list animals 200 animal
elephant, penguin, monkey, parrot, tiger, camel, giraffe, walrus, kangaroo, lion, whale, octopus
seal, zebra, badger, beetle, bison, bumblebee, buzzard, chimpanzee, cobra, cockatoo, cockerel, condor
coyote, crane, dinosaur, dodo, dragonfly, emu, falcon, finch, gnat, gnu, grasshopper, gull
hare, hawk, heron, hornet, ibis, jackal, jackdaw, kingfisher, ladybird, lemur, lynx, macaw, mammoth
marmot, mongoose, mule, narwhal, newt, ox, partridge, pheasant, pike, polecat, quail, rook, shark, crocodile, ostrich, flamingo, puffin, pelican, stork, eagle, raven, cuckoo, swallow
canary, ferret, vole, dormouse, guinea pig, gerbil, wombat, koala, panda, platypus, armadillo
anteater, porcupine, moose, reindeer, yak, llama, buffalo, antelope, leopard, hyena, baboon
gorilla, iguana, chameleon, python, turtle, jellyfish, lobster, prawn, oyster, squid, eel, trout
salmon, herring, budgerigar, hippopotamus, rhinoceros, orangutan, earwig, woodlouse, nightingale

@list sizes 20 adjective
little, big, tiny, small, large, huge, long, short, wide, thin, fat, tall, nice, great, strange, dear
funny, rare, perfectly good, rather fine

@list very 20 wording
very, quite, rather, terribly, truly, extremely, a little, awfully, surprisingly, thoroughly
suddenly, remarkably, secretly, strangely, unusually, dreadfully, somewhat, most

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

@list sadly 40 adverb
sadly, quietly, softly, slowly, miserably, tearfully, gloomily, mournfully, hoarsely, faintly
shakily, timidly, wearily, nervously, bitterly, dully, glumly, helplessly, meekly, sorrowfully
uneasily, unhappily

@list well 12 adverb
well, smoothly, beautifully, perfectly, splendidly, nicely, wonderfully, swimmingly, better than ever

@list soundly 20 adverb
soundly, deeply, peacefully, well, snugly, sweetly, like a log, like a stone, like a dormouse
until noon, with a smile, all night long, without a sound, upside down, very late, without a pillow

@list virtues 20 adjective
kind, thoughtful, generous, sweet, clever, good, brave, nice, lovely, noble, sensible, splendid
wise, gracious, neighbourly, polite

@list flaws 30 adjective
lopsided, wobbly, crooked, sticky, untidy, lumpy, bumpy, strange, squashed, patchy, uneven, burnt
smelly, noisy, dented, dusty, sooty, smudged, ragged, slippery, spotty, squeaky, tilted, damp

@list goods 24 adjective
good, long, strange, fine, busy, lucky, useful, ordinary, happy, remarkable, surprising, sensible
satisfactory, splendid, unusual, memorable, complicated, educational, peculiar, tiring, profitable
exciting, glorious, noisy

@list monsters 24 thing
dragon, ghost, wolf, giant, witch, robber, troll, pirate, goblin, ogre, sea serpent, vampire
tax collector, skeleton, werewolf, burglar, wizard, mermaid, king, queen, emperor, knight, dentist
princess, mummy, sea captain, headmaster

@list breakables 24 thing
vase, teapot, plate, jug, lamp, bowl, cup, mirror, clock, sugar bowl, candlestick, milk jug
statue of a duck, barometer, butter dish, fruit bowl, jam pot, soup tureen, chamber pot, moustache cup
)";

}  // namespace tapir::app::grammar
