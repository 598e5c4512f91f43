"""A traced function is used like the function itself: copied, pickled, inspected, profiled, called
from elsewhere, interrupted."""
import asyncio
import copy
import cProfile
import functools
import inspect
import pickle
import sys
import threading
import warnings

import whet
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


def scaled(x, gain: float = 2.0):
    """A function of the module, to be pickled by its name."""
    return x * gain


class Net(nn.Module):
    """A small model."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)
        self.gain = 2.0

    def forward(self, x):
        return self.layer(x) * self.gain

    def wide(self, x):
        return self.forward(x) + 1


@trap
def its_signature_and_names_are_asked_for():
    """What decorators and documentation tools look at."""
    def calls(f):
        for _ in range(4):
            yield (f(ramp(2)), str(inspect.signature(f)), f.__name__, f.__doc__, f.__module__,
                   callable(f), f.__qualname__)
    return scaled, calls


@trap
def a_decorator_wraps_it():
    """functools.wraps round a traced function."""
    def calls(f):
        @functools.wraps(f)
        def louder(*args, **kwargs): return f(*args, **kwargs) + 1
        for g in (2.0, 3.0, 2.0):
            yield from thrice(lambda: louder(ramp(3), gain=g))
        yield louder.__name__, str(inspect.signature(louder))
    return scaled, calls


@trap
def it_is_copied():
    """copy.copy and copy.deepcopy of a function give the function."""
    def calls(f):
        for g in (copy.copy(f), copy.deepcopy(f), f):
            yield from thrice(lambda: g(ramp(3)))
    return scaled, calls


@trap
def it_is_pickled():
    """A pickled function comes back as one that does the same."""
    def calls(f):
        for _ in range(2):
            yield f(ramp(3)), f(ramp(3))
        yield outcome(lambda: pickle.loads(pickle.dumps(f))(ramp(3)))
    return scaled, calls


@trap
def an_object_with_a_traced_part_is_copied(trace):
    """self.step = trace(self.advance); later the object is copied deeply."""
    class Model:
        def __init__(self):
            self.gain = 2.0
            self.step = trace(self.advance)
        def advance(self, x): return x * self.gain
    m = Model()
    def calls(f):
        yield from thrice(lambda: m.step(ramp(3)))
        c = copy.deepcopy(m)
        c.gain = 5.0
        yield from thrice(lambda: (m.step(ramp(3)), c.step(ramp(3))))
    return scaled, calls


@trap
def a_module_with_a_traced_method_is_copied(trace):
    """The method is traced on the class; the copy has weights of its own."""
    class Model(Net):
        forward = trace(Net.forward)
    m = Model()
    def calls(f):
        yield from thrice(lambda: m(ramp(2, 3)))
        c = copy.deepcopy(m)
        with whet.no_grad():
            c.layer.weight.add_(1)
        yield from thrice(lambda: (m(ramp(2, 3)), c(ramp(2, 3))))
        d = pickle.loads(pickle.dumps(m.state_dict()))
        yield {k: v + 0 for k, v in d.items()}
    return scaled, calls


@trap
def a_module_is_traced():
    """The parts of the module are still there."""
    net = Net()
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        yield [n for n, _ in f.named_parameters()], list(f.state_dict()), f.training, f.gain
        f.eval()
        yield f(ramp(2, 3)), f.training, net.training
        yield from thrice(lambda: f.wide(ramp(2, 3)))
        f.load_state_dict({k: v + 1 for k, v in f.state_dict().items()})
        yield from thrice(lambda: f(ramp(2, 3)))
    return net, calls


@trap
def a_profiler_runs():
    """cProfile is on while the function is called for the first time."""
    def calls(f):
        p = cProfile.Profile()
        p.enable()
        try:
            a = f(ramp(3)), f(ramp(3))
        finally:
            p.disable()
        yield a
        yield from thrice(lambda: f(ramp(3)))
        yield sys.getprofile() is None, len(p.getstats()) > 0
    return scaled, calls


@trap
def it_is_interrupted():
    """KeyboardInterrupt in the middle: the next call is as if nothing had been."""
    stop = Box(now=False)
    def f(x):
        y = x * 2
        if stop.now:
            raise KeyboardInterrupt
        return y + 1
    def calls(f):
        for stop.now in (True, False, True, False, False, True, False):
            yield outcome(lambda: f(ramp(3)))
            yield whet.ones(2) + 1
    return f, calls


@trap
def warnings_are_errors():
    """Under -W error a refused function still does what it does."""
    log = []
    def f(x):
        log.append(x.shape[0])
        return x * 2
    def calls(f):
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            for _ in range(6):
                yield f(ramp(3)), list(log)
    return f, calls


@trap
def two_share_their_state(trace):
    """One writes what the other reads."""
    state = whet.zeros(3)
    def f(x):
        state.add_(x)
        return state * 1
    @trace
    def g(): return state * 2
    def calls(f):
        for k in range(6):
            yield f(ramp(3) * k), g(), state.clone()
    return f, calls


@trap
def a_trace_of_a_trace(trace):
    """trace(trace(f)), and a trace of a function that is traced elsewhere, too."""
    twice = trace(trace(scaled))
    outer = trace(lambda x, g: twice(x, g) + scaled(x, g))
    def calls(f):
        for g in (2.0, 3.0, 2.0):
            yield from thrice(lambda: (twice(ramp(3), g), outer(ramp(3), g), f(ramp(3), g)))
    return scaled, calls


@trap
def functions_that_call_each_other(trace):
    """Recursion through two traces."""
    box = Box()
    def even(x, n): return x if n == 0 else box.odd(x * 2, n - 1)
    def odd(x, n): return x if n == 0 else box.even(x + 1, n - 1)
    box.even, box.odd = trace(even), trace(odd)
    def calls(f):
        for n in (0, 1, 2, 3, 3, 3, 2):
            yield box.even(ramp(2), n), box.odd(ramp(2), n), f(ramp(2), n)
    return even, calls


@trap
def backward_on_another_thread():
    """Forward here, backward there."""
    w = leaf(3)
    def f(x): return (x * w).exp().sum()
    def calls(f):
        for _ in range(5):
            w.grad = None
            y = f(ramp(3))
            t = threading.Thread(target=y.backward)
            t.start(), t.join()
            yield y, w.grad
    return f, calls


@trap
def modes_of_another_thread():
    """Another thread turns its gradients off; this one's stay."""
    w = leaf(3)
    def f(x): return x * w
    def calls(f):
        def elsewhere(out):
            with whet.no_grad():
                out.append(f(ramp(3)))
        for _ in range(4):
            out = []
            t = threading.Thread(target=elsewhere, args=(out,))
            t.start(), t.join()
            yield out, f(ramp(3))
    return f, calls


