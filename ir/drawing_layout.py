"""Lays out the boxes of a drawing: layers from top to bottom, few crossings, straight lines.

The usual four steps: a layer for each box; long edges go through points in the layers between; the
order in a layer follows the neighbours' means; places are the nearest to the neighbours that do not
overlap (least squares under an order: isotonic regression).
"""
from __future__ import annotations

import collections
from bisect import bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

GAP, ROW = 18, 30                        # between boxes of a layer, and between layers
SWEEPS, SETTLE = 16, 60                  # rounds for the order in the layers, and for the places
POINT = 8                                # room for an edge that passes

Key = Any                                # what is drawn, as something that can be a key
Edge = tuple[Key, Key]
Size = tuple[float, float]


def layers(keys: Iterable[Key], edges: Iterable[Edge],
           late: Collection[Key] = ()) -> dict[Key, int]:
    """A layer for each key, below those that lead to it: as high as possible; then what feeds more
    than it reads, and what is in `late`, goes down to where it is needed. The edges have no
    cycles."""
    above: dict[Key, list[Key]] = {k: [] for k in keys}
    below: dict[Key, list[Key]] = {k: [] for k in above}
    for a, b in dict.fromkeys(edges):
        below[a].append(b)
        above[b].append(a)
    layer: dict[Key, int] = {}
    waiting = {k: len(above[k]) for k in above}
    order = [k for k in above if not waiting[k]]
    for k in order:
        layer[k] = 1 + max((layer[a] for a in above[k]), default=-1)
        for b in below[k]:
            waiting[b] -= 1
            if not waiting[b]:
                order.append(b)
    for k in reversed(order):
        if below[k] and (k in late or len(below[k]) > len(above[k])):
            layer[k] = min(layer[b] for b in below[k]) - 1
    low = min(layer.values(), default=0)
    return {k: n - low for k, n in layer.items()}


def narrow(layer: Mapping[Key, int], edges: Iterable[Edge], most: int) -> dict[Key, int]:
    """The same layers with at most so many boxes each: where there are more, those that come
    later go further down, with what is below them. Parts that no edge joins go side by side on
    shelves."""
    edges = list(edges)
    out: dict[Key, int] = {}
    held: dict[int, int] = {}                        # layer of this shelf -> how many boxes it has
    begin = 0
    for part in _apart(layer, edges):
        rows = collections.Counter(begin + layer[k] - layer[part[0]] for k in part)
        if held and any(held.get(n, 0) + count > most for n, count in rows.items()):
            begin, held = max(held) + 1, {}
        _narrow_part(part, edges, most, begin, held, out)
    return out


def _apart(layer: Mapping[Key, int], edges: list[Edge]) -> list[list[Key]]:
    """The parts that no edge joins, each from top to bottom."""
    import networkx  # it takes a while
    graph = networkx.Graph(edges)
    graph.add_nodes_from(layer)
    part_of = {k: n for n, keys in enumerate(networkx.connected_components(graph)) for k in keys}
    parts: dict[int, list[Key]] = {}
    for k in layer:
        parts.setdefault(part_of[k], []).append(k)
    return [sorted(keys, key=layer.__getitem__) for keys in parts.values()]


def _narrow_part(part: list[Key], edges: list[Edge], most: int, begin: int,
                 held: dict[int, int], out: dict[Key, int]) -> None:
    above: dict[Key, list[Key]] = {}
    for a, b in edges:
        above.setdefault(b, []).append(a)
    for k in part:
        n = max((out[a] + 1 for a in above.get(k, ())), default=begin)
        while held.get(n, 0) >= most:
            n += 1
        out[k], held[n] = n, held.get(n, 0) + 1


