"""A trainer, for those who want one: `fit` is the loop that everybody writes, with what belongs to
it. A plain loop does the same, and is the first way to train.

    trainer = whet.train.Trainer(model, optimizer, lambda model, x, y: F.cross_entropy(model(x), y))
    trainer.fit(loader, epochs=10, held_out=others)

What comes in: a model, its optimizer, a function that gives the loss of a batch, loaders. What
comes out: `history`, a dict of figures for each epoch. A run that was broken off goes on from its
last checkpoint, and gives the bits that it would have given.
"""
import importlib
import os
import random
import sys
from typing import Any

import numpy as np
import whet
from whet import nn
from whet.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Step:
    """What is done with a batch. What a trainer counts is no part of it, so that recordings of it
    stay as they are.

    >>> import whet
    >>> model = whet.nn.Linear(1, 1, bias=False)
    >>> _ = whet.nn.init.ones_(model.weight)
    >>> opt = whet.optim.SGD(model.parameters(), 0.1)
    >>> step = whet.train.Step(model, opt, lambda m, x: m(x).sum(), None, 1, None, None)
    >>> step(whet.ones(1, 1), updates=True), model.weight.item()
    (tensor(1.), 0.8999999761581421)
    """

    def __init__(self, model, optimizer, loss_of, clip, accumulate, autocast, average):
        self.model, self.optimizer, self.loss_of, self.clip = model, optimizer, loss_of, clip
        self.accumulate, self.autocast, self.average = accumulate, autocast, average

    def __call__(self, *batch, updates):
        """Gradients of a batch, and with `updates` a step of the optimizer."""
        loss = self.loss(self.loss_of, self.model, *batch)
        (loss / self.accumulate).backward()
        if updates:
            if self.clip is not None:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
            self.optimizer.zero_grad()
            if self.average is not None:
                self.average.update_parameters(self.model)
        return loss.detach()

    def loss(self, loss_of, model, *batch):
        """What a function gives of a batch, a loss or a metric; under autocast where that is asked
        for."""
        if self.autocast is None:
            return loss_of(model, *batch)
        with whet.autocast("cpu", dtype=self.autocast):
            return loss_of(model, *batch)


class Trainer:
    """`loss_of(model, *batch)` gives the loss of a batch; `metrics` are functions like it, by name,
    for held-out batches.

    `clip`: the largest norm of all gradients; `accumulate`: batches for each step of the
    optimizer; `autocast`: the dtype of products, such as `whet.bfloat16`; `ema`: the decay of
    averaged weights, which held-out batches are then told by; `scheduler` is stepped after each
    step of the optimizer. `trace` records the steps. `path`: the file of checkpoints, written after
    each epoch and every `every` batches. `patience`: epochs without a lower held-out loss, after
    which training ends. `callbacks` are called with the trainer after each batch.

    >>> import whet
    >>> from whet.utils.data import DataLoader, TensorDataset
    >>> x = whet.linspace(-1, 1, 8).reshape(8, 1)
    >>> model = whet.nn.Linear(1, 1)
    >>> _ = [whet.nn.init.zeros_(p) for p in model.parameters()]
    >>> def loss_of(model, x, y):
    ...     return whet.nn.functional.mse_loss(model(x), y)
    >>> trainer = whet.train.Trainer(model, whet.optim.SGD(model.parameters(), 0.5), loss_of)
    >>> history = trainer.fit(DataLoader(TensorDataset(x, 2 * x), 8), epochs=3)
    epoch 1/3  loss 1.7143
    epoch 2/3  loss 0.5598
    epoch 3/3  loss 0.1828
    >>> history[-1]["loss"] < history[0]["loss"]
    True
    """

    def __init__(self, model, optimizer, loss_of, *, scheduler=None, metrics=None, clip=None,
                 accumulate=1, autocast=None, ema=None, trace=False, path=None, every=None,
                 patience=None, callbacks=()):
        self.model, self.optimizer, self.loss_of = model, optimizer, loss_of
        self.scheduler, self.metrics, self.accumulate = scheduler, metrics or {}, accumulate
        self.average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(ema),
                                     use_buffers=True).eval() if ema else None
        self.path, self.every, self.patience, self.callbacks = path, every, patience, callbacks
        self.eager = Step(model, optimizer, loss_of, clip, accumulate, autocast, self.average)
        self.step = whet.jit.trace(self.eager) if trace else self.eager
        self.epoch = self.batch = 0
        self.total, self.history = 0.0, []

    # ---- the loop --------------------------------------------------------------------------------
    def fit(self, loader, epochs, held_out=None):
        """Train until `epochs` are done, those of a checkpoint counted; gives the history."""
        if self.path is not None and os.path.exists(self.path):
            self.load_state_dict(whet.load(self.path), loader)
        while self.epoch < epochs and not self.is_stuck():
            self.model.train()
            for batch in progress(self._batches(loader), len(loader), f"epoch {self.epoch + 1}",
                                  self.batch):
                self._train_on(batch, loader)
            figures = {"loss": self.total / len(loader)}
            if held_out is not None:
                figures |= self.evaluate(held_out)
            self.history.append(figures)
            self.epoch, self.batch, self.total = self.epoch + 1, 0, 0.0
            print(f"epoch {self.epoch}/{epochs}  "
                  + "  ".join(f"{name} {x:.4f}" for name, x in figures.items()))
            self.save(loader)
        return self.history

    def _train_on(self, batch, loader):
        """Do what belongs to one batch."""
        self.batch += 1
        updates = self.batch % self.accumulate == 0 or self.batch == len(loader)
        self.total += self.step(*parts(batch), updates=updates).item()
        if updates and self.scheduler is not None:
            self.scheduler.step()
        if self.every and self.batch % self.every == 0 and self.batch < len(loader):
            self.save(loader)
        for call in self.callbacks:
            call(self)

    @whet.no_grad()
    def evaluate(self, loader):
        """The means over a loader's batches of the loss and the metrics."""
        model = self.model if self.average is None else self.average
        model.eval()
        sums = dict.fromkeys(("held_out_loss", *self.metrics), 0.0)
        for batch in loader:
            for name, f in {"held_out_loss": self.loss_of, **self.metrics}.items():
                sums[name] += float(self.eager.loss(f, model, *parts(batch)))
        return {name: x / len(loader) for name, x in sums.items()}

    def is_stuck(self):
        """Has the held-out loss not fallen for `patience` epochs?"""
        losses = [figures.get("held_out_loss") for figures in self.history]
        if self.patience is None or len(losses) <= self.patience or losses[0] is None:
            return False
        return min(losses[-self.patience:]) >= min(losses[:-self.patience])

    # ---- checkpoints -----------------------------------------------------------------------------
    def _batches(self, loader):
        """The batches that are left. What an iterator draws as it begins is not drawn again by a
        run that goes on in the middle."""
        streams = streams_of_numbers()
        batches = iter(loader)
        if self.batch:
            restore(streams)
        return batches

    def state_dict(self, loader):
        """All that a run goes on from."""
        kept = {
            "model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
            "grads": [p.grad for p in self.model.parameters()],
            "streams": streams_of_numbers(), "epoch": self.epoch, "batch": self.batch,
            "total": self.total, "history": self.history}
        for name, part in (("scheduler", self.scheduler), ("average", self.average)):
            kept[name] = None if part is None else part.state_dict()
        kept["loader"] = loader.state_dict() if self.batch else None
        return kept

    def load_state_dict(self, kept, loader):
        """Be where the run was that kept this."""
        self.model.load_state_dict(kept["model"])
        self.optimizer.load_state_dict(kept["optimizer"])
        for p, grad in zip(self.model.parameters(), kept["grads"]):
            p.grad = grad
        for part, state in ((self.scheduler, kept["scheduler"]), (self.average, kept["average"])):
            if part is not None:
                part.load_state_dict(state)
        self.epoch, self.batch, self.total = kept["epoch"], kept["batch"], kept["total"]
        self.history = kept["history"]
        if self.batch:
            loader.load_state_dict(kept["loader"])
        restore(kept["streams"])

    def save(self, loader):
        """Write a checkpoint, whole or not at all."""
        if self.path is not None:
            whet.save(self.state_dict(loader), f"{self.path}.new")
            os.replace(f"{self.path}.new", self.path)


