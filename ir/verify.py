"""Is a graph what it should be? Every pass must leave one that is.

Values are made once, before they are used; views lie in their operand's memory; every op is asked again, on stand-ins of the operands'
types, what it makes; writes go into operands and results are there. A graph that is wrong is shown, with the line that is.
"""
import os

import numpy as np

from .graph import Ref, Type, exact

CHECK = os.environ.get("WHET_CHECK") in ("1", "2")      # verify every graph after each pass


class VerifyError(ValueError):
    """A graph that means nothing: what is wrong, and the graph with the line marked. `node` is the place in the list, None for the whole."""

    def __init__(self, what, g, at):
        self.node = at
        super().__init__(f"{what}\n{_shown(g, at)}")


def verify(g):
    """The graph itself, if nothing is wrong with it; else a VerifyError.

    >>> import whet
    >>> from whet.ir.parse import parse
    >>> from whet.ir.verify import verify
    >>> g = parse('''graph "wrong":
    ...   %0 = input "argument 0" "x" : f32[3]
    ...   %1 = mul(%0, %2) : f32[3]
    ...   return %1''')
    >>> verify(g)
    Traceback (most recent call last):
    whet.ir.verify.VerifyError: %2 is used before it is made
      graph "wrong":
        %0 = input "argument 0" "x" : f32[3]
    >   %1 = mul(%0, %2) : f32[3]
        return %1
    """
    known = set()
    for x in g.inputs:
        if x.value in known:
            raise VerifyError(f"%{x.value} is given twice", g, None)
        if x.value not in g.types:
            raise VerifyError(f"%{x.value} has no type", g, None)
        known.add(x.value)
    for i, n in enumerate(g.nodes):
        problem = _node(n, known, g)
        if problem:
            raise VerifyError(problem, g, i)
    for v, _ in g.results:
        if v not in known:
            raise VerifyError(f"the result %{v} is never made", g, None)
    return g


def _node(n, known, g):
    """What is wrong with a node; notes the values that it makes in `known`."""
    missing = [x for x in n.refs() if x not in known]
    if missing:
        return f"{missing[0]!r} is used before it is made"
    if n.kind == "roll":
        return _loop(n, known, g)
    if n.members:
        return _group(n, known, g)
    if n.kind not in ("op", "write", "draw", "guard", "ask"):
        return f"there is no kind of node called {n.kind}"
    again = [o for o in n.outs if o in known]
    if again:
        return f"%{again[0]} is made twice"
    if n.kind in ("guard", "ask"):
        if n.kind == "guard" and (len(n.ins) != 1 or type(n.ins[0]) is not Ref or Type.of(n.value).shape != g.types[n.ins[0]].shape
                                  or n.value.dtype != g.types[n.ins[0]].dtype):
            return "a guard compares a value with an array of its type"
        return None
    if n.kind == "write":
        return _write(n, g)
    if n.kind == "draw" and not 0 <= n.attrs["generator"] < len(g.streams):
        return f"there is no stream {n.attrs['generator']}"
    problem = _made(n, g)
    known.update(n.outs)
    return problem


def _group(n, known, g):
    """Several nodes that are one: its results are some of theirs, its operands are all that they read."""
    inner = known.copy()
    for m in n.members:
        problem = _node(m, inner, g)
        if problem:
            return f"{problem} (in {m})"
    new = inner - known
    if not set(n.outs) <= new:
        return f"%{min(set(n.outs) - new)} is not made by the nodes in it"
    read = {int(x) for m in n.members for x in m.refs()} & known
    if read != set(map(int, n.refs())):
        return f"its operands are not what the nodes in it read: {sorted(read)}"
    for x, place in n.attrs.get("into", {}).items():
        if x not in n.outs or place not in known:
            return f"%{int(x)} cannot be put into %{int(place)}"
        a, b = g.types[x], g.types[place]
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"%{int(x)} ({a}) does not fit into %{int(place)} ({b})"
    known.update(n.outs)
    return None


def _loop(n, known, g):
    """A body that is run in rounds: it knows its own names only."""
    loop, inner = n.value, set()
    for name, (kind, value, *_) in loop.inputs.items():
        if value not in known:
            return f"%{value} is used before it is made"
        if name not in g.types or value not in g.types:
            return f"%{name} has no type"
        if kind != "along" and not _same(g.types[value], g.types[name]):
            return f"%{name} is {g.types[name]}, not {g.types[value]} as %{value}"
        inner.add(name)
    for m in loop.body:
        problem = _node(m, inner, g)
        if problem:
            return f"{problem} (in {m})"
    for name, (kind, _, *more) in loop.inputs.items():
        if kind == "carried" and (more[0] not in inner or not _same(g.types[more[0]], g.types[name])):
            return f"%{name} cannot be %{more[0]} of the round before"
    given = []
    for first, (kind, what, *_) in loop.results.items():
        values = what if kind == "kept" else [what]
        wrong = [v for v in values if v not in g.types or first not in inner or not _same(g.types[v], g.types[first])]
        if wrong:
            return f"%{wrong[0]} is not %{first} of a round"
        given += values
    if sorted(given) != sorted(n.outs):
        return "its results are not what its rounds give"
    again = [o for o in n.outs if o in known]
    if again:
        return f"%{again[0]} is made twice"
    known.update(n.outs)
    return None