class Layout:
    """Places for boxes of given sizes in given layers (see `layers`). `edges` are (from, to), each
    to a deeper layer; `effort`: the part of the usual rounds that are taken to find good places.

    After it: `place[key]` is (x of the middle, y of the top), `path[from, to]` the points that an
    edge goes through, `width`, `height`."""

    def __init__(self,
                 sizes: Mapping[Key, Size],
                 edges: Iterable[Edge],
                 layer: Mapping[Key, int],
                 effort: float = 1.0) -> None:
        self.sizes, self.keys, self.layer = dict(sizes), list(sizes), dict(layer)
        self.edges = [e for e in dict.fromkeys(edges) if e[0] != e[1]]
        self.points()
        # large drawings settle for less
        self.rounds = max(2, min(effort, 1500 / len(self.layer)) * SWEEPS) if self.layer else 0
        self.rows = self.ordered()
        self.placed()

    def points(self) -> None:
        """Long edges as chains of points; edges from one box share theirs."""
        self.links: list[Edge] = []
        self.via: dict[Edge, list[Key]] = {}
        chain: dict[Key, Key] = {}
        for a, b in self.edges:
            last, passed = a, []
            for n in range(self.layer[a] + 1, self.layer[b]):
                point = chain.get((a, n))
                if point is None:
                    point = chain[a, n] = ("point", a, n)
                    self.layer[point], self.sizes[point] = n, (POINT, 0)
                    self.links.append((last, point))
                passed.append(point)
                last = point
            self.via[a, b] = passed
            self.links.append((last, b))
        self.up: dict[Key, list[Key]] = {}
        self.down: dict[Key, list[Key]] = {}
        for a, b in self.links:
            self.down.setdefault(a, []).append(b)
            self.up.setdefault(b, []).append(a)

    def ordered(self) -> list[list[Key]]:
        """The rows, each in the order that crosses least of those tried."""
        rows: list[list[Key]] = [[] for _ in range(1 + max(self.layer.values(), default=-1))]
        seen: set[Key] = set()
        # depth first, so that what belongs together starts together
        for k in self.keys:
            stack = [k]
            while stack:
                x = stack.pop()
                if x not in seen:
                    seen.add(x)
                    rows[self.layer[x]].append(x)
                    stack += reversed([
                        y for y in (*self.up.get(x, ()), *self.down.get(x, ())) if y not in seen])
        best, least = [list(r) for r in rows], self.crossings(rows)
        for sweep in range(int(self.rounds)):
            near, order = (self.up, rows) if sweep % 2 == 0 else (self.down, rows[::-1])
            at: dict[Key, int] = {}
            for row in order:
                old = {k: i for i, k in enumerate(row)}
                mean = {
                    k: sum(found) / len(found) if
                    (found := [at[y] for y in near.get(k, ()) if y in at]) else old[k] for k in row}
                row.sort(key=lambda k: (mean[k], old[k]))
                at.update((k, i) for i, k in enumerate(row))
            n = self.crossings(rows)
            if n < least:
                best, least = [list(r) for r in rows], n
        return best

    def crossings(self, rows: Iterable[Sequence[Key]]) -> int:
        """How many lines cross."""
        at, total = {k: i for row in rows for i, k in enumerate(row)}, 0
        for row in rows:
            ends: list[int] = []
            for k in row:
                mine = sorted(at[b] for b in self.down.get(k, ()))
                total += sum(len(ends) - bisect_right(ends, b) for b in mine)
                for b in mine:
                    insort(ends, b)
        return total

    def placed(self) -> None:
        """The coordinates."""
        x = self.side_by_side()
        # the points of one edge want to be one line
        chains: dict[Key, list[Key]] = {}
        for k in self.layer:
            if is_point(k):
                chains.setdefault(k[1], []).append(k)
        times = int(SETTLE * self.rounds / SWEEPS)
        for i in range(times):
            line = {c: sum(x[k] for k in points) / len(points)
                    for c, points in chains.items()} if i >= times // 3 else {}
            self.pull(x, line, goes_down=i % 2 == 0, by_both=i >= times * 2 // 3)
        self.put_in_rows(x)
        self.path = {
            e: [(self.place[p][0], self.place[p][1], self.tall[self.layer[p]]) for p in via]
            for e, via in self.via.items()}

    def side_by_side(self) -> dict[Key, float]:
        """The middles of the boxes where each row begins at the left, without gaps but GAP."""
        x: dict[Key, float] = {}
        for row in self.rows:
            at = 0.0
            for k in row:
                x[k] = at + self.sizes[k][0] / 2
                at += self.sizes[k][0] + GAP
        return x

    def pull(self, x: dict[Key, float], line: Mapping[Key, float], goes_down: bool,
             by_both: bool) -> None:
        """Move the boxes of each row in turn towards those that they are joined with: in the row
        before, or `by_both` neighbours. Points of an edge go to where its `line` is."""
        near, order = (self.up, self.rows) if goes_down else (self.down, self.rows[::-1])
        for row in order:
            wanted, weights, apart = [], [], []
            for n, k in enumerate(row):
                found = [*self.up.get(k, ()), *self.down.get(k, ())] if by_both \
                    else near.get(k, ())
                at = sum(x[y] for y in found) / len(found) if found else x[k]
                on_line = bool(line) and is_point(k)
                wanted.append(line[k[1]] if on_line else at)
                weights.append(6.0 if on_line else 1.0 * (len(found) or 0.2))
                apart.append(0.0 if n == 0 else
                             (self.sizes[row[n - 1]][0] + self.sizes[k][0]) / 2 + GAP)
            x.update(zip(row, nearest(wanted, weights, apart)))

    def put_in_rows(self, x: Mapping[Key, float]) -> None:
        """The places of all boxes, row under row, and the size of the whole."""
        left = min((x[k] - self.sizes[k][0] / 2 for k in x), default=0)
        self.tall = [max((self.sizes[k][1] for k in row), default=0) for row in self.rows]
        self.place: dict[Key, tuple[float, float]] = {}
        y = 0.0
        for row, tall in zip(self.rows, self.tall):
            for k in row:
                top = y + tall / 2 if is_point(k) else y + (tall - self.sizes[k][1]) / 2
                self.place[k] = x[k] - left, top
            y += tall + ROW
        self.width = max((self.place[k][0] + self.sizes[k][0] / 2 for k in self.place), default=0)
        self.height = max(y - ROW, 0)


def is_point(key: Key) -> bool:
    """Is it a point of a long edge?"""
    return type(key) is tuple and key[0] == "point"


def nearest(wanted: Iterable[float], weights: Iterable[float],
            apart: Iterable[float]) -> list[float]:
    """The places nearest to the wanted ones (least squares) where each is at least `apart` from
    the one before."""
    shift = 0.0
    blocks: list[tuple[float, float, int]] = []      # (sum of weights, weighted mean, how many)
    shifts = []
    for at, weight, gap in zip(wanted, weights, apart):
        shift += gap
        shifts.append(shift)
        blocks.append((weight, at - shift, 1))
        while len(blocks) > 1 and blocks[-2][1] >= blocks[-1][1]:
            (w2, m2, n2), (w1, m1, n1) = blocks.pop(), blocks.pop()
            blocks.append((w1 + w2, (w1 * m1 + w2 * m2) / (w1 + w2), n1 + n2))
    means = [m for _, m, n in blocks for _ in range(n)]
    return [m + s for m, s in zip(means, shifts)]
