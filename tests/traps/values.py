"""item, tolist, numpy, shape arithmetic; non-contiguous, 0-d, empty, huge and special values;
numbers as arguments."""
import collections
import io
import json
import math
import operator
import random

import numpy as np
import whet
import whet.nn.functional as F

from tests.traps.harness import Box, leaf, outcome, ramp, shares, thrice, trap


@trap
def an_item_goes_into_the_arithmetic():
    """x.item() is a number of this call."""
    def f(x): return x / x.max().item() + float(x[0]) * int(x[1])
    def calls(f):
        for scale in (1, 3, -2, 1):
            yield from thrice(lambda: f(ramp(3) * scale))
    return f, calls


@trap
def an_item_goes_through_python():
    """math.sqrt, round and divmod: nothing of them is an operation on tensors."""
    def f(x):
        n = x.sum().item()
        return x * math.sqrt(n), round(n, 1), divmod(int(n), 4), math.floor(x[0])
    def calls(f):
        for scale in (1, 2.5, 1):
            yield from thrice(lambda: f(ramp(3) * scale))
    return f, calls


@trap
def values_are_returned():
    """tolist, item, bool, and a tuple of floats as the result."""
    def f(x): return x.tolist(), x[0].item(), bool(x.any()), tuple(map(float, x)), (x * 2).tolist()
    def calls(f):
        for x in (ramp(3), -ramp(3), whet.zeros(3), ramp(3).double() / 3, whet.arange(3),
                  ramp(3) > 1):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def numpy_computes_in_the_middle():
    """An intermediate leaves as an array and comes back."""
    def f(x):
        a = np.sort((x * 2).numpy())[::-1]
        return whet.from_numpy(a.copy()) + x, a.mean()
    def calls(f):
        for x in (ramp(4), -ramp(4), ramp(5), ramp(4)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def numpy_functions_on_tensors():
    """np.exp(t) and t * array through the protocols."""
    a = np.array([1.0, 2.0, 3.0])
    def f(x): return np.exp(x), np.add(x, 1), a * x, x + a, np.asarray(x).sum()
    def calls(f):
        for x in (ramp(3), ramp(2, 3), ramp(3)):
            yield from thrice(lambda: f(x))
        a[0] = 9
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_value_is_a_bound():
    """x[:n], narrow and arange with a number that was in a tensor."""
    def f(x, n):
        k = int(n)
        return x[:k], x.narrow(0, k, 2), whet.arange(k), x[n:], x[n]
    def calls(f):
        for n in (2, 0, 3, 2):
            yield from thrice(lambda: f(ramp(5), whet.tensor(n)))
    return f, calls


@trap
def a_tensor_is_an_index_of_python():
    """list[t] and range(t) ask for __index__; a dict is asked with the item."""
    names = ["zero", "one", "two"]
    def f(x):
        best = x.argmax()
        return names[best], {0: "a", 1: "b"}.get(best.item()), operator.index(best), "ab" * best
    def calls(f):
        for k in (0, 1, 2, 0):
            x = whet.zeros(3)
            x[k] = 1
            yield from thrice(lambda: outcome(lambda: f(x)))
    return f, calls


@trap
def arithmetic_with_the_shape():
    """Sizes are plain numbers, and change between calls."""
    def f(x):
        n, m = x.shape
        return (x.reshape(m, n).sum(0) / (n * m), x[: n // 2], len(x) + x.numel() + x.ndim,
                x.mean() * x.size(-1) ** 0.5)
    def calls(f):
        for shape in ((2, 3), (4, 3), (5, 3), (1, 1), (2, 7), (2, 3)):
            yield from thrice(lambda: f(ramp(*shape)))
    return f, calls


@trap
def a_size_of_one_is_broadcast():
    """A dimension of size one is another program than one of size n."""
    def f(x, y): return x * y + y.sum(0, keepdim=True), (x + y).shape
    def calls(f):
        for a, b in (((3, 2), (3, 2)), ((1, 2), (3, 2)), ((3, 1), (3, 2)), ((3, 2), (1, 1)),
                     ((1, 2), (1, 2)), ((3, 2), (2,))):
            yield from thrice(lambda: f(ramp(*a), ramp(*b)))
    return f, calls


@trap
def the_rank_changes():
    """From a vector to a matrix to a number."""
    def f(x): return (x.sum(-1) if x.ndim else x * 2, x.unsqueeze(0).exp(),
                      x.mT if x.ndim > 1 else None)
    def calls(f):
        for shape in ((3,), (2, 3), (), (2, 1, 3), (3,)):
            yield from thrice(lambda: f(ramp(*shape)))
    return f, calls


@trap
def the_type_changes():
    """Every dtype has its own rounding, promotion and division."""
    def f(x): return x * 2, x / 2, x + 0.5, x.sum(), x // 2
    def calls(f):
        for dtype in (whet.float32, whet.float64, whet.int64, whet.int8, whet.float16,
                      whet.bfloat16, whet.uint8, whet.float32):
            yield from thrice(lambda: f((ramp(4) * 2).to(dtype)))
    return f, calls


@trap
def the_memory_format_changes():
    """The same values in other strides; the strides of results follow those of operands."""
    def f(x): return x.exp(), x + x, x.sum(0)
    def calls(f):
        for x in (ramp(3, 4), ramp(4, 3).t(), ramp(3, 8)[:, ::2], ramp(1, 4).expand(3, 4),
                  ramp(3, 4).flip(1), ramp(3, 5)[:, 1:], ramp(3, 4)):
            yield from thrice(lambda: [(y, y.stride(), y.is_contiguous()) for y in f(x)])
    return f, calls


@trap
def the_memory_format_is_asked_for():
    """is_contiguous, stride and storage_offset decide."""
    def f(x): return (x * 2 if x.is_contiguous() else x * 3 if x.stride(0) == 1
                      else x + x.storage_offset())
    def calls(f):
        for x in (ramp(3, 3), ramp(3, 3).t(), ramp(9, 3)[1::3], ramp(3, 3)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def nothing_in_it():
    """Empty tensors: sums are zero, maxima are errors, means are NaN."""
    def f(x): return (x.exp(), x.sum(0), x.mean(), outcome(lambda: x.max()), whet.cat([x, x]),
                      x @ x.t())
    def calls(f):
        for shape in ((2, 3), (0, 3), (2, 0), (0, 0), (2, 3)):
            yield from thrice(lambda: f(ramp(*shape)))
    return f, calls


@trap
def special_values():
    """NaN, infinities, zeros of both signs and numbers too small to be normal."""
    def f(x): return (x * 0, x.max(), x.relu(), 1 / x, x == x, x.sort().values, x.softmax(0),
                      x.clamp(-1, 1), whet.maximum(x, -x), x / 3)
    def calls(f):
        inf, nan = float("inf"), float("nan")
        for values in ([1.0, 2.0, 3.0], [nan, 1.0, -inf], [0.0, -0.0, 1e-42], [inf, inf, -inf],
                       [nan, nan, nan], [3e38, -3e38, 1e-45]):
            yield from thrice(lambda: f(whet.tensor(values)))
    return f, calls


@trap
def large_integers():
    """Past 2^53 a float does not hold them; past 2^63 they wrap."""
    def f(n): return n + 1, n * 3, n - n // 2, n.sum(), n.double(), n % 7
    def calls(f):
        for values in ([1, 2], [2 ** 53 + 1, -2 ** 53 - 1], [2 ** 63 - 1, -2 ** 63], [1, 2]):
            yield from thrice(lambda: f(whet.tensor(values)))
    return f, calls


@trap
def numbers_as_arguments():
    """1, True, 1.0, -0.0, NaN, a huge one: equal numbers of other kinds give other results."""
    def f(x, n): return x * n, x + n
    def calls(f):
        for x in (ramp(2), whet.arange(2)):
            for n in (1, True, 1.0, 0.0, -0.0, 0, False, float("nan"), 2 ** 53 + 1, 1e300, 1j,
                      np.float64(0.1), np.int16(3), 1):
                yield from thrice(lambda: f(x, n))
    return f, calls


@trap
def one_argument_is_many_numbers():
    """A step counter as a plain int: other at each call, for ever."""
    def f(x, step): return x * (0.9 ** step) + step // 10
    def calls(f):
        for step in range(25):
            yield f(ramp(2), step)
    return f, calls


@trap
def numbers_too_large():
    """An int that does not fit is an OverflowError or a wrapped number, at the same call as
    eagerly."""
    def f(x, n): return x + n, x.clamp_max(n)
    def calls(f):
        for n in (5, 2 ** 40, 2 ** 80, 5):
            yield from thrice(lambda: [outcome(lambda: f(x, n))
                                       for x in (whet.arange(3), ramp(2),
                                                 whet.arange(3).to(whet.int8))])
    return f, calls


@trap
def a_division_by_zero_of_integers():
    """An error in the data, at some calls."""
    def f(a, b): return a // b, a % b
    def calls(f):
        for b in (2, 0, -3, 0):
            yield from thrice(lambda: outcome(lambda: f(whet.tensor([7, -7]), whet.tensor([1, b]))))
    return f, calls


@trap
def results_as_long_as_the_data_says():
    """nonzero, masked_select, unique and repeat_interleave."""
    def f(x): return (x.nonzero(), x[x > 1], whet.unique(x.round()),
                      x.repeat_interleave(x.long().clamp_min(0)), x[x > 1].sum() / (x > 1).sum())
    def calls(f):
        for x in (ramp(4), -ramp(4), ramp(4) * 3, whet.zeros(4), ramp(4)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def a_text_of_values():
    """f-strings, str, repr and format of tensors and of their values."""
    def f(x): return f"{x.sum():.2f} {x[0].item()} {x}", repr(x * 2), str(x.shape), f"{x.dtype}"
    def calls(f):
        for x in (ramp(3), ramp(3) * 7, ramp(3).double(), ramp(1), leaf(2)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def a_file_in_memory():
    """save and load, and json of values: bytes made of a call's tensors."""
    def f(x):
        file = io.BytesIO()
        whet.save({"y": x * 2}, file)
        file.seek(0)
        return whet.load(file)["y"] + 1, json.dumps({"x": x.tolist()})
    def calls(f):
        for scale in (1, 2):
            yield from thrice(lambda: f(ramp(3) * scale))
    return f, calls


@trap
def a_tensor_is_a_key():
    """Tensors hash by identity: a dict of them knows one from an equal one."""
    known = {}
    def f(x):
        new = x not in known
        known.setdefault(x, len(known))
        return x * known[x], new, len(known)
    def calls(f):
        a, b = ramp(1), ramp(1)
        for x in (a, a, a, b, b, a, ramp(1), b):
            yield f(x)
    return f, calls


@trap
def tensors_made_of_values():
    """whet.tensor([...]) of items and of shapes; stack of Python numbers."""
    def f(x):
        return (whet.tensor([x[0].item(), x.numel(), 2.0]), whet.tensor(x.shape),
                whet.full((x.shape[0],), x.sum().item()), x.new_tensor([1, 2]))
    def calls(f):
        for x in (ramp(3), ramp(4), ramp(3) * 2, ramp(3, dtype=whet.float64)):
            yield from thrice(lambda: f(x))
    return f, calls


@trap
def answers_about_tensors_are_pythons():
    """equal, allclose, is_floating_point and same_size give bools that are no tensors."""
    def f(x, y):
        return (x + 1 if whet.equal(x, y) else x + 2 if whet.allclose(x, y, atol=0.1) else y,
                x.is_floating_point(), x.is_same_size(y))
    def calls(f):
        for y in (ramp(3), ramp(3) + 0.01, ramp(3) * 5, whet.full((3,), float("nan")), ramp(3)):
            yield from thrice(lambda: f(ramp(3), y))
    return f, calls


@trap
def a_large_tensor():
    """Many elements over several threads, between small ones."""
    def f(x): return (x * 0.5 + 1).tanh(), x.sum(), x.max(0).indices, x.cumsum(0)
    def calls(f):
        for n in (10, 300_000, 10, 300_001):
            yield from thrice(lambda: f(ramp(n) / n))
    return f, calls


@trap
def addresses_are_compared():
    """data_ptr, id and is: facts about memory, which differ between arguments."""
    def f(x, y): return (x + 1 if x.data_ptr() == y.data_ptr() else x + 2, x is y, id(x) == id(y),
                         shares(x, y))
    def calls(f):
        x = ramp(4)
        for a, b in ((x, ramp(4)), (x, x), (x, x[:]), (x[1:], x[:-1])):
            yield from thrice(lambda: f(a, b))
    return f, calls


@trap
def a_number_in_a_tensor_promotes_less():
    """A 0-d float64 does not widen float32, a 1-d one does."""
    def f(x, s): return x * s, s * x, whet.maximum(x, s), whet.result_type(x, s)
    def calls(f):
        for s in (whet.tensor(2.0, dtype=whet.float64), whet.tensor([2.0], dtype=whet.float64),
                  whet.tensor(2), whet.tensor([True]), 2.0):
            yield from thrice(lambda: outcome(lambda: f(ramp(2), s)))
    return f, calls


@trap
def more_than_one_value_is_no_bool():
    """bool, item and int of several elements raise, of one element they do not."""
    def f(x): return (outcome(lambda: bool(x)), outcome(lambda: x.item()), outcome(lambda: int(x)),
                      x * 2)
    def calls(f):
        for shape in ((1,), (2,), (1, 1), (0,), (), (1,)):
            yield from thrice(lambda: f(ramp(*shape)))
    return f, calls


@trap
def ties_are_kept_in_order():
    """A stable sort, argmax and topk among equals."""
    def f(x): return (x.sort(stable=True), x.argmax(), x.max(0), x.topk(2).values,
                      x.unique(return_counts=True))
    def calls(f):
        for values in ([1.0, 1.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [2.0, -0.0, 0.0, 2.0]):
            yield from thrice(lambda: [tuple(r) if isinstance(r, tuple) else r
                                       for r in f(whet.tensor(values))])
    return f, calls


@trap
def a_power_turns_negative():
    """Integers have no negative powers: a number that varies is asked for its sign."""
    def f(x, k): return x ** k, whet.pow(x, k)
    def calls(f):
        x = whet.tensor([1, 2, 3])
        for k in (1, 2, 3, -1, 2, -2, 5, 0):
            yield outcome(lambda: f(x, k))
            y = x.clone()
            yield outcome(lambda: f(y.float(), k))
    return f, calls


@trap
def a_nan_of_another_sign():
    """Two NaNs are not one number: `copysign` tells them apart."""
    def f(x, k): return (whet.copysign(x, k), x * math.copysign(1.0, k),
                         whet.copysign(x, whet.tensor(k)))
    def calls(f):
        x = whet.tensor([0.5, 1.0])
        for k in (math.nan, math.nan, -math.nan, 1.0, -math.nan, math.nan, 0.0, -0.0,
                  complex(0, -0.0).imag):
            yield f(x, k)
    return f, calls


@trap
def facts_of_data_that_was_made_inside():
    """The version, and the place in memory, of a tensor around memory that the run itself made."""
    def f(x):
        w = (x * 2).data
        w.add_(1)
        return w, w._version, w[1:].storage_offset(), whet.zeros(3).data._version == 0
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        yield from thrice(lambda: f(ramp(4, 2)))
    return f, calls


@trap
def where_empty_parts_begin():
    """The place in memory of a slice without elements."""
    def f(x):
        y = x * 2
        return (x[3:3].storage_offset(), y[3:3].storage_offset(), x[-1:1].storage_offset(), y[3:3],
                x[2:, 2:])
    def calls(f):
        for shape in ((5, 2), (4, 3)):
            for _ in range(3):
                a, b, c, d, e = f(ramp(*shape))
                yield a, b, c, d, e, d.storage_offset(), e.storage_offset()
    return f, calls


@trap
def numbers_end_up_in_slices_and_methods():
    """A number that varies goes into an object that nobody can write to, and the object somewhere
    outside."""
    box = Box()
    def f(x, k):
        box.part, box.more, box.size = slice(0, k), k.__add__, whet.Size([k])
        return x * k
    def calls(f):
        for k in (1, 2, 3, 2):
            yield (f(ramp(3), k), box.part, box.more(10), type(box.part.stop).__name__,
                   type(box.size[0]).__name__)
    return f, calls


@trap
def words_about_numbers():
    """What Python and ops say is wrong with a number, caught inside or not, is what they say of a
    float or int."""
    wrong = [lambda x, k: k[0], lambda x, k: len(k), lambda x, k: [*k], lambda x, k: k(),
             lambda x, k: "ab"[k + 0.5], lambda x, k: [1, 2][k * 1.0], lambda x, k: x[k * 1.0],
             lambda x, k: x.sum(k * 1.0), lambda x, k: x.reshape(k * 0.5),
             lambda x, k: whet.cat([x, k]), lambda x, k: x @ k, lambda x, k: k + "a",
             lambda x, k: sorted([k, "a"]), lambda x, k: x[:k * 1.0], lambda x, k: F.relu(k),
             lambda x, k: k.nothing]
    def f(x, k, which, caught):
        try:
            return wrong[which](x, k)
        except Exception as e:
            if not caught:
                raise
            return type(e).__name__, str(e)
    def calls(f):
        for which in range(len(wrong)):
            for caught in (True, False):
                for k in (1, 2, 1.5, 2.5, 3.5):
                    yield outcome(lambda: f(ramp(3), k, which, caught))
    return f, calls


@trap
def numbers_are_asked_what_they_have():
    """Whoever takes numbers and what holds one (members of an Enum, tensors, arrays) asks by a
    name."""
    asking = [lambda x, k: x * getattr(k, "value", k),
              lambda x, k: x * (k.tensor if hasattr(k, "tensor") else k),
              lambda x, k: x + getattr(k, "bound", k),
              lambda x, k: x * (k.plain() if hasattr(k, "plain") else k),
              lambda x, k: x * (len(k) if hasattr(k, "__len__") else k),
              lambda x, k: x * (-1 if hasattr(k, "__array__") else k),
              lambda x, k: x * (k.item() if hasattr(k, "item") else k),
              lambda x, k: x * getattr(k, "recorder", k),
              lambda x, k: x * len([name for name in dir(k) if not name.startswith("_")])]
    def f(x, k, which):
        return asking[which](x, k)
    def calls(f):
        for which in range(len(asking)):
            for k in (1, 2, 3, 4, 1.5, 2.5, 3.5, 4.5):
                yield f(ramp(3), k, which)
    return f, calls


@trap
def numbers_that_must_be_pythons_own():
    """C functions that take an int as nothing but an int."""
    kept = collections.deque([1, 2, 3, 4, 5])
    def f(x, k, n):
        return (x * math.ldexp(1.0, k) + len(collections.deque(kept, n))
                + len(collections.deque(kept, maxlen=n)))
    def calls(f):
        for k, n in ((1, 2), (2, 3), (3, 3), (4, 1), (0, 5), (-3, 4)):
            yield f(ramp(3), k, n)
    return f, calls


@trap
def numbers_seed_a_generator():
    """C takes anything as a seed: an int for what it is, other objects for their hash."""
    def f(x, k):
        return x * random.Random(k).random() + k
    def calls(f):
        for k in (1, -1, -2, -3, -4, -2, 5):
            yield f(ramp(3), k)
    return f, calls


@trap
def an_agent_draws_elsewhere():
    """Methods beside the one that is traced draw random numbers and count."""
    class Agent:
        def __init__(self):
            self.steps, self.eps, self.hist, self.w = 0, 1.0, [], ramp(3, 2)
        def act(self, best, o):
            self.steps += 1
            self.eps = 0.05 + 0.95 * math.exp(-self.steps / 20)
            return random.randrange(2) if random.random() < self.eps else best(o)
    agent = Agent()
    def f(o):
        return (o @ agent.w).max(0).indices.item() + agent.eps
    def calls(f):
        random.seed(3)
        for i in range(12):
            agent.hist.append(agent.act(f, ramp(3) - i))
            yield agent.hist[-1], f(ramp(3) * -i), random.random(), agent.steps
    return f, calls


@trap
def sizes_and_numbers_that_vary():
    """A run on another size is watched for what it is told of sizes, while numbers stand for what
    they will be."""
    box = Box()
    box.count = 0
    def f(x, k):
        box.count = box.count + 1
        return x * (k + 1) + box.count
    def calls(f):
        for n, k in ((2, 1), (2, 2), (3, 3), (4, 5), (4, 2), (7, 1), (1, 9), (0, 3)):
            yield f(ramp(n), k), box.count
    return f, calls
