"""What is compared of the tensors that a recording reaches from outside, and which objects the
arguments are."""
from __future__ import annotations

from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any

from whet.ir.graph import Type
from whet.tensor import wants_gradient
from whet.tensor_base import REQUIRES_GRAD, Base

from ..refusals.reasons import Changed, Memory, Reason, Replaced
from ..refusals.recording_errors import Refused
from ..values.tensor_facts import place_of
from ..values.tensor_sources import Source, within_reach
from .asked_gradients import AskedGradients
from .places import Change

if TYPE_CHECKING:
    from ..capture.state_before import StateBefore

_array, _flags, _grad, _extra, _node = map(
    attrgetter, ("_array", "_rg", "_grad", "_extra", "_node"))


class TensorGuards:
    """What is compared of tensors: how those from outside were before the run, and which objects
    the arguments were. `gradients`: which gradients the run could have asked for;
    `gradients_matter`: does it matter to the function which of the other tensors have one?"""

    def __init__(self, run: StateBefore, program: Any, shared: list[tuple[Source, Source]],
                 places: list[tuple[Source, int]], gradients: AskedGradients,
                 gradients_matter: bool):
        world = run.world
        if not all(within_reach(source) for pair in shared for source in pair):
            raise Refused(Memory("a gradient and another tensor are one array"))
        world.let_go(run.leaves)
        self.world, self.program, self.shared, self.places = world, program, shared, places
        # is there more to compare than machine code does?
        self.is_in_python = bool(shared or places)
        had = {id(t): g is not None for t, g in zip(run.tensors, run.grads)}
        looks = {id(t): (flags, not node)
                 for t, (_, flags, node, *_) in zip(run.tensors, run.looks)}
        self.tensors: list[Base] = list(world.tensors.values())
        self.views = [t for t in self.tensors if t._base is not None]
        self.arrays = [run.array(t) for t in self.tensors]
        found = [looks.get(id(t), (t._rg, t._node is None)) for t in self.tensors]
        self.flags = [flags for flags, _ in found]
        # of those that require gradients: is it a leaf? None for others
        self.is_leaf = [leaf if flags & REQUIRES_GRAD else None for flags, leaf in found]
        self.graded = [t for t, leaf in zip(self.tensors, self.is_leaf) if leaf is not None]
        self.were_leaves = [leaf for leaf in self.is_leaf if leaf is not None]
        self.gradients = gradients
        # those of which it matters whether they have a gradient, and which of them had none
        self.asked = [t for t in self.tensors
                      if gradients_matter and id(t) not in gradients.dropped]
        self.were_bare = [not had.get(id(t), False) for t in self.asked]
        bare = dict(zip(map(id, self.asked), self.were_bare))
        self.has_no_grad = [bare.get(id(t)) for t in self.tensors]
        self.extras = [t._extra for t in self.tensors]
        self.kinds = list(map(type, self.tensors))
        # Which tensor, NumPy array or container from outside each argument is; None for others.
        self.leaf_tensors = [world.tensors.get(id(t)) for t in run.leaves]
        self.leaf_arrays = [world.inputs.get(id(t._array)) for t in run.leaves]
        self.boxes = [world.seen.get(id(x)) for x in run.boxes]
        self.may_hold_boxes = bool(world.growing) or any(s.item is not None for s in world.taken)

    def takes_the_same(self, other: TensorGuards) -> bool:
        """Does another recording take the same varying numbers and tensors from Python's state?"""
        mine, taken = self.world.taken_keys, other.world.taken_keys
        # Names may be tensors, which are compared as such where they are not the same one.
        return [*map(hash, mine)] == [*map(hash, taken)] and mine == taken

    def wants_the_same(self, other: TensorGuards) -> bool:
        """Does another recording compare tensors from outside with the same facts?"""
        return len(self.tensors) == len(other.tensors) and all(
            map(is_, self.tensors, other.tensors)) and (
                self.flags == other.flags and self.is_leaf == other.is_leaf
                and self.has_no_grad == other.has_no_grad
                and all(map(is_, self.extras, other.extras))
                and all(map(is_, self.kinds, other.kinds)))

    def reach(self, leaves: list[Any]) -> tuple[list[Any] | None, Reason | None]:
        """The leaves with the tensors in slots; or None with the reason, where a slot holds another
        kind of value."""
        grow = self.world.growing            # what these hold is not known
        for s in self.world.slots:
            t = s.fetch(self.world.tensors, leaves)
            if t is None or grow and id(s.changeable) in grow:
                return None, Changed(self.world, Change(*s.cells[0]), "is of another kind")
            leaves = [*leaves, t]
        for twin in self.world.twins:
            if not twin.fits(leaves):
                return None, Changed(self.world, Change(*twin.slot.cells[0]),
                                     "is the tensor of another name no more")
        return leaves, None

    def fit(self, leaves: list[Any], boxes: Any = ()) -> bool:
        """Is everything that the function read beside its arguments as it was?"""
        return (self.arguments_fit(leaves, boxes) and self.tensors_fit()
                and self.sharing_fits(leaves) and self.places_fit(leaves)
                and self.world.difference() is None)

    def arguments_fit(self, leaves: list[Any], boxes: Any) -> bool:
        """Is an argument an object from outside exactly where it was one in the run, and the same
        one?"""
        known, inputs = self.world.tensors, self.world.inputs
        if (inputs
                and not all(map(is_, [inputs.get(id(t._array))
                                      for t in leaves], self.leaf_arrays))):
            return False
        return self.boxes_fit(boxes) \
            and all(map(is_, [known.get(id(t)) for t in leaves], self.leaf_tensors))

    def boxes_fit(self, boxes: Any) -> bool:
        """Is a container among the arguments one from outside exactly where it was one in the run,
        and the same one? Are containers in Python's state those of the call?"""
        if not all([c.fits(boxes) for c in self.world.containers]):
            return False
        seen = self.world.seen
        if boxes and not all(map(is_, [seen.get(id(x)) for x in boxes], self.boxes)):
            return False
        return not (boxes and self.may_hold_boxes and self.world.holds_varying_parts(boxes))

    def tensors_fit(self) -> bool:
        """Are the tensors from outside as they were, apart from their numbers?"""
        ts = self.tensors
        if not ts:
            return True
        for t in self.views:
            wants_gradient(t)                # asking brings it up to date with its base
        if (list(map(_flags, ts)) != self.flags
                or [n is None for n in map(_node, self.graded)] != self.were_leaves
                or [g is None for g in map(_grad, self.asked)] != self.were_bare
                or not all(map(is_, map(_extra, ts), self.extras))
                or not all(map(is_, map(type, ts), self.kinds))):
            return False
        if not all(map(is_, map(_array, ts), self.arrays)):
            arrays = list(map(_array, ts))
            if (not all(a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
                        for a, b in zip(arrays, self.arrays))):
                return False
            self.arrays = arrays
            self.program.forget()
        return True

    def sharing_fits(self, leaves: list[Any]) -> bool:
        """Do the tensors that shared an array share one now?"""
        for source, other in self.shared:
            t, u = source.find(leaves), other.find(leaves)
            if t is None or u is None or t._array is not u._array:
                return False
        return True

    def places_fit(self, leaves: list[Any]) -> bool:
        """Do tensors begin at the same place of their storages, where that matters?"""
        return all([place_of(source.find(leaves)._array) == place
                    for source, place in self.places])

    def difference(self) -> Reason:
        """Why a call does not fit."""
        return self.world.difference() or self.unlike()

    def unlike(self) -> Reason:
        """How a tensor from outside, or an argument, differs from what it was."""
        for t, a, flags, leaf, bare, extra, kind in zip(
                self.tensors, self.arrays, self.flags, self.is_leaf, self.has_no_grad,
                self.extras, self.kinds):
            if type(t) is not kind:
                return Replaced(t, f"is a {type(t).__name__}, not a {kind.__name__}", self.world)
            if t._array is not a and (t._array.shape, t._array.dtype) != (a.shape, a.dtype):
                return Replaced(t, f"is {Type.of(t._array)}, not {Type.of(a)}", self.world)
            if t._rg != flags:
                return Replaced(t, "no longer asks for gradients as it did", self.world)
            if leaf is not None and (t._node is None) != leaf:
                return Replaced(t, "has a history, as it had not" if leaf else
                                "has no history, as it had", self.world)
            if bare is not None and (t._grad is None) != bare:
                return Replaced(
                    t, "has no gradient, as it had"
                    if t._grad is None else "has a gradient, as it had not", self.world)
            if t._extra is not extra:
                return Replaced(t, "has other hooks", self.world)
        return Reason(
            "an argument is a tensor that the function reaches from outside, too, or no longer is "
            "one")