def _same(a, b):
    return (a.dtype, a.shape) == (b.dtype, b.shape)


def _types_of(n, g):
    return tuple([g.types[x] if type(x) is Ref else None for x in n.ins])


def _write(n, g):
    if not n.ins or type(n.ins[0]) is not Ref or n.outs:
        return "a write changes its first operand, and makes nothing"
    if n.op.write is not None:
        return None
    made, problem = _ask(n.op, n.ins, n.attrs, _types_of(n, g))
    if problem or made is None:
        return problem
    target = g.types[n.ins[0]].shape
    try:
        fits = np.broadcast_shapes(made[0].shape, target) == target
    except ValueError:
        fits = False
    return None if len(made) == 1 and fits else f"{made[0]} does not fit into {g.types[n.ins[0]]}"


def _made(n, g):
    """Does the op make what the graph says?"""
    if n.kind == "draw":
        made, problem = _ask(n.op, (), dict(shape=n.attrs["shape"], seed=0, offset=0), ())
    else:
        made, problem = _ask(n.op, n.ins, n.attrs, _types_of(n, g))
    if problem or made is None:
        return problem
    if len(made) != len(n.outs):
        return f"{n.op.name} makes {len(made)} results, not {len(n.outs)}"
    for t, o in zip(made, n.outs):
        if o not in g.types:
            return f"%{o} has no type"
        have = g.types[o]
        if t.shape != have.shape or t.dtype != have.dtype and not _default(n, t, have, g) or n.op.is_view and have.size and not _same_walk(t, have):
            return f"{n.op.name} makes {t}, not {have}"
    return None


def _default(n, a, b, g):
    """Is the type the default one of another time? Where no operand is a float, a float result has the default type."""
    return all(t.dtype.kind in "fV" for t in (a, b)) and not any(g.types[x].dtype.kind in "fVc" for x in n.refs())


def _same_walk(a, b):
    return all(s == t for s, t, n in zip(a.strides, b.strides, a.shape) if n > 1)


_answers: dict = {}


def _ask(op, ins, attrs, types):
    """(The types that an op makes of operands, None) or (None, why it cannot). (None, None) where that depends on the data."""
    key = op, exact(tuple(x for x, t in zip(ins, types) if t is None)), types, exact(dict(attrs))
    try:
        got = _answers.get(key)
    except TypeError:
        return _run(op, ins, attrs, types)
    if got is None:
        if len(_answers) > 4096:
            _answers.clear()
        got = _answers[key] = _run(op, ins, attrs, types)
    return got


def _run(op, ins, attrs, types):
    stand_ins = [x if t is None else _stand_in(t) for x, t in zip(ins, types)]
    if op.reach:
        stand_ins[0] = _stand_in(types[0], *op.reach(**attrs))
    try:
        with np.errstate(all="ignore"):
            made = op.forward(*stand_ins, **attrs)
    except Exception as e:
        return (None, None) if op.may_fail else (None, f"{op.name} refuses these operands: {e}")
    made = [np.asarray(a) for a in (made if type(made) is tuple else (made,))]
    if op.is_view:
        away = [a for a in made if a.size and not np.may_share_memory(a, stand_ins[0].base)]
        if away:
            return None, f"{op.name} gives no view of its operand"
    if op.may_fail and not op.is_view:       # of other data it may be another shape
        return None, None
    return [Type.of(a) for a in made], None


def _stand_in(t, first=0, last=0):
    """An array of this type, in memory where these elements lie too, counted from its first."""
    (low, high), size = t.span, max(t.dtype.itemsize, 1)
    low, high = min(low, first * size), max(high, (last + 1) * size)
    return np.ndarray(t.shape, t.dtype, np.zeros(high - low, np.uint8), -low, t.strides)


def _shown(g, at):
    """The graph, with the line of node `at` marked."""
    from .text import lines, type_text
    out = [f'  graph "{g.name}":']
    out += [f"    %{x.value} = input \"{x.place}\" \"{x.name}\" : {type_text(g.types[x.value]) if x.value in g.types else '?'}" for x in g.inputs]
    types = _Lenient(g.types)
    for i, n in enumerate(g.nodes):
        shown = list(lines([n], types, "    "))
        out += [">" + shown[0][1:], *shown[1:]] if i == at else shown
    out.append(f"    return {', '.join(f'%{v}' for v, _ in g.results)}")
    return "\n".join(out)


class _Lenient(dict):
    def __missing__(self, key):
        return Type(np.dtype(np.uint8), ())
