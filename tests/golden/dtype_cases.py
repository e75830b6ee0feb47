"""One tensor of every dtype, for the file format itself."""

import torch

from group import Group


def make():
    group = Group()
    group.tensors = {
        "f64": torch.tensor([[1.0, -0.0], [1e-300, torch.inf]]),
        "f32": torch.tensor([0.1, -2.5, torch.nan], dtype=torch.float32),
        "bf16": torch.tensor([1.0, 3.140625, -256.0], dtype=torch.bfloat16),
        "f16": torch.tensor([[0.5], [65504.0], [6e-8]], dtype=torch.float16),
        "i32": torch.tensor([[-2147483648, 0, 2147483647]], dtype=torch.int32),
        "bool": torch.tensor([True, False, True]),
        "scalar": torch.tensor(7.0),
        "empty": torch.zeros(0, 3, dtype=torch.float32),
        'odd name "\u00e9"\n': torch.ones(1),
    }
    return group
