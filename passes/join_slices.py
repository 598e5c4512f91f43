"""Joins tensors that were put side by side into zeros and then added.

    %2 = unslice(%0, size=(2, 3), index=(0,))
    %3 = unslice(%1, size=(2, 3), index=(1,))           %5 = stack(%0, %1, dim=0)
    %4 = add(%2, %3)                             ->     %4 = add(%5, 0.0)

This is the gradient of a loop that reads a slice of a tensor in each step. Unjoined, each step
makes a tensor of the whole size, nearly all zeros, and all of them are added up. That takes as many
passes through memory, and as many such tensors at once, as the loop has steps.

If slices are read several times, each time is a layer, and the layers are added up. No bit changes:
an element is the sum of what was put there, in the order of the additions, and of zeros, which turn
-0 into 0. What was added before (`acc`) is added to all of it.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from whet.ir.graph import Node, OpNode, Ref
from whet.passes.listing import Listing
from whet.passes.value_uses import Uses, following

WHOLE = (None, None, None)       # an index of all of a dimension


class Piece(NamedTuple):
    """A value placed into zeros: `source` is what the result holds from `first` to before `stop` in
    dimension `dim`, over all of the other dimensions. `has_dim`: does the source have that
    dimension?"""
    node: int
    source: Ref
    size: tuple[int, ...]
    dim: int
    first: int
    stop: int
    has_dim: bool

    def is_beside(self, other: Piece) -> bool:
        """Are both disjoint?"""
        return self.stop <= other.first or other.stop <= self.first

    def goes_with(self, other: Piece) -> bool:
        """Are both in one tensor, either disjoint or at the same place?"""
        return ((self.size, self.dim, self.has_dim) == (other.size, other.dim, other.has_dim)
                and (self.is_beside(other)
                     or (self.first, self.stop) == (other.first, other.stop)))


class Sum(NamedTuple):
    """What an addition makes: pieces, and before them perhaps another value, which is there after
    node `since`. `adds` are the additions."""
    acc: Ref | None
    since: int
    pieces: list[Piece]
    adds: list[int]

    def groups(self) -> list[list[Piece]]:
        """The pieces that are next to each other, in order: of one layer after the other."""
        layers: list[list[Piece]] = []
        for piece in self.pieces:
            for layer in layers:
                if all(map(piece.is_beside, layer)):
                    layer.append(piece)
                    break
            else:
                layers.append([piece])
        found: list[list[Piece]] = []
        for layer in layers:
            layer.sort(key=lambda p: p.first)
            for k, piece in enumerate(layer):
                if k and layer[k - 1].stop == piece.first:
                    found[-1].append(piece)
                else:
                    found.append([piece])
        return found


def join_slices(g: Listing) -> Listing:
    """The list with such pieces joined. It has new values."""
    if sum(isinstance(n, OpNode) and n.op.name == "unslice" for n in g.nodes) < 2:
        return g
    return _Joining(g).made()


class _Joining:
    """The making of the list. `sums`: value -> what it is the sum of; `inner`: those that are a
    part of others."""

    def __init__(self, g: Listing) -> None:
        self.g, self.uses = g, Uses(g.nodes, g.root, views=True)
        self.root, self.arrays = dict(g.root), list(g.arrays)
        self.sums: dict[int, Sum] = {}
        self.inner: set[int] = set()
        self.joined: dict[int, list[Node]] = {}     # place -> the nodes that stand there
        self.gone: set[int] = set()

    def made(self) -> Listing:
        """The new list."""
        for i, node in enumerate(self.g.nodes):
            if isinstance(node, OpNode) and node.op.name == "add" and self._is_plain(node):
                self._add(i, node)
        for value, found in self.sums.items():
            if value not in self.inner:
                self._join(found)
        return Listing(
            [n for i, node in enumerate(self.g.nodes)
             for n in self.joined.get(i, () if i in self.gone else (node,))],
            self.root, self.arrays, self.g.visible)

    def _is_plain(self, node: OpNode) -> bool:
        """Has an addition two tensors of the shape and type of its result?"""
        out = self.arrays[node.outs[0]]
        return (not node.attrs and len(node.refs()) == 2 and out.dtype.kind != "b"
                and out.flags.c_contiguous
                and all(self.arrays[x].shape == out.shape and self.arrays[x].dtype == out.dtype
                        for x in node.refs()))

    def _add(self, i: int, node: OpNode) -> None:
        """Note what an addition adds up, where it adds a piece."""
        for one, other in (node.refs(), node.refs()[::-1]):
            piece = self._piece(other, i)
            if piece is None:
                continue
            before = self._sum(one, i)
            if not all(map(piece.goes_with, before.pieces)):
                before = Sum(one, self.uses.maker.get(one, -1), [], [])
            elif one in self.sums:
                self.inner.add(one)
            self.sums[node.outs[0]] = Sum(
                before.acc, before.since, [*before.pieces, piece], [*before.adds, i])
            return

    def _sum(self, x: Ref, i: int) -> Sum:
        """What an operand of addition i is the sum of, where it has no other use."""
        found = self.sums.get(x)
        if found is not None and self._is_for(x, i):
            return found
        piece = self._piece(x, i)
        if piece is not None:
            return Sum(None, i, [piece], [])
        return Sum(x, self.uses.maker.get(x, -1), [], [])

    def _is_for(self, x: int, i: int) -> bool:
        """Does only node i read a value?"""
        root = self.g.root
        return (x not in self.g.visible and root[x] == x and not self.uses.writes.get(x)
                and self.uses.users.get(x) == [i])

    def _piece(self, x: Ref, i: int) -> Piece | None:
        """What a value has that was put into zeros for node i alone."""
        k = self.uses.maker.get(x)
        node = None if k is None else self.g.nodes[k]
        if k is None or not isinstance(node, OpNode) or node.op.name != "unslice" \
                or not self._is_for(x, i):
            return None
        place = _place(node.attrs["index"], node.attrs["size"])
        return place and Piece(k, node.refs()[0], tuple(node.attrs["size"]), *place)

    def _join(self, found: Sum) -> None:
        """Replace a sum of pieces by a join of them, at the place of the last addition, where that
        leaves fewer nodes."""
        i, groups = found.adds[-1], found.groups()
        node = self.g.nodes[i]
        nothing_written = all(self.uses.later(p.node, i) for p in found.pieces) and (
            found.acc is None or following(
                self.uses.writes.get(self.g.root[found.acc], ()), found.since) >= i)
        if len(groups) == len(found.pieces) or not nothing_written \
                or not isinstance(node, OpNode):
            return
        nodes: list[Node] = []
        terms = [] if found.acc is None else [found.acc]
        terms += [self._group(group, node, nodes) for group in groups]
        total = terms[0]
        for term in terms[1:]:
            nodes.append(OpNode(node.op, (total, term), {}, [self._like(node.outs[0])], node.line))
            total = Ref(nodes[-1].outs[0])
        zero = 0 if self.arrays[total].dtype.kind in "iu" else 0.0
        nodes.append(OpNode(node.op, (total, zero), {}, node.outs, node.line))
        self.joined[i] = nodes
        self.gone.update(found.adds[:-1])

    def _group(self, group: list[Piece], like: OpNode, nodes: list[Node]) -> Ref:
        """Adjacent pieces as a value of the whole size; `nodes` gets what makes
        it."""
        from whet.ops.registry import REGISTRY
        first, last = group[0], group[-1]
        if len(group) == 1:
            return Ref(self.g.nodes[first.node].outs[0])
        self.gone.update(p.node for p in group)
        length = last.stop - first.first
        shape = (*first.size[:first.dim], length, *first.size[first.dim + 1:])
        out = like.outs[0]
        joined = self._like(out, shape)
        nodes.append(OpNode(REGISTRY["cat" if first.has_dim else "stack"],
                            tuple([p.source for p in group]), {"dim": first.dim}, [joined],
                            like.line))
        if length == first.size[first.dim]:
            return Ref(joined)
        index = (*[WHOLE] * first.dim, (first.first, last.stop, 1))
        whole = self._like(out)
        nodes.append(OpNode(REGISTRY["unslice"], (Ref(joined),),
                            {"size": first.size, "index": index}, [whole], like.line))
        return Ref(whole)

    def _like(self, value: int, shape: tuple[int, ...] | None = None) -> int:
        """A new value, like another one, or of another shape."""
        number, a = len(self.arrays), self.arrays[value]
        self.arrays.append(a if shape is None else np.empty(shape, a.dtype))
        self.root[number] = number
        return number


def _place(index: Sequence[Any], size: Sequence[int]) -> tuple[int, int, int, bool] | None:
    """(dimension, first, stop, has the source that dimension?) of an index that names one of a
    tensor's dimensions; None for others."""
    entries = [e for e in index if e is not None]
    named = [d for d, e in enumerate(entries) if e != WHOLE]
    if len(named) != 1:
        return None
    d, = named
    e, news = entries[d], len(index) - len(entries)
    if type(e) is tuple:
        first, stop, step = slice(*e).indices(size[d])
        return (d, first, stop, True) if step == 1 and first < stop and not news else None
    first = e + size[d] if e < 0 else e
    at = next(k for k, x in enumerate(index) if x is not None and x != WHOLE)
    # a new dimension beside it is the dimension, of one element
    beside = news == 1 and None in (*index[at - 1:at], *index[at + 1:at + 2])
    return (d, first, first + 1, beside) if beside or not news else None


def still(node: Node, other: Node) -> bool:
    """May a piece be joined as another one was, of a tensor of other sizes?"""
    if not (isinstance(node, OpNode) and isinstance(other, OpNode)
            and node.op.name == other.op.name == "unslice"
            and node.attrs["index"] == other.attrs["index"]):
        return False
    places = [_place(n.attrs["index"], n.attrs["size"]) for n in (node, other)]
    if places[0] is None or places[0] != places[1]:
        return False
    d = places[0][0]
    return bool(node.attrs["size"][d] == other.attrs["size"][d])
