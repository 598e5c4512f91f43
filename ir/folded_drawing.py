"""Draws a large graph as views of few boxes: groups of nodes that can be opened, each a view of its
own.

A group is a run of nodes in the order of the program, so the links between groups have no cycles.
Runs are made by what nodes have in common: the line of the traced function that they are of, and
the module whose parameters they read; what reads none belongs to the module before it.
"""
from __future__ import annotations

import collections
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import cost
from .drawing import (
    Box,
    Drawing,
    Link,
    amount,
    box_of,
    changes,
    cut,
    dependencies,
    drawing,
    kernels,
    wide,
)
from .drawing_layout import layers, narrow
from .nodes import Node

if TYPE_CHECKING:
    from .graph import Graph

# nodes of a graph that is one picture at most; of a larger one that shows its groups
LARGE = 250
# nodes of a view without groups, and groups of one, about: what fits a window and can be read
MOST, GROUPS = 36, 14
# nodes that are shown and not their group, where there is room
FEW = 3
LEAST = 8                                # nodes of a group that is not joined with the next
WIDE = 46                                # letters of a line in a group's box
ABREAST = 7                              # boxes side by side
# members of a kernel that is opened at most: more are listed
OPENED = 60
AROUND = 8                               # neighbours that a view names on each side
NAMED = 3                                # tensors from outside that a box names
GROUP, NEIGHBOUR = "#f5f5f5", "#ffffff"

Run = tuple[int, int]                    # nodes, from and to
Key = tuple[Any, ...]                    # of a box: what it is, and its number
Label = tuple[str, tuple[str, ...]]      # a line or a file, and the path of a module


class View:
    """What is seen at once. `span`: its nodes, from and to; `up`: the view that it is a part of;
    `opens`: box -> the view of what is in it; `kernel`: the place of the node whose members these
    are, or None."""

    def __init__(self, number: int, name: str, span: Run, up: View | None,
                 kernel: int | None = None) -> None:
        self.number, self.name, self.span, self.up, self.kernel = number, name, span, up, kernel
        self.parts: list[int | View] = []                # places of nodes, and Views
        self.boxes: dict[Key, Box] = {}
        self.links: dict[tuple[Key, Key], Link] = {}
        self.opens: dict[Key, int] = {}

    def part(self, i: int) -> tuple[int, int | View]:
        """The box of this view that node i is in."""
        for p in self.parts:
            if isinstance(p, View) and p.span[0] <= i < p.span[1]:
                return p.number, p
            elif p == i:
                return i, p
        raise LookupError(i)

    def drawing(self, effort: float = 1.0) -> Drawing:
        """The boxes of this view, each in its place, of which not too many stand side by side."""
        return Drawing(self.boxes, self.links,
                       narrow(layers(list(self.boxes), self.links), self.links, ABREAST), effort)


