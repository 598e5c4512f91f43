"""Memory that is written to: aliases, masks, reshapes, other types, strides made by hand."""
import gc
import weakref

import numpy as np
import whet

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


@trap
def data_is_assigned():
    """x.data = y: the object stays, its contents, and even its shape, are others."""
    w = leaf(3)
    def f(x):
        w.data = w.data * 2 + x
        return w.sum()
    def calls(f):
        for _ in range(5):
            yield f(ramp(3)), w
        w.data = ramp(1)
        yield from thrice(lambda: (f(ramp(3)), w))
    return f, calls


@trap
def an_array_of_the_tensor_is_written_to():
    """numpy() shares memory: the write goes round every operation."""
    def f(x):
        a = x.numpy()
        a[0] = 5
        np.multiply(a, 2, out=a)
        return x + 1
    def calls(f):
        for _ in range(5):
            x = ramp(3)
            yield f(x), x
    return f, calls


@trap
def an_array_keeps_hold_of_an_argument():
    """The memory of an input is written to between calls, by NumPy."""
    a = np.ones(3, np.float32)
    x = whet.from_numpy(a)
    def f(x): return x * 2, x.add_(1)
    def calls(f):
        for k in range(5):
            a[k % 3] = k * 10
            yield f(x), a
    return f, calls


@trap
def a_reshape_that_is_sometimes_a_copy():
    """Written to, x.reshape(-1) changes x if x is contiguous, and does not if it is not."""
    def f(x):
        y = x.reshape(-1)
        y[0] = 100
        return y
    def calls(f):
        for make in (lambda: ramp(2, 3), lambda: ramp(3, 2).t(), lambda: ramp(2, 6)[:, :3],
                     lambda: ramp(2, 3)):
            for _ in range(3):
                x = make()
                y = f(x)
                yield x, y, shares(x, y)
    return f, calls


@trap
def conversions_that_do_nothing():
    """contiguous(), to(), float() return the same object if there is nothing to do."""
    def f(x): return x.contiguous(), x.to(whet.float32), x.float(), x.clone(), x.expand_as(x)
    def calls(f):
        for x in (ramp(2, 3), ramp(3, 2).t(), ramp(2, 3, dtype=whet.float64), ramp(2, 3)):
            yield from thrice(lambda: [(y, y is x, shares(y, x), y.stride()) for y in f(x)])
    return f, calls


@trap
def a_masked_write():
    """x[mask] = ... writes to as many places as the data says; x[i] += 1 to a repeated place
    once."""
    def f(x, i):
        x[x > 2] = -1
        x[i] += 10
        x.index_put_((i,), whet.tensor(0.25), accumulate=True)
        return x * 2
    def calls(f):
        for i in ([0, 0, 1], [3, 3, 3], [0, 1, 2]):
            for _ in range(3):
                x = ramp(6)
                yield f(x, whet.tensor(i)), x
    return f, calls


@trap
def an_augmented_assignment():
    """x += 1 writes into the caller's tensor; x = x + 1 does not."""
    def f(x, y, n):
        x += 1
        y = y + 1
        n += 1
        return x * y * n
    def calls(f):
        for _ in range(5):
            x, y, n = ramp(3), ramp(3), 1
            yield f(x, y, n), x, y, n
    return f, calls


@trap
def the_form_of_an_argument_changes():
    """t_, unsqueeze_ and resize_ change what the tensor is, not what is in it."""
    def f(x):
        x.t_()
        x.unsqueeze_(0)
        return x * 2
    def calls(f):
        for _ in range(4):
            x = ramp(2, 3)
            y = f(x)
            yield y, x, x.shape, x.stride()
    return f, calls


@trap
def an_argument_is_resized():
    """resize_ and set_ give an argument another size, or another memory."""
    source = ramp(5)
    def f(x, y):
        x.resize_(2)
        y.set_(source)
        return x + 1
    def calls(f):
        for _ in range(4):
            x, y = ramp(2, 2), ramp(1)
            yield f(x, y), x, y, shares(y, source)
    return f, calls


@trap
def an_expanded_argument():
    """Stride 0: read like any other, but in-place writes are refused."""
    def f(x): return x.exp().sum(0), outcome(lambda: x.add_(1))[:2] if 0 in x.stride() else None
    def calls(f):
        for x in (ramp(2, 3), ramp(1, 3).expand(2, 3), ramp(2, 1).expand(2, 3), ramp(2, 3)):
            yield from thrice(lambda: (f(x), x))
    return f, calls


@trap
def chunks_are_written_to():
    """split, chunk and unbind give views, each written to in its own way."""
    def f(x):
        a, b = x.chunk(2)
        a.mul_(b)
        for i, row in enumerate(x.unbind()):
            row.add_(i)
        return x.split(1)[0] * 1, a, b
    def calls(f):
        for _ in range(5):
            x = ramp(4, 2)
            y, a, b = f(x)
            yield y, a, b, x, shares(a, x)
    return f, calls


@trap
def bits_are_seen_as_another_type():
    """view(dtype): a float's memory written to as integers."""
    def f(x):
        i = x.view(whet.int32)
        i.bitwise_xor_(-0x80000000)
        return x * 2, i
    def calls(f):
        for _ in range(4):
            x = ramp(3)
            y, i = f(x)
            yield y, i, x, shares(i.view(whet.float32), x)
    return f, calls


