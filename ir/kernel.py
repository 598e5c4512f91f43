"""Pointwise kernels as data: their expressions, types, and ways through memory. Every target lowers
from this.

A pointwise kernel computes its roots at each point of a space whose sizes come at run time. The
structure that code is made for is `Pointwise`; sizes and strides are in a `Walk`, the collapsed
form of what the operands look like in memory.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from . import scalar

Sizes = tuple[int, ...]

SMALL = 8               # an edge below this is not worth a transposed tile
LONG = 16               # an edge of this is worth more than rows that are short and not contiguous
TILE = 64               # rows of a panel, and columns of a tile
PANELS = "tiles", "packed"      # spaces whose two last dimensions are walked together
APART = 4               # elements that lie no farther apart are read with what is between them
# an inner dimension longer than two of these is cut into pieces: there may be nothing else to share
# out
CHUNK = 8192
COLUMNS = 32            # a row of at most so many elements is short
PICKED = 15             # the same, where rows are picked in tables
PACKED = 16             # operands that a kernel lays out anew, of elements of at most WORD bytes
WORD = 8
# the numbers of columns for which that is worth it, by the letter of an operand: see `Pointwise`
WORTH = {"b": (2, COLUMNS), "o": (3, COLUMNS), "p": (SMALL, 16)}


@dataclass(frozen=True)
class Pointwise:
    """Expressions over the elements of operands (the inputs, then one result for each root), walked
    as `space` says.

    flat    one run of elements
    rows    an odometer over outer dimensions, and a run of elements along the inner one
    tiles   as rows, with the last two dimensions cut into tiles: an operand that runs along the
            other one is turned in cache
    packed  as rows, with TILE short rows walked as one run: an operand that is not dense over both
            dimensions is laid out so in cache

    `access` has a letter for each operand, how it moves along the inner dimension: v(ector) to the
    next element, s(ame) not at all, g(ather) by a stride, t(ransposed) by a stride, but to the next
    element along the other dimension of the tile. A digit is a gather whose stride is so many
    elements, and r(everse) one to the element before. In a packed walk v is dense over both
    dimensions, s one element for both, o(ne) one element for each row, b(and) the same row again
    and again, and p(art) rows with something between them.
    """
    roots: tuple[scalar.Expr, ...]
    dtypes: tuple[str, ...]         # of the inputs
    results: tuple[str, ...]        # of the roots
    space: str
    access: str
    stream: bool = False    # the result, larger than the cache, is written past it

    @property
    def key(self) -> str:
        """The kernel, described completely."""
        space = self.space + "/stream" * self.stream
        types = f"{','.join(self.dtypes)}->{','.join(self.results)}"
        return f"pointwise/{space}/{self.access}/{types}/{text(self.roots)}"


def text(roots: tuple[scalar.Expr, ...]) -> str:
    """Expressions as one line for each operation, shared parts once; equal texts compute equal
    results."""
    lines: list[str] = []
    name: dict[int, str] = {}
    for e in scalar.walk(*roots):
        if e.op == "arg":
            name[id(e)] = f"x{e.value}"
        elif e.op == "const":
            name[id(e)] = repr(e.value)
        else:
            name[id(e)] = f"%{len(lines)}"
            operands = ([name[id(a)] for a in e.args] +
                        ([str(e.value)] if e.value is not None else []))
            lines.append(f"{e.op} {' '.join(operands)}")
    return "; ".join([*lines, "return " + " ".join(name[id(r)] for r in roots)])


@dataclass(frozen=True)
class Walk:
    """How to visit a space: `shape` with the innermost dimension last, and the byte strides of
    each operand in it."""
    space: str
    access: str
    shape: Sizes
    strides: tuple[Sizes, ...]


def spread(a: Any, shape: Sizes) -> Sizes:
    """The strides of an array broadcast to a shape: 0 along each dimension of size 1 that is
    repeated. Computed here because NumPy's `broadcast_to` builds a view."""
    return ((0,) * (len(shape) - len(a.shape))
            + tuple([0 if n == 1 else s for n, s in zip(a.shape, a.strides)]))


