"""What the passes made of a list of nodes, on disk: a process that records a list which an earlier
one recorded runs no pass.

A list goes by a name that tells all that the passes go by. Their own code, and that of the ops, is
told by the folder that it lies in (see `cpu/cache.py`). What they made is kept with the recorded
nodes as numbers, for the next process to put its own in their place.
"""
from __future__ import annotations

import io
import marshal
import pickle
import types
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from whet.cpu import native
from whet.devices import device
from whet.dtypes import FROM_NUMPY, dtype
from whet.ir.graph import Node, Ref
from whet.layouts import memory_format
from whet.ops.registry import REGISTRY, Op
from whet.passes.fold_constants import MOST
from whet.random import Position
from whet.tensor import Size

from ..guards.origin import origin_of

if TYPE_CHECKING:
    from whet.ir.values import Array
    from whet.passes.repeat_for_sizes import Plan

PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None), type(...)))


class Unnamed(Exception):
    """Nothing tells in another process whether it is the same there."""


def name(plan: Plan, passes: Sequence[str]) -> str | None:
    """The name of a plan's nodes, for passes of these names; None where they have none, or
    nothing is kept."""
    try:
        return _name(plan, passes) if native.keeps() else None
    except Unnamed:
        return None


def restore(name: str, plan: Plan, passes: list[str], root: dict[int, int],
            arrays: list[Array]) -> bool:
    """Find what the passes made of it, once: `root` and `arrays` get what they added. Was it
    there?"""
    raw = native.cached(name)
    if raw is None:
        return False
    try:
        made, added = _Reader(io.BytesIO(raw), plan.nodes).load()
        lying = [a.lying() for a in added]
    except (pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, ImportError,
            LookupError, TypeError, ValueError):
        return False                         # written by something unknown
    root.update((n, n) for n in range(len(arrays), len(arrays) + len(lying)))
    arrays += lying
    plan.done(made, arrays, passes)
    return True


def keep(name: str, plan: Plan) -> None:
    """Keep what the passes made, if it can be."""
    file = io.BytesIO()
    try:
        _Writer(file, plan).dump((plan.made, plan.added))
    except (pickle.PicklingError, TypeError, AttributeError):
        return                               # it holds something of this process
    native.keep(name, file.getvalue())


def _name(plan: Plan, passes: Sequence[str]) -> str:
    streams: list[Any] = []
    nodes = [(n.kind,
              _op(n),
              _value(n.ins),
              tuple(n.outs), [(k, _attribute(k, v, streams)) for k, v in n.attrs.items()],
              _value(n.value) if n.kind in ("guard", "ask") else _counts(n.value),
              n.roots and [(str(e), yes) for e, yes in n.roots],
              n.line) for n in plan.nodes]
    values = [(n, FROM_NUMPY[t].short, *facts) for n, (t, *facts) in plan.values.items()]
    said: Any = (np.__version__, passes, plan.size, sorted(plan.visible),
                 [*plan.memory.items()], values, plan.lying, nodes)
    return f"passes/{blake2b(marshal.dumps(said, 2), digest_size=16).hexdigest()}"


def _op(n: Node) -> str | None:
    if n.source is not None or n.members or n.op is not None and not n.op.ours:
        raise Unnamed
    return None if n.op is None else _name_of(n.op)


def _name_of(op: Op) -> str:
    if op.base is None:
        return str(op.name)
    from whet.ir.op import name_of  # a gradient imports this
    named: str = name_of(op)
    return named


def _counts(x: Any) -> Any:
    return x if x is None or x is False else ...


def _attribute(key: str, x: Any, streams: list[Any]) -> Any:
    """An attribute as what `marshal` writes; of streams of random numbers, which of those in the
    list it is."""
    if key != "generator":
        return _value(x)
    known = [
        i for i, s in enumerate(streams)
        if s is x or type(s) is type(x) is Position and s.key() == x.key()]
    if not known:
        streams.append(x)
    return "stream", type(x).__name__, known[0] if known else len(streams) - 1


def _value(x: Any) -> Any:
    """A value as what `marshal` writes: no two that differ give the same."""
    t = type(x)
    if t in PLAIN:
        return x
    if t is Ref:
        return "value", int(x)
    if t in (tuple, list, Size):
        return t.__name__, [_value(y) for y in x]
    if isinstance(x, np.ndarray | np.generic) and x.dtype in FROM_NUMPY:
        # Passes look into no larger ones.
        return ("array", t.__name__, FROM_NUMPY[x.dtype].short, x.shape, x.strides,
                x.tobytes() if x.size <= MOST else None)
    if t is dtype or t is device or t is memory_format:
        return t.__name__, str(x)
    if t is slice:
        return "slice", _value((x.start, x.stop, x.step))
    if t is types.FunctionType and not x.__kwdefaults__:         # a question
        origin = origin_of(x.__globals__)
        if origin is not None and origin.is_ours:
            cells = [_value(c.cell_contents) for c in x.__closure__ or ()]
            return "function", origin.module, _code(x.__code__), cells, _value(x.__defaults__)
    raise Unnamed


def _code(code: types.CodeType) -> Any:
    """What some code does, with the globals of a module of ours."""
    constants = [_code(c) if type(c) is types.CodeType else _value(c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


class _Writer(pickle.Pickler):
    """Recorded nodes are their places in the list, what they hold is the place of one that holds
    it, and ops are names."""

    def __init__(self, file: io.BytesIO, plan: Plan) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.places = {id(n): i for i, n in enumerate(plan.nodes)}
        self.held = {
            id(x): (i, k) for i, n in reversed([*enumerate(plan.nodes)])
            for k, x in (*n.attrs.items(), (None, n.value))}

    def persistent_id(self, x: Any) -> Any:
        t = type(x)
        if isinstance(x, Node):
            return self.places.get(id(x))
        if isinstance(x, Op):
            return _name_of(x)
        return self.held.get(id(x)) if t not in PLAIN else None


class _Reader(pickle.Unpickler):
    """(The folder is this user's alone, and what lies in it authenticated: machine code lies
    there, too.)"""

    def __init__(self, file: io.BytesIO, nodes: Sequence[Node]) -> None:
        super().__init__(file)
        self.nodes = nodes

    def persistent_load(self, what: Any) -> Any:
        if type(what) is int:
            return self.nodes[what]
        if type(what) is str:
            if what in REGISTRY:
                return REGISTRY[what]
            from whet.ir.op import find_op
            return find_op(what)
        i, key = what
        return self.nodes[i].value if key is None else self.nodes[i].attrs[key]
