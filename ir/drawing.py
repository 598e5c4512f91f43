"""Draws graphs: as SVG without dependencies, and as a `networkx` graph for algorithms.

Inputs are rounded, nodes boxes from top to bottom; nodes that the passes made one kernel have its
colour in both pictures. What a node says is in its box, all of it in its tooltip: the line of text,
the user's line, the bytes that it moves.
"""
from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from . import cost
from .drawing_layout import Layout, layers
from .nodes import Node

if TYPE_CHECKING:
    from .graph import Graph

COLOURS = (("#cfe3fb", "#fbdcc4", "#d3f0d2", "#eed7f4", "#fbeeb5", "#c9eeee", "#f8d3dc", "#e2e0f8",
            "#e3eec2", "#f0dfd0"))
# layers that a line goes through; farther away a value is named
FAR = 14
SHOWN = 9                                # nodes of a kernel that its box names
Place = Any                              # of a node in the list, "%0" for an input, "return"
Point = tuple[float, float]
Way = list[tuple[str, tuple[float, ...]]]

KINDS = {"write": "#fff3e0", "guard": "#fff9c4", "ask": "#fff9c4", "draw": "#f3e5f5"}


def dependencies(g: Graph) -> list[tuple[Place, Place, int, str]]:
    """(from, to, value, kind) of what must come before what: "value" edges from maker to reader,
    "order" edges around writes. Ends are places in `g.nodes`, or "%0" for an input."""
    root = g.roots()
    maker: dict[int, Place] = {x.value: f"%{x.value}" for x in g.inputs}
    wrote: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    out: list[tuple[Place, Place, int, str]] = []
    for i, n in enumerate(g.nodes):
        places = [int(p) for p in n.into.values()]
        reads = [int(x) for x in n.refs()]
        for x in dict.fromkeys([*reads, *places]):
            r = root.get(x, x)
            if x in reads and maker.get(x) is not None:
                out.append((maker[x], i, x, "value"))
            if r in wrote and wrote[r] != maker.get(x):
                out.append((wrote[r], i, x, "order"))
        changed = {root.get(x, x) for x in map(int, n.written())}
        for r in changed:
            out += [(k, i, r, "order") for k in readers.get(r, ()) if k != i]
            readers[r], wrote[r] = [], i
        for x in reads:
            readers.setdefault(root.get(x, x), []).append(i)
        for o in n.outs:
            maker[o] = i
    return out


def to_networkx(g: Graph) -> Any:
    """The graph as a `networkx.MultiDiGraph`: its nodes are places in `g.nodes` and "%0"... for
    inputs, with the data `node` or `input`; edges have `value` and `kind` ("value", or "order"
    around writes).

    >>> import networkx, whet
    >>> from whet.ir.drawing import to_networkx
    >>> @whet.jit.trace
    ... def f(x):
    ...     return x.exp() + x
    >>> _ = f(whet.ones(3))
    >>> list(networkx.topological_sort(to_networkx(f.recorded)))
    ['%0', 0, 1]
    """
    import networkx
    out = networkx.MultiDiGraph()
    out.add_nodes_from((f"%{x.value}", {"input": x}) for x in g.inputs)
    out.add_nodes_from((i, {"node": n}) for i, n in enumerate(g.nodes))
    out.add_edges_from((a, b, {"value": v, "kind": kind}) for a, b, v, kind in dependencies(g))
    return out


# ---- boxes ---------------------------------------------------------------------------------------
class Box:
    """What is drawn for one thing: lines of (text, class), a colour and a tooltip."""

    def __init__(self, lines: Sequence[tuple[str, str]], colour: str, title: str,
                 kind: str = "") -> None:
        self.lines, self.colour, self.title, self.kind = lines, colour, title, kind
        self.round = kind.startswith("input")
        self.width = max(34, 20 + max(len(t) * (7.2 if c == "op" else 6.1) for t, c in lines))
        self.height = 12 + 15 * len(lines)


def cut(name: str, n: int = 34) -> str:
    return name if len(name) <= n else "…" + name[1 - n:]


