"""Numbers that vary, given to methods that take just numbers of Python's own."""
import types

from tests.traps.harness import outcome, ramp, trap

Real, text_of, add, double = float, float.hex, float.__add__, (2.0).__mul__
RATES = 0.5, 0.5, 0.5, 0.75, 1.25, 0.1, 3.5, 2.25, 1.5, 7.5, 8.5, 9.5


def of_rates(function):
    """Calls of a function with a number that is another each time."""
    return function, lambda f: (outcome(lambda: f(ramp(3), rate)) for rate in RATES)


@trap
def a_method_of_float_by_another_name():
    """Real = float; Real.hex(rate)."""
    def f(x, rate): return x * len(Real.hex(rate))
    return of_rates(f)


@trap
def a_method_of_float_in_a_variable():
    """A local name for float."""
    def f(x, rate):
        real = float
        return x * (1.0 if real.is_integer(rate) else len(real.hex(rate)))
    return of_rates(f)


@trap
def a_method_as_the_class_has_it():
    """text_of = float.hex; text_of(rate)."""
    def f(x, rate): return x * len(text_of(rate))
    return of_rates(f)


@trap
def an_operator_as_the_class_has_it():
    """add = float.__add__; add(rate, 1.0)."""
    def f(x, rate): return x * add(rate, 1.0)
    return of_rates(f)


@trap
def an_operator_of_a_constant():
    """(1.0).__add__(rate), which leaves what it does not know to others."""
    def f(x, rate): return x * (1.0).__add__(rate)
    return of_rates(f)


@trap
def a_comparison_of_a_constant():
    """(0.75).__eq__(rate)."""
    def f(x, rate): return x * (2.0 if (0.75).__eq__(rate) else 3.0)
    return of_rates(f)


@trap
def a_bound_operator_of_a_number():
    """double = (2.0).__mul__, called and given to map."""
    def f(x, rate): return x * double(rate) + sum(map(double, [rate]))
    return of_rates(f)


@trap
def a_hash_by_the_name_of_a_function():
    """A class that the call makes of a table of methods, with __hash__ in it."""
    def hashed(self): return self.n
    def f(x, n):
        Key = types.new_class("Key", (), {}, lambda body: body.update({"__hash__": hashed}))
        key = Key()
        key.n = n
        return x * {key: 5}[key] * n
    return f, lambda f: (outcome(lambda: f(ramp(3), n)) for n in (1, 1, 1, 2, 3, 4, 5, 6, 7, 8))
