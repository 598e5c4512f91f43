"""What happens to a generator of random numbers beside draws: the observers of a run hear of it."""


class Event:
    """`unobserved`: what a run that cannot observe the event is said to do; empty where that is
    none of its business."""
    __slots__ = ()
    unobserved = ""


class Made(Event):
    """The generator is new, and at the beginning of its stream."""
    __slots__ = ()


class Copied(Event):
    """The generator is new, and where another one is."""
    __slots__ = ("source",)

    def __init__(self, source):
        self.source = source


class Seeded(Event):
    """The generator begins the stream of a seed."""
    __slots__ = ("seed",)

    def __init__(self, seed):
        self.seed = seed


class StateTold(Event):
    """Somebody gets the position of the generator, as a tensor."""
    __slots__ = ("state",)

    def __init__(self, state):
        self.state = state


class StateSet(Event):
    """The generator goes to the position that a tensor tells."""
    __slots__ = ("state",)
    unobserved = "the state of a generator is set"

    def __init__(self, state):
        self.state = state


class SeedAsked(Event):
    """The generator's seed is read."""
    __slots__ = ()
    unobserved = "the seed of a generator is asked for"
