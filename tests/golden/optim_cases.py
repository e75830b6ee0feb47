"""Optimizers on given gradients, clipping by the global norm, and learning-rate schedules."""

import torch

import schedules
from group import Group

STEPS = 10
SHAPES = {"w": (2, 3), "b": (4,)}


def run(case, optimizer_class, groups, **options):
    """Steps the optimizer on random gradients and stores the parameters after every step."""
    start = {name: case.normal(*shape) for name, shape in SHAPES.items()}
    grads = {name: case.normal(STEPS, *shape) for name, shape in SHAPES.items()}
    grads["w"][:, 0, 0] = 0.0        # never a gradient
    grads["w"][1:, 0, 1] *= 1e-9     # gradients below epsilon after an ordinary first one
    grads["w"][:, 0, 2] *= 1e-8      # gradients near epsilon all along
    params = {name: value.clone().requires_grad_() for name, value in start.items()}
    optimizer = optimizer_class(
        [{**group, "params": [params[name] for name in group["params"]]} for group in groups],
        foreach=False, **options)
    after = {name: [] for name in params}
    for step in range(STEPS):
        for name, param in params.items():
            param.grad = grads[name][step].clone()
        optimizer.step()
        for name, param in params.items():
            after[name].append(param.detach().clone())
    for name in params:
        case.store(f"param.{name}", start[name])
        case.store(f"grads.{name}", grads[name])
        case.store(f"after.{name}", torch.stack(after[name]))


def adamw(group):
    def add(name, groups, **options):
        case = group.case(f"adamw_{name}", "adamw", steps=STEPS, groups=groups, **options)
        run(case, torch.optim.AdamW, groups, **options)

    add("torch_defaults", [{"params": ["w", "b"]}],
        lr=1e-3, betas=[0.9, 0.999], eps=1e-8, weight_decay=0.01)
    add("two_groups", [{"params": ["w"], "weight_decay": 0.1},
                       {"params": ["b"], "weight_decay": 0.0}],
        lr=1e-2, betas=[0.9, 0.95], eps=1e-8)
    add("two_rates", [{"params": ["w"], "lr": 3e-2, "weight_decay": 0.3},
                      {"params": ["b"], "lr": 1e-2, "weight_decay": 0.05}],
        betas=[0.8, 0.9], eps=1e-3)


def sgd(group):
    groups = [{"params": ["w", "b"]}]
    for name, options in (
            ("plain", {"momentum": 0.0, "nesterov": False, "weight_decay": 0.0}),
            ("momentum", {"momentum": 0.9, "nesterov": False, "weight_decay": 0.0}),
            ("nesterov", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.0}),
            ("momentum_decay", {"momentum": 0.9, "nesterov": False, "weight_decay": 0.1}),
            ("nesterov_decay", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1})):
        case = group.case(f"sgd_{name}", "sgd", steps=STEPS, groups=groups, lr=0.05, **options)
        run(case, torch.optim.SGD, groups, lr=0.05, **options)


def clipping(group):
    def add(name, max_norm, gradients):
        case = group.case(f"clip_{name}", "clip_grad_norm", max_norm=max_norm)
        params = {}
        for key, value in gradients(case).items():
            case.store(f"grads.{key}", value)
            params[key] = torch.zeros_like(value).requires_grad_()
            params[key].grad = value.clone()
        norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in params.values()]))
        # A norm equal to the limit stays as it is; PyTorch's function would divide by 1 + 1e-6.
        if norm > max_norm:
            returned = torch.nn.utils.clip_grad_norm_(params.values(), max_norm, foreach=False)
            assert torch.allclose(returned, norm, rtol=1e-14, atol=0.0)
        case.store("out", norm)
        for key, param in params.items():
            case.store(f"out.{key}", param.grad)

    def random(case):
        return {"w": case.normal(3, 4), "b": case.normal(5), "scalar": case.normal()}

    def exact(case):
        return {"w": torch.tensor([[3.0, 0.0]]), "b": torch.tensor([4.0])}

    add("above", 1.0, random)
    add("below", 100.0, random)
    add("barely_above", 4.999, exact)
    add("at_limit", 5.0, exact)
    add("zero", 1.0, lambda case: {"w": torch.zeros(2, 3), "b": torch.zeros(4)})
    add("large", 1.0, lambda case: {"w": 1e15 * case.normal(3, 4), "b": case.normal(5)})


def schedule(group):
    def add(name, kind, **options):
        case = group.case(f"schedule_{name}", "schedule", schedule=kind, **options)
        steps = torch.arange(31)
        case.constant("step", steps)
        rate = getattr(schedules, kind)
        case.value(torch.tensor([rate(step, **options) for step in steps.tolist()]))

    span = {"lr_max": 3e-4, "lr_min": 1e-5}
    add("constant", "constant", lr_max=3e-4)
    add("constant_warmup", "constant", lr_max=3e-4, warmup_steps=7)
    add("linear", "linear", **span, warmup_steps=0, cycle_steps=23)
    add("linear_warmup", "linear", **span, warmup_steps=7, cycle_steps=23)
    add("cosine", "cosine", **span, warmup_steps=0, cycle_steps=23)
    add("cosine_warmup", "cosine", **span, warmup_steps=7, cycle_steps=23)
    add("cosine_to_zero", "cosine", lr_max=3e-4, lr_min=0.0, warmup_steps=1, cycle_steps=30)
    add("cosine_all_warmup", "cosine", **span, warmup_steps=7, cycle_steps=7)
    add("wsd", "warmup_stable_decay", **span, warmup_steps=7, decay_start=15, cycle_steps=23)
    add("wsd_no_stable", "warmup_stable_decay", **span, warmup_steps=7, decay_start=7,
        cycle_steps=23)


def make():
    group = Group()
    for add in (adamw, sgd, clipping, schedule):
        add(group)
    return group
