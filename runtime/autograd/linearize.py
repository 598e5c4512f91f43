"""A function evaluated once, and its derivative there written down as a linear function of
tangents: what `linearize` gives.

The level runs as forward mode does, but has no tangents yet: a tensor's tangent is a `Slot`. What
forward mode would compute of tangents becomes a step of a list. The list is run when there are
tangents, as often as there are.
"""
from collections.abc import Callable
from dataclasses import dataclass

from ..ops import registry
from ..ops.tangents import tangents_of
from ..tensor import Tensor
from .forward_ad import ForwardLevel


class Slot:
    """A tangent that is not there yet. In a run it may turn out to be None, zeros."""
    __slots__ = ()


@dataclass(eq=False, slots=True)
class Step:
    """results = compute(tangents, *known)"""
    compute: Callable
    operands: tuple            # Slots and Nones
    # what the function's run left: tensors, some of them in tuples and lists, and facts
    known: tuple
    results: tuple             # Slots
    versions: tuple            # of the known tensors
    ended: tuple = ()          # Slots that no later step wants

    def keep_apart(self, cell):
        """Have copies of the known tensors that use a memory which is about to be written to."""
        self.known = tuple(
            [_each(lambda t: t.clone() if t._shared() is cell else t, x) for x in self.known]
        )
        self.versions = _versions(self.known)

    def run(self, tangents):
        """Compute the results, given a dict of the tangents that are not zero."""
        operands = [tangents.get(slot) for slot in self.operands]
        if any([t is not None for t in operands]):
            self.check()
            tangents.update(
                [
                    (slot, t)
                    for slot, t in zip(self.results, self.compute(operands, *self.known))
                    if t is not None
                ]
            )
        for slot in self.ended:
            tangents.pop(slot, None)

    def check(self):
        if _versions(self.known) != self.versions:
            raise RuntimeError(
                "linearize: a tensor that the linear function needs has been modified by an "
                "inplace operation since the function was evaluated")


def _each(f, x):
    """f of the tensors in a tensor, a tuple or a list; what else there is as it is."""
    if isinstance(x, Tensor):
        return f(x)
    return type(x)([_each(f, y) for y in x]) if type(x) in (tuple, list) else x


def _tensors(known):
    found: list = []
    for x in known:
        _each(found.append, x)
    return found


def _versions(known):
    return tuple([t._version for t in _tensors(known)])


class LinearLevel(ForwardLevel):
    """One evaluation that writes down what becomes of tangents."""
    name = "linearize"

    def __init__(self):
        super().__init__()
        self.steps: list = []
        # cell of a memory -> the steps that know of a tensor in it
        self.users: dict = {}

    def variable_of(self, value):
        """(a tensor of this level to evaluate the function at, its Slot)"""
        slot = Slot()
        return self.tensor(value, slot), slot

    def compute(self, op, inputs, attrs):
        values = tuple([x.value if self.owns(x) else x for x in inputs])
        tangents = tuple([x.tangent if self.owns(x) else None for x in inputs])
        outs = self.beneath(registry.apply, op, values, attrs)
        many = type(outs) is tuple
        if not op.differentiable or not any([t is not None for t in tangents]):
            made = (None,) * (len(outs) if many else 1)
        else:
            made = self.derive(
                _pushed, tangents, op, values, outs, attrs, count=len(outs) if many else 1
            )
        return (
            tuple([self.tensor(y, t) for y, t in zip(outs, made)])
            if many
            else self.tensor(outs, made[0])
        )

    def derive(self, compute, tangents, *known, count=1):
        if all([t is None for t in tangents]):
            return (None,) * count
        step = Step(
            compute, tuple(tangents), known, tuple([Slot() for _ in range(count)]), _versions(known)
        )
        self.steps.append(step)
        for t in _tensors(known):
            self.users.setdefault(t._shared(), []).append(step)
        return step.results

    def overwrites(self, value):
        cell = value._shared()
        for step in self.users.pop(cell, ()):
            self.beneath(step.keep_apart, cell)

    def inplace(self, op, t, args, attrs):
        if not self.owns(t):
            self.overwrites(t)
        return super().inplace(op, t, args, attrs)

    def linear(self, wanted):
        """The steps that lead to the wanted Slots, in order."""
        steps, alive = [], set(wanted)
        for step in reversed(self.steps):
            if not alive.isdisjoint(step.results):
                new = {
                    slot
                    for slot in (*step.operands, *step.results)
                    if slot is not None and slot not in alive
                }
                step.ended = tuple(new)
                alive |= new
                steps.append(step)
        return steps[::-1]


def _pushed(tangents, op, values, outs, attrs):
    found = tangents_of(op, values, tangents, outs, attrs)
    return found if type(found) is tuple else (found,)
