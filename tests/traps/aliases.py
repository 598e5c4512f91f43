"""One memory under several names: arrays, views, given results, tensors in sets and as keys."""

import numpy as np
import whet

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


# ---- memory --------------------------------------------------------------------------------------
@trap
def a_tensor_from_numpy_is_written_to_between():
    """from_numpy shares: the array changes, then is replaced behind the same name."""
    a = np.arange(3, dtype=np.float32)
    t = whet.from_numpy(a)
    def f(x): return x * t
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        a[:] = 7
        yield from thrice(lambda: f(ramp(3)))
        a[1] = np.nan
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def broadcast_views_are_written_to():
    """In-place on an expanded tensor is an error; on what it was expanded from it is seen by
    all."""
    def f(row, x):
        wide = row.expand(3, 2)
        row.add_(x)
        return wide * 1, wide.sum(0)
    def g(x):
        wide = x.expand(3, 2)
        wide.add_(1)
        return wide
    def calls(f):
        row = ramp(2)
        for _ in range(4):
            yield f(row, ramp(2)), row
        yield outcome(lambda: g(ramp(2)))
    return f, calls


@trap
def views_of_inputs_go_out_and_are_written_to():
    """What comes back is the argument's memory, at every call."""
    def f(x): return x[1:], x.view(2, 2), x.T if x.ndim == 2 else x.reshape(-1, 1), x * 2
    def calls(f):
        for _ in range(4):
            x = ramp(4)
            a, b, c, d = f(x)
            a.add_(10)
            c.mul_(2)
            yield x, b, d, shares(x, a), a._version
    return f, calls


@trap
def results_into_given_memory():
    """out= of an argument, of a captured tensor and of a slice."""
    store = whet.zeros(4)
    def f(x, out):
        whet.add(x, 1, out=out)
        whet.mul(x[:2], 3, out=store[:2])
        return out * 2
    def calls(f):
        out = whet.zeros(4)
        for k in range(5):
            yield f(ramp(4) * k, out), out, store
        store.zero_()
        yield f(ramp(4), store), store
    return f, calls


@trap
def detach_shares_and_keeps_count():
    """x.detach() written to raises when x is differentiated; versions are one."""
    def f(x):
        y = x * x
        x.detach().add_(1)
        return y
    def calls(f):
        for _ in range(4):
            x = leaf(2)
            y = f(x)
            yield outcome(lambda: y.sum().backward()), x, x._version
    return f, calls


@trap
def two_names_for_one_tensor():
    """o.a is o.b, until one of them is a copy."""
    o = Box(a=ramp(2))
    o.b = o.a
    def f(x):
        o.a.add_(x)
        return o.b * 2, o.a is o.b
    def calls(f):
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
        o.b = o.a.clone()
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
        o.b = o.a
        yield from thrice(lambda: (f(ramp(2)), o.a, o.b))
    return f, calls


@trap
def tensors_are_keys_and_members():
    """A dict and a set of parameters, by identity."""
    a, b = ramp(2), ramp(2) * 3
    rates = {a: 0.1, b: 0.5}
    chosen = {a}
    def f(x): return [x * rates[p] + (p if p in chosen else 0) for p in (a, b)]
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        rates[b] = 0.7
        yield from thrice(lambda: f(ramp(2)))
        chosen.add(b)
        yield from thrice(lambda: f(ramp(2)))
        chosen.discard(a)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def containers_are_compared_by_identity():
    """`is` between lists that are one, or two that are equal."""
    o = Box()
    o.a = o.b = [1.0]
    def f(x, p, q): return x * 2 if o.a is o.b else x - 1, x * 3 if p is q else x - 2
    def calls(f):
        p = [ramp(1)]
        yield from thrice(lambda: f(ramp(2), p, p))
        o.b = [1.0]
        yield from thrice(lambda: f(ramp(2), p, [ramp(1)]))
        o.b = o.a
        yield from thrice(lambda: f(ramp(2), p, p))
    return f, calls


@trap
def a_base_is_asked_for():
    """x._base is y: does one tensor show another's memory?"""
    def f(x, y): return x * 2 if x._base is y else x - 1
    def calls(f):
        y = ramp(4)
        v = y[:2]
        yield from thrice(lambda: f(v, y))
        yield from thrice(lambda: f(ramp(2), y))
        yield from thrice(lambda: f(v, ramp(4)))
        yield from thrice(lambda: f(y[:2], y))
    return f, calls


@trap
def the_place_in_memory_is_compared():
    """x.data_ptr() == y.data_ptr(), as code for tied weights does."""
    def f(x, y): return x * 2 if x.data_ptr() == y.data_ptr() else x + y
    def calls(f):
        x, y = ramp(2), ramp(2)
        yield from thrice(lambda: f(x, x.detach()))
        yield from thrice(lambda: f(x, y))
        yield from thrice(lambda: f(y, y[:]))
    return f, calls