def collapse(shape: Sizes, strides: Sequence[Sizes], order: int) -> tuple[Sizes, list[Sizes]]:
    """The same elements in as few dimensions as possible: those of size 1 dropped, the others
    merged where they can be, the outermost first by the strides of operand `order`.

    `strides` has the byte strides of every operand in `shape` (0 where it is broadcast).

        (4, 1, 6), [(24, 99, 4), (24, 0, 4)]  ->  (24,), [(4,), (4,)]
    """
    dims = [d for d, n in enumerate(shape) if n != 1]
    dims.sort(key=lambda d: -abs(strides[order][d]))
    sizes: list[int] = []
    steps: list[list[int]] = []
    for d in dims:
        step = [s[d] for s in strides]
        if sizes and all(out == inner * shape[d] for out, inner in zip(steps[-1], step)):
            sizes[-1] *= shape[d]
            steps[-1] = step
        else:
            sizes.append(shape[d])
            steps.append(step)
    return tuple(sizes), [tuple(step[k] for step in steps) for k in range(len(strides))]


def plan(shape: Sizes, strides: Sequence[Sizes], itemsizes: Sequence[int], inputs: int) -> Walk:
    """The way to walk operands of these byte strides and element sizes, in the memory order of the
    first result, which is the operand after `inputs` others."""
    sizes, steps = collapse(shape, strides, inputs)
    if not sizes:                                            # one element
        sizes, steps = (1,), [(b,) for b in itemsizes]
    last = len(sizes) - 1
    access = _access(steps, itemsizes, last)
    # rows too short to be worth a visit: go along a longer dimension
    if sizes[last] < SMALL:
        worth = LONG if "g" in access else TILE
        long = next((d for d in reversed(range(last)) if sizes[d] >= worth), None)
        if long is not None:
            return _tiles(sizes, steps, itemsizes, last, long)
    if not last and "g" not in access:
        return Walk("flat", access, sizes, tuple(steps))
    across = _across(sizes, steps[:inputs], itemsizes, access) if sizes[last] >= SMALL else None
    if across is None:
        return Walk("rows", access, sizes, tuple(steps))
    walk = _tiles(sizes, steps, itemsizes, across, last)
    turned = [
        "t" if a == "g" and k < inputs and steps[k][across] == itemsizes[k] else a
        for k, a in enumerate(walk.access)]
    return Walk("tiles", "".join(turned), walk.shape, walk.strides)


def packed(shape: Sizes, strides: Sequence[Sizes], itemsizes: Sequence[int], inputs: int,
           picks: Sequence[scalar.Expr] = ()) -> Walk | None:
    """The way to walk short rows that are dense in the results, many as one run; None where rows
    are long or few, or an operand is not made of runs. `picks`: what is picked in tables, which
    must be whole rows."""
    sizes, steps = collapse(shape, strides, inputs)
    if len(sizes) < 2 or sizes[-1] > COLUMNS or sizes[-2] < SMALL:
        return None
    access = [_packed_access(s, b, sizes[-1]) for s, b in zip(steps, itemsizes)]
    anew = [(a, b) for a, b in zip(access, itemsizes) if a not in ("v", "s")]
    if (not 0 < len(anew) <= PACKED or any(a != "v" for a in access[inputs:])
            or not all(_worth_packing(a, b, sizes[-1], bool(picks)) for a, b in anew)
            or any(not _picks_rows(e, access, sizes[-1]) for e in picks)):
        return None
    return Walk("packed", "".join(access), sizes, tuple(steps))


def _picks_rows(pick: scalar.Expr, access: Sequence[str], columns: int) -> bool:
    """Is what is picked a short row for each row of the walk?"""
    return (columns <= PICKED and access[pick.args[0].value] == "b"
            and all(access[k] in ("o", "s") for k in scalar.uses(pick.args[1])))


def _packed_access(step: Sizes, itemsize: int, columns: int) -> str:
    """The letter of an operand in a packed walk; g where it has none there."""
    row, element = step[-2:]
    if element == itemsize:
        if row == columns * itemsize:
            return "v"
        return "b" if not any(step[:-1]) else "p"
    return "g" if element else "o" if row else "s"


def _worth_packing(access: str, itemsize: int, columns: int, picks: bool) -> bool:
    """Is it worth it to lay out an operand of this letter anew?"""
    least, most = WORTH.get(access, (1, 0))
    least = 2 if picks else least
    return itemsize <= WORD and least <= columns <= most


def anyhow(shape: Sizes, strides: Sequence[Sizes], inputs: int) -> Walk:
    """A walk along the longest dimension, an element at a time, for which one kernel does
    whatever the strides are."""
    sizes, steps = collapse(shape, strides, inputs)
    dims = sorted(range(len(sizes)), key=lambda d: sizes[d])
    return Walk("rows", "g" * len(strides), tuple([sizes[d] for d in dims]) or (1,),
                tuple([tuple([s[d] for d in dims]) or (0,) for s in steps or [()] * len(strides)]))


