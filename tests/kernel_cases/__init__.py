"""What every family of kernels is tried on: small functions of tensors, with sizes around each
boundary that kernels know.

A family is a class with a `cases` of its own, and says which generators of `passes/lower_llvm`
write its kernels; `tests/sweep_kernels.py` takes its cases through every form that a kernel can
have. Sizes do not depend on the machine: they lie around multiples of 4, 8, 16 and 32 lanes.
"""

import ctypes
import itertools
import random
import zlib
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import whet
from whet.cpu import memory

TINY = (0, 1, 2, 3, 4, 5, 7, 8, 9)
NEAR = (*TINY, 15, 16, 17, 31, 32, 33)  # one vector and two, of any width
FAR = (63, 64, 65, 127, 129, 255, 257)  # some vectors, unrolled loops, blocks of 256
TYPES = {"bf": ml_dtypes.bfloat16}
FLOATS, INTS = ("f4", "f8", "f2", "bf"), ("i1", "u1", "i2", "i4", "i8")
LAYOUTS = ("plain", "turned", "wide", "gaps", "spread")


@dataclass
class Operand:
    """An operand to be: what it holds follows from its place in the case, `below` says that it
    holds indices."""

    dtype: str
    shape: tuple
    layout: str = "plain"
    below: int | None = None

    def strides(self, size):
        """In bytes: C order; the reverse; rows with something after each; every second element; one
        element for a whole dimension."""
        order = range(len(self.shape)) if self.layout == "turned" else range(len(self.shape))[::-1]
        steps, step = [0] * len(self.shape), size * (1 + (self.layout == "gaps"))
        for k, d in enumerate(order):
            steps[d] = step
            step = step * max(1, self.shape[d]) + (
                3 * size if self.layout == "wide" and k == 0 else 0
            )
        if self.layout == "spread" and steps:
            steps[0] = 0
        return tuple(steps)

    def make(self, name):
        """The array."""
        dtype, rng = (
            np.dtype(TYPES.get(self.dtype, self.dtype)),
            np.random.default_rng(zlib.crc32(name.encode())),
        )
        a = memory.empty(self.shape, dtype, self.strides(dtype.itemsize))
        a[...] = values(rng, self, dtype)
        return a


def values(rng, x, dtype):
    if x.below is not None:
        return rng.integers(0, max(1, x.below), x.shape)
    if dtype.kind in "iub":
        return rng.integers(0 if dtype.kind in "ub" else -9, 10, x.shape) % (
            2 if dtype.kind == "b" else 100
        )
    found = rng.standard_normal(x.shape) * np.exp2(rng.integers(-2, 3, x.shape))
    return found + 1j * rng.standard_normal(x.shape) if dtype.kind == "c" else found


@dataclass
class Case:
    """A function of operands, with a name that differs from all others in its family."""

    name: str
    call: object
    operands: list

    def arrays(self):
        return [x.make(f"{self.name} {k}") for k, x in enumerate(self.operands)]


def op(dtype, *shape, layout="plain", below=None):
    return Operand(dtype, shape, layout, below)


def drawn(seed, number, *choices):
    """So many combinations of sizes where all are too many: drawn, and the same in each process."""
    return random.Random(seed).sample(list(itertools.product(*choices)), number)


FAMILIES: dict = {}
WEIGHTS: dict = {}                       # what outlives the calls of cases


class Family:
    """Kernels that belong together. `kinds` are beginnings of their keys, as patterns, all of which
    the cases must meet. `exact`: their bits are the same on machines without fused multiply-adds,
    too."""

    generators: tuple = ()
    kinds: tuple = ()
    exact = True

    def __init_subclass__(cls):
        FAMILIES[cls.__name__] = cls

    def cases(self):
        raise NotImplementedError


def graded(f, *wanted):
    """A function that gives f's result and the gradients of some of its operands."""

    def call(*xs):
        xs = [x.detach().requires_grad_() if k in wanted else x for k, x in enumerate(xs)]
        y = f(*xs)
        y.backward(whet.ones_like(y) * 0.5 + y.detach() * 0.25)
        return y.detach(), *[xs[k].grad for k in wanted]

    return call


def gaps(a):
    """A copy of the bytes that lie between an array's elements."""
    size = (
        a.itemsize + sum((n - 1) * s for n, s in zip(a.shape, a.strides, strict=True))
        if a.size
        else 0
    )
    whole, starts = (
        np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(a.ctypes.data)),
        np.zeros(1, int),
    )
    for n, s in zip(a.shape, a.strides, strict=True):
        starts = (starts[:, None] + np.arange(n) * s).reshape(-1)
    between = np.ones(size, bool)
    between[(starts[:, None] + np.arange(a.itemsize)).reshape(-1)] = False
    return whole[between]


# the families
from . import distances, elements, factors, fourier  # noqa: E402, F401, I001
from . import products, quantised, rows, sparse, windows  # noqa: E402, F401
