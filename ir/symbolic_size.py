"""Sizes that are not known yet: integers with a value for now, and the expression that gives them
for others.

Code that plans a program does arithmetic with sizes, and asks questions about them. It computes
strides and places in memory, and chooses kernels and the numbers that they are launched with. If a
size is a `SymbolicSize`, the arithmetic is noted as an expression of a few symbols. Answers are
noted as conditions: the plan is right for all values that give the same ones. So one run of the
planning code gives the plans of all sizes that go the same way through it.

A `SymbolicSize` is no int: what needs one (an index in C, a key) does not get it, and the planning
ends with `Unsized`. Nothing counts as constant merely because it was not asked about.

>>> from whet.ir.symbolic_size import Facts
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

import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar, cast, final, overload

from .size_conditions import Answers, ValuesOf

LEAST = 2                        # no symbol is less: sizes of 0 and 1 are constants
Symbolic: TypeAlias = "SymbolicSize | SymbolicReal"
Size: TypeAlias = "int | SymbolicSize"           # code that knows nothing of symbolic sizes: int
Quantity: TypeAlias = "float | Symbolic"
Terms: TypeAlias = dict[tuple[str, ...], int]
T = TypeVar("T")


class Unsized(BaseException):
    """Planning needs a number, not a symbol. Planning code must not catch it as it does other
    errors."""


class Facts(Answers):
    """The symbols of a plan with their current values, as symbolic sizes, and the questions asked
    about them."""

    def __init__(self, values: Sequence[int]) -> None:
        super().__init__(values)
        self.least_of: dict[str, int | None] = {}
        self.is_for_library = False      # then Python is not asked for the plan of another size
        self.symbols = [SymbolicSize({(f"s{i}",): 1}, v, self) for i, v in enumerate(values)]

    def atom(self, text: str, value: int, least: int | None = 0) -> SymbolicSize:
        """A value that is no sum of products of others: an expression of its own."""
        name = self.part(text)
        self.least_of[name] = least
        return SymbolicSize({(name,): 1}, value, self)

    def named(self, x: Any) -> Any:
        """A quantity under a name of its own, if it is a long sum."""
        if type(x) is SymbolicSize and len(x.terms) > 2:
            return self.atom(x.text(), x.value, x.least())
        return x

    def least(self, atom: str) -> int | None:
        """A lower bound of an atom, or None if it has none."""
        return LEAST if atom[0] == "s" else self.least_of.get(atom, 0)

    def call(self, function: Callable[..., int], *args: Size) -> SymbolicSize:
        """The integer that a function returns for some values: it is called again for others."""
        name, asked = self.known_as(function)
        return self.atom(f"{name}({', '.join(map(text, args))})", asked(*[value(x) for x in args]))

    def real(self, function: Callable[..., float], *args: Size) -> SymbolicReal:
        """The float that a function returns for some values: it is called again for others."""
        name, asked = self.known_as(function, is_real=True)
        now = asked(*[value(x) for x in args])
        return SymbolicReal(f"{name}({', '.join(map(text, args))})", now, self)

    def function(self, words: Sequence[Quantity]) -> ValuesOf:
        """A function of the symbols' values: the words as a list of numbers; None where something
        that was asked is not so."""
        return self.values_of([str(w) if type(w) is int else text(w) for w in words])


def text(x: Quantity) -> str:
    """A SymbolicSize, a SymbolicReal or a number as an expression of Python."""
    return x.text() if type(x) is SymbolicSize or type(x) is SymbolicReal else repr(x)


@overload
def value(x: Size) -> int: ...


@overload
def value(x: float | SymbolicReal) -> float: ...


def value(x: Quantity) -> float:
    """What it is now."""
    return x.value if type(x) is SymbolicSize or type(x) is SymbolicReal else x


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
    """The `Facts` of the symbolic sizes in a key; None if it has none."""
    if type(x) is SymbolicSize:
        return x.facts
    for y in x if type(x) is tuple else ():
        if (type(y) is tuple or type(y) is SymbolicSize) and (found := facts_in(y)) is not None:
            return found
    return None


def by_texts(x: Any) -> Any:
    """A key with sizes as texts."""
    if type(x) is tuple:
        return tuple(map(by_texts, x))
    return (SymbolicSize, x.text()) if type(x) is SymbolicSize else x


def sized(xs: Iterable[object]) -> bool:
    """Is one of these symbolic?"""
    return any([type(x) is SymbolicSize for x in xs])


def fixed(x: Size) -> int:
    """The number itself. Plans made with it hold only for sizes that give the same number."""
    if type(x) is SymbolicSize:
        x.facts.ask(f"{x.text()}=={x.value}", answer=True)
    return value(x)


def for_now(x: Size) -> int:
    """What a number is now, for a choice that changes nothing but speed. The choice is kept for
    all sizes, and is no condition of the plan."""
    return value(x)


@overload
def at_least(x: int, least: int) -> int: ...


@overload
def at_least(x: Size, least: Size) -> Size: ...


def at_least(x: Size, least: Size) -> Size:
    """The larger one. Which one that is becomes no condition of the plan."""
    if type(x) is SymbolicSize:
        facts = x.facts
    elif type(least) is SymbolicSize:
        facts = least.facts
    else:
        return max(x, least)
    known = [n for n in (least_of(x), least_of(least)) if n is not None]
    return facts.atom(f"max({text(x)},{text(least)})", max(value(x), value(least)),
                      max(known, default=None))


@overload
def at_most(x: int, most: int) -> int: ...


@overload
def at_most(x: Size, most: Size) -> Size: ...


def at_most(x: Size, most: Size) -> Size:
    """The smaller one. Which one that is becomes no condition of the plan."""
    if type(x) is SymbolicSize:
        facts = x.facts
    elif type(most) is SymbolicSize:
        facts = most.facts
    else:
        return min(x, most)
    low, other = least_of(x), least_of(most)
    return facts.atom(f"min({text(x)},{text(most)})", min(value(x), value(most)),
                      None if low is None or other is None else min(low, other))


def least_of(x: Size) -> int | None:
    """No value of it is less, as far as that is seen at once; None where it is not."""
    return x.least() if type(x) is SymbolicSize else x


def chosen(function: Callable[..., int], *args: Size) -> int:
    """function(*args), a whole number, of the values that the arguments will have."""
    facts = next((x.facts for x in args if type(x) is SymbolicSize), None)
    if facts is None:
        return function(*args)
    # the caller knows nothing of symbolic sizes
    return cast(int, facts.call(function, *args))


def made(terms: Terms, value: int, facts: Facts) -> Size:
    """A sum of products, a number where nothing varies in it."""
    terms = {m: c for m, c in terms.items() if c}
    if not terms:
        return 0
    if len(terms) == 1 and () in terms:
        return terms[()]
    return SymbolicSize(terms, value, facts)


@final
class SymbolicSize:
    """`terms`: (sorted tuple of symbols and other atoms) -> its coefficient. `value`: the current
    value."""
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

    # Code that asks isinstance() means a number.
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
        # Into the name of a kernel, say.
        raise Unsized(f"a plan writes the number {self.text()}")

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return repr(self)

    # ---- arithmetic
    @overload
    def __add__(self, other: Size) -> Size: ...
    @overload
    def __add__(self, other: float | SymbolicReal) -> SymbolicReal: ...
    def __add__(self, other: Quantity) -> Size | SymbolicReal:
        if type(other) is not SymbolicSize:
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

    def __neg__(self) -> SymbolicSize:
        return SymbolicSize({m: -c for m, c in self.terms.items()}, -self.value, self.facts)

    def __pos__(self) -> SymbolicSize:
        return self

    @overload
    def __sub__(self, other: Size) -> Size: ...
    @overload
    def __sub__(self, other: float) -> SymbolicReal: ...
    def __sub__(self, other: float | SymbolicSize) -> Size | SymbolicReal:
        return self + -other

    def __rsub__(self, other: int) -> Size:
        return -self + other

    @overload
    def __mul__(self, other: Size) -> Size: ...
    @overload
    def __mul__(self, other: float) -> SymbolicReal: ...
    def __mul__(self, other: float | SymbolicSize) -> Size | SymbolicReal:
        if type(other) is not SymbolicSize:
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
        _check_divisor(other)
        exact = _divided(self, other)
        if exact is not None:
            return exact
        # Rounded up, that is: of a size, no less than one.
        if all(c < 0 for c in self.terms.values()):
            least = (-self).least()
            return -self.facts.atom(
                f"-(({self.text()})//({text(other)}))", -(self.value // value(other)),
                None if least is None else min(least, 1))
        return self._atom(self, "//", other, self.value // value(other),
                          None if self.least() is None else 0)

    def __rfloordiv__(self, other: int) -> SymbolicSize:
        _check_divisor(self)
        return self._atom(other, "//", self, other // self.value, 0 if other >= 0 else None)

    def __mod__(self, other: Size) -> Size:
        _check_divisor(other)
        if _divided(self, other) is not None:
            return 0
        return self._atom(self, "%", other, self.value % value(other), 0)

    def __rmod__(self, other: int) -> SymbolicSize:
        _check_divisor(self)
        return self._atom(other, "%", self, other % self.value, 0)

    def __divmod__(self, other: Size) -> tuple[Size, Size]:
        return self // other, self % other

    def __truediv__(self, other: Quantity) -> SymbolicReal:
        return _real(self) / other

    def __rtruediv__(self, other: float) -> SymbolicReal:
        return other / _real(self)

    def __lshift__(self, other: int) -> Size:
        return self * (1 << other)

    def __rlshift__(self, other: int) -> NoReturn:
        raise Unsized(f"a plan depends on a power of {self.text()}")

    def __rshift__(self, other: int) -> Size:
        return self // (1 << other)

    def __and__(self, other: Size) -> SymbolicSize:
        return self._atom(self, "&", other, self.value & value(other), 0)

    __rand__ = __and__

    def __or__(self, other: Size) -> SymbolicSize:
        if type(other) is int and other == 0:
            return self
        return self._atom(self, "|", other, self.value | value(other), 0)

    __ror__ = __or__

    def __abs__(self) -> SymbolicSize:
        return self if self >= 0 else -self

    def __floor__(self) -> SymbolicSize:
        return self

    __ceil__ = __trunc__ = __floor__

    def _atom(self, a: Size, op: str, b: Size, now: int,
              least: int | None = 0) -> SymbolicSize:
        return self.facts.atom(f"({text(a)}){op}({text(b)})", now, least)

    def bit_length(self) -> SymbolicSize:
        return self.facts.atom(f"({self.text()}).bit_length()", self.value.bit_length())

    # ---- questions
    def least(self) -> int | None:
        """A lower bound that follows from those of the atoms, or None."""
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
        if type(apart) is not SymbolicSize:
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
        if type(other) is not int and (
                type(other) is not SymbolicSize or other.facts is not self.facts):
            # Plans are found again by sizes: those of other symbols are no others' plans.
            return False
        return self._asked("==", other, self.value == value(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return not self == 0

    def __hash__(self) -> int:
        return hash((id(self.facts), self.facts.turn, frozenset(self.terms.items())))

    def __index__(self) -> NoReturn:
        raise Unsized(f"a plan needs the number {self.text()}")

    __int__ = __float__ = __index__


def _check_divisor(size: Quantity) -> None:
    """A plan has no division by zero: such a call is recorded, so that it raises eager's error."""
    if value(size) == 0:
        raise Unsized("something is divided by a size that is zero")


