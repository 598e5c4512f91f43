"""Texts of numbers that vary: `print(f"loss {loss:.3f}")`.

A formatted Number is plain text, whose later use is not observed. A replay can format it again if
the code shows two things. The text goes into one f-string, or into the places of one template
(`"%.3f" % loss`). The result goes straight into a recorded call (see `outside_calls.py`). `sources`
finds that out from the bytecode. If the text of a Number goes another way, its value becomes a
guard.

What fills a template is a tuple on the stack of a frame, which cannot be read. It is among the
youngest objects that the garbage collector knows."""
from __future__ import annotations

import dis
import functools
import gc
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .text_templates import Template, filled
from .varying_numbers import NUMBERS, guarded_value, recorder_of, tensor_behind, value_of

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
    "LOAD_METHOD": (1, 2)}
FORMATS = {dis.opmap[name] for name in (
    "FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE") if name in dis.opmap}
CALLS = "CALL", "CALL_KW"
# what a text asks a number for, to write it
BECOMES_TEXT = frozenset((int, float, str, repr))
# numbers in places of templates that a run may write: to find the others of a tuple takes a while
MOST_IN_PLACES = 256
OPERATOR = dis.opmap["BINARY_OP"]
BEFORE_CALL = dis.opmap.get("PRECALL", -1)
# from 3.12 on the lowest bit says that it gives a method and the object to call it with
LOADS_METHODS = sys.version_info >= (3, 12)


# of a text: as it is, or a Number and how it is written
Piece: TypeAlias = "str | tuple[Number, str]"
# what a value is made of: see `sources`
Source: TypeAlias = "list[str | int | Template | None] | None"


class FormatOf(str):
    """On a stack: the method `format` of a constant text."""


class Formatted(NamedTuple):
    """A Number, how it is written, and its text."""
    number: Number
    way: str
    text: str


class InPlace(NamedTuple):
    """A Number in a place of a template, and tuples that could be what its places are filled
    with."""
    number: Number
    around: list[tuple[Any, ...]]


class Text:
    """A text of pieces: strings, and (Number, how it is written)."""
    __slots__ = ("text", "pieces")

    def __init__(self, text: str, pieces: list[Piece]) -> None:
        self.text, self.pieces = text, pieces


def _enter(number: Number) -> None:
    """Give the value of a Number its place in the graph while the run lasts, as only then is a size
    read from a tensor. It may be found to be a guard when the run is over."""
    recorder_of(number).value(tensor_behind(number))


def _place(code: CodeType, at: int) -> int:
    """The offset of the call to which an instruction before it belongs; of others, their own."""
    if code.co_code[at] != BEFORE_CALL:
        return at
    return next(i.offset for i in dis.get_instructions(code) if i.offset >= at
                and i.opname in CALLS)


def formats(code: CodeType, at: int) -> bool:
    """Does a value get formatted by the instruction at this offset?"""
    return code.co_code[at] in FORMATS


@functools.lru_cache(256)
def fills_template(code: CodeType, at: int) -> bool:
    """Does the instruction at an offset fill the places of a text: `text % values`, or a call,
    which may be one of `text.format`?"""
    i = next((i for i in dis.get_instructions(code) if i.offset == at), None)
    return i is not None and (
        i.opname == "BINARY_OP" and i.argrepr == "%" or i.opname in (*CALLS, "PRECALL"))


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
    is_named = False                         # are there names of arguments for the next call?
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
        elif name == "CONVERT_VALUE":
            taken, made = 1, [[i.offset]]
        elif name == "FORMAT_SIMPLE":        # it leaves a text as it is
            own: Source = [i.offset]
            taken, made = 1, [stack[-1] if stack and stack[-1] else own]
        elif name == "FORMAT_WITH_SPEC":
            taken, made = 2, [[i.offset if stack and stack[-1] is not None else None]]
        elif name == "FORMAT_VALUE":
            # With a conversion and a spec it is not known what is formatted.
            spec: Source = stack[-1] if n & 4 and stack else []
            is_known = spec is not None if not n & 3 else not n & 4
            taken, made = 1 + bool(n & 4), [[i.offset if is_known else None]]
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
        if (template := _template(i, stack, is_named)) is not None:
            made[0] = template
        is_named = name == "KW_NAMES" or is_named and name == "PRECALL"
        del stack[len(stack) - taken:]
        stack += made
    return stack


def _template(i: dis.Instruction, stack: list[Source], is_named: bool) -> Source:
    """What the first result of an instruction is, if templates are concerned; None otherwise.
    `is_named`: it is a call that has arguments with names."""
    n = i.arg or 0
    if i.opname == "BINARY_OP" and i.argrepr == "%":
        text = _constant(stack[-2])
        return None if text is None else [Template(text, i.offset, is_percent=True)]
    if i.opname == "BINARY_OP" and i.argrepr == "+" and stack[-2] and stack[-1]:
        return [*stack[-2], *stack[-1]]
    if i.opname in ("LOAD_METHOD", "LOAD_ATTR") and i.argval == "format":
        text = _constant(stack[-1])
        return None if text is None else [FormatOf(text)]
    if i.opname == "LOAD_GLOBAL" and i.argval == "str":
        return [FormatOf("{}")]              # numbers are noted there by Python's own alone
    if i.opname == "CALL" and not is_named:
        of = stack[-n - 2] or stack[-n - 1]  # above or below what says that it is no method
        if of and type(of[0]) is FormatOf:
            return [Template(str(of[0]), i.offset, is_percent=False)]
    return None


