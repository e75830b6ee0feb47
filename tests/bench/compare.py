"""Sets training steps of Tapir beside PyTorch's, eager and compiled, in turns on one machine.

    TAPIR_BENCH=BUILD_FOLDER/tests/train_bench python tests/bench/compare.py [--models A,B] [--rounds 5]
    ... --device cuda --models 17M,124M --precision bf16 [--peak TFLOPS]
    ... --precision f32,high,bf16

compare.sh builds train_bench, runs this and writes docs/benchmarks.md. Both sides start from the
same weights and train on the same batches, which they exchange as a safetensors file, and their
losses over ten steps must agree to 1e-4. The programs take turns, round after round, so that what
else runs on the machine slows all of them alike. Of the precisions, f32 and bf16 (in PyTorch:
autocast) are those of both sides; high is Tapir's products of f32 in two parts of bf16.
"""

import argparse
import dataclasses
import json
import math
import os
import platform
import statistics
import struct
import subprocess
import tempfile
import time

import torch
import torch.nn.functional as F
from torch import nn

# layers, width, heads, context, batch, vocabulary, feed-forward width, steps of a round
MODELS = {
    "A": (4, 128, 4, 64, 12, 65, 344, 20),
    "B": (6, 384, 6, 256, 16, 10000, 1024, 3),
    "C": (12, 768, 12, 256, 4, 50257, 2048, 2),
    "17M": (4, 512, 8, 256, 32, 10000, 1376, 20),
    "124M": (12, 768, 12, 1024, 8, 50304, 2048, 10),
}
CHECKED_STEPS = 10
# Of the losses of ten steps against PyTorch's in f32, where that runs. bf16 rounds to 8 bits, in
# another order on each side.
TOLERANCE = {"f32": 1e-4, "high": 1e-4, "bf16": 0.05}


@dataclasses.dataclass(frozen=True)
class Program:
    name: str  # Tapir, or PyTorch and its mode
    precision: str

    def __str__(self):
        return self.name if self.precision == "f32" else f"{self.name}, {self.precision}"


def programs_of(options):
    precisions = options.precision.split(",")
    tapir = [Program("Tapir", precision) for precision in precisions]
    torch_modes = [mode for mode in options.modes.split(",") if mode]
    return tapir + [Program(f"PyTorch {mode}", precision) for precision in precisions
                    if precision != "high" for mode in torch_modes]


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


class Block(nn.Module):
    """Queries, keys and values are one product, as are gate and up: what is fastest in PyTorch."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads, self.hidden = heads, hidden
        self.ln1, self.ln2 = RMSNorm(width), RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.output = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin):
        batch, length, width = x.shape
        parts = self.qkv(self.ln1(x)).split(width, -1)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        y = F.scaled_dot_product_attention(rotate(q, cos, sin), rotate(k, cos, sin), v,
                                           is_causal=True)
        x = x + self.output(y.transpose(1, 2).reshape(batch, length, width))
        gate, up = self.up(self.ln2(x)).split(self.hidden, -1)
        return x + self.down(F.silu(gate) * up)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Transformer(nn.Module):
    def __init__(self, layers, width, heads, length, vocab, hidden):
        super().__init__()
        self.embeddings = nn.Embedding(vocab, width)
        self.blocks = nn.ModuleList(Block(width, heads, hidden) for _ in range(layers))
        self.ln_final = RMSNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        size = width // heads
        frequency = 10000.0 ** (-torch.arange(0, size, 2).double() / size)
        angles = torch.outer(torch.arange(length).double(), frequency)
        self.register_buffer("cos", angles.cos().float())
        self.register_buffer("sin", angles.sin().float())

    def forward(self, ids, targets):
        x = self.embeddings(ids)
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        logits = self.head(self.ln_final(x))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def tapir_state(self):
        """The weights by Tapir's names."""
        state = {"token_embeddings.weight": self.embeddings.weight, "lm_head.weight": self.head.weight,
                 "ln_final.weight": self.ln_final.weight}
        for i, block in enumerate(self.blocks):
            q, k, v = block.qkv.weight.chunk(3)
            gate, up = block.up.weight.chunk(2)
            parts = {"ln1": block.ln1.weight, "ln2": block.ln2.weight, "attn.q_proj": q,
                     "attn.k_proj": k, "attn.v_proj": v, "attn.output_proj": block.output.weight,
                     "ffn.w1": gate, "ffn.w3": up, "ffn.w2": block.down.weight}
            state.update({f"layers.{i}.{name}.weight": weight for name, weight in parts.items()})
        return {name: weight.detach() for name, weight in state.items()}


def save_safetensors(path, tensors):
    header, data = {}, b""
    for name, tensor in tensors.items():
        content = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": {torch.float32: "F32", torch.int32: "I32"}[tensor.dtype],
                        "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class TorchSide:
    """A model with its optimizer, starting from given weights."""

    def __init__(self, program, sizes, weights, device):
        layers, width, heads, length, _, vocab, hidden, _ = sizes
        self.model = Transformer(layers, width, heads, length, vocab, hidden).to(device)
        self.model.load_state_dict(weights)
        self.device, self.autocast = device, program.precision == "bf16"
        matrices = [p for p in self.model.parameters() if p.dim() > 1]
        gains = [p for p in self.model.parameters() if p.dim() == 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": matrices, "weight_decay": 0.1}, {"params": gains, "weight_decay": 0.0}],
            lr=3e-4, betas=(0.9, 0.95), eps=1e-8, fused=True)
        compiled = program.name == "PyTorch compile"
        self.forward = torch.compile(self.model) if compiled else self.model
        self.steps = 0

    def run(self, ids, targets, steps):
        losses, times = [], []
        for _ in range(steps):
            batch = self.steps % len(ids)
            start, processor_start = time.perf_counter(), time.process_time()
            with torch.autocast(self.device, torch.bfloat16, enabled=self.autocast):
                loss = self.forward(ids[batch], targets[batch])
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            losses.append(loss.item())  # on a GPU this waits for the step
            times.append(((time.perf_counter() - start) * 1e3,
                          (time.process_time() - processor_start) * 1e3))
            self.steps += 1
        return losses, times


