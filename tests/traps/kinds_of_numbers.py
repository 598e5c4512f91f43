"""Numbers that are equal and not the same, and keys, texts and containers that are made of them."""
import bisect
import collections
import copy
import dataclasses
import decimal
import enum
import fractions
import functools
import heapq
import itertools
import math
import operator
import re
import statistics
import struct

import numpy as np
import whet

from tests.traps.harness import Box, outcome, ramp, trap

NAN, OTHER_NAN = float("nan"), float("nan")
NUMBERS = (1, 1, 1, True, 1.0, 2, 2, 2, -1, 0, 0.0, -0.0, False, 3.5, 1, True)


def each(*values):
    """Calls with a tensor and each of the values in turn, in three rounds."""
    def calls(f):
        for v in values * 3:
            yield outcome(lambda: f(ramp(3), v))
    return calls


# ---- a NaN is itself -----------------------------------------------------------------------------
NANS = (NAN, NAN, NAN, OTHER_NAN, OTHER_NAN, NAN, 1.0, OTHER_NAN)


@trap
def a_nan_is_looked_for_in_a_list():
    """`k in list` finds the very object, and no other NaN of the same bits."""
    known = [1.0, NAN]
    return lambda x, k: x * (k in known), each(*NANS)


@trap
def a_nan_is_a_key():
    """A dict finds the object, and `is` tells it."""
    table = {NAN: 2.0, 1.0: 3.0}
    return lambda x, k: (x * table.get(k, 0.5), k is NAN, len({k, NAN})), each(*NANS)


@trap
def a_nan_is_an_attribute_or_in_a_tuple():
    """What Python's state holds is compared with itself."""
    o = Box(k=NAN, pair=(1.0, NAN))
    def f(x): return x * (o.k in [NAN]), (1.0, NAN) == o.pair, [o.k, NAN].index(NAN)
    def calls(f):
        for k in NANS * 2:
            o.k, o.pair = k, (1.0, k)
            yield f(ramp(2))
    return f, calls


@trap
def nans_of_numpy_and_complex_ones():
    """np.float64 and complex numbers that are no numbers."""
    known = [np.float64("nan"), complex(NAN, 1), np.float32("nan")]
    others = [np.float64("nan"), complex(NAN, 1), np.float32("nan")]
    return lambda x, k: (x + 1, k in known, known.count(k)), each(*known, *others, *known)


@trap
def the_nan_of_a_tensor_is_new_each_time():
    """`item()` makes another object at each call."""
    met = []
    def f(x):
        k = x.sum().item()
        return x * 2, k in (k,), k == k
    def calls(f):
        for v in (1.0, NAN, NAN, 2.0, NAN, 3.0):
            y, *rest = f(whet.tensor([v, 1.0]))
            met.append(y)
            yield y, rest, len(met)
    return f, calls


@trap
def the_largest_among_nans():
    """max, min, sorted and sum go by the order where a NaN is."""
    def f(x, k): return x * 2, max(k, 1.0), min(1.0, k), sorted([2.0, k, 1.0]), sum([k, 1.0])
    return f, each(0.5, 1.5, 0.5, NAN, NAN, OTHER_NAN, -0.0, 0.0, math.inf)


# ---- equal and not the same ----------------------------------------------------------------------
@trap
def keys_that_are_equal():
    """1, 1.0 and True are one key; which of them was there first is kept."""
    def f(x, k):
        d = {k: "first"}
        d[1], d[0] = "second", "third"
        return x * len(d), list(d.items())
    return f, each(*NUMBERS)


@trap
def a_dict_of_the_outside_by_equal_keys():
    """The value that is found is the same, the key that is given back is not."""
    table = {1: 10.0, 0: 20.0}
    return lambda x, k: (x * table.get(k, 7), k), each(*NUMBERS)


@trap
def zeros_with_signs():
    """-0.0 equals 0.0, and copysign, atan2, repr and division tell them apart."""
    def f(x, k): return x * k, math.copysign(1, k), math.atan2(k, -1), repr(k), x / k
    return f, each(0.0, -0.0, 0.0, 0, -0.0, False, -1.0)


