"""NumPy arrays: as arguments, in containers, outside of the function, of a tensor's memory, written
to, looked at, exchanged, changed in place."""
import collections
import dataclasses
import math

import numpy as np
import whet

from .harness import Box, leaf, outcome, ramp, thrice, trap


def picks(*i):
    """An index."""
    return np.array(i)


@trap
def fresh_indices():
    """x[idx] with another array each time, and one that is out of range."""
    def f(x, idx): return x[idx] * 2
    def calls(f):
        for i in range(5):
            yield f(ramp(4, 2), picks(i % 4, 1, (2 * i) % 3))
        yield outcome(lambda: f(ramp(4, 2), picks(0, 1, 4)))
        yield f(ramp(4, 2), picks(0, -1, 3))
    return f, calls


@trap
def an_index_array_is_changed_in_place():
    """The same array with other numbers."""
    def f(x, idx): return x[idx].sum(), x.index_select(0, whet.from_numpy(idx))
    def calls(f):
        idx = picks(0, 1, 2)
        for i in range(6):
            idx[i % 3] = i % 4
            yield f(ramp(4, 2), idx)
    return f, calls


@trap
def an_index_array_outside_is_changed_in_place():
    """One that a global names, an attribute holds and a list has."""
    o, table, many = Box(idx=picks(0, 1)), picks(2, 3), [picks(1, 1)]
    def f(x): return x[o.idx] + x[table] - x[many[0]]
    def calls(f):
        for i in range(6):
            yield f(ramp(4, 2))
            o.idx[0], table[1], many[0][i % 2] = i % 4, (3 * i) % 4, i % 3
        o.idx = picks(3, 3)
        yield from thrice(lambda: f(ramp(4, 2)))
        many[0] = picks(0, 2)
        yield from thrice(lambda: f(ramp(4, 2)))
    return f, calls


@trap
def an_array_of_constants():
    """A tensor over an array that the call makes: the array is written to, and so is the tensor."""
    def f(x, which):
        a = np.array([1.0, 2.0, 3.0])
        t = whet.from_numpy(a)
        y = x + t
        if which == 1:
            a[0] = 5
        elif which == 2:
            t.add_(1)
        elif which == 3:
            a *= 2
        elif which == 4:
            t[0] = x[0]
        return y, x + t, a.sum()
    def calls(f):
        for which in range(5):
            yield from thrice(lambda: f(ramp(3).double(), which))
    return f, calls


@trap
def arrays_of_constants_that_are_seen():
    """Tensors over such arrays are returned, kept, and given as memory; somebody writes to them."""
    o, p = Box(kept=None, array=None), whet.nn.Parameter(whet.zeros(3).double())
    def f(x, which):
        a = np.array([1.0, 2.0, 3.0])
        t = whet.from_numpy(a)
        if which == 1:
            o.kept = t
        elif which == 2:
            p.data = t
        elif which == 3:
            o.array = a
        return x + t if which else (x + t, t[1:], a)
    def calls(f):
        x = ramp(3).double()
        for which in range(4):
            for i in range(3):
                y = f(x, which)
                if which == 0:
                    y[1].add_(i)
                elif which == 1:
                    o.kept.add_(i)
                elif which == 2:
                    p.data.add_(i)
                else:
                    o.array[0] = i
                yield y, o.kept, o.array, p.detach()
    return f, calls


@trap
def arrays_behind_methods():
    """What methods, properties and views give to from_numpy changes between calls."""
    class Holder:
        a = np.array([1.0, 2.0, 3.0])
        def __init__(self): self.rows = {"k": [np.arange(6.0).reshape(2, 3)]}
        def __getitem__(self, k): return self.rows[k][0][1]
        @property
        def doubled(self): return self.a * 2
    h = Holder()
    def f(x): return x + whet.from_numpy(h["k"]) + whet.from_numpy(h.doubled)
    def calls(f):
        for i in range(4):
            yield from thrice(lambda: f(ramp(3).double()))
            h.rows["k"][0][1, 0] = i + 10
            Holder.a[i % 3] += 1
    return f, calls


