"""Places in streams of random numbers, by which a recorded run finds its draws again."""


class Position:
    """A place in a stream of random numbers: so many blocks after where a generator is, or after
    the start of a seed."""
    __slots__ = ("of", "seed", "offset")

    def __init__(self, of, seed, offset):
        self.of, self.seed, self.offset = of, seed, offset

    def now(self):
        """(seed, position)"""
        return ((self.seed, self.offset) if self.of is None else
                (self.of._seed, self.of._offset + self.offset))

    def key(self):
        """What tells it from others."""
        return self.of and id(self.of), self.seed, self.offset
