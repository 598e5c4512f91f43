"""Cuts a program that gives other bits than eager down to the few operations that show it, and
writes them as a Python file that runs on its own.

The recorded graph is run by the interpreter (`ir/interpret.py`) and as a compiled program, on
copies of the same inputs. As long as the two differ, operations are left out, and what they made
becomes an input with the value that it had. Then results are left out, and inputs are replaced by
random numbers. Finally passes are left out one by one to see which of them matter. What is left
still differs, because that is checked at each step.
"""
import base64
import hashlib
import os
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
import whet
from whet.cpu import cache
from whet.ir.graph import Draw, Graph, Input, Node
from whet.ir.interpret import step
from whet.ir.parse import parse
from whet.ir.values import short, types
from whet.passes import pipeline
from whet.random import Generator

from ..values.same_bits import copy_with_layout, same_bits, template
from . import builder

SECONDS = 10.0                       # for cutting down
LARGEST = 1 << 22                    # characters of a file


# ---- the two ways to run -------------------------------------------------------------------------
def values(g: Graph, arrays: Sequence[Any], copies: bool = False) -> dict[int, Any]:
    """All values of a graph by number, one operation after the other; as they are in the end, or
    (copies) as they were made."""
    env, places = {x.value: a for x, a in zip(g.inputs, arrays)}, [list(s) for s in g.streams]
    out = {v: copy_with_layout(a) for v, a in env.items()} if copies else env
    with np.errstate(all="ignore"):
        for n in g.nodes:
            step(n, env, g.types, places)
            if copies:
                out.update((o, copy_with_layout(env[o])) for o in n.outs)
    return out


def compiled(g: Graph, arrays: Sequence[Any], env: dict[int, Any],
             without: Iterable[str] = ()) -> list[Any]:
    """The results of a graph by its program; `env`: its values, from which passes learn how they
    lie."""
    streams = [Generator() for _ in g.streams]
    for s, (seed, offset) in zip(streams, g.streams):
        s._seed, s._offset = seed, offset

    def copy(n: Node) -> Node:
        if type(n) is Draw:
            return Draw(
                n.op,
                {**n.attrs, "generator": streams[n.attrs["generator"]]},
                n.outs,
                n.line,
                n.position,
            )
        return n
    none = np.empty(0, np.uint8)
    with pipeline.without(*without):
        program = builder.build(
            [copy(n) for n in g.nodes],
            [env.get(v, none) for v in range(max(env) + 1)],
            [x.value for x in g.inputs],
            [v for v, _ in g.results],
        )
    got = program(arrays)
    return [got[v] for v, _ in g.results]


def differing(g: Graph, arrays: Sequence[Any], without: Iterable[str] = ()) -> list[int]:
    """The results and inputs (by number) that end up with other bits in the program; none where one
    of the two cannot run."""
    one, other = ([copy_with_layout(a) for a in arrays] for _ in range(2))
    try:
        env = values(g, one)
        got = compiled(g, other, env, without)
    except Exception:                    # what is cut down may mean nothing
        return []
    wrong = [v for (v, _), a in zip(g.results, got) if not same_bits(env[v], a)]
    return wrong + [x.value for x, a, b in zip(g.inputs, one, other) if not same_bits(a, b)]


# ---- cutting down --------------------------------------------------------------------------------
def part(g: Graph, nodes: Sequence[Node], wanted: Iterable[int]) -> Graph:
    """The graph of some of the nodes: what they read and none of them makes is given. `wanted`:
    results, where they are made."""
    made, read = set[int](), set[int]()
    inputs: dict[int, Input] = {}
    for n in nodes:
        for x in map(int, n.refs()):
            read.add(x)
            if x not in made:
                inputs[x] = Input(x, f"argument {len(inputs)}")
        made.update(n.outs)
    changed = {int(x) for n in nodes for x in n.written()}
    results = [v for n in nodes for v in n.outs if v in wanted or v not in read or v in changed]
    known = {*inputs, *made}
    return Graph(
        nodes,
        {v: t for v, t in g.types.items() if v in known},
        inputs.values(),
        [(v, "") for v in results],
        g.name,
        g.streams,
    )


def smaller(g: Graph, arrays: Sequence[Any], until: float) -> tuple[Graph, Sequence[Any]]:
    """(a graph with as few of the operations and results as it takes to differ, its inputs)"""
    had = values(g, [copy_with_layout(a) for a in arrays], copies=True)
    wanted = {v for v, _ in g.results}
    best = g, arrays

    def try_(nodes: list[Node], results: list[tuple[int, str]] | None = None) -> bool:
        nonlocal best
        h = (
            part(g, nodes, wanted)
            if results is None
            else Graph(nodes, best[0].types, best[0].inputs, results, g.name, g.streams)
        )
        inputs = [had[x.value] for x in h.inputs]
        if (nodes or results is not None) and perf_counter() < until and differing(h, inputs):
            best = h, inputs
            return True
        return False
    size = len(g.nodes)
    while size:
        i, before = 0, len(best[0].nodes)
        while i < len(best[0].nodes):
            nodes = best[0].nodes
            if len(nodes) > size and try_(nodes[:i] + nodes[i + size:]):
                continue
            i += size
        if size > 1 or len(best[0].nodes) == before or perf_counter() >= until:
            size //= 2
    for r in best[0].results:
        if len(best[0].results) > 1:
            try_(best[0].nodes, [x for x in best[0].results if x != r])
    return best


