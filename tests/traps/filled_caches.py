"""Caches that a call fills while it has numbers that vary, and objects that note whatever they are
asked for."""
import functools

import whet

from tests.traps.harness import Box, ramp, thrice, trap


@trap
def a_filled_cache_is_asked_again():
    """What a cache was given by the first of two calls is written to; the second finds it."""
    @functools.lru_cache(None)
    def running(k): return whet.full((4,), float(k))
    def f(x, n):
        running(n).add_(1)
        return x + running(n)
    def calls(f):
        for n in (1, 2, 1, 2, 3, 3, 3, 4, 1, 2):
            yield f(ramp(4), n), tuple(running.cache_info())
    return f, calls


@trap
def numbers_are_asked_for_their_type_after_a_cache_was_filled():
    """Then come questions that go by the kind of a number."""
    @functools.lru_cache(maxsize=3)
    def doubled(k): return k * 2
    def f(x, n):
        x = x * doubled(n)
        return x + (1 if type(n) is int else 2) + max(n, 2) + (4 if type(n / 2) is float else 8)
    def calls(f):
        for n in (1, 2, 3, 1, 4, 4, 5, 5, 6):
            yield f(ramp(2), n), tuple(doubled.cache_info())
    return f, calls


@trap
def a_cache_is_filled_with_another_cache():
    """What a function with a cache gives is such a function itself, that is compared by
    identity."""
    @functools.cache
    def once(k): return k + 1
    @functools.cache
    def twice(k): return k + 2
    @functools.cache
    def chosen(k): return once if k % 2 else twice
    def f(x, n):
        by = chosen(n)
        return x * by(n) + (1 if by is once else 2) + chosen(n)(n + 1)
    def calls(f):
        for n in (1, 2, 3, 1, 2, 5, 4, 1):
            yield f(ramp(2), n), chosen(n) is (once if n % 2 else twice), once.cache_info()[:2]
    return f, calls


@trap
def an_error_while_a_cache_is_filled():
    """It is caught, and the function goes on with the numbers and caches that it has."""
    @functools.cache
    def checked(k):
        if k % 2:
            raise ValueError(k)
        return whet.full((2,), float(k))
    def f(x, n):
        try:
            x = x * checked(n)
        except ValueError as e:
            x = x - e.args[0]
        return x + (1 if type(n) is int else 2) + checked(n + n % 2).add_(1)
    def calls(f):
        for n in (1, 3, 1, 2, 3, 3, 5, 7, 2):
            yield f(ramp(2), n), tuple(checked.cache_info())
    return f, calls


class Noting:
    """Whatever it is asked for is noted."""
    asked: list = []

    def __getattribute__(self, name):
        Noting.asked.append(name)
        return object.__getattribute__(self, name)


@trap
def an_object_notes_whatever_it_is_asked_for():
    """It is outside, is given, is given back, and is put into the state. Nobody but the function
    asks it for anything."""
    Noting.asked = asked = []
    noting, holder = Noting(), Box(of=None)
    object.__setattr__(noting, "scale", 2.0)
    def f(x, given):
        holder.of, made = given, Noting()
        given.last = noting.scale
        return x * noting.scale + len([noting, made])
    def calls(f):
        yield from thrice(lambda: (f(ramp(2), noting), list(asked)))
        object.__setattr__(noting, "scale", 3.0)
        yield from thrice(lambda: (f(ramp(2), noting), list(asked)))
    return f, calls


@trap
def an_object_that_notes_is_made_and_kept():
    """Each call makes one, gives it back and keeps it."""
    Noting.asked = asked = []
    holder = Box(of=None)
    def f(x):
        holder.of = made = Noting()
        made.total = x * 2
        return made
    def calls(f):
        for _ in range(6):
            made = f(ramp(2))
            known, total = made is holder.of, object.__getattribute__(made, "total")
            yield total, known, list(asked)
    return f, calls


@trap
def an_object_answers_for_its_class():
    """What it is asked for is a number, its class, too."""
    class Numbers:
        def __getattribute__(self, name):
            held = object.__getattribute__(self, "__dict__")
            held["asked"] = held.get("asked", 0) + 1
            return held["asked"] % 3
    numbers = Numbers()
    def f(x): return x + numbers.anything
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), object.__getattribute__(numbers, "__dict__")["asked"]
    return f, calls


@trap
def a_cache_gives_another_cache():
    """All caches are filled before: what one finds is compared by identity with a variable."""
    @functools.cache
    def once(k): return k + 1
    @functools.cache
    def twice(k): return k + 2
    @functools.cache
    def chosen(k): return once if k % 2 else twice
    for k in range(8):
        chosen(k), once(k), twice(k)
    def f(x, n):
        by = chosen(n)
        return x * by(n) + (1 if by is once else 2), by
    def calls(f):
        for n in (1, 1, 1, 2, 2, 2, 3, 4, 5):
            out, by = f(ramp(2), n)
            yield out, by is (once if n % 2 else twice), tuple(once.cache_info())
    return f, calls
