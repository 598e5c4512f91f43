"""The second stage of building: the address of each value while a program runs.

Each value has a stand-in: an array with its type and strides but without memory. The address of a
stand-in identifies what it stands for: memory that moves, a piece of the arena, or itself."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from whet.ir.graph import Node, OpNode, Type
from whet.ir.memory_spans import address, span

from .arena import Piece, Ranges
from .launch_entries import Argument, Fixed, InArena, Moving
from .launch_lists import ARENA
from .liveness import Roots
from .value_layouts import Addresses


def same_layout(a: Any, b: Any) -> bool:
    """Do two arrays, or types of arrays, have the same dtype, sizes and strides?"""
    return bool(a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


def equivalent_layout(a: Any, b: Any) -> bool:
    """Do two arrays have the same dtype and sizes, and their elements at the same distances?
    Strides of dimensions of size one do not matter: they depend on how an array was made."""
    return a.shape == b.shape and a.dtype == b.dtype and (
        a.strides == b.strides or not a.size
        or all(s == t or n == 1 for n, s, t in zip(a.shape, a.strides, b.strides))
    )


class ValuePlaces:
    """The stand-ins of values, `held`, and what they stand for. `arrays` say how each value lay
    when it was recorded, `roots` whose memory it is in."""

    def __init__(self, arrays: Any, roots: Roots) -> None:
        self.arrays, self.roots = arrays, roots
        self.held: dict[int, Any] = {}       # value -> stand-in
        # id of a stand-in -> the values that it stands for
        self.names: dict[int, list[int]] = {}
        self.ranges = Ranges()  # addresses -> a piece, or (position, first element) of what moves
        self.addresses = Addresses()
        self.parts: list[Any] = []           # stand-ins of pieces, which do not overlap
        self.own: set[int] = set()           # roots that are in pieces
        # (bytes, type) -> stand-ins whose values are dead
        self.free: dict[tuple[int, Any], list[Any]] = {}
        self.heirs: list[tuple[Piece, Piece]] = []       # (piece, one that may take its place)
        # (piece, position of a result that may be put over it)
        self.left_to: list[tuple[Piece, int]] = []
        # value that Python looks at -> (its piece, bytes to its first element)
        self.shown: dict[int, tuple[Piece, int]] = {}

    def hold(self, n: int, a: Any) -> Any:
        """Use an array as the stand-in of value n."""
        self.held[n] = a
        self.names.setdefault(id(a), []).append(n)
        if n in self.roots.position and a.size:
            self.ranges.put(*span(a), (self.roots.position[n], address(a)))
        return a

    def memory(self, n: int) -> Any:
        """Give value n memory, with the layout that was recorded."""
        if n in self.held:
            return self.held[n]
        a = self.arrays[n]
        if n in self.roots.position:
            return self.hold(n, self.addresses.like(a))
        self.own.add(n)
        blocks = self.free.get((a.nbytes, a.dtype)) if a.flags.c_contiguous else None
        if blocks:
            return self.hold(n, self.part(blocks.pop().reshape(-1).view().reshape(a.shape)))
        return self.hold(n, self.part(self.addresses.like(a)))

    def part(self, a: Any) -> Any:
        """Use an array as the stand-in of a new piece of the arena."""
        self.parts.append(a)
        if a.size:
            low, high = span(a)
            self.ranges.put(low, high, Piece(high - low))
        return a

    def release(self, roots: Iterable[int]) -> None:
        """Note that some memory is dead: other values may use it if it is the program's own."""
        for r in roots:
            a = self.held[r] if r in self.own and r not in self.roots.position else None
            if a is not None and a.flags.c_contiguous:
                self.free.setdefault((a.nbytes, a.dtype), []).append(a)

    def move(self, node: Node) -> None:
        """Make the results of a node that Python runs roots that move."""
        for o in node.outs:
            if self.roots[o] != o or o not in self.roots.position:
                self.roots.set_free(o)
                self.hold(o,
                          self.held[o] if o in self.held else self.addresses.like(self.arrays[o]))
            elif o not in self.held:
                self.hold(o, self.addresses.like(self.arrays[o]))

    def view(self, node: OpNode) -> bool:
        """Make the stand-ins of a node's views. False if their layouts are not the recorded
        ones."""
        if node.ins[0] not in self.held:
            return False
        made = node.op.forward(self.held[node.ins[0]], *node.ins[1:], **node.attrs)
        made = made if type(made) is tuple else (made,)
        if not all(same_layout(v, self.arrays[o]) for v, o in zip(made, node.outs)):
            return False
        for o, v in zip(node.outs, made):
            self.hold(o, v)
        return True

    # ---- asking ----------------------------------------------------------------------------------
    def piece(self, x: Any) -> tuple[Piece, int] | None:
        """The position of a value in the arena: (the piece, the bytes to its first element), or
        None."""
        a = self.held.get(x)
        if a is None or not a.size:
            return None
        low, what = self.ranges.at(span(a)[0]) or (0, None)
        return (what, address(a) - low) if type(what) is Piece else None

    def argument(self, a: Any, offset: int = 0) -> Argument | None:
        """The argument for an address in an array; None if it is in a stand-in for moving memory
        that is not registered here."""
        low, what = (self.ranges.at(span(a)[0]) if a.size else None) or (0, None)
        if type(what) is Piece:
            return InArena(what, address(a) - low + offset)
        if what is not None:
            position, first = what
            return Moving(position, address(a) - first + offset)
        if any(self.held[n] is a and self.roots.moves(n) for n in self.names.get(id(a), ())):
            return None
        return Fixed(a, offset)

    def overlap(self, x: Any, y: Any) -> bool:
        """Do two values share memory? Stand-ins of values from outside never do."""
        return np.may_share_memory(self.held[x], self.held[y]) or np.may_share_memory(
            self.arrays[x], self.arrays[y]
        )

    def look(self, node: Node) -> list[Piece]:
        """The pieces in which a node that Python runs finds its operands."""
        found = []
        for x in (*node.refs(), *node.attrs.get("into", {}).values()):
            at = None if self.roots.moves(x) else self.piece(x)
            if at is not None:
                self.shown[int(x)] = at
                found.append(at[0])
        return found

    def inherit(self, node: Node) -> None:
        """Let a pointwise kernel write its result over an operand that dies, if the layouts match
        element by element."""
        refs, into = dict.fromkeys(node.refs()), node.attrs.get("into", {})
        busy = {self.roots[x] for x in into.values()}
        for x in refs:
            root, old = self.roots[x], self.piece(x)
            others = any(y is not x and self.roots[y] == root for y in refs)
            if old is None or root in busy or others or not self.held[x].flags.c_contiguous:
                continue
            if old[0].size != self.held[x].nbytes:
                continue
            for o in node.outs:
                if o in into or not same_layout(self.held[x], self.held[o]):
                    continue
                new = self.piece(o) if o in self.own else None
                if self.roots.moves(o):
                    self.left_to.append((old[0], self.roots.position[self.roots[o]]))
                elif new is not None:
                    self.heirs.append((old[0], new[0]))

    def where(self) -> dict[int, tuple[int, int, Type]]:
        """The positions of the values that Python reads in the arena: see `Program.local`."""
        return {
            n: (ARENA, piece.offset + at, Type.of(self.arrays[n]))
            for n, (piece, at) in self.shown.items()
            if piece.offset is not None
        }
