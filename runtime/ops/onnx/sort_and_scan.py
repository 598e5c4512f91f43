"""What sorts and scans are in ONNX: the `onnx` of ops in sort.py and scan.py. `b` writes nodes
(`onnx/write/builder.py`)."""

from ...dtypes import FLOAT, SHORT
from .shapes import END, transposed
from .windows_by_taps import greatest, lowest


def _ordered(b, x, dim, count, largest):
    """(the first `count` elements in order, their places)"""
    return b.TopK(x, b.ints((count,)), axis=dim, largest=int(largest), sorted=1, outputs=2)


def _number(b, x):
    """The results of an op on a number."""
    return x, b.number(0, "i64")


def in_order(b, x, dim, descending):
    """The op `sort`."""
    return _ordered(b, x, dim, x.shape[dim], descending) if x.ndim else _number(b, x)


def first_in_order(b, x, dim, k, largest):
    """The op `topk`."""
    if not x.ndim:
        return _number(b, x) if k else b.refuse("no element of a number")
    return _ordered(b, x, dim, k, largest)


def one_in_order(b, x, dim, k):
    """The op `kthvalue`."""
    if not x.ndim:
        return _number(b, x)
    values, places = _ordered(b, x, dim, k, False)
    return b.slice(values, dim, -1, END), b.slice(places, dim, -1, END)


def middle(b, x, dim, ignore_nan):
    """The op `median`."""
    if not x.ndim:
        return _number(b, x)
    (n,) = b.static(x.shape[dim])
    return one_in_order(b, x, dim, (n - 1) // 2 + 1)


def running_sum(b, x, *, dim):
    """The op `cumsum`."""
    to = b.result_type(0)
    wide = b.cast(x, "f32" if SHORT[to].category == FLOAT and to != "f64" else to)
    return b.cast(b.CumSum(wide, b.number(dim, "i64")), to)


def _doubled(b, xs, dim, n, combine):
    """A running combination of several values at once, in steps of 1, 2, 4, ... places: each is
    combined with the one so far before it."""
    far = 1
    while far < n:
        before = [b.slice(x, dim, 0, -far) for x in xs]
        after = [b.slice(x, dim, far, END) for x in xs]
        heads = [b.slice(x, dim, 0, far) for x in xs]
        xs = [b.Concat(h, y, axis=dim) for h, y in zip(heads, combine(before, after))]
        far *= 2
    return xs


def _in_steps(b, xs, dim, first, combine):
    """A running combination of several values, where the size is known when the model runs: the
    operator `Scan`, whose steps begin with the numbers `first`. `combine` gets the builder of its
    body, too."""
    n, inner = len(xs), b.body()
    order = [dim, *[d for d in range(xs[0].ndim) if d != dim]]
    kept = tuple([size for d, size in enumerate(xs[0].shape) if d != dim])
    starts = [b.Expand(b.number(k, x.dtype), b.ints(kept)) for k, x in zip(first, xs)]
    for start in starts:
        start.shape = kept
    before, now = ([inner.add_input(x) for x in starts] for _ in range(2))
    made = combine(inner, before, now)
    graph = inner.graph("step", [*before, *now], [*made, *made])
    along = [transposed(b, x, order) for x in xs]
    found = b.node("Scan", *starts, *along, outputs=2 * n, body=graph, num_scan_inputs=n)[n:]
    for y, x in zip(found, xs):
        y.dtype = x.dtype
    back = sorted(range(len(order)), key=order.__getitem__)
    return [transposed(b, y, back) for y in found]


def _combined(b, xs, dim, first, combine):
    """A running combination of values, which begins with the numbers `first`."""
    n = xs[0].shape[dim]
    if not isinstance(n, int):
        return _in_steps(b, xs, dim, first, combine)
    return _doubled(b, xs, dim, n, lambda before, now: combine(b, before, now))


def running(op, first):
    """The ops `cumprod` and `logcumsumexp`; `op` combines two values, and leaves what meets the
    number `first` as it is."""

    def form(b, x, *, dim):
        shape = x.shape
        x = b.cast(x, b.result_type(0))
        x.shape = shape
        return _combined(b, [x], dim, [first], lambda at, a, c: [op(at, a[0], c[0])])[0]

    return form


def product(b, x, y):
    """x * y"""
    return b.Mul(x, y)


def log_of_sum(b, x, y):
    """log(exp(x) + exp(y))"""
    most, least = b.Max(x, y), b.Min(x, y)
    return b.Where(
        b.Equal(x, y),
        b.Add(x, b.number(0.6931471805599453, x.dtype)),
        b.Add(most, b.Log(b.Add(b.Exp(b.Sub(least, most)), 1))),
    )


def running_extremum(comparison):
    """The ops `cummax` and `cummin`: a later place wins a tie."""

    def form(b, x, *, dim):
        n = x.shape[dim]
        count = [1] * x.ndim
        count[dim] = n
        places = b.Expand(b.reshape(b.range_of(n), count), b.ints(x.shape))

        def best(at, before, after):
            wins = at.node(comparison, after[0], before[0])
            return [at.where(wins, after[0], before[0]), at.Where(wins, after[1], before[1])]

        first = lowest(x.dtype) if comparison == "GreaterOrEqual" else greatest(x.dtype)
        return tuple(_combined(b, [x, places], dim, [first, 0], best))

    return form


def alignments(b, scores, first, barred, lengths):
    """The op `alignments`, a step after the other."""
    steps, states = b.static(*scores.shape[-2:])
    alpha, lengths = first, b.unsqueeze(lengths, (-1,))
    entries = [alpha]
    for t in range(steps):
        ways = [alpha, *(_moved_on(b, alpha, way, states) for way in (1, 2))]
        ways[2] = b.Add(ways[2], barred)
        most = b.Max(*ways)
        total = b.Log(b.Sum(*(b.Exp(b.Sub(way, most)) for way in ways)))
        score = b.squeeze(b.slice(scores, -2, t, t + 1), (-2,))
        new = b.Add(b.Add(total, most), score)
        alpha = b.Where(b.Less(b.number(t, "i64"), lengths), new, alpha)
        entries.append(alpha)
    return alpha, b.Concat(*(b.unsqueeze(x, (-2,)) for x in entries), axis=-2)


def _moved_on(b, x, places, states):
    """The elements of rows some places on, behind numbers so low that they add nothing."""
    nothing = b.Add(b.Mul(b.slice(x, -1, 0, min(places, states)), 0.0), -1e30)
    return b.Concat(nothing, b.slice(x, -1, 0, max(states - places, 0)), axis=-1)
