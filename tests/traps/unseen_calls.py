"""Functions of C that act on the world, or read it, called by C or by a library: nobody sees it."""
import bisect
import collections
import contextlib
import datetime
import functools
import gc
import io
import os
import random
import sys
import tempfile
import time

import numpy as np

from tests.traps.harness import ramp, trap

SECONDS = 0.005, 0.005, 0.005, 0.25, 0.25, 0.5, 0.005, 0.5
ZONES = "UTC", "UTC", "UTC", "EST5", "EST5", "JST-9", "UTC", "JST-9"


def with_the_interval(function):
    """Calls of a function, while what `sys.getswitchinterval()` gives changes."""
    def calls(f):
        before = sys.getswitchinterval()
        try:
            for seconds in SECONDS:
                sys.setswitchinterval(seconds)
                yield f(ramp(3))
        finally:
            sys.setswitchinterval(before)
    return function, calls


def with_a_folder(make):
    """Calls of a function, while a folder gets more files; `make` makes it for the folder's
    path."""
    folder = tempfile.TemporaryDirectory()

    def calls(f):
        with folder:
            for i in range(8):
                if i > 2:
                    open(os.path.join(folder.name, str(i)), "w").close()
                yield f(ramp(3))
    return make(folder.name), calls


def in_other_places(function):
    """Calls of a function, while the time of this place changes."""
    def calls(f):
        for zone in ZONES:
            os.environ["TZ"] = zone
            time.tzset()
            yield f(ramp(3))
        del os.environ["TZ"]
        time.tzset()
    return function, calls


def eight_times(function):
    """Eight calls of a function."""
    return function, lambda f: (f(ramp(3)) for _ in range(8))


# ---- operators and descriptors of the user's classes ---------------------------------------------
@trap
def a_length_that_is_a_function_of_c():
    """__float__ = sys.getswitchinterval: C calls it for float(box)."""
    class Box:
        __float__ = sys.getswitchinterval
    box = Box()
    def f(x): return x * float(box)
    return with_the_interval(f)


@trap
def a_call_that_is_a_function_of_c():
    """__call__ = sys.getswitchinterval."""
    class Box:
        __call__ = sys.getswitchinterval
    box = Box()
    def f(x): return x * box()
    return with_the_interval(f)


@trap
def a_property_of_c():
    """property(os.listdir): C calls it with the instance, which is a path."""
    def make(folder):
        class Folder:
            def __fspath__(self): return folder
            names = property(os.listdir)
        here = Folder()
        def f(x): return x * len(here.names)
        return f
    return with_a_folder(make)


@trap
def a_cached_property_of_c():
    """functools.cached_property(os.listdir), of an object that each call makes."""
    def make(folder):
        class Folder:
            def __fspath__(self): return folder
            names = functools.cached_property(os.listdir)
        def f(x): return x * len(Folder().names)
        return f
    return with_a_folder(make)


@trap
def attributes_by_a_function_of_c():
    """__getattr__ = os.listdir: the name that is asked for is the path."""
    def make(folder):
        class Folders:
            __getattr__ = os.listdir
        folders = Folders()
        def f(x): return x * len(getattr(folders, folder))
        return f
    return with_a_folder(make)


@trap
def a_class_in_brackets():
    """__class_getitem__ = os.listdir."""
    def make(folder):
        class Folders:
            __class_getitem__ = os.listdir
        def f(x): return x * len(Folders[folder])
        return f
    return with_a_folder(make)


@trap
def a_bound_operator_of_a_file():
    """read = lines.__next__: each call takes a line."""
    lines = io.BytesIO(b"\n".join(b"%d" % i for i in range(20)))
    read = lines.__next__
    def f(x): return x * float(read())
    return eight_times(f)


@trap
def a_clock_of_a_class_as_an_operator():
    """__call__ = datetime.datetime.now: no two answers are the same."""
    class Clock:
        __call__ = datetime.datetime.now
    clock = Clock()
    def f(x): return x * 2, clock().isoformat()
    def calls(f):
        yield len({f(ramp(3))[1] for _ in range(8)})
    return f, calls


@trap
def a_collector_that_is_asked_by_an_operator():
    """__bool__ = gc.isenabled: it is, and stays so."""
    class Collector:
        __bool__ = gc.isenabled
    collector = Collector()
    def f(x): return x * (1.0 if collector else 2.0)
    return eight_times(f)


@trap
def a_collector_in_a_dict():
    """A table of questions, one of which goes to the collector."""
    questions = {"collects": gc.isenabled}
    def f(x): return x * (1.0 if questions["collects"]() else 2.0)
    return eight_times(f)


