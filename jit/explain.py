"""What a traced function is made of, for people: graphs of its recordings, where each tensor and guard comes from, what was not fused and why,
and what a replay moves, computes and holds.
"""
import math
import re

from whet.cpu.memory import taken
from whet.ir import cost
from whet.ir.graph import SHOWN, Graph, Input, Ref
from whet.ir.text import type_text
from whet.ir.view import amount
from whet.passes import parts, picks
from whet.passes.fuse import MOST, MOST_NODES, dense, lying
from whet.tensor_base import Base

from . import quick
from .names import arguments, described, differing, inside, is_tensor, line_of, names_of, said, slot_name, type_of, varies
from .program import template
from .trial import EARLY, TURNS
from .world import PLAIN

LINES = 24                               # of one kind in the text


def given(traced, args, kwargs=None):
    """What `traced.recorded` (or `.graph`) is given in a call with these arguments: the tensors at its inputs' places, in order.

    >>> import whet
    >>> from whet.ir.interpret import interpret
    >>> from whet.jit.explain import given
    >>> w = whet.ones(2)
    >>> @whet.jit.trace
    ... def f(x):
    ...     return x + w
    >>> _ = f(whet.ones(2))
    >>> interpret(f.recorded, *given(f, [whet.zeros(2)]))
    [array([1., 1.], dtype=float32)]
    """
    _, found = traced._key(args, kwargs or {})
    (_, r), *_ = recordings(traced)
    leaves = [*found.leaves, *(s.fetch(r.world.tensors, found.leaves) for s in r.world.slots)]
    return [r.at(place, leaves) for place, _ in r.given]


# ---- graphs ------------------------------------------------------------------------------------------------------------
def graphs(traced, key, r):
    """The graph that was recorded, and the one that the passes left."""
    names, p = names_of(r.world, traced.fn, key)[0], r.program
    paths = [path for path, d in arguments(traced.fn, key) if is_tensor(d) or varies(d)]
    paths += [slot_name(s, names, traced, r) for s in r.world.slots]
    inputs = [Input(n, *described(place, paths, names)) for n, (place, _) in zip(p.outside, r.given)]
    results: list = []
    wanted(r.results, "", results)
    for place, spec in r.grads:
        wanted(spec, f"gradient of {described(place, paths, names)[1]}", results)
    for _, _, name, spec in r.effects:
        wanted(spec, f"left in {name}", results)
    for i, (_, specs) in enumerate((*r.growths, *r.filled)):
        for spec in specs if i < len(r.growths) else [specs]:
            wanted(spec, "left in a list" if i < len(r.growths) else "left in an argument", results)
    there = {v for v, _ in results}
    results += [(v, "kept for the backward") for v in p.results if v not in there]
    name = getattr(traced.fn, "__name__", type(traced.fn).__name__)
    return tuple(Graph.of(nodes, p.arrays, inputs, results, name) for nodes in (p.recorded, p.nodes))


def wanted(spec, name, out):
    """The values that a result is made of."""
    kind, what = spec if spec is not None else ("const", None)
    if kind == "value":
        out.append((what[1], name))
        if what[3] is not None and what[3][0] == "value":
            wanted(what[3], f"base of %{what[1]}", out)
    elif kind == "item":
        out.append((what, name))
    elif kind in (tuple, "slice", "fields", "named", list):
        for x in what if kind in (tuple, "slice") else what[1]:
            wanted(x, name, out)
    elif kind == "object" or isinstance(kind, type):
        for held in what[3:] if kind == "object" else what[-1:]:
            for _, x in held:
                wanted(x, name, out)


def unfused(before, after):
    """Pointwise nodes that feed each other and are not one kernel: (the node that makes a value, the one that reads it, why). Of very many
    operands of a node, the first."""
    kernel = {}                              # value -> the kernel that computes it
    for i, n in enumerate(after.nodes):
        for m in n.flat():
            kernel.update(dict.fromkeys(m.outs, i))
    root, users, epochs, epoch = before.roots(), {}, [], 0
    for i, n in enumerate(before.nodes):
        for x in n.refs():
            users.setdefault(root[x], []).append(i)
        epochs.append((epoch, n.line))
        epoch += n.kind in ("write", "guard", "ask")
    maker, out = {}, []
    for i, n in enumerate(before.nodes):
        if n.kind == "op" and (n.op.family == "pointwise" or parts.moves(n) or n.op.picks is not None) and n.outs[0] in kernel:
            maker[n.outs[0]] = i
            for x in dict.fromkeys(n.refs()[:SHOWN]):
                k = maker.get(x)
                if k is not None and kernel[x] != kernel[n.outs[0]]:
                    out.append((before.nodes[k], n, why(before, k, i, users, epochs)))
    return out


