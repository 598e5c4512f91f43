"""C functions that read, or write, NumPy arrays as memory, by whatever name they go."""
import copy
import re
import struct

import numpy as np
import whet

from tests.traps.harness import outcome, ramp, thrice, trap

raw, view, changeable = bytes, memoryview, bytearray
FIRST = 1.0, 1.0, 1.0, 22.0, 3.5, 1.25, 1.0, 7.0


def of_arrays(function, dtype=np.float64):
    """Calls of a function with an array whose numbers change; what it holds then is looked at."""
    def calls(f):
        for first in FIRST:
            a = np.array([first, 2.0], dtype)
            yield f(ramp(3), a), a
    return function, calls


@trap
def bytes_by_another_name():
    """raw = bytes; raw(a)."""
    def f(x, a): return x * sum(raw(a))
    return of_arrays(f)


@trap
def bytes_of_what_numpy_made():
    """bytes of an array that the call computes, and of one of its numbers."""
    def f(x, a): return x * sum(raw(a * 2 + 1)) + sum(raw(a.sum())) + sum(raw(a[0]))
    return of_arrays(f)


@trap
def a_view_of_memory():
    """view = memoryview; view(a)[0]."""
    def f(x, a): return x * view(a)[0]
    return of_arrays(f)


@trap
def a_view_that_is_written_to():
    """view(a)[0] = 3.0, and the array is read again."""
    def f(x, a):
        y = x * float(a[0])
        view(a)[0] = 3.0
        return y + float(a[0])
    return of_arrays(f)


@trap
def a_view_that_is_returned():
    """A memoryview of an argument, which is written to afterwards."""
    def f(x, a): return x * 2, view(a)
    def calls(f):
        for first in FIRST:
            a = np.array([first, 2.0])
            y, seen = f(ramp(3), a)
            a[0] = 5.0
            yield y, seen[0], raw(seen)
    return f, calls


@trap
def memory_in_a_bytearray():
    """bytearray(a), and bytes that are joined."""
    def f(x, a): return x * sum(changeable(a)) + sum(b"".join([a, b"ab", a]))
    return of_arrays(f)


@trap
def memory_as_text():
    """str(a, "latin1") and a pattern that is searched for in memory."""
    def f(x, a): return x * len(str(a, "latin1").strip("\0")) + len(re.findall(b"[@-~]", a))
    return of_arrays(f)


@trap
def memory_that_is_searched_for():
    """b"...".find(a), where a number of bytes would be an index."""
    def f(x, a): return x * b"\1\2\7\2\3\2".find(a)
    return of_arrays(f, np.uint8)


@trap
def memory_in_parts():
    """struct.iter_unpack, int.from_bytes."""
    def f(x, a):
        total = sum(v for v, in struct.iter_unpack("d", a))
        return x * total + int.from_bytes(a, "little") % 97
    return of_arrays(f)


@trap
def an_array_of_the_same_memory():
    """np.frombuffer(a), which is read and written to."""
    def f(x, a):
        same = np.frombuffer(a)
        y = x * same[0]
        same[1] = 9.0
        return y + a[1]
    return of_arrays(f)


@trap
def a_flat_array_is_written_to():
    """a.flat[0] = 9.0."""
    def f(x, a):
        a.flat[0] = 9.0
        return x * a[0]
    return of_arrays(f)


@trap
def the_imaginary_part_is_written_to():
    """a.imag[0] = 9.0."""
    def f(x, a):
        a.imag[0] = 9.0
        return x * float(a[0].imag)
    return of_arrays(f, np.complex128)


@trap
def numpy_gives_back_what_it_was_given():
    """np.atleast_1d(a) is a, and others alike."""
    def f(x, a): return x * 2, np.atleast_1d(a), np.squeeze(a), np.require(a)
    def calls(f):
        for first in FIRST:
            a = np.array([first, 2.0])
            y, *same = f(ramp(3), a)
            yield y, [b is a for b in same]
    return f, calls


@trap
def arrays_are_shuffled_in_many_ways():
    """A view, along another dimension, a list, a transposed array, the memory of a tensor; what
    cannot be written to is an error, and others change the array between calls."""
    base, some = np.arange(20.0).reshape(4, 5), [1.0, 2.0, 3.0]
    memory, generator = whet.from_numpy(base), np.random.default_rng(3)
    fixed = np.arange(4)
    fixed.flags.writeable = False
    ways = {"view": lambda: np.random.shuffle(base[1:]), "list": lambda: np.random.shuffle(some),
            "other": lambda: generator.shuffle(base, axis=1),
            "turned": lambda: generator.shuffle(base.T),
            "memory": lambda: np.random.shuffle(memory.numpy()),
            "fixed": lambda: outcome(lambda: np.random.shuffle(fixed))}
    def f(x, way):
        done = ways[way]()
        return memory.sum(1) * x + some[0], done
    def calls(f):
        for way in ways:
            for k in range(4):
                base[0, 0] += k // 3
                yield f(ramp(4), way), base.copy(), list(some)
    return f, calls


