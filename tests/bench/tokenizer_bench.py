"""Sets the tokenizers beside Hugging Face tokenizers and tiktoken, in one run on one machine.

    pip install tokenizers tiktoken numpy
    python tests/bench/tokenizer_bench.py BUILD_FOLDER GPT2_FOLDER [--text FILE] [--rounds 3]

GPT2_FOLDER holds gpt2_vocab.json and gpt2_merges.txt. Without --text the text is made of the Python
sources of this interpreter's standard library and packages, up to 111 MB. The programs take turns,
round after round, so that what else runs on the machine slows all of them alike; the best round of
each counts.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sysconfig
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "2"
os.environ["TOKENIZERS_PARALLELISM"] = "true"

import numpy
import tiktoken
import tokenizers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
TEXT_BYTES = 111_000_000
ENCODE_BYTES = 20_000_000
DOCUMENT = 20_000
VOCAB = 10_000


def python_sources(path):
    written = 0
    with open(path, "wb") as out:
        for source in sorted(pathlib.Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
            try:
                text = source.read_bytes()
                text.decode()
            except (OSError, UnicodeDecodeError):
                continue
            out.write(text)
            written += len(text)
            if written >= TEXT_BYTES:
                break


def byte_of_char():
    kept = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    rest = [byte for byte in range(256) if byte not in kept]
    return {chr(b): b for b in kept} | {chr(256 + i): b for i, b in enumerate(rest)}


class Rivals:
    def __init__(self, text_path, gpt2):
        self.text_path = str(text_path)
        self.text = pathlib.Path(text_path).read_bytes()[:ENCODE_BYTES].decode(errors="ignore")
        self.documents = [self.text[i : i + DOCUMENT] for i in range(0, len(self.text), DOCUMENT)]
        self.megabytes = len(self.text.encode()) / 1e6
        self.hf = Tokenizer(models.BPE.from_file(f"{gpt2}/gpt2_vocab.json", f"{gpt2}/gpt2_merges.txt"))
        self.hf.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        table = byte_of_char()
        vocab = json.loads(pathlib.Path(f"{gpt2}/gpt2_vocab.json").read_text())
        ranks = {bytes(table[c] for c in k): i for k, i in vocab.items() if k != END_OF_TEXT}
        self.tiktoken = tiktoken.Encoding(
            "gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: 50256}
        )

    def train(self):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=VOCAB,
            special_tokens=[END_OF_TEXT],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        begin = time.perf_counter()
        tokenizer.train([self.text_path], trainer)
        return time.perf_counter() - begin

    def encode_hf(self):
        begin = time.perf_counter()
        self.hf.encode_batch(self.documents)
        return self.megabytes / (time.perf_counter() - begin)

    def encode_tiktoken(self, threads):
        begin = time.perf_counter()
        self.tiktoken.encode_ordinary_batch(self.documents, num_threads=threads)
        return self.megabytes / (time.perf_counter() - begin)


def ours(program, *words):
    output = subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in output.stdout.splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("gpt2")
    parser.add_argument("--text")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.build) / "tests" / "tokenizer_bench"
    with tempfile.TemporaryDirectory() as folder:
        text = arguments.text or f"{folder}/text.txt"
        if not arguments.text:
            python_sources(text)
        rivals = Rivals(text, arguments.gpt2)
        times = {"train": [], "train_hf": []}
        speeds = {"1": [], "2": [], "hf": [], "tiktoken1": [], "tiktoken2": []}
        for _ in range(arguments.rounds):
            times["train"].append(ours(program, "train", text, VOCAB)[0]["seconds"])
            times["train_hf"].append(rivals.train())
            for line in ours(program, "encode", text, arguments.gpt2, f"{folder}/ids"):
                speeds[str(line["threads"])].append(line["mb_per_s"])
            speeds["tiktoken1"].append(rivals.encode_tiktoken(1))
            speeds["tiktoken2"].append(rivals.encode_tiktoken(2))
            speeds["hf"].append(rivals.encode_hf())
        ids = numpy.fromfile(f"{folder}/ids", dtype=numpy.int32)
        # The last characters may be cut differently.
        reference = numpy.array(rivals.tiktoken.encode_ordinary(rivals.text)[:-8])
        equal = numpy.array_equal(ids[: len(reference)], reference)
        size = os.path.getsize(text) / 1e6
    train, train_hf = min(times["train"]), min(times["train_hf"])
    best = {name: max(values) for name, values in speeds.items() if values}
    print(f"text: {size:.0f} MB; {os.cpu_count()} processors; best of {arguments.rounds} rounds")
    print(f"train {VOCAB} tokens: tapir {train:.2f} s, "
          f"tokenizers {tokenizers.__version__} {train_hf:.2f} s: {train_hf / train:.1f} times faster")
    print(f"encode with GPT-2's vocabulary, 1 thread: tapir {best['1']:.1f} MB/s, "
          f"tiktoken {tiktoken.__version__} {best['tiktoken1']:.1f} MB/s: "
          f"{best['1'] / best['tiktoken1']:.1f} times")
    if "2" in best:
        print(f"2 threads: tapir {best['2']:.1f} MB/s, tiktoken {best['tiktoken2']:.1f} MB/s "
              f"({best['2'] / best['tiktoken2']:.1f} times), tokenizers {best['hf']:.1f} MB/s "
              f"({best['2'] / best['hf']:.1f} times)")
    print(f"the ids are {'equal' if equal else 'NOT EQUAL'}")


if __name__ == "__main__":
    main()
