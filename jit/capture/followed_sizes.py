"""Sizes that the user's code reads, followed to where it uses them.

During a recorded run `x.shape` consists of `Number`s (see varying_numbers.py): what Python computes
from them is recorded, and what it branches on is a guard. A Number that becomes a size of an op, or
part of an index, is passed through the framework as a `Whole`: an int that knows its value number.
The op's node gets the plain int, and `at` notes which value it was. A Whole that the framework
computes with, or that reaches no op, becomes a guard like any other number."""
from __future__ import annotations

import operator
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

from whet import size_arguments
from whet.autograd import modes
from whet.ir.graph import OpNode, Ref
from whet.ir.symbolic_size import LEAST
from whet.ops.python_calls import as_length, size_of
from whet.ops.type_queries import asks_for_its_caller
from whet.tensor import Size

from ..refusals.recording_errors import Refused
from ..values.code_origin import ours
from ..values.number_paths import shared_path
from ..values.numbers_as_sizes import length_of, tensor_of_length
from ..values.varying_numbers import (
    SAFE,
    Number,
    guarded_value,
    live,
    tensor_behind,
    tensor_of,
    value_of,
)
from .new_data import is_new_data, made_of
from .user_lines import where

if TYPE_CHECKING:
    from whet.ir.graph import Node
    from whet.ir.op import Op
    from whet.tensor_base import Base

    from ..values.number_paths import Path
    from .recorder import Recorder

# a number that is larger is no size that data decides
LONGEST = 1 << 24
# where an attribute of a node is such a number: `(name, place in it, ...)` -> the value, or REST
Place: TypeAlias = "tuple[Any, ...]"
Found: TypeAlias = dict[Place, int]
REST = -1                        # the size was given as -1


class Whole(int):
    """An int that stands for value `n` of the recorder `rec`: see above."""

    n: int
    rec: weakref.ref[Recorder]
    reached_an_op: bool

    def __new__(cls, size: int, n: int, rec: Recorder) -> Whole:
        self = int.__new__(cls, size)
        self.n, self.rec, self.reached_an_op = n, weakref.ref(rec), False
        return self

    def __whet_whole__(self) -> Whole:
        return self

    def __whet_number__(self) -> int | Number:
        """The Number that it was made of, for code that branches on it or returns it."""
        rec = self.rec()
        if rec is None or rec not in modes.state.observers or self.n not in rec.followed.tensors:
            return int(self)
        self.reached_an_op = True
        return Number(int(self), rec.followed.tensors[self.n], rec, SAFE)

    def __reduce__(self) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def computed(self) -> None:
        """Called when the framework computes with it: the number becomes a guard."""
        rec = self.rec()
        if (rec is not None and not rec.running and rec in modes.state.observers
                and sys._getframe(2).f_code not in size_arguments.CHECKS):
            rec.followed.pin(rec, self.n)


def _computing(name: str) -> None:
    python = getattr(int, name)

    def method(self: Whole, *others: Any) -> Any:
        self.computed()
        return python(self, *others)
    setattr(Whole, name, method)


for _name in "add sub mul floordiv truediv mod divmod pow lshift rshift and or xor".split():
    _computing(f"__{_name}__")
    _computing(f"__r{_name}__")
for _name in ("__neg__", "__abs__", "__float__", "__invert__"):
    _computing(_name)


