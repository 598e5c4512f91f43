"""Structures of arguments and results: None, dict, dataclass, *args, **kwargs, callables, and
objects that are no tensors."""
import collections
import dataclasses
import enum
import types
from typing import Any, NamedTuple

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


@trap
def none_or_a_tensor():
    """An argument that is there on some calls only."""
    def f(x, mask=None, bias=None):
        y = x if mask is None else x * mask
        return y + 1 if bias is None else y + bias
    def calls(f):
        for args in ((), (ramp(3),), (None, ramp(3)), (ramp(3), None), (ramp(3), 0.0)):
            yield from thrice(lambda: f(ramp(3), *args))
    return f, calls


@trap
def a_dict_of_arguments():
    """Keys that come, go and change their order; a nested one."""
    def f(batch): return ({k: v * i for i, (k, v) in enumerate(batch.items()) if k != "meta"},
                          batch.get("meta", {}).get("scale", 1) * batch["x"])
    def calls(f):
        x, y = ramp(2), ramp(3)
        for batch in ({"x": x, "y": y}, {"y": y, "x": x}, {"x": x},
                      {"x": x, "y": y, "meta": {"scale": 3}}, {"x": y, "meta": {"scale": x[0]}}):
            yield from thrice(lambda: f(batch))
    return f, calls


@trap
def a_key_is_missing():
    """KeyError comes with the key."""
    def f(batch): return batch["x"] + batch["y"]
    def calls(f):
        for names in ("xy", "x", "yx", "z"):
            yield from thrice(lambda: outcome(lambda: f({n: ramp(2) for n in names})))
    return f, calls


@trap
def a_dataclass_goes_in_and_out():
    """Fields that are tensors, numbers and None; a frozen one as the result."""
    @dataclasses.dataclass
    class Batch:
        x: Any
        weight: float = 1.0
        mask: Any = None
    @dataclasses.dataclass(frozen=True)
    class Output:
        y: Any
        n: int
    def f(b): return Output(b.x * b.weight if b.mask is None else b.x.masked_fill(b.mask, 0.0),
                            len(b.x))
    def calls(f):
        for b in (Batch(ramp(3)), Batch(ramp(3), 2.0), Batch(ramp(3), mask=ramp(3) > 1),
                  Batch(ramp(2))):
            yield from thrice(lambda: f(b))
        b = Batch(ramp(3))
        for b.weight in (1.0, 5.0):
            yield from thrice(lambda: f(b))
    return f, calls


@trap
def a_named_tuple_goes_in_and_out():
    """Its type is part of the result, and two of them with equal fields are different
    structures."""
    class Pair(NamedTuple):
        a: Any
        b: Any
    Other = collections.namedtuple("Other", "a b")
    def f(p): return type(p)(p.b * 2, p.a), isinstance(p, Pair)
    def calls(f):
        for p in (Pair(ramp(2), ramp(3)), Other(ramp(2), ramp(3)), Pair(ramp(2), 1.0)):
            yield from thrice(lambda: f(p))
    return f, calls


@trap
def as_many_arguments_as_one_likes():
    """*args and **kwargs; the order of keywords is the caller's."""
    def f(*xs, **named):
        y = sum(xs)
        for k, v in named.items():
            y = y * v + len(k)
        return y, list(named)
    def calls(f):
        yield from thrice(lambda: f(ramp(2), ramp(2)))
        yield from thrice(lambda: f(ramp(2), ramp(2), ramp(2)))
        yield from thrice(lambda: f(ramp(2), a=ramp(2), bb=3.0))
        yield from thrice(lambda: f(ramp(2), bb=3.0, a=ramp(2)))
        yield from thrice(lambda: f())
    return f, calls


@trap
def keywords_with_awkward_names():
    """self, f, fn, args, kwargs and name are names like any other."""
    def f(self, fn=1.0, args=2.0, /, name=3.0,
          **kwargs): return (self * fn + args * name + sum(kwargs.values()))
    def calls(f):
        yield from thrice(lambda: f(ramp(2), 2.0, name=4.0))
        yield from thrice(lambda: f(ramp(2), self=ramp(2), fn=5.0, args=1.0, kwargs=2.0,
                                    function=3.0))
    return f, calls


