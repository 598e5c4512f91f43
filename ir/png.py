"""Drawings as a PNG file. It is drawn by matplotlib, which need not be installed."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .drawing import Drawing

# inches of a drawing's unit: letters are as large as on a page
SCALE = 1 / 72
LARGEST = 30_000                         # pixels of a side
DPI = 144


def write(path: Any, drawings: Sequence[Drawing]) -> None:
    """Write drawings, from left to right, as one picture."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            "a .png is drawn by matplotlib, which is not installed: pip install matplotlib, or "
            "name a .html or .svg file") from None
    gap = 40.0
    width = sum(d.width for d in drawings) + gap * (len(drawings) + 1)
    height = max(d.height for d in drawings) + 2 * gap
    dpi = min(DPI, LARGEST / (max(width, height) * SCALE))
    figure = Figure((width * SCALE, height * SCALE), dpi=dpi)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    left = gap
    for d in drawings:
        draw(axes, d, left, gap)
        left += d.width + gap
    figure.savefig(path, format="png")


def draw(axes: Any, d: Drawing, left: float, top: float) -> None:
    """Draw one, with its corner there."""
    from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
    from matplotlib.path import Path
    codes = {"M": [Path.MOVETO], "L": [Path.LINETO], "C": [Path.CURVE4] * 3}
    for _, _, link, way, (x, y) in d.ways():
        points = [(a + left, b + top) for _, p in way for a, b in zip(p[::2], p[1::2])]
        colour, style = ("#fb8c00", "--") if link.kind == "order" else ("#90a4ae", "-")
        axes.add_patch(
            PathPatch(Path(points, [c for k, _ in way for c in codes[k]]), fill=False,
                      edgecolor=colour, linestyle=style, linewidth=link.width))
        x, y = x + left, y + top
        axes.add_patch(Polygon([(x - 3.5, y - 7), (x, y), (x + 3.5, y - 7)], facecolor="#78909c"))
    for k, box in d.boxes.items():
        x, y = d.at.place[k]
        x, y, w, h = x + left, y + top, box.width, box.height
        round_ = h / 2 if box.round else 5.0
        axes.add_patch(
            FancyBboxPatch((x - w / 2 + round_, y + round_), w - 2 * round_, h - 2 * round_,
                           facecolor=box.colour, edgecolor="#90a4ae",
                           boxstyle=f"round,pad={round_},rounding_size={round_}"))
        for i, (text, kind) in enumerate(box.lines):
            axes.text(x, y + 17 + 15 * i, text.replace("$", r"\$"), ha="center", va="baseline",
                      color="#263238", fontsize=12 if kind == "op" else 10,
                      fontweight="bold" if kind in ("op", "name") else "normal")
