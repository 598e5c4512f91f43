"""Records a call again: does the function still do what its recording does, although no guard has
noticed a change?

Guards cannot see a counter in an extension, a file's contents, or state behind an object that
cannot be walked. So calls 16, 32, 64, ... of a recording are made eagerly and recorded as if for
the first time, with eager's results and effects. The two recordings are compared: operations, their
operands and numbers, results, and what is left in Python's state. Then the program in use is run on
copies of what the call was given, and must give its bits.

A call is passed over where the comparison would cost more than a hundredth of all calls so far. So
short functions are recorded again less often than long ones.
"""
from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from whet.ir.graph import Graph, Guard, Node, Write
from whet.ir.text import lines
from whet.ir.value_keys import value_key
from whet.ops.python_calls import as_length
from whet.passes.compare_nodes import Likeness, likeness

from ..effects.recipes import Runs, same_constant
from ..effects.run_effects import Effects
from ..effects.write_back import Left
from ..values.tensor_sources import Source

EARLIEST = 16                    # the first call of a recording that is recorded again
BUDGET = 0.01                    # of the time that the calls take
TIMING, SHORTEST = 2e-7, 1e-7    # seconds that timing adds to a call; a call takes so long at least
# seconds that recording and comparing an operation takes, about (until it was done once)
NODE = 1e-4


# tensors, each with what was done with it
Pairs: TypeAlias = Sequence[tuple[Source, Any]]
_NUMBER = re.compile(r"%(\d+)")


class OtherWay:
    """A value on which Python decides was another one, so the run took another branch. A replay
    would have found that out, too."""


OTHER_WAY = OtherWay()


class Checks:
    """When a recording is compared with a new one. `at`: after so many calls this is next done,
    `cost`: the seconds that it takes, `made`: how often it was done."""
    __slots__ = ("verify", "at", "cost", "made")

    def __init__(self, verify: str, cost: float) -> None:
        self.verify, self.cost, self.made = verify, cost, 0
        self.at = 0 if verify == "always" else math.inf

    def anew(self) -> Checks:
        """New checks with the same budget."""
        return Checks(self.verify, self.cost)

    def plan(self, calls: int, seconds: float) -> None:
        """Choose the call of the next check, after this many calls of these `seconds`: a power of
        two, and late enough that all checks together stay within the budget."""
        if self.verify == "sample":
            enough = (self.made + 1) * self.cost / (BUDGET * max(seconds - TIMING, SHORTEST))
            self.at = (1 << (max(EARLIEST, calls + 2, math.ceil(enough)) - 1).bit_length()) - 1
        elif self.verify != "always":
            self.at = math.inf


class Step(NamedTuple):
    """A node: its text, with names for values; the large constants in it, and its line."""
    text: str
    constants: tuple[Any, ...]
    kind: str
    line: str

    @property
    def without_result(self) -> str:
        """Its text without the answer or the type of the result, which data may decide."""
        return self.text.partition(" : " if self.kind == "op" else " == ")[0]

    def is_asked_otherwise(self, other: Step) -> bool:
        """Are two steps the same question with different answers?"""
        return self.text != other.text and self.kind == other.kind \
            and self.kind in ("guard", "ask", "op") and self.without_result == other.without_result

    def __str__(self) -> str:
        first = self.text.splitlines()[0].strip()
        return f"`{first}`" + (f" ({self.line})" if self.line else "")


class Steps:
    """What a run computed: `nodes` over `arrays` (or types). Two runs that do the same may have
    other numbers for their values, which get a name each in the order of their appearance."""

    def __init__(self, nodes: Iterable[Node], arrays: Any) -> None:
        self.nodes, self.arrays = list(nodes), arrays
        self.names: dict[int, int] = {}
        for n in self.nodes:
            values = () if n.op is None else [n.attrs[k] for k in n.op.value_attrs]
            for x in (*n.values(), *values):
                self.name(x)

    @functools.cached_property
    def steps(self) -> list[Step]:
        """The nodes with the names of values in place of their numbers. To write them takes longer
        than to compare most runs: see `is_alike`."""
        found = []
        g = Graph.of(self.nodes, self.arrays, [], [])
        for n in g.nodes:
            table: list[Any] = []
            said = "\n".join(
                s.partition("  # ")[0].rstrip() for s in lines([n], g.types, table=table)
            )
            text = _NUMBER.sub(lambda m: f"%{self.name(int(m[1]))}", said)
            found.append(Step(text, value_key(table), n.kind, n.line))
        return found

    def is_alike(self, other: Steps) -> bool:
        """Are the steps the same, with the same numbers for values, as far as both go? False where
        that takes a closer look."""
        return all(likeness(a, b) is Likeness.SAME
                   and (not isinstance(a, Write) or a.counted == getattr(b, "counted", None))
                   and all(_is_one_type(self.arrays[v], other.arrays[v]) for v in a.values())
                   for a, b in zip(self.nodes, other.nodes))

    @classmethod
    def of(cls, r: Any) -> Steps:
        """The steps of a recording."""
        return cls(r.program.recorded, r.program.arrays)

    def name(self, n: int) -> int:
        """The name of a value."""
        return self.names.setdefault(n, len(self.names))

    def numbers(self, other: Steps) -> dict[int, int]:
        """The value here for each value of the other run."""
        mine = {name: n for n, name in self.names.items()}
        return {n: mine[name] for n, name in other.names.items() if name in mine}


