"""`explain()` in one screen: how the calls were made, why some were not replayed and what that
costs, and what to do about it.

A screen is a list of (label, lines). Every line is cut to WIDE letters and every part to its own
number of lines, so that the whole is at most TALL lines for any function. `explain(full=True)` goes
on with all of every recording.
"""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from whet.ir import cost
from whet.ir.drawing import amount

from ..policy.outcomes import WHY_EAGER, Outcome
from ..policy.timing import EARLY, TURNS
from ..refusals.arguments_in_words import MODES
from . import explain
from .unfused import kind_of, unfused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whet.ir.graph import Graph, Node

    from ..guards.signature import Key
    from ..refusals.reasons import Reason
    from ..replay.recording import Recording
    from ..trace import Traced
    from .explain import Facts

WIDE, TALL = 100, 40
LABEL = 12                               # letters of a line before what it says
KINDS, REASONS, KERNELS, ADVICE = 6, 4, 5, 5     # lines of these parts


def screen(traced: Traced) -> str:
    """The text."""
    f = explain.facts(traced, light=True)
    shown = sorted(f["paths"], key=lambda p: -p["calls"])
    main = explain.most_called(traced)
    misses, others = explain.misses(traced, REASONS)
    parts = [("calls", calls(f)), ("time", times(f, shown)), ("kinds", kinds(shown)),
             ("missed", missed(misses, others)), ("eager", eager(f)), ("code", code(f))]
    if main is not None:
        parts += work(traced, *main)
    parts.append(("to do", advice(f, shown, main, misses)))
    while sum(len(lines) for _, lines in parts) >= TALL:
        max((lines for _, lines in parts), key=len).pop()
    out = [cut(f"{f['name']}: {headline(len(f['paths']), f['calls'], f['refused'])}")]
    for label, lines in parts:
        out += [cut(f"  {label if not i else '':<{LABEL}}{line}") for i, line in enumerate(lines)]
    return "\n".join(out)


def state(traced: Traced) -> str:
    """What a traced function is, and what became of its calls, in a few words."""
    words = headline(len(explain.recordings(traced)),
                     explain.tally(traced),
                     explain.refusal(traced))
    return f"{traced._calls.subject.name}: {words}"


def cut(line: str, wide: int = WIDE) -> str:
    """A line that is cut to a number of letters."""
    return line if len(line) <= wide else line[:wide - 1] + "…"


def wrapped(text: str, wide: int = WIDE - LABEL - 2, most: int = 3) -> list[str]:
    """A text as lines, the last of which may be cut."""
    out = [""]
    # A path may be longer than a line.
    words = [word[i:i + wide] for word in text.split() for i in range(0, len(word), wide)]
    for word in words:
        if out[-1] and len(out[-1]) + 1 + len(word) > wide and len(out) < most:
            out.append("")
        out[-1] += (" " if out[-1] else "") + word
    return [cut(line, wide) for line in out]


def many(n: int, what: str) -> str:
    """1 thing, 2 things"""
    return f"{n:,} {what}" + ("" if n == 1 else "es" if what.endswith(("ch", "s")) else "s")


def seconds(t: float) -> str:
    """12.3 ms"""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if t >= unit:
            return f"{t / unit:.3g} {name}"
    return f"{t * 1e9:.3g} ns"


# ---- what became of the calls --------------------------------------------------------------------
def headline(recordings: int, tally: Mapping[str, Any], refused: object) -> str:
    """What it comes to."""
    if not recordings:
        return "runs eagerly" if refused else "no recording yet"
    return (
        f"{many(recordings, 'recording')}, {tally['replayed']:,} of "
        f"{many(tally['total'], 'call')} replayed")


def calls(f: Facts) -> list[str]:
    """How the calls were made."""
    c = f["calls"]
    if not c["total"]:
        return []
    words = {
        "replayed": "replayed", "recorded": "recorded", "eager": "eager",
        "set_up": "eager, to set up what later ones find", "failed": "recorded in vain",
        "ordered": "recorded, its kernels still to be compiled",
        "timed": "eager, to compare times",
        "checked": "recorded again, to compare"}
    found = [
        f"{c[k]:,} {what} ({100 * c[k] / c['total']:.0f} %)" for k, what in words.items() if c[k]]
    out = wrapped(", ".join(found))
    if c["because"]:
        out += wrapped(
            "eager ones: " + ", ".join(f"{n:,} {WHY_EAGER[Outcome(why)]}"
                                       for why, n in c["because"].items()), most=2)
    return out