@trap
def one_array_twice():
    """f(a, a) after f(a, b), with a write to the first."""
    def f(a, b):
        a += 1
        return whet.from_numpy(b) * 2, a is b
    def calls(f):
        for _ in range(3):
            yield f(np.ones(3), np.zeros(3))
        a = np.ones(3)
        yield from thrice(lambda: (f(a, a), a))
        yield from thrice(lambda: f(np.ones(3), np.zeros(3)))
    return f, calls


@trap
def arrays_that_overlap():
    """Two windows of one memory; the first is written to."""
    def f(a, b):
        a[1:] = a[:-1] * 2
        return whet.from_numpy(b) + 0, b.sum()
    def calls(f):
        m = np.arange(8.0)
        yield from thrice(lambda: f(np.arange(4.0), np.arange(4.0)))
        yield from thrice(lambda: (f(m[:4], m[2:6]), m))
        yield from thrice(lambda: (f(m[2:6], m[:4]), m))
        yield from thrice(lambda: (f(m[:4], m[4:]), m))
    return f, calls


@trap
def an_array_shows_a_tensors_memory():
    """t.numpy() beside t: writes through one are seen in the other."""
    def f(t, a):
        a += 1
        u = t * 2
        t.mul_(3)
        return u, whet.from_numpy(a) - 1, a.sum()
    def calls(f):
        t = ramp(3)
        yield from thrice(lambda: (f(ramp(3), np.ones(3, np.float32)), 0))
        yield from thrice(lambda: (f(t, t.numpy()), t))
        u = ramp(4)
        yield from thrice(lambda: (f(u[1:], u.numpy()[:3]), u))
    return f, calls


@trap
def the_dtype_of_an_array_changes():
    """float32, float64, ints, truth values, another byte order, read-only, strided."""
    def f(a): return whet.as_tensor(a) * 2, whet.tensor(a).stride(), a.mean()
    def calls(f):
        a = np.arange(6).reshape(2, 3)
        for x in (a.astype("f4"), a.astype("f8"), a, a > 2, a.astype("i2"), a.T, a[:, ::2],
                  a.astype("f4")):
            yield from thrice(lambda: outcome(lambda: f(x)))
        yield from thrice(lambda: outcome(lambda: f(a.astype(">f4"))))
        b = a.astype("f4")
        b.flags.writeable = False
        yield from thrice(lambda: f(b))
    return f, calls


@trap
def the_form_of_an_array_changes_in_place():
    """a.shape = ... of an array outside."""
    a = np.arange(6.0, dtype=np.float32)
    def f(x): return x + whet.from_numpy(a).sum() + len(a), a.shape
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a.shape = (2, 3)
        yield from thrice(lambda: f(ramp(2)))
        a.shape = (3, 2)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def arrays_in_containers():
    """A batch as a dict, a tuple, a list, a dataclass and a named tuple, which are handed back."""
    Pair = collections.namedtuple("Pair", "a b")
    @dataclasses.dataclass
    class Batch:
        x: np.ndarray
        n: int
    def f(d, t, many, batch, pair):
        d["new"] = d["x"] * 2
        many.append(many[0])
        batch.x = batch.x + 1
        return (d, t, many, batch, pair, t[0] is pair.a,
                whet.as_tensor(t[0]) + whet.from_numpy(d["x"]))
    def calls(f):
        for i in range(5):
            a, b = np.arange(3.0) + i, np.ones(3) * i
            d, t, many, batch, pair = {"x": b}, (a, 1), [a], Batch(b, 2), Pair(a, b)
            out = f(d, t, many, batch, pair)
            yield (out, d, t, many, batch, pair, out[0] is d, out[1] is t, out[2] is many,
                   out[1][0] is a, many[1] is a, batch.x is b)
    return f, calls


