"""What a graph means: its nodes run one by one, by each op's own definition, nothing fused and nothing planned.

The kernels are those that eager mode calls for each op alone, so the bits are eager's; with `WHET_CPU=numpy` they are NumPy's. It is what
compiled programs are compared with.
"""
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


def _draw(n, places):
    """The next numbers of a stream."""
    place, shape = places[n.attrs["generator"]], n.attrs["shape"]
    seed, offset = place
    place[1] = offset + n.op.blocks(shape)
    return n.op.forward(shape=shape, seed=seed, offset=offset)