@trap
def it_is_awaited():
    """Called from coroutines that take turns."""
    state = whet.zeros(3)
    def f(x):
        state.add_(x)
        return state * 1
    def calls(f):
        async def one(k):
            out = []
            for _ in range(3):
                out.append(f(ramp(3) * k))
                await asyncio.sleep(0)
            return out
        async def all_of_them(): return await asyncio.gather(one(1), one(2))
        for _ in range(2):
            yield asyncio.run(all_of_them())
    return f, calls


@trap
def zip_and_enumerate_over_tensors():
    """Rows with their numbers, in step with a list of numbers."""
    weights = [1.0, 2.0, 3.0]
    def f(x):
        y = whet.zeros(2)
        for i, (row, w) in enumerate(zip(x, weights)):
            y = y + row * w * i
        return y
    def calls(f):
        yield from thrice(lambda: f(ramp(3, 2)))
        weights.pop()
        yield from thrice(lambda: f(ramp(3, 2)))
        yield from thrice(lambda: f(ramp(1, 2)))
    return f, calls


@trap
def a_mask_with_other_numbers_of_trues():
    """x[mask] has a length of its own at each call, and a write through it, too."""
    def f(x, m):
        y = x.clone()
        y[m] = 0
        return x[m] * 2, y, m.sum(), x.masked_select(~m)
    def calls(f):
        for bits in ([1, 0, 1], [1, 1, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]):
            yield from thrice(lambda: f(ramp(3), whet.tensor(bits) == 1))
    return f, calls


@trap
def objects_that_act_like_numbers():
    """Operators of a class of one's own, on both sides of a tensor."""
    class Money:
        rate = 2.0
        def __init__(self, n): self.n = n
        def __rmul__(self, x): return x * (self.n * Money.rate)
        def __radd__(self, x): return x + self.n
    price = Money(3.0)
    def f(x): return x * price + price
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        price.n = 4.0
        yield from thrice(lambda: f(ramp(3)))
        Money.rate = 1.0
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def numbers_that_are_equal_and_differ():
    """True, 1, 1.0, a huge int, -0.0 and numbers of NumPy as arguments."""
    import numpy as np
    def f(x, n): return x * n
    def calls(f):
        for n in (1, True, 1.0, np.float32(1), np.int64(1), 1, 0.0, -0.0, 2**62, -1, float("nan"),
                  np.float64("nan"), np.bool_(True), 1 + 0j, 1):
            yield from thrice(lambda: outcome(lambda: f(whet.arange(3), n)))
    return f, calls