@trap
def numbers_in_formats():
    """`format`, `%`, `repr`, `round`, f-strings of ints, bools and floats."""
    def f(x, k): return x + 1, f"{k!r:>6}", f"{k:+}", "%s %5.2f %d" % (k, k, k), str(round(k, 1))
    return f, each(*NUMBERS)


@trap
def integers_beyond_words():
    """Beyond 64 bits Python counts on, and tensors do not."""
    def f(x, k): return k * k, k % 97, outcome(lambda: (x.long() * k)), k.bit_length(), hash(k)
    return f, each(3, 3, 3, 2**31, 2**62, 2**63 - 1, 2**63, -2**63, 2**64 + 1, 10**30, 5)


@trap
def integers_overflow_in_tensors():
    """Small integer types go round."""
    def f(x, k): return (x.to(whet.int8) * k, (x.to(whet.uint8) - k), x.to(whet.int32) << 30)
    return f, each(100, 100, 100, 127, 50, 3, 90)


@trap
def shifts_and_powers_by_numbers():
    """`**`, `//`, `%`, `divmod` by zero and by negative numbers."""
    def f(x, k): return x * 2, outcome(lambda: divmod(7, k)), 2 ** k, -7 // (k or 1)
    return f, each(2, 2, 2, -3, 0, 3, True, 0.5, -0.5, 0.0, -0.0)


@trap
def decimals_and_fractions():
    """Exact numbers take a scale, and give one."""
    def f(x, k): return x * float(k), k + 1, str(k * 3), k == 0.5
    half = fractions.Fraction(1, 2)
    return f, each(half, half, half, fractions.Fraction(3, 7), fractions.Fraction(2, 4),
                   decimal.Decimal("0.5"), decimal.Decimal("0.50"), decimal.Decimal("0.1"))


@trap
def the_precision_of_decimals_is_set():
    """A setting of the thread decides what a quotient is."""
    def f(x): return x * 2, str(decimal.Decimal(1) / decimal.Decimal(7))
    def calls(f):
        with decimal.localcontext() as context:
            for digits in (28, 28, 28, 5, 5, 5, 9, 28):
                context.prec = digits
                yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def types_of_numbers_decide():
    """isinstance, type and operator.index tell a bool from an int."""
    def f(x, k):
        name = type(k).__name__
        return x * 2, name, isinstance(k, int), outcome(lambda: operator.index(k)), k is True
    return f, each(*NUMBERS)


@trap
def singledispatch_by_what_is_given():
    """The type of the number chooses the function."""
    @functools.singledispatch
    def scale(k): return 1.0
    @scale.register
    def _(k: int): return 2.0
    @scale.register
    def _(k: float): return 3.0
    @scale.register
    def _(k: bool): return 4.0
    return lambda x, k: x * scale(k), each(*NUMBERS, "a", None)


@trap
def numbers_of_numpy_are_arguments():
    """np.float32, np.int8 and Python's: what they make of a tensor, and of each other."""
    def f(x, k): return x * k, type(k + 1).__name__, k * 3
    return f, each(np.float32(1.5), np.float32(1.5), np.float32(2.5), np.float64(1.5), 1.5,
                   np.int8(100), np.int64(100), 100, np.bool_(True), True)


@trap
def sizes_that_are_numbers_of_all_kinds():
    """A size may be an int, a NumPy number, a bool; a float is an error."""
    def f(x, k):
        many = list(range(int(k)))
        return outcome(lambda: x.repeat(k)), outcome(lambda: whet.zeros(k, 2)), many
    return f, each(2, 2, 2, np.int64(3), np.int64(2), True, 2.0, 0, -1)


# ---- enums, records, texts -----------------------------------------------------------------------
class Mode(enum.IntEnum):
    """Ways to compute."""
    ADD = 1
    MUL = 2


class Flags(enum.Flag):
    """Options."""
    A = enum.auto()
    B = enum.auto()


