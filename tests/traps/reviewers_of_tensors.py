"""Programs of somebody who does not believe it: what tensors, arrays and numbers
are like at the edge."""
import enum
import random
import threading

import numpy as np
import whet
from whet import nn
from whet.nn import functional as F

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, state, thrice, trap


@trap
def arrays_from_outside_are_written_by_many_ways():
    """A view of the array, from_numpy's memory, a frombuffer and a memoryview."""
    a = np.arange(4.0)
    shared, raw = np.zeros(3, np.float32), bytearray(8)
    t, b = whet.from_numpy(shared), np.frombuffer(raw, np.float64)
    def f(x): return x * float(a[1:3].sum()) + t.sum() + float(b[0])
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a[1:3] *= 5
        yield from thrice(lambda: f(ramp(2)))
        shared[1] = 7
        yield from thrice(lambda: f(ramp(2)))
        memoryview(raw).cast("d")[0] = 2.5
        yield from thrice(lambda: f(ramp(2)))
        np.add.at(a, [1, 1], 1.0)
        yield from thrice(lambda: f(ramp(2)))
        a.resize(6, refcheck=False)
        a.shape = 2, 3
        yield from thrice(lambda: outcome(lambda: f(ramp(2))))
    return f, calls


@trap
def generators_of_all_kinds_go_on():
    """random, np.random, a RandomState and whet's own in one call, each reseeded at times."""
    own, legacy = random.Random(3), np.random.RandomState(4)
    def f(x):
        y = x * random.random() + np.random.rand() + own.gauss(0, 1) + legacy.uniform()
        return y + whet.rand(2) + random.choice([1, 2, 3])
    def calls(f):
        for k in range(8):
            if k == 4:
                random.seed(1), np.random.seed(1), whet.manual_seed(1), own.seed(1)
            yield f(ramp(2))
    return f, calls


@trap
def hooks_of_layers_come_and_go():
    """Forward, pre, full backward, a tensor's and all modules', added and removed between calls."""
    model, seen = mlp(), []
    def f(x):
        model.zero_grad()
        y = model(x)
        y.square().sum().backward()
        return y
    def calls(f):
        def some(): return f(ramp(2, 3)), list(seen), [p.grad for p in model.parameters()]
        yield from thrice(some)
        h = model[0].register_forward_hook(lambda m, i, o: o * 2)
        yield from thrice(some)
        g = model[2].register_full_backward_hook(
            lambda m, i, o: seen.append(float(o[0].sum())))
        yield from thrice(some)
        h.remove()
        yield from thrice(some)
        p = model[0].weight.register_hook(lambda g: g * 0.5)
        yield from thrice(some)
        g.remove(), p.remove()
        q = model[0].register_forward_pre_hook(lambda m, args: (args[0] + 1,))
        yield from thrice(some)
        q.remove()
        yield from thrice(some)
    return f, calls


@trap
def gradients_are_wanted_or_not():
    """requires_grad_ of a weight and of the input, no_grad around, train and eval."""
    model = mlp(nn.Dropout(0.5), nn.BatchNorm1d(4))
    def f(x): return model(x)
    def calls(f):
        for k in range(14):
            model[0].weight.requires_grad_(k % 4 != 1)
            model.train(k % 5 != 2)
            x = ramp(3, 3).requires_grad_(k % 3 == 0)
            if k % 6 == 5:
                with whet.no_grad():
                    y = f(x)
            else:
                y = f(x)
            if y.requires_grad:
                y.sum().backward()
            yield y, x.grad, [p.grad for p in model.parameters()], state(model, None)[0]
    return f, calls


@trap
def the_default_dtype_changes():
    """What zeros, tensor(1.5), arange and a division of ints give, inside and beside."""
    def f(x):
        made = whet.tensor(1.5), whet.arange(3) / 2, whet.full((2,), 1.0)
        return whet.zeros(2) + x, made, x * 1.5
    def calls(f):
        for kind in (whet.float32, whet.float64, whet.float16, whet.float32):
            whet.set_default_dtype(kind)
            for of in (whet.int64, whet.float32):
                yield from thrice(lambda: f(ramp(2).to(of)))
        whet.set_default_dtype(whet.float32)
    return f, calls


