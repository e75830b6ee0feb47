"""Sets text generation of Tapir beside llama.cpp's, in turns on one machine.

    python tests/bench/generation.py PROGRAM [--models 15M,110M] [--rounds 5] [--tokens 128]

PROGRAM is tapir. Needs the packages xllamacpp (llama.cpp) and gguf. Tapir trains a model of each
size for one step, with 32,000 tokens of a text of made-up words, and exports it as GGUF in f32 and
bf16; the f32 file is rewritten as q8_0, which is llama.cpp's format of 8 bits with a scale for each
group of 32, as Tapir's int8 is. Both sides take the likeliest token each time, at batch 1 with two
threads, after the same prompt. Each round starts every program anew, one after the other, so that
what else runs slows all of them alike; the table has medians.
"""

import argparse
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

# layers, heads, width, feed-forward width
MODELS = {"15M": (6, 6, 288, 768), "110M": (12, 12, 768, 2048)}
VOCABULARY = 32000
THREADS = 2
PROMPT_WORDS = 60


def made_up_text(words):
    """Enough different words for the merges of the vocabulary."""
    generator = random.Random(1)
    syllables = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "ar", "en", "ol")]
    names = ["".join(generator.choices(syllables, k=generator.randint(2, 4))) for _ in range(40000)]
    return " ".join(generator.choices(names, k=words))


def train_one_step(program, sizes, text, folder):
    layers, heads, width, hidden = sizes
    data, run = os.path.join(folder, "text.txt"), os.path.join(folder, "run")
    with open(data, "w") as file:
        file.write(text)
    subprocess.run([program, "train", "--data", data, "--out", run, "--tokenizer",
                    f"bpe:{VOCABULARY}", "--layers", str(layers), "--heads", str(heads), "--d-model",
                    str(width), "--d-ff", str(hidden), "--context", "256", "--batch", "1", "--steps",
                    "1", "--eval-every", "0"], check=True, capture_output=True)
    return run


def rewrite_as_q8_0(source, target):
    """Writes a GGUF file again with its matrices as q8_0."""
    import gguf

    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "llama")
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        kind = field.types[0]
        element = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), kind, element)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    q8_0 = gguf.GGMLQuantizationType.Q8_0
    for tensor in reader.tensors:
        if len(tensor.shape) < 2:
            writer.add_tensor(tensor.name, tensor.data)
        else:
            writer.add_tensor(tensor.name, gguf.quants.quantize(tensor.data, q8_0), raw_dtype=q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def run_llama(model, tokens, prompt):
    """Prompt and new tokens per second. Runs in a process of its own: `--llama` below."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel, params.n_predict = 256, 1, tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
    params.warmup = True
    params.cache_prompt = False
    server = xllamacpp.Server(params)
    request = {"prompt": prompt, "n_predict": tokens, "temperature": 0, "ignore_eos": True}
    timings = server.handle_completions(request)["timings"]
    return timings["prompt_per_second"], timings["predicted_per_second"]


def llama(model, tokens, prompt):
    command = [sys.executable, os.path.abspath(__file__), "--llama", model, str(tokens), prompt]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


def tapir(program, run, weights, tokens, prompt):
    command = [program, "generate", run, "--prompt", prompt, "--tokens", str(tokens), "--threads",
               str(THREADS), "--temperature", "0", "--weights", weights]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    prompt_rate, rate = re.search(r"prompt: .*?, (\S+ ?[kM]?) tokens/s; generated: .*?, (\S+ ?[kM]?) tokens/s",
                                  text).groups()
    return number(prompt_rate), number(rate)


def number(text):
    digits, _, unit = text.partition(" ")
    return float(digits) * {"": 1, "k": 1e3, "M": 1e6}[unit]


def compare(sizes, options):
    """For each program its rates, (prompt, generated) tokens per second, a pair for each round."""
    text = made_up_text(2_000_000)
    prompt = " ".join(text.split(" ", PROMPT_WORDS)[:PROMPT_WORDS])
    with tempfile.TemporaryDirectory() as folder:
        run = train_one_step(options.program, sizes, text, folder)
        files = {name: os.path.join(folder, f"{name}.gguf") for name in ("f32", "bf16", "q8_0")}
        for name in ("f32", "bf16"):
            subprocess.run([options.program, "export", run, "--format", "gguf", "--dtype", name,
                            "--out", files[name]], check=True, capture_output=True)
        rewrite_as_q8_0(files["f32"], files["q8_0"])
        sides = {}
        for ours, theirs in (("f32", "f32"), ("bf16", "bf16"), ("int8", "q8_0")):
            sides[f"Tapir {ours}"] = lambda weights=ours: tapir(
                options.program, run, weights, options.tokens, prompt)
            sides[f"llama.cpp {theirs}"] = lambda file=files[theirs]: llama(
                file, options.tokens, prompt)
        rates = {side: [] for side in sides}
        for _ in range(options.rounds):
            for side, measure in sides.items():
                rates[side].append(measure())
    return rates


def main():
    if sys.argv[1] == "--llama":
        print(json.dumps(run_llama(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--models", default="15M,110M")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=128)
    options = parser.parse_args()
    load = math.ceil(os.getloadavg()[0])
    print(f"{os.cpu_count()} processors, {THREADS} threads, load {load} when the run began, "
          f"{options.rounds} rounds of {options.tokens} tokens.\n")
    print("| model | program and weights | tokens/s: median (lowest to highest) | prompt tokens/s |")
    print("|---|---|---|---|")
    for name in options.models.split(","):
        for side, values in compare(MODELS[name], options).items():
            prompts, rates = zip(*values)
            print(f"| {name} | {side} | {statistics.median(rates):.0f} ({min(rates):.0f} to "
                  f"{max(rates):.0f}) | {statistics.median(prompts):.0f} |", flush=True)


if __name__ == "__main__":
    main()