def _divided(a: SymbolicSize, b: Size) -> Size | None:
    """The exact quotient, if there is no remainder for any values of the symbols; else None. `b` is
    not 0."""
    if type(b) is int:
        if all(c % b == 0 for c in a.terms.values()):
            return made({m: c // b for m, c in a.terms.items()}, a.value // b, a.facts)
        return None
    if type(b) is not SymbolicSize:
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
class SymbolicReal:
    """A float computed from sizes, as a Python expression."""
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

    def _with(self, op: str, other: Quantity, now: float, *, turned: bool = False) -> SymbolicReal:
        a, b = (other, self) if turned else (self, other)
        return SymbolicReal(f"({_part(a)}{op}{_part(b)})", now, self.facts)

    def __add__(self, other: Quantity) -> SymbolicReal:
        return self._with("+", other, self.value + value(other))

    def __radd__(self, other: Quantity) -> SymbolicReal:
        return self._with("+", other, value(other) + self.value, turned=True)

    def __sub__(self, other: Quantity) -> SymbolicReal:
        return self._with("-", other, self.value - value(other))

    def __rsub__(self, other: Quantity) -> SymbolicReal:
        return self._with("-", other, value(other) - self.value, turned=True)

    def __mul__(self, other: Quantity) -> SymbolicReal:
        return self._with("*", other, self.value * value(other))

    def __rmul__(self, other: Quantity) -> SymbolicReal:
        return self._with("*", other, value(other) * self.value, turned=True)

    def __truediv__(self, other: Quantity) -> SymbolicReal:
        return self._with("/", other, self.value / value(other))

    def __rtruediv__(self, other: Quantity) -> SymbolicReal:
        return self._with("/", other, value(other) / self.value, turned=True)

    def __floor__(self) -> SymbolicSize: return self._rounded("floor", math.floor(self.value))
    def __ceil__(self) -> SymbolicSize: return self._rounded("ceil", math.ceil(self.value))
    def __round__(self) -> SymbolicSize: return self._rounded("round", round(self.value))

    def _rounded(self, how: str, now: int) -> SymbolicSize:
        """A whole number beside it. Of sizes that are added, multiplied and divided it is never
        below 0; of others it is not known."""
        least = 0 if NOT_BELOW_0.fullmatch(self.expression) else None
        return self.facts.atom(f"{how}({self.expression})", now, least)

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
        raise Unsized(f"a plan needs the number {self.expression}")

    __int__ = __trunc__ = __float__


NOT_BELOW_0 = re.compile(r"[s0-9.()*/+ ]*")


def _part(x: Quantity) -> str:
    """A number in an expression of floats."""
    return f"({x.text()})" if type(x) is SymbolicSize else text(x)


def _real(n: SymbolicSize) -> SymbolicReal:
    return SymbolicReal(f"({n.text()})", n.value, n.facts)


SYMBOLIC = (SymbolicSize, SymbolicReal)