def near(walk: Walk, itemsizes: Iterable[int]) -> Walk:
    """The walk with its gathers refined: those whose elements are a few elements apart get that
    distance as their access, those that run backwards get "r"."""
    access = "".join([
        (_apart(s[-1], b) if b >= 4 else "") or ("r" if s[-1] == -b else a) if a == "g" else a
        for a, s, b in zip(walk.access, walk.strides, itemsizes, strict=True)])
    return Walk(walk.space, access, walk.shape, walk.strides)


def _apart(step: int, itemsize: int) -> str:
    """The distance between neighbouring elements as a text, where it is from 2 to APART elements;
    else an empty text. A step that is a symbolic size is compared with each distance."""
    return next((str(n) for n in range(2, APART + 1) if step == n * itemsize), "")


def _tiles(sizes: Sizes, steps: Sequence[Sizes], itemsizes: Iterable[int], row: int,
           inner: int) -> Walk:
    """A walk in tiles of the dimensions `row` and `inner`."""
    dims = [d for d in range(len(sizes)) if d not in (row, inner)] + [row, inner]
    def order(v: Sizes) -> Sizes:
        return tuple(v[d] for d in dims)
    return Walk("tiles", _access(steps, itemsizes, inner), order(sizes), tuple(map(order, steps)))


def _access(steps: Iterable[Sizes], itemsizes: Iterable[int], inner: int) -> str:
    return "".join("v" if s[inner] == b else "s" if s[inner] == 0 else "g"
                   for s, b in zip(steps, itemsizes))


def _across(sizes: Sizes, steps: Iterable[Sizes], itemsizes: Iterable[int],
            access: str) -> int | None:
    """The dimension along which most of the gathered inputs are contiguous."""
    votes: dict[int, int] = {}
    for step, b, a in zip(steps, itemsizes, access):
        for d in range(len(sizes) - 1):
            if a == "g" and step[d] == b and sizes[d] >= SMALL:
                votes[d] = votes.get(d, 0) + 1
    return max(votes, key=votes.__getitem__, default=None)


def units(walk: Walk) -> int:
    """The number of work units of a walk: elements of a flat one, else pieces of rows or of
    panels of TILE rows."""
    if walk.space == "flat":
        return walk.shape[0]
    outer = list(walk.shape[:-1])
    if walk.space in PANELS:
        outer[-1] = -(-outer[-1] // TILE)
    return prod(outer) * pieces(walk)


def pieces(walk: Walk) -> int:
    """Into how many pieces the inner dimension is cut."""
    n = walk.shape[-1]
    return -(-n // CHUNK) if n > 2 * CHUNK else 1


def tables(walk: Walk) -> list[int]:
    """What a kernel needs to know of a walk that is not flat, as one list of integers:

    the inner size, that of a piece, by how much the place of a piece grows with its number (0 if
    there is one); each operand's inner stride; for panels the number of rows and each operand's row
    stride; then the number of outer dimensions and, from the innermost to one past the outermost:
    the sizes, the strides of each operand, and the strides less what the dimensions inside have
    moved, the step when those wrap. Pieces, if there are several, are the innermost of these
    dimensions; panels come next.
    """
    n, cut = walk.shape[-1], pieces(walk)
    head = [n, CHUNK if cut > 1 else n, CHUNK if cut > 1 else 0, *(s[-1] for s in walk.strides)]
    sizes = list(walk.shape[:-1])
    steps = [list(s[:-1]) for s in walk.strides]
    if walk.space in PANELS:
        head += [walk.shape[-2], *(s[-2] for s in walk.strides)]
        sizes[-1] = -(-sizes[-1] // TILE)
        for s in steps:
            s[-1] *= TILE
    if cut > 1:
        sizes.append(cut)
        for s, whole in zip(steps, walk.strides):
            s.append(whole[-1] * CHUNK)
    sizes.reverse()
    rows = [[s[-1 - d] for s in steps] for d in range(len(sizes))]
    none = [0] * len(steps)
    moved, wraps = none, []
    for size, row in zip(sizes, rows):
        wraps.append([s - m for s, m in zip(row, moved)])
        moved = [m + (size - 1) * s for s, m in zip(row, moved)]
    return [
        *head,
        len(sizes), *sizes, 2 ** 62, *(x for row in [*rows, none, *wraps, none] for x in row)]
