"""Sizes that differ from call to call.

A recording is for certain sizes, because strides, launches and the order of sums depend on them.
But most of the work of making it can be shared with other sizes: what the function reaches, what
Python does, what the passes decide. A call that differs from a recorded one only in its sizes is
made eagerly, with the recorder noting its nodes. If they are the same nodes, the program is made
again from the existing kernels (`passes/repeat_for_sizes.py`). The nodes are compared each time:
nothing is inferred from one size about another.

Such a call is not watched for what a recording cannot see, if the recorded run showed that it need
not be. Python does the same if all that it reads is the same. So the user's code must have read
nothing that depends on sizes: no number, text or shape (`tells_sizes`). Functions that declare
that they depend on no sizes may read them (see declared_for_tracing.py). And it must catch no error
(`may_catch_errors`) of code that could raise one for some sizes. A call that prints, or reaches
what could, is watched each time (see outside_calls.py).
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections.abc import Callable, Sequence, Set
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from whet.passes.compare_nodes import is_one_node
from whet.tensor import Size
from whet.tensor_base import is_strided

from ..stand_ins.numpy_stand_in import Array
from ..values.tensor_sources import Argument
from ..values.varying_numbers import NUMBERS
from .bytecode import instructions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

    from whet.ir.graph import Node

    from ..program.program import Program
    from ..replay.recording import Recording

MODELS = 4                       # recordings of one kind that others are made like
# names that lead past what is watched
WITHIN = frozenset(("_array", "__array_interface__", "__dlpack__", "grad_fn", "suppress"))
# of code that goes on after it was left
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Dim:
    """A size that differs between calls, by name, with the range in which it is expected.
    `multiple`: it is a multiple of that number, as the size of an image that is halved twice and
    doubled again.

    >>> import whet
    >>> batch = whet.jit.Dim("batch", min=2, max=64)
    >>> @whet.jit.trace(dynamic={"x": {0: batch}})
    ... def f(x):
    ...     return (x * 2).sum(1)
    >>> [f(whet.ones(n, 3)).shape[0] for n in (2, 3, 4)]
    [2, 3, 4]
    >>> f.explain(data=True)["sizes"]["x[0]"]
    {'dim': 'batch', 'seen': [2, 3, 4]}
    """

    def __init__(
        self, name: str, *, min: int = 0, max: int | None = None, multiple: int = 1
    ) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"Dim(): the name must be an identifier, got {name!r}")
        if (type(min) is not int or min < 0
                or max is not None and (type(max) is not int or max < min)):
            raise ValueError(f"Dim(): expected 0 <= min <= max, got min={min!r}, max={max!r}")
        if type(multiple) is not int or multiple < 1:
            raise ValueError(f"Dim(): multiple is a number above 0, got {multiple!r}")
        self.name, self.multiple = name, multiple
        self.min = -(-min // multiple) * multiple
        self.max = None if max is None else max // multiple * multiple
        if self.max is not None and self.max < self.min:
            raise ValueError(
                f"Dim(): there is no multiple of {multiple} from {min} to {max}")

    def __contains__(self, size: int) -> bool:
        return (self.min <= size and (self.max is None or size <= self.max)
                and size % self.multiple == 0)

    def __repr__(self) -> str:
        most = "" if self.max is None else f", max={self.max}"
        step = "" if self.multiple == 1 else f", multiple={self.multiple}"
        return f"Dim({self.name!r}, min={self.min}{most}{step})"


# what `trace(dynamic=)` is: from arguments' names to which of their sizes differ
Dynamic: TypeAlias = "bool | Mapping[str, Mapping[int, Dim | str]] | None"


def declared(dynamic: Dynamic, fn: Callable[..., Any]) -> dict[int | str, dict[int, Dim]] | None:
    """`dynamic=` as a dict from an argument's place (a position and a name) to its dimensions;
    None where any may differ."""
    if dynamic is None or dynamic is True:
        return None
    if dynamic is False:
        return {}
    if not isinstance(dynamic, dict):
        raise TypeError(
            "trace(): dynamic is True, False or a dict from arguments' names to dimensions, not "
            f"{type(dynamic).__name__}")
    parameters: Mapping[str, inspect.Parameter] = {}
    with contextlib.suppress(TypeError, ValueError):
        parameters = inspect.signature(fn).parameters
    positions: dict[str, int | str] = {p: i for i, p in enumerate(parameters)}
    out: dict[int | str, dict[int, Dim]] = {}
    for name, dims in dynamic.items():
        if parameters and name not in parameters:
            raise ValueError(
                f"trace(): dynamic names {name!r}, which is no argument of "
                f"{getattr(fn, '__name__', fn)}")
        if (not isinstance(dims, dict)
                or not all(type(d) is int and isinstance(x, str | Dim) for d, x in dims.items())):
            raise TypeError(
                f"trace(): of {name}, expected dynamic dimensions as a dict {{dimension: Dim}}, "
                f"got {dims!r}")
        out[name] = {d: Dim(x) if isinstance(x, str) else x for d, x in dims.items()}
        out[positions[name] if name in positions else name] = out[name]
    return out


def may_differ(allowed: Mapping[Any, Mapping[int, Dim]], before: Sequence[Sequence[int]],
               args: Sequence[Any], kwargs: Mapping[str, Any], leaves: Sequence[Any]) -> bool:
    """Do the tensors have other sizes only in dimensions that may, and there such as are
    expected? `before`: the shapes that they had."""
    by = {}
    for place, x in (*enumerate(args), *kwargs.items()):
        if is_strided(x) and place in allowed:
            by[id(x)] = allowed[place]
    for t, shape in zip(leaves, before):
        now = t._array.shape
        dims = {d % len(now): x for d, x in by.get(id(t), {}).items() if -len(now) <= d < len(now)}
        if any(a != b and not (d in dims and a in dims[d] and b in dims[d])
               for d, (a, b) in enumerate(zip(now, shape))):
            return False
    return True


def needs_no_watching(r: Recording) -> bool:
    """May a call that fits recording `r` apart from its sizes go unwatched? Nothing that the run
    did could go unseen then."""
    return (r.recorded.read_at is None
            and not (r.replay.acts or r.world.stand_ins.spots or r.world.taken_keys
                     or r.world.growing))


def serves_others(r: Recording) -> bool:
    """May calls of other sizes be replayed without a run? Whatever the user's code has read of
    sizes must be a guard."""
    return r.recorded.size_read_at is None


def fits(r: Recording, leaves: Sequence[Any]) -> bool:
    """Could the program of recording `r` be made for tensors of these sizes? Those that were
    equal must be so now (see passes/repeat_for_sizes.py)."""
    there = {0: 0, 1: 1}
    pairs = _shapes(r, leaves)
    inputs = r.replay.inputs
    pairs += [(x.shape, x.shape) for source, x in zip(inputs.sources, inputs.types)
              if not isinstance(source, Argument)]
    return all(
        there.setdefault(a, b) == b and (b > 1 or a == b) for now, before in pairs
        for b, a in zip(now, before))


def call_has_sizes_equal_by_chance(r: Recording, leaves: Sequence[Any]) -> bool:
    """Are sizes in which a call differs from recording `r` equal to other sizes by chance? A
    recording of such a call serves hardly any other, because these sizes must be equal again."""
    inputs = r.replay.inputs
    return new_sizes_equal_by_chance(_shapes(r, leaves), {
        size for source, x in zip(inputs.sources, inputs.types)
        if not isinstance(source, Argument) for size in x.shape})


def new_sizes_equal_by_chance(shapes: Sequence[tuple[Any, Any]],
                              others: Set[int] = frozenset()) -> bool:
    """Given shapes as pairs (now, before): are sizes that differ equal to one another, to sizes
    that do not differ, or to `others`?"""
    if any(len(now) != len(before) for now, before in shapes):
        return False
    pairs = {(a, b) for now, before in shapes for a, b in zip(before, now)}
    new = [b for a, b in pairs if a != b]
    still = {b for a, b in pairs if a == b} | others
    return len(set(new)) < len(new) or not still.isdisjoint(new)


def _shapes(r: Recording, leaves: Sequence[Any]) -> list[tuple[Any, Any]]:
    """The shapes of the tensors of a call and of recording `r`, in pairs. Tensors that stand for
    numbers are left out: their shapes say nothing of the sizes that these become."""
    return [(t._array.shape, shape) for i, (t, shape) in enumerate(zip(leaves, r.sizes.shapes))
            if i not in r.sizes.lengths]


def took_same_way(r: Recording, program: Program) -> bool:
    """Has the run of a program the very nodes of recording `r`? If both share a plan, its nodes
    were compared already."""
    plan = r.program.plan
    compared = set(map(id, plan.nodes)) if program.plan is plan else frozenset[int]()
    return has_nodes_of(r, program.recorded, compared)


def has_nodes_of(r: Recording, nodes: Sequence[Node], compared: Set[int] = frozenset()) -> bool:
    """Has a run the very nodes of recording `r`? `compared`: ids of nodes that need no look."""
    known = r.program.recorded
    return (len(known) == len(nodes)
            and all(is_one_node(a, b) for a, b in zip(known, nodes) if id(a) not in compared))


def scales(r: Recording, nodes: Sequence[Node], arrays: Sequence[Any]) -> bool:
    """Can sizes of recording `r` be mapped one by one to those of a run with the same nodes? Are
    the run's values also dense where those of `r` are? `arrays`: the memory layouts of the run's
    values."""
    there = {0: 0, 1: 1}
    for o in itertools.chain(*[n.outs for n in nodes]):
        t, a = r.program.arrays[o], arrays[o]
        if (t.contiguous != a.flags.c_contiguous or len(t.shape) != a.ndim
                or any(there.setdefault(m, n) != n for m, n in zip(t.shape, a.shape))):
            return False
    return True


def tells_sizes(x: Any) -> bool:
    """Could a value that the framework gives to the user's code differ where sizes differ?"""
    # What is done with a number that varies is recorded, and so it is of what stands for an array.
    if x is None or is_strided(x) or type(x) in NUMBERS or type(x) is Array:
        return False
    if type(x) is Size:                      # What the user has put beside such numbers is his own.
        return bool(x) and not any([type(n) in NUMBERS for n in x])
    if isinstance(x, int | float | complex | str | bytes | Size | np.generic | np.ndarray):
        return True
    return (isinstance(x, tuple | list | set | dict)
            and any(map(tells_sizes,
                        x.values() if isinstance(x, dict) else x)))


def tells_anything(x: Any) -> bool:
    """Is it a number, a text, a shape or an array, rather than a tensor or None?"""
    return x is not None and not is_strided(x) and (
        type(x) in NUMBERS or type(x) is Array or type(x) is Size or tells_sizes(x))


@functools.lru_cache(4096)
def looks_beneath(code: CodeType) -> bool:
    """Could this code look at a tensor in a way that is not noticed, or catch errors of code that
    it does not call?"""
    return bool(code.co_name == "__exit__" or code.co_flags & SUSPENDED and may_catch_errors(code)
            or not WITHIN.isdisjoint(code.co_names)
            or not WITHIN.isdisjoint(x for x in code.co_consts if type(x) is str))


@functools.lru_cache(4096)
def may_catch_errors(code: CodeType) -> bool:
    """Could this code catch an error?"""
    if not code.co_exceptiontable:
        return False
    # An error that is dealt with is taken from those that are being handled. `finally`, and what
    # raises another error, pass one on.
    ops = [name for name, _, _ in instructions(code)]
    dealt_with = sum(a == "POP_EXCEPT" and b != "RERAISE" for a, b in itertools.pairwise(ops))
    return dealt_with > ops.count("WITH_EXCEPT_START")
