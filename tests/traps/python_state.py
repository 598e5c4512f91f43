"""Closures, globals, attributes, defaults, containers and counters that change between calls."""
import array
import collections
import enum
import functools
import itertools
import types

import numpy as np
import whet
import whet.nn.functional as F

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


@trap
def a_closed_over_number_changes():
    """A number of the enclosing function is baked into the program."""
    scale = 2.0
    def f(x): return x * scale
    def calls(f):
        nonlocal scale
        yield from thrice(lambda: f(ramp(3)))
        scale = 3.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_global_number_changes():
    """A global of the module is baked in."""
    def f(x): return x * SCALE
    def calls(f):
        global SCALE
        for SCALE in (2.0, 3.0, 2.0):  # noqa: B007
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_global_function_is_replaced():
    """What a called function computes is recorded, which function it is goes unnoticed."""
    def f(x): return activation(x) + 1
    def calls(f):
        global activation
        for activation in (whet.exp, whet.sin, lambda x: x.relu() * 2):  # noqa: B007
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_global_appears_and_goes():
    """That a name does not exist is a fact that was read, too."""
    def f(x):
        try:
            return x * SOMETIMES
        except NameError as e:
            return x, str(e)
    def calls(f):
        global SOMETIMES
        yield from thrice(lambda: f(ramp(3)))
        SOMETIMES = 5.0
        yield from thrice(lambda: f(ramp(3)))
        del SOMETIMES
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_global_is_read_by_a_name_made_at_run_time():
    """globals()[...] is not in the names of the code."""
    def f(x): return x + globals()["_".join(["OFFSET", "A"])]
    def calls(f):
        global OFFSET_A
        for OFFSET_A in (1.0, 7.0):  # noqa: B007
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_attribute_chain_changes_in_the_middle():
    """config.model.scale: the leaf is unchanged, the object in between is another one."""
    config = Box(model=Box(scale=2.0))
    def f(x): return x * config.model.scale
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        config.model = Box(scale=4.0)
        yield from thrice(lambda: f(ramp(3)))
        config.model.scale = 5.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_instance_attribute_hides_the_class_one():
    """The lookup found the class's value once; later the instance has its own."""
    class Config: gain = 2.0
    c = Config()
    def f(x): return x * c.gain
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        Config.gain = 3.0
        yield from thrice(lambda: f(ramp(3)))
        c.gain = 4.0
        yield from thrice(lambda: f(ramp(3)))
        del c.gain
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_property_computes_from_hidden_state():
    """The property's own state is what must be watched, not the property."""
    class Schedule:
        step = 1
        @property
        def rate(self): return 1.0 / self.step
    s = Schedule()
    def f(x): return x * s.rate
    def calls(f):
        for s.step in (1, 2, 4):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_attribute_is_made_on_demand():
    """__getattr__ answers from a dict that changes."""
    class Lazy:
        def __init__(self): self.__dict__["store"] = {"a": 2.0}
        def __getattr__(self, name): return self.store[name]
    lazy = Lazy()
    def f(x): return x * lazy.a
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        lazy.store["a"] = 3.0
        yield from thrice(lambda: f(ramp(3)))
        lazy.a = 9.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def slots_change():
    """An object without a __dict__ has state all the same."""
    class Point:
        __slots__ = ("a",)
    p = Point()
    def f(x): return x + p.a
    def calls(f):
        for p.a in (1.0, 2.0, 3):
            yield from thrice(lambda: f(ramp(3)))
        del p.a
        yield outcome(lambda: f(ramp(3)))
    return f, calls