@trap
def by_position_or_by_name():
    """The same call written in two ways, and two calls that look alike with names exchanged."""
    def f(a, b, *, c=0.0): return a - b * 2 + c
    def calls(f):
        x, y = ramp(2), -ramp(2)
        for call in (lambda: f(x, y), lambda: f(a=x, b=y), lambda: f(b=x, a=y),
                     lambda: f(x, b=y, c=1.0), lambda: f(x, c=y, b=1.0)):
            yield from thrice(call)
    return f, calls


@trap
def arguments_that_do_not_fit():
    """Too many, too few, unknown: Python's own TypeError with the function's own name."""
    def f(x, y=1.0): return x * y
    def calls(f):
        for call in (lambda: f(ramp(2)), lambda: f(), lambda: f(ramp(2), 1, 2),
                     lambda: f(ramp(2), z=3), lambda: f(ramp(2), x=1), lambda: f(ramp(2))):
            yield from thrice(lambda: outcome(call))
    return f, calls


@trap
def tuples_are_no_lists():
    """The same tensors in a list, a tuple, a deque, nested in another way."""
    def f(xs): return (type(xs).__name__,
                       [x * 2 if isinstance(x, whet.Tensor) else len(x) for x in xs],
                       xs[:1] if isinstance(xs, tuple) else None)
    def calls(f):
        a, b = ramp(2), ramp(3)
        for xs in ([a, b], (a, b), collections.deque([a, b]), [a, [b]], [[a, b]], ((a, b), ()), []):
            yield from thrice(lambda: f(xs))
    return f, calls


@trap
def a_string_is_an_option():
    """Strings, enums and dtypes choose what is done."""
    Kind = enum.Enum("Kind", "SUM MEAN")
    def f(x, reduction, kind, dtype):
        y = F.mse_loss(x, x * 2, reduction=reduction).to(dtype)
        return y.sum() if kind is Kind.SUM else y.mean()
    def calls(f):
        for option in (("mean", Kind.SUM, whet.float32), ("none", Kind.SUM, whet.float32),
                       ("none", Kind.MEAN, whet.float64), ("sum", Kind.SUM, whet.half)):
            yield from thrice(lambda: f(ramp(3), *option))
        yield outcome(lambda: f(ramp(3), "product", Kind.SUM, whet.float32))
    return f, calls


@trap
def slices_and_ranges():
    """Indices as arguments: slices, Ellipsis, None, ranges, tuples of them, negative ones."""
    def f(x, i): return x[i] * 2
    def calls(f):
        for i in (slice(1, None), slice(None, None, 2), ..., None, (0, slice(0, 2)), (..., -1),
                  [0, 1], range(2), True, (slice(-2, None), None), 1):
            yield from thrice(lambda: outcome(lambda: f(ramp(3, 4), i)))
    return f, calls


@trap
def a_callable_is_an_argument():
    """Functions of whet, lambdas, modules and bound methods; equal code with another closure."""
    layer = nn.Linear(2, 2)
    def scaled(n): return lambda x: x * n
    class Gain:
        gain = 3.0
        def up(self, x): return x * self.gain
    def f(x, act): return act(x) + 1
    def calls(f):
        gain = Gain()
        for act in (whet.exp, F.relu, scaled(2.0), scaled(3.0), layer, gain.up, whet.Tensor.neg):
            yield from thrice(lambda: f(ramp(2), act))
        gain.gain = 5.0
        yield from thrice(lambda: f(ramp(2), gain.up))
    return f, calls


@trap
def the_result_is_the_argument_itself():
    """A container that was given comes back: the same object, with a tensor put into it."""
    def f(batch, xs):
        batch["y"] = batch["x"] * 2
        xs.append(batch["y"] + 1)
        return batch, xs
    def calls(f):
        for _ in range(4):
            batch, xs = {"x": ramp(2)}, []
            a, b = f(batch, xs)
            yield a is batch, b is xs, batch, xs
        yield from thrice(lambda: f(batch, xs))
    return f, calls


@trap
def arguments_are_taken_out():
    """pop and del change the caller's containers at each call."""
    def f(queue, options):
        x = queue.pop(0) * options.pop("scale", 1.0)
        del queue[-1:]
        return x
    def calls(f):
        for _ in range(4):
            queue, options = [ramp(2), ramp(3), ramp(4)], {"scale": 2.0}
            yield f(queue, options), queue, options
            yield f(queue, options), queue, options
    return f, calls


