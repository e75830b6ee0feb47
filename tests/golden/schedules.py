"""Learning-rate schedules as functions of the step, counted from 0."""

import math


def warmup(step, lr_max, warmup_steps):
    return step / warmup_steps * lr_max


def constant(step, lr_max, warmup_steps=0):
    if step < warmup_steps:
        return warmup(step, lr_max, warmup_steps)
    return lr_max


def linear(step, lr_max, lr_min, warmup_steps, cycle_steps):
    """Falls on a straight line from lr_max at the end of the warm-up to lr_min at cycle_steps."""
    if step < warmup_steps:
        return warmup(step, lr_max, warmup_steps)
    if step >= cycle_steps:
        return lr_min
    done = (step - warmup_steps) / (cycle_steps - warmup_steps)
    return lr_max + done * (lr_min - lr_max)


def cosine(step, lr_max, lr_min, warmup_steps, cycle_steps):
    """Falls on half a cosine from lr_max at the end of the warm-up to lr_min at cycle_steps."""
    if step < warmup_steps:
        return warmup(step, lr_max, warmup_steps)
    if step >= cycle_steps:
        return lr_min
    done = (step - warmup_steps) / (cycle_steps - warmup_steps)
    return lr_min + 0.5 * (1.0 + math.cos(math.pi * done)) * (lr_max - lr_min)


def warmup_stable_decay(step, lr_max, lr_min, warmup_steps, decay_start, cycle_steps):
    """Stays at lr_max until decay_start, then falls on a straight line to lr_min."""
    if step < warmup_steps:
        return warmup(step, lr_max, warmup_steps)
    if step < decay_start:
        return lr_max
    if step >= cycle_steps:
        return lr_min
    done = (step - decay_start) / (cycle_steps - decay_start)
    return lr_max + done * (lr_min - lr_max)