@trap
def views_of_what_lies_outside_are_written():
    """A row, a diagonal, a transposed slice, an as_strided window and a flip, in one memory."""
    base = whet.zeros(3, 3)
    row, turned = base[1], base.t()[:2]
    window = base.as_strided((2, 2), (1, 3), 1)
    def f(x):
        row.add_(x)
        base.diagonal().mul_(2)
        turned[0].sub_(1)
        window.fill_(x.sum().item())
        return base.flip(0) + row, window * 1
    def calls(f):
        for k in range(6):
            yield f(ramp(3) * k), base.clone(), row._version == base._version
        base[1].zero_()
        yield from thrice(lambda: (f(ramp(3)), base.clone()))
    return f, calls


@trap
def the_same_tensor_twice_and_its_views():
    """f(x, x), f(x, x.view), f(x, clone), in place on one of them, and as a default's element."""
    def f(a, b, c=None):
        a.add_(1)
        out = a * b
        b.mul_(2)
        return out + (0 if c is None else c[0] * 10)
    def calls(f):
        for k in range(12):
            x = ramp(3)
            y = (x, x.clone(), x.view(3), x.flip(0), x[:], whet.ones(3))[k % 6]
            c = (None, [x], (y, x))[k % 3]
            yield f(x, y, c), x, y
    return f, calls


@trap
def sizes_of_nothing():
    """Empty tensors through sums, max, cat, matmul, softmax and a backward."""
    w = leaf(3, 2)
    def f(x):
        y = whet.cat([x @ w, whet.zeros(0, 2)])
        y.sum().backward()
        return (y, y.sum(0), y.mean(), F.softmax(y, 0), y.prod(), outcome(lambda: y.max())[0]
                if y.numel() == 0 else y.max(), whet.nonzero(y > 1))
    def calls(f):
        for n in (0, 0, 0, 2, 2, 2, 0, 1, 0):
            w.grad = None
            yield f(ramp(n, 3)), w.grad
    return f, calls


@trap
def strides_of_all_kinds():
    """Transposed, sliced, expanded, flipped and permuted arguments of one shape."""
    def f(x):
        y = x * 2
        return y, y.is_contiguous(), y.stride(), x.reshape(-1).exp(), x.sum(0), x.contiguous() + 1
    def calls(f):
        b = ramp(4, 4)
        forms = (b, b.t(), b[::1, :], ramp(8, 8)[::2, ::2], ramp(1, 4).expand(4, 4),
                 ramp(4, 1).expand(4, 4), b.flip(1), whet.from_numpy(b.numpy()[::-1].copy()),
                 ramp(4, 2, 4)[:, 1], b.as_strided((4, 4), (1, 1)))
        for x in (*forms, *forms, *forms[:3]):
            yield f(x)
    return f, calls


@trap
def branches_on_strange_numbers():
    """NaN, inf, -0.0 and the smallest: comparisons, copysign, max and sorting go their own ways."""
    def f(x):
        y = x[0]
        if y > 0:
            out = x * 2
        elif y < 0:
            out = x - 1
        elif y == 0:
            out = x.sign() + (1 if str(y.item())[0] == "-" else 2)
        else:
            out = x.nan_to_num(3.0)
        return out, 1 / x, x.max(), x.argmax(), x.sort()[0], whet.maximum(x, -x)
    def calls(f):
        for v in (1.0, 0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, -1e-45, -0.0,
                  0.0, 1.0, float("nan"), 1.0):
            x = whet.tensor([v, 1.0, -2.0])
            yield f(x)
    return f, calls


@trap
def integers_that_overflow():
    """int8, uint8 and int64 wrap; Python's do not; shifts and negative powers and divisions."""
    def f(x, k):
        y = x * x + x
        return (y, x << 1, y // 3, y % -3, k * k, outcome(lambda: x * (k * k))[-1 if k > 9 else 0]
                if k > 9 else x * k, x.sum(), abs(x.min()))
    def calls(f):
        for kind in (whet.int8, whet.uint8, whet.int16, whet.int64):
            for k in (3, 3, 3, 5):
                yield f(whet.tensor([100, 127, 1, 0]).to(kind), k)
        for _ in range(3):
            yield f(whet.tensor([2**62, -2**63, 2**63 - 1]), 3)
    return f, calls


@trap
def ints_beyond_64_bits():
    """As an argument, an attribute, a counter that grows past 2**63, a seed of a hash."""
    o = Box(n=2**62)
    def f(x, k):
        o.n *= 2
        return x * (o.n % 1000) + float(k % 7), k + 1, -k // 3
    def calls(f):
        for k in (2**63 - 1, 2**63, 2**64, 2**64, 2**64, -2**63 - 1, 10**30, 5, 5):
            yield f(ramp(2), k), o.n
    return f, calls


@trap
def equal_arguments_of_other_types():
    """1, 1.0, True, np.int64(1), np.float32(1), an IntEnum of 1, and a 0-d array of it."""
    class One(enum.IntEnum):
        A = 1
    values = (1, 1.0, True, np.int64(1), np.float32(1), One.A, np.array(1), whet.tensor(1), 1 + 0j)
    def f(x, k): return x * k, x + k, type(k).__name__, str(k), isinstance(k, int)
    def calls(f):
        for k in (*values, *values[::-1], *values[:3] * 2):
            for of in (whet.int32, whet.float32):
                yield f(ramp(2).to(of), k)
    return f, calls


@trap
def out_arguments_of_all_kinds():
    """out= of another size, of an input itself, of a view, and of a tensor from outside."""
    kept, base = whet.zeros(3), whet.zeros(2, 3)
    def f(x, how):
        if how == 0:
            return whet.add(x, 1, out=kept)
        if how == 1:
            return whet.mul(x, 2, out=x)
        if how == 2:
            return whet.exp(x, out=base[1])
        y = whet.empty(3)
        whet.sub(x, 1, out=y)
        return whet.cumsum(y, 0, out=y)
    def calls(f):
        for how in (0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 0, 2):
            x = ramp(3)
            y = f(x, how)
            yield y, x, kept.clone(), base.clone(), y is x, y is kept, y._version
    return f, calls


@trap
def threads_that_share_one_step():
    """Four threads at once, each with its own input and its own size."""
    w = whet.ones(3, 3)
    def f(x):
        y = (x @ w).relu()
        return y.softmax(-1) if y.sum() > 20 else y + 1
    def calls(f):
        for k in range(4):
            got = [None] * 4
            def work(i, k=k, got=got): got[i] = [f(ramp(i + 1, 3) * (k + i)) for _ in range(4)]
            ts = [threading.Thread(target=work, args=(i,)) for i in range(4)]
            [t.start() for t in ts], [t.join() for t in ts]
            yield got
            w.mul_(1.5)
    return f, calls


@trap
def identities_and_hashes():
    """id() and hash() of an argument and of what the call made, a set of tensors, `is`, `in`."""
    known, w = set(), whet.ones(2)
    def f(x, y):
        known.add(id(w))
        table = {x: 1, y: 2}
        z = x * 1
        return (z * len(table), x is y, id(x) == id(y), hash(x) == hash(x), len({x, y, z}), z is x,
                id(w) in known)
    def calls(f):
        x = ramp(2)
        for y in (x, ramp(2), x, x.clone(), w, x, ramp(2)):
            yield f(x, y), len(known)
    return f, calls


@trap
def texts_of_tensors():
    """repr, str, format with a spec, f-strings of items and of shapes, and print of them."""
    def f(x):
        text = f"{x.sum().item():.3f}|{x.shape}|{x.dtype!s}|{x[0]:.2f}|{len(x):>4}"
        print(text, x, sep="\n")
        return x * 2, text, repr(x), f"{x!r:>5}", "%s %r" % (x.mean().item(), tuple(x.shape))
    def calls(f):
        for k in (1, 1, 1, 2, 3, 1e-9, 1e9, float("nan"), 1):
            yield f(ramp(3) * k)
    return f, calls