class Folded:
    """All views of a graph, the whole of it first. `own`: the lines of the traced function
    itself."""

    def __init__(
        self, g: Graph, colours: Mapping[int, str] | None = None,
        notes: Mapping[int, str] | None = None, own: Collection[str] = frozenset()) -> None:
        self.g, self.colours, self.notes = (g, kernels(g) if colours is None else colours, notes
                                            or {})
        self.labels = labels(g, own)
        self.names = {x.value: x.name or x.place for x in g.inputs}
        self.arguments = {x.value for x in g.inputs if not x.outside}
        self.links = [(a, b, v, kind) for a, b, v, kind in dependencies(g)
                      if kind == "value" or type(a) is int and changes(g.nodes[a])]
        self.moved = [cost.moved(n, g.types) for n in g.nodes]
        # value -> what becomes of it; returned where nothing is said
        self.roles = dict(reversed(g.results))
        maker = {o: i for i, n in enumerate(g.nodes) for o in n.outs}
        # node -> the results that it makes
        self.results: dict[int, list[int]] = collections.defaultdict(list)
        for x in self.roles:
            if x in maker:
                self.results[maker[x]].append(x)
        # node -> the values from outside that it reads
        self.read: dict[int, list[int]] = {}
        self.into: dict[int, list[tuple[int, int, str]]] = collections.defaultdict(list)
        self.out: dict[int, list[tuple[int, int, str]]] = collections.defaultdict(list)
        for a, b, v, kind in self.links:
            if type(a) is str:
                self.read.setdefault(b, []).append(v)
            else:
                self.into[b].append((a, v, kind))
                self.out[a].append((b, v, kind))
        self.views: list[View] = []
        self.view("all", 0, len(g.nodes), None)
        # node -> the view that shows it
        self.where = {
            p: v for v in self.views if v.kernel is None for p in v.parts if isinstance(p, int)}
        for view in list(self.views):
            self.fill(view)

    # ---- which views there are -------------------------------------------------------------------
    def view(self, name: str, low: int, high: int, up: View | None) -> View:
        """A view of nodes from `low` to `high`, and those of its groups."""
        v = View(len(self.views), name, (low, high), up)
        self.views.append(v)
        if high - low <= MOST:
            v.parts += range(low, high)
            return v
        for i, j in joined(runs(self.labels, low, high)):
            v.parts += range(i, j) if j - i == 1 else [self.view(self.name(i, j, v), i, j, v)]
        return v

    def name(self, i: int, j: int, up: View) -> str:
        """What a group is called: the module that all of it belongs to, else what it begins and
        ends with, or its line."""
        paths = [m for _, m in self.labels[i:j]]
        common = [a for a, *others in zip(*paths) if all(a == b for b in others)]
        lines = list(dict.fromkeys(p for p, _ in self.labels[i:j]))
        name = ".".join(common)
        if name and name != up.name.partition(" ")[0]:
            return name if len(lines) > 1 else f"{name} ({lines[0]})"
        if len(lines) == 1 and lines[0] not in up.name:
            return lines[0]
        first, last = ".".join(paths[0]), ".".join(paths[-1])
        if first != last:
            return f"{first or lines[0]} … {last or lines[-1]}"
        return (f"{name or lines[0]}: "
                + ", ".join(list(dict.fromkeys(text_of(n) for n in self.g.nodes[i:j]))[:3]))

    # ---- what is in them -------------------------------------------------------------------------
    def fill(self, v: View) -> None:
        """The boxes and links of a view."""
        around: dict[Key, tuple[str, int]] = {}
        found = self.found(v, around)
        few = {side: {k
                      for k, _ in collections.Counter(k for k in around
                                                      if k[0] == side).most_common(AROUND)}
               for side in ("from", "to")}
        for (one, other), values in found.items():
            if all(k[0] not in few or k in few[k[0]] for k in (one, other)):
                v.links[one, other] = self.link(values)
        returned = [x for (_, to), values in found.items() if to[0] == "result" for x in values]
        if returned:
            v.boxes["result", 0] = self.result(returned)
        self.fill_inputs(v)
        self.fill_parts(v)
        for key in dict.fromkeys(k for link in v.links for k in link if k[0] in few):
            side, (name, view) = key[0], around[key]
            v.boxes[key] = Box([(f"{side} {cut(name, 44)}", "from")], NEIGHBOUR, f"{side} {name}",
                               "input neighbour")
            v.opens[key] = view

    def found(self, v: View,
              around: dict[Key, tuple[str, int]]) -> dict[tuple[Key, Key], dict[int, str]]:
        """The links of a view, and the values of each; notes what is beside the view in
        `around`."""
        keys: dict[int, Key] = {i: ("node", i) for i in v.parts if isinstance(i, int)}
        for p in v.parts:
            if isinstance(p, View):
                keys.update(dict.fromkeys(range(*p.span), ("group", p.number)))
        found: dict[tuple[Key, Key], dict[int, str]] = {}

        def note(a: Key, b: Key, x: int, kind: str) -> None:
            found.setdefault((a, b), {})[x] = kind
        for i in range(*v.span):
            key = keys[i]
            for x in self.read.get(i, ()):
                if x in self.arguments:
                    note(("input", x), key, x, "value")
            for k, x, kind in self.into[i]:
                if keys.get(k) != key:
                    note(keys[k] if k in keys else self.neighbour(v, k, "from", around), key, x,
                         kind)
            for k, x, kind in self.out[i]:
                if k not in keys:
                    note(key, self.neighbour(v, k, "to", around), x, kind)
            for x in self.results.get(i, ()):
                note(key, ("result", 0), x, "value")
        return found

    def result(self, values: Sequence[int]) -> Box:
        """The box of what a view gives."""
        said = collections.Counter(self.roles[x] or "returned" for x in values)
        more = [f"{n} x {what}" if n > 1 else what for what, n in said.most_common(2 * AROUND)]
        name = "result" if len(values) == 1 else f"{len(values)} results"
        return Box([(name, "op")], "#e3f2fd", "\n".join(["results", *more]), "input result")

    def fill_inputs(self, v: View) -> None:
        """The boxes of the arguments that are read in a view."""
        inputs = {a[1] for a, _ in v.links if a[0] == "input"}
        for x in self.g.inputs:
            if x.value in inputs:
                said = str(self.g.types[x.value])
                v.boxes["input",
                        x.value] = Box([(cut(self.names[x.value]), "name"),
                                        (said, "type")], "#e8f5e9",
                                       f"%{x.value} = {x.place} {x.name} : {said}", "input")

    def fill_parts(self, v: View) -> None:
        """The boxes of the groups and nodes of a view."""
        for p in v.parts:
            if isinstance(p, View):
                v.boxes["group", p.number] = self.group(p)
                v.opens["group", p.number] = p.number
            else:
                v.boxes["node", p] = self.node(p)
                if self.g.nodes[p].members and 2 < len(self.g.nodes[p].flat()) <= OPENED:
                    v.opens["node", p] = self.members(p, v).number

    def neighbour(self, v: View, i: int, side: str, around: dict[Key, tuple[str, int]]) -> Key:
        """The box for what a view is linked with: the largest group beside it that node i is in."""
        up = v.up
        while up is not None and not up.span[0] <= i < up.span[1]:
            up = up.up
        assert up is not None                # the first view has all nodes
        number, part = up.part(i)
        key = side, up.number, number
        around[key] = ((part.name, part.number) if isinstance(part, View) else
                       (text_of(self.g.nodes[i]), up.number))
        return key

    def link(self, values: Mapping[int, str]) -> Link:
        """A line for some values (value -> kind)."""
        types = self.g.types
        size = sum(types[x].nbytes for x, kind in values.items() if kind == "value" and x in types)
        said = [
            f"%{x} : {types[x]}, {amount(types[x].nbytes)}"
            for x in itertools.islice(values, NAMED) if x in types]
        more = ([f"and {len(values) - NAMED} more, {amount(size)} in all"]
                if len(values) > NAMED else [])
        kind = "value" if "value" in values.values() else "order"
        return Link("\n".join([*(["after it:"] if kind == "order" else []), *said, *more]),
                    kind,
                    wide(size))

    def node(self, i: int) -> Box:
        """The box of a node, with the tensors from outside that it reads."""
        named = [x for x in self.read.get(i, ()) if x not in self.arguments]
        return box_of(self.g, self.g.nodes[i], self.colours, self.notes.get(i, ""), self.names,
                      named, set())

    def group(self, p: View) -> Box:
        """The box of a group."""
        nodes = self.g.nodes[p.span[0]:p.span[1]]
        size = sum(self.moved[p.span[0]:p.span[1]])
        work = [n for n in nodes if not n.is_view] or nodes
        ops = collections.Counter(text_of(n) for n in work).most_common(4)
        lines = list(dict.fromkeys(n.line for n in nodes if n.line))
        outside = {
            x for i in range(*p.span) for x in self.read.get(i, ()) if x not in self.arguments}
        flops = sum(cost.operations(n, self.g.types) for n in nodes)
        title = [
            p.name,
            f"{len(nodes)} nodes, {amount(size)} moved, {amount(flops, 'flop')}",
            *[f"{n} x {name}" for name, n in ops],
            *([
                f"{len(outside)} tensors from outside, "
                f"{amount(sum(self.g.types[x].nbytes for x in outside))}"
            ] if outside else []),
            ", ".join(lines[:6]) + (", …" if len(lines) > 6 else "")]
        return Box([
            (cut(p.name, 40), "op"), (f"{len(nodes)} nodes · {amount(size)}", "type"),
            (" · ".join(f"{n} {name}" if n > 1 else name for name, n in ops[:2])[:WIDE], "member")],
                   GROUP, "\n".join(title), "group")

    def title(self, v: View) -> str:
        """What is known of a view as a whole."""
        return (self.group(v).title
                if v.kernel is None else self.node(v.kernel).title).partition("\n")[2]

    def members(self, i: int, up: View) -> View:
        """The view of the nodes in a kernel."""
        g, n = self.g, self.g.nodes[i]
        v = View(len(self.views), text_of(n), (i, i + 1), up, i)
        self.views.append(v)
        flat = n.flat()
        maker = {o: k for k, m in enumerate(flat) for o in m.outs}
        for k, m in enumerate(flat):
            named = [int(x) for x in m.refs() if x not in maker]
            names = {**{x: f"%{x}" for x in named}, **self.names}
            v.boxes["member", k] = box_of(g, m, self.colours, "", names, list(dict.fromkeys(named)),
                                          set())
            for x in m.refs():
                if x in maker:
                    v.links[("member", maker[x]), ("member", k)] = self.link({x: "value"})
        return v


