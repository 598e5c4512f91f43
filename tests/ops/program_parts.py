"""Data and training loops of the programs that tests write."""

import numpy as np
import whet as torch
import whet.nn as nn


def rng(seed=0):
    return np.random.RandomState(seed)


def floats(r, *shape):
    return torch.from_numpy(r.randn(*shape).astype("f4"))


def start(model, seed=0):
    """Weights that depend on names and shapes alone, so that a program's numbers can be stated."""
    with torch.no_grad():
        for k, v in model.named_parameters():
            v.copy_(torch.from_numpy(rng(seed + len(k)).uniform(-0.3, 0.3, tuple(v.shape))))
    return model


def fit(model, loss_of, opt, steps, clip=None):
    """The losses of some steps of training."""
    losses = []
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_of()
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        opt.step()
        losses.append(loss.item())
    return losses
