"""A recording as a web page or a picture: the graph as it was recorded and as it runs, with its
costs. The page needs nothing from outside.

The page has views of few boxes (`whet.ir.folded_drawing`), each laid out here; `page.js` shows
them, moves, zooms and searches."""
from __future__ import annotations

import colorsys
import functools
import hashlib
import html
import inspect
import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

from whet.ir import drawing, png
from whet.ir.drawing import amount, path_text
from whet.ir.folded_drawing import Folded, picture

from . import explain, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from whet.ir.folded_drawing import View
    from whet.ir.graph import Graph

    from ..guards.signature import Key
    from ..replay.recording import Recording
    from ..trace import Traced

# views that are laid out as well as can be; of more, the part of the work that is done for each
VIEWS, LEAST = 40, 0.2
ENDINGS = ".html, .htm, .svg, and .png where matplotlib is installed"


def page(traced: Traced, inside: bool = True) -> str:
    """The recording that most calls went by as HTML, without the outer elements of a document;
    `inside`: of another page, of a certain height."""
    name, found = html.escape(traced._calls.subject.name), explain.most_called(traced)
    if found is None:
        why = explain.refusal(traced) or traced._why or "it has not been called"
        return f"<h1>{name}</h1><p>Nothing is recorded: {html.escape(str(why))}</p>"
    before, after, colours, notes = pictures(traced, *found)
    own = lines_of(traced.fn)
    graphs = [views_of(Folded(after, colours, notes, own)),
              views_of(Folded(before, colours, {}, own))]
    more = details("What became of the calls", summary.screen(traced).splitlines())
    more += details("What is compared before a replay",
                   [explain.guard_text(g) for g in explain.guarded(traced, *found)])
    facts = figures(costs(traced, *found, before, after))
    return framed(name, facts, ("As it runs", "As recorded"), graphs, more, inside)


def framed(name: str, facts: str, titles: tuple[str, str], graphs: Sequence[dict[str, Any]],
           more: str, inside: bool) -> str:
    """Two graphs (as `views_of` gives them) that a button each shows, with figures above and more
    below, as HTML."""
    key = "whet-" + hashlib.sha256(repr(graphs).encode()).hexdigest()[:12]
    return (
        f'<div class="whet-page{" inside" if inside else ""}" '
        f'id="{key}"><style>{asset("page.css")}</style><h1>{name}</h1>'
        f'<div class="facts">{facts}</div><div class="bar">'
        f'<button class="which">{titles[0]}</button><button '
        f'class="which">{titles[1]}</button><button class="up">up</button>'
        '<button class="fit">fit</button><button class="in">+</button><button '
        'class="out">−</button>'
        '<input class="search" type="search" placeholder="search: operations, shapes, parameters, '
        'lines"></div><div class="path"></div>'
        f'<div class="main"><div class="canvas"></div><div class="side"></div></div>{more}'
        f'<script>{asset("page.js")}(document.getElementById("{key}"), '
        f'{script_json(graphs)})</script></div>')


def document(title: str, body: str) -> str:
    """A page of its own."""
    return (
        '<!DOCTYPE html><html><head><meta '
        f'charset="utf-8"><title>{html.escape(title)}</title></head>'
        f'<body style="margin: 0">{body}</body></html>')


@functools.cache
def asset(name: str) -> str:
    """A file beside this one."""
    with open(os.path.join(os.path.dirname(__file__), name), encoding="utf-8") as f:
        return f.read()


def script_json(x: Any) -> str:
    """Data as JSON that nothing in a page takes for a tag."""
    said = json.dumps(x, separators=(",", ":"), ensure_ascii=False)
    return said.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def lines_of(fn: Callable[..., Any]) -> frozenset[str]:
    """The lines of a function, as nodes are marked with them."""
    code = getattr(inspect.unwrap(getattr(fn, "forward", fn)), "__code__", None)
    if code is None:
        return frozenset()
    last = max(line for _, _, line in code.co_lines() if line is not None)
    return frozenset(f"{os.path.basename(code.co_filename)}:{line}"
                     for line in range(code.co_firstlineno, last + 1))


def views_of(folded: Folded) -> dict[str, Any]:
    """The views of a graph as plain data."""
    effort = max(LEAST, min(1.0, VIEWS / len(folded.views)))
    return {"views": [view_data(folded, v, effort) for v in folded.views]}