@trap
def python_decides_by_an_array():
    """if a.max() > 1: for i in a: while a[0] < 3."""
    def f(x, a):
        if a.max() > 1:
            x = x * 2
        for i in a:
            x = x + float(i)
        n = 0
        while a[0] + n < 3:
            n += 1
        return x, n, bool((a > 0).all()), 1.0 in a, int(a[1]), a.tolist()
    def calls(f):
        for v in (0, 0, 0, 2, 2, -1, 0):
            yield f(ramp(2), np.array([v, 1.0]))
    return f, calls


@trap
def an_array_is_given_back():
    """As it came, a view of it, a copy, one of its numbers, computed ones, and one that was there
    before."""
    table = np.arange(4.0)
    def f(a): return (a, a[1:], a.copy(), a[0], a.sum(), a.argsort(), table, table[1:3],
                      {"a": a * 2}, (a > 1)[0])
    def calls(f):
        for i in range(5):
            a = np.array([2.0, 1.0, i])
            out = f(a)
            yield out, out[0] is a, np.shares_memory(out[1],
                                                     a), np.shares_memory(
                                                         out[2], a), out[6] is table
            out[1][0], out[7][0] = 7, i
            yield a, table
    return f, calls


@trap
def an_array_is_written_to_inside():
    """Items, slices, masks, places, methods, out=, in-place operators, and what reads it
    afterwards."""
    def f(a, b, m):
        a[0] = b.sum()
        a[1:3] = b[:2]
        a[m] += 1
        a[np.array([0, 3])] = -b[:2]
        np.add(a, 1, out=a)
        np.copyto(b, a[:3])
        c = a[::-1]
        a.sort() if len(a) > 9 else None
        b.fill(2)
        return whet.from_numpy(a) * 1, a.sum(), c.sum()
    def calls(f):
        for i in range(5):
            a, b, m = np.arange(5.0) + i, np.ones(3) * i, np.arange(5) % 2 == i % 2
            yield f(a, b, m), a, b
        a.flags.writeable = False
        yield outcome(lambda: f(a, b, m)), a, b
    return f, calls


@trap
def a_window_and_then_a_write():
    """A reversed view, a row by a number of the array's, and a write to what they show."""
    def f(a, i):
        r, row = a[::-1], a[i[0]]
        a[0] = 9
        return r.sum(), row + 1, whet.from_numpy(a.copy())
    def calls(f):
        for k in range(4):
            a = np.arange(6.0).reshape(3, 2)
            yield f(a, np.array([k % 3])), a
    return f, calls


@trap
def a_tensor_over_an_array_is_written_to_inside():
    """from_numpy(a).add_(1): the array has it; and the other way round."""
    a = np.zeros(3, np.float32)
    def f(x, b):
        t, u = whet.from_numpy(a), whet.as_tensor(b)
        t.add_(x)
        v = t * 2
        b[0] = a[1]
        u.mul_(2)
        return v, a.sum(), u + 0, t._version, b
    def calls(f):
        for i in range(5):
            b = np.ones(3, np.float32) * i
            yield f(ramp(3), b), a, b
        a[:] = 0
        yield f(ramp(3), b), a, b
    return f, calls


@trap
def a_tensor_over_an_array_comes_out():
    """from_numpy(a) is returned: it shares the memory of this call's array."""
    held = np.zeros(2)
    def f(a): return (whet.from_numpy(a), whet.from_numpy(a)[1:], whet.tensor(a),
                      whet.from_numpy(held))
    def calls(f):
        for i in range(5):
            a = np.ones(2) * i
            out = f(a)
            out[0][0], out[3][1] = 7, i
            yield a, out, held
    return f, calls


@trap
def gradients_and_arrays():
    """Weights, targets and indices as arrays of a step that learns."""
    w = leaf(4, 2)
    opt = whet.optim.SGD([w], lr=0.1)
    def f(x, idx, advantage):
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        loss = (w[idx] * whet.as_tensor(x)[idx]
                * whet.tensor(advantage, dtype=whet.float32)[:, None]).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()
    def calls(f):
        for i in range(6):
            yield f(np.arange(8, dtype=np.float32).reshape(4, 2) + i, picks(i % 4, 2),
                    np.array([i, 1.0])), w
    return f, calls


