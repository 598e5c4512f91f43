"""Describes a traced function: the graphs of its recordings, and where each tensor and guard comes
from. It says what was not fused and why, and what a replay moves, computes and holds."""
from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from whet.cpu.memory import taken
from whet.ir import cost
from whet.ir.graph import Ask, Graph, Guard, Input
from whet.tensor_base import is_strided

from ..effects.recipes import Constant, MadeArray, Number
from ..effects.tensor_recipes import MadeTensor, MadeView
from ..policy.outcomes import WHY_EAGER
from ..program.launch_lists import LaunchList
from ..refusals.arguments_in_words import (
    arguments,
    differing,
    in_words,
    is_length,
    is_tensor,
    varies,
)
from ..refusals.user_names import Names, line_of, slot_name, type_of
from ..tables import result_steps
from ..values.immutable_types import PLAIN
from ..values.tensor_sources import Outside
from .unfused import unfused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..effects.recipes import Recipe
    from ..guards.signature import Key
    from ..refusals.reasons import Reason
    from ..replay.recording import Recording
    from ..trace import Traced


def graph_inputs(
    traced: Traced, args: Sequence[Any], kwargs: dict[str, Any] | None = None
) -> list[Any]:
    """What `traced.recorded` (or `.graph`) is given in a call with these arguments: the tensors at
    its inputs' places, in order.

    >>> import whet
    >>> from whet.ir.interpret import interpret
    >>> from whet.jit.report.explain import graph_inputs
    >>> w = whet.ones(2)
    >>> @whet.jit.trace
    ... def f(x):
    ...     return x + w
    >>> _ = f(whet.ones(2))
    >>> interpret(f.recorded, *graph_inputs(f, [whet.zeros(2)]))
    [array([1., 1.], dtype=float32)]
    """
    _, found = traced._calls.learned.key(args, kwargs or {})
    (_, r), *_ = recordings(traced)
    leaves = [*found.leaves, *(s.fetch(r.world.tensors, found.leaves) for s in r.world.slots)]
    return r.replay.inputs.find(leaves)


# ---- graphs --------------------------------------------------------------------------------------
def graphs(traced: Traced, key: Key, r: Recording) -> tuple[Graph, Graph]:
    """The graph that was recorded, and the one that the passes left."""
    names, p = Names(r.world, traced.fn, key), r.program.model
    paths = [path for path, d in arguments(traced.fn, key)
             if is_tensor(d) or varies(d) or is_length(d)]
    paths += [slot_name(s, names) for s in r.world.slots]
    inputs = [
        Input(n, *source.described(paths, names))
        for n, source in zip(p.outside, r.replay.inputs.sources)]
    wanted = ExplainedValues()
    wanted.add(r.replay.result, "")
    for source, recipe in r.replay.grads:
        wanted.add(recipe, f"gradient of {source.described(paths, names)[1]}")
    left = r.replay.left
    for spot, recipe in left.effects:
        wanted.add(recipe, f"left in {spot.name}")
    for _, grown in left.growths:
        for recipe in grown:
            wanted.add(recipe, "left in a list")
    for _, recipe in left.filled:
        wanted.add(recipe, "left in an argument")
    results = wanted.values
    there = {v for v, _ in results}
    results += [(v, "kept for the backward") for v in p.results if v not in there]
    name = getattr(traced.fn, "__name__", type(traced.fn).__name__)
    return (Graph.of(p.recorded, p.arrays, inputs, results, name),
            Graph.of(p.nodes, p.arrays, inputs, results, name))


# plain data, as `explain(data=True)` gives it
Facts: TypeAlias = dict[str, Any]


class ExplainedValues:
    """The values that results are made of, and what each is for."""

    def __init__(self) -> None:
        self.values: list[tuple[int, str]] = []
        self.seen: set[Recipe] = set()

    def add(self, recipe: Recipe, name: str) -> None:
        """Add the values that a result is made of, each once."""
        if recipe in self.seen:
            return
        self.seen.add(recipe)
        if isinstance(recipe, MadeTensor | MadeView | Number | MadeArray):
            self.values.append((recipe.value, name))
        for part in recipe.parts():
            self.add(part, name if not isinstance(recipe, MadeView) else f"base of %{recipe.value}")


