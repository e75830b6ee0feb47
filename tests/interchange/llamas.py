"""Random Llama models as transformers makes them, small enough to keep, with tokenizers."""

import json
import math

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

END_OF_TEXT = "<|endoftext|>"

LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}


def byte_tokenizer():
    """Every byte a token, no merges, and one special token: 257 ids."""
    vocab = {text: i for i, text in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END_OF_TEXT])
    return tokenizer


def make_llama(seed, dtype=torch.float32, **options):
    """A model whose weights and norms are far from their usual start, so that nothing cancels."""
    torch.manual_seed(seed)
    settings = dict(vocab_size=257, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
                    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=256,
                    rms_norm_eps=1e-5, bos_token_id=None, eos_token_id=256, pad_token_id=None)
    settings.update(options)
    model = LlamaForCausalLM(LlamaConfig(**settings)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(0, 1 / math.sqrt(parameter.shape[1]))
            elif name.endswith("norm.weight"):
                parameter.uniform_(0.5, 1.5)
            else:
                parameter.normal_(0, 0.3)
    return model.to(dtype)


def save(model, folder, shard_size="1GB"):
    """The folder as transformers writes it, with tokenizer.json."""
    model.save_pretrained(folder, max_shard_size=shard_size)
    byte_tokenizer().save(f"{folder}/tokenizer.json")
    # A trailing line end, and no version that would change the file with every release.
    with open(f"{folder}/config.json") as file:
        config = json.load(file)
    config.pop("transformers_version", None)
    with open(f"{folder}/config.json", "w") as file:
        file.write(json.dumps(config, indent=2, sort_keys=True) + "\n")
    return config


def load(folder):
    """The model in f32. (One that was converted to 16 bits would keep rounded RoPE frequencies.)"""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


def logits(model, ids):
    """[T, V]."""
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0]