@trap
def an_object_changes_its_class():
    """The same object, the same attributes, another method."""
    class A:
        def act(self, x): return x.exp()
    class B(A):
        def act(self, x): return x.sin()
    o = A()
    def f(x): return o.act(x)
    def calls(f):
        for o.__class__ in (A, B, A):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_method_is_replaced():
    """On the class, then on the instance."""
    class Layer:
        def act(self, x): return x + 1
    layer = Layer()
    def f(x): return layer.act(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        Layer.act = lambda self, x: x + 2
        yield from thrice(lambda: f(ramp(3)))
        layer.act = lambda x: x + 3
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def defaults_are_replaced():
    """Values in __defaults__ and __kwdefaults__ are read at each call."""
    def f(x, a=2.0, *, b=1.0): return x * a + b
    original = f
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        original.__defaults__ = (3.0,)
        yield from thrice(lambda: f(ramp(3)))
        original.__kwdefaults__ = {"b": 10.0}
        yield from thrice(lambda: f(ramp(3)))
        yield f(ramp(3), b=0.0)
    return f, calls


@trap
def a_mutable_default_grows():
    """def f(x, seen=[]): the list outlives the call."""
    def f(x, seen=[]):  # noqa: B006
        seen.append(len(seen))
        return x * len(seen), list(seen)
    def calls(f):
        for _ in range(6):
            yield f(ramp(3))
    return f, calls


@trap
def a_function_keeps_its_own_counter():
    """f.calls lives on the function itself."""
    def f(x):
        f.calls += 1
        return x * f.calls
    f.calls = 0
    original = f
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), original.calls
    return f, calls


@trap
def the_code_of_a_function_is_replaced():
    """Same function object, other __code__."""
    def helper(x): return x + 1
    def f(x): return helper(x) * 2
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        helper.__code__ = (lambda x: x - 1).__code__
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def closures_of_the_same_code(trace):
    """Two functions with one code object and different cells must not share a program."""
    def make(scale):
        def f(x): return x * scale
        return f
    double, treble = make(2.0), trace(make(3.0))
    def calls(double):
        for _ in range(4):
            yield double(ramp(3)), treble(ramp(3))
    return double, calls


@trap
def one_function_traced_twice(trace):
    """Two traces of the same function see the same changes."""
    scale = Box(value=2.0)
    def f(x): return x * scale.value
    other = trace(f)
    def calls(f):
        for scale.value in (2.0, 3.0):
            yield from thrice(lambda: (f(ramp(3)), other(ramp(3))))
    return f, calls


@trap
def a_nonlocal_counter_counts():
    """A rebinding of the enclosing scope's name has to happen at each call."""
    count = 0
    def f(x):
        nonlocal count
        count += 1
        return x * count
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), count
    return f, calls


@trap
def an_iterator_is_consumed():
    """next(counter) changes the counter; a list iterator even ends."""
    count, few = itertools.count(1), iter([1.0, 2.0, 3.0, 4.0])
    def f(x): return x * next(count) + next(few)
    def calls(f):
        for _ in range(6):
            yield outcome(lambda: f(ramp(3)))
        yield next(count)
    return f, calls


@trap
def a_list_that_is_walked_grows():
    """for s in scales: the number of rounds was a fact about the list."""
    scales = [2.0, 0.5]
    def f(x):
        for s in scales:
            x = x * s + 1
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        scales.append(3.0)
        yield from thrice(lambda: f(ramp(3)))
        scales[0] = -1.0
        yield from thrice(lambda: f(ramp(3)))
        scales.clear()
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_number_changes_its_type_only():
    """2, 2.0 and True compare equal, but an int tensor's result has another dtype."""
    box = Box(n=1)
    def f(x): return x * box.n
    def calls(f):
        for box.n in (1, 1.0, True, 1 + 0j, np.float64(1), np.int8(1), 1):
            yield from thrice(lambda: f(whet.arange(4)))
    return f, calls


