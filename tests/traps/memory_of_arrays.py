"""Functions of C that read, or write, NumPy arrays as memory, by whatever name they go."""
import re
import struct

import numpy as np

from tests.traps.harness import ramp, trap

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