def times(f: Facts, shown: Sequence[Facts]) -> list[str]:
    """What calls take, as far as that was measured."""
    timed = [p for p in shown if p["microseconds"][0] is not None]
    out = []
    for p in timed[:2]:
        replay, eager = (1e-6 * t for t in p["microseconds"])
        which = f"recording {p['number']}: " if len(shown) > 1 else ""
        faster = (f"{eager / replay:.3g} times as fast"
                  if replay < eager else "slower: these calls run eagerly")
        out.append(f"{which}{seconds(replay)} a replay, {seconds(eager)} an eager call: {faster}")
    if shown and not timed:
        out.append("no replay was timed against an eager call yet: that takes some dozens of calls")
    t, c = f["seconds"], f["calls"]
    recorded = c["recorded"] + c["failed"] + c["set_up"] + c["ordered"]
    if t["calls"]:
        worth = f", {seconds(t['eager'])} if all were eager" if t["eager"] and timed else ""
        out += wrapped(
            f"{seconds(t['calls'])} in all calls{worth}; {seconds(max(t['recording'], 0))} of it "
            f"for recording {many(recorded, 'call')}")
    return out


def kinds(shown: Sequence[Facts]) -> list[str]:
    """The recordings, the most used first: their calls, their arguments."""
    out = []
    for p in shown[:KINDS if len(shown) <= KINDS else KINDS - 1]:
        arguments = ", ".join(f"{path} is {d}" for path, d in p["arguments"]) or "no arguments"
        because = [x for x in p["because"] or () if x in MODES]
        out.append(f"{p['number']}. {many(p['calls'], 'call')}: {arguments}"
                   + (f" ({'; '.join(because)})" if because else ""))
    if len(shown) > len(out):
        rest = shown[len(out):]
        out.append(
            f"and {many(len(rest), 'other recording')} with "
            f"{many(sum(p['calls'] for p in rest), 'call')}")
    return out


def missed(found: Sequence[tuple[Reason, int]], left: int) -> list[str]:
    """What calls missed that had the arguments of a recording, by guard and line."""
    out = [line for reason, n in found for line in wrapped(f"{many(n, 'time')}: {reason}", most=2)]
    return out + ([f"and {many(left, 'other reason')}"] if left else [])


def eager(f: Facts) -> list[str]:
    """Why calls run eagerly."""
    reasons = [x for x in (f["refused"], f["why"] if f["why"] != f["refused"] else None) if x]
    out = [line for x in reasons for line in wrapped(x, most=4)]
    slow = sum(p["slower"] for p in f["paths"])
    return (
        out +
        ([f"eager calls are shorter than replays for {many(slow, 'recording')}"] if slow else []))


def code(f: Facts) -> list[str]:
    """What the function could reach, if that is not all read."""
    return wrapped(f"only what ran is read, and its numbers and arrays are guards; of other code: "
                   f"{f['unread']}") if f["unread"] and f["paths"] else []


# ---- what a replay does --------------------------------------------------------------------------
def work(traced: Traced, key: Key, r: Recording) -> list[tuple[str, list[str]]]:
    """[(label, lines)]: what a replay of this recording runs, moves, computes and holds, and
    what it does most of."""
    before, after = explain.graphs(traced, key, r)
    p, held = r.program, explain.memory(r)
    first, last = (sum(cost.moved(n, g.types) for n in g.nodes) for g in (before, after))
    python = explain.in_python(r)
    runs = f"{many(len(p.recorded), 'operation')} as {many(p.launches, 'kernel launch')}"
    runs += f" and {many(len(python), 'step')} in Python" if python else ""
    moves = f"moves {amount(last)}" + (f" ({amount(first)} unfused)" if first > last else "")
    flops = sum(cost.operations(n, after.types) for n in after.nodes)
    out = [("a replay", wrapped(f"{runs}; {moves}; {amount(flops, 'flop')}"))]
    if r.backward is not None:
        out[0][1].extend(wrapped(backward_text(explain.backward(r))))
    out.append(("memory", wrapped(f"at most {amount(sum(held.values()))}: {by_use(held)}")))
    out.append(("most bytes", largest(after, last)))
    if python:
        names = collections.Counter(label(n) + (f" ({n.line})" if n.line else "") for n in python)
        said = ", ".join(f"{n} x {x}" if n > 1 else x for x, n in names.most_common(REASONS))
        out.append(("in Python", wrapped(said + (", ..." if len(names) > REASONS else ""), most=2)))
    out.append(("not fused", apart(before, after)))
    return out


