"""Makes the tokenizer goldens with Hugging Face tokenizers and tiktoken.

    pip install tokenizers tiktoken
    python make_goldens.py [FOLDER WITH gpt2_vocab.json AND gpt2_merges.txt]

Written beside this script: gpt2_style.json and llama3_style.json (tokenizer.json files that
`tokenizers` trained and saved) and cases.json. For GPT-2's own vocabulary, which is too large to
keep here, only the ids are stored. The two packages must agree wherever both can answer.
"""

import json
import pathlib
import random
import sys

import tiktoken
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).parent
END_OF_TEXT = "<|endoftext|>"
GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def training_text():
    """Lines in several scripts, repeated at random, so that all of them get merges."""
    lines = [
        "The fox isn't in the garden; it's asleep under the hedge, and we'll let it sleep.",
        "def count(words):\n    total = 0\n    for word in words:\n        total += 1\n    return total",
        "Où est la clé ? Elle était là, près de la fenêtre, à côté du café brûlé.",
        "Die Straße führt über den Hügel; größere Bäume säumen sie.",
        "Мы живём в старом доме у реки, и зимой в нём тепло.",
        "春天来了，河边的柳树发了新芽。孩子们在田野里放风筝。",
        "きょうは天気がいいので、公園を散歩しました。",
        "한국어 문장은 띄어쓰기로 나뉩니다.",
        "यह एक छोटी सी कहानी है।",
        "1 12 123 1234 12345 3.14159 2024-01-31 0x7fff",
        "🙂🙃 🚀 👩‍👩‍👧‍👦 🇫🇷",
        "if (a != b) { return x->y[3] * (z << 2); } // done!!! ???",
        "\t\tname:\tvalue\r\n\r\n   indented\n\n\n        deeper\n",
    ]
    generator = random.Random(1)
    return "\n".join(generator.choice(lines) for _ in range(400))


def texts():
    """The texts to encode, as bytes; some are not valid UTF-8."""
    generator = random.Random(2)
    cases = {
        "empty": "",
        "ascii": "The quick brown fox can't jump over 12345 lazy dogs; they'll see it's fine!",
        "contractions": "I'M you'Re he'S we'VE they'LL 'twas o'clock ' s '' 's'S \u2019s '\u017f x",
        "code": 'def f(x):\n    """Doc."""\n    if x >= 10:\n\treturn {"a": [1, 2.5e-3]}\n\n\n# end\n',
        "accents": "Où est l'été ? Größe, naïve façade, Dvořák, Ångström, ÇA VA",
        "combining": "e\u0301te\u0301 n\u0303o a\u0308\u0323\u0301b \u0301 x\u20dd \u0e01\u0e34\u0e19\u0e49\u0e33 यह है",
        "cjk": "春天来了，河边的柳树发了新芽。きょうは晴れ。한국어 문장입니다. 𠮷野家",
        "cyrillic": "Съешь же ещё этих мягких французских булок, да выпей чаю",
        "rtl": "שלום עולם مرحبا بالعالم ١٢٣٤",
        "emoji": "🙂🙃🚀 👩‍👩‍👧‍👦 🇫🇷🇯🇵 👍🏽 ❤️ a🙂b 1🚀2",
        "numbers": "1 12 123 1234 12345678 ½ ² Ⅷ ১২৩ 3.14 1,000,000 ㊿",
        "spaces": "a  b   c    d          e  \n  f\n\n g \t\t h\r\n\r\n  i   ",
        "long spaces": " " * 300 + "x" + "\n" * 200 + "y" + "\t" * 150 + " z" + " " * 100,
        "unicode spaces": "a\u00a0b\u00a0\u00a0c\u3000d\u3000\u3000e\u2028f\u2029g\u0085h\u202f\u205f\u1680i",
        "not spaces": "a\u180eb \u180e c\u200bd\u200b \u2060 e\ufefff\u001cg\u001fh \u001c i",
        "controls": "".join(chr(i) for i in range(32)) + "\x7f\x80\x9f" + "\0\0a\0",
        "line ends": "a\nb\r\nc\rd\n\r\n\r!\n?\r\n...\n\n- x\n",
        "punctuation": "!!!??? ---- ...!\n (((a))) [[b]] <<c>> \"d\" `e` ~~f~~ #g @h $i %j ^k &l *m _n_ +o =p |q \\r /s",
        "specials as text": "a<|endoftext|>b <|endoftext|> <|end",
        "noncharacters": "\uffff\ufffe\U0010ffff\U000e0001\ue000 \U000f0000a",
        "long word": "ab" * 200 + " " + "x" * 500 + " 7" + "8" * 100 + "-" * 200,
        "latin-1 noise": bytes(generator.randrange(256) for _ in range(700)).decode("latin-1"),
        "code point noise": "".join(
            chr(generator.choice([generator.randrange(0xD800), generator.randrange(0xE000, 0x110000)]))
            for _ in range(200)
        ),
        "mixed noise": "".join(
            generator.choice("ab'st 12 \n\t.-é\u0301春🙂\u00a0lvdmre") for _ in range(1000)
        ),
    }
    cases = {name: text.encode() for name, text in cases.items()}
    cases["invalid lone"] = b"abc\xff def\x80\x80 \xc3(\xa0\xa1 g\xe2\x82 h\xf0\x9f\x99 i \xed\xa0\x80 \xc0\xaf \xf5"
    cases["invalid after spaces"] = b"a  \xff  b\n\n\xfe\xfe  \xe2\x82\xac\xe2\x82   "
    cases["random bytes"] = bytes(generator.randrange(256) for _ in range(900))
    return cases