@trap
def a_zero_changes_its_sign():
    """0.0 == -0.0, and x * -0.0 has other bits."""
    box = Box(n=0.0)
    def f(x): return x * box.n, whet.full((2,), box.n).sign() / box.n if box.n else 1 / (x * box.n)
    def calls(f):
        for box.n in (0.0, -0.0, 0.0, 0, False):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_number_that_is_nan():
    """nan != nan: a guard of == never holds, one of `is` holds by chance."""
    box = Box(n=float("nan"))
    def f(x): return x + box.n if box.n == box.n else x - 1
    def calls(f):
        for box.n in (float("nan"), 2.0, float("nan"), float("inf") - float("inf")):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_dict_changes_its_order():
    """The same keys and values in another order: walking it gives another result."""
    table = {"mul": 2.0, "add": 3.0}
    def f(x):
        for name, n in table.items():
            x = getattr(x, name)(n)
        return x
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        table["mul"] = table.pop("mul")
        yield from thrice(lambda: f(ramp(3)))
        table["sub"] = 1.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def membership_in_a_set_changes():
    """`in` reads the container without reading a value."""
    active = {"relu"}
    def f(x): return x.sub(1).relu() if "relu" in active else x.sub(1)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        active.clear()
        yield from thrice(lambda: f(ramp(3)))
        active.update({"relu", "tanh"})
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def only_the_length_is_read():
    """len(queue) decides; the elements are never looked at."""
    queue = collections.deque([object()], maxlen=4)
    def f(x): return x / len(queue)
    def calls(f):
        for _ in range(6):
            yield f(ramp(3))
            queue.append(object())
    return f, calls


@trap
def a_sentinel_is_compared_by_identity():
    """Two equal objects, of which one is the sentinel."""
    sentinel, other = [1], [1]
    box = Box(mode=sentinel)
    def f(x): return x + 1 if box.mode is sentinel else x - 1
    def calls(f):
        for box.mode in (sentinel, other, sentinel):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def an_enum_member_changes():
    """Modes kept as an enum."""
    Mode = enum.Enum("Mode", "UP DOWN")
    box = Box(mode=Mode.UP)
    def f(x): return x * {Mode.UP: 2, Mode.DOWN: 0.5}[box.mode]
    def calls(f):
        for box.mode in (Mode.UP, Mode.DOWN, Mode.UP):
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_string_that_says_what_to_do_changes():
    """The equation of einsum and the name of a method come from strings."""
    box = Box(equation="ij,jk->ik", name="exp")
    def f(a, b): return getattr(whet.einsum(box.equation, a, b) * 0.1, box.name)()
    def calls(f):
        for box.equation, box.name in (("ij,jk->ik", "exp"), ("ij,jk->ki", "exp"), ("ij,ij->j", "sin")):
            yield from thrice(lambda: f(ramp(3, 3), ramp(3, 3)))
    return f, calls


@trap
def partial_arguments_change():
    """functools.partial carries its arguments in a dict that can be written to."""
    def g(x, scale, shift=0.0): return x * scale + shift
    f = functools.partial(g, scale=2.0)
    original = f
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        original.keywords["scale"] = 5.0
        yield from thrice(lambda: f(ramp(3)))
        yield from thrice(lambda: f(ramp(3), shift=1.0))
    return f, calls


@trap
def a_dispatch_table_changes():
    """Functions in a dict are looked up at each call."""
    ops = {"a": whet.exp, "b": lambda x: x + 1}
    def f(x, name): return ops[name](x)
    def calls(f):
        yield from thrice(lambda: (f(ramp(3), "a"), f(ramp(3), "b")))
        ops["a"], ops["b"] = ops["b"], ops["a"]
        yield from thrice(lambda: (f(ramp(3), "a"), f(ramp(3), "b")))
    return f, calls


@trap
def a_shape_is_kept_in_a_list():
    """view(*shape) with the shape in a list that changes."""
    shape = [2, 3]
    def f(x): return x.view(*shape).sum(0)
    def calls(f):
        yield from thrice(lambda: f(ramp(6)))
        shape[:] = [3, 2]
        yield from thrice(lambda: f(ramp(6)))
        shape[:] = [-1]
        yield from thrice(lambda: f(ramp(6)))
    return f, calls