@trap
def strides_made_by_hand():
    """as_strided windows that overlap themselves."""
    def f(x):
        w = x.as_strided((3, 2), (1, 1))
        y = w.sum(1)
        x.as_strided((2,), (2,)).mul_(-1)
        return y, w
    def calls(f):
        for make in (lambda: ramp(4), lambda: ramp(8)[4:], lambda: ramp(4)):
            for _ in range(3):
                x = make()
                yield f(x), x
    return f, calls


@trap
def windows_beyond_what_they_are_made_of():
    """as_strided of a slice, an empty one too, shows what lies beside it, also in front of what the
    function was given."""
    def f(x):
        w = x[2:2].as_strided((2,), (1,), 1)
        y = x[3:4].as_strided((2, 2), (1, 1), 2) * w
        x[:1].as_strided((3,), (2,), 0).mul_(2)
        return y, w
    def calls(f):
        for make in (lambda: ramp(8), lambda: ramp(16)[8:], lambda: ramp(8)):
            for _ in range(3):
                x = make()
                yield f(x), x
    return f, calls


@trap
def the_parts_of_complex_numbers():
    """real and imag are views."""
    def f(z):
        z.real.add_(1)
        z.imag.zero_() if z.real.sum() > 5 else z.imag.neg_()
        return z.conj() * z
    def calls(f):
        for scale in (1, 4, 1):
            for _ in range(3):
                z = whet.complex(ramp(2) * scale, ramp(2))
                yield f(z), z
    return f, calls


@trap
def buffers_change_places():
    """self.now, self.next = self.next, self.now: two calls later all is as before."""
    s = Box(now=whet.zeros(2), next=whet.ones(2))
    first = s.now
    def f(x):
        s.next.copy_(s.now + x)
        s.now, s.next = s.next, s.now
        return s.now * 1
    def calls(f):
        for _ in range(7):
            yield f(ramp(2)), s, s.now is first, s.next is first
    return f, calls


@trap
def out_arguments():
    """out= writes into a tensor that was given, also when it is an operand."""
    def f(x, y, out):
        whet.add(x, y, out=out)
        whet.mul(out, 2, out=out)
        return out
    def calls(f):
        for _ in range(4):
            x, y, out = ramp(3), ramp(3), whet.zeros(3)
            yield f(x, y, out) is out, x, y, out
        for _ in range(4):
            x = ramp(3)
            yield f(x, x, x) is x, x
    return f, calls


@trap
def a_leaf_may_not_be_written_to():
    """The same write is an error with a gradient, and none without."""
    def f(x): return x.mul_(2) + 1
    def calls(f):
        for make in (ramp, leaf, ramp, leaf):
            for _ in range(3):
                x = make(2)
                yield outcome(lambda: f(x)), x
    return f, calls


@trap
def arguments_are_let_go():
    """A program that keeps its last inputs or outputs alive keeps their memory, too."""
    def f(x): return x * 2, x[1:]
    def calls(f):
        for _ in range(5):
            x = ramp(3)
            y, v = f(x)
            watched = [weakref.ref(t) for t in (x, y, v)]
            copies = y.clone(), v.clone()
            del x, y, v
            gc.collect()
            yield copies, [r() is None for r in watched]
    return f, calls


@trap
def an_alias_made_inside_survives():
    """A view is taken before, the base written to after: the view sees it, as does the one that was
    given."""
    def f(x):
        y = x * 1
        v = y[::2]
        y.add_(5)
        w = v * 2
        v.zero_()
        return w, y
    def calls(f):
        for shape in ((4,), (4, 2), (4,)):
            for k in range(4):
                yield f(ramp(*shape) * k)
    return f, calls


@trap
def a_write_of_what_was_read():
    """x.copy_(f(x)) twice, where every step reads what the one before wrote."""
    def f(x, y):
        x.copy_(x + y)
        y.copy_(x * y)
        x.copy_(y - x)
        return x.clone()
    def calls(f):
        x, y = ramp(3), ramp(3) * 0.1
        for _ in range(5):
            yield f(x, y), x, y
        yield from thrice(lambda: (f(x, x), x))
        yield from thrice(lambda: (f(x[:2], x[1:]), x))
    return f, calls


@trap
def a_failed_write_back_changes_nothing_else():
    """The second of two inputs cannot hold the result: what eager leaves behind, the trace leaves
    behind."""
    def f(x, y):
        x.add_(1)
        y.copy_(x)
        return y * 2
    def calls(f):
        for shape in ((3,), (2, 3), (2,), (3,)):
            for _ in range(3):
                x, y = ramp(3), whet.zeros(*shape)
                yield outcome(lambda: f(x, y)), x, y
    return f, calls


@trap
def a_matrix_times_its_own_transpose():
    """Half of the product is enough where the operands are one matrix, and not where they only
    were, or are written to in between."""
    def f(x, y):
        a = x.T @ x / 3
        x.add_(y[0, 0])
        return a, x.T @ y, x @ y.T + 1
    def calls(f):
        x, y = ramp(260, 260) / 999, ramp(260, 260) / 777
        yield from thrice(lambda: (f(x, x), x))
        yield from thrice(lambda: (f(x, y), x))
        yield from thrice(lambda: (f(x, x.detach()), x))
        yield from thrice(lambda: (f(x[:250, 5:255], x[5:255, :250]), x))
    return f, calls