def segments(data):
    """The maximal well-formed parts and the runs of other bytes, in order: (text or None, bytes)."""
    parts = []
    while data:
        try:
            text, bad = data.decode(), 0
        except UnicodeDecodeError as error:
            text, bad = data[: error.start].decode(), error.end - error.start
        if text:
            parts.append((text, text.encode()))
        invalid = data[len(text.encode()) :][:bad]
        if invalid and parts and parts[-1][0] is None:
            parts[-1] = (None, parts[-1][1] + invalid)
        elif invalid:
            parts.append((None, invalid))
        data = data[len(text.encode()) + bad :]
    return parts


def byte_of_char():
    kept = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table, stand_in = {}, 256
    for byte in range(256):
        if byte in kept:
            table[chr(byte)] = byte
        else:
            table[chr(stand_in)] = byte
            stand_in += 1
    return table


def tiktoken_encoding(vocab, pattern):
    table = byte_of_char()
    ranks = {bytes(table[c] for c in text): i for text, i in vocab.items() if text != END_OF_TEXT}
    special = {END_OF_TEXT: vocab[END_OF_TEXT]}
    return tiktoken.Encoding("golden", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


class Encoder:
    """Both packages on one vocabulary."""

    def __init__(self, tokenizer, pattern):
        self.tokenizer = tokenizer
        self.tiktoken = tiktoken_encoding(tokenizer.get_vocab(), pattern)
        # Encoding text that spells a special token as plain text.
        self.plain = Tokenizer.from_str(tokenizer.to_str())
        self.plain.encode_special_tokens = True

    def ids(self, name, data):
        result = []
        for text, raw in segments(data):
            if text is None:
                # Neither package takes these bytes; as one piece tiktoken merges them.
                result += self.tiktoken._core_bpe.encode_single_piece(raw)
                continue
            ids = self.plain.encode(text, add_special_tokens=False).ids
            other = self.tiktoken.encode_ordinary(text)
            assert ids == other, f"{name}: tokenizers {ids} tiktoken {other}"
            result += ids
        return result

    def parsed(self, text):
        ids = self.tokenizer.encode(text, add_special_tokens=False).ids
        assert ids == self.tiktoken.encode(text, allowed_special="all")
        return ids


def train(pre_tokenizer, **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(
        vocab_size=900,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([training_text()], trainer)
    return tokenizer


def llama3_pre_tokenizer():
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(LLAMA3_PATTERN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


def merges_without_ties():
    """Words with counts, and the merges that `tokenizers` learns from them.

    Its rule for ties is another than ours, so the list ends before the first tie; a plain
    reference in this function looks for that.
    """
    generator = random.Random(3)
    words = sorted({
        "".join(generator.choice("abcdeé") for _ in range(generator.randrange(2, 9))) for _ in range(120)
    })
    counts = {word: generator.randrange(1, 400) for word in words}
    split = {word: [bytes([b]) for b in word.encode()] for word in words}
    untied = 0
    while True:
        pairs = {}
        for word, symbols in split.items():
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] = pairs.get(pair, 0) + counts[word]
        best = max(pairs.values(), default=0)
        winners = [pair for pair, count in pairs.items() if count == best]
        if len(winners) != 1:
            break
        untied += 1
        for symbols in split.values():
            i = 0
            while i + 1 < len(symbols):
                if (symbols[i], symbols[i + 1]) == winners[0]:
                    symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
                i += 1
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + untied,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = "\n".join("\n".join([word] * counts[word]) for word in words)
    # Each word by itself, so that the separator is in no word.
    tokenizer.train_from_iterator(text.split("\n"), trainer)
    table = byte_of_char()
    spell = lambda text: bytes(table[c] for c in text).hex()
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return {
        "words": [[word.encode().hex(), counts[word]] for word in words],
        "merges": [[spell(left), spell(right)] for left, right in merges],
    }


def full_gpt2(folder):
    tokenizer = Tokenizer(models.BPE.from_file(f"{folder}/gpt2_vocab.json", f"{folder}/gpt2_merges.txt"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer


def main():
    gpt2 = train(pre_tokenizers.ByteLevel(add_prefix_space=False))
    gpt2.save(str(HERE / "gpt2_style.json"), pretty=False)
    llama3 = train(llama3_pre_tokenizer(), ignore_merges=True)
    llama3.save(str(HERE / "llama3_style.json"), pretty=False)
    encoders = {"gpt2_style": Encoder(gpt2, GPT2_PATTERN), "llama3_style": Encoder(llama3, LLAMA3_PATTERN)}
    if len(sys.argv) > 1:
        encoders["gpt2"] = Encoder(full_gpt2(sys.argv[1]), GPT2_PATTERN)
    special_text = f"one{END_OF_TEXT}two {END_OF_TEXT}{END_OF_TEXT} <|endoftext <{END_OF_TEXT}>"
    golden = {
        "texts": [
            {"name": name, "hex": data.hex(), **{key: e.ids(name, data) for key, e in encoders.items()}}
            for name, data in texts().items()
        ],
        "special": {"text": special_text, **{key: e.parsed(special_text) for key, e in encoders.items()}},
        "training": merges_without_ties(),
    }
    (HERE / "cases.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{len(golden['texts'])} texts, {len(golden['training']['merges'])} merges without ties")


if __name__ == "__main__":
    main()