@trap
def a_numpy_array_is_written_to():
    """A captured array is data of the outside: it is read afresh at each call."""
    table = np.arange(3.0, dtype=np.float32)
    def f(x): return x * whet.tensor(table) + float(table[1])
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        table[:] = [5, 6, 7]
        yield from thrice(lambda: f(ramp(3)))
        table[1] = -1
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_numpy_array_behind_a_tensor_is_written_to():
    """from_numpy shares memory: writes that whet never sees."""
    table = np.arange(3.0, dtype=np.float32)
    t = whet.from_numpy(table)
    def f(x): return x * t, t.sum()
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        table[:] += 10
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def buffers_of_bytes_change():
    """array.array and bytearray are containers, too."""
    numbers, raw = array.array("d", [1.0, 2.0]), bytearray(b"\x01\x02")
    def f(x): return x * numbers[0] + raw[1] + sum(numbers)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        numbers[0], raw[1] = 3.0, 9
        yield from thrice(lambda: f(ramp(3)))
        numbers.append(1.0)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_captured_tensor_is_another_one():
    """The cell holds another tensor: alike, of another dtype, shape, with a gradient; a number."""
    w = ramp(3)
    def f(x): return x * w
    def calls(f):
        nonlocal w
        for w in (w, ramp(3) + 1, ramp(3, dtype=whet.float64), ramp(1), ramp(2, 3), leaf(3), whet.tensor(2), 3.0):  # noqa: B007, B020
            yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_closed_over_name_is_deleted():
    """An empty cell is a NameError in the function, at the next call."""
    w = ramp(3)
    def f(x): return x * w
    def calls(f):
        nonlocal w
        yield from thrice(lambda: f(ramp(3)))
        del w
        yield outcome(lambda: f(ramp(3)))
        w = ramp(3) * 2  # noqa: F841
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_library_function_is_patched():
    """F.relu is an attribute of a module, and modules can be written to."""
    def f(x): return F.relu(x - 1)
    def calls(f):
        before = F.relu
        yield from thrice(lambda: f(ramp(4)))
        try:
            F.relu = lambda x: x.abs() + 100
            yield from thrice(lambda: f(ramp(4)))
        finally:
            F.relu = before
        yield from thrice(lambda: f(ramp(4)))
    return f, calls


@trap
def a_module_of_settings_is_edited():
    """Settings in a module object of one's own, read in a helper two calls down."""
    settings = types.ModuleType("settings")
    settings.EPS = 1e-3
    def normalise(x): return x / (x.std() + settings.EPS)
    def g(x): return normalise(x) + 1
    def f(x): return g(x)
    def calls(f):
        for settings.EPS in (1e-3, 10.0, 1e-3):
            yield from thrice(lambda: f(ramp(5)))
    return f, calls


@trap
def evaluated_text_reads_the_outside():
    """eval looks names up where no analysis of the code sees them."""
    space = {"k": 2.0}
    def f(x): return eval("x * k + 1", space, {"x": x})
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        space["k"] = 3.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_tuple_holds_a_list_that_changes():
    """An immutable container of mutable ones: same object, same hash of ids, other content."""
    levels = ([1.0], [2.0, 3.0])
    def f(x): return sum((x * n for level in levels for n in level), whet.zeros(3))
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        levels[1].pop()
        yield from thrice(lambda: f(ramp(3)))
        levels[0][0] = 7.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_hidden_number_is_read_with_vars():
    """vars(o), o.__dict__[...] and object.__getattribute__ go round the usual lookup."""
    o = Box(a=1.0, b=2.0, c=3.0)
    def f(x): return x * vars(o)["a"] + o.__dict__.get("b", 0.0) - object.__getattribute__(o, "c")
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        o.a = 4.0
        yield from thrice(lambda: f(ramp(3)))
        del o.b
        yield from thrice(lambda: f(ramp(3)))
        o.c = 0.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls
