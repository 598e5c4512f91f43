"""Sizes that are not known yet: integers with a value for now, and the expression that gives them
for others.

What plans a program for sizes (strides, kernels, the numbers that they are launched with, places in
memory) does arithmetic and asks questions. Done on an `Extent`, the arithmetic is noted as an
expression of a few symbols, and the answers as what must be so of other values for the plan to be
theirs. So one run of the planning code gives the plans of all sizes that go the same way through
it.

An `Extent` is no int: what needs one (an index in C, a key) does not get it, and the planning ends
with `Unsized`. Nothing is taken for constant because nobody looked.

>>> from whet.ir.extent import Facts
>>> facts = Facts([40])
>>> n, = facts.symbols
>>> rows = -(-n // 16)
>>> n > 16, rows.value, (n * 4 // n)
(True, 3, 4)
>>> facts.source()
['s0>16']
>>> facts.function([n + 1, rows * 2])(50), facts.function([n])(7)
([51, 8], None)
"""
from __future__ import annotations

import copy
import itertools
import math
import operator
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, cast, final, overload

PART = re.compile(r"\ba\d+\b")
BUILTINS = {"floor": math.floor}
LEAST = 2                        # no symbol is less: sizes of 0 and 1 are constants
MOST_KNOWN = 1 << 10             # values of a function that is asked for others, too
Size: TypeAlias = "int | Extent"                # code that knows nothing of Extents says int
Quantity: TypeAlias = "float | Extent | Real"
Terms: TypeAlias = dict[tuple[str, ...], int]
Number = TypeVar("Number", bound="float | tuple[int, ...]")
T = TypeVar("T")


class Unsized(BaseException):
    """A plan wants the number itself. (No planning code may catch it, as it does other errors, and
    go on.)"""