def streams_of_numbers():
    """Where whet's, Python's and NumPy's random numbers are.

    >>> import whet
    >>> from whet.train import restore, streams_of_numbers
    >>> streams = streams_of_numbers()
    >>> a = whet.rand(2)
    >>> restore(streams)
    >>> whet.equal(a, whet.rand(2))
    True
    """
    version, words, gauss = random.getstate()
    numpy_state: Any = np.random.get_state()
    return {"whet": whet.random.get_rng_state(), "python": [version, whet.tensor(words), gauss],
            "numpy": [whet.from_numpy(numpy_state[1].astype(np.int64)), *numpy_state[2:]]}


def restore(streams):
    """Let random numbers go on from there.

    >>> import random
    >>> from whet.train import restore, streams_of_numbers
    >>> streams = streams_of_numbers()
    >>> a = random.random()
    >>> restore(streams)
    >>> a == random.random()
    True
    """
    whet.random.set_rng_state(streams["whet"])
    version, words, gauss = streams["python"]
    random.setstate((version, tuple(words.tolist()), gauss))
    words, *rest = streams["numpy"]
    np.random.set_state(("MT19937", words.numpy().astype(np.uint32), *rest))


def parts(batch):
    """The tensors of a batch.

    >>> import whet
    >>> from whet.train import parts
    >>> parts([whet.ones(1), whet.zeros(1)]), parts(whet.ones(1))
    ([tensor([1.]), tensor([0.])], (tensor([1.]),))
    """
    return batch if isinstance(batch, tuple | list) else (batch,)


def progress(batches, count, title, done):
    """The batches, shown as they pass: by tqdm where it is installed, where somebody watches.

    >>> import whet
    >>> list(whet.train.progress([1, 2], 2, "epoch 1", 0))
    [1, 2]
    """
    if not sys.stderr.isatty():
        return batches
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return counted(batches, count, title, done)
    return tqdm(batches, total=count, desc=title, initial=done, leave=False)


def counted(batches, count, title, done):
    """The batches, with a line that says how many passed.

    >>> import whet
    >>> list(whet.train.counted([1, 2], 2, "epoch 1", 0))
    [1, 2]
    """
    for i, batch in enumerate(batches, done + 1):
        print(f"\r{title}: {i}/{count}", end="" if i < count else "\r", file=sys.stderr, flush=True)
        yield batch
