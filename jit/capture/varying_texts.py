"""Texts of numbers that vary: `print(f"loss {loss:.3f}")`.

A formatted Number is plain text, whose later use nobody observes. But if the code shows that the
text goes into one f-string, and that straight into a recorded call (see `outside_calls.py`), a
replay can make the text anew. `sources` finds that out from the bytecode. If the text of a Number
goes another way, its value becomes a guard."""
from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Iterable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

from .varying_numbers import guarded_value, recorder_of, tensor_behind, value_of

if TYPE_CHECKING:
    from .varying_numbers import Number

WINDOW = 200                     # instructions before a call that are looked at
# instructions of CPython 3.11 to 3.13: how many values each takes from the stack, and gives
SIMPLE = {
    "LOAD_FAST": (0, 1), "LOAD_FAST_CHECK": (0, 1), "LOAD_FAST_LOAD_FAST": (0, 2),
    "LOAD_DEREF": (0, 1), "LOAD_NAME": (0, 1), "PUSH_NULL": (0, 1),
    "PRECALL": (0, 0), "KW_NAMES": (0, 0), "CACHE": (0, 0), "NOP": (0, 0), "EXTENDED_ARG": (0, 0),
    "BINARY_OP": (2, 1), "BINARY_SUBSCR": (2, 1), "BINARY_SLICE": (3, 1), "COMPARE_OP": (2, 1),
    "UNARY_NEGATIVE": (1, 1), "UNARY_POSITIVE": (1, 1), "UNARY_NOT": (1, 1), "TO_BOOL": (1, 1),
    "CONVERT_VALUE": (1, 1), "LOAD_METHOD": (1, 2)}
