"""Names of attributes that code makes at run time, as far as they are known.

    for i in range(self.depth):
        x = getattr(self, f"layer{i}")(x)

This name begins with `layer`, and it is asked of `self`. So the code cannot come to a log that its
caller holds, nor to `self.optimizer`. Code of which nothing is known looks up any name of anything
(see `CodeFacts.looks_up_names`).

What a text begins with is found by running the instructions that make it on a stack of what is
known of each value.
"""
from __future__ import annotations

import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .bytecode import LOADS, Instruction, instructions, is_called, jump_targets

LOOKING_UP_ONE = frozenset(("getattr", "hasattr", "setattr", "delattr"))
_SPECIAL = "_"                   # the names begin so that Python itself gives a meaning to
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_SIGNS: list[str] = [sign for _, sign in dis._nb_ops]            # type: ignore[attr-defined]
_ENDS = "STORE_", "POP_TOP", "RESUME"        # an instruction of a statement, the last one
_WITHOUT_EFFECT = frozenset(("NOP", "PRECALL", "KW_NAMES"))
_OF_A_TEXT = {"FORMAT_VALUE": 1, "FORMAT_SIMPLE": 1, "CONVERT_VALUE": 1, "FORMAT_WITH_SPEC": 2}
# Is it told with an attribute that it is called? Before, an instruction of its own loads those.
_ATTRIBUTES_ARE_MARKED = sys.version_info >= (3, 12)
_WITH_SPEC = 4                   # a flag of FORMAT_VALUE: the form is on the stack


@dataclass(frozen=True, slots=True)
class MadeName:
    """A name that some code makes and looks up: it begins with `prefix`. `of_first`: does the code
    look it up in its first argument alone?"""
    prefix: str
    of_first: bool

    def could_be(self, name: Any) -> bool:
        """Could this be the name?"""
        return type(name) is str and name.startswith(self.prefix)


class MadeNames:
    """The names that code within reach makes, and the classes whose methods this code is."""

    def __init__(self) -> None:
        self.found: set[tuple[types.CodeType, MadeName]] = set()
        self.methods: dict[types.CodeType, tuple[type, ...]] = {}

    def copy(self) -> MadeNames:
        new = MadeNames()
        new.found, new.methods = self.found.copy(), self.methods.copy()
        return new

    def note_methods(self, of: type, codes: Iterable[types.CodeType | None]) -> None:
        """A class has methods of this code in its body."""
        for code in codes:
            if code is not None and of not in (known := self.methods.get(code, ())):
                self.methods[code] = *known, of

    def note(self, code: types.CodeType, names: Iterable[MadeName]) -> None:
        """Some code makes these names."""
        self.found.update((code, name) for name in names)

    def may_ask(self, t: type, name: Any) -> bool:
        """Could code look up this name in an object of this class, or in the class itself?"""
        return any(made.could_be(name) and (not made.of_first or self._may_be_first(t, code))
                   for code, made in self.found)

    def asked_of(self, x: Any, names: Iterable[Any]) -> set[Any]:
        """Which of the names in an object, or in the body of a class, code could look up.

            >>> from whet.jit.guards.made_names import MadeName, MadeNames
            >>> class Net:
            ...     def forward(self, i): return getattr(self, f"layer{i}")
            >>> met = MadeNames()
            >>> met.note_methods(Net, [Net.forward.__code__])
            >>> met.note(Net.forward.__code__, [MadeName("layer", of_first=True)])
            >>> met.asked_of(Net(), ["layer1", "log"]), met.asked_of("text", ["layer1", "log"])
            ({'layer1'}, set())
        """
        t = x if issubclass(type(x), type) else type(x)
        return {name for name in names if self.may_ask(t, name)} if self.found else set()

    def asked_of_module(self, names: Iterable[Any]) -> set[Any]:
        """Which names in a module code could look up. A module is no first argument of a method.

            >>> from whet.jit.guards.made_names import MadeName, MadeNames
            >>> met = MadeNames()
            >>> met.note((lambda i: getattr(settings, f"rate_{i}")).__code__,
            ...          [MadeName("rate_", of_first=False)])
            >>> met.asked_of_module(["rate_a", "gain"])
            {'rate_a'}
        """
        found = [made for code, made in self.found
                 if not (made.of_first and code in self.methods)]
        return {name for name in names if any(made.could_be(name) for made in found)
                } if found else set()

    @property
    def could_be_any(self) -> bool:
        """Is there code that could look up any name in the first argument of a method?"""
        return any(not made.prefix for _, made in self.found)

    def _may_be_first(self, t: type, code: types.CodeType) -> bool:
        """Could the first argument of some code be an object of this class, or of one that is made
        from it?"""
        classes = self.methods.get(code)
        return classes is None or any(b in t.__mro__ or t in b.__mro__ for b in classes)