def why(g, k, i, users, epochs):
    """Why nodes k and i of a graph are not one kernel."""
    a, b = g.nodes[k], g.nodes[i]
    moved, gathered = (any(f(n) for n in (a, b)) for f in (parts.moves, lambda n: n.op.picks is not None))
    if moved or gathered:
        arrays = {v: template(g.types[v]) for n in (a, b) for v in (*n.refs(), *n.outs)}
        said = "what moves elements does not gather" if moved and gathered else (parts if moved else picks).why(a, b, arrays)
        return said or _between(g, k, i, users) or f"others need %{a.outs[0]} too"
    for n in (a, b):
        t = g.types[n.outs[0]]
        if n.attrs:
            return f"{n.op.name} has attributes ({', '.join(n.attrs)})"
        if t.dtype.kind == "c" or any(g.types[x].dtype.kind == "c" for x in n.refs()):
            return "complex numbers are not fused"
        if not t.size:
            return "there are no elements"
        if not dense(t):
            return f"the result of {n.op.name} has gaps: {type_text(t)}"
        odd = [x for x in n.ins if type(x) is not Ref and type(x) not in (int, float, bool)]
        if odd:
            return f"{n.op.name} has an operand that is no tensor and no number: {odd[0]!r}"
    first, second = g.types[a.outs[0]], g.types[b.outs[0]]
    if first.shape != second.shape:
        return f"their shapes differ: {list(first.shape)} and {list(second.shape)}"
    if lying(first) != lying(second):
        return f"their elements lie in other orders: {type_text(first)} and {type_text(second)}"
    too_large = f"a kernel would be too large (more than {MOST} operands or {MOST_NODES} nodes)"
    return _between(g, k, i, users) or f"another node needs one of them before, or {too_large}"


def _between(g, k, i, users):
    """What comes between nodes k and i that keeps them apart, if anything does."""
    between = next((g.nodes[j] for j in range(k, i) if g.nodes[j].kind in ("write", "guard", "ask")), None)
    if between is not None:
        what = {"write": "a write", "guard": "a value that Python reads", "ask": "a question about values"}[between.kind]
        return f"{what} comes between them" + (f" ({between.line})" if between.line else "")
    made = g.nodes[k].outs[0]
    between = [g.nodes[u] for u in users.get(made, ()) if k < u < i]
    used = next((n for n in between if n.kind != "op" or n.op.family != "pointwise"), None)
    return None if used is None else f"{used.op.name} needs %{made} before"


# ---- guards ------------------------------------------------------------------------------------------------------------
def guarded(traced, key, r):
    """What is compared before a replay: {"what", "is", "line"}, the line being where the code names it."""
    out = [{"what": path, "is": said(d), "line": ""} for path, d in arguments(traced.fn, key)]
    names, cells, attributes = names_of(r.world, traced.fn, key)
    done = set()
    for place in r.world.places:
        if place[0] == "function" or place[0] not in ("global", "cell") and attributes.get(id(place[1]), id(place[1])) not in names:
            continue
        for what, x in inside(place, names, cells, attributes):
            tensor = isinstance(x, Base)
            what = names.get(id(x), what) if tensor else what
            if (tensor or type(x) in PLAIN) and "._" not in what and what not in done:
                done.add(what)
                shown = type_of(x) if tensor else repr(x)
                line = line_of(r.world.codes, re.match(r"\w*", what)[0])
                out.append({"what": what, "is": shown if len(shown) <= 60 else shown[:57] + "...", "line": line})
    for n in r.program.recorded:
        if n.kind == "guard":
            out.append({"what": f"the value of %{int(n.ins[0])}", "is": str(n.value.tolist()), "line": n.line})
        elif n.kind == "ask":
            what = f"what {n.attrs['question'].__qualname__} says of {', '.join(map(repr, n.ins))}"
            out.append({"what": what, "is": repr(n.value), "line": n.line})
    return out


