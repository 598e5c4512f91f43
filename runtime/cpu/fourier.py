"""Fourier transforms by compiled kernels (`passes/lower_llvm/fourier/`), for float32, float64 and
their complex types. NumPy computes other types, and sizes above `LARGEST`."""
import functools
import math
from functools import partial

import numpy as np
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.fourier import kernels

from . import memory, native, pointwise, taped_launches, thread_pool
from .conv_plan import scratch
from .reference_only import REFERENCE

# Elements of a cache line of floats. Tables are padded to these, so that results do not depend on
# the number of lanes.
WIDEST = 16
DIRECT = 256            # longer transforms use a matrix, as their lines do not stay in cache
# `split_columns` serves transforms of up to BESIDE numbers, whose lines stay in cache, and needs at
# least LEAST_COLUMNS neighbours, as its vectors would be mostly empty.
BESIDE, LEAST_COLUMNS = 1 << 12, 4
LARGEST = 1 << 20       # the longest transform that gets a table of angles
UNIT_FLOPS = 1 << 17    # the least work of a thread, in operations
PLANS = 256
# the cost of a pass of each radix for a number, in vector operations
COST = {2: 6, 3: 8, 4: 8, 5: 11, 7: 15, 8: 11, 11: 22, 13: 26, 17: 34, 19: 38, 23: 46}
PRIMES = tuple(sorted((r for r in COST if r % 2), reverse=True))
# a convolution's length is one of these times a power of two, so that it needs few kernels
ODD_PARTS = (1, 3, 5, 9, 15)


def radices(n):
    """The radices of the passes for a transform of n numbers; None where n has other prime factors
    than those with a kernel."""
    found = []
    for p in PRIMES:
        while n % p == 0:
            found.append(p)
            n //= p
    twos = n.bit_length() - 1
    if n != 1 << twos:
        return None
    fours = {0: 0, 1: 2 if twos >= 4 else 0, 2: 1}[twos % 3]
    eights = (twos - 2 * fours) // 3
    return tuple(found + [2] * (twos - 2 * fours - 3 * eights) + [4] * fours + [8] * eights)


def fits(a, n):
    """Is there a kernel for transforms of n elements of this array?"""
    return (not REFERENCE and targets.has_fma() and a.dtype.char in "fdFD" and a.size > 0
            and 0 < n <= LARGEST and passes_of(n) <= LARGEST)