@trap
def what_numpy_makes_of_a_tensor():
    """t.numpy() and np.asarray(t) inside: computed on, decided by, kept."""
    def f(x):
        a = x.numpy()
        b = np.asarray(x * 2)
        best = int((x * 3).detach().cpu().numpy().argmax())
        return whet.from_numpy(a * 2), b.mean(), np.sort(b)[::-1].copy(), best, a
    def calls(f):
        for i in range(5):
            x = ramp(3) * i
            out = f(x)
            out[-1][0] = 5
            yield out, x
        yield outcome(lambda: f(leaf(3)))
    return f, calls


@trap
def arrays_are_state():
    """Attributes that hold another array each time, and that the function exchanges."""
    o = Box(obs=np.zeros(2), n=0)
    def f(x):
        y = x + whet.as_tensor(o.obs, dtype=whet.float32)
        o.obs = o.obs * 0.5 + 1
        return y
    def calls(f):
        for _ in range(6):
            yield f(ramp(2)), o.obs
        for i in range(4):
            o.obs = np.ones(2) * i
            yield f(ramp(2)), o.obs
        o.obs = np.ones(3)
        yield outcome(lambda: f(ramp(2)))
        o.obs = np.ones(1, np.float32)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def an_argument_is_what_is_outside():
    """The array that the function reaches is given to it, too; then another one."""
    o = Box(a=np.arange(3.0))
    def f(a):
        a += 1
        return whet.from_numpy(o.a) * 2, a is o.a
    def calls(f):
        yield from thrice(lambda: f(o.a))
        yield from thrice(lambda: f(np.zeros(3)))
        yield from thrice(lambda: f(o.a))
        yield o.a
    return f, calls


@trap
def numbers_of_numpy():
    """Results that are np.float32 and np.int64: types, text, arithmetic, as keys, as sizes."""
    def f(x, a):
        m, i = a.max(), a.argmax()
        d = {int(i): 1.0}
        return (x * float(m), x * m, type(m).__name__, f"{m:.2f}", m ** 2 + 1, round(float(m), 1),
                d, x[:i + 1], whet.zeros(int(i) + 1), m)
    def calls(f):
        for i in range(5):
            yield f(ramp(3), np.array([1, i, 2], np.float32))
    return f, calls


@trap
def numpy_warns_by_the_data():
    """1 / a where a has a zero, at some calls."""
    def f(x, a): return x + whet.as_tensor(1 / a, dtype=whet.float32)
    def calls(f):
        for i in (1, 2, 3, 0, 1, 0, 2):
            yield f(ramp(2), np.array([i, 1.0]))
    return f, calls


@trap
def shapes_that_depend_on_an_array():
    """np.nonzero, masks and np.unique."""
    def f(a): return (whet.from_numpy(a[a > 1]), np.nonzero(a)[0], np.unique(a),
                      whet.from_numpy(np.flatnonzero(a)) + 1)
    def calls(f):
        for v in (0, 0, 0, 2, 2, 2, 3, 0):
            yield f(np.array([v, 1.0, 2.0]))
    return f, calls


@trap
def an_array_is_emptied_into_c():
    """bytes(a), memoryview(a), sum(a), sorted(a), max(a), np.array([a, b]), list(a), a in a tuple
    outside."""
    table = (np.arange(3.0), 2)
    def f(x, a):
        return (x * len(bytes(a)), memoryview(a).nbytes, sum(a), sorted(a), max(a),
                np.array([a, a * 2]), list(a), table[0].sum())
    def g(x, a): return (x, sum(a), sorted(a), max(a), np.array([a, a * 2]), list(a),
                         np.stack([a, table[0]]), table[0].sum())
    def both(x, a, first): return f(x, a) if first else g(x, a)
    def calls(both):
        for first in (True, False):
            for i in range(4):
                yield both(ramp(2), np.array([i, 1.0, 2.0]), first)
            table[0][0] = 5
    return both, calls


