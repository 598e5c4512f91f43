"""Places in streams of random numbers, by which a recorded run finds its draws again."""


class Position:
    """A place in a stream of random numbers: so many blocks after where a generator is, or after
    the start of a seed. `origin`: that generator; None for a seed."""
    __slots__ = ("origin", "seed", "offset")

    def __init__(self, origin, seed, offset):
        self.origin, self.seed, self.offset = origin, seed, offset

    def now(self):
        """(seed, position)"""
        return ((self.seed, self.offset) if self.origin is None else
                (self.origin._seed, self.origin._offset + self.offset))

    def key(self):
        """What tells it from others."""
        return self.origin and id(self.origin), self.seed, self.offset