def made_names(code: types.CodeType, found: Sequence[Instruction], i: int) -> list[MadeName]:
    """Instruction i loads a function such as `getattr`: what is known of the names that the code
    looks up by it. Empty if nothing is.

        >>> from whet.jit.guards.bytecode import instructions
        >>> from whet.jit.guards.made_names import made_names
        >>> def layer(self, other, i):
        ...     return getattr(self, f"layer{i}"), getattr(other, "bn%d" % i), getattr(other, i)
        >>> found = list(instructions(layer.__code__))
        >>> for i, (_, _, value) in enumerate(found):
        ...     if value == "getattr":
        ...         print(made_names(layer.__code__, found, i))
        [MadeName(prefix='layer', of_first=True)]
        [MadeName(prefix='bn', of_first=False)]
        []
    """
    asked = _asked(code, found, i) if is_called(found, i) else []
    if len(asked) < 2:
        return []
    owner, name = asked[:2]
    of_first = type(owner) is _First
    texts = name.beginnings if type(name) is _Text else frozenset(("",))
    prefixes = {"" if text.startswith(_SPECIAL) else text for text in texts}
    return [MadeName(prefix, of_first) for prefix in sorted(prefixes)
            ] if of_first or "" not in prefixes else []


# ---- what is known of a value --------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Text:
    """A text of Python's own, by what it may begin with. `form`: it is this constant."""
    beginnings: frozenset[str]
    form: str | None = None

    def up_to(self, sign: str) -> _Text | None:
        """What this form gives, in which the sign begins what is replaced."""
        return None if self.form is None else _Text(frozenset((self.form.partition(sign)[0],)))


@dataclass(frozen=True, slots=True)
class _Gives:
    """A function that gives this text."""
    text: _Text


class _First:
    """The first argument of the code."""


_Value = _Text | _Gives | _First | None      # None: nothing is known
_ANY_TEXT = _Text(frozenset(("",)))