@trap
def a_replay_buffer():
    """Rows are written where a position says, and read back by an index."""
    o = Box(obs=np.zeros((8, 2), np.float32), reward=np.zeros(8), at=0)
    def f(x, idx):
        o.obs[o.at], o.reward[o.at] = x.numpy(), float(x.sum())
        o.at = (o.at + 1) % 8
        return whet.as_tensor(o.obs[idx]).sum(1) * whet.as_tensor(o.reward[idx], dtype=whet.float32)
    def calls(f):
        for i in range(12):
            yield f(ramp(2) * i, picks(i % 8, 0, 7)), o.obs, o.reward, o.at
    return f, calls


@trap
def an_array_stays_behind():
    """In a list, a dict and a variable outside, and in an object that the function made."""
    kept, last = [], {}
    def f(a):
        kept.append(a * 2)
        last["a"] = a
        b = Box(a=a + 1)
        return b.a.sum()
    def calls(f):
        for i in range(5):
            a = np.ones(2) * i
            yield f(a), kept, last, last["a"] is a
    return f, calls


@trap
def numbers_of_numpy_meet_tensors():
    """On either side, by operators, comparisons and NumPy's functions, in a list, as an option."""
    def f(x, y):
        a = y.numpy()
        total, most = a.sum(), a.max()
        v = most
        v *= x
        return (total * x, x * total, total - x, total ** x, total < x, (-total) / x, v,
                np.multiply(total, x), np.float32(2) * most + x, a[0] % x,
                whet.tensor([total, 1.0]) + x[:2], y.double().numpy().mean() * x.half())
    def calls(f):
        for i in range(6):
            yield f(ramp(3) + 1, ramp(4) * (i - 2) + 1)
    return f, calls


@trap
def arrays_of_numpy_meet_tensors():
    """What NumPy made of a tensor's memory, beside tensors: by operators and by NumPy's
    functions."""
    def f(x, y):
        a = y.numpy()
        return (a * x, x + np.exp(a), (a * 2) @ x, (a > 0.5) * x, np.maximum(a, 1) - x,
                np.where(a.sum() > 3, 1.0, 2.0) * x, round(a.mean(), 1) * x,
                divmod(a.sum(), a.max() + 1)[1] * x, divmod(7, a[0] + 9),
                x * math.trunc(a.astype(float).sum()), x * math.ceil(a[0]), math.floor(a.max()))
    def calls(f):
        for i in range(6):
            yield f(ramp(3) + 1, ramp(3) * (i - 2) + 1)
    return f, calls


@trap
def elements_are_written_by_indices_of_all_kinds(trace):
    """Lists, truth values and tuples of them select copies, which are not what is written to."""
    def by_lists(a):
        a[[0, 1]] = 5
        a[[0, 3]] += 1
        a[[0, 1]], a[[2, 3]] = a[[2, 3]], a[[0, 1]]
        return a
    def by_lists_of_made(a):
        b = np.sqrt(a)
        b[[1, 0]] *= 3
        b[[True, False, False, True]] = a[[1, 2]]
        return b
    def by_all_kinds(a):
        b = a.reshape(2, 2) * 2
        b[[0, 1], [1, 0]] -= 5
        b[([0, 1],)] += 2
        b[0, [1]] = 3
        b[True] += 4
        b[1:][0] = a[:2]
        b[..., None, 0] -= 1
        b[np.int64(1)][0] = 8
        return b
    functions = [trace(f) for f in (by_lists, by_lists_of_made, by_all_kinds)]
    def calls(_):
        for k in range(4):
            for f in functions:
                a = np.arange(4.0) + k
                yield f(a), a
    return by_lists, calls