class Facts:
    """Symbols with their values, and what was asked of them: texts of what must be so. Longer
    expressions have names: `parts` are these with what they stand for, in order.

    Planning may go on for other values (`rebind`): what was planned before holds for them where
    what was asked meanwhile (`noting`) has the same answers (`hold`)."""

    def __init__(self, values: Sequence[int]) -> None:
        self.values = list(values)
        self.bound, self.turn = 0, 0         # how often values were given, and notes begun
        self.now = Scope(self, values)
        self.codes: dict[str, CodeType] = {}
        # what something gave so far, each time with what it asked
        self.given: dict[Any, list[tuple[dict[str, bool], Any]]] = {}
        self.asked: dict[str, bool] = {}
        self.least_of: dict[str, int | None] = {}
        self.functions: dict[str, Asked[Any]] = {}
        self.parts: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.numbers = itertools.count()     # of names
        self.symbols = [Extent({(f"s{i}",): 1}, v, self) for i, v in enumerate(values)]

    def rebind(self, values: Sequence[int]) -> None:
        """From now on the symbols have these values, and with them all that was computed of them.
        Nothing was asked yet."""
        self.values, self.bound = list(values), self.bound + 1
        self.now, self.asked = Scope(self, values), {}

    @contextmanager
    def noting(self) -> Iterator[dict[str, bool]]:
        """What is asked meanwhile, apart from the rest. (Plans that were found before are not found
        again: what they asked would be missing.)"""
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
        """What `make()` gave for a key, where what it asked has the same answers now. (A key holds
        sizes as texts, see `by_texts`.)"""
        known = self.given.setdefault(key, [])
        for asked, made in known:
            if self.hold(asked):
                return cast(T, made)
        with self.noting() as asked:
            given = make()
        self.hold(asked)
        known.append((asked, given))
        return given

    def code(self, text: str) -> CodeType:
        """An expression, compiled."""
        if text not in self.codes:
            self.codes[text] = compile(text, "sizes", "eval")
        return self.codes[text]

    def settled(self) -> Facts:
        """These facts with what is asked so far, whatever is asked later."""
        made = copy.copy(self)
        made.asked = dict(self.asked)
        return made

    def atom(self, text: str, value: int, least: int | None = 0) -> Extent:
        """A value that is no sum of products of others: an expression of its own."""
        name = self.part(text)
        self.least_of[name] = least
        return Extent({(name,): 1}, value, self)

    def part(self, text: str) -> str:
        """The name of an expression. (While one thread plans, others may compute with the sizes of
        what was planned before.)"""
        if text not in self.names:
            made = f"a{next(self.numbers)}"
            self.parts[made] = text
            self.names.setdefault(text, made)
        return self.names[text]

    def named(self, x: Any) -> Any:
        """The same, as one part where it is a long sum."""
        if type(x) is Extent and len(x.terms) > 2:
            return self.atom(x.text(), x.value, x.least())
        return x

    def ask(self, text: str, answer: bool) -> bool:
        """Note an answer."""
        self.asked[text if answer else f"not {text}"] = True
        return answer

    def least(self, atom: str) -> int | None:
        """No value of an atom is less; None where it is not known."""
        return LEAST if atom[0] == "s" else self.least_of.get(atom, 0)

    def source(self) -> list[str]:
        """What must be so of other values."""
        return list(self.asked)

    def known_as(self, function: Callable[..., Number],
                 is_real: bool = False) -> tuple[str, Asked[Number]]:
        """The name that a function has in expressions, and what it is called by."""
        name = f"f{next(self.numbers)}"
        asked = Asked(function, is_real)
        self.functions[name] = asked
        return name, asked

    def call(self, function: Callable[..., int], *args: Size) -> Extent:
        """The whole number that a function gives for some values: it is called anew for others."""
        name, asked = self.known_as(function)
        return self.atom(f"{name}({', '.join(map(text, args))})", asked(*[value(x) for x in args]))

    def real(self, function: Callable[..., float], *args: Size) -> Real:
        """The same for a function that gives a float."""
        name, asked = self.known_as(function, True)
        return Real(f"{name}({', '.join(map(text, args))})", asked(*[value(x) for x in args]), self)

    def function(self, words: Sequence[Quantity]) -> Callable[..., list[Any] | None]:
        """A function of the symbols' values: the words as a list of numbers; None where something
        that was asked is not so."""
        names = ", ".join(f"s{i}" for i in range(len(self.symbols)))
        lines = [f"def evaluate({names}):"]
        known: set[str] = set()
        for a in self.asked:
            self.define(a, known, lines)
            lines.append(f" if not ({a}): return None")
        places: dict[str, int] = {}          # many words are the same
        which = [places.setdefault(str(w) if type(w) is int else text(w), len(places))
                 for w in words]
        body = ", ".join(places)
        self.define(body, known, lines)
        made: dict[str, Any] = {"floor": math.floor, "each": repeated(which), **self.functions}
        exec("\n".join([*lines, f" return each([{body}])"]), made)
        evaluate: Callable[..., list[Any] | None] = made["evaluate"]
        return evaluate

    def define(self, expression: str, known: set[str], lines: list[str]) -> None:
        """Lines that give the parts of an expression their values; `known` are those that have
        one."""
        for name in PART.findall(expression):
            if name not in known:
                known.add(name)
                self.define(self.parts[name], known, lines)
                lines.append(f" {name} = {self.parts[name]}")

    def scope(self, values: Sequence[int]) -> Scope:
        """What expressions may name, where the symbols have these values."""
        return Scope(self, values)


def repeated(which: Sequence[int]) -> Callable[[list[Any]], list[Any]]:
    """A function of a list: its items in this order."""
    if len(which) < 2:                       # (of one item `itemgetter` makes no tuple)
        return lambda xs: [xs[i] for i in which]
    pick = operator.itemgetter(*which)
    return lambda xs: list(pick(xs))


