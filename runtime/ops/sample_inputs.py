"""Inputs to test ops with, as data beside the op's definition.

A pointwise op states a domain for its operands (`reals(-4, 4)`, or one domain each); every other op
states a function `samples(make)` that yields `Sample(args..., **kwargs)`, where `make(*shape, low=,
high=, dtype=)` makes a random tensor.
"""


class Domain:
    """Where an operand's values may lie. `grad=False`: its gradient is not tested (a condition,
    an integer)."""

    def __init__(self, low, high, kind="f", avoid=(), grad=True):
        self.low, self.high, self.kind, self.avoid, self.grad = low, high, kind, avoid, grad

    def __call__(self, rng, shape):
        """Random values of the domain, away from the points where the function has a kink."""
        if self.kind == "b":
            return rng.random(shape) < 0.5
        if self.kind == "i":
            return rng.integers(int(self.low), int(self.high) + 1, shape)
        x = rng.uniform(self.low, self.high, shape)
        for point in self.avoid:
            near = abs(x - point) < 0.05 * max(1.0, abs(point))
            x = x + near * 0.1 * max(1.0, abs(point))
        return x


def reals(low, high, avoid=(), grad=True):
    """Real numbers between low and high."""
    return Domain(low, high, "f", avoid, grad)


def integers(low, high):
    """Whole numbers, low and high included."""
    return Domain(low, high, "i", grad=False)


booleans = Domain(0, 1, "b", grad=False)


class Sample:
    """One call: `op(*args, **kwargs)`."""

    def __init__(self, *args, **kwargs):
        self.args, self.kwargs = args, kwargs

    def __repr__(self):
        arguments = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"Sample({', '.join(arguments)})"
