"""Generators: a seed and a position in an endless stream of numbers (Philox 4x32-10, a
counter-based generator).

The numbers at a position are a function of seed and position alone, so any device or thread count
gives the same ones.
"""
import os
import threading

from . import declared_for_tracing as _declared_for_tracing
from . import random_generator_events as _events
from .autograd import modes


def _tell(generator, event, *facts):
    """Tell whoever observes the run what happens to a generator: an event with these facts."""
    observers = modes.state.observers
    if observers and not observers[-1].positioned(generator, event(*facts)):
        modes.beyond(event.unobserved)


class Generator:
    """A stream of random numbers.

    >>> import whet
    >>> g = whet.Generator().manual_seed(1)
    >>> a = whet.rand(2, generator=g)
    >>> bool((a == whet.rand(2, generator=g.manual_seed(1))).all())
    True
    """
    __slots__ = ("_seed", "_offset", "_lock", "__weakref__")

    def __init__(self, device="cpu"):
        from .devices import as_device
        as_device(device)
        self._seed, self._offset, self._lock = 67280421310721, 0, threading.Lock()
        _tell(self, _events.Made)

    def manual_seed(self, seed):
        """Start the stream of `seed` from its beginning."""
        seed = int(seed)
        if not -0x8000000000000000 <= seed <= 0xFFFFFFFFFFFFFFFF:
            raise RuntimeError(f"Overflow when unpacking long: seed {seed} does not fit 64 bits")
        _tell(self, _events.Seeded, seed & 0xFFFFFFFFFFFFFFFF)
        self._seed, self._offset = seed & 0xFFFFFFFFFFFFFFFF, 0
        return self

    def seed(self):
        """Start a stream that is not used yet; returns its seed."""
        modes.beyond("the random numbers are seeded by chance")
        self.manual_seed(int.from_bytes(os.urandom(8), "little") >> 1)
        return self._seed

    @_declared_for_tracing.goes_by_no_size
    def initial_seed(self):
        """The seed of the stream."""
        _tell(self, _events.SeedAsked)
        return self._seed

    @property
    def device(self):
        from .devices import CPU
        return CPU

    def take(self, count):
        """Reserve `count` counters: (seed, first counter)."""
        with self._lock:
            at = self._offset
            self._offset = at + count
            return self._seed, at

    def go_back(self, before, count):
        """Be at the position before a draw of `count` counters again, if nothing has moved on
        since."""
        seed, at = before
        with self._lock:
            if (self._seed, self._offset) == (seed, at + count):
                self._offset = at

    def get_state(self):
        """The position as a tensor of bytes."""
        import numpy as np

        from .tensor import wrap
        state = (wrap(
            np.frombuffer(
                self._seed.to_bytes(8, "little") + self._offset.to_bytes(8, "little"),
                np.uint8).copy()))
        _tell(self, _events.StateTold, state)
        return state

    def set_state(self, state):
        """Go to a position that `get_state` gave."""
        a = getattr(state, "_array", None)
        if a is None or a.dtype.kind != "u" or a.dtype.itemsize != 1 or a.shape != (16,):
            raise TypeError("expected a ByteTensor of 16 elements, as Generator.get_state() gives")
        raw = a.tobytes()
        _tell(self, _events.StateSet, state)
        self._seed, self._offset = (int.from_bytes(raw[:8],
                                                   "little"), int.from_bytes(raw[8:], "little"))

    def clone_state(self):
        """A second generator at the same position."""
        g = Generator()
        g._seed, g._offset = self._seed, self._offset
        _tell(g, _events.Copied, self)
        return g

    def __reduce__(self):
        modes.beyond("a generator is pickled")
        return _restore, (self._seed, self._offset)

    def __deepcopy__(self, memo):
        return self.clone_state()


def _restore(seed, offset):
    g = Generator()
    g._seed, g._offset = seed, offset
    return g


default_generator = Generator()
default_generator.seed()


def manual_seed(seed):
    """Seed the default generator.

    >>> import whet
    >>> g = whet.manual_seed(0)
    """
    return default_generator.manual_seed(seed)


def seed():
    """Seed the default generator from the system; returns the seed.

    >>> import whet
    >>> with whet.random.fork_rng():
    ...     whet.seed() == whet.initial_seed()
    True
    """
    return default_generator.seed()


@_declared_for_tracing.goes_by_no_size
def initial_seed():
    """The default generator's seed.

    >>> import whet
    >>> _ = whet.manual_seed(7)
    >>> whet.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's position.

    >>> import whet
    >>> state = whet.get_rng_state()
    >>> a = whet.rand(3)
    >>> whet.set_rng_state(state)
    >>> whet.equal(a, whet.rand(3))
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state):
    """Set the default generator's position.

    >>> import whet
    >>> state = whet.get_rng_state()
    >>> a, _ = whet.rand(3), whet.set_rng_state(state)
    >>> whet.equal(a, whet.rand(3))
    True
    """
    default_generator.set_state(new_state)


class fork_rng:
    """Leave the default generator, which draws for all devices, as it was, whatever happens
    inside.

    >>> import whet
    >>> state = whet.get_rng_state()
    >>> with whet.random.fork_rng():
    ...     x = whet.rand(3)
    >>> whet.equal(state, whet.get_rng_state())
    True
    """

    def __init__(self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices",
                 device_type="cuda"):
        self.enabled = enabled

    def __enter__(self):
        self.before = default_generator.get_state()

    def __exit__(self, *exc):
        if self.enabled:
            default_generator.set_state(self.before)


def thread_safe_generator():
    """The generator of the thread that asks, where that is a worker of a `DataLoader` whose workers
    are threads: its numbers go by the epoch's seed and the batch. None elsewhere, which is the
    default generator for all functions.

    >>> import whet
    >>> whet.rand(2, generator=whet.random.thread_safe_generator()).shape
    whet.Size([2])
    """
    from .utils.data.worker_info import own_generator
    return own_generator()