def _constant(source: Source) -> str | None:
    """The text that a value is, if the code has it for a constant."""
    return source[0] if source and len(source) == 1 and type(source[0]) is str else None


class Texts:
    """The texts of Numbers that a run has made, until their use is known."""

    def __init__(self) -> None:
        # by the id of a frame, and the offset
        self.made: dict[tuple[int, int], Formatted] = {}
        self.in_places: dict[tuple[int, int], list[InPlace]] = {}
        self.count_in_places = 0

    def note(self, frame: FrameType, number: Number, spec: str) -> str | None:
        """The text of a Number; None if the code does not show how it is used."""
        if not formats(frame.f_code, frame.f_lasti):
            return format(value_of(number), spec) if self.fills(frame, number) else None
        key = id(frame), frame.f_lasti
        if key in self.made:                 # it went another way
            guarded_value(self.made[key][0])
        _enter(number)
        text = format(value_of(number), spec)
        self.made[key] = Formatted(number, spec, text)
        return text

    def takes(self, number: Number, asked: Callable[..., Any]) -> bool:
        """Does a Number become text by what is asked of it? If so, note it."""
        frame = recorder_of(number).user() if asked in BECOMES_TEXT else None
        if frame is None:
            return False
        if asked in (str, repr) and formats(frame.f_code, frame.f_lasti):        # {x!s}
            return self.note(frame, number, "") is not None
        is_operator = frame.f_code.co_code[frame.f_lasti] == OPERATOR
        return (is_operator or asked is str) and self.fills(frame, number)

    def fills(self, frame: FrameType | None, number: Number) -> bool:
        """Does a Number become text in a place of a template? If so, note it."""
        if frame is None or not fills_template(frame.f_code, frame.f_lasti) \
                or self.count_in_places >= MOST_IN_PLACES:
            return False
        self.count_in_places += 1
        _enter(number)
        around = [t for t in gc.get_objects(0) if type(t) is tuple and any(x is number for x in t)]
        key = id(frame), _place(frame.f_code, frame.f_lasti)
        self.in_places.setdefault(key, []).append(InPlace(number, around))
        return True

    def parts(self, frame: FrameType, template: Template) -> list[Any] | None:
        """What `filled` tells of a template; None if it is not known what fills it."""
        noted, places = self.in_places.get((id(frame), template.offset), []), template.places()
        if places is None or not noted:
            return None
        count = 1 + max((p[0] for p in places if isinstance(p, tuple)), default=-1)
        last, around = noted[-1]
        found: list[Any] = [t for t in around if len(t) == count]
        if not found and count == 1:
            found = [(last,)]
        if len(found) != 1:
            return None
        numbers = [
            found[0][p[0]] for p in places if isinstance(p, tuple)
            and type(found[0][p[0]]) in NUMBERS]
        # more were noted if an earlier text went another way
        if len(numbers) != len(noted) or not all(map(operator.is_, numbers, [n for n, _ in noted])):
            return None
        return filled(places, found[0])

    def arguments(self, frame: FrameType, args: Sequence[Any],
                  result_is_used: bool) -> Sequence[Any]:
        """The arguments of a recorded call, with Texts in place of strings into which Numbers were
        formatted."""
        if not (self.made or self.in_places) or not any(type(x) is str for x in args):
            return args
        known = sources(frame.f_code, frame.f_lasti)
        if known is None or len(known[0]) < len(args) or result_is_used and not known[1]:
            return args
        return [
            x if type(x) is not str or s is None else self.text(frame, x, s)
            for x, s in zip(args, known[0])]

    def text(self, frame: FrameType, x: str,
             source: list[str | int | Template | None]) -> str | Text:
        """A string as a Text, if it consists of these pieces."""
        known: list[Any] = []
        for s in source:
            part = self.parts(frame, s) if isinstance(s, Template) else [
                s if isinstance(s, str) else None if s is None else self.made.get((id(frame), s))]
            if part is None:
                return x
            known += part
        pieces = [p for p in known if p is not None]
        texts = [p[2] if isinstance(p, tuple) else p for p in pieces]
        if len(pieces) == len(known) - 1:    # the missing one is what is in between
            i = known.index(None)
            before, after = "".join(texts[:i]), "".join(texts[i:])
            if len(before) + len(after) <= len(x) and x.startswith(before) and x.endswith(after):
                between = x[len(before):len(x) - len(after)]
                pieces.insert(i, between)
                texts.insert(i, between)
        if (not any(isinstance(p, tuple) for p in pieces) or len(pieces) < len(known)
                or "".join(texts) != x):
            return x
        for s in source:
            if isinstance(s, Template):
                del self.in_places[id(frame), s.offset]
            elif isinstance(s, int):
                self.made.pop((id(frame), s), None)
        return Text(x, [p if isinstance(p, str) else p[:2] for p in pieces])

    def guard_values(self) -> None:
        """Make guards of the values whose texts were used otherwise."""
        in_places = [number for noted in self.in_places.values() for number, _ in noted]
        for number in [*(number for number, *_ in self.made.values()), *in_places]:
            # The run is over, so the number is not live.
            recorder_of(number).pin(tensor_behind(number))
        self.made.clear()
        self.in_places.clear()