@trap
def an_enum_that_is_a_number():
    """Mode.MUL equals 2; its name is another matter."""
    def f(x, k): return x * k, getattr(k, "name", "none"), k == 2, f"{k}", k in (Mode.ADD,)
    return f, each(Mode.MUL, Mode.MUL, Mode.MUL, 2, 2, Mode.ADD, 1, True, Mode.MUL)


@trap
def flags_are_combined():
    """`a | b`, `in`, and not."""
    def f(x, k):
        return x * (2 if Flags.A in k else 3), (k | Flags.B).value, bool(k & Flags.B), str(~k)
    return f, each(Flags.A, Flags.A, Flags.A, Flags.B, Flags.A | Flags.B, Flags(0), Flags.A)


@dataclasses.dataclass
class Options:
    """What a step goes by."""
    rate: float = 0.5
    steps: int = 2
    names: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, order=True)
class Point:
    """A key that is compared by its fields."""
    x: int
    y: float = 0.0


Pair = collections.namedtuple("Pair", "a b")


@trap
def a_dataclass_is_replaced_and_written_to():
    """`replace` makes another; the old one is changed behind the function's back."""
    o = Options()
    def f(x, o): return x * o.rate * o.steps, dataclasses.asdict(o), len(o.names)
    def calls(f):
        for k in range(10):
            if k % 3 == 2:
                o.rate += 0.25
            if k == 5:
                o.names.append(k)
            yield f(ramp(2), o)
            yield f(ramp(2), dataclasses.replace(o, steps=k % 2))
    return f, calls


@trap
def frozen_points_are_keys():
    """Equal points find the same; 1 and True are equal fields."""
    table = {Point(1): 2.0, Point(1, 1.0): 3.0}
    def f(x, k): return x * table.get(k, 0.0), sorted([k, Point(1)]), repr(k)
    return f, each(Point(1), Point(1), Point(1), Point(True), Point(1, 1.0), Point(2),
                   Point(1, -0.0))


@trap
def named_tuples_and_plain_ones():
    """They are equal; only one has fields."""
    def f(x, p):
        again = type(p)(*p) if hasattr(p, "_fields") else p
        return x * p[0] + p[1], getattr(p, "b", None), p == (1, 2), again
    return f, each(Pair(1, 2), Pair(1, 2), Pair(1, 2), (1, 2), (1, 2), Pair(True, 2.0), Pair(3, 2))


@trap
def a_named_tuple_with_defaults_is_replaced():
    """`_replace`, `_asdict`, slices."""
    def f(x, p):
        q = p._replace(a=x * p.b)
        return q, p[1:], list(p._asdict()), q.a.sum().item() > 3
    return f, each(Pair(1, 2), Pair(1, 2), Pair(1, 3), Pair(1, 0.0), Pair(5, -0.0), Pair(1, True))


@trap
def text_chooses_what_is_done():
    """Regular expressions, splits, cases, and numbers in text."""
    pattern = re.compile(r"(\w+?)(\d*)$")
    def f(x, name):
        kind, n = pattern.match(name).groups()
        y = getattr(x, kind)() if hasattr(x, kind) else x * float(n or 1)
        return y, kind.title(), n.zfill(3), name.partition("1")
    return f, each("exp", "exp", "exp", "tanh1", "scale2", "scale3", "scale2", "sin10", "exp")


@trap
def bytes_are_numbers():
    """struct, int.from_bytes, memoryview of bytes, hex."""
    def f(x, raw):
        k, = struct.unpack("<f", raw)
        return x * k, int.from_bytes(raw, "little"), raw.hex(), list(memoryview(raw)[:2])
    def calls(f):
        for k in (1.5, 1.5, 1.5, 2.0, -0.0, 0.0, 1e30, NAN):
            yield f(ramp(2), struct.pack("<f", k))
    return f, calls


# ---- what is kept in order -----------------------------------------------------------------------
@trap
def a_heap_of_losses():
    """heapq goes by what the tensors' numbers were."""
    heap = []
    def f(x, k):
        loss = (x * k).sum().item()
        heapq.heappush(heap, (loss, len(heap)))
        return x * heap[0][0], heapq.nsmallest(2, heap)
    return f, each(3, 1, 2, -1, 0.5)


@trap
def where_a_number_belongs():
    """bisect in a list that grows outside."""
    steps = [1.0, 2.0, 3.0]
    def f(x, k): return x * bisect.bisect(steps, k), bisect.bisect_left(steps, k)
    def calls(f):
        for k in (0.5, 1.0, 2.5, 1.0, 3.0, 2.0, 9.0, 1.0):
            yield f(ramp(2), k)
            if k == 3.0:
                bisect.insort(steps, 1.5)
    return f, calls


@trap
def ordered_dicts_are_turned():
    """move_to_end and popitem change which is last."""
    d = collections.OrderedDict(a=1.0, b=2.0, c=3.0)
    def f(x): return x * next(iter(d.values())), list(d)
    def calls(f):
        for k in range(9):
            if k % 3 == 2:
                d.move_to_end(next(iter(d)))
            yield f(ramp(2))
        d.popitem(last=False)
        yield f(ramp(2))
    return f, calls


@trap
def the_order_of_a_dict_is_another():
    """Equal dicts of another order: the sum of floats, and what `items` says."""
    def f(x, d):
        total = 0.0
        for v in d.values():
            total = total * 2 + v
        return x * total, list(d)
    def calls(f):
        one, other = dict(a=1, b=2), dict(b=2, a=1)
        for d in (one, one, other, other, dict(a=1, b=2.0)) * 2:
            yield f(ramp(2), d)
    return f, calls


@trap
def counters_and_chains():
    """A Counter counts, a ChainMap looks in two dicts, of which one changes."""
    count, base, over = collections.Counter(), {"k": 2.0}, {}
    chain = collections.ChainMap(over, base)
    def f(x, name):
        count[name] += 1
        return x * chain["k"] * count[name], count.most_common(1)
    def calls(f):
        for k, name in enumerate("aabbaabba"):
            if k == 4:
                over["k"] = 3.0
            if k == 7:
                del over["k"]
            yield f(ramp(2), name)
    return f, calls


@trap
def iterators_are_combined():
    """itertools over tensors and numbers, made within the call."""
    def f(x, k):
        pairs = itertools.islice(itertools.product(x.unbind(), [1, k]), 4)
        return [a * b for a, b in pairs], list(itertools.accumulate([1, k, k])), \
            [len(list(g)) for _, g in itertools.groupby([1, k, k, 2])]
    return f, each(1, 1, 1, 2, True, 3.0, 2, NAN)


@trap
def a_counter_of_the_outside_moves_on():
    """itertools.count and cycle, read one at a call."""
    numbers, turns = itertools.count(1), itertools.cycle([1.0, 2.0])
    def f(x): return x * next(numbers), next(turns)
    def calls(f):
        for _ in range(8):
            yield f(ramp(2))
    return f, calls


@trap
def deep_copies_of_what_is_given():
    """copy and deepcopy of containers with tensors in them that are the same one twice."""
    def f(x, k):
        d = {"a": x, "b": [x, k]}
        e, g = copy.copy(d), copy.deepcopy(d)
        g["a"] += k
        return e["a"] is x, g["a"] is g["b"][0], g, x
    return f, each(1, 1, 1, 2.0, True, 3)


@trap
def statistics_of_numbers():
    """The library computes with ints, floats and fractions as they come."""
    def f(x, k):
        mean, median = statistics.mean([1, k, 3]), statistics.median([k, 2, 1])
        return x * mean, median, math.fsum([k, 0.1])
    return f, each(1, 1, 1, 2, 2.0, -1.5, 0.25)


@trap
def default_arguments_that_are_changed():
    """A list as a default, which each call makes longer, and another tuple of defaults."""
    def f(x, met=[], k=2.0):             # noqa: B006
        met.append(len(met))
        return x * k * len(met), list(met)
    plain = f
    def calls(f):
        yield from (f(ramp(2)) for _ in range(5))
        plain.__defaults__ = [7], 3.0
        yield from (f(ramp(2)) for _ in range(4))
        plain.__defaults__[0].clear()
        yield from (f(ramp(2)) for _ in range(4))
    return f, calls


