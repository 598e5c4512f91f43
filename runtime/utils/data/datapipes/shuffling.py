"""What datapipes that shuffle have in common: it can be turned off, and a seed gives the order."""
import random

import whet

from ..worker_info import get_worker_info
from .pipes import IterDataPipe


class Shuffling(IterDataPipe):
    """A stream in an order that a seed gives. A subclass says in which order the items come without
    shuffling, `in_order`, and with it, `shuffled`, of the `random.Random` that it draws from."""

    def __init__(self):
        self._enabled, self._seed, self._times = True, None, 0

    def set_shuffle(self, shuffle=True):
        """Whether it shuffles."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The order of the next iteration."""
        self._seed = seed
        return self

    def __iter__(self):
        if not self._enabled:
            yield from self.in_order()
            return
        draws = random.Random(self._drawn_seed() if self._seed is None else self._seed)
        self._seed, self._times = None, self._times + 1
        yield from self.shuffled(draws)

    def _drawn_seed(self):
        """A seed that the current generator draws. The workers of a loader have the same one, as
        each takes its share of one order. It is another one each time they go through the data."""
        info = get_worker_info()
        if info is not None:
            return info.seed - info.id + self._times
        return int(whet.empty((), dtype=whet.int64).random_().item())