# ---- guards --------------------------------------------------------------------------------------
def guarded(traced: Traced, key: Key, r: Recording) -> list[dict[str, str]]:
    """What is compared before a replay: {"what", "is", "line"}, the line being where the code
    names it."""
    out = [{"what": path, "is": in_words(d), "line": ""} for path, d in arguments(traced.fn, key)]
    names, done = Names(r.world, traced.fn, key), set()
    for place in r.world.places:
        if not place.is_shown(names):
            continue
        for what, x in place.inside(names):
            tensor = is_strided(x)
            what = names.found.get(id(x), what) if tensor else what
            if (tensor or type(x) in PLAIN) and "._" not in what and what not in done:
                done.add(what)
                shown = type_of(x) if tensor else repr(x)
                line = line_of(r.world.codes, re.split(r"\W", what, maxsplit=1)[0])
                out.append({
                    "what": what, "is": shown if len(shown) <= 60 else shown[:57] + "...",
                    "line": line})
    for n in r.program.recorded:
        if isinstance(n, Guard):
            out.append({
                "what": f"the value of %{int(n.ins[0])}", "is": str(n.value.tolist()),
                "line": n.line})
        elif isinstance(n, Ask):
            what = f"what {n.attrs['question'].__qualname__} says of {', '.join(map(repr, n.ins))}"
            out.append({"what": what, "is": repr(n.value), "line": n.line})
    return out


# ---- sizes ---------------------------------------------------------------------------------------
def sizes(traced: Traced) -> dict[str, dict[str, Any]]:
    """The sizes of arguments that were seen to differ: `x[0]` -> {"dim": its name or None,
    "seen": the sizes}."""
    seen: dict[tuple[str, int, int], set[int]] = {}
    for key in list(traced._table):
        for path, d in arguments(traced.fn, key):
            if is_tensor(d):
                for i, n in enumerate(d[2]):
                    seen.setdefault((path, len(d[2]), i), set()).add(n)
    free = traced._calls.recordings.free or {}
    return {
        f"{path}[{i}]": {"dim": dim and dim.name, "seen": sorted(found)}
        for (path, ndim, i), found in seen.items() for dims in [free.get(path, {})]
        for dim in [dims.get(i, dims.get(i - ndim))] if len(found) > 1}


# ---- all together --------------------------------------------------------------------------------
def recordings(traced: Traced) -> list[tuple[Key, Recording]]:
    """(key, recording), as they stand in the table."""
    return [(key, r) for key, rs in list(traced._table.items()) for r in rs]


def most_called(traced: Traced) -> tuple[Key, Recording] | None:
    """(key, recording) that most calls went by, or None."""
    return max(recordings(traced), key=lambda x: x[1].calls, default=None)


def in_python(r: Recording) -> list[Any]:
    """The nodes that a call leaves to Python: those that no kernel computes, and views where its
    results need more than them."""
    return (r.program.called if result_steps.simple(r) else [
        step for step in r.program.steps if not isinstance(step, LaunchList)])


def facts(traced: Traced, light: bool = False) -> Facts:
    """What is known of a traced function, as plain data; `light`: without what only graphs tell."""
    paths: list[Facts] = []
    plans: dict[int, int] = {}
    because = dict(zip(traced._table, differing(traced.fn, list(traced._table))))
    for i, (key, r) in enumerate(recordings(traced)):
        like = plans.setdefault(id(r.program.plan), i)
        p = {
            "number": i + 1, "like": like if like < i else None, "because": because[key],
            **of_recording(traced, key, r)}
        paths.append(p if light else p | of_graphs(traced, key, r))
    refusals = traced._calls.refusals
    reasons = [x for x in (refusals.drift, refusals.first, *refusals.by_key.values(), refusals.why)
               if x]
    refused, ran = refusal(traced), traced._calls.learned.ran
    return {"name": traced._calls.subject.name, "paths": paths, "refused": refused and str(refused),
            "why": traced._why and str(traced._why), "unread": ran and str(ran.reason),
            "instead": list(dict.fromkeys(x.instead for x in reasons if x.instead)),
            "kinds": len(traced._table), "sizes": sizes(traced), "calls": tally(traced),
            "seconds": spent(traced)}