# ---- sizes -------------------------------------------------------------------------------------------------------------
def sizes(traced):
    """The sizes of arguments that were seen to differ: `x[0]` -> {"dim": its name or None, "seen": the sizes}."""
    seen: dict = {}
    for key in traced._table:
        for path, d in arguments(traced.fn, key):
            if is_tensor(d):
                for i, n in enumerate(d[2]):
                    seen.setdefault((path, len(d[2]), i), set()).add(n)
    free = traced._free or {}
    return {f"{path}[{i}]": {"dim": dim and dim.name, "seen": sorted(found)} for (path, ndim, i), found in seen.items()
            for dims in [free.get(path, {})] for dim in [dims.get(i, dims.get(i - ndim))] if len(found) > 1}


# ---- all together ------------------------------------------------------------------------------------------------------
def recordings(traced):
    """(key, recording), as they stand in the table."""
    return [(key, r) for key, rs in traced._table.items() for r in rs]


def in_python(r):
    """The nodes that a call leaves to Python: those that no kernel computes, and views where its results need more than them."""
    return r.program.called if quick.simple(r) else [step for step in r.program.steps if type(step) is not tuple]


def facts(traced):
    """What is known of a traced function, as plain data."""
    paths, plans = [], {}
    because = dict(zip(traced._table, differing(traced.fn, list(traced._table))))
    for key, r in recordings(traced):
        before, after = graphs(traced, key, r)
        p, held = r.program, memory(r)
        like = plans.setdefault(id(p.plan), len(paths))
        paths.append({
            "like": like if like < len(paths) else None, "told": r.sized,
            "calls": r.calls, "nodes": len(p.recorded), "after": len(p.nodes), "launches": p.launches, "python": [str(n) for n in in_python(r)],
            "guards": len(r.world.places), "tensors": len(r.tensors), "slower": r.slow,
            "microseconds": [round(t * 1e6, 2) if t < math.inf else None for t in r.trial.seconds], "checked": r.checks.made, "rewrites": p.notes,
            "writes": len(r.bumps), "graph": "\n".join(str(after).splitlines()[1:]), "inputs": [(x.place, x.name) for x in before.inputs],
            "arguments": [(path, said(d)) for path, d in arguments(traced.fn, key)], "because": because[key],
            "missed": [(str(x), n) for x, n in r.missed.named(traced.fn, key)],
            "guarded": guarded(traced, key, r),
            "unfused": [(str(a), str(b), reason) for a, b, reason in unfused(before, after)],
            "bytes": tuple(sum(cost.moved(n, g.types) for n in g.nodes) for g in (before, after)),
            "flops": sum(cost.operations(n, after.types) for n in after.nodes), "peak": sum(held.values()), "memory": held,
            "backward": r.backward and backward(r)})
    refused = traced._drift or next(iter(traced._refused.values()), None)
    refused, why = (x and str(x) for x in (refused, traced._why))
    return {"name": traced._name(), "paths": paths, "refused": refused, "kinds": len(traced._table), "sizes": sizes(traced), "why": why}


def backward(r):
    """What becomes of the gradients of a recording's results."""
    b = r.backward
    way = max(b.ways.values(), key=lambda w: len(w.given), default=None)
    memory = {r.program.origin[n] for n in b.saved}.difference(r.program.outside)
    return {"launches": way.program.launches if way else 0, "kept": sum(r.program.arrays[n].nbytes for n in memory), "again": len(b.again)}


def memory(r):
    """The bytes that a call holds at most, by kind (see `Program.footprint`), with the gradients that it replaces: they are there until the
    new ones are."""
    held = r.program.footprint()
    old = [place[1]._grad for place, spec in r.grads if place[0] == "object" and spec is not None and place[1]._grad is not None]
    return {**held, "replaced": sum(taken(t._array.nbytes) for t in old)}