@trap
def parameters_are_shared_and_replaced():
    """Tied weights, a Parameter put in place of another, .data set, a buffer that is not saved."""
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.b.weight = self.a.weight
            self.register_buffer("seen", whet.zeros(1), persistent=False)
        def forward(self, x):
            self.seen += 1
            return self.b(self.a(x)) * self.seen
    m = Tied()
    def f(x):
        y = m(x)
        y.sum().backward()
        return y
    def calls(f):
        def some(): return f(ramp(2, 3)), [(n, p, p.grad) for n, p in m.named_parameters()], m.seen
        yield from thrice(some)
        m.b.weight = nn.Parameter(ramp(3, 3))
        yield from thrice(some)
        m.a.weight.data = ramp(3, 3) * 2
        yield from thrice(some)
        m.b.weight = m.a.weight
        m.zero_grad()
        yield from thrice(some)
        m.load_state_dict({k: v * 0 + 1 for k, v in m.state_dict().items()})
        yield from thrice(some)
        m.seen = whet.ones(1) * 10
        yield from thrice(some)
    return f, calls


@trap
def numpy_and_tensors_in_turn():
    """np functions of tensors, __array__ of them, ufuncs with out=, arrays of the caller's."""
    kept = np.zeros(3, np.float32)
    def f(x, a):
        b = np.sin(a) + x.numpy()
        np.multiply(a, 2, out=kept)
        y = whet.from_numpy(b) + x
        a[0] += 1
        return y, b, np.asarray(x).sum(), kept.copy()
    def calls(f):
        a = np.arange(3, dtype=np.float32)
        for k in range(6):
            y, b, s, c = f(ramp(3) * k, a)
            yield y, b, s, c, kept.copy(), a.copy()
            b[:] = 0
            yield y
            a = a[::-1] if k == 3 else a
    return f, calls


@trap
def the_result_is_the_argument():
    """Views, slices, reshape, chunk, detach and the argument itself are returned and written."""
    def f(x):
        return x, x[0], x.view(-1), x.t(), x.detach(), list(x.chunk(2)), x.expand(1, 2, 2), x + 0
    def calls(f):
        for _ in range(5):
            x = ramp(2, 2)
            out = f(x)
            out[1].add_(10)
            out[5][1].mul_(2)
            yield x, out[0] is x, out[2], out[4], out[7], out[3]._version, x._version
            x.zero_()
            yield out[2], out[6], out[7]
    return f, calls


@trap
def versions_and_graphs_are_asked():
    """_version, grad_fn's name, next_functions, is_leaf, retains_grad, output_nr."""
    w = leaf(3)
    def f(x):
        y = (w * x).exp()
        z = y.sum()
        y.retain_grad()
        z.backward()
        x.add_(1)
        return (type(y.grad_fn).__name__ != "", y.is_leaf, y.retains_grad, y.grad, x._version,
                w._version, y.output_nr)
    def calls(f):
        for k in range(5):
            x = ramp(3)
            for _ in range(k % 3):
                x.mul_(1)
            yield f(x), w.grad.clone(), x
            if k == 3:
                with whet.no_grad():
                    w.mul_(2)
    return f, calls


@trap
def tensors_change_what_they_are():
    """requires_grad_ inside, detach_, data set, and set_ of an outside leaf."""
    o = Box(w=ramp(3))
    def f(x, k):
        w = o.w
        if k == 1:
            w.requires_grad_(not w.requires_grad)
        elif k == 2:
            w.data = w.data * 2
        elif k == 3:
            o.w = (w * 1).detach_()
        elif k == 4:
            w.grad = x * 1 if w.requires_grad else None
        return w * x, w.requires_grad, w.is_leaf
    def calls(f):
        for k in (0, 0, 1, 0, 0, 1, 1, 4, 2, 2, 2, 3, 3, 0, 1, 4, 4, 0, 1):
            yield f(ramp(3), k), o.w, o.w.grad
    return f, calls


@trap
def asks_how_many_were_found():
    """Python goes by how many elements were found, and reads none of them."""
    def f(x, m):
        y = x[m > 0].sum()
        found, = whet.where(x > 1)
        if found.shape[0] == 0:
            return x * 2 + y
        return x * 3 + y
    def calls(f):
        for k in range(24):
            x, m = ramp(6) / 8, ramp(6) - k % 5
            yield f(x + (k % 4 == 3), m)
    return f, calls
