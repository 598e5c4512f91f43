"""NumPy numbers in attributes, entries and options of optimizers: others at each call, of
other types, the same object in two places."""
import numpy as np
import whet
from whet import nn, optim

from tests.traps.harness import Box, outcome, ramp, trap


@trap
def rates_of_an_array_are_options():
    """A step sets options from arrays of rates, as scripts with schedules of their own do."""
    model = nn.Linear(2, 2)
    opt = optim.AdamW(model.parameters(), lr=0.5)
    rates, decays = np.linspace(0.1, 0.01, 20), np.linspace(0.04, 0.4, 20, dtype=np.float32)
    def f(x, i):
        for k, group in enumerate(opt.param_groups):
            group["lr"] = rates[i]
            if k == 0:
                group["weight_decay"] = decays[i]
        loss = model(x).square().mean()
        opt.zero_grad(), loss.backward(), opt.step()
        return loss
    def calls(f):
        for i in range(12):
            if i == 8:
                opt.param_groups[0]["lr"] = 0.3
            yield f(ramp(3, 2), i), dict(model.state_dict()), opt.param_groups[0]["lr"], \
                opt.param_groups[0]["weight_decay"]
    return f, calls


@trap
def one_number_of_numpy_lies_in_two_places():
    """The same object at first, others later; the places are exchanged, and given back."""
    k = np.float64(2.0)
    o = Box(a=k, b=k, turn=False)
    def f(x):
        if o.turn:
            o.a, o.b = o.b, o.a
        y = x * o.a - o.b
        return y, o.a, o.b, o.a is o.b
    def calls(f):
        for i in range(18):
            if i in (3, 4, 5):
                o.a = o.b = np.float64(i)
            if i in (6, 7, 8, 12):
                o.a = np.float64(-i)
            if i in (9, 13):
                o.b = o.a
            o.turn = i in (10, 11, 14, 15, 16)
            before = o.a, o.b
            yield f(ramp(2)), o.a, o.b, o.a is before[0], o.b is before[0], o.b is before[1]
    return f, calls


@trap
def a_number_of_numpy_changes_its_type():
    """float64, float32, float16, Python's, NaN, an int; Python decides by it at some calls."""
    o = Box(k=np.float64(2.0), asks=False, n=0)
    def f(x):
        if o.asks and o.k > 2:
            return x
        o.n += 1
        return x * o.k, o.k * 2, type(o.k).__name__, isinstance(o.k, float), o.k == o.k
    def calls(f):
        for kind in (np.float64, np.float32, float, np.float16, np.int64, np.float64):
            for value in (1.1, 2.2, 3.3, 4.4):
                o.k = kind(value)
                yield f(ramp(2)), o.k, o.n
        for value in (np.nan, np.nan, 1.0, 2.0, 3.0):
            o.k = np.float64(value)
            yield f(ramp(2)), o.k
        o.asks = True
        for value in (1.0, 3.0, 1.5, 2.5, 1.7):
            o.k = np.float32(value)
            yield f(ramp(2)), o.k, o.n
    return f, calls


@trap
def a_number_of_numpy_is_gone_on_with():
    """It decays, is added to, written over by an equal one, deleted, and kept in a list and a
    dict."""
    o, table, row = Box(k=np.float64(2.0), same=np.float32(1.5)), {"k": np.float32(3.0)}, \
        [np.float64(0.5), np.float64(0.25)]
    def f(x):
        o.k *= 0.9
        o.same = o.same * np.float32(1)
        table["k"] += row[0]
        row[1], row[0] = row[0], row[1] + 1
        return x * o.k + table["k"] - row[1], o.same
    def calls(f):
        for i in range(14):
            if i == 5:
                o.k, table["k"] = np.float64(7.0), np.float32(0.1)
            if i == 9:
                row[0] = np.float64(-1.0)
            if i == 11:
                del o.k
                o.k = np.float64(4.0)
            yield f(ramp(2)), o.k, o.same, table, list(row)
    return f, calls


@trap
def a_number_of_numpy_leaves_in_many_ways():
    """As text, as a key, a size, a Python number, an array, an object kept elsewhere."""
    o, seen, kept = Box(k=np.float64(2.0)), {}, []
    def f(x, way):
        match way:
            case 0: return f"{o.k:.2f}", x
            case 1: return seen.setdefault(float(o.k), x)
            case 2: return x[:int(o.k)]
            case 3: return o.k.item(), x + o.k.item()
            case 4: return np.asarray([o.k, 1.0]), np.array(o.k) + 1
            case 5: kept.append(o.k)
            case 6: return whet.tensor(o.k), whet.full((2,), o.k), whet.as_tensor(o.k)
            case 7: return np.sqrt(o.k), o.k.astype(np.float32), o.k.real, o.k.dtype.name
            case 8: return round(o.k, 1), abs(o.k), max(o.k, 1.5), o.k // 1, divmod(o.k, 1)[1]
            case 9: return hash(o.k), {o.k: 1}, o.k in (2.0, 3.0), str(o.k), repr(o.k)
        return x * o.k
    def calls(f):
        for way in range(10):
            for i in range(4):
                o.k = np.float64(1.0 + i / 2)
                yield f(ramp(4), way), list(kept)
    return f, calls


@trap
def numbers_of_numpy_where_a_size_is_wanted():
    """Whole ones of all kinds, then others: the errors say the kind that was given."""
    def f(x, n):
        return (outcome(lambda: x.reshape(n, -1)), outcome(lambda: x.narrow(0, 0, n)),
                outcome(lambda: x.roll(n)), outcome(lambda: x.reshape(n)))
    def calls(f):
        for n in (2, 2, 2, np.int64(2), np.int64(3), np.int32(1), np.bool_(True), np.float32(2),
                  np.float64(3), np.float32(1), 2.0, True, 3, 1):
            yield f(ramp(6), n)
    return f, calls
