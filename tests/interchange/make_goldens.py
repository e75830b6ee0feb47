"""Writes the folders beside this script: tiny random Llama models and their logits.

    python3 -m venv build/interchange-venv
    build/interchange-venv/bin/pip install torch transformers tokenizers safetensors
    build/interchange-venv/bin/python tests/interchange/make_goldens.py

Each folder is what transformers saved, with `expected.safetensors` added: 200 ids, the logits of
every 16th id of the vocabulary at each of the 200 positions, and their logsumexp over all ids.
"""

import pathlib
import shutil

import torch
from safetensors.torch import save_file

import llamas

HERE = pathlib.Path(__file__).parent
POSITIONS = 200
EVERY = 16

CASES = {
    # Grouped heads, separate output matrix.
    "grouped": dict(seed=1),
    # Tied matrices, Llama 3's scaling, 16 bits, in several files.
    "llama3": dict(seed=2, dtype=torch.bfloat16, shard_size="10KB", tie_word_embeddings=True,
                   num_attention_heads=2, num_key_value_heads=1, rms_norm_eps=1e-6,
                   rope_parameters=dict(llamas.LLAMA3, rope_theta=500.0)),
    # Biases everywhere, linear scaling.
    "biases": dict(seed=3, dtype=torch.float16, attention_bias=True, mlp_bias=True,
                   num_attention_heads=2, num_key_value_heads=2,
                   rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 100.0}),
}


def main():
    for name, options in CASES.items():
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        shard_size = options.pop("shard_size", "1GB")
        model = llamas.make_llama(**options)
        llamas.save(model, folder, shard_size)
        (folder / "generation_config.json").unlink(missing_ok=True)
        ids = torch.randint(0, 257, (POSITIONS,)).tolist()
        all_logits = llamas.logits(llamas.load(folder), ids)
        save_file({"ids": torch.tensor(ids, dtype=torch.int32),
                   "logits": all_logits[:, ::EVERY].contiguous(),
                   "logsumexp": all_logits.logsumexp(-1)}, folder / "expected.safetensors")


if __name__ == "__main__":
    main()
