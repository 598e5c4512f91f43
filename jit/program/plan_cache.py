"""Keeps on disk what the passes made of a list of nodes. A process that records the same list as an
earlier one runs no pass.

A list is found by a name that depends on everything the passes depend on. The passes' own code, and
that of the ops, is covered by the cache folder (see `cpu/cache.py`). The result refers to the
recorded nodes by number, and the next process puts its own nodes in their place."""
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
from whet.random_position import Position
from whet.tensor import Size

from ..values.code_origin import origin_of

if TYPE_CHECKING:
    from whet.ir.values import Array
    from whet.passes.repeat_for_sizes import Plan

PLAIN = frozenset((int, float, complex, bool, str, bytes, type(None), type(...)))


class Unnamed(Exception):
    """Something in a list has no name that is valid in another process."""


def name(plan: Plan, passes: Sequence[str]) -> str | None:
    """The name of a plan's nodes, for passes of these names; None if they cannot be named, or if
    nothing is kept on disk."""
    try:
        return _name(plan, passes) if native.keeps() else None
    except Unnamed:
        return None


def restore(name: str, plan: Plan, passes: list[str], root: dict[int, int],
            arrays: list[Array]) -> bool:
    """Restore the result of the passes, if it is on disk: `root` and `arrays` receive what the
    passes added. Was it found?"""
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
    """Write the result of the passes to disk, if possible."""
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
    """An attribute in a form that `marshal` writes. A random stream becomes its index in the list
    of streams."""
    if key != "generator":
        return _value(x)
    known = [
        i for i, s in enumerate(streams)
        if s is x or type(s) is type(x) is Position and s.key() == x.key()]
    if not known:
        streams.append(x)
    return "stream", type(x).__name__, known[0] if known else len(streams) - 1


def _value(x: Any) -> Any:
    """A value in a form that `marshal` writes. Different values give different forms."""
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
    """The code of a function, with the globals of a module of ours."""
    constants = [_code(c) if type(c) is types.CodeType else _value(c) for c in code.co_consts]
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


class _Writer(pickle.Pickler):
    """Pickles a result: recorded nodes become positions in the list, what nodes hold becomes the
    position of the holder, and ops become names."""

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
    """Unpickles a result. Only this user can write to the folder, and its files are authenticated,
    as for machine code."""

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
