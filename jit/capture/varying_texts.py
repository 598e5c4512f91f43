"""Texts of numbers that vary: `print(f"loss {loss:.3f}")`.

A formatted Number is text, and what becomes of text nobody sees. But where the code says that it
goes into one f-string, and that straight into a call that is noted (see `outside_calls.py`), it is
enough that a replay makes the text anew. `sources` reads that from the code; the text of a Number
that goes another way makes its value a guard.
"""
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
    """Is this the offset of an instruction that formats a value?"""
    return code.co_code[at] in FORMATS


@functools.lru_cache(256)
def sources(code: CodeType, at: int) -> tuple[list[Source], bool] | None:
    """What the arguments of the call at an offset are made of: for each None, or a list of strings,
    offsets of formatted values, and None for what is not known. Also whether the call's result is
    thrown away."""
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
    """What lies on the stack after some instructions on an empty one; None where that is not
    known."""
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
    """The texts of Numbers that a run has made, until it is seen where they go."""

    def __init__(self) -> None:
        # (id of a frame, offset) -> (Number, how it is written, text)
        self.made: dict[tuple[int, int], tuple[Number, str, str]] = {}

    def note(self, frame: FrameType, number: Number, spec: str) -> str | None:
        """The text of a Number, or None where the code does not say where it goes."""
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
        """The arguments of a call that is noted, with Texts for strings that Numbers were
        written into."""
        if not self.made or not any(type(x) is str for x in args):
            return args
        known = sources(frame.f_code, frame.f_lasti)
        if known is None or len(known[0]) < len(args) or result_is_used and not known[1]:
            return args
        return [
            x if type(x) is not str or s is None else self.text(frame, x, s)
            for x, s in zip(args, known[0])]

    def text(self, frame: FrameType, x: str, source: list[str | int | None]) -> str | Text:
        """A string as a Text, if that is what it is made of."""
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
        """Texts that went elsewhere make their values guards."""
        for number, *_ in self.made.values():
            # The run is over, so the number is not live.
            recorder_of(number).pin(tensor_behind(number))
        self.made.clear()