class Plan:
    """What is drawn: lines between boxes, and what is named in a box instead. What comes from
    outside for one node alone is named there, and so is what comes from too far above."""

    def __init__(self, g: Graph) -> None:
        # (from, to) -> (value, kind)
        self.links: dict[tuple[Place, Place], tuple[int, str]] = {}
        for a, b, v, kind in dependencies(g):
            if kind == "value" or (a, b) not in self.links:
                self.links[a, b] = v, kind
        readers: dict[Place, list[Place]] = {}
        for a, b in self.links:
            readers.setdefault(a, []).append(b)
        maker: dict[int, Place] = {o: i for i, n in enumerate(g.nodes) for o in n.outs}
        for v, _ in g.results:
            a = maker.get(v, f"%{v}")
            self.links.setdefault((a, "return"), (v, "value"))
            readers.setdefault(a, []).append("return")
        self.named: dict[Place, list[int]] = {}                # box -> what is named in it
        keys: list[Place] = [f"%{x.value}" for x in g.inputs]
        for x in g.inputs:
            key = f"%{x.value}"
            if x.outside and [type(b) for b in readers.get(key, ())] == [int]:
                b, = readers[key]
                self.named.setdefault(b, []).append(x.value)
                del self.links[key, b]
                keys.remove(key)
        keys += [*range(len(g.nodes)), *(["return"] if g.results else [])]
        inputs = {f"%{x.value}" for x in g.inputs if not x.outside}
        for a, b in sorted(self.links, key=lambda e: e[1] if type(e[1]) is int else len(g.nodes)):
            if a in inputs:
                inputs.add(b)
        self.layer = layers(keys, self.links, set(keys) - inputs)
        for (a, b), (v, kind) in list(self.links.items()):
            if b != "return" and self.layer[b] - self.layer[a] > FAR:
                del self.links[a, b]
                if kind == "value" and v not in self.named.setdefault(b, []):
                    self.named[b].append(v)


def boxes(g: Graph, plan: Plan, colours: Mapping[int, str],
          notes: Mapping[int, str]) -> dict[Place, Box]:
    """A box for each input and node. `colours`: value -> colour of its kernel; `notes`: place of
    a node -> a word about it."""
    out: dict[Place, Box] = {}
    names = {x.value: x.name or x.place for x in g.inputs}
    far = {v for named in plan.named.values() for v in named}
    for x in g.inputs:
        key = f"%{x.value}"
        if key in plan.layer:
            out[key] = Box(
                [(cut(names[x.value]), "name"), (str(g.types[x.value]), "type")],
                "#eceff1" if x.outside else "#e8f5e9",
                f"{key} = {x.place} {x.name} : {g.types[x.value]}\n"
                f"{amount(g.types[x.value].nbytes)}",
                "input outside" if x.outside else "input")
    for i, n in enumerate(g.nodes):
        out[i] = box_of(g, n, colours, notes.get(i, ""), names, plan.named.get(i, []),
                        far.intersection(n.outs))
    if g.results:
        extra = sum(bool(name) for _, name in g.results)
        out["return"] = Box([
            (f"{len(g.results)} results" if len(g.results) > 1 else "result", "op"),
            *([(f"{extra} of them kept or gradients", "line")] if extra else [])],
                            "#e3f2fd",
                            "\n".join(f"%{v} {name}" for v, name in g.results),
                            "input")
    return out


def box_of(g: Graph, n: Node, colours: Mapping[int, str], note: str, names: Mapping[int, str],
           named: Sequence[int], far: Set[int]) -> Box:
    moved = cost.moved(n, g.types)
    title = "\n".join([
        n.head(), *(f"  {m.head()}" for m in n.flat() if n.members), f"{amount(moved)} moved",
        *([n.line] if n.line else []), *([note] if note else [])])
    title += "".join(f"\n← {names[v]} : {g.types[v]}" for v in named if v in names)
    if n.op is not None and n.is_view:
        return Box([(n.op.name, "view")], "#fafafa", title, "view")
    lines = (group_lines(n) if n.members else [
        (f"{n.prefix}{n.op.name if n.op is not None else n.what}", "op")])
    into = [int(p) for p in n.written()]
    more = ([f"⇒ {cut(names[p])}" for p in into if p in names]
            + [f"← {cut(names.get(v, f'%{v}'))}" for v in named if v not in into])
    lines += [
        (t, "from") for t in (more if len(more) <= 5 else [*more[:4], f"… {len(more) - 4} more"])]
    if n.outs:
        said = ", ".join((f"%{o} : " if o in far else "") + str(g.types[o]) for o in n.outs)
        lines.append(
            (said if len(said) <= 34 else f"{g.types[n.outs[0]]} and {len(n.outs) - 1} more",
             "type"))
    lines.append((" · ".join(x for x in (n.line, amount(moved), note) if x), "line"))
    colour = next((colours[o] for m in n.walk() for o in m.outs if o in colours),
                  KINDS.get(n.kind, "#f5f5f5"))
    return Box(lines, colour, title, n.kind)


