"""What plans of convolutions are made of: one run of a kernel, how it is cut into units, and where
a thread's pieces of scratch memory lie."""
from dataclasses import dataclass

import numpy as np
from whet.ir.memory_spans import address
from whet.ir.outline import table
from whet.ir.symbolic_size import at_least, at_most
from whet.passes.lower_llvm.calls import distribute_units

GRAIN = 1 << 15                # vector multiply-adds in about 10 us
NUMBERS = 9                    # that a kernel which transforms weights takes at most


@dataclass(slots=True)
class Pack:
    """How to transform weights: a kernel over `units` rows with its `numbers`, to an array of
    `size` elements."""
    kernel: int
    units: int
    grain: int
    numbers: tuple
    size: int


@dataclass(slots=True)
class Plan:
    """How to run one shape: a kernel over `units`, with its geometry and `scratch` bytes; first,
    weights may have to be packed."""
    kernel: int
    units: int
    grain: int
    geometry: np.ndarray
    scratch: int
    out: tuple
    pack: Pack | None = None
    divisors: np.ndarray | None = None        # what the windows of a mean are divided by

    def numbers(self):
        """All numbers of it, as many as any plan has: see `sized_plans.py`."""
        tables = [0 if x is None else address(x) for x in (self.geometry, self.divisors)]
        p = self.pack
        pack = [] if p is None else [1, p.kernel, p.units, p.grain, p.size, len(p.numbers),
                                     *p.numbers]
        pack += [0] * (6 + NUMBERS - len(pack))
        return [int(n) for n in (self.kernel, self.units, self.grain, self.scratch, *tables, *pack)]


def split(n, most):
    """Cut n into the fewest nearly equal parts of at most `most`: (parts, size of the largest)."""
    parts = at_least(-(-n // most), 1)
    return parts, -(-n // parts)


@dataclass(slots=True)
class Gathered:
    """One kernel run: out[n, o, p] = sum over (c, tap) of w[o, c, tap] * x[n, c, p * stride +
    offset of tap]."""
    elem: str
    groups: int
    channels: int              # of x, per group
    rows: int                  # of w, per group
    x_size: tuple              # depth, height, width
    x_strides: tuple           # n, c, depth, height, width
    images: int
    out: tuple                 # depth, height, width
    out_strides: tuple         # n, o, depth, height, width
    stride: tuple
    offsets: tuple             # per axis, of each tap
    # of w in elements: group, row, channel (a row's steps are channels x taps)
    w_strides: tuple
    taps_at: tuple = ()        # where each tap lies in the weights, if not side by side


def scratch_layout(**sizes):
    """Byte offsets of a thread's pieces of scratch, and its size."""
    at, total = {}, 0
    for name, n in sizes.items():
        at[name] = total
        total += -(-n // 64) * 64
    return {**at, "scratch": total}


def runs_bytes(limit, taps):
    return (limit + 1) * 40 + limit * 4 * taps


def geometry_of(fields, offsets, taps_at=()):
    from whet.passes.lower_llvm.windows.window_tiles import FIELDS
    depth, rows, cols = offsets
    return table([fields.get(name, 0) for name in FIELDS] + [a for a in depth for _ in rows]
                 + list(rows) * len(depth) + list(cols) + list(taps_at))


def shares(grain, units, threads):
    """(grain, parts): how a launch gives units to threads (see `launch.word`), of which one takes
    `grain` at least, and how many threads it has scratch memory for."""
    grain = at_least(grain, 1)
    parts = at_least(at_most(units // grain, threads), 1)
    return distribute_units.word(grain, parts), parts


def shares_of(work, lanes, units, threads):
    """`shares` for units of `work` multiply-adds: a grain is what takes about 10 us."""
    return shares(GRAIN * lanes // at_least(work, 1), units, threads)