# ---- what is given to others ---------------------------------------------------------------------
@trap
def a_key_of_bisect():
    """bisect.bisect(..., key=os.listdir)."""
    def make(folder):
        def f(x): return x * bisect.bisect([folder], ["4"], key=os.listdir)
        return f
    return with_a_folder(make)


@trap
def a_map_of_ones_own():
    """A class that is made of `map`."""
    class Map(map):
        pass
    def make(folder):
        def f(x): return x * len(list(Map(os.listdir, [folder]))[0])
        return f
    return with_a_folder(make)


@trap
def a_dict_of_ones_own_that_asks_c():
    """A class that is made of `defaultdict`."""
    class Numbers(collections.defaultdict):
        pass
    def f(x): return x * Numbers(sys.getswitchinterval)["interval"]
    return with_the_interval(f)


@trap
def a_ufunc_of_c():
    """np.frompyfunc(os.listdir, 1, 1)."""
    def make(folder):
        names = np.frompyfunc(os.listdir, 1, 1)
        def f(x): return x * len(names(folder))
        return f
    return with_a_folder(make)


@trap
def a_generator_that_is_given_to_a_map():
    """random.Random.random as a value, with the generator as its operand."""
    generator, draw = random.Random(3), random.Random.random
    def f(x): return x * list(map(draw, [generator]))[0]
    return eight_times(f)


@trap
def a_case_that_is_a_function_of_c():
    """functools.singledispatch calls what was registered, os.listdir."""
    def make(folder):
        @functools.singledispatch
        def names(x): return []
        names.register(str, os.listdir)
        def f(x): return x * len(names(folder))
        return f
    return with_a_folder(make)


@trap
def a_callback_at_the_end():
    """ExitStack.callback(sys.setswitchinterval, ...): it acts when the block ends."""
    def f(x):
        with contextlib.ExitStack() as stack:
            stack.callback(sys.setswitchinterval, 0.125 * x.shape[0])
        return x * 2
    def calls(f):
        before = sys.getswitchinterval()
        for n in (3, 3, 3, 4, 4, 3, 4, 3):
            sys.setswitchinterval(0.005)
            yield f(ramp(n)), sys.getswitchinterval()
        sys.setswitchinterval(before)
    return f, calls


@trap
def a_folder_that_is_entered():
    """contextlib.chdir, which is not left."""
    def make(folder):
        def f(x):
            contextlib.chdir(folder).__enter__()
            return x * 2
        return f
    folder, here = tempfile.TemporaryDirectory(), os.getcwd()
    def calls(f):
        with folder:
            for _ in range(8):
                os.chdir(here)
                yield f(ramp(3)), os.path.samefile(os.getcwd(), folder.name)
            os.chdir(here)
    return make(folder.name), calls


@trap
def an_array_that_is_written_to_a_file_out_of_sight():
    """map(np.ndarray.tofile, ...)."""
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "numbers")
    def f(x):
        list(map(np.ndarray.tofile, [np.arange(3)], [path]))
        return x * 2
    def calls(f):
        with folder:
            for _ in range(8):
                y = f(ramp(3))
                yield y, os.path.exists(path)
                if os.path.exists(path):
                    os.remove(path)
    return f, calls


# ---- the time of this place, in texts ------------------------------------------------------------
@trap
def a_date_by_a_form():
    """f"{when:%s}": seconds since 1970, counted from midnight here."""
    when = datetime.datetime(2020, 1, 1)
    def f(x): return x * float(f"{when:%s}")
    return in_other_places(f)


@trap
def a_date_by_a_form_from_outside():
    """text.format(when), with a date that the call makes."""
    text = "{:%s}"
    def f(x): return x * float(text.format(datetime.datetime(2020, 1, 1)))
    return in_other_places(f)


@trap
def a_date_that_is_given_to_a_map():
    """map(datetime.timestamp, ...)."""
    when = datetime.datetime(2020, 1, 1)
    def f(x): return x * (list(map(datetime.datetime.timestamp, [when]))[0] % 1e6)
    return in_other_places(f)


# ---- settings ------------------------------------------------------------------------------------
@trap
def how_much_numpy_works_at_a_time():
    """np.getbufsize() after np.setbufsize()."""
    def f(x): return x * float(np.getbufsize())
    def calls(f):
        before = np.getbufsize()
        for size in (8192, 8192, 8192, 4096, 4096, 16384, 8192):
            np.setbufsize(size)
            yield f(ramp(3))
        np.setbufsize(before)
    return f, calls
