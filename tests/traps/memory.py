"""In-place on inputs, views and captured tensors; outputs that are inputs, or views of them."""

import whet

from tests.traps.harness import leaf, ramp, shares, thrice, trap


@trap
def an_input_is_written_to():
    """The caller's tensor has to change, at each call."""
    def f(x): return x.add_(1).mul_(2).sum()
    def calls(f):
        x = ramp(3)
        for _ in range(5):
            yield f(x), x, x._version > 0
    return f, calls


@trap
def a_view_of_an_input_is_written_to():
    """Rows, columns, diagonals: the base has to change."""
    def f(x):
        x[0].mul_(3)
        x[:, 1] = 7
        x.diagonal().neg_()
        return x.sum(0)
    def calls(f):
        for x in (ramp(2, 2), ramp(3, 3), ramp(3, 3), ramp(3, 3).t(), ramp(3, 6)[:, ::2]):
            yield from thrice(lambda: (f(x), x))
    return f, calls


@trap
def a_view_is_the_argument():
    """Writing to a view that was given reaches a base that was not."""
    def f(v): return v.exp_().sum()
    def calls(f):
        base = ramp(4, 4)
        for v in (base[0], base[1], base[2], base[:, 3], base.t()[1], base[::2, ::2]):
            yield f(v), base, v
    return f, calls


@trap
def a_captured_tensor_counts():
    """An accumulator of the outside."""
    total, n = whet.zeros(3), whet.tensor(0)
    def f(x):
        total.add_(x)
        n.add_(1)
        return total / n
    def calls(f):
        for k in range(6):
            yield f(ramp(3) * k), total, n
        total.zero_()
        n.zero_()
        yield from thrice(lambda: (f(ramp(3)), total, n))
    return f, calls


@trap
def a_row_of_a_captured_table_is_written_to():
    """A cache that is filled at a position that moves."""
    cache = whet.zeros(4, 2)
    def f(x, i):
        cache[i] = x
        return cache[: i + 1].sum(0)
    def calls(f):
        for k, i in enumerate((0, 1, 2, 3, 3, 3, 3, 0, 0, 0)):
            yield f(ramp(2) + k, i), cache
    return f, calls


@trap
def the_same_tensor_twice():
    """a.add_(b) with b a: compiled for two tensors, called with one."""
    def f(a, b):
        a.mul_(2)
        return a + b
    def calls(f):
        yield from thrice(lambda: f(ramp(3), ramp(3)))
        for _ in range(3):
            x = ramp(3)
            yield f(x, x), x
        yield from thrice(lambda: f(ramp(3), ramp(3)))
    return f, calls


@trap
def overlapping_views_are_given():
    """x[1:] and x[:-1]: a write to the one is seen in the other."""
    def f(a, b):
        a.add_(10)
        c = b * 2
        b.zero_()
        return c, a.sum()
    def calls(f):
        for make in (lambda x: (x[:3], x[3:]), lambda x: (x[1:4], x[:3]), lambda x: (x[:3], x[1:4]),
                     lambda x: (x[::2], x[1::2]), lambda x: (x[:3], x[:3]),
                     lambda x: (x[:3], x[:3].flip(0)),
                     lambda x: (x.view(2, 3)[0], x.view(3, 2)[:, 0])):
            for _ in range(3):
                x = ramp(6)
                yield f(*make(x)), x
    return f, calls


@trap
def a_captured_tensor_is_given_as_well():
    """The argument is, or overlaps, what the closure holds."""
    w = ramp(4)
    def f(x):
        x.add_(1)
        return w * x[0]
    def calls(f):
        yield from thrice(lambda: (f(ramp(4)), w))
        yield from thrice(lambda: (f(w), w))
        yield from thrice(lambda: (f(w[2:]), w))
        yield from thrice(lambda: (f(w.detach()), w))
    return f, calls