class FollowedSizes:
    """The sizes that Python has read in one run. `at`: the first result of a node -> the attributes
    that are such numbers, as `(name, place in it, ...)` -> the value. `is_incomplete`: did Python
    read sizes that are not followed?"""

    def __init__(self) -> None:
        # by value; and those of sizes by (tensor, dimension, size)
        self.tensors: dict[Any, Base] = {}
        self.values: set[int] = set()        # those that are made of nothing but sizes
        self.wholes: list[Whole] = []
        # numbers of the call that sizes may be made of, by their ids, with where they are and how
        # large; what stands for those known to become sizes; and for those of which some were made
        self.possible: dict[int, tuple[Path, int]] = {}
        self.known: dict[Path, Base] = {}
        self.lengths: dict[Path, Base] = {}
        self.at: dict[int, Found] = {}
        # the places of sizes that were given as -1, by the first result of the node
        self.rests: dict[int, set[Place]] = {}
        # the user's lines at which numbers that data decides became sizes, and varied; those that
        # are sizes of what is counted, by value
        self.counting: Set[str] = frozenset()
        self.counts: dict[int, Base] = {}
        self.is_incomplete = False

    def of(self, rec: Recorder, t: Base, for_user: bool) -> Size | None:
        """What to return for `t.shape`; None if neither the user's code asks nor our code in its
        place."""
        shape, frame = t._array.shape, sys._getframe(4)
        while asks_for_its_caller(frame) and frame.f_back is not None:
            frame = frame.f_back
        if not shape or not for_user and ours(frame):
            return None
        try:
            n = None if rec.tried_code is not None else Ref(rec.value(t))
        except Refused:
            n = None
        if n is None:
            self.is_incomplete = True
            return None
        return Size([self.number(rec, n, d, v) for d, v in enumerate(shape)])

    def number(self, rec: Recorder, n: Ref, dim: int, size: int) -> Number:
        """A size of a value, as a Number."""
        if (n, dim, size) not in self.tensors:
            with modes.no_grad():
                self.tensors[n, dim, size] = size_of(of=n, dim=dim, less=0, value=size)
        return Number(size, self.tensors[n, dim, size], rec, SAFE)

    def length(self, rec: Recorder, path: Path, length: Base) -> Number:
        """The Number that stands for the size of a tensor."""
        t = tensor_of(length_of(length))
        self.known[path], self.possible[id(t)] = length, (path, length_of(length))
        rec.reachable.add(t)
        return Number(length_of(length), t, rec, SAFE)

    def become_sizes(self, rec: Recorder, n: int) -> bool:
        """A value that is a number becomes a size: pass the numbers from which it was computed as
        sizes too. False if one of them cannot be."""
        makers = {o: node for node in rec.nodes for o in node.outs}
        found = made_of(rec.nodes, n)
        numbers = {x: rec.outside[x] for x in found if x in rec.outside}
        sources = {x for x in found if is_source(makers.get(x))}
        if (rec.in_control_flow or rec.tried_code is not None
                or not all(id(t) in self.possible for t in numbers.values())
                or not numbers.keys() | self.values >= sources):
            return False
        for x, t in numbers.items():
            self.give_as_size(rec, x, t)
        for node in rec.nodes:
            if isinstance(node, OpNode):
                self.made(node.op, node.ins, node.outs)
        return n in self.values

    def give_as_size(self, rec: Recorder, n: int, t: Base) -> None:
        """Pass a number of the call as the size of a tensor."""
        path, _ = self.possible[id(t)]
        if path not in self.known:
            alike = {p: x for p, x in self.possible.values() if shared_path(p) == shared_path(path)}
            self.lengths |= {p: tensor_of_length(x) for p, x in alike.items()}
            self.known |= self.lengths
        length = self.known[path]
        del rec.outside[n]
        attrs = dict(of=Ref(rec.values.from_outside(length._array)), dim=0, less=LEAST,
                     value=length_of(length))
        _begin_with(rec, OpNode(size_of, (), attrs, [n], ""))

    def made(self, op: Op, ins: Iterable[Any], outs: Iterable[int]) -> None:
        """Note whether an op computes numbers from sizes alone."""
        refs = [x for x in ins if type(x) is Ref]
        if op is size_of or refs and self.values and self.values.issuperset(refs):
            self.values.update(outs)

    def whole(self, rec: Recorder, number: Number) -> int:
        """A Number on its way to an op, as an int. It becomes a guard unless it comes from
        sizes."""
        try:
            t = self.tensor_of_size(rec, number)
            n = None if t is None else Ref(rec.value(t))
        except Refused as e:                 # The run goes on without being recorded.
            rec.refuse(e.reason)
            n = None
        if n is None:
            return operator.index(guarded_value(number))
        self.tensors[n] = t
        self.wholes.append(Whole(value_of(number), int(n), rec))
        return self.wholes[-1]

    def tensor_of_size(self, rec: Recorder, number: Number) -> Base | None:
        """The tensor behind a whole number that comes from sizes, or from what data decides; None
        for other numbers."""
        if not live(number) or type(value_of(number)) is not int:
            return None
        t = tensor_behind(number)
        n = Ref(rec.value(t))
        return t if n in self.values or self.become_sizes(rec, n) else self.counted(rec, n, t)

    def counted(self, rec: Recorder, n: Ref, t: Base) -> Base | None:
        """A number that data decides, as the size of a counted tensor. None if it did not vary so
        far and comes from nothing that does."""
        if n not in self.counts and (rec.tried_code is not None or rec.in_control_flow
                                     or not abs(t._array.item()) <= LONGEST
                                     or where() not in self.counting and not is_new_data(rec, n)):
            return None
        if n not in self.counts:
            is_negative = t._array.item() < 0
            with modes.no_grad():
                t = -t if is_negative else t
                length = Ref(rec.value(as_length(t)))
                size = size_of(of=length, dim=0, less=LEAST, value=t._array.item())
                self.counts[n] = -size if is_negative else size
        return self.counts[n]

    def pin(self, rec: Recorder, n: int) -> None:
        """Make one a guard: somebody used it other than as an argument of an op."""
        if n in self.tensors:
            rec.pin(self.tensors[n])

    def split_attributes(self, attrs: Mapping[str, Any]) -> tuple[dict[str, Any], Found]:
        """An op's attributes with plain ints, and where the Wholes were."""
        found: Found = {}
        plain = {k: _with_plain_sizes(x, (k,), found) for k, x in attrs.items()}
        return plain, found

    def split_in_order(self, **attrs: Any) -> tuple[Iterable[Any], Found]:
        """What `split_attributes` returns, in the order of the attributes."""
        known, found = self.split_attributes(attrs)
        return known.values(), found

    def note_at_last_node(self, nodes: Sequence[Node], sizes: Found) -> None:
        """Note that these sizes came to the last node."""
        if sizes and nodes and nodes[-1].outs:
            first = nodes[-1].outs[0]
            self.rests[first] = {place for place, n in sizes.items() if n == REST}
            known = {place: n for place, n in sizes.items() if n != REST}
            if known:
                self.at[first] = known

    def guard_sizes(self, rec: Recorder, attrs: Mapping[str, Any]) -> dict[str, Any]:
        """An op's attributes with plain ints; the Wholes become guards."""
        known, found = self.split_attributes(attrs)
        for n in found.values():
            if n != REST:
                self.pin(rec, n)
        return known

    def end(self, rec: Recorder) -> None:
        """End the run: Wholes that reached no op become guards."""
        for n, t in list(rec.outside.items()):
            if id(t) in self.possible and self.possible[id(t)][0] in self.known:
                self.give_as_size(rec, n, t)
        for w in self.wholes:
            if not w.reached_an_op:
                self.pin(rec, w.n)
        self.tensors, self.wholes, self.counts = {}, [], {}


def _begin_with(rec: Recorder, node: Node) -> None:
    """Insert a node before all nodes of the run."""
    rec.nodes.insert(0, node)
    released = rec.run_memory.released
    released.since = {i: n + 1 for i, n in released.since.items()}
    rec.run_memory.lull.at += 1
    for c in rec.acts:
        c.after += 1


def is_source(node: Node | None) -> bool:
    """Does a node make something without operands?"""
    return node is None or not node.refs()


def without_sizes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a node of eager's graph, with plain ints."""
    return {k: _with_plain_sizes(x, (k,), {}) for k, x in attrs.items()}


def _with_plain_sizes(x: Any, place: Place, found: Found) -> Any:
    if type(x) is size_arguments.Rest:
        found[place] = REST
        return int(x)
    if type(x) is Whole:
        x.reached_an_op = True
        found[place] = x.n
        return int(x)
    if type(x) is tuple or type(x) is Size:
        return tuple([_with_plain_sizes(y, (*place, i), found) for i, y in enumerate(x)])
    return x
