"""A recording as a page: the graph as it was recorded and as it runs, side by side, with what it costs. Nothing from outside is needed."""
import html
import os
import tempfile

from whet.ir import cost, view
from whet.ir.view import amount

from . import explain

STYLE = """
.whet-page { font: 14px ui-sans-serif, "Helvetica Neue", Arial, sans-serif; color: #263238; background: #fff }
.whet-page h1 { font-size: 20px; margin: 4px 0 10px } .whet-page h2 { font-size: 14px; font-weight: 600; display: inline }
.whet-page .facts { display: flex; flex-wrap: wrap; gap: 10px; margin-bottom: 12px }
.whet-page .fact { background: #f5f7f8; border-radius: 8px; padding: 7px 14px } .whet-page .fact b { display: block; font-size: 17px }
.whet-page .fact span { color: #607d8b; font-size: 12px } .whet-page .sides { display: flex; gap: 14px; align-items: flex-start }
.whet-page .side { flex: 1 1 50%; min-width: 0; border: 1px solid #dde3e6; border-radius: 8px; padding: 10px }
.whet-page .scroll { overflow: auto; max-height: 82vh; text-align: center } .whet-page pre { font-size: 11px; overflow: auto }
.whet-page .fit:checked ~ .scroll svg { width: 100%; height: auto; max-height: max(80vh, calc(var(--h) * 0.65)); min-width: calc(var(--w) * 0.2) }
.whet-page .fit { float: right; margin: 2px 0 0 6px } .whet-page label { color: #607d8b; font-size: 12px; float: right }
.whet-page details { margin-top: 10px } .whet-page .note { color: #607d8b; font-weight: 400 }
"""


def page(traced):
    """The newest recording as HTML, without the outer elements of a document."""
    found, title = explain.recordings(traced), f"<style>{STYLE}</style><h1>{html.escape(traced._name())}</h1>"
    if not found:
        why = next(iter(traced._refused.values()), None) or traced._why or "it has not been called"
        return f'<div class="whet-page">{title}<p>Nothing is recorded: {html.escape(str(why))}</p></div>'
    before, after, colours, notes = pictures(traced, *found[0])
    f = explain.facts(traced)["paths"][0]
    sides = side("As recorded", before, colours, {}) + side("As it runs", after, colours, notes)
    more = folded("Not fused, and why", [f"{a}\n{b}\n    {reason}" for a, b, reason in f["unfused"]])
    more += folded("What is compared before a replay", [explain.guard_text(g) for g in f["guarded"]])
    more += folded("As text: recorded", str(before).splitlines()) + folded("As text: run", str(after).splitlines())
    return f'<div class="whet-page">{title}<div class="facts">{costs(f)}</div><div class="sides">{sides}</div>{more}</div>'


def costs(f):
    """The figures at the top."""
    before, after = f["bytes"]
    less = f" · {before / after:.1f} times less" if after and before > after else ""
    shown = [(f"{f['nodes']} → {f['after']}", "nodes, recorded → run"), (f["launches"], "kernel launches"), (len(f["python"]), "Python steps"),
             (f"{amount(before)} → {amount(after)}", f"moved{less}"), (amount(f["flops"], "flop"), "computed"), (amount(f["peak"]), "held at most")]
    return "".join(f'<div class="fact"><b>{a}</b><span>{b}</span></div>' for a, b in shown)


def side(title, g, colours, notes):
    """One of the pictures, with its heading. The box is a switch between all of it and its natural size."""
    total = amount(sum(cost.moved(n, g.types) for n in g.nodes))
    return (f'<div class="side"><h2>{title} <span class="note">{len(g.nodes)} nodes, {total} moved</span></h2>'
            f'<input type="checkbox" class="fit" checked><label>fit </label><div class="scroll">{view.svg(g, colours, notes)}</div></div>')


def folded(title, lines):
    """Lines that are shown when asked for."""
    said = html.escape("\n".join(lines))
    return f"<details><summary>{title} ({len(lines)})</summary><pre>{said}</pre></details>" if lines else ""


def pictures(traced, key, r):
    """(graph as recorded, graph as it runs, colours of kernels, words about nodes)."""
    before, after = explain.graphs(traced, key, r)
    python = {id(n) for n in explain.in_python(r)}
    return before, after, view.kernels(after), {i: "in Python" for i, n in enumerate(r.program.nodes) if id(n) in python}


def show(traced, path=None):
    """Write the page (or, for a path that ends in .svg, the two pictures); gives the path."""
    if path is None:
        handle, path = tempfile.mkstemp(prefix=f"whet-{getattr(traced.fn, '__name__', 'traced').strip('<>')}-", suffix=".html")
        os.close(handle)
    path = os.fspath(path)
    if path.endswith(".svg"):
        found = explain.recordings(traced)
        if not found:
            raise ValueError(f"{traced._name()} has no recording to show")
        before, after, colours, notes = pictures(traced, *found[0])
        said = beside(view.svg(before, colours), view.svg(after, colours, notes))
    else:
        said = (f'<!DOCTYPE html><html><head><meta charset="utf-8"><title>{html.escape(traced._name())}</title></head>'
                f'<body style="margin: 14px; background: #fff">{page(traced)}</body></html>')
    with open(path, "w", encoding="utf-8") as f:
        f.write(said)
    return path


def beside(left, right):
    """Two SVG pictures as one."""
    def size(s):
        return [int(s.split(f'{k}="', 1)[1].split('"', 1)[0]) for k in ("width", "height")]
    (w1, h1), (w2, h2) = size(left), size(right)
    w, h = w1 + w2 + 40, max(h1, h2)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}"><rect width="100%" height="100%" fill="#fff"/>'
            f'{left}<g transform="translate({w1 + 40},0)">{right}</g></svg>')
