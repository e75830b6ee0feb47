"""Compares the program with transformers, llama.cpp and Python's safetensors, on random models and
on models that it trains itself.

    build/interchange-venv/bin/pip install torch transformers tokenizers safetensors \\
        xllamacpp
    build/interchange-venv/bin/python tests/interchange/check_programs.py build/release/tapir

xllamacpp is llama.cpp as a package; without it the checks of GGUF files are left out.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoTokenizer

import llamas

try:
    import xllamacpp
except ImportError:
    xllamacpp = None

PROGRAM = sys.argv[1]
TEXT = ("The cat number 12 sat on the mat, and didn't see the other cats. Caf\u00e9s \u20ac5!\n\n"
        "  \u732b\u306f\u30de\u30c3\u30c8 sat again; then it left.\n") * 2
PROMPT = "The cat number"
failures = 0


def report(what, good, detail=""):
    global failures
    failures += not good
    print(f"{'ok  ' if good else 'FAIL'} {what} {detail}", flush=True)


def tapir(*arguments):
    result = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"tapir {' '.join(map(str, arguments))}:\n{result.stderr}")
    return result.stdout


def compare_losses(what, run, folder, text_file):
    """The loss of every token of a text, of `run` by this program and of `folder` by transformers."""
    lines = [json.loads(line) for line in
             tapir("eval", run, "--data", text_file, "--per-token").splitlines()]
    ids, losses = [line["id"] for line in lines], [line["loss"] for line in lines]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    report(f"{what}: ids", ids == tokenizer.encode(TEXT, add_special_tokens=False))
    model = llamas.load(folder)
    logits = llamas.logits(model, [tokenizer.convert_tokens_to_ids(llamas.END_OF_TEXT)] + ids)
    theirs = torch.nn.functional.cross_entropy(logits[:-1], torch.tensor(ids), reduction="none")
    worst = (theirs.double() - torch.tensor(losses).double()).abs().max().item()
    report(f"{what}: losses of {len(ids)} tokens", worst <= 1e-5, f"largest difference {worst:.1e}")


def greedy(run, count=48):
    return tapir("generate", run, "--prompt", PROMPT, "--tokens", count, "--temperature", 0,
                 "--no-echo", "--threads", 1).removesuffix("\n")


def greedy_transformers(folder, count=48):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = llamas.load(folder)
    ids = torch.tensor([tokenizer(PROMPT).input_ids])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False,
                         max_new_tokens=count, pad_token_id=0)
    return tokenizer.decode(out[0, ids.shape[1]:], skip_special_tokens=True,
                            clean_up_tokenization_spaces=False)


def greedy_llama_cpp(file, count=48):
    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_parallel, params.warmup = 256, 1, False
    params.cpuparams.n_threads = 1
    server = xllamacpp.Server(params)
    out = server.handle_completions({"prompt": PROMPT, "max_tokens": count, "temperature": 0})
    return out["choices"][0]["text"]


def check_random_llamas(work, text_file):
    small = dict(hidden_size=64, intermediate_size=96, num_attention_heads=8,
                 num_key_value_heads=2, num_hidden_layers=3, max_position_embeddings=512)
    cases = {
        "untied, grouped": dict(seed=11),
        "tied": dict(seed=12, tie_word_embeddings=True),
        "llama3 scaling": dict(seed=13, rope_parameters=dict(llamas.LLAMA3, rope_theta=5e5)),
        "linear scaling": dict(seed=14, rope_parameters={"rope_type": "linear", "factor": 2.0,
                                                         "rope_theta": 1e4}),
        "biases": dict(seed=15, attention_bias=True, mlp_bias=True),
        "bf16": dict(seed=16, dtype=torch.bfloat16),
        "f16": dict(seed=17, dtype=torch.float16),
    }
    for name, options in cases.items():
        folder = work / name.replace(", ", "-").replace(" ", "-")
        model = llamas.make_llama(**dict(small, **options))
        llamas.save(model, folder, shard_size="100KB" if name == "bf16" else "1GB")
        (folder / "tokenizer_config.json").write_text(json.dumps(
            {"tokenizer_class": "PreTrainedTokenizerFast"}))
        run, back, gguf = folder / "run", folder / "back", folder / "model.gguf"
        tapir("import", folder, "--out", run)
        compare_losses(f"{name}, imported", run, folder, text_file)
        tapir("export", run, "--format", "hf", "--out", back)
        compare_losses(f"{name}, exported again", run, back, text_file)
        if xllamacpp and name != "f16":
            tapir("export", run, "--format", "gguf", "--out", gguf)
            report(f"{name}: text of llama.cpp", greedy_llama_cpp(gguf, 16) == greedy(run, 16))


def check_trained(work, text_file):
    sentences = [f"The cat number {i} sat on the mat and saw the other cats.\n" for i in range(400)]
    corpora = {"one text": work / "cats.txt", "documents": work / "cats"}
    corpora["one text"].write_text("".join(sentences))
    corpora["documents"].mkdir()
    for i in range(0, 400, 10):
        (corpora["documents"] / f"{i}.txt").write_text("".join(sentences[i:i + 10]))
    for corpus, data in corpora.items():
        for tokenizer in ("byte", "bpe:320"):
            name = f"trained on {corpus}, {tokenizer}"
            folder = work / name.replace(" ", "-").replace(",", "").replace(":", "-")
            run, back = folder / "run", folder / "hf"
            tapir("train", "--data", data, "--out", run, "--tokenizer", tokenizer, "--layers", 2,
                  "--heads", 4, "--kv-heads", 2, "--d-model", 64, "--context", 256, "--batch", 4,
                  "--steps", 80, "--sample-every", 0, "--eval-every", 0, "--qkv-bias")
            tapir("export", run, "--format", "hf", "--out", back)
            compare_losses(name, run, back, text_file)
            report(f"{name}: greedy text of transformers", greedy_transformers(back) == greedy(run))
            if xllamacpp:
                for dtype in ("f32", "f16"):
                    gguf = folder / f"{dtype}.gguf"
                    tapir("export", run, "--format", "gguf", "--dtype", dtype, "--out", gguf)
                    report(f"{name}: greedy text of llama.cpp, {dtype}",
                           greedy_llama_cpp(gguf) == greedy(run), repr(greedy(run)[:30]))


def check_safetensors(work):
    """Python reads what the program wrote, and the program reads what Python rewrote."""
    run = next(work.glob("trained-*/run"))
    file = (run / "checkpoints" / "last" / "model.safetensors").resolve()
    before = greedy(run)
    tensors = load_file(file)
    report("safetensors: Python reads the program's file", len(tensors) > 10 and all(
        value.dtype == numpy.float32 and numpy.isfinite(value).all() for value in tensors.values()))
    save_file(tensors, file)
    report("safetensors: the program reads Python's file", greedy(run) == before)


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        text_file = work / "text.txt"
        text_file.write_text(TEXT)
        check_random_llamas(work, text_file)
        check_trained(work, text_file)
        check_safetensors(work)
    print(f"{failures} failures" + ("" if xllamacpp else "; llama.cpp was not there"))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
