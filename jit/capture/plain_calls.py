"""Calls of functions and types that must not get what stands for a number
(`guards/called_by_name.py` says where these have stand-ins)."""
from __future__ import annotations

import functools
import io
import sys
import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..guards.called_by_name import why_never_recorded
from ..refusals.reasons import Reason
from ..stand_ins.replace_stand_ins import reclaim, replace_stand_ins
from ..stand_ins.streams_and_functions import Function, called_plainly
from ..values.code_origin import origin_of_what, ours

if TYPE_CHECKING:
    from types import FrameType

    from .outside_calls import Outward
    from .purity import Watch


class Plain(Function):
    """Hands on plain values, also when the run is recorded no more."""
    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return object.__getattribute__(self, "_does")(*args, **kwargs)


def stand_in(outward: Outward, f: Any) -> Plain | None:
    """What a run finds in place of a function or type; None for methods of streams."""
    if isinstance(getattr(f, "__self__", None), io.IOBase):
        return None
    origin = origin_of_what(f)
    reason = None if origin is None else why_never_recorded(f, origin)
    if reason is None:
        return Plain(f, outward, functools.partial(_guarding, f))
    return Plain(f, outward, functools.partial(
        _unrecorded, outward, reason, threading.get_ident(), f))


def _guarding(f: Any, *args: Any, **kwargs: Any) -> Any:
    """Call it with plain numbers, which become guards."""
    return called_plainly(f, args, kwargs)[0]


def _unrecorded(outward: Outward, reason: Reason, thread: int, f: Any, *args: Any,
                **kwargs: Any) -> Any:
    """Make a call that ends the recording. Whatever the function could read is as it is without
    one: what it is given, Python's state, and what the run has made."""
    if threading.get_ident() != thread:
        return f(*args, **kwargs)
    if _is_of_user(outward.watch, sys._getframe(2)):
        outward.rec.refuse(reason)
    args, kwargs = replace_stand_ins(([*args], kwargs))
    plainly, outward.plainly = outward.plainly, None
    try:
        with nullcontext() if plainly is None else plainly():
            reclaim([(x, None) for x in outward.rec.stand_ins.numbers.numbers])
            return called_plainly(f, args, kwargs)[0]
    finally:
        outward.plainly = plainly if outward.rec.outward is outward else None


def _is_of_user(watch: Watch, frame: FrameType) -> bool:
    """Is a call that this frame makes the user's, or that of a library that works for it?"""
    return frame.f_code in watch.codes or not ours(frame) and watch.works_for_the_user(frame)