def guard_text(g):
    """A guard as a line."""
    return f"{g['what']} is {g['is']}" + (f"  # {g['line']}" if g["line"] else "")


def some(lines):
    """Not too many lines."""
    return lines if len(lines) <= LINES else [*lines[:LINES], f"  ... and {len(lines) - LINES} more (explain(data=True) has all)"]


def many(n, what):
    """1 thing, 2 things"""
    return f"{n} {what}" + ("" if n == 1 else "es" if what.endswith("ch") else "s")


def headline(f):
    """What became of the function as a whole."""
    if f["refused"]:
        return f"runs eagerly: {f['refused']}" if not f["paths"] else f"{many(len(f['paths']), 'recording')}; other calls run eagerly: {f['refused']}"
    if f["paths"]:
        return many(len(f["paths"]), "recording")
    return f"no recording; the last attempt failed: {f['why']}" if f["why"] else "no recording yet: no call has come to its end with tracing on"


def timing(p):
    """How often a recording was used, and how fast that is."""
    out = f"used {many(p['calls'], 'time')} since; "
    if p["microseconds"][0] is None:
        return out + f"not timed yet (that takes {TURNS} calls, once all kernels are compiled well; of short ones the first {EARLY} aside)"
    replay, eager = p["microseconds"]
    return out + ("eager is faster, and is what runs: " if p["slower"] else "") + f"{replay} us a replay, {eager} us an eager call" \
        + (f"; {many(p['checked'], 'call')} recorded again to compare" if p["checked"] else "")


def explain(traced):
    """The same as text."""
    f = facts(traced)
    out = [f"{f['name']}: {headline(f)}"]
    for what, x in f["sizes"].items():
        seen = ", ".join(map(str, x["seen"][:LINES])) + (", ..." if len(x["seen"]) > LINES else "")
        out.append(f"  sizes of {what}{' (' + x['dim'] + ')' if x['dim'] else ''}: {seen}")
    for i, p in enumerate(f["paths"], 1):
        held, which = p["memory"], f"  {i}: " if len(f["paths"]) > 1 else "  "
        out.append(f"{which}{many(p['nodes'], 'operation')}, run as {many(p['launches'], 'kernel launch')} and {many(len(p['python']), 'step')} "
                   f"in Python; {timing(p)}")
        out.append(f"  {many(p['guards'], 'place')} and {many(p['tensors'], 'tensor')} outside of it are compared before each replay")
        out.append(f"  reads and writes {amount(p['bytes'][1])} ({amount(p['bytes'][0])} if nothing were fused), computes "
                   f"{amount(p['flops'], 'flop')}, holds at most {amount(p['peak'])}: {amount(held['inputs'])} given, "
                   f"{amount(held['arena'])} to work in, {amount(held['made'])} made"
                   + (f", {amount(held['kept'])} kept from call to call" if held["kept"] else "")
                   + (f", {amount(held['replaced'])} replaced" if held["replaced"] else ""))
        if p["backward"]:
            b = p["backward"]
            out.append(f"  its backward is run as {many(b['launches'], 'kernel launch')}: {amount(b['kept'])} of the forward are kept for it"
                       + (f", {many(b['again'], 'operation')} computed again" if b["again"] else ""))
        out += [f"  {note}" for note in p["rewrites"]]
        if p["because"]:
            out.append(f"  recorded because {'; '.join(p['because'])}")
        if p["like"] is not None:
            like = "; ".join(f"{path}: {d}" for path, d in f["paths"][p["like"]]["arguments"])
            out.append(f"  made like the recording of {like}: the same nodes, and the same sizes are equal, or 0, or 1")
        if p["told"]:
            out.append(f"  other sizes are watched like a first call, since it asks for a size at {p['told']} (or for something like it)")
        out += [f"  {many(n, 'call')} missed: {reason}" for reason, n in p["missed"]]
        out += ["    " + line for line in p["graph"].splitlines()]
        out += some([f"  not fused: {a} and {b}: {reason}" for a, b, reason in p["unfused"]])
        out += [f"  runs in Python: {step}" for step in p["python"]]
        out += some([f"  guard: {guard_text(g)}" for g in p["guarded"]])
    return "\n".join(out)