class _Values:
    """The values that instructions leave on the stack. `variables`: are texts in variables looked
    up where they are set?"""

    def __init__(self, code: types.CodeType, variables: bool) -> None:
        self.code, self.variables = code, variables
        self.stack: list[_Value] = []

    def pop(self, count: int) -> list[_Value]:
        """Take the last values; those that were there before the first instruction are unknown."""
        missing = max(count - len(self.stack), 0)
        found = [None] * missing + self.stack[len(self.stack) - count + missing:]
        del self.stack[len(self.stack) - count + missing:]
        return found

    def run(self, instruction: Instruction) -> bool:
        """Do what an instruction does; False if that is not known."""
        name, arg, value = instruction
        op = dis.opmap[name]
        if op in _JUMPS or name in ("SWAP", "COPY"):
            return False
        if name in _WITHOUT_EFFECT:
            return True
        if name in _OF_A_TEXT:
            self.pop(_OF_A_TEXT[name] + bool(name == "FORMAT_VALUE" and arg & _WITH_SPEC))
            self.stack.append(_ANY_TEXT)
        elif name in _DOING:
            _DOING[name](self, arg, value)
        elif name in LOADS:
            self.stack.append(None)
        else:
            self.something(dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None))
        return True

    def something(self, effect: int) -> None:
        """An instruction of which only its effect on the stack is known: what it leaves on top may
        be new."""
        self.pop(max(-effect, 0) + 1)
        self.stack += [None] * (max(effect, 0) + 1)

    def constant(self, _: int, value: Any) -> None:
        self.stack.append(_Text(frozenset((value,)), value) if type(value) is str else None)

    def global_(self, arg: int, value: Any) -> None:
        # with a NULL, whichever comes first
        self.stack += [_Gives(_ANY_TEXT) if value == "str" else None, *[None] * (arg & 1)]

    def variable(self, _: int, value: Any) -> None:
        is_first = value == self.code.co_varnames[0] and _keeps_first_argument(self.code)
        self.stack.append(_First() if is_first else
                          _text_of_variable(self.code, value) if self.variables else None)

    def attribute(self, arg: int, value: Any) -> None:
        of, = self.pop(1)
        self.stack.append(None)
        if _ATTRIBUTES_ARE_MARKED and arg & 1:
            self.pop(1)
            self.stack.append(of)
            self.method(arg, value)

    def method(self, _: int, value: Any) -> None:
        of, = self.pop(1)
        text = of.up_to("{") if value == "format" and type(of) is _Text else None
        self.stack += [None if text is None else _Gives(text), None]

    def built(self, count: int, _: Any) -> None:
        parts = self.pop(count)
        first = parts[0] if parts else None
        self.stack.append(_Text(first.beginnings) if type(first) is _Text else _ANY_TEXT)

    def operator(self, arg: int, _: Any) -> None:
        left, right = self.pop(2)
        self.stack.append(
            None if type(left) is not _Text else
            left.up_to("%") if _SIGNS[arg] == "%" else
            _Text(left.beginnings) if _SIGNS[arg] == "+" and type(right) is _Text else None)

    def call(self, count: int, _: Any) -> None:
        called = self.pop(count + 2)[:2]
        self.stack.append(next((f.text for f in called if type(f) is _Gives), None))


# what is done for some instructions, with their arguments and what these stand for
_DOING: dict[str, Callable[[_Values, int, Any], None]] = {
    "LOAD_CONST": _Values.constant, "LOAD_GLOBAL": _Values.global_, "LOAD_FAST": _Values.variable,
    "LOAD_FAST_CHECK": _Values.variable, "LOAD_ATTR": _Values.attribute,
    "LOAD_METHOD": _Values.method, "BUILD_STRING": _Values.built, "BINARY_OP": _Values.operator,
    "CALL": _Values.call}


def _asked(code: types.CodeType, found: Sequence[Instruction], i: int) -> list[_Value]:
    """What is known of the arguments, by position, of the function that instruction i loads."""
    values, targets = _Values(code, variables=True), jump_targets(code)
    for k in range(i, len(found)):
        name, arg, _ = found[k]
        if name == "CALL" and len(values.stack) == arg + 2:
            return values.stack[2:]
        if k in targets and k > i or not values.run(found[k]):
            break
    return []


@functools.lru_cache(256)
def _text_of_variable(code: types.CodeType, variable: str) -> _Text | None:
    """The texts that some code sets one of its variables to, if all are known by how they begin."""
    found, targets = list(instructions(code)), jump_targets(code)
    given = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & inspect.CO_VARARGS) \
        + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    texts: list[_Text] = []
    for k, (name, _, value) in enumerate(found):
        if name == "STORE_FAST" and value == variable:
            begin = next(j for j in range(k - 1, -1, -1) if _ends_a_statement(found[j])) + 1
            values = _Values(code, variables=False)
            if not targets.isdisjoint(range(begin + 1, k + 1)) \
                    or not all(map(values.run, found[begin:k])):
                return None
            text = values.stack[-1] if values.stack else None
            if type(text) is not _Text:
                return None
            texts.append(text)
    if not texts or variable in code.co_varnames[:given]:
        return None
    return _Text(frozenset().union(*(text.beginnings for text in texts)))


def _ends_a_statement(instruction: Instruction) -> bool:
    name = instruction[0]
    return name.startswith(_ENDS) or dis.opmap[name] in _JUMPS


@functools.lru_cache(256)
def _keeps_first_argument(code: types.CodeType) -> bool:
    """Is the first argument of some code the same until it ends?"""
    return code.co_argcount > 0 and all(
        x[::2] not in (("STORE_FAST", code.co_varnames[0]), ("DELETE_FAST", code.co_varnames[0]))
        for x in instructions(code))
