"""Elements at places that indices name, as Triton source: where they are, what is there, what is
put or combined there.

Every result is a function of the data alone. Where several values are put into one place the last
one stays, as if they came one after the other: the greatest number of a value is found first, by
maxima of integers. Where values are combined they are sorted by place before, and each place takes
its own in their order. So floats are never added in an order that a schedule chose.

An index that is out of range is noted in two words, the greatest and the least of its kind, and
what it names is neither read nor written.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whet.ir import scalar as S
from whet.passes.lower_llvm.builder import Val

from . import scalar
from .builder import Code, Module
from .source import source

if TYPE_CHECKING:
    from .source import Source

TILE = 1024
PER_TILE = 256                      # where a program goes on until its longest run ends
SLICES, PER_SLICE = 8, 256          # of slices that are taken whole, and of each at a time
BITS = {1: "*i8", 2: "*i16", 4: "*i32", 8: "*i64"}


@dataclass(frozen=True)
class Named:
    """A walk over `rank` dimensions, along which `indices` of these types ("i32" or "i64") lie;
    `wraps`: negative ones count from the end."""
    rank: int
    indices: tuple[str, ...]
    wraps: bool


def coordinates(f: Code, rank: int, wide: bool, tile: int = TILE) -> list[str]:
    """Lines for the elements `at` of a walk whose dimensions have the sizes n0 ...; the names of
    their coordinates."""
    f.line(f"program = tl.program_id(0){'.to(tl.int64)' if wide else ''}")
    f.line(f"at = program * {tile} + tl.arange(0, {tile})")
    f.line("here = at < n")
    left, names = "at", []
    for d in reversed(range(1, rank)):
        f.line(f"c{d} = {left} % n{d}")
        f.line(f"r{d} = {left} // n{d}")
        left = f"r{d}"
        names.append(f"c{d}")
    return [left, *reversed(names)]


def sizes(rank: int, number: str) -> list[tuple[str, str]]:
    """The parameters that such a walk has."""
    return [("n", number), *((f"n{d}", number) for d in range(1, rank))]


def sum_of(steps: Sequence[tuple[str, str]]) -> str:
    """Text of a sum of coordinates by their steps."""
    return " + ".join(f"{c} * {s}" for c, s in steps) or "0"


def where(f: Code, named: Named, wide: bool, tile: int = TILE) -> list[tuple[str, str]]:
    """Lines that give `spot`, the place that each element names, and `fine`, whether there is one.
    The parameters that they read."""
    number = "i64" if wide else "i32"
    c = coordinates(f, named.rank, wide, tile)
    f.line(f"spot = ({sum_of([(x, f'x_{d}') for d, x in enumerate(c)])}).to(tl.int64)")
    f.line("fine = here")
    parameters = []
    for k in range(len(named.indices)):
        steps = sum_of([(x, f"q{k}_{d}") for d, x in enumerate(c)])
        f.line(f"i{k} = tl.load(q{k} + {steps}, here, other=0).to(tl.int64)")
        least = f"-size{k}" if named.wraps else "0"
        f.line(f"bad{k} = here & ((i{k} >= size{k}) | (i{k} < {least}))")
        f.line(f"if tl.max(bad{k}.to(tl.int32)) != 0:")
        f.line(f"    tl.atomic_max(words + slot{k} + tl.zeros_like(at), i{k}, mask=bad{k})")
        f.line(f"    tl.atomic_min(words + slot{k} + 1 + tl.zeros_like(at), i{k}, mask=bad{k})")
        f.line(f"fine = fine & ~bad{k}")
        if named.wraps:
            f.line(f"i{k} = tl.where(i{k} < 0, i{k} + size{k}, i{k})")
        f.line(f"spot += i{k} * step{k}")
        parameters += [(f"q{k}_{d}", number) for d in range(named.rank)]
        parameters += [(f"size{k}", "i64"), (f"step{k}", "i64"), (f"slot{k}", "i32")]
    parameters += [(f"x_{d}", number) for d in range(named.rank)]
    pointers = [("words", "*i64"), *((f"q{k}", f"*{t}") for k, t in enumerate(named.indices))]
    return pointers + sizes(named.rank, number) + parameters


def lower_take(named: Named, size: int, wide: bool) -> Source:
    """The elements, of so many bytes, at the places that indices name: y row by row."""
    f = Code(Module())
    parameters = where(f, named, wide)
    f.line("tl.store(y + at, tl.load(x + spot, fine, other=0), here)")
    return source("take_kernel", f.mod, [("x", BITS[size]), ("y", BITS[size]), *parameters],
                  f.lines, f"cdiv(n, {TILE})")


def lower_slices(named: Named, size: int, wide: bool) -> Source:
    """Slices of `inner` elements, of so many bytes, one behind the other, at the places that
    indices name. The walk is over the slices."""
    f = Code(Module())
    parameters = where(f, named, wide, SLICES)
    f.line("x_at = (x + spot)[:, None]")
    f.line("y_at = (y + at.to(tl.int64) * inner)[:, None]")
    f.line(f"for start in range(0, inner, {PER_SLICE}):")
    f.line(f"    j = start + tl.arange(0, {PER_SLICE})[None, :]")
    f.line("    some = tl.load(x_at + j, fine[:, None] & (j < inner), other=0)")
    f.line("    tl.store(y_at + j, some, here[:, None] & (j < inner))")
    return source("take_slices_kernel", f.mod,
                  [("x", BITS[size]), ("y", BITS[size]), *parameters, ("inner", "i64")], f.lines,
                  f"cdiv(n, {SLICES})")


def lower_places(named: Named, wide: bool) -> Source:
    """The places themselves: y row by row, -1 where an index is out of range."""
    f = Code(Module())
    parameters = where(f, named, wide)
    f.line("tl.store(y + at, tl.where(fine, spot, -1), here)")
    return source("places_kernel", f.mod, [("y", "*i64"), *parameters], f.lines,
                  f"cdiv(n, {TILE})")


def lower_claims() -> Source:
    """The number of the last value of each place: the greatest. `last` holds -1 before."""
    f = Code(Module())
    coordinates(f, 1, wide=True)
    f.line("spot = tl.load(spots + at, here, other=-1)")
    f.line("tl.atomic_max(last + spot, at, mask=spot >= 0)")
    return source("claims_kernel", f.mod, [("spots", "*i64"), ("last", "*i64"), ("n", "i64")],
                  f.lines, f"cdiv(n, {TILE})")


def lower_put(size: int) -> Source:
    """Slices of `inner` elements of so many bytes, put into their places by the last value of each;
    values are `each` elements apart."""
    f = Code(Module())
    coordinates(f, 1, wide=True)
    f.line("number = at // inner")
    f.line("spot = tl.load(spots + number, here, other=-1)")
    f.line("owns = here & (spot >= 0)")
    f.line("owns = owns & (tl.load(last + spot, owns, other=-1) == number)")
    f.line("value = tl.load(x + at * each, owns)")
    f.line("tl.store(y + spot * inner + at % inner, value, owns)")
    return source("put_kernel", f.mod,
                  [("x", BITS[size]), ("y", BITS[size]), ("spots", "*i64"), ("last", "*i64"),
                   ("n", "i64"), ("inner", "i64"), ("each", "i64")], f.lines, f"cdiv(n, {TILE})")


JOINS: dict[str, Callable[..., S.Expr]] = {
    "sum": lambda a, b: a + b, "prod": lambda a, b: a * b, "amax": S.maximum, "amin": S.minimum}


def lower_combine(kind: str, dtype: str) -> Source:
    """Values combined into their places, each in the order of its values' numbers.

    `keys` are places in ascending order and `order` the numbers of their values, counted from the
    first of a `row` of values; an element of a slice of `inner` is combined by whoever meets its
    place first."""
    f, t = Code(Module()), scalar.COMPUTE[dtype]
    coordinates(f, 1, wide=True, tile=PER_TILE)
    f.line("j = at // inner")
    f.line("column = at % inner")
    f.line("key = tl.load(keys + j, here, other=-1)")
    f.line("old = tl.load(keys + j - 1, here & (j > 0), other=-1)")
    f.line("head = here & (key >= 0) & (key != old)")
    scalar.load(f, dtype, "tl.load(y + key * inner + column, head, other=0)", "total")
    f.line("going = head")
    f.line("while tl.max(going.to(tl.int32)) != 0:")
    f.depth += 1
    f.line("number = tl.load(order + j, going, other=0) + j // row * row")
    x = scalar.load(f, dtype, "tl.load(x + (number * inner + column) * each, going, other=0)")
    (joined,), _ = scalar.compute(f, [JOINS[kind](S.arg(0), S.arg(1))],
                                  [Val(f, "total", t), x], (dtype, dtype))
    f.line(f"total = tl.where(going, {joined.ref}, total)")
    f.line("j += 1")
    f.line("going = going & (j < count)")
    f.line("going = going & (tl.load(keys + j, going, other=-1) == key)")
    f.depth -= 1
    f.line(f"tl.store(y + key * inner + column, {scalar.stored(Val(f, 'total', t), dtype)}, head)")
    return source(f"combine_{kind}_kernel", f.mod,
                  [("x", scalar.POINTER[dtype]), ("y", scalar.POINTER[dtype]), ("keys", "*i64"),
                   ("order", "*i64"), ("n", "i64"), ("inner", "i64"), ("each", "i64"),
                   ("count", "i64"), ("row", "i64")], f.lines, f"cdiv(n, {PER_TILE})")


def lower_compress() -> Source:
    """The numbers of the elements that a mask holds, by their ranks: how many it holds up to
    each; of those the first `most`."""
    f = Code(Module())
    coordinates(f, 1, wide=True)
    f.line("wanted = here & (tl.load(mask + at, here, other=0) != 0)")
    f.line("rank = tl.load(ranks + at, wanted, other=1)")
    f.line("tl.store(y + rank - 1, at, wanted & (rank <= most))")
    return source("compress_kernel", f.mod,
                  [("mask", "*i8"), ("ranks", "*i64"), ("y", "*i64"), ("n", "i64"),
                   ("most", "i64")], f.lines, f"cdiv(n, {TILE})")