class WholeRun(Steps):
    """All that a run did: the `sources` of the values from outside, its effects, and the `draws` of
    the random generators that it drew from."""

    def __init__(self, nodes: Iterable[Node], arrays: Any, sources: Mapping[int, Source],
                 effects: Effects, draws: Any) -> None:
        super().__init__(nodes, arrays)
        self.sources = {self.name(n): source for n, source in sources.items()}
        self.effects, self.draws = effects, draws

    @classmethod
    def of(cls, r: Any) -> WholeRun:
        """All that the run of a recording did."""
        p, does = r.program, r.replay
        sources = dict(zip(p.outside, does.inputs.sources))
        return cls(p.recorded, p.arrays, sources, does.effects, r.recorded.positions)


def parting(was: Steps, now: Steps) -> str | OtherWay | None:
    """Where a run first computed something else than the one before, in words. None where it did
    not, as far as both go. OTHER_WAY where Python decided on another value, which a replay would
    find out, too."""
    if was.is_alike(now):
        return None
    for i, (a, b) in enumerate(zip(was.steps, now.steps)):
        if a.is_asked_otherwise(b) or is_read_otherwise(was, now, i):
            return OTHER_WAY
        if a.text != b.text:
            return f"did {b}, not {a}"
        if a.constants != b.constants:
            return f"had another constant in {b}"
    return None


def is_read_otherwise(was: Steps, now: Steps, i: int) -> bool:
    """Did Python read the same value in step i of both runs, in one of them as a number that was
    found to vary meanwhile?"""
    a, b = was.nodes[i], now.nodes[i]
    if not any(isinstance(x, Guard) and y.op is as_length for x, y in ((a, b), (b, a))):
        return False
    return was.name(int(a.refs()[0])) == now.name(int(b.refs()[0]))


def difference(was: WholeRun, now: WholeRun) -> str | OtherWay | None:
    """What a run did otherwise than the one before, in words; None or OTHER_WAY as in `parting`."""
    found = parting(was, now)
    if found is not None:
        return found
    a, b = len(was.nodes), len(now.nodes)
    if a != b:
        more = (was if a > b else now).steps[min(a, b)]
        return f"{'no longer did' if a > b else 'also did'} {more}"
    if not _same_sources(was.sources, now.sources):
        return "read other tensors"
    if was.draws != now.draws:
        return "drew from another random number generator"
    runs, before, after = Runs(was, now), was.effects, now.effects
    if not runs.recipes(before.result, after.result):
        return "gave a result that is made up otherwise"
    if not _same_pairs(before.grads, after.grads, runs.recipes):
        return "left other gradients"
    if not _same_pairs(before.bumps, after.bumps, same_constant):
        return "wrote to other tensors"
    if not _same_pairs(before.marks, after.marks, operator.eq):
        return "changed whether other tensors require gradients"
    if not _same_state(before.left, after.left, runs):
        return "left something else in Python's state"
    return None


def _is_one_type(a: Any, b: Any) -> bool:
    """Are two arrays, or types, of one type?"""
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides)


def _same_sources(a: dict[int, Source], b: dict[int, Source]) -> bool:
    """Do both runs find the values from outside in the same ways?"""
    return a.keys() == b.keys() and all(source.same(b[name]) for name, source in a.items())


def _same_pairs(a: Pairs, b: Pairs, same: Callable[[Any, Any], bool]) -> bool:
    """Did both runs do the same with the same tensors, in the same order?"""
    return len(a) == len(b) and all(
        source.same(other) and same(x, y) for (source, x), (other, y) in zip(a, b)
    )


def _same_state(a: Left, b: Left, runs: Runs) -> bool:
    """Do both runs have the same effects on Python's state? Their order may differ."""
    effects, others = (
        {(type(spot), id(spot.owner), value_key(spot.name)): x for spot, x in left.effects}
        for left in (a, b)
    )
    growths, grown = ({id(real): xs for real, xs in left.growths} for left in (a, b))
    return (
        effects.keys() == others.keys()
        and all(runs.recipes(x, others[k]) for k, x in effects.items())
        and growths.keys() == grown.keys()
        and all(runs.lists(xs, grown[k]) for k, xs in growths.items())
        and len(a.filled) == len(b.filled)
        and all(i == k and runs.recipes(x, y) for (i, x), (k, y) in zip(a.filled, b.filled))
    )