def picture(g: Graph, colours: Mapping[int, str] | None = None,
            notes: Mapping[int, str] | None = None, own: Collection[str] = frozenset()) -> Drawing:
    """A graph as one Drawing: the whole of it, or its groups where it is large."""
    if len(g.nodes) <= LARGE:
        return drawing(g, colours, notes)
    return Folded(g, colours, notes, own).views[0].drawing()


def text_of(n: Node) -> str:
    """A node in a word or three."""
    names = n.names
    return "·".join(names[:3]) + ("·…" if len(names) > 3 else "")


# ---- runs ----------------------------------------------------------------------------------------
def labels(g: Graph, own: Collection[str]) -> list[Label]:
    """What each node belongs to: (line of the traced function, or the file of another line; path
    of the module)."""
    root = g.roots()
    paths = {x.value: module(x.name) for x in g.inputs if x.outside and x.name}
    out: list[Label] = []
    now: tuple[str, ...] = ()
    for n in g.nodes:
        found = [paths[r] for x in n.refs() if (r := root.get(x, x)) in paths and paths[r]]
        now = max(found, key=len, default=now)
        out.append((n.line if n.line in own else n.line.partition(":")[0], now))
    return out


def module(name: str) -> tuple[str, ...]:
    """The path of the module that holds a parameter of this name: `model.blocks.0.weight` is of
    model, blocks, 0, and so is what an optimizer keeps for it."""
    inner = re.search(r"\[([A-Za-z_][\w.]*)\]", name)
    return tuple(re.sub(r"\.grad$", "", inner[1] if inner else name).split(".")[:-1])


