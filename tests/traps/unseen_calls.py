"""C functions that act on the world, or read it, called by C or by a library: nobody sees it."""
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


def while_the_interval_changes(trace, *functions):
    """Calls of functions, each traced by itself, while what `sys.getswitchinterval()` gives
    changes."""
    first, *others = functions
    others = [trace(f) for f in others]

    def calls(f):
        before = sys.getswitchinterval()
        try:
            for seconds in SECONDS:
                sys.setswitchinterval(seconds)
                yield [g(ramp(3)) for g in (f, *others)]
        finally:
            sys.setswitchinterval(before)
    return first, calls


def while_a_folder_fills(trace, *makes):
    """Calls of functions, each traced by itself, while a folder gets more files; each of `makes`
    makes one for the folder's path."""
    folder = tempfile.TemporaryDirectory()
    first, *others = [make(folder.name) for make in makes]
    others = [trace(f) for f in others]

    def calls(f):
        with folder:
            for i in range(8):
                if i > 2:
                    open(os.path.join(folder.name, str(i)), "w").close()
                yield [g(ramp(3)) for g in (f, *others)]
    return first, calls


def in_other_places(trace, *functions):
    """Calls of functions, each traced by itself, while the time of this place changes."""
    first, *others = functions
    others = [trace(f) for f in others]

    def calls(f):
        for zone in ZONES:
            os.environ["TZ"] = zone
            time.tzset()
            yield [g(ramp(3)) for g in (f, *others)]
        del os.environ["TZ"]
        time.tzset()
    return first, calls


def eight_times(function):
    """Eight calls of a function."""
    return function, lambda f: (f(ramp(3)) for _ in range(8))


# ---- operators and descriptors of the user's classes ---------------------------------------------
@trap
def operators_that_are_functions_of_c(trace):
    """__float__ = sys.getswitchinterval, which C calls for float(box); __call__; and a class that
    is made of `defaultdict`."""
    class Interval:
        __float__ = sys.getswitchinterval

    class Asked:
        __call__ = sys.getswitchinterval

    class Numbers(collections.defaultdict):
        pass
    interval, asked = Interval(), Asked()
    def as_a_number(x): return x * float(interval)
    def called(x): return x * asked()
    def missing(x): return x * Numbers(sys.getswitchinterval)["interval"]
    return while_the_interval_changes(trace, as_a_number, called, missing)


@trap
def descriptors_that_are_functions_of_c(trace):
    """property(os.listdir), which C calls with the instance, and others: the path is the instance,
    the name that is asked for, or what stands in brackets."""
    def by_property(folder):
        class Folder:
            def __fspath__(self): return folder
            names = property(os.listdir)
        here = Folder()
        def f(x): return x * len(here.names)
        return f

    def by_cached_property(folder):
        class Folder:
            def __fspath__(self): return folder
            names = functools.cached_property(os.listdir)
        def f(x): return x * len(Folder().names)
        return f

    def by_name(folder):
        class Folders:
            __getattr__ = os.listdir
        folders = Folders()
        def f(x): return x * len(getattr(folders, folder))
        return f

    def in_brackets(folder):
        class Folders:
            __class_getitem__ = os.listdir
        def f(x): return x * len(Folders[folder])
        return f
    return while_a_folder_fills(trace, by_property, by_cached_property, by_name, in_brackets)


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
def functions_of_c_that_others_call(trace):
    """bisect with a key, a class that is made of `map`, np.frompyfunc, functools.singledispatch:
    each calls os.listdir."""
    class Map(map):
        pass

    def by_bisect(folder):
        def f(x): return x * bisect.bisect([folder], ["4"], key=os.listdir)
        return f

    def by_map(folder):
        def f(x): return x * len(list(Map(os.listdir, [folder]))[0])
        return f

    def by_ufunc(folder):
        names = np.frompyfunc(os.listdir, 1, 1)
        def f(x): return x * len(names(folder))
        return f

    def by_type(folder):
        @functools.singledispatch
        def names(x): return []
        names.register(str, os.listdir)
        def f(x): return x * len(names(folder))
        return f
    return while_a_folder_fills(trace, by_bisect, by_map, by_ufunc, by_type)


@trap
def a_generator_that_is_given_to_a_map():
    """random.Random.random as a value, with the generator as its operand."""
    generator, draw = random.Random(3), random.Random.random
    def f(x): return x * list(map(draw, [generator]))[0]
    return eight_times(f)


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
def dates_by_a_form(trace):
    """f"{when:%s}": seconds since 1970, counted from midnight here; text.format(when), with a date
    that the call makes; map(datetime.timestamp, ...)."""
    when, text = datetime.datetime(2020, 1, 1), "{:%s}"
    def in_place(x): return x * float(f"{when:%s}")
    def outside(x): return x * float(text.format(datetime.datetime(2020, 1, 1)))
    def by_map(x): return x * (list(map(datetime.datetime.timestamp, [when]))[0] % 1e6)
    return in_other_places(trace, in_place, outside, by_map)


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


@trap
def functions_that_cython_compiled():
    """No watch sees them called: by their name, from a list, through map, partial and an alias."""
    kept, alias = [np.random.sample], np.random.ranf
    bound = functools.partial(np.random.sample, 2)
    def f(x, way):
        if way == 0:
            return x * np.random.sample()
        if way == 1:
            return x * kept[0]() + float(bound()[0])
        if way == 2:
            return x * sum(map(alias, [None]))
        np.random.seed(way)
        return x * np.random.rand()
    def calls(f):
        for way in range(4):
            np.random.seed(0)
            for _ in range(4):
                yield f(ramp(2), way)
            yield np.random.rand()
    return f, calls