def group_lines(n: Node) -> list[tuple[str, str]]:
    """What a kernel of several nodes says in its box."""
    flat = n.flat()
    lines = [(f"{n.what} of {len(flat)}" if len(flat) > 1 else "kernel", "op")]
    said = [m.op.name if m.op is not None else m.what for m in flat[:SHOWN]]
    row = ""
    for name in said + ([f"… {len(flat) - SHOWN} more"] if len(flat) > SHOWN else []):
        if row and len(row) + len(name) > 26:
            lines.append((row, "member"))
            row = ""
        row += (" · " if row else "") + name
    return [*lines, (row, "member")]


def amount(n: float, unit: str = "B") -> str:
    """12.3 kB"""
    for prefix in ("", "k", "M"):
        if n < 1000:
            return f"{n:.3g} {prefix}{unit}" if prefix else f"{n} {unit}"
        n /= 1000
    return f"{n:.3g} G{unit}"


def kernels(g: Graph) -> dict[int, str]:
    """value -> colour, for the values that each kernel of several nodes computes."""
    out: dict[int, str] = {}
    groups = [n for n in g.nodes if n.members and len(n.flat()) > 1]
    for k, n in enumerate(groups):
        out.update((o, COLOURS[k % len(COLOURS)]) for m in n.walk() for o in m.outs)
    return out


# ---- drawing -------------------------------------------------------------------------------------
STYLE = """
.whet text {
  font: 11px ui-sans-serif, "Helvetica Neue", Arial, sans-serif;
  text-anchor: middle;
  fill: #263238;
}
.whet .op { font-weight: 600; font-size: 12px }
.whet .name { font-weight: 600; fill: #1b5e20 }
.whet .outside .name { fill: #455a64 }
.whet .type {
  font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: 10px;
  fill: #455a64;
}
.whet .from { font-size: 10px; fill: #33691e }
.whet .line { font-size: 9.5px; fill: #78909c }
.whet .view { fill: #78909c; font-size: 10.5px }
.whet .member { font-size: 10.5px }
.whet rect { stroke: #90a4ae; stroke-width: 1 }
.whet .view rect { stroke: #cfd8dc; stroke-dasharray: 3 2 }
.whet .write rect { stroke: #fb8c00 }
.whet .guard rect, .whet .ask rect { stroke: #fbc02d }
.whet .fused rect, .whet .rows rect { stroke: #546e7a; stroke-width: 1.4 }
.whet path { fill: none; stroke: #90a4ae }
.whet path.order { stroke: #fb8c00; stroke-dasharray: 4 3 }
.whet .head { fill: #78909c; stroke: none }
"""


class Link:
    """A line between two boxes: what it says, whether it is of a "value" or an "order", how wide
    it is."""

    def __init__(self, title: str, kind: str = "value", width: float = 1.0) -> None:
        self.title, self.kind, self.width = title, kind, width


def wide(nbytes: int) -> float:
    """The width of a line that stands for a number of bytes."""
    return 1 + 0.25 * min(max(len(str(nbytes)) - 2, 0), 8)