@trap
def one_list_is_given_every_time():
    """The object is the same, what is in it is not."""
    xs, n = [ramp(2)], Box(scale=1.0)
    def f(xs, n): return sum(xs) * n.scale
    def calls(f):
        yield from thrice(lambda: f(xs, n))
        xs[0] = ramp(2) * 5
        yield from thrice(lambda: f(xs, n))
        xs.append(ramp(2))
        yield from thrice(lambda: f(xs, n))
        n.scale = 3.0
        yield from thrice(lambda: f(xs, n))
    return f, calls


@trap
def an_iterator_is_an_argument():
    """Generators, zip and dict views are used up, or are alive."""
    def f(xs): return sum(x * i for i, x in enumerate(xs, 1)) if xs is not None else 0
    def calls(f):
        for _ in range(4):
            g = (ramp(2) * k for k in range(3))
            first = next(g)
            yield first, f(g), list(g)
        d = {"a": ramp(2)}
        yield from thrice(lambda: f(d.values()))
        d["b"] = ramp(2)
        yield from thrice(lambda: f(d.values()))
    return f, calls


@trap
def an_array_is_an_argument():
    """NumPy arrays and scalars: read at each call, and written to."""
    def f(x, a):
        y = x * whet.as_tensor(a)
        a += 1
        return y, a.dtype.name
    def calls(f):
        for a in (np.ones(3, np.float32), np.ones(3), np.arange(3), np.ones((2, 3))):
            yield from thrice(lambda: (f(ramp(3), a), a.copy()))
    return f, calls


@trap
def a_tensor_of_a_subclass():
    """Parameters, Buffers and classes of one's own, that do or do not stay what they are."""
    class Mine(whet.Tensor):
        def double(self): return self * 2
    def f(x): return x * 3, x, type(x).__name__, x.double() if isinstance(x, Mine) else x
    def calls(f):
        for x in (ramp(2), nn.Parameter(ramp(2)), ramp(2).as_subclass(Mine),
                  nn.Parameter(ramp(2), requires_grad=False), leaf(2)):
            yield from thrice(lambda: (f(x), f(x)[1] is x))
    return f, calls


@trap
def an_object_with_a_strange_equality():
    """__eq__ that lies or raises, and no hash: a guard must not ask it."""
    class Odd:
        __hash__ = None
        def __init__(self, n): self.n = n
        def __eq__(self, other): raise ArithmeticError("not comparable")
    class Liar(Odd):
        def __eq__(self, other): return True
    def f(x, o): return x * o.n
    def calls(f):
        for o in (Odd(1), Odd(2), Liar(1), Liar(2)):
            yield from thrice(lambda: f(ramp(2), o))
    return f, calls


@trap
def numbers_and_strings_of_ones_own():
    """Subclasses of int, float and str carry methods and attributes with equal values."""
    class Steps(int):
        unit = 1.0
        def scale(self): return self * self.unit
    class Name(str):
        suffix = ""
    def f(x, n, s): return (x * (n.scale() if isinstance(n, Steps) else n),
                            s + getattr(s, "suffix", "?"))
    def calls(f):
        a, b = Steps(2), Steps(2)
        b.unit, tail = 10.0, Name("s")
        tail.suffix = "!"
        for n, s in ((2, "s"), (a, "s"), (b, "s"), (b, Name("s")), (b, tail), (2, tail)):
            yield from thrice(lambda: f(ramp(2), n, s))
    return f, calls


@trap
def the_same_container_twice():
    """Sharing between arguments: one list given as two, one tensor in two places of a dict."""
    def f(a, b):
        a.append(ramp(1))
        return len(b), sum(x.sum() for x in b), a is b
    def calls(f):
        for _ in range(3):
            xs, ys = [ramp(2)], [ramp(2)]
            yield f(xs, ys), xs, ys
        for _ in range(3):
            xs = [ramp(2)]
            yield f(xs, xs), xs
    return f, calls


@trap
def no_tensor_comes_in():
    """Only numbers in, and tensors out; then no tensors at all."""
    def f(n, make): return whet.arange(n) * 0.5 if make else n * 2
    def calls(f):
        for n, make in ((3, True), (4, True), (3, False), (4, False), (3, True)):
            yield from thrice(lambda: f(n, make))
    return f, calls


