"""What Python itself says, as ops, for traces: what time it is, asked again at each call, and
functions of Python's numbers, whose bits no kernel promises."""
import math
import operator
import time

import numpy as np

from .. import devices
from ..ir.symbolic_size import LEAST
from .registry import Op

CLOCKS = {
    name: getattr(time, name)
    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time")}
NUMERIC = {
    name: getattr(math, name) for name in
    "exp expm1 log log1p log2 log10 sqrt sin cos tan asin acos atan sinh cosh tanh pow atan2 "
    "hypot erf erfc fmod degrees radians"
    .split()}
BY_NAME = {
    **NUMERIC, "power": pow, "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc,
    "round": round, "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "min": min, "max": max}
MOST = 1 << 40                   # an int that a result can be


def fits(y):
    """Can a number be the result of an op on numbers?"""
    return type(y) is float or type(y) is int and -MOST <= y <= MOST


def call(name, *numbers):
    """A function by its name in BY_NAME; of numbers that vary in a trace it is one that varies,
    too.

    >>> from whet.ops.python_calls import call
    >>> call("cos", 0)
    1.0
    """
    for x in numbers:
        if hasattr(x, "__whet_call__"):
            return x.__whet_call__(name, numbers)
    return BY_NAME[name](*numbers)


def choose(condition, yes, no):
    """yes if condition else no, of numbers: where the condition varies in a trace, so does what is
    chosen, and the trace holds for both.

    >>> from whet.ops.python_calls import choose
    >>> choose(3 > 2, 0.5, 1.0)
    0.5
    """
    if hasattr(condition, "__whet_choose__"):
        return condition.__whet_choose__(yes, no)
    return yes if condition else no


def as_float(x):
    """float(x), which may vary in a trace."""
    x = x.item() if hasattr(x, "_array") or isinstance(x, np.generic) else x
    return x * 1.0 if hasattr(x, "__whet_call__") else float(x)


class Clock(Op):
    """The time in seconds by one of Python's clocks, which is another at each call."""
    random = total = any_sizes = True

    def forward(self, *, name):
        """The time now."""
        return np.array(CLOCKS[name](), np.float64)


class OfNumbers(Op):
    """A Python function on numbers of no dimension, whose result is a float or an int of
    modest size."""
    any_sizes = True

    def forward(self, *numbers, name):
        """The result as an array; raises what Python raises."""
        y = BY_NAME[name](*[x.item() if isinstance(x, np.ndarray) else x for x in numbers])
        if not fits(y):
            raise TypeError(f"{name} gave {y}")
        return np.array(y, np.float64 if type(y) is float else np.int64)

    def on_device(self, arrays, attrs, index):
        """The function is Python's, wherever its numbers lie."""
        return devices.beyond.on_the_host(self, arrays, attrs, index)


class SizeOf(Op):
    """A size that Python has read, as a number. `of` and `dim` say of which value of a recorded
    run, and of which of its dimensions; `less` is taken off it; `value` is what that was."""
    total = any_sizes = True
    value_attrs = frozenset(("of",))

    def forward(self, *, of, dim, less, value):
        """The size."""
        return np.array(value, np.int64)


class AsLength(Op):
    """A tensor whose length depends on a number in a tensor, which says that sizes are made of it.
    No length is 0 or 1, which differ from others in more than how large they are."""
    sized_by_data = True

    def forward(self, number):
        """Zeros."""
        return np.zeros(int(number.item()) + LEAST, np.uint8)


clock, of_numbers = Clock("clock", inner=True), OfNumbers("of_numbers", inner=True)
size_of = SizeOf("size_of", inner=True)
as_length = AsLength("as_length", inner=True)
