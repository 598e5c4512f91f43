"""Which elements of an array indices name: what an op that reads or writes by indices says of its
operands, for targets that do it in another way than NumPy."""
import builtins
from typing import Any, NamedTuple

from ..ir.outline import broadcast_shapes


class Named(NamedTuple):
    """Index arrays for the dimensions `dims` of an array. `each`: the one index names a place for
    each element, whose other coordinates are its own; else indices broadcast, and name slices.
    `wraps`: negative ones count from the end. `error` is what a bad one raises."""
    indices: tuple[Any, ...]
    dims: tuple[int, ...]
    each: bool = False
    wraps: bool = False
    error: type[Exception] = IndexError

    def axes(self, shape):
        """(the shape of what is named; for each of its axes the array's dimension, or None where
        an index runs; the first axis of the indices)"""
        if self.each:
            d, = self.dims
            sizes = self.indices[0].shape
            return sizes, [None if k == d else k for k in builtins.range(len(sizes))], 0
        inner = broadcast_shapes(*[i.shape for i in self.indices])
        rest = [d for d in builtins.range(len(shape)) if d not in self.dims]
        at = self.dims[0] if self.is_one_block else 0
        own = [*rest[:at], *[None] * len(inner), *rest[at:]]
        sizes = iter(inner)
        return tuple([next(sizes) if d is None else shape[d] for d in own]), own, at

    @property
    def is_one_block(self):
        """Are the dimensions neighbours?"""
        return self.dims[-1] - self.dims[0] == len(self.dims) - 1

    def out_of_bounds(self, high, low, n, dim):
        """The error of bad indices of a dimension of size n, of which these are the greatest and
        the least."""
        return out_of_bounds(high, low, n, dim, self.wraps, self.error)


def out_of_bounds(high, low, n, dim, negative, error):
    """The error of indices of which the greatest or the least is out of range."""
    return error(
        f"index {high if high >= n else low} is out of bounds for dimension {dim} with size {n}"
        if n or not negative else "index is out of bounds for dimension with size 0")


class Written(NamedTuple):
    """What an op writes at named places: `kind` says how values meet (the last one stays: put; sum,
    prod, mean, amax, amin). Without `include_self` what is there does not count."""
    named: Named
    values: Any
    kind: str = "put"
    include_self: bool = True