def by_use(held: Mapping[str, int]) -> str:
    """The bytes that a call holds, by what they are for."""
    words = {
        "inputs": "given", "arena": "to work in", "made": "made", "kept": "kept from call to call",
        "replaced": "replaced"}
    return ", ".join(f"{amount(held[k])} {what}" for k, what in words.items() if held[k])


def largest(g: Graph, total: int) -> list[str]:
    """The kinds of kernels that move most, with the line that has most of them."""
    found: dict[str, collections.Counter[str]] = {}
    for n in g.nodes:
        moved = cost.moved(n, g.types)
        if moved:
            lines = found.setdefault(label(n), collections.Counter())
            lines[n.line] += moved
    best = sorted(found.items(), key=lambda x: -x[1].total())[:KERNELS]
    names = collections.Counter(label(n) for n in g.nodes)
    out = []
    for name, lines in best:
        more = f" and {many(len(lines) - 1, 'other line')}" if len(lines) > 1 else ""
        out.append(
            f"{amount(lines.total()):>8} {100 * lines.total() / total:3.0f} %  {names[name]} x "
            f"{name}  "
            f"# {lines.most_common(1)[0][0] or 'no line'}{more}")
    return out


def label(n: Node) -> str:
    """A node in a word: the ops of a kernel, the first of them."""
    ops = [m.op for m in n.flat() if m.op is not None] if n.members else [n.op]
    # An optimizer's formula, without the settings that give it its form.
    names = list(dict.fromkeys(n.kind if op is None else op.name.partition("/")[0] for op in ops))
    return "_".join(names[:3]) + ("_…" if len(names) > 3 else "")


def apart(before: Graph, after: Graph) -> list[str]:
    """Why pointwise operations that feed each other are several kernels, in short."""
    found = collections.Counter(kind_of(reason) for _, _, reason in unfused(before, after))
    if not found:
        return []
    total = sum(found.values())
    said = [f"{many(n, 'time')}: {reason}" for reason, n in found.most_common(REASONS)]
    left = total - sum(n for _, n in found.most_common(REASONS))
    return [*said, *([f"{left:,} times for other reasons"] if left else [])]


# ---- what to do ----------------------------------------------------------------------------------
def advice(f: Facts, shown: Sequence[Facts], main: tuple[Key, Recording] | None,
           misses: Sequence[tuple[Reason, int]]) -> list[str]:
    """What would make more calls replays, or replays faster."""
    out = list(f["instead"])
    total = f["calls"]["total"]
    if any(p["slower"] for p in shown):
        out.append(
            "Trace a larger function, best the whole training step: a replay of little work is no "
            "faster.")
    elif shown and main is not None and main[1].backward is not None:
        out.append(
            "Trace the whole step, with backward() and the optimizer in it: forward and backward "
            "become one program.")
    if f["calls"]["replayed"] < total / 2:
        out += dict.fromkeys(reason.instead for reason, _ in misses if reason.instead)
        out += ([arguments_vary(f, shown)]
                if len(shown) > KINDS or not misses and len(shown) > 1 else [])
    if f["paths"]:
        out.append(
            "explain(full=True) has graphs, guards and all reasons; show() draws the graphs.")
    return [line for text in out[:ADVICE] for line in wrapped(text, most=2)]