FORMATS = {dis.opmap[name] for name in ("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
           if name in dis.opmap}
CALLS = "CALL", "CALL_KW"
# from 3.12 on the lowest bit says that it gives a method and the object to call it with
LOADS_METHODS = sys.version_info >= (3, 12)


# of a text: as it is, or a Number and how it is written
Piece: TypeAlias = "str | tuple[Number, str]"
# what a value is made of: see `sources`
Source: TypeAlias = list[str | int | None] | None


class Text:
    """A text of pieces: strings, and (Number, how it is written)."""
    __slots__ = ("text", "pieces")

    def __init__(self, text: str, pieces: list[Piece]) -> None:
        self.text, self.pieces = text, pieces


def formats(code: CodeType, at: int) -> bool:
    """Does a value get formatted by the instruction at this offset?"""
    return code.co_code[at] in FORMATS


@functools.lru_cache(256)
def sources(code: CodeType, at: int) -> tuple[list[Source], bool] | None:
    """The origins of the arguments of the call at an offset. For each argument it is None, or a
    list of strings, offsets of formatted values, and None for unknown parts. Also whether the
    call's result is discarded."""
    code_of = [i for i in dis.get_instructions(code) if i.opname != "CACHE"]
    k = next((k for k, i in enumerate(code_of) if i.offset >= at and i.opname in CALLS), None)
    if k is None:
        return None
    argc = code_of[k].arg or 0
    # above the arguments are the names of those that have one
    size = argc + 2 + (code_of[k].opname == "CALL_KW")
    for start in range(k - 1, max(-1, k - WINDOW), -1):
        if code_of[start + 1].is_jump_target:
            return None
        stack = _stack(code_of[start:k])
        if stack is not None and len(stack) == size:
            return stack[2:argc + 2], code_of[k + 1].opname == "POP_TOP"
    return None


def _stack(instructions: Iterable[dis.Instruction]) -> list[Source] | None:
    """The stack after some instructions on an empty one; None if it is unknown."""
    stack: list[Source] = []
    made: list[Source]
    for i in instructions:
        name, n = i.opname, i.arg or 0
        if name in SIMPLE:
            taken, put = SIMPLE[name]
            made = [None] * put
        elif name == "LOAD_CONST":
            taken, made = 0, [[i.argval] if type(i.argval) is str else None]
        elif name == "LOAD_GLOBAL":
            taken, made = 0, [None] * (1 + (n & 1))
        elif name == "LOAD_ATTR":
            taken, made = 1, [None] * (1 + (n & LOADS_METHODS))
        elif name == "FORMAT_SIMPLE":
            taken, made = 1, [[i.offset]]
        elif name == "FORMAT_WITH_SPEC":
            taken, made = 2, [[i.offset if stack and stack[-1] is not None else None]]
        elif name == "FORMAT_VALUE":
            # With a conversion or a computed spec it is not known what is formatted.
            spec: Source = stack[-1] if n & 4 and stack else []
            taken, made = 1 + bool(n & 4), [[i.offset if not n & 3 and spec is not None else None]]
        elif name == "BUILD_STRING":
            if len(stack) < n:
                return None
            taken, made = n, [[p for part in stack[len(stack) - n:] for p in (part or [None])]]
        elif name in ("BUILD_TUPLE", "BUILD_LIST"):
            taken, made = n, [None]
        elif name in CALLS:
            taken, made = n + 2 + (name == "CALL_KW"), [None]
        else:
            return None
        if len(stack) < taken:
            return None
        del stack[len(stack) - taken:]
        stack += made
    return stack


class Texts:
    """The texts of Numbers that a run has made, until their use is known."""

    def __init__(self) -> None:
        # (id of a frame, offset) -> (Number, how it is written, text)
        self.made: dict[tuple[int, int], tuple[Number, str, str]] = {}

    def note(self, frame: FrameType, number: Number, spec: str) -> str | None:
        """The text of a Number; None if the code does not show how it is used."""
        if not formats(frame.f_code, frame.f_lasti):
            return None
        key = id(frame), frame.f_lasti
        if key in self.made:                 # it went another way
            guarded_value(self.made[key][0])
        text = format(value_of(number), spec)
        self.made[key] = number, spec, text
        return text

    def arguments(self, frame: FrameType, args: Sequence[Any],
                  result_is_used: bool) -> Sequence[Any]:
        """The arguments of a recorded call, with Texts in place of strings into which Numbers were
        formatted."""
        if not self.made or not any(type(x) is str for x in args):
            return args
        known = sources(frame.f_code, frame.f_lasti)
        if known is None or len(known[0]) < len(args) or result_is_used and not known[1]:
            return args
        return [
            x if type(x) is not str or s is None else self.text(frame, x, s)
            for x, s in zip(args, known[0])]

    def text(self, frame: FrameType, x: str, source: list[str | int | None]) -> str | Text:
        """A string as a Text, if it consists of these pieces."""
        keys = [(id(frame), s) for s in source if isinstance(s, int)]
        keys = [key for key in keys if key in self.made]
        known = [s if isinstance(s, str) else None if s is None else self.made.get((id(frame), s))
                 for s in source]
        pieces = [p for p in known if p is not None]
        texts = [p[2] if isinstance(p, tuple) else p for p in pieces]
        if len(pieces) == len(known) - 1:    # the missing one is what is in between
            i = known.index(None)
            before, after = "".join(texts[:i]), "".join(texts[i:])
            if len(before) + len(after) <= len(x) and x.startswith(before) and x.endswith(after):
                between = x[len(before):len(x) - len(after)]
                pieces.insert(i, between)
                texts.insert(i, between)
        if not keys or len(pieces) < len(known) or "".join(texts) != x:
            return x
        for key in keys:
            del self.made[key]
        return Text(x, [p if isinstance(p, str) else p[:2] for p in pieces])

    def guard_values(self) -> None:
        """Make guards of the values whose texts were used otherwise."""
        for number, *_ in self.made.values():
            # The run is over, so the number is not live.
            recorder_of(number).pin(tensor_behind(number))
        self.made.clear()
