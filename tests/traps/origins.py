"""Code and user classes that look like somebody else's: by the name of a file or a folder,
by what a module says of itself, by the names of functions. Only where something is from counts."""
import collections
import contextlib
import heapq
import importlib.util
import math
import operator
import random
import sys
import tempfile
import types
from gc import get_objects as everything
from pathlib import Path
from sys import getrefcount as holders
from weakref import ref as weakly

import whet

from tests.traps.harness import Box, ramp, thrice, trap

SOURCE = """
scale = 2.0
class Rule:
    factor = 3.0
def f(x):
    return x * scale + Rule.factor
"""


def written(file, **names):
    """A module's globals, made of SOURCE as if it came from such a file."""
    exec(compile(SOURCE, file, "exec"), names)  # noqa: S102
    return names


def follows(names):
    """Calls that see whether what lies in some globals is read."""
    def calls(f):
        for value in (2.0, 5.0, -1.0):
            names["scale"] = value
            yield from thrice(lambda: f(ramp(3)))
        for value in (4.0, 0.5):
            names["Rule"].factor = value
            yield from thrice(lambda: f(ramp(3)))
    return names["f"], calls


@contextlib.contextmanager
def imported(name, folder):
    """A module of a file `folder/name.py`, imported as `name`, which another may have."""
    with tempfile.TemporaryDirectory() as root:
        file = Path(root, folder, name.rpartition(".")[2] + ".py")
        file.parent.mkdir(parents=True)
        file.write_text(SOURCE)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        before = sys.modules.get(name)
        sys.modules[name] = module
        try:
            yield module
        finally:
            sys.modules.pop(name)
            if before is not None:
                sys.modules[name] = before


def follows_a_module(name, folder):
    """The same of a module that is imported from a file."""
    def calls(f):
        with imported(name, folder) as module:
            _, go = follows(vars(module))
            where.append(module)
            yield from go(f)
    where = []
    def f(x): return where[-1].f(x)
    return f, calls


@trap
def a_file_of_the_name_that_generated_code_has():
    """Code that was compiled as `<whet>`."""
    return follows(written("<whet>"))


@trap
def a_file_of_the_name_that_written_layers_have():
    """Code that was compiled as `<layer Mine>`, in a module that says that it is typing."""
    return follows(written("<layer Mine>", __name__="typing"))


@trap
def a_module_says_that_it_is_ours():
    """__name__ = "whet.nn.mine"."""
    return follows(written("mine.py", __name__="whet.nn.mine", __package__="whet.nn"))


@trap
def a_module_says_that_it_is_pythons():
    """__name__ = "statistics"."""
    return follows(written("mine.py", __name__="statistics"))


@trap
def a_module_says_that_it_is_numpys():
    """__name__ = "numpy.linalg", in a text that was compiled as a NumPy file."""
    import numpy.linalg
    return follows(written(numpy.linalg.__file__, __name__="numpy.linalg"))


@trap
def a_text_says_that_it_is_a_file_of_ours():
    """Code that was compiled as the file of whet.tensor."""
    return follows(written(whet.tensor.__globals__["__file__"]))


@trap
def a_file_in_a_folder_called_whet_ops():
    """Somebody's own folder has the names that ours have."""
    return follows_a_module("mine", "whet/ops")


@trap
def a_file_that_is_called_as_one_of_pythons():
    """profile.py beside the script, which hides Python's."""
    return follows_a_module("profile", "project")


@trap
def a_module_within_our_package_from_elsewhere():
    """A plug-in that imports itself as whet.plugin."""
    return follows_a_module("whet.plugin", "plugins")


@trap
def functions_say_where_they_are_from():
    """__module__ of a function, a class and a closure is set."""
    o = Box(scale=2.0)
    class Rule:
        __module__ = "whet.nn.module"
        factor = 3.0
    def scaled(x): return x * o.scale + Rule.factor
    scaled.__module__ = "whet.ops.pointwise"
    def f(x): return scaled(x)
    f.__module__ = "math"
    def calls(f):
        for value in (2.0, 5.0, -1.0):
            o.scale = value
            yield from thrice(lambda: f(ramp(3)))
        Rule.factor = 4.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_object_of_a_class_that_says_it_is_pythons():
    """The class of a record says that it is from `datetime`, and bears the name of one there."""
    class Steps:
        def __init__(self): self.n = 0
    Steps.__module__, Steps.__qualname__, Steps.__name__ = "datetime", "timedelta", "timedelta"
    steps = Steps()
    def f(x):
        steps.n += 1
        return x * steps.n
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), steps.n
    return f, calls


@trap
def a_function_is_called_as_numpy_is():
    """A user function is called numpy, as the method is that our code asks for."""
    calls_made = []
    def numpy(t):
        calls_made.append(len(calls_made))
        return t.numpy() * 2
    def f(x): return whet.from_numpy(numpy(x)) + 1
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), list(calls_made)
    return f, calls


# ---- functions that want Python numbers, or look past methods, by any name ------------------
scaled_by_two = math.ldexp


@trap
def ldexp_by_another_name():
    """math.ldexp takes no number that only looks like one."""
    o = Box(n=0)
    def f(x):
        o.n += 1
        return x * scaled_by_two(1.5, o.n)
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), o.n
    return f, calls