def arguments_vary(f: Facts, shown: Sequence[Facts]) -> str:
    """Many kinds of arguments: what to do about those."""
    sizes = [what for what, x in f["sizes"].items() if x["dim"] is None]
    if f["sizes"] and not sizes:
        return (
            "Every size has a recording of its own, which pays when the size comes again: pad to "
            "fewer sizes.")
    if sizes:
        which = ", ".join(sizes[:3])
        return (
            f"Sizes vary ({which}): pad to fewer sizes, or declare them: jit.trace(dynamic={{...: "
            f"{{0: jit.Dim('n')}}}}).")
    because = next((p["because"][0] for p in shown if p["because"]), None)
    said = f" ({because})" if because else ""
    return (
        f"Arguments that are no tensors differ between calls{said}: pass numbers as tensors, and "
        "the same objects again.")


# ---- all of it -----------------------------------------------------------------------------------
def full(traced: Traced) -> str:
    """The screen, and all that is known of every recording."""
    f = explain.facts(traced)
    out = [screen(traced), *([f"runs eagerly: {f['refused']}"] if f["refused"] else [])]
    for what, x in f["sizes"].items():
        out.append(
            f"  sizes of {what}{' (' + x['dim'] + ')' if x['dim'] else ''}: "
            f"{', '.join(map(str, x['seen']))}")
    for p in f["paths"]:
        out += ["", f"recording {p['number']}", *figures(p), *origin(p, f["paths"])]
        out += [f"  {many(n, 'call')} missed: {reason}" for reason, n in p["missed"]]
        out += [f"  guard: {explain.guard_text(g)}" for g in p["guarded"]]
        out += [f"  runs in Python: {step}" for step in p["python"]]
        out += [f"  not fused: {a} and {b}: {reason}" for a, b, reason in p["unfused"]]
        out += ["  graph:", *("    " + line for line in p["graph"].splitlines())]
    return "\n".join(out)


def figures(p: Facts) -> list[str]:
    """What a replay runs, compares, moves and holds."""
    held, b = p["memory"], p["backward"]
    return [
        f"  {many(p['nodes'], 'operation')}, run as {many(p['launches'], 'kernel launch')} and "
        f"{many(len(p['python']), 'step')} in Python; {timing(p)}",
        f"  {many(p['guards'], 'place')} and {many(p['tensors'], 'tensor')} outside of it are "
        "compared before each replay",
        f"  reads and writes {amount(p['bytes'][1])} ({amount(p['bytes'][0])} if nothing were "
        f"fused), computes {amount(p['flops'], 'flop')}, "
        f"holds at most {amount(p['peak'])}: {by_use(held)}",
        *([f"  {backward_text(b)}"] if b else []),
        *[f"  {note}" for note in p["rewrites"]]]


def backward_text(b: Mapping[str, int]) -> str:
    """What becomes of gradients that are taken outside."""
    again = f", {many(b['again'], 'operation')} computed again" if b["again"] else ""
    return (
        f"its backward is run as {many(b['launches'], 'kernel launch')}: {amount(b['kept'])} of "
        f"the forward are kept for it{again}")


def origin(p: Facts, paths: Sequence[Facts]) -> list[str]:
    """Why a recording was made, and like which."""
    out = ["  arguments: " + (", ".join(f"{path} is {d}" for path, d in p["arguments"]) or "none")]
    if p["because"]:
        out.append(f"  recorded because {'; '.join(p['because'])}")
    if p["like"] is not None:
        out.append(
            f"  made like recording {p['like'] + 1}: the same nodes, and the same sizes are "
            "equal, or 0, or 1")
    if p["told"]:
        out.append(
            "  other sizes are watched like a first call, since it asks for a size at "
            f"{p['told']} (or for something like it)")
    return out


def timing(p: Facts) -> str:
    """How often a recording was used, and how fast that is."""
    out = f"used {many(p['calls'], 'time')} since; "
    if p["microseconds"][0] is None:
        return (
            out +
            f"not timed yet (that takes {TURNS} calls, once all kernels are compiled well; of "
            f"short ones the first {EARLY} aside)")
    replay, eager = p["microseconds"]
    out += "eager is faster, and is what runs: " if p["slower"] else ""
    out += f"{replay} us a replay, {eager} us an eager call"
    return out + (f"; {many(p['checked'], 'call')} recorded again to compare"
                  if p["checked"] else "")