@trap
def what_is_written_is_what_the_closure_reads():
    """The closure's tensor is read before and after the argument is written to, which was another
    and now lies in its memory."""
    w = ramp(4)
    def f(x):
        y = w * 2
        x.add_(1)
        return w * 3 + y
    def calls(f):
        yield from thrice(lambda: (f(ramp(4)), w))
        yield from thrice(lambda: (f(w.detach()), w))
        yield from thrice(lambda: (f(w.detach().flip(0)), w))
        yield from thrice(lambda: (f(whet.from_numpy(w.numpy())), w))
    return f, calls


@trap
def copies_between_overlapping_places():
    """A shift within one memory, by one statement and by two views."""
    def f(x):
        x[1:] = x[:-1].clone()
        x[:, 1:].copy_(x[:, :-1] * 2)
        x[0].add_(1)
        return x.sum()
    def calls(f):
        x = ramp(3, 3)
        for _ in range(5):
            yield f(x), x
    return f, calls


@trap
def two_arguments_are_swapped():
    """a, b = b, a by contents: an order of write-backs that goes wrong."""
    def f(a, b):
        t = a.clone()
        a.copy_(b)
        b.copy_(t)
    def calls(f):
        a, b = ramp(3), -ramp(3)
        for _ in range(4):
            yield f(a, b), a, b
        yield from thrice(lambda: (f(a, a), a))
    return f, calls


@trap
def the_output_is_the_input():
    """return x: the same object, not a copy of it."""
    def f(x, y): return x, y * 2
    def calls(f):
        for _ in range(5):
            x, y = ramp(3), ramp(2)
            a, b = f(x, y)
            a.add_(1)
            yield a is x, x, b
    return f, calls


@trap
def the_output_is_a_view_of_the_input():
    """Written to after the call, it changes the input, and the other way round."""
    def f(x): return (x[1:], x.t() if x.ndim == 2 else x.view(-1, 1),
                      x.unsqueeze(0).expand(3, *x.shape))
    def calls(f):
        for shape in ((3,), (2, 3)):
            for _ in range(3):
                x = ramp(*shape)
                views = f(x)
                views[0].zero_()
                x[0] = 9
                yield x, views, [shares(v, x) for v in views], [v.stride() for v in views]
    return f, calls


@trap
def outputs_share_memory():
    """y and y[0] and y twice: one memory, and one object."""
    def f(x):
        y = x * 2
        return y, y[0], y, y.view(-1)
    def calls(f):
        for _ in range(4):
            y, row, again, flat = f(ramp(2, 2))
            row.add_(100)
            yield y, row, flat, y is again, shares(y, row), shares(y, flat)
    return f, calls


@trap
def the_output_is_a_captured_tensor():
    """return self.buffer: the buffer itself."""
    w = ramp(3)
    def f(x):
        w.add_(x)
        return w, w[:2]
    def calls(f):
        for _ in range(5):
            a, b = f(ramp(3))
            b.mul_(2)
            yield a is w, shares(b, w), w
    return f, calls


@trap
def results_are_kept_by_the_caller():
    """A buffer that is used again at the next call would change an old result."""
    def f(x): return x * 2, (x + 1).sum()
    def calls(f):
        kept = [f(ramp(4) * k) for k in range(5)]
        yield kept
        kept[2][0].zero_()
        yield kept, f(ramp(4)), len({a.data_ptr() for a, _ in kept})
    return f, calls


@trap
def a_result_is_fed_back():
    """The last output is the next input, and is written to on the way."""
    def f(h): return (h * 0.5).tanh() + 1
    def calls(f):
        h = ramp(3)
        for _ in range(6):
            h = f(h)
            h[0] += 1
            yield h
    return f, calls


@trap
def data_is_written_to():
    """x.data and x.detach() are other tensors over the same memory, outside of autograd's
    book-keeping."""
    w = leaf(3)
    def f(x):
        w.data.mul_(0.5)
        w.detach()[0] = 4
        return (w * x).sum()
    def calls(f):
        for _ in range(5):
            y = f(ramp(3))
            y.backward()
            yield y, w, w.requires_grad
    return f, calls
