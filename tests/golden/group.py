"""Collects golden cases and writes each group of them as one safetensors file."""

import json
import zlib

import torch
from safetensors.torch import save


class Case:
    """One case: random inputs and parameters, the output, and the gradients of all of them.

    Numbers come from a generator seeded by the case's name, so adding a case changes no other.
    """

    def __init__(self, name, tensors):
        self.name = name
        self.tensors = tensors
        self.leaves = {}
        self.generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator)

    def uniform(self, low, high, *shape):
        return low + (high - low) * torch.rand(shape, generator=self.generator)

    def integers(self, high, *shape):
        return torch.randint(high, shape, generator=self.generator)

    def distinct(self, *shape):
        """Values at least 0.1 apart in random order: sorting them has one answer."""
        count = torch.Size(shape).numel()
        order = torch.randperm(count, generator=self.generator)
        return ((order - count / 2) * 0.17).reshape(shape)

    def store(self, name, value):
        value = value.detach()
        if not value.is_floating_point():
            value = value.to(torch.int32)
        self.tensors[f"{self.name}/{name}"] = value.clone(memory_format=torch.contiguous_format)

    def input(self, name, value):
        """An input; it gets a gradient if it is floating point."""
        return self.leaf(f"in.{name}", name, value) if value.is_floating_point() \
            else self.constant(name, value)

    def constant(self, name, value):
        self.store(f"in.{name}", value)
        return value

    def param(self, key, value):
        return self.leaf(f"param.{key}", key, value)

    def params(self, shapes, embedding_scale=1.0):
        """A state dict of the given shapes at scales that keep activations near one."""
        state = {}
        for key, shape in shapes.items():
            embedding = key == "token_embeddings.weight"
            value = embedding_scale * self.normal(*shape) if embedding else self.initial(key, shape)
            state[key] = self.param(key, value)
        return state

    def initial(self, key, shape):
        if key.endswith("bias"):
            return 0.2 * self.normal(*shape)
        if len(shape) == 1:
            return 1.0 + 0.2 * self.normal(*shape)
        return self.normal(*shape) * shape[1] ** -0.5

    def leaf(self, stored_name, name, value):
        self.store(stored_name, value)
        self.leaves[name] = value.detach().clone().requires_grad_()
        return self.leaves[name]

    def finish(self, out, **others):
        """Stores `out`, weights for it, and the gradient of the weighted sum."""
        self.value(out, **others)
        weights = self.normal(*out.shape)
        self.store("grad_out", weights)
        self.gradients(out, weights)

    def value(self, out, **others):
        """Stores `out` and no gradient."""
        self.store("out", out)
        for name, tensor in others.items():
            self.store(f"out.{name}", tensor)

    def gradients(self, out, weights):
        grads = torch.autograd.grad(out, list(self.leaves.values()), weights)
        for name, grad in zip(self.leaves, grads):
            assert torch.isfinite(grad).all(), f"{self.name}: gradient of {name} is not finite"
            self.store(f"grad.{name}", grad)


class Group:
    """The cases of one file."""

    def __init__(self):
        self.tensors = {}
        self.cases = {}

    def case(self, name, layer, f64_only=False, **options):
        assert name not in self.cases, name
        self.cases[name] = {"layer": layer, "options": options}
        if f64_only:
            self.cases[name]["f64_only"] = True
        return Case(name, self.tensors)

    def write(self, path):
        # One metadata key only: the writer does not promise an order among several.
        path.write_bytes(save(self.tensors, metadata={"cases": json.dumps(self.cases)}))
