"""C functions are asked what they do by calling them: nothing of the user's changes by that."""
import array
import collections

import pytest
import whet

MAKE = [
    lambda: [1, 2], lambda: {1: 2}, lambda: {1, 2}, lambda: collections.deque([1, 2]),
    lambda: collections.OrderedDict({1: 2}), lambda: collections.defaultdict(int, {1: 2}),
    lambda: collections.Counter("ab"), lambda: bytearray(b"ab"), lambda: array.array("d", [1.0]),
    lambda: BaseException("a"), lambda: type("Own", (list,), {})([1, 2])]
METHODS = [
    (make, name) for make in MAKE for name in dir(make())
    if callable(getattr(make(), name)) and not name.startswith("__") or name in (
        "__setitem__", "__delitem__", "__iadd__", "__ior__", "__init__", "__setstate__")]


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
@pytest.mark.parametrize("make, name", METHODS)
def test_a_method_that_is_held_changes_nothing(make, name):
    """As a variable of an enclosing function, in a list, and under a name."""
    held, before = make(), make()
    method, beside = getattr(held, name), [getattr(held, name)]
    for fn in (lambda x: x * 2 if method is not None else x,
               lambda x: x * len(beside) * 2,
               lambda x: x + (x.shape[0] if x.shape[0] == 2 else method())):
        f = whet.jit.trace(fn)
        for _ in range(2):
            f(whet.ones(2))
    assert repr(held) == repr(before) and getattr(held, "__notes__", None) is None


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_a_method_that_is_called_does_what_it_does():
    history: list = []
    push = history.append
    f = whet.jit.trace(lambda x: (push(x.shape[0]), x * 2)[1])
    for _ in range(4):
        f(whet.ones(3))
    assert history == [3] * 4