class TapirSide:
    """A process for each run, which starts from the weights in a file."""

    def __init__(self, program, path, sizes, options):
        layers, width, heads, _, _, _, hidden, _ = sizes
        precision = {"f32": "highest"}.get(program.precision, program.precision)
        self.command = lambda steps: [os.environ["TAPIR_BENCH"], path, *map(str, (
            layers, width, heads, hidden, steps, options.threads)), precision, options.device]

    def run(self, _ids, _targets, steps):
        warm_up = 2
        output = subprocess.run(self.command(steps + warm_up), check=True, capture_output=True,
                                text=True).stdout
        rows = [tuple(map(float, line.split())) for line in output.split("\n") if line]
        return [row[0] for row in rows], [row[1:] for row in rows[warm_up:]]


def processor():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.processor()


def check_losses(name, losses):
    """The largest difference of each program's losses from those of the reference."""
    reference = losses[next((p for p in losses if p.name != "Tapir"), next(iter(losses)))]
    differences = {}
    for program, values in losses.items():
        differences[program] = max(abs(a - b) for a, b in zip(values, reference))
        if not differences[program] < TOLERANCE[program.precision]:
            raise SystemExit(f"model {name}: the losses of {program} differ by "
                             f"{differences[program]:g}: {values} {reference}")
    return differences


def compare(name, options):
    sizes = MODELS[name]
    layers, width, heads, length, batch, vocab, hidden, steps = sizes
    torch.manual_seed(1)
    first = Transformer(layers, width, heads, length, vocab, hidden)
    for parameter in first.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, 0, 0.02)
    weights = {key: value.clone() for key, value in first.state_dict().items()}
    ids = torch.randint(vocab, (CHECKED_STEPS, batch, length), dtype=torch.int32)
    targets = ((ids.long() * 7 + 3) % vocab).int()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "start.safetensors")
        save_safetensors(path, {**first.tapir_state(), "ids": ids, "targets": targets})
        batches = ids.long().to(options.device), targets.long().to(options.device)
        sides = {program: TapirSide(program, path, sizes, options) if program.name == "Tapir"
                 else TorchSide(program, sizes, weights, options.device)
                 for program in programs_of(options)}
        differences = check_losses(name, {program: side.run(*batches, CHECKED_STEPS)[0][:CHECKED_STEPS]
                                          for program, side in sides.items()})
        times = {program: [] for program in sides}
        for _ in range(options.rounds):
            for program, side in sides.items():
                times[program] += side.run(*batches, steps)[1]
    return times, differences


def flops_per_step(sizes):
    """Of products, forward and backward: 6 a weight and token, and half of attention's square."""
    layers, width, _, length, batch, vocab, hidden, _ = sizes
    weights = layers * (4 * width * width + 3 * width * hidden) + width * vocab
    return 6 * batch * length * (weights + layers * width * length)


def report(name, times, differences, options):
    """Elapsed times, which other load on the machine lengthens, and processor times, which it hardly does."""
    def columns(program, kind):
        values = sorted(pair[kind] for pair in times[program])
        tenth = len(values) // 10
        return statistics.median(values), values[tenth], values[-1 - tenth]

    first = next(iter(times))
    for program in times:
        cells = []
        for kind in (0, 1):
            median, low, high = columns(program, kind)
            ratio = median / columns(first, kind)[0]
            cells += [f"{median:.1f} ({low:.1f} to {high:.1f})", f"{ratio:.2f}"]
        if options.device != "cpu":
            length, batch = MODELS[name][3:5]
            seconds = columns(program, 0)[0] / 1e3
            cells[2:] = [f"{batch * length / seconds:,.0f}"]
            if options.peak:
                share = flops_per_step(MODELS[name]) / seconds / (options.peak * 1e12)
                cells.append(f"{100 * share:.1f} %")
        print(f"| {name} | {program} | {' | '.join(cells)} | {differences[program]:.0e} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", default="A,B")
    parser.add_argument("--modes", default="eager,compile")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", default="f32", help="f32, high, bf16, or several, joined by commas")
    parser.add_argument("--peak", type=float, help="TFLOP/s of the card in that precision")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("highest")
    torch.set_num_threads(options.threads)
    machine = (f"{processor()}, {os.cpu_count()} processors, {options.threads} threads"
               if options.device == "cpu" else torch.cuda.get_device_name())
    print(f"{machine}; PyTorch {torch.__version__}; "
          f"load {math.ceil(os.getloadavg()[0])} when the run began.\n")
    kinds = ["processor ms", "times the first row's"]
    if options.device != "cpu":
        kinds = ["tokens/s", *(["model FLOPs utilisation"] if options.peak else [])]
    heads = ["model", "program", "ms per step: median (10 % to 90 %)", "times the first row's", *kinds,
             "largest difference of losses"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in options.models.split(","):
        report(name, *compare(name, options), options)


if __name__ == "__main__":
    main()