class Drawing:
    """Boxes in their places, and the paths of the links between them ((from, to) -> Link)."""

    def __init__(self,
                 boxes: dict[Any, Box],
                 links: dict[Any, Link],
                 layer: dict[Any, int] | None = None,
                 effort: float = 1.0) -> None:
        self.boxes, self.links = boxes, links
        layer = layers(list(boxes), links) if layer is None else layer
        self.at = Layout({k: (b.width, b.height) for k, b in boxes.items()}, links, layer, effort)
        # links enter a box side by side, from left to right
        self.ports: dict[Place, list[tuple[float, str, Place]]] = {}
        for a, b in self.at.edges:
            self.ports.setdefault(b, []).append(
                (self.at.path[a, b][-1][0] if self.at.path[a, b] else self.at.place[a][0],
                 str(a),
                 a))
        self.width, self.height = self.at.width, self.at.height

    def ways(self) -> Iterator[tuple[Place, Place, Link, Way, Point]]:
        """(from, to, link, points as a path begins and curves, the point of its head) of each
        link."""
        for (a, b), link in self.links.items():
            if a != b:
                yield a, b, link, *self.way(a, b)

    def way(self, a: Place, b: Place) -> tuple[Way, Point]:
        """From under one box to the top of another: [(kind, numbers)], and where the head is."""
        (x, y), (x1, y1) = self.at.place[a], self.at.place[b]
        mine = sorted(self.ports[b], key=lambda p: p[:2])
        k = next(i for i, p in enumerate(mine) if p[2] == a)
        room = min(self.boxes[b].width - 16, 22 * (len(mine) - 1))
        x1 += (k - (len(mine) - 1) / 2) * (room / max(len(mine) - 1, 1))
        y += self.boxes[a].height
        way: Way = [("M", (x, y))]
        for px, py, tall in self.at.path[a, b]:
            top, bottom = py - tall / 2, py + tall / 2
            way += [("C", (x, (y + top) / 2, px, (y + top) / 2, px, top)), ("L", (px, bottom))]
            x, y = px, bottom
        end = y1 - 5
        return [*way, ("C", (x, (y + end) / 2, x1, (y + end) / 2, x1, end))], (x1, y1)

    def svg(self) -> str:
        """As a picture that stands alone."""
        out = []
        for _, _, link, way, (x, y) in self.ways():
            out.append(
                f'<path d="{path_text(way)}" class="{link.kind}" stroke-width="{link.width:.2f}">'
                f"<title>{html.escape(link.title)}</title></path>"
                f'<path class="head" d="M{x - 3.5:.1f},{y - 7:.1f} L{x:.1f},{y:.1f} '
                f'L{x + 3.5:.1f},{y - 7:.1f} z"/>')
        for k, box in self.boxes.items():
            x, y = self.at.place[k]
            w, h = box.width, box.height
            lines = "".join(
                f'<text x="{x:.1f}" y="{y + 17 + 15 * i:.1f}" class="{c}">{html.escape(t)}</text>'
                for i, (t, c) in enumerate(box.lines))
            place = (
                f'x="{x - w / 2:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" '
                f'rx="{h / 2 if box.round else 5:.0f}"')
            out.append(
                f'<g class="node {box.kind}"><title>{html.escape(box.title)}</title><rect {place} '
                f'fill="{box.colour}"/>{lines}</g>')
        wide, tall = self.width + 24, self.height + 24
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="whet" width="{wide:.0f}" '
            f'height="{tall:.0f}" '
            f'viewBox="-12 -12 {wide:.0f} {tall:.0f}">'
            f"<style>{STYLE}</style>" + "\n".join(out) + "</svg>")


def path_text(way: Way) -> str:
    """A path as SVG writes it."""
    return " ".join(c + " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(p[::2], p[1::2]))
                    for c, p in way)


def drawing(g: Graph,
            colours: Mapping[int, str] | None = None,
            notes: Mapping[int, str] | None = None) -> Drawing:
    """A whole graph as a Drawing."""
    plan = Plan(g)
    made = boxes(g, plan, kernels(g) if colours is None else colours, notes or {})
    links = {}
    for (a, b), (v, kind) in plan.links.items():
        if kind == "order" and (type(a) is str or not changes(g.nodes[a])):
            # That a write comes after what reads its operand is to be seen from the layers.
            continue
        t = g.types.get(v)
        title = f"%{v} : {t}, {amount(t.nbytes)}" if t is not None else f"%{v}"
        links[a, b] = Link(f"after it: {title}" if kind == "order" else title,
                           kind,
                           wide(t.nbytes) if kind == "value" and t is not None else 1)
    return Drawing(made, links, plan.layer)


def svg(g: Graph, colours: Mapping[int, str] | None = None,
        notes: Mapping[int, str] | None = None) -> str:
    """The graph as SVG."""
    return drawing(g, colours, notes).svg()


def changes(n: Node) -> bool:
    """Does a node write to a value that was there before?"""
    return bool(n.written())
