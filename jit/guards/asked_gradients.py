"""Of which tensors a run could have asked whether they have a gradient.

A recording is of no use where a parameter has a gradient that had none, if code asks which have
one. Most training steps begin with `optimizer.zero_grad()`, though. Then it does not matter what
was there before, because the run drops it unread. Which parameters get a gradient may differ from
call to call, as in a mixture of experts. If the gradients of the last call were compared, each way
through the step would be recorded once for each way that may precede it.
"""
from __future__ import annotations

import types

from whet.tensor import Tensor

SLOT = "_grad"


def names_gradients(code: types.CodeType) -> bool:
    """Does some code name the slot in which a tensor has its gradient? `.grad` leads to such code.

    >>> from whet import Tensor
    >>> from whet.jit.guards.asked_gradients import names_gradients
    >>> [names_gradients(f.__code__) for f in (Tensor.grad.fget, Tensor._as, Tensor.dim)]
    [True, True, False]
    """
    return SLOT in code.co_names or any(
        x == SLOT or type(x) is tuple and SLOT in x for x in code.co_consts)


READS, SETS, DELETES = (f.__code__ for f in (Tensor.grad.fget, Tensor.grad.fset, Tensor.grad.fdel))


class AskedGradients:
    """`of_all`: did code run that could read the gradient of any tensor? `dropped`: the ids of
    tensors whose gradient was dropped before anybody could have asked for it."""
    __slots__ = ("of_all", "asked", "dropped")

    def __init__(self, of_all: bool) -> None:
        self.of_all = of_all
        self.asked: set[int] = set()         # ids of tensors
        self.dropped: set[int] = set()

    def __bool__(self) -> bool:
        """Could the run have asked for any?"""
        return self.of_all or bool(self.asked)

    def begins(self, frame: types.FrameType) -> None:
        """Code that names gradients begins to run, in this frame."""
        if self.of_all:
            return
        code = frame.f_code
        if code not in (READS, SETS, DELETES):
            self.of_all = True
            return
        held = frame.f_locals
        t = id(held["self"])
        if code is READS or held.get("g") is not None:
            self.asked |= {t} - self.dropped
        elif t not in self.asked:
            self.dropped.add(t)
