"""The conditions on symbolic numbers that code has asked for, as texts.

Symbols (`s0`, `s1`, ...) have values for now. Longer expressions have names (`a0`, ...), functions
too (`f0`, ...). What was asked can be looked at again for other values, and written out as a
function of them.
"""
from __future__ import annotations

import copy
import itertools
import math
import operator
import re
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, Generic, Self, TypeVar, cast

PART = re.compile(r"\ba\d+\b")
SYMBOL = re.compile(r"\bs(\d+)\b")
BUILTINS: dict[str, Any] = {
    "floor": math.floor, "ceil": math.ceil, "round": round,
    "sqrt": math.sqrt, "log": math.log, "pow": math.pow}
MOST_KNOWN = 1 << 10             # values of a function that is asked for others, too
Number = TypeVar("Number", bound="float | tuple[int, ...]")
T = TypeVar("T")

# held while planning, so that values computed during planning are those planned for
planning = threading.RLock()


class Answers:
    """The values of symbols, and the questions about them that were asked, with their answers.
    `parts`: long expressions by name, in order of definition.

    Planning may go on for other values (`rebind`): what was planned before holds for them where
    what was asked meanwhile (`noting`) has the same answers (`hold`)."""

    def __init__(self, values: Sequence[int]) -> None:
        self.original: Answers = self        # whose numbers are computed with
        self.values = list(values)
        self.bound, self.turn = 0, 0         # how often values were given, and notes begun
        self.now = Scope(self, values)
        self.codes: dict[str, CodeType] = {}
        # what something gave so far, each time with what it asked
        self.answers: dict[Any, list[tuple[dict[str, bool], Any]]] = {}
        self.asked: dict[str, bool] = {}
        self.functions: dict[str, Asked[Any]] = {}
        self.parts: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.numbers = itertools.count()     # of names

    def rebind(self, values: Sequence[int]) -> None:
        """From now on the symbols have these values, and with them all that was computed of them.
        Nothing was asked yet."""
        self.values, self.bound = list(values), self.bound + 1
        self.now, self.asked = Scope(self, values), {}

    def ask(self, text: str, answer: bool) -> bool:
        """Note an answer."""
        self.asked[text if answer else f"not {text}"] = True
        return answer

    def source(self) -> list[str]:
        """What must be so of other values."""
        return list(self.asked)

    @contextmanager
    def noting(self) -> Iterator[dict[str, bool]]:
        """Collects the questions asked inside of the block separately. Plans that were remembered
        before are made again, since their questions would be missing."""
        before, self.asked = self.asked, {}
        self.turn += 1
        try:
            yield self.asked
        finally:
            self.asked = before

    def hold(self, asked: Iterable[str]) -> bool:
        """Is all of this so of the values that symbols have now? Then it is asked."""
        try:
            if not all(map(self.now.of, asked)):
                return False
        except (ZeroDivisionError, OverflowError):
            return False
        self.asked.update(dict.fromkeys(asked, True))
        return True

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make()` gave for a key, where what it asked has the same answers now. A key holds
        sizes as texts, see `by_texts`."""
        known = self.answers.setdefault(key, [])
        for asked, made in known:
            if self.hold(asked):
                return cast(T, made)
        with self.noting() as asked:
            answer = make()
        self.hold(asked)
        known.append((asked, answer))
        return answer

    def settled(self) -> Self:
        """A copy of these answers with the questions asked so far. Later questions do not change
        it."""
        made = copy.copy(self)
        made.original, made.asked = self, dict(self.asked)
        return made

    @contextmanager
    def recalled(self) -> Iterator[None]:
        """Inside of the block, planning goes on with the values and questions of the time when
        these answers were settled."""
        original = self.original
        with planning:
            before = original.values, original.now, original.asked
            original.values, original.now, original.asked = self.values, self.now, self.asked
            original.bound += 1
            try:
                yield
            finally:
                original.values, original.now, original.asked = before
                original.bound += 1

    def part(self, text: str) -> str:
        """The name of an expression. While one thread plans, others may compute with the sizes of
        what was planned before."""
        if text not in self.names:
            made = f"a{next(self.numbers)}"
            self.parts[made] = text
            self.names.setdefault(text, made)
        return self.names[text]

    def known_as(self, function: Callable[..., Number], *,
                 is_real: bool = False) -> tuple[str, Asked[Number]]:
        """The name by which expressions call a function, and the function itself."""
        name = f"f{next(self.numbers)}"
        asked = Asked(function, is_real)
        self.functions[name] = asked
        return name, asked

    def code(self, text: str) -> CodeType:
        """An expression, compiled."""
        if text not in self.codes:
            self.codes[text] = compile(text, "sizes", "eval")
        return self.codes[text]

    def scope(self, values: Sequence[int]) -> Scope:
        """What expressions may name, where the symbols have these values."""
        now = self.original.now
        return now if now.symbols == list(values) else Scope(self.original, values)

    def values_of(self, words: Sequence[str]) -> ValuesOf:
        """A function of the symbols' values: these expressions' values as a list; None where
        something that was asked so far is not so."""
        return ValuesOf(self, words)

    def symbols_in(self, text: str) -> set[int]:
        """The symbols that an expression goes by, by number."""
        found = {int(n) for n in SYMBOL.findall(text)}
        return found.union(*[self.symbols_in(self.parts[name]) for name in PART.findall(text)])

    def define(self, expression: str, known: set[str], lines: list[str]) -> None:
        """Lines that give the parts of an expression their values; `known` are those that have
        one."""
        for name in PART.findall(expression):
            if name not in known:
                known.add(name)
                self.define(self.parts[name], known, lines)
                lines.append(f" {name} = {self.parts[name]}")


class ValuesOf:
    """What expressions are, as a function of symbols' values; None where something that was asked
    is not so. To compile it takes longer than to look expressions up a few times: most were
    compiled one by one while they were planned with."""
    OFTEN = 4                                # calls until it is compiled

    def __init__(self, answers: Answers, words: Sequence[str]) -> None:
        self.answers, self.asked, self.calls = answers, list(answers.asked), 0
        places: dict[str, int] = {}          # many words are the same
        self.each = repeated([places.setdefault(w, len(places)) for w in words])
        self.words = list(places)
        self.evaluate: Callable[..., list[Any] | None] | None = None

    def __call__(self, *values: int) -> list[Any] | None:
        if self.evaluate is not None:
            return self.evaluate(*values)
        self.calls += 1
        if self.calls == self.OFTEN:
            self.evaluate = self.compiled()
        of = self.answers.scope(values).of
        return self.each([of(w) for w in self.words]) if all(map(of, self.asked)) else None

    def compiled(self) -> Callable[..., list[Any] | None]:
        """The function as code of Python, which is faster."""
        answers, known = self.answers, set[str]()
        lines = [f"def evaluate({', '.join(f's{i}' for i in range(len(answers.values)))}):"]
        for a in self.asked:
            answers.define(a, known, lines)
            lines.append(f" if not ({a}): return None")
        body = ", ".join(self.words)
        answers.define(body, known, lines)
        made: dict[str, Any] = {**BUILTINS, "each": self.each, **answers.functions}
        exec("\n".join([*lines, f" return each([{body}])"]), made)
        evaluate: Callable[..., list[Any] | None] = made["evaluate"]
        return evaluate


def repeated(which: Sequence[int]) -> Callable[[list[Any]], list[Any]]:
    """A function of a list: its items in this order."""
    if len(which) < 2:                       # of one item `itemgetter` makes no tuple
        return lambda xs: [xs[i] for i in which]
    pick = operator.itemgetter(*which)
    return lambda xs: list(pick(xs))


class Asked(Generic[Number]):
    """A function of numbers that are known only at run time, with its results so far. `listeners`
    are called with each new result."""
    __slots__ = ("function", "is_real", "known", "listeners")

    def __init__(self, function: Callable[..., Number], is_real: bool) -> None:
        self.function, self.is_real = function, is_real
        self.known: dict[tuple[Any, ...], Number] = {}
        self.listeners: list[Callable[[tuple[Any, ...], Number], Any]] = []

    def __call__(self, *args: float) -> Number:
        if args not in self.known:
            # 0.0 and -0.0 are equal, and may give something else.
            if len(self.known) > MOST_KNOWN or any(type(x) is not int for x in args):
                return self.function(*args)
            self.known[args] = got = self.function(*args)
            for told in self.listeners:
                told(args, got)
        return self.known[args]


class Scope(dict[str, Any]):
    """Names in expressions -> what they are; parts are computed when they are first asked for."""

    def __init__(self, facts: Answers, values: Sequence[int]) -> None:
        super().__init__({f"s{i}": v for i, v in enumerate(values)})
        self.facts, self.symbols = facts, list(values)

    def __missing__(self, name: str) -> Any:
        facts = self.facts
        if name in facts.functions:
            return facts.functions[name]
        if name not in facts.parts:
            raise KeyError(name)
        self[name] = self.of(facts.parts[name])
        return self[name]

    def of(self, text: str) -> Any:
        """What an expression is."""
        if text not in self:
            self[text] = eval(self.facts.code(text), BUILTINS, self)
        return self[text]
