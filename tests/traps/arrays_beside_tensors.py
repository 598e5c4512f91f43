"""NumPy's arrays and tensors in one call of NumPy's: places in an array, what is written there, and
functions that are no ops."""
import numpy as np
import whet

from tests.traps.harness import leaf, outcome, ramp, trap


def _table():
    return np.arange(16, dtype=np.float32).reshape(4, 4) / 4


def _of_outside(way, a):
    return lambda t, x: way(a, t, x)


def _each_of(ways, trace):
    """Traces each of the functions, with an array that is given, and with one from outside; calls
    that show what they give, and what is in the array then. Array, places and numbers change."""
    def calls(_):
        for way in ways:
            given, outside = _table(), _table()
            f = trace(way)
            g = trace(_of_outside(way, outside))
            for k in range(8):
                if k in (3, 5):
                    given += k
                    outside *= k
                t = whet.tensor([1, 2] if k < 4 else [k % 3, 0])
                x = ramp(4) * (1 + (k > 2) * k)
                yield outcome(lambda: f(given, t, x)), outcome(lambda: g(t, x)), given, outside
    return (lambda x: x), calls


@trap
def tensors_are_places_in_an_array(trace):
    """One element, a row, several rows, a slice, a mask, a list and a tuple of tensors."""
    return _each_of((
        lambda a, t, x: a[t[0], t[1]] * 1,
        lambda a, t, x: a[t[0]].tolist(),
        lambda a, t, x: float(a[t[0]:, 1].sum()),
        lambda a, t, x: float(a[0][x > 1].sum()),
        lambda a, t, x: float(a[t].sum() + a[t, None, :].sum()),
        lambda a, t, x: float(a[[t[0], t[1]]].sum() + a[tuple(t)]),
        lambda a, t, x: float(a[x.argmax()].sum() + a[t[0] == 1, 2].sum()),
        lambda a, t, x: sum(float(r) for i in t for r in a[i]),
    ), trace)


@trap
def tensors_say_what_is_written_to_an_array(trace):
    """By index, in place, by methods, by `out=`."""
    def matrix(a, t, x):
        for i, j in zip(t, x.argsort()):
            a[i, j] += 1
    def row(a, t, x): a[1] *= x
    def all_of_it(a, t, x): a += x
    def masked(a, t, x): a[0][x > 1] = 0
    def rows(a, t, x): a[t] += 1
    def one(a, t, x): a[0, 1] = x.sum()
    def column(a, t, x): a[:, t[0]] = x
    def put(a, t, x): a.put(t, 9.0), np.put(a, t + 4, x[:2])
    def out(a, t, x): np.maximum(a, x, out=a)
    def at(a, t, x): np.add.at(a, (t, t), 1.0)
    def copied(a, t, x): np.copyto(a[0], x), a[3].fill(x[0])
    def swapped(a, t, x): a[t[0]], a[t[1]] = a[t[1]].copy(), a[t[0]].copy()
    return _each_of((matrix, row, all_of_it, masked, rows, one, column, put, out, at, copied,
                     swapped), trace)


@trap
def functions_of_numpy_that_are_no_ops(trace):
    """Methods of arrays, functions that take tensors for arrays, a dimension that is a tensor."""
    return _each_of((
        lambda a, t, x: float(a.take(t).sum()),
        lambda a, t, x: float(a.sum(t[0] * 0)[1]),
        lambda a, t, x: np.polyval(a[0], x).tolist(),
        lambda a, t, x: np.digitize(a, x).tolist(),
        lambda a, t, x: np.delete(a, t[0], 0).tolist(),
        lambda a, t, x: np.insert(a[0], t[0], x[0]).tolist(),
        lambda a, t, x: np.append(a[0], x).tolist(),
        lambda a, t, x: a.dot(x).tolist(),
        lambda a, t, x: a[0].searchsorted(x).tolist(),
        lambda a, t, x: np.interp(x, np.arange(4.0), a[0]).tolist(),
    ), trace)


@trap
def a_matrix_of_confusions_is_counted():
    """`counts[label, guess] += 1` for the elements of two tensors, in an array and in a tensor."""
    counts, ours = np.zeros((3, 3), int), whet.zeros(3, 3, dtype=whet.long)
    def f(scores, labels):
        for label, guess in zip(labels, scores.argmax(1)):
            counts[label, guess] += 1
            ours[label, guess] += 1
        return counts.trace() / max(counts.sum(), 1), ours.diag().sum().item()
    def calls(f):
        for k in range(9):
            yield f(ramp(3, 3).roll(k, 1), whet.tensor([0, 1, k % 3])), counts.copy(), ours
    return f, calls


@trap
def what_requires_gradients_is_given_to_an_array():
    """An error of NumPy's, as eager mode has it, and a write that it makes before."""
    a = np.zeros(3, np.float32)
    def f(x, w):
        a[0] = x.sum()
        a[1] = w.detach()[0]
        a[:] = w
        return x
    def calls(f):
        for k in range(6):
            yield outcome(lambda: f(ramp(3) * k, leaf(3)) if k % 3 else f(ramp(3), ramp(3))), a
    return f, calls


@trap
def an_array_is_given_back_beside_a_number_of_numpy():
    """The array itself, alone and in a list; the number is not asked for."""
    def f(number, t, a):
        head = t[0]
        return [a], a, head
    def calls(f):
        for k in range(6):
            a = np.arange(4.0) + k
            listed, alone, head = f(np.float64(-2.0), ramp(4) * k, a)
            yield type(listed[0]), listed[0] is a, alone is a, a, head
    return f, calls