@trap
def a_structure_as_deep_as_one_likes():
    """Trees of lists and dicts, walked by recursion."""
    def walk(t, d=1): return t * d if isinstance(t, whet.Tensor) else {k: walk(v, d + 1) for k, v in t.items()} if isinstance(t, dict) else \
        type(t)(walk(v, d + 1) for v in t) if isinstance(t, (list, tuple)) else t
    def f(tree): return walk(tree)
    def calls(f):
        for tree in ([ramp(1), {"a": (ramp(2), None, "s")}], [ramp(1), {"a": (ramp(2), 1.0, "s")}],
                     {"b": [[[[ramp(1)]]]]}, (), [ramp(1), {}]):
            yield from thrice(lambda: f(tree))
    return f, calls


@trap
def outputs_of_all_kinds():
    """Numbers, strings, types, ranges, sets and the shape beside the tensors."""
    def f(x): return (x.shape, x.dtype, x.device, {1, "a"}, range(len(x)), b"\x00", x * 1, type(x),
                      slice(0, len(x)), None, ..., np.float32(1.5), 1j)
    def calls(f):
        for x in (ramp(2), ramp(3), ramp(2).double()):
            yield from thrice(lambda: [v for v in f(x) if v is not ...])
    return f, calls


@trap
def a_method_of_several_objects(trace):
    """trace on a method in a class: each instance has its own attributes."""
    class Scaler:
        def __init__(self, scale): self.scale, self.calls = scale, 0
        @trace
        def apply(self, x):
            self.calls += 1
            return x * self.scale
    a, b = Scaler(2.0), Scaler(3.0)
    def f(x): return a.apply(x), b.apply(x), a.calls + b.calls
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a.scale = 7.0
        yield from thrice(lambda: f(ramp(2)))
        yield from thrice(lambda: Scaler.apply(b, ramp(2)))
    return f, calls


@trap
def a_bound_method_and_a_callable_object(trace):
    """What is traced is o.method of one object, and an object with __call__."""
    class Gain:
        gain = 2.0
        def up(self, x): return x * self.gain
        def __call__(self, x, n=1): return x + self.gain * n
    o = Gain()
    called = trace(o)
    def calls(up):
        for o.gain in (2.0, 5.0):
            yield from thrice(lambda: (up(ramp(2)), called(ramp(2)), called(ramp(2), n=2)))
    return o.up, calls


@trap
def static_and_class_methods(trace):
    """The class is an argument, too, and its attributes change."""
    class Base:
        k = 2.0
        @staticmethod
        @trace
        def plain(x): return x + 1
        @classmethod
        def scaled(cls, x): return x * cls.k
    class Child(Base):
        k = 3.0
    scaled = trace(Child.scaled)
    def f(x): return Base.scaled(x), Child.scaled(x), Base.plain(x)
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), scaled(ramp(2))))
        Child.k = 9.0
        yield from thrice(lambda: (f(ramp(2)), scaled(ramp(2))))
    return f, calls


@trap
def a_traced_function_calls_another(trace):
    """Nested traces, with an in-place effect and a number of the outside in the inner one."""
    state = types.SimpleNamespace(scale=2.0, total=whet.zeros(2))
    @trace
    def inner(x):
        state.total.add_(x)
        return x * state.scale
    def f(x): return inner(inner(x)) + state.total
    def calls(f):
        for state.scale in (2.0, 3.0):
            yield from thrice(lambda: (f(ramp(2)), inner(ramp(2)), state.total))
    return f, calls


@trap
def results_share_with_the_closure_and_the_arguments():
    """One tuple of results: an argument, a view of it, a captured tensor, and something new."""
    w = ramp(3)
    def f(x, xs): return [x, x[1:], w, w[:2], x + w, xs, (xs[0],)]
    def calls(f):
        for _ in range(4):
            x, xs = ramp(3), [ramp(2)]
            r = f(x, xs)
            r[1].zero_()
            r[3].add_(1)
            r[6][0].fill_(7)
            yield r, x, w, xs, r[5] is xs, r[2] is w, shares(r[4], x)
    return f, calls
