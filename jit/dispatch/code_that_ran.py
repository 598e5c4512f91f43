"""Functions that can reach something that cannot be compared, through code that never runs: only
code that ran before is read.

Before a run is recorded, all code within reach of the function is read for what it names. A library
holds more than a call of it uses: a branch that opens files, a module that is looked through, more
objects than can be watched. Where the walk over all of that fails, only the code is read that runs
were seen to run. A recording goes one way through the function, and what no code on that way reads
does not decide it.

The first run is an eager one that is only asked what it runs. If that is too much, too, the second
is asked, as the first may have filled caches and made what later ones find. A later one whose way
leads through other code is not recorded, and teaches that code to the next. As code that was not
read may tell what stands for something else during a run, nothing does: numbers and arrays are
guards.
"""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

from ..guards.allowed_calls import tells_who_watches
from ..values.code_origin import origin_of

if TYPE_CHECKING:
    from collections.abc import Set
    from types import CodeType, FrameType

    from ..refusals.reasons import Reason

LESSONS = 8                      # runs that may teach: others count as failures
ASKED = 2                        # runs that are asked for all that they run


class CodeThatRan:
    """The code that is read. `reason`: what cannot be compared, where all is read. `before`: what
    was read so far.

    What runs inside of it, as a context, is noted, unless another profile observes calls."""

    def __init__(self, reason: Reason, before: CodeThatRan | None = None) -> None:
        self.reason, self.lessons = reason, 0
        self.asked: int = 1 if before is None else before.asked + 1
        self.codes: set[CodeType] = set()

    def __enter__(self) -> Self:
        self.listens = sys.getprofile() is None
        if self.listens:
            sys.setprofile(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.withdraw()

    def withdraw(self) -> None:
        """Note nothing more."""
        if self.listens:
            sys.setprofile(None)
            self.listens = False

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and origin_of(frame.f_globals) is None:
            self.codes.add(frame.f_code)
        elif event == "c_call" and tells_who_watches(arg):
            self.withdraw()

    @property
    def may_be_too_much(self) -> bool:
        """May later runs run less than the one that was asked?"""
        return self.asked < ASKED

    def learn(self, codes: Set[CodeType]) -> bool:
        """A run was not recorded as it ran this code. True if the next may be."""
        is_new = not codes <= self.codes
        self.codes |= codes
        self.lessons += is_new
        return is_new and self.lessons <= LESSONS