def runs(labels: Sequence[Label], low: int, high: int) -> list[Run]:
    """Nodes from `low` to `high` as runs of few enough: [(from, to)]."""
    found = divided(labels, low, high)
    whole: set[Run] = set()
    # the largest in parts, where there is room for these
    while left := [r for r in found if r[1] - r[0] > 1 and r not in whole]:
        largest = max(left, key=lambda r: r[1] - r[0])
        room = GROUPS - len(found) + 1
        parts = divided(labels, *largest, room)
        if not 1 < len(parts) <= room:
            whole.add(largest)
        else:
            at = found.index(largest)
            found[at:at + 1] = parts
    return found


def divided(labels: Sequence[Label], low: int, high: int, most: int = 2 * GROUPS) -> list[Run]:
    """Nodes as the finest runs of equal labels that are not more than `most`."""
    if high - low <= FEW:
        return [(i, i + 1) for i in range(low, high)]
    deepest = max(len(path) for _, path in labels[low:high])
    best: list[Run] | None = None
    finer: list[Run] | None = None
    for depth in range(deepest + 1):
        found = alike(low, high, lambda i: (labels[i][0], labels[i][1][:depth]))
        if len(found) > most:
            finer = found
            break
        best = found if len(found) > 1 else best
    return best or merged(finer or [(i, i + 1) for i in range(low, high)])


def joined(found: Iterable[Run]) -> list[Run]:
    """Neighbouring runs of a few nodes together: a group is worth opening."""
    out: list[Run] = []
    for i, j in found:
        if out and 1 < j - i < LEAST and 1 < out[-1][1] - out[-1][0] < LEAST:
            out[-1] = out[-1][0], j
        else:
            out.append((i, j))
    return out


def alike(low: int, high: int, key: Callable[[int], object]) -> list[Run]:
    """The longest runs of equal keys."""
    out, at = [], low
    for _, same in itertools.groupby(range(low, high), key):
        n = len(list(same))
        out.append((at, at + n))
        at += n
    return out


def merged(found: Sequence[Run]) -> list[Run]:
    """Neighbouring runs together, so that there are few, of about as many nodes each."""
    least = math.ceil((found[-1][1] - found[0][0]) / GROUPS)
    out: list[Run] = []
    for i, j in found:
        if out and out[-1][1] - out[-1][0] < least:
            out[-1] = out[-1][0], j
        else:
            out.append((i, j))
    return out