def misses(traced: Traced, most: int) -> tuple[list[tuple[Reason, int]], int]:
    """[(reason, how many calls)] of calls that had the arguments of a recording which they did not
    fit, the most frequent; and how many more reasons there are."""
    found: dict[tuple[Any, ...], tuple[Reason, Key, int]] = {}
    for key, r in recordings(traced):
        for reason, n in r.missed.counted():
            first, its_key, so_far = found.get(reason.same(), (reason, key, 0))
            found[reason.same()] = first, its_key, so_far + n
    best = sorted(found.values(), key=lambda x: -x[2])[:most]
    return [(reason.named(traced.fn, key), n) for reason, key, n in best], len(found) - len(best)


def refusal(traced: Traced) -> Reason | None:
    """Why calls run eagerly, or None."""
    return traced._drift or traced._calls.refusals.first


def tally(traced: Traced) -> dict[str, Any]:
    """How many calls were replayed, recorded and eager, and why the latter; of several
    recordings one call may have `missed`."""
    c = traced._policy.summary()
    return {
        "total": c.calls, "replayed": c.replayed, "recorded": c.recorded + c.resized,
        "eager": c.ran_eagerly, "failed": c.failed, "set_up": c.set_up,
        "ordered": c.ordered, "timed": c.timed,
        "checked": c.checked, "resized": c.resized, "missed": c.missed, "evicted": c.evicted,
        "because": {why.field: n for why in WHY_EAGER if (n := c.count(why))}}


def spent(traced: Traced) -> dict[str, float]:
    """The seconds that all calls took, those that eager ones would have taken, and what
    recording took of the former."""
    c = traced._policy.summary()
    return {"calls": c.spent, "eager": c.eager, "recording": c.recording}


def of_recording(traced: Traced, key: Key, r: Recording) -> Facts:
    """What a recording says of itself."""
    p = r.program
    return {
        "told": r.recorded.read_at, "calls": r.calls,
        "nodes": len(p.recorded), "after": len(p.nodes), "launches": p.launches,
        "python": [str(n) for n in in_python(r)],
        "guards": len(r.world.places), "tensors": len(r.guards.tensors), "slower": r.slow,
        "microseconds": [round(t * 1e6, 2) if t < math.inf else None for t in r.trial.seconds],
        "checked": r.checks.made, "rewrites": p.notes, "writes": len(r.replay.bumps), "arguments": [
            (path, in_words(d))
            for path, d in arguments(traced.fn, key)], "backward": r.backward and backward(r)}


def of_graphs(traced: Traced, key: Key, r: Recording) -> Facts:
    """What its graphs say."""
    before, after = graphs(traced, key, r)
    return {
        "missed": [(str(x), n) for x, n in r.missed.named(traced.fn, key)],
        "graph": "\n".join(str(after).splitlines()[1:]),
        "inputs": [(x.place, x.name) for x in before.inputs],
        "guarded": guarded(traced, key, r),
        "unfused": [(str(a), str(b), reason) for a, b, reason in unfused(before, after)],
        **moved(r, before, after)}


def moved(r: Recording, before: Graph, after: Graph) -> Facts:
    """What a replay moves, computes and holds."""
    held = memory(r)
    return {
        "bytes": tuple(sum(cost.moved(n, g.types) for n in g.nodes) for g in (before, after)),
        "flops": sum(cost.operations(n, after.types) for n in after.nodes),
        "peak": sum(held.values()),
        "memory": held}


def backward(r: Recording) -> dict[str, int]:
    """What becomes of the gradients of a recording's results."""
    b = r.backward
    way = max(b.ways.values(), key=lambda w: len(w.incoming), default=None)
    memory = {r.program.origin[n] for n in b.saved}.difference(r.program.outside)
    return {
        "launches": way.program.launches if way else 0,
        "kept": sum(r.program.arrays[n].nbytes for n in memory),
        "again": b.computed_again}


def memory(r: Recording) -> dict[str, int]:
    """The bytes that a call holds at most, by kind (see `Program.footprint`), with the gradients
    that it replaces: they are there until the new ones are, unless those take their memory."""
    held = r.program.footprint()
    old = [
        source.tensor._grad for i, (source, recipe) in enumerate(r.replay.grads)
        if isinstance(source, Outside) and not isinstance(recipe, Constant)
        and source.tensor._grad is not None and not r.replay.spent.takes(i, source.tensor)]
    return {**held, "replaced": sum(taken(t._array.nbytes) for t in old)}


def guard_text(g: dict[str, str]) -> str:
    """A guard as a line."""
    return f"{g['what']} is {g['is']}" + (f"  # {g['line']}" if g["line"] else "")
