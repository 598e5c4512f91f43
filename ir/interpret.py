"""What a graph means: its nodes run one by one, by each op's own definition, nothing fused and nothing planned.

The kernels are those that eager mode calls for each op alone, so the bits are eager's; with `WHET_CPU=numpy` they are NumPy's. It is what
compiled programs are compared with.
"""
import ctypes as C

import numpy as np

from .graph import Ref, Type


class Diverged(ValueError):
    """The graph does not hold for these inputs: a value that Python saw is another, or a shape is."""


def interpret(g, *arrays, streams=None):
    """The results of a graph for given inputs, as arrays. What the graph writes to its inputs is written to the arrays.

    `arrays` (or tensors) are in the order of `g.inputs`; `streams` are the positions (seed, offset) of its generators, at first those of
    the recorded run.

    >>> import whet
    >>> from whet.ir.interpret import interpret
    >>> @whet.jit.trace
    ... def double(x):
    ...     return x * 2
    >>> _ = double(whet.ones(3))
    >>> interpret(double.recorded, whet.tensor([1.0, 2.0, 3.0]))
    [array([2., 4., 6.], dtype=float32)]
    """
    given = [getattr(a, "_array", a) for a in arrays]
    if len(given) != len(g.inputs):
        raise ValueError(f"the graph has {len(g.inputs)} inputs ({', '.join(x.name or x.place for x in g.inputs)}), not {len(given)}")
    env, places = {}, [list(s) for s in (g.streams if streams is None else streams)]
    if len(places) != len(g.streams):
        raise ValueError(f"the graph draws from {len(g.streams)} generators, not {len(places)}")
    for x, a in zip(g.inputs, given):
        t = g.types[x.value]
        if not isinstance(a, np.ndarray) or (a.dtype, a.shape) != (t.dtype, t.shape):
            raise ValueError(f"{x.name or x.place} is {t} in this graph, not {Type.of(a) if isinstance(a, np.ndarray) else type(a).__name__}")
        env[x.value] = a
    with np.errstate(all="ignore"):
        for n in g.nodes:
            step(n, env, g.types, places)
    return [env[v] for v, _ in g.results]


def step(n, env, types, places):
    """Run a node: `env` has the values so far, `places` are the positions of the generators."""
    if n.kind == "roll":
        return _rounds(n.value, env, types, places)
    if n.members:
        for m in n.members:
            step(m, env, types, places)
        for x, place in n.attrs.get("into", {}).items():
            np.copyto(env[place], env[x], casting="unsafe")
            env[x] = env[place]
        return
    ins = [env[x] if type(x) is Ref else x for x in n.ins]
    if n.kind == "guard":
        if ins[0].tobytes() != n.value.tobytes():
            raise Diverged(f"the value that Python reads at {n.line} is another: {n}")
    elif n.kind == "ask":
        if n.attrs["question"](*ins) != n.value:
            raise Diverged(f"what the values are asked at {n.line} has another answer: {n}")
    elif n.kind == "write":
        if n.op.write is not None:
            n.op.write(*ins, **n.attrs)
        else:
            np.copyto(ins[0], n.op.forward(*ins, **n.attrs), casting="unsafe")
    else:
        made = _draw(n, places) if n.kind == "draw" else n.op.forward(*ins, **n.attrs)
        for o, a in zip(n.outs, made if type(made) is tuple else (made,)):
            a = np.asarray(a)
            if (a.dtype, a.shape) != (types[o].dtype, types[o].shape):
                raise Diverged(f"the shape of what {n.op.name} gives at {n.line} is another: {Type.of(a)}, not {types[o]}")
            env[o] = a


def _rounds(loop, env, types, places):
    """A loop. What it keeps lies in one piece of memory, which a later one may go along."""
    blocks, mine = env.setdefault("blocks", {}), set()
    for first, (kind, what, *more) in loop.results.items():
        if kind == "kept":
            head, s = more
            if head not in mine:
                mine.add(head)
                blocks[head] = np.empty((loop.rounds * loop.several, *types[first].shape), types[first].dtype)
            for v, i in zip(what, range(s, loop.rounds * loop.several, loop.several)):
                env[v] = blocks[head][i, ...]
    begins, before = {}, {}
    for kind, value, *_ in loop.inputs.values():
        if kind == "along" and value not in begins:
            a = blocks.get(value, env[value])
            begins[value] = a if value in blocks or a.strides == types[value].strides else _laid(a, types[value])
    for r in range(loop.rounds):
        inner = {}
        for name, (kind, value, *more) in loop.inputs.items():
            if kind == "along":
                inner[name] = _part(begins[value], more[0] + r * more[1], types[name])
            else:
                inner[name] = before[more[0]] if kind == "carried" and r else env[value]
        for m in loop.body:
            step(m, inner, types, places)
        for first, (kind, what, *_) in loop.results.items():
            if kind == "kept":
                env[what[r]][...] = inner[first]
        before = inner
    env.update((what, before[first]) for first, (kind, what, *_) in loop.results.items() if kind == "last")


def _laid(a, t):
    """The same numbers, laid out as the type says."""
    low, high = t.span
    out = np.ndarray(t.shape, t.dtype, bytearray(high - low), -low, t.strides)
    np.copyto(out, a)
    return out


def _part(a, offset, t):
    """A value that lies some bytes after the beginning of an array."""
    (low, high), (first, last) = Type.of(a).span, t.span
    if offset + first < low or offset + last > high:
        raise Diverged("a round reads what lies outside of its operand")
    memory = (C.c_uint8 * (last - first)).from_address(a.__array_interface__["data"][0] + offset + first)
    return np.ndarray(t.shape, t.dtype, memory, -first, t.strides)


def _draw(n, places):
    """The next numbers of a stream."""
    place, shape = places[n.attrs["generator"]], n.attrs["shape"]
    seed, offset = place
    place[1] = offset + n.op.blocks(shape)
    return n.op.forward(shape=shape, seed=seed, offset=offset)