class Asked(Generic[Number]):
    """A function of numbers that are known later, and what it gave so far. `listeners` are told
    what it gives for others."""
    __slots__ = ("function", "is_real", "known", "listeners")

    def __init__(self, function: Callable[..., Number], is_real: bool) -> None:
        self.function, self.is_real = function, is_real
        self.known: dict[tuple[Any, ...], Number] = {}
        self.listeners: list[Callable[[tuple[Any, ...], Number], Any]] = []

    def __call__(self, *args: float) -> Number:
        if args not in self.known:
            # (0.0 and -0.0 are equal, and may give something else)
            if len(self.known) > MOST_KNOWN or any(type(x) is not int for x in args):
                return self.function(*args)
            self.known[args] = got = self.function(*args)
            for told in self.listeners:
                told(args, got)
        return self.known[args]


class Scope(dict[str, Any]):
    """Names in expressions -> what they are; parts are computed when they are first asked for."""

    def __init__(self, facts: Facts, values: Sequence[int]) -> None:
        super().__init__({f"s{i}": v for i, v in enumerate(values)})
        self.facts = facts

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


def text(x: Quantity) -> str:
    """An Extent, a Real or a number as an expression of Python."""
    return x.text() if type(x) is Extent or type(x) is Real else repr(x)


@overload
def value(x: Size) -> int: ...


@overload
def value(x: float | Real) -> float: ...


def value(x: Quantity) -> float:
    """What it is now."""
    return x.value if type(x) is Extent or type(x) is Real else x


def plan_for(owner: Hashable, key: tuple[Any, ...], make: Callable[[], T],
             keep: Callable[[T], object]) -> T:
    """make(), the owner's plan for a key that it knows none for. `keep(plan)` keeps it for later;
    one for sizes that are not known, which the key has, is kept with these."""
    facts = facts_in(key)
    if facts is not None:
        return facts.remembered((owner, by_texts(key)), make)
    plan = make()
    keep(plan)
    return plan


def facts_in(x: Any) -> Facts | None:
    """What is known of the sizes in a key; None where it has none that are not known."""
    if type(x) is Extent:
        return x.facts
    if type(x) is tuple:
        return next((found for y in x if (found := facts_in(y)) is not None), None)
    return None


def by_texts(x: Any) -> Any:
    """A key with sizes as texts."""
    if type(x) is tuple:
        return tuple(map(by_texts, x))
    return (Extent, x.text()) if type(x) is Extent else x


def sized(xs: Iterable[object]) -> bool:
    """Is one of these an Extent?"""
    return any([type(x) is Extent for x in xs])


def fixed(x: Size) -> int:
    """The number itself: plans made with it are for what gives the same."""
    if type(x) is Extent:
        x.facts.ask(f"{x.text()}=={x.value}", True)
    return value(x)


@overload
def at_least(x: int, least: int) -> int: ...


@overload
def at_least(x: Size, least: Size) -> Size: ...


def at_least(x: Size, least: Size) -> Size:
    """The larger one, without a question which that is."""
    if type(x) is Extent:
        facts = x.facts
    elif type(least) is Extent:
        facts = least.facts
    else:
        return max(x, least)
    return facts.atom(f"max({text(x)},{text(least)})", max(value(x), value(least)),
                      least if type(least) is int else 0)


@overload
def at_most(x: int, most: int) -> int: ...


@overload
def at_most(x: Size, most: Size) -> Size: ...


def at_most(x: Size, most: Size) -> Size:
    """The smaller one, without a question which that is."""
    if type(x) is Extent:
        facts = x.facts
    elif type(most) is Extent:
        facts = most.facts
    else:
        return min(x, most)
    return facts.atom(f"min({text(x)},{text(most)})", min(value(x), value(most)))


def chosen(function: Callable[..., int], *args: Size) -> int:
    """function(*args), a whole number, of the values that the arguments will have."""
    facts = next((x.facts for x in args if type(x) is Extent), None)
    if facts is None:
        return function(*args)
    # who asked knows nothing of Extents
    return cast(int, facts.call(function, *args))