@trap
def keyword_defaults_that_are_exchanged():
    """`__kwdefaults__` is a dict that anybody may change."""
    def f(x, *, k=2.0, mode="mul"): return x * k if mode == "mul" else x + k
    plain = f
    def calls(f):
        for k in range(12):
            if k == 4:
                plain.__kwdefaults__["k"] = 5.0
            if k == 8:
                plain.__kwdefaults__ = dict(k=1, mode="add")
            yield f(ramp(2))
    return f, calls


@trap
def numbers_of_numpy_vary():
    """One object twice, equal ones, others of another type, in containers, as attributes and keys,
    asked for their identity, and one that a variable has, too."""
    held = Box(last=np.float64(0.5), seen=[])
    def f(x, a, b, more):
        held.seen.append(a * 2)
        kind = 1 if a is b else 2 if a is held.last else 3
        y = x * a + b - more["c"][0]
        more["d"] = a + 1
        more["c"].append(b)
        return y * kind, type(a), a / 3, [b, -b], a == b
    def calls(f):
        for k in range(6):
            a, b = np.float64(k / 4), np.float64(k / 4 + k % 2)
            for args in ((a, b), (a, a), (np.float32(k), b), (held.last, a), (a, held.last),
                         (np.float64("nan"), b), (k / 3, b), (np.float64(-0.0), np.int64(k))):
                more = {"c": [np.float64(k)]}
                yield f(ramp(3), *args, more), more, list(held.seen)
            if k == 3:
                held.last = np.float64(2.5)
    return f, calls


@trap
def numbers_of_numpy_are_inputs():
    """They come back with their types, are laid into what is given, and are equal or one object."""
    def f(x, a, b, more):
        more["d"] = a + 1
        more["c"].append(b)
        return x * a + b - more["c"][0], a / 3, b, [b, -b], isinstance(a, float), a == b
    def calls(f):
        for k in range(16):
            a, b = np.float64(k / 4), np.float64(k / 4 + k % 2)
            for args in ((a, b), (a, a), (np.float32(k), b)):
                more = {"c": [np.float64(k)]}
                out = f(ramp(3), *args, more)
                yield out, more, [type(y) for y in out], type(more["d"])
    return f, calls


def truths_by_identity():
    """Functions of an object that counts and of a tensor: each asks by `is` for True or False."""
    def kept(o, x):
        return x * 2 if (o.n > 5) is True else x * o.n

    def never(o, x):
        third = o.n % 3 == 0
        return x * 2 if third is not False else x * o.n

    def read(o, x):
        mean = x.mean().item()
        return x * mean if (mean > 2) is True else x

    def matched(o, x):
        match {"late": o.n > 4}:
            case {"late": True}:
                return x + o.n
            case _:
                return x - o.n

    def listed(o, x):
        late = [o.n > k for k in range(3)]
        return x * sum(f is True for f in late), [f is False for f in late]

    def nested(o, x):
        def scaled(y, by=None, foreach=None):
            return y * by if foreach is False or (by < 4) is True else y - by
        return scaled(x, o.n, o.flag)

    def chosen(o, x):
        late = o.n > 4 if o.flag is None else o.n <= 4
        return x * o.n, late is True, late is False
    return kept, never, read, matched, listed, nested, chosen


def asks_by_identity(function):
    """A trap: a step that counts, and then asks."""
    def build():
        """`(o.n > 5) is True` of a counter, of items, in a pattern, of a default."""
        o = Box(n=0, flag=None)

        def counted(x):
            o.n += 1
            return function(o, x), o.n

        def calls(counted):
            for k in range(12):
                o.flag = False if k == 9 else None
                yield counted(ramp(3) * (k % 5))
        return counted, calls
    build.__name__ = f"a_truth_of_numbers_is_asked_for_by_identity_{function.__name__}"
    return trap(build)


for _function in truths_by_identity():
    asks_by_identity(_function)