def seeded(t: Any, seed: int) -> Any:
    """An array of a type with random numbers."""
    out = template(t)
    np.copyto(
        out, np.random.default_rng(seed).standard_normal(t.shape).astype(t.dtype), casting="unsafe"
    )
    return out


def culprits(g: Graph, arrays: Sequence[Any]) -> list[str] | None:
    """The fewest passes without which there is no difference; None where there is one without any
    pass."""
    off = [name for name, _ in pipeline.PASSES]
    if differing(g, arrays, off):
        return None
    for name in list(off):
        if not differing(g, arrays, [x for x in off if x != name]):
            off.remove(name)
    return off


# ---- the file ------------------------------------------------------------------------------------
FILE = '''"""A graph whose compiled program gives other bits than its operations one by one. This
file runs both and says where they differ.

It was found by whet {version}; {said}.
"""
from whet.jit.program.reproducer import reproduce

GRAPH = r"""
{graph}
"""
INPUTS = {inputs}        # of each input a seed, or its bytes
CONSTANTS = {constants}

reproduce(GRAPH, INPUTS, CONSTANTS, without={passes})
'''


def packed(a: Any) -> str:
    """An array's bytes as text."""
    return base64.b85encode(zlib.compress(np.ascontiguousarray(a).tobytes())).decode()


def unpacked(text: str, dtype: Any, shape: Any) -> Any:
    """The array of `packed`."""
    return np.frombuffer(zlib.decompress(base64.b85decode(text)), dtype).reshape(shape)


def reproduce(graph: str, inputs: Sequence[int | str], constants: Sequence[tuple[str, str]],
              without: Sequence[str]) -> bool:
    """Run a graph as text by the interpreter, and as a program with all passes and without some;
    True where the first differs. Prints what it finds. `inputs` are seeds or bytes, `constants`
    pairs of type letters and bytes."""
    table = [unpacked(text, types()[0][letters].np, -1) for letters, text in constants]
    g = parse(graph.strip() + "\n", table)
    arrays = [
        seeded(g.types[x.value], value)
        if isinstance(value, int)
        else copy_with_layout(
            unpacked(value, g.types[x.value].dtype, g.types[x.value].shape), g.types[x.value])
        for x, value in zip(g.inputs, inputs)
    ]
    wrong = differing(g, arrays)
    print(g)
    if not wrong:
        print("the program gives the interpreter's bits")
        return False
    copied = [copy_with_layout(a) for a in arrays]
    env = values(g, [copy_with_layout(a) for a in arrays])
    got = dict(zip([v for v, _ in g.results], compiled(g, copied, env)))
    got.update((x.value, a) for x, a in zip(g.inputs, copied))
    for v in wrong:
        print(f"%{v} is\n{env[v]}\nand by the program\n{got[v]}")
    if without:
        print(
            f"without {', '.join(without)}: "
            f"{'they differ as well' if differing(g, arrays, without) else 'no difference'}")
    return True


def folder() -> str:
    """Where such files go."""
    found = cache.root()
    if found is None:
        return tempfile.mkdtemp(prefix="whet-")
    found = os.path.join(found, "reproducers")
    os.makedirs(found, 0o700, exist_ok=True)
    return found


def written(g: Graph, inputs: Sequence[Any], random: bool, passes: Sequence[str],
            said: str) -> str:
    """The file's text. Where inputs are `random`, those of real numbers are made from their
    place."""
    table: list[Any] = []
    text = g.text(table)
    parse(text, [np.ascontiguousarray(a).reshape(-1) for a in table])
    return FILE.format(
        said=said,
        version=whet.__version__,
        graph=text,
        passes=passes,
        inputs=[i if random and a.dtype.kind in "fV" else packed(a) for i, a in enumerate(inputs)],
        constants=[(short(a.dtype), packed(a)) for a in table],
    )


def report(nodes: Sequence[Node], arrays: Any, before: dict[int, Any],
           results: Iterable[int]) -> str:
    """What to say of a program that gave other bits: where the file is that shows it, with what it
    takes; as good as it can be made.

    `nodes` over `arrays` were recorded, `before` is what was there before (number -> array),
    `results` what was wanted."""
    try:
        g = Graph.of(
            nodes,
            arrays,
            [Input(n, f"argument {i}") for i, n in enumerate(before)],
            [(n, "") for n in results],
            "wrong",
        )
        inputs: Sequence[Any] = [copy_with_layout(a, arrays[n]) for n, a in before.items()]
        if not differing(g, inputs):
            return "please report this (the same program, made once more, gives the right bits)"
        g, inputs = smaller(g, inputs, perf_counter() + SECONDS)
        numbers = [
            seeded(g.types[x.value], i) if a.dtype.kind in "fV" else a
            for i, (x, a) in enumerate(zip(g.inputs, inputs))
        ]
        random = bool(differing(g, numbers))
        inputs = numbers if random else inputs
        passes = culprits(g, inputs)
        said = (
            "it is so with no pass at all: a kernel is wrong"
            if passes is None
            else f"right without {' and '.join(passes)}"
        )
        body = written(g, inputs, random, passes or [], said)
        if len(body) > LARGEST:
            return (
                "please report this (the smallest graph that shows it needs a file of "
                f"{len(body)} characters)")
        path = os.path.join(
            folder(), f"wrong-{hashlib.blake2b(body.encode(), digest_size=6).hexdigest()}.py"
        )
        with open(path, "w") as f:
            f.write(body)
        return (
            f"please report this, with {path} ({len(g.nodes)} of {len(nodes)} operations show it; "
            f"{said})")
    except Exception as e:                   # the function runs eagerly all the same
        return f"please report this (no file that shows it could be made: {e})"