@trap
def a_function_of_ones_own_called_ldexp():
    """What is called ldexp, seed or concat need not be Python's."""
    o = Box(n=0, log=[])
    def ldexp(a, b): return a * b
    def concat(a, b): return a + b
    def f(x):
        o.n += 1
        return x * ldexp(1.5, concat(o.n, 1))
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), o.n
    return f, calls


joined = operator.iconcat


@trap
def lists_are_joined_by_another_name():
    """operator.iconcat and operator.concat, kept in globals of other names."""
    o = Box(log=[])
    def f(x):
        joined(o.log, [float(x.sum())])
        return x * len(o.log)
    def calls(f):
        for k in range(8):
            yield f(ramp(2) + k), list(o.log)
    return f, calls


pushed = heapq.heappush


@trap
def a_heap_by_another_name():
    """heapq.heappush works on a list past its methods."""
    best = []
    def f(x):
        pushed(best, -float(x.sum()))
        return x * best[0]
    def calls(f):
        for k in (3, 1, 4, 1, 5, 9, 2, 6):
            yield f(ramp(2) + k), list(best)
    return f, calls


started = random.Random


@trap
def a_generator_is_seeded_by_another_name():
    """random.Random and random.seed want Python's own numbers."""
    o = Box(seed=0)
    def f(x):
        o.seed += 1
        return x * started(o.seed).random()
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), o.seed
    return f, calls


@trap
def who_is_alive_by_another_name():
    """gc.get_objects, sys.getrefcount and weakref.ref under names of one's own."""
    def f(x):
        y = x * 2
        w = weakly(y)
        few = holders(y) < 10
        del y
        gone = w() is None
        return x + few + 2 * gone + 4 * (len(everything()) > 10)
    def calls(f):
        for _ in range(6):
            yield f(ramp(2))
    return f, calls


@trap
def methods_called_as_what_watches():
    """enable, freeze and ref of a user class are not those of gc and weakref."""
    class Layer:
        scale = 2.0
        def freeze(self): self.scale = self.scale + 1
        def ref(self): return self.scale
        def finalize(self, x): return x * self.ref()
    layer = Layer()
    def f(x):
        layer.freeze()
        return layer.finalize(x)
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), layer.scale
    return f, calls


higher = map


@trap
def a_map_by_another_name():
    """A C function that acts is given to a map of another name."""
    log = collections.deque()
    def f(x):
        list(higher(log.append, (1, 2)))
        return x * len(log)
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), list(log)
    return f, calls


@trap
def an_attribute_called_base():
    """`_base` of a user object, and of tensors that are views and are none."""
    class Scaled:
        def __init__(self): self._base = 2.0
    o = Scaled()
    def f(x):
        y = x[1:]
        return x * o._base + (y._base is x) + 2 * (x._base is None)
    def calls(f):
        x = ramp(4)
        for value in (2.0, 3.0):
            o._base = value
            yield from thrice(lambda: f(ramp(3)))
        yield from thrice(lambda: f(x[1:]))
        yield from thrice(lambda: f(x))
    return f, calls


@trap
def the_base_of_a_tensor_from_outside():
    """A tensor that is reached becomes a view of another."""
    o = Box(w=ramp(4), of=ramp(8))
    def f(x): return x * 2 if o.w._base is o.of else x - 1
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        o.w = o.of[:4]
        yield from thrice(lambda: f(ramp(2)))
        o.of = ramp(8)
        yield from thrice(lambda: f(ramp(2)))
        o.w = ramp(4)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def self_is_a_number():
    """A function that is no method has a parameter called self, and asks for its type."""
    o = Box(n=1)
    def doubled(self): return self * 2 if type(self) is int else self * 3
    def f(x):
        o.n += 1
        return x * doubled(o.n)
    def calls(f):
        for _ in range(8):
            yield f(ramp(2)), o.n
    return f, calls


@trap
def tried_code_calls_what_looks_like_ours():
    """The branch of a cond that is not taken counts in a module that calls itself whet.ops.mine."""
    names = {"__name__": "whet.ops.mine", "count": 0}
    source = "def step(x):\n    global count\n    count += 1\n    return x * count\n"
    exec(compile(source, "/site/whet/ops/mine.py", "exec"), names)  # noqa: S102
    def f(x): return whet.cond(x.sum() > 0, lambda x: x + 1, names["step"], (x,))
    def calls(f):
        for sign in (1, 1, 1, -1, -1, 1, -1):
            yield f(ramp(2) * sign), names["count"]
    return f, calls


@trap
def a_record_made_of_text():
    """A function that was written as records are, with a global that counts."""
    made = []
    class Tuple(tuple):
        @staticmethod
        def __new__(kind, values):
            made.append(1)
            return tuple.__new__(kind, values)
    names = {"_tuple_new": Tuple.__new__, "__builtins__": {}, "__name__": "namedtuple_Pair"}
    new = eval("lambda _cls, a, b: _tuple_new(_cls, (a, b))", names)  # noqa: S307
    holder = types.SimpleNamespace(make=[new])
    def f(x):
        pair = holder.make[0](Tuple, x, x)
        return pair[0] + len(made)
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), len(made)
    return f, calls