def view_data(folded: Folded, v: View, effort: float) -> dict[str, Any]:
    """A view as plain data: its boxes and links where they are drawn."""
    d = v.drawing(effort)
    numbers = {k: i for i, k in enumerate(d.boxes)}
    boxes = []
    for k, b in d.boxes.items():
        x, y = d.at.place[k]
        boxes.append([round(x, 1), round(y, 1), round(b.width, 1), b.height, b.kind, hue(b.colour),
                      b.lines, b.title, v.opens.get(k)])
    links = [[numbers[a], numbers[b], path_text(way), link.kind, round(link.width, 2), round(x, 1),
              round(y, 1), link.title]
             for a, b, link, way, (x, y) in d.ways()]
    return {"name": v.name, "up": None if v.up is None else v.up.number, "title": folded.title(v),
            "width": round(d.width, 1), "height": round(d.height, 1), "boxes": boxes,
            "links": links}


@functools.cache
def hue(colour: str) -> int | None:
    """The hue of a kernel's colour, in degrees; None for what has another."""
    if colour not in drawing.COLOURS:
        return None
    r, g, b = (int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5))
    return round(360 * colorsys.rgb_to_hls(r, g, b)[0])


def costs(traced: Traced, key: Key, r: Recording, before: Graph,
          after: Graph) -> list[tuple[object, str]]:
    """The figures at the top."""
    f = explain.of_recording(traced, key, r) | explain.moved(r, before, after)
    unfused, fused = f["bytes"]
    less = f" · {unfused / fused:.1f} times less" if fused and unfused > fused else ""
    return [(f"{f['nodes']} → {f['after']}", "nodes, recorded → run"),
            (f["launches"], "kernel launches"), (len(f["python"]), "Python steps"),
            (f"{amount(unfused)} → {amount(fused)}", f"moved{less}"),
            (amount(f["flops"], "flop"), "computed"), (amount(f["peak"]), "held at most")]


def figures(pairs: Iterable[tuple[object, str]]) -> str:
    """Figures, each with what it counts, as HTML."""
    return "".join(f'<div class="fact"><b>{a}</b> <span>{b}</span></div>' for a, b in pairs)


def details(title: str, lines: Sequence[str]) -> str:
    """Lines that are shown when asked for."""
    said = html.escape("\n".join(lines))
    return f"<details><summary>{title}</summary><pre>{said}</pre></details>" if lines else ""


def pictures(traced: Traced, key: Key,
             r: Recording) -> tuple[Graph, Graph, dict[int, str], dict[int, str]]:
    """(graph as recorded, graph as it runs, colours of kernels, words about nodes)."""
    before, after = explain.graphs(traced, key, r)
    python = {id(n) for n in explain.in_python(r)}
    return (before, after, drawing.kernels(after),
            {i: "in Python" for i, n in enumerate(r.program.nodes) if id(n) in python})


def drawings(traced: Traced) -> list[drawing.Drawing]:
    """The two graphs as Drawings: whole, or their groups where they are large."""
    found = explain.most_called(traced)
    if found is None:
        raise ValueError(f"{traced._calls.subject.name} has no recording to show")
    before, after, colours, notes = pictures(traced, *found)
    own = lines_of(traced.fn)
    return [picture(g, colours, said, own) for g, said in ((before, {}), (after, notes))]


def show(traced: Traced, path: str | os.PathLike[str] | None = None) -> str:
    """Write the page, or for a path that ends in .svg or .png the two pictures; gives the path."""
    if path is None:
        handle, path = tempfile.mkstemp(
            prefix=f"whet-{getattr(traced.fn, '__name__', 'traced').strip('<>')}-", suffix=".html")
        os.close(handle)
    path = os.fspath(path)
    ending = os.path.splitext(path)[1].lower()
    if ending == ".png":
        png.write(path, drawings(traced))
        return path
    if ending == ".svg":
        said = beside(*[d.svg() for d in drawings(traced)])
    elif ending in (".html", ".htm"):
        said = document(traced._calls.subject.name, page(traced, inside=False))
    else:
        raise ValueError(f"show(): a path ends in one of {ENDINGS}, not {ending or path!r}")
    with open(path, "w", encoding="utf-8") as f:
        f.write(said)
    return path


def beside(left: str, right: str) -> str:
    """Two SVG pictures as one."""
    def size(s: str) -> list[int]:
        return [int(s.split(f'{k}="', 1)[1].split('"', 1)[0]) for k in ("width", "height")]
    (w1, h1), (w2, h2) = size(left), size(right)
    w, h = w1 + w2 + 40, max(h1, h2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} '
        f'{h}"><rect width="100%" height="100%" fill="#fff"/>'
        f'{left}<g transform="translate({w1 + 40},0)">{right}</g></svg>')
