"""A model of the zoo."""

import inspect

import whet
from whet.jit import Dim

BATCHES = 1, 3, 8  # what is tried; the example has another
EXAMPLE, MOST = 2, 8


def image(channels, *sizes):
    """Arguments that are one image each."""
    return lambda batch: [whet.randn(batch, channels, *sizes)]


def rows(*sizes):
    """Arguments that are one array of floats each."""
    return lambda batch: [whet.randn(batch, *sizes)]


def tokens(length, count):
    """Arguments that are one row of tokens each."""
    return lambda batch: [whet.randint(count, (batch, length))]


class Entry:
    """`make` gives the module, `arguments` the tensors for a batch of some size."""

    def __init__(self, make, arguments):
        self.make, self.arguments = make, arguments

    def module(self, seed=0):
        """The module, the same at each call, with running statistics that are no zeros and ones."""
        whet.manual_seed(seed)
        m = self.make().eval()
        for name, b in m.named_buffers():
            if name.endswith("running_mean"):
                b.copy_(0.1 * whet.randn_like(b))
            elif name.endswith("running_var"):
                b.copy_(0.5 + whet.rand_like(b))
        return m

    def inputs(self, batch):
        """The arguments for a batch of some size."""
        whet.manual_seed(batch)
        return self.arguments(batch)

    def dynamic(self, module):
        """Which sizes differ, as `whet.export` takes it."""
        names = list(inspect.signature(module.forward).parameters)
        batch = Dim("batch", min=1, max=MOST)
        return {name: {0: batch} for name, _ in zip(names, self.inputs(1))}
