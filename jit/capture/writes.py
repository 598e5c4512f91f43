"""Writes to tensors while a run is recorded.

A write that a replay can repeat is a node. Other writes are made as in eager mode, and refuse the
recording."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whet.autograd import inplace as ip
from whet.autograd import modes
from whet.ir.graph import Write
from whet.ops import pointwise_family, registry
from whet.ops.creation import empty_op
from whet.tensor import wants_gradient
from whet.tensor_base import Base, Cell

from ..refusals.reasons import InPlaceShape, Memory, OfNumPy
from ..refusals.recording_errors import Refused
from ..values.varying_numbers import attributes_without_numbers
from .questions import Questions
from .user_lines import where

if TYPE_CHECKING:
    from whet.ops.registry import Op


class Writes(Questions):
    """The part of a recorder that records writes."""

    def inplace(self, op: Op, t: Base, args: tuple[Any, ...], attrs: Mapping[str, Any]) -> Any:
        """Write to a tensor, or change what it is, and record it. This is unwatched if it calls no
        user code."""
        return self.unwatched_if_ours(op, self.write, op, t, args, attrs)

    def write(self, op: Op, t: Base, args: tuple[Any, ...], attrs: Mapping[str, Any]) -> Any:
        """Write as eager does, and note it."""
        args, attrs = self.without_scalars(args, attrs)
        args = self.numbers(op, (t, *args))[1:]
        attrs = self.followed.guard_sizes(self, attributes_without_numbers(attrs))
        if op.is_view or op.name == "resize":
            return self.reshape(op, t, attrs)
        try:
            ins = self.operands((t, *args))
        except Refused as e:
            self.refuse(e.reason)
            return pointwise_family.inplace(op, t, args, attrs)
        if self.tried_code is not None and not self.own(ins[0]):
            self.tried_code.stop("it writes to a tensor that was there before")
        root = self.values.root(ins[0])
        if self.stand_ins.arrays.frozen(root, t._array):
            self.refuse(OfNumPy("it writes to a NumPy array of which others have seen the memory"))
        node, base = t._node, t if t._base is None else t._base
        if (modes.state.flags & modes.GRAD and base not in self.tensors
                and any(registry.is_tensor(x) and wants_gradient(x) for x in (t, *args))):
            self.refuse(
                Memory("what carries gradients is written to a tensor that was there before"))
            return pointwise_family.inplace(op, t, args, attrs)
        if root in self.outside:
            self.originals.write(t._array)
        try:
            pointwise_family.inplace_now(op, t, args, attrs, ip)
        except BaseException:
            self.raised(op)
            raise
        if op.may_fail:
            self.run_memory.released.look(len(self.nodes))
        self.nodes.append(Write(op, ins, attrs, where(), (t._cell,)))
        if t._node is not node and t not in self.tensors:
            self.refuse(Memory("a tensor that was there before got a history"))
        return t

    def update(self, op: Op, targets: Sequence[Base], others: Sequence[Any],
               attrs: Mapping[str, Any]) -> bool:
        """Write to several tensors by one op, and record it."""
        done: bool = self.unwatched_if_ours(op, self.write_all, op, targets, others, attrs)
        return done

    def write_all(self, op: Op, targets: Sequence[Base], others: Sequence[Any],
                  attrs: Mapping[str, Any]) -> bool:
        """Write as eager does, and note it, where that is simple: nothing has a history, and
        nothing else knows the memory."""
        if self.tried_code is not None or modes.state.flags & modes.GRAD:
            return False
        try:
            ins = self.operands((*targets, *others))
        except Refused as e:
            self.refuse(e.reason)
            return False
        roots = [self.values.root(n) for n in ins[:len(targets)]]
        if any(map(self.stand_ins.arrays.frozen, roots, [t._array for t in targets])):
            return False
        for t, root in zip(targets, roots, strict=True):
            if root in self.outside:
                self.originals.write(t._array)
        assert op.write is not None
        op.write(*registry.arrays_of(op, (*targets, *others)), **attrs)
        for t in targets:
            t._bump(op.writer)
        self.nodes.append(Write(op, ins, attrs, where(), tuple([t._cell for t in targets])))
        return True

    def reshape(self, op: Op, t: Base, attrs: Mapping[str, Any]) -> Any:
        """Change the shape of a tensor in place. A tensor that the run made becomes another
        value."""
        made = (self.tried_code is None and t in self.tensors and t._base is None
                and self.values.number(t._array) is not None
                and not _shares_versions(t, self.outside))
        if made and op.is_view:
            ins = self.operands((t,))
            try:
                _reshape(op, t, attrs)
            except BaseException:
                self.raised(op)
                raise
            self.note(op, ins, attrs, t)
            return t
        # What `out=` gets is new memory.
        if made and op.name == "resize" and not t._array.size:
            new = {"size": attrs["size"], "dtype": t.dtype}
            t._array = empty_op.forward(**new)
            t._bump("resize_")
            self.note(empty_op, (), new, t)
            return t
        self.refuse(InPlaceShape(f"{op.name}_ changes a tensor's shape in place"))
        return _reshape(op, t, attrs) if op.is_view else t.resize_(attrs["size"])


def counters(t: Base) -> Iterator[Cell]:
    """The version cells of a tensor, of its `.data`, of the `.data` of that, and so on, as far as
    they exist."""
    cell = t._cell
    while cell is not None:
        yield cell
        cell = cell.aside


def _shares_versions(t: Base, outside: Mapping[int, Base]) -> bool:
    """Does a tensor share a version cell with an outside tensor, as `x.detach()` and `.data` do?"""
    return t._cell is not None and any(c is t._cell for x in outside.values() for c in counters(x))


def _reshape(op: Op, t: Base, attrs: Mapping[str, Any]) -> Any:
    from whet.ops.changes_in_place import reshape_now
    return reshape_now(op, t, attrs)
