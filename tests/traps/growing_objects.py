"""Objects among the arguments that grow from call to call, as caches of keys and values do: who
else reaches them, what they share, and whether it matters which one comes."""
import copy

import whet

from tests.traps.harness import Box, ramp, trap

LONG = 14


class Cache:
    def __init__(self):
        self.keys, self.values = [ramp(1, 2)], [ramp(1, 2) * 3]

    def update(self, x):
        self.keys[0] = whet.cat([self.keys[0], x])
        self.values[0] = whet.cat([self.values[0], x * 2])
        return self.keys[0].sum() - self.values[0].mean()


def grown(f, cache, count=LONG):
    for k in range(count):
        yield f(cache, ramp(1, 2) + k), list(cache.keys), list(cache.values)


@trap
def a_cache_that_a_variable_reaches_too():
    """From some call on the function finds the one that it is given in a second way."""
    held = Box(last=Cache())
    def f(cache, x): return cache.update(x) + held.last.keys[0].sum()
    def calls(f):
        yield from grown(f, Cache())
        yield from grown(f, held.last)
        held.last = cache = Cache()
        yield from grown(f, cache)
    return f, calls


@trap
def caches_take_turns():
    """Two that have grown to the same sizes, and then one of them twice."""
    def f(cache, other, x): return cache.update(x) * other.values[0].sum()
    def calls(f):
        a, b = Cache(), Cache()
        for k in range(LONG):
            yield f(a, b, ramp(1, 2) + k), f(b, a, ramp(1, 2) - k), a.keys, b.keys
        for k in range(4):
            yield f(a, a, ramp(1, 2) + k), a.keys, a.values
    return f, calls


@trap
def the_lists_of_a_cache_become_one():
    """What is laid into one lies in the other as well."""
    def f(cache, x): return cache.update(x)
    def calls(f):
        yield from grown(f, Cache())
        one = Cache()
        one.values = one.keys
        yield from grown(f, one)
        same = Cache()
        same.values[0] = same.keys[0]
        yield from grown(f, same)
    return f, calls


@trap
def a_cache_changes_between_calls():
    """It is cut, gets another list, another attribute, a second layer, and is copied."""
    def f(cache, x): return cache.update(x) + len(cache.keys) + hasattr(cache, "more")
    def calls(f):
        cache = Cache()
        yield from grown(f, cache)
        cache.keys[0] = cache.keys[0][:3]
        yield from grown(f, cache, 4)
        cache.keys = list(cache.keys)
        cache.more = 1
        yield from grown(f, cache, 4)
        cache.keys.append(ramp(2))
        yield from grown(f, cache, 4)
        yield from grown(f, copy.deepcopy(cache), 4)
        cache.keys[0] = cache.keys[0].double()
        yield from grown(f, cache, 4)
    return f, calls


def by_address(tell):
    """A function that goes by where an object lies, which `tell` says, among some that grow."""
    first = Cache()
    mark = object.__hash__(first)
    def f(cache, x): return cache.update(x) * (2 if tell(cache) == mark else 3)
    def calls(f):
        yield from grown(f, Cache())
        yield from grown(f, first)
        yield from grown(f, Cache(), 4)
        yield from grown(f, first, 4)
    return f, calls


@trap
def the_address_of_a_cache_is_told_by_a_name_in_a_list():
    """`object` is asked for a method whose name is data."""
    names = ["__hash__"]
    return by_address(lambda cache: getattr(object, names[0])(cache))


@trap
def the_address_of_a_cache_is_told_by_a_key_of_a_dict():
    """The name is what a dict is gone through by."""
    names = {"__hash__": 0}
    return by_address(lambda cache: [getattr(object, name)(cache) for name in names][0])


@trap
def the_address_of_a_cache_is_told_by_a_list_of_names():
    """All that `object` has is gone through."""
    return by_address(lambda cache: [
        m(cache) for k, m in vars(object).items() if k.startswith("__has")][0])