@trap
def numpy_reduces_lists_of_numbers():
    """Means of losses in a list that is also changed, of none, of a list among tensors and arrays,
    by a name of the function's own; somebody covers the name in NumPy, and asks who it is."""
    kept, table = [1.0, 2.0], {"mean": np.mean}
    def f(x, a, is_empty):
        found = [part.item() for part in x]
        mean = np.mean(found if not is_empty else [])
        kept.append(found[0])
        return (mean, np.mean(kept[:2]), np.sum(a), np.max([a, a * 2]), np.sum([found[0], a.sum()]),
                table["mean"](found), np.mean is table["mean"], max([found, [0.5]], key=np.sum),
                isinstance(mean, float), x * float(mean))
    def calls(f):
        for k in range(8):
            yield f(ramp(3) * k, np.array([k, 2.0]), k == 6), list(kept)
        kept[0] = 5.0
        yield f(ramp(3), np.ones(2), False), list(kept)
        real = np.mean
        np.mean = lambda x: real(x) + 1
        try:
            yield from thrice(lambda: f(ramp(3), np.ones(2), False))
        finally:
            np.mean = real
        yield from thrice(lambda: f(ramp(3), np.ones(2), False))
    return f, calls


@trap
def an_array_made_inside_has_gaps():
    """Every second number, a column, a part from behind, and what NumPy's functions leave so: none
    is an argument's."""
    a, whole = np.zeros(2), np.zeros((3, 2), np.int64)
    def f(x, b):
        a[:] = np.array([1.0, 2.0, 3.0, 4.0])[::2]
        whole[0] = np.apply_along_axis(lambda row: row * 2, 0, np.arange(4.0).reshape(2, 2))[0]
        whole[1] += np.arange(6).reshape(2, 3)[::-1, 1]
        return (b + np.arange(6.0).reshape(3, 2)[:2, 0],
                b[0] + np.arange(24.0).reshape(4, 6)[:, ::2].T,
                np.arange(4.0)[::-2] - b, x * float(a.sum()))
    def calls(f):
        for k in range(6):
            given = f(ramp(2), np.arange(2.0) + k)
            yield given, a, whole, [y.strides for y in given[:3]]
    return f, calls


@trap
def arrays_are_given_back_that_nobody_may_write_to(trace):
    """NumPy locks what it shows in several places, and a diagonal."""
    ways = [np.diag, lambda a: np.broadcast_to(a, (2, 2, 2)), lambda a: np.diag(a)[:1],
            lambda a: np.diag(a) + 1, lambda a: outcome(lambda: np.diag(a).fill(3)),
            lambda a: np.lib.stride_tricks.sliding_window_view(a, (1, 2)), lambda a: a[1:]]
    traced = [trace(f) for f in ways]
    def calls(_):
        for k in range(5):
            for f in traced:
                a = np.arange(4.0).reshape(2, 2) + k
                a.flags.writeable = k != 3
                y = f(a)
                yield y, a, isinstance(y, np.ndarray) and (
                    y.flags.writeable, np.shares_memory(y, a), y.strides)
    return ways[0], calls


@trap
def arrays_are_written_to_by_functions_that_are_passed_on(trace):
    """By what NumPy calls for each row, and by operands that are given by name, in any order."""
    def by_rows(a):
        np.apply_along_axis(lambda row: row.__iadd__(1), 0, a)
        return a.sum()
    def by_names(a):
        np.copyto(src=a * 2, dst=a)
        np.put(v=[7], ind=[0], a=a)
        np.fill_diagonal(val=1, a=a)
        return a
    def calls(_):
        for f in (trace(by_rows), trace(by_names)):
            for k in (0, 0, 1, 2, 2):
                a = np.arange(4.0).reshape(2, 2) + k
                yield f(a), a
    return by_rows, calls


@trap
def arrays_are_copied_in_the_order_they_lie_in():
    """By `copy.copy`, `copy.deepcopy` and what calls that; `a.copy()` lays rows one by one."""
    def f(a):
        inside = copy.deepcopy({"columns": a.T, "sum": a.sum()})
        made = [copy.copy(a), copy.deepcopy(a), inside["columns"], copy.copy(a[::-1]), a.copy()]
        return made, inside["sum"], [y.strides for y in made]
    def calls(f):
        for order in (np.asfortranarray, lambda a: a.transpose(2, 0, 1), lambda a: a[:, ::-1]):
            for k in range(4):
                yield f(order(np.arange(24.0).reshape(2, 3, 4) + k))
    return f, calls