def made(terms: Terms, value: int, facts: Facts) -> Size:
    """A sum of products, a number where nothing varies in it."""
    terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return Extent(terms, value, facts)


@final
class Extent:
    """`terms`: products of symbols and other atoms, each a sorted tuple -> how often it counts;
    `value`: what it is now."""
    __slots__ = ("terms", "facts", "_value", "_bound", "_text")

    def __init__(self, terms: Terms, value: int, facts: Facts) -> None:
        self.terms, self.facts = terms, facts
        self._value, self._bound = value, facts.bound
        self._text: str | None = None

    @property
    def value(self) -> int:
        """What it is now."""
        if self._bound != self.facts.bound:
            self._value, self._bound = self.facts.now.of(self.text()), self.facts.bound
        return self._value

    # (isinstance() says so: what asks it means a number)
    __class__ = property(lambda self: int)

    def text(self) -> str:
        """The expression."""
        if self._text is None:
            parts = []
            for m, c in self.terms.items():
                atoms = "*".join(m)
                parts.append(str(c) if not m else atoms if c == 1 else
                             f"-{atoms}" if c == -1 else f"{atoms}*{c}")
            self._text = "+".join(parts).replace("+-", "-")
        return self._text

    def __repr__(self) -> NoReturn:
        # (into the name of a kernel, say)
        raise Unsized(f"a plan writes the number {self.text()}")

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return repr(self)

    # ---- arithmetic
    @overload
    def __add__(self, other: Size) -> Size: ...
    @overload
    def __add__(self, other: float | Real) -> Real: ...
    def __add__(self, other: Quantity) -> Size | Real:
        if type(other) is not Extent:
            if type(other) is not int:
                return _real(self) + other
            terms = dict(self.terms)
            terms[()] = terms.get((), 0) + other
            return made(terms, self.value + other, self.facts)
        terms = dict(self.terms)
        for m, c in other.terms.items():
            terms[m] = terms.get(m, 0) + c
        return made(terms, self.value + other.value, self.facts)

    __radd__ = __add__

    def __neg__(self) -> Extent:
        return Extent({m: -c for m, c in self.terms.items()}, -self.value, self.facts)

    def __pos__(self) -> Extent:
        return self

    @overload
    def __sub__(self, other: Size) -> Size: ...
    @overload
    def __sub__(self, other: float) -> Real: ...
    def __sub__(self, other: float | Extent) -> Size | Real:
        return self + -other

    def __rsub__(self, other: int) -> Size:
        return -self + other

    @overload
    def __mul__(self, other: Size) -> Size: ...
    @overload
    def __mul__(self, other: float) -> Real: ...
    def __mul__(self, other: float | Extent) -> Size | Real:
        if type(other) is not Extent:
            if type(other) is float:
                return _real(self) * other
            if type(other) is not int:
                return NotImplemented
            return made({m: c * other for m, c in self.terms.items()}, self.value * other,
                        self.facts)
        terms: Terms = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                key = tuple(sorted(m + n))
                terms[key] = terms.get(key, 0) + c * d
        return made(terms, self.value * other.value, self.facts)

    __rmul__ = __mul__

    def __floordiv__(self, other: Size) -> Size:
        exact = _divided(self, other)
        if exact is not None:
            return exact
        # (rounded up, that is: of a size, no less than one)
        if all(c < 0 for c in self.terms.values()):
            least = (-self).least()
            return -self.facts.atom(
                f"-(({self.text()})//({text(other)}))", -(self.value // value(other)),
                None if least is None else min(least, 1))
        return self._atom(self, "//", other, self.value // value(other),
                          None if self.least() is None else 0)

    def __rfloordiv__(self, other: int) -> Extent:
        return self._atom(other, "//", self, other // self.value, 0 if other >= 0 else None)

    def __mod__(self, other: Size) -> Size:
        if _divided(self, other) is not None:
            return 0
        return self._atom(self, "%", other, self.value % value(other), 0)

    def __rmod__(self, other: int) -> Extent:
        return self._atom(other, "%", self, other % self.value, 0)

    def __divmod__(self, other: Size) -> tuple[Size, Size]:
        return self // other, self % other

    def __truediv__(self, other: Quantity) -> Real:
        return _real(self) / other

    def __rtruediv__(self, other: float) -> Real:
        return other / _real(self)

    def __lshift__(self, other: int) -> Size:
        return self * (1 << other)

    def __rshift__(self, other: int) -> Size:
        return self // (1 << other)

    def __and__(self, other: Size) -> Extent:
        return self._atom(self, "&", other, self.value & value(other), 0)

    __rand__ = __and__

    def __or__(self, other: Size) -> Extent:
        if type(other) is int and other == 0:
            return self
        return self._atom(self, "|", other, self.value | value(other), 0)

    __ror__ = __or__

    def __abs__(self) -> Extent:
        return self if self >= 0 else -self

    def __floor__(self) -> Extent:
        return self

    __ceil__ = __trunc__ = __floor__

    def _atom(self, a: Size, op: str, b: Size, now: int,
              least: int | None = 0) -> Extent:
        return self.facts.atom(f"({text(a)}){op}({text(b)})", now, least)

    def bit_length(self) -> Extent:
        return self.facts.atom(f"({self.text()}).bit_length()", self.value.bit_length())

    # ---- questions
    def least(self) -> int | None:
        """No value of it is less, as far as that is seen at once; None where it is not."""
        total = 0
        for m, c in self.terms.items():
            if m and c < 0:
                return None
            for a in m:
                low = self.facts.least(a)
                if low is None:
                    return None
                c *= low
            total += c
        return total

    def _asked(self, op: str, other: Size, now: bool) -> bool:
        """An answer that holds of all values, or is noted."""
        apart = self - other
        if type(apart) is not Extent:
            if type(apart) is not int:
                raise TypeError("a size is compared with a float")
            return {"<": apart < 0, "<=": apart <= 0, ">": apart > 0, ">=": apart >= 0,
                    "==": apart == 0}[op]
        low, high = apart.least(), (-apart).least()
        if low is not None:
            if op == ">" and low > 0 or op == ">=" and low >= 0:
                return True
            if op == "<" and low >= 0 or op == "<=" and low > 0 or op == "==" and low > 0:
                return False
        if high is not None:
            if op == "<" and high > 0 or op == "<=" and high >= 0:
                return True
            if op == ">" and high >= 0 or op == ">=" and high > 0 or op == "==" and high > 0:
                return False
        return self.facts.ask(f"{self.text()}{op}{text(other)}", now)

    def __lt__(self, other: Size) -> bool:
        return self._asked("<", other, self.value < value(other))

    def __le__(self, other: Size) -> bool:
        return self._asked("<=", other, self.value <= value(other))

    def __gt__(self, other: Size) -> bool:
        return self._asked(">", other, self.value > value(other))

    def __ge__(self, other: Size) -> bool:
        return self._asked(">=", other, self.value >= value(other))

    def __eq__(self, other: object) -> bool:
        if type(other) is not int and (type(other) is not Extent or other.facts is not self.facts):
            # (plans are found again by sizes: those of other symbols are no others' plans)
            return False
        return self._asked("==", other, self.value == value(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return not self == 0

    def __hash__(self) -> int:
        return hash((id(self.facts), self.facts.turn, frozenset(self.terms.items())))

    def __index__(self) -> NoReturn:
        raise Unsized(f"a plan wants the number {self.text()}")

    __int__ = __float__ = __index__


def _divided(a: Extent, b: Size) -> Size | None:
    """A quotient without a remainder, whatever the symbols are; None where there may be one. `b` is
    not 0."""
    if type(b) is int:
        if all(c % b == 0 for c in a.terms.values()):
            return made({m: c // b for m, c in a.terms.items()}, a.value // b, a.facts)
        return None
    if type(b) is not Extent:
        raise TypeError("a size is divided by a float")
    if a.terms == b.terms:
        return 1
    if len(b.terms) != 1:
        return None
    (atoms, times), = b.terms.items()
    out = {}
    for m, c in a.terms.items():
        left = list(m)
        for x in atoms:
            if x not in left:
                return None
            left.remove(x)
        if c % times:
            return None
        out[tuple(left)] = c // times
    return made(out, a.value // b.value, a.facts)


@final
class Real:
    """A float that comes of sizes, as an expression of Python."""
    __slots__ = ("expression", "facts", "_value", "_bound")

    def __init__(self, expression: str, value: float, facts: Facts) -> None:
        self.expression, self.facts = expression, facts
        self._value, self._bound = value, facts.bound

    @property
    def value(self) -> float:
        """What it is now."""
        if self._bound != self.facts.bound:
            self._value, self._bound = self.facts.now.of(self.expression), self.facts.bound
        return self._value

    __class__ = property(lambda self: float)

    def text(self) -> str:
        """The expression."""
        return self.expression

    def __repr__(self) -> NoReturn:
        raise Unsized(f"a plan writes the number {self.expression}")

    __str__ = __repr__

    def _with(self, op: str, other: Quantity, now: float, turned: bool = False) -> Real:
        a, b = (other, self) if turned else (self, other)
        return Real(f"({_part(a)}{op}{_part(b)})", now, self.facts)

    def __add__(self, other: Quantity) -> Real:
        return self._with("+", other, self.value + value(other))

    def __radd__(self, other: Quantity) -> Real:
        return self._with("+", other, value(other) + self.value, True)

    def __sub__(self, other: Quantity) -> Real:
        return self._with("-", other, self.value - value(other))

    def __rsub__(self, other: Quantity) -> Real:
        return self._with("-", other, value(other) - self.value, True)

    def __mul__(self, other: Quantity) -> Real:
        return self._with("*", other, self.value * value(other))

    def __rmul__(self, other: Quantity) -> Real:
        return self._with("*", other, value(other) * self.value, True)

    def __truediv__(self, other: Quantity) -> Real:
        return self._with("/", other, self.value / value(other))

    def __rtruediv__(self, other: Quantity) -> Real:
        return self._with("/", other, value(other) / self.value, True)

    def __floor__(self) -> Extent:
        return self.facts.atom(f"floor({self.expression})", math.floor(self.value))

    def _asked(self, op: str, other: Quantity, now: bool) -> bool:
        return self.facts.ask(f"{self.expression}{op}{text(other)}", now)

    def __lt__(self, other: Quantity) -> bool:
        return self._asked("<", other, self.value < value(other))

    def __le__(self, other: Quantity) -> bool:
        return self._asked("<=", other, self.value <= value(other))

    def __gt__(self, other: Quantity) -> bool:
        return self._asked(">", other, self.value > value(other))

    def __ge__(self, other: Quantity) -> bool:
        return self._asked(">=", other, self.value >= value(other))

    def __eq__(self, other: Any) -> bool:
        return self._asked("==", other, self.value == value(other))

    def __hash__(self) -> int:
        return hash(self.expression)

    def __bool__(self) -> bool:
        return self._asked("!=", 0, self.value != 0)

    def __float__(self) -> NoReturn:
        raise Unsized(f"a plan wants the number {self.expression}")

    __int__ = __trunc__ = __float__


def _part(x: Quantity) -> str:
    """A number in an expression of floats."""
    return f"({x.text()})" if type(x) is Extent else text(x)


def _real(n: Extent) -> Real:
    return Real(f"({n.text()})", n.value, n.facts)