@functools.lru_cache(PLANS)
def passes_of(n):
    """The length of the transform that the passes compute: n itself, or that of a convolution where
    n has other prime factors than `radices` allows."""
    if radices(n) is not None:
        return n
    sizes = [odd << (-(-(2 * n - 1) // odd) - 1).bit_length() for odd in ODD_PARTS]
    return min(sizes, key=lambda m: (_cost(m, 1) if m <= DIRECT else sum(
        _cost(*s) for s in (_matrix(m), _matrix(m)[::-1])), m))


def _cost(n, lanes):
    """The estimated cost, in vector operations, of `lanes` transforms of n numbers side by side."""
    return n * -(-lanes // WIDEST) * (sum(COST[r] for r in radices(n)) + 10)


@functools.cache
def _matrix(n):
    """The (rows, columns) of the matrix as which a transform of n numbers is computed: the factors
    of least cost."""
    few = [a for a in range(2, math.isqrt(n) + 1) if n % a == 0]
    sizes = [(a, b) for d in few for a, b in ((d, n // d), (n // d, d))]
    return min(sizes, key=lambda s: (_cost(s[0], s[1]) + _cost(s[1], s[0]), s))


def _angle(k, n):
    """(cosine, sine) of -2 pi k / n for an array of k, computed within an eighth of a turn, for
    accuracy."""
    k = k % n * 8
    turn, rest = np.divmod(k, n)          # eighths of a turn
    odd = turn % 2 == 1
    small = 2 * np.pi / 8 * (np.where(odd, n - rest, rest) / n)
    c, s = np.cos(small), np.sin(small)
    c, s = np.where((turn + 1) // 2 % 2 == 1, s, c), np.where((turn + 1) // 2 % 2 == 1, c, s)
    return (np.where((turn >= 2) & (turn < 6), -c, c), np.where(turn < 4, -s, s))


class Plan:
    """The parameters of a kernel for transforms of n numbers: a list of words (`kernels.WORDS`,
    then those of each pass) and a table of cosines and sines. `direct`: all passes work on one
    buffer, without a matrix."""

    def __init__(self, n, dtype, inverse, direct):
        self.n, self.m, self.dtype, self.inverse = n, passes_of(n), dtype, inverse
        self.angles, self.length = [], 0
        self.words = dict.fromkeys(kernels.WORDS, 0)
        sizes = (self.m,) if direct else _matrix(self.m)
        passes = [self._passes(size) for size in sizes]
        self.words.update(n=n, m=self.m, lines=max(sizes) + 1 + WIDEST,
                          first=int(inverse) * targets.current().lanes(dtype.itemsize))
        self.words["passes"] = len(passes[0])
        if not direct:
            self._turns(*sizes)
            self.words["passes_b"] = len(passes[1])
        if self.m != n:
            self._convolution()
        self.passes = [x for p in passes for one in p for x in one]
        self.radices = tuple(sorted({r for size in sizes for r in radices(size)}))

    def _add(self, table):
        """Append a table; its offset among all tables."""
        at = self.length
        self.angles.append(np.ravel(table).astype(self.dtype))
        self.length += self.angles[-1].size
        return at

    def _passes(self, n):
        stride, made = 1, []
        for r in radices(n):
            groups = n // (stride * r)
            angles = _angle(np.arange(groups)[:, None] * np.arange(1, r), groups * r)
            made.append((r, groups, stride, self._add(np.stack(angles, -1))))
            stride *= r
        return made

    def _turns(self, a, b):
        rows, width = (-(-x // WIDEST) * WIDEST for x in (a, b))
        table = np.zeros((rows, 2, width))
        cosine, sine = _angle(np.arange(a)[:, None] * np.arange(b), self.m)
        back = self.inverse and self.m == self.n
        table[:a, 0, :b], table[:a, 1, :b] = cosine, -sine if back else sine
        self.words.update(a=a, b=b, width=width, turns=self._add(table))

    def _convolution(self):
        """Add the tables of a convolution: the chirp, and the spectrum of the reversed chirp."""
        k = np.arange(self.n)
        cosine, sine = _angle(k * k, 2 * self.n)
        chirp = cosine + 1j * (-sine if self.inverse else sine)
        around = np.zeros(self.m, "D")
        around[:self.n] = chirp.conj()
        around[self.m - self.n + 1:] = chirp[:0:-1].conj()
        self.words.update(chirp=self._add(self._padded(chirp)),
                          spectrum=self._add(self._padded(np.fft.fft(around) / self.m)))

    def _padded(self, numbers):
        table = np.zeros((2, self.m + kernels.SPARE))
        table[:, :len(numbers)] = numbers.real, numbers.imag
        return table

    def halves(self):
        """Add the angles for transforms of 2 n real numbers by transforms of n complex ones."""
        table = np.zeros((self.n + 1 + WIDEST, 2))
        table[:self.n + 1] = np.stack(_angle(np.arange(self.n + 1), 2 * self.n), -1)
        table[:, 1] *= -1
        self.words["halves"] = self._add(table)
        return self

    def finished(self, count, inner):
        """(words, angles) as arrays, for `count` transforms with `inner` elements in the dimensions
        behind."""
        self.words.update(count=count, inner=inner)
        return (np.array([*self.words.values(), *self.passes], np.int64),
                np.concatenate([*self.angles, np.zeros(WIDEST, self.dtype)]))

    def room(self, way):
        """Bytes of scratch memory that a thread needs for the kernel called `way`."""
        lanes, w = targets.current().lanes(self.dtype.itemsize), self.words
        lines = 2 * w["lines"]
        if way == "split columns":
            lines += self.n
        elif way == "split":
            lines += math.prod(-(-x // lanes) * lanes for x in (w["a"], w["b"])) // lanes
            lines += -(-(self.m + 1) // lanes) + 1
        return -(-lines * 2 * lanes * self.dtype.itemsize // 64) * 64


@functools.lru_cache(PLANS)
def _plan(kind, n, count, inner, dtype, inverse):
    """(kernel, units, grain, words, angles, scratch bytes of a thread)"""
    m = passes_of(n)
    direct, chirped = m <= DIRECT, m != n
    plan = Plan(n, dtype, inverse, direct)
    if kind in ("real", "to real"):
        plan.halves()
    words, angles = plan.finished(count, inner)
    lanes = targets.current().lanes(dtype.itemsize)
    elem = "float" if dtype.char == "f" else "double"
    if inner > 1:
        name, emit = (("columns", kernels.columns) if direct else
                      ("split columns", kernels.split_columns))
        units = count * -(-inner // lanes)
    elif direct:
        name, emit, units = "rows", partial(kernels.rows, kind=kind), -(-count // lanes)
    else:
        name, emit, units = "split", partial(kernels.split, kind=kind), count
    kernel = native.kernel(
        f"fourier/{name}{' by convolution' if chirped else ''}/{kind}/{elem}/"
        + ".".join(map(str, plan.radices)),
        partial(emit, elem=elem, radices=plan.radices, chirped=chirped))
    flops = m * 4 * max(1, m.bit_length()) * (1 if name == "split" else lanes) * (1 + chirped)
    return kernel, units, max(1, UNIT_FLOPS // flops), words, angles, plan.room(name)


def _launch(kind, x, out, n, count, inner, inverse, scale):
    real = np.dtype(x.dtype.char.lower())
    kernel, units, grain, words, angles, room = _plan(kind, n, count, inner, real, inverse)
    threads = thread_pool.get_num_threads()
    native.launch(kernel, units, distribute_units.word(grain, threads), x, out, words,
                  taped_launches.table(angles), scratch(room * threads), room, float(scale))


def _scale(n, inverse, norm):
    if norm == "ortho":
        return 1 / math.sqrt(n)
    return 1 / n if inverse == (norm == "backward") else 1.0


def _moved(out, x):
    """Copy x to `out` by kernels. `out` is intermediate memory, which the launches of a recorded
    call share."""
    taped_launches.partial(out)
    for target, source in ([(out, x)] if x.itemsize <= 8 else
                           [(out.real, x.real), (out.imag, x.imag)]):
        pointwise.move(target, source)
    return out


def _ready(x):
    """x itself if it is row-major, else a row-major copy."""
    return x if x.flags.c_contiguous else _moved(memory.empty(x.shape, x.dtype), x)


def _along(dim, x, n, dtype, run):
    """Run a transform along a dimension that need not be the last: `run(x, out)` gets row-major
    arrays with that dimension last. n and dtype are the dimension's length and the type in the
    result."""
    shape = (*x.shape[:dim], n, *x.shape[dim + 1:])
    out = memory.empty(shape, dtype)
    if dim == x.ndim - 1:
        run(_ready(x), out)
        return out
    made = taped_launches.partial(memory.empty((*shape[:dim], *shape[dim + 1:], n), dtype))
    run(_ready(np.moveaxis(x, dim, -1)), made)
    return _moved(out, np.moveaxis(made, -1, dim))


def _goes_by_columns(n, inner):
    """Should the lanes be neighbours in the `inner` elements of the dimensions behind, not rows?"""
    if passes_of(n) <= DIRECT:
        return inner > 1
    return passes_of(n) == n <= BESIDE and inner >= LEAST_COLUMNS


def complex_to_complex(x, *, dims, inverse, norm):
    """The complex transform along several dimensions, the last one first."""
    if not dims or x.dtype.kind != "c" or not all(fits(x, x.shape[d]) for d in dims):
        return (np.fft.ifftn if inverse else np.fft.fftn)(x, axes=dims, norm=norm)

    def run(source, out, n=None, count=None, inner=1):
        n = n or source.shape[-1]
        _launch("complex", source, out, n, count or source.size // n, inner, inverse,
                _scale(n, inverse, norm))
    for d in reversed(dims):
        n, inner = x.shape[d], math.prod(x.shape[d + 1:])
        if not _goes_by_columns(n, inner):
            x = taped_launches.partial(_along(d, x, n, x.dtype, run))
            continue
        out = memory.empty(x.shape, x.dtype)
        run(_ready(x), out, n, math.prod(x.shape[:d]), inner)
        x = taped_launches.partial(out)
    return x


def real_to_complex(x, *, dim, norm):
    """The transform of real numbers: its first n // 2 + 1 elements, which determine the others."""
    n = x.shape[dim]
    kind, size = ("odd real", n) if n % 2 else ("real", n // 2)
    if x.dtype.kind != "f" or not fits(x, size):
        return np.fft.rfft(x, axis=dim, norm=norm)
    return _along(dim, x, n // 2 + 1, np.dtype(x.dtype.char.upper()), lambda source, out: _launch(
        kind, source, out, size, x.size // n, 1, False, _scale(n, inverse=False, norm=norm)))


def complex_to_real(x, *, dim, n, norm):
    """The n real numbers whose transform begins with these n // 2 + 1 elements."""
    kind, size = ("to odd real", n) if n % 2 else ("to real", n // 2)
    if x.dtype.kind != "c" or x.shape[dim] != n // 2 + 1 or not fits(x, size):
        return np.fft.irfft(x, n, axis=dim, norm=norm)
    return _along(dim, x, n, np.dtype(x.dtype.char.lower()), lambda source, out: _launch(
        kind, source, out, size, out.size // n, 1, True, _scale(n, inverse=True, norm=norm)))
