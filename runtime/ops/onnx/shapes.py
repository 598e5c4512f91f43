"""What views and movements are in ONNX: the `onnx` of ops in view.py, strided_views.py, split.py,
join.py, movement.py, pad.py, repeat.py, creation.py, ranges.py and structured_matrices.py. `b`
writes nodes (`onnx/write/builder.py`)."""

import numpy as np

from ...dtypes import SHORT, dtype

END = (1 << 63) - 1


def cut(b, x, index):
    """The op `slice`: ranges, then single places from the last one on, then new axes."""
    ranges, single, new, axis, made = [], [], [], 0, 0
    for entry in index:
        if entry is None:
            new.append(made)
            made += 1
        elif isinstance(entry, tuple):
            if entry != (None, None, None):
                start, stop, step = entry
                ranges.append(
                    (0 if start is None else start, END if stop is None else stop, axis, step or 1)
                )
            axis, made = axis + 1, made + 1
        else:
            single.append((axis, entry))
            axis += 1
    if ranges:
        x = b.Slice(x, *[b.ints(column) for column in zip(*ranges)])
    for axis, place in reversed(single):
        x = b.Gather(x, b.number(place, "i64"), axis=axis)
    return b.unsqueeze(x, new)


def expanded(b, x, size):
    """The op `expand`. Runners take a size of zero for one: there is nothing to expand then."""
    if 0 in size:
        return b.filled(b.ints(size), np.zeros((), SHORT[x.dtype].np))
    return b.Expand(x, b.ints(size)) if size else x


def transposed(b, x, order):
    """The dimensions in an order."""
    return x if list(order) == sorted(order) else b.Transpose(x, perm=list(order))


def windows(b, x, dimension, size, step):
    """The op `unfold`: windows are gathered along their dimension, and their elements come last."""
    if not x.shape:
        return b.reshape(x, (size,))
    count, inner = b.results[0].shape[dimension], np.arange(size)
    if isinstance(count, int):
        places = b.constant(step * np.arange(count)[:, None] + inner, "places")
    else:
        # how many there are is no expression of sizes: they begin where one still fits
        ends = x.shape[dimension] - (size - 1)
        first = b.Range(*[b.number(n, "i64") for n in (0, ends, step)])
        places = b.Add(b.unsqueeze(first, [1]), b.constant(inner, "places"))
    order = [k for k in range(len(x.shape) + 1) if k != dimension + 1]
    return transposed(b, b.Gather(x, places, axis=dimension), [*order, dimension + 1])


def swapped(b, x, dim0, dim1):
    """Two dimensions exchanged."""
    order = list(range(x.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return transposed(b, x, order)


def diagonal(b, x, offset, dim1, dim2):
    """The op `diagonal`: its elements are gathered, where both dimensions lie in one."""
    (offset,) = b.static(offset)
    dim1, dim2 = dim1 % x.ndim, dim2 % x.ndim
    others = [d for d in range(x.ndim) if d not in (dim1, dim2)]
    n, m = x.shape[dim1], x.shape[dim2]
    ends = [n + min(offset, 0), m - max(offset, 0)]
    if isinstance(n, int) and isinstance(m, int):
        both, number = n * m, b.range_of(max(min(ends), 0))
    else:
        both, count = -1, b.Max(b.Min(*[b.number(end, "i64") for end in ends]), 0)
        number = b.Range(b.number(0, "i64"), count, b.number(1, "i64"))
    first = max(offset, 0) - min(offset, 0) * m
    places = b.Add(b.Mul(number, b.number(m + 1, "i64")), b.number(first, "i64"))
    rows = b.reshape(transposed(b, x, [*others, dim1, dim2]),
                     (*[x.shape[d] for d in others], both))
    return b.Gather(rows, places, axis=len(others))


def pieces(b, x, sizes, dim):
    """The op `split`."""
    return b.Split(x, b.ints(sizes), axis=dim, outputs=len(sizes))


def slices(b, x, dim, places=None):
    """The op `unbind`; `places` are those of its results, where they are not all."""
    if places is None:
        if not isinstance(x.shape[dim], int):
            b.refuse("as many values as a size says, in a loop of which no step repeats")
        places = range(len(b.results) or x.shape[dim])
    return tuple([b.Gather(x, b.number(i, "i64"), axis=dim) for i in places])


def joined(b, *xs, dim):
    """The op `cat`."""
    return b.Concat(*xs, axis=dim) if len(xs) > 1 else xs[0]


def stacked(b, *xs, dim):
    """The op `stack`."""
    return joined(b, *[b.unsqueeze(x, (dim,)) for x in xs], dim=dim)


def rolled(b, x, shifts, dims):
    """The op `roll`: each dimension is cut in two, which change places."""
    for shift, dim in zip(shifts, dims):
        n = x.shape[dim]
        by = shift if not isinstance(n, int) else shift % n if n else 0
        if by:
            shape = x.shape
            x = b.Concat(b.slice(x, dim, -by, END), b.slice(x, dim, 0, -by), axis=dim)
            x.shape = shape
    return x


def flipped(b, x, dims):
    """The op `flip`."""
    for dim in dims:
        x = b.slice(x, dim, -1, -END, -1)
    return x


def triangle(upper):
    """The ops `tril` and `triu`."""

    def form(b, x, diagonal):
        return b.Trilu(x, b.number(diagonal, "i64"), upper=int(upper))

    return form


def padded(b, x, pads, value):
    """The op `pad`: cut first where amounts are negative. Of amounts that go by sizes the operator
    itself cuts, where they are."""
    if not all(isinstance(n, int) for p in pads for n in p):
        return b.Pad(x, b.ints([p[0] for p in pads] + [p[1] for p in pads]),
                     b.number(value, x.dtype))
    for dim, (before, after) in enumerate(pads):
        if before < 0 or after < 0:
            x = b.slice(x, dim, max(-before, 0), after if after < 0 else END)
    amounts = [max(p[0], 0) for p in pads] + [max(p[1], 0) for p in pads]
    if not any(amounts):
        return x
    return b.Pad(x, b.ints(amounts), b.number(value, x.dtype))


def padded_complex(b, x, pads, value):
    """The op `pad` of complex numbers: each part has its part of the value."""
    return b.of_each_part(lambda part, number: padded(b, part, pads, number), x, value)


def padded_by_index(b, x, pads, mode, sources):
    """The op `pad_by_index`: the operator `Pad` where it has the mode, else a gather."""
    kind = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    known = all(isinstance(n, int) for p in pads for n in p)
    if (not known or all(min(p) >= 0 for p in pads)) and (kind != "wrap" or b.opset >= 19):
        return b.Pad(x, b.ints([p[0] for p in pads] + [p[1] for p in pads]), mode=kind)
    for dim, (before, after) in enumerate(pads):
        if before or after:
            (n,) = b.static(x.shape[dim])
            shape = x.shape
            x = b.Gather(x, b.constant(sources(n, before, after, mode), "places"), axis=dim)
            x.shape = shape
    return x


def repeated_each(b, x, repeats, dim):
    """The op `repeat_interleave`."""
    if not isinstance(repeats, int):
        return b.Gather(
            x, b.constant(np.repeat(np.arange(len(repeats)), repeats), "places"), axis=dim
        )
    if not repeats:
        return b.slice(x, dim, 0, 0)
    wide = b.unsqueeze(x, (dim + 1,))
    wide = b.Expand(wide, b.ints((*x.shape[: dim + 1], repeats, *x.shape[dim + 1 :])))
    return b.reshape(wide, b.results[0].shape)


def filled(b, size, value, dtype):
    """The ops `zeros`, `full` and `empty`."""
    if not size:
        return b.number(value, dtype.short)
    if not isinstance(value, int | float | complex | np.generic):  # it goes by sizes
        number = b.cast(b.squeeze(b.ints((value,)), (0,)), dtype.short)
        return b.Expand(number, b.ints(size))
    with np.errstate(all="ignore"):
        return b.filled(b.ints(size), np.asarray(value).astype(dtype.np))


def counted(b, rule, start, step, n, dtype):
    """The op `arange`; `rule` gives it as an array."""
    numbers = [x for x in (start, step) if isinstance(x, int | float)]
    if isinstance(n, int) and len(numbers) == 2:
        return b.constant(rule(start, step, n, dtype), "range")
    whole = not any(isinstance(x, float) for x in numbers)  # what goes by sizes is whole
    places = b.cast(b.range_of(n), "i64" if whole else "f64")
    return b.cast(b.Add(b.Mul(places, step), start), dtype.short)


def evenly_spaced(b, rule, ends, attrs):
    """The op `linspace`: a constant, or numbers from both ends where a size says how many."""
    steps, dtype = attrs["steps"], attrs["dtype"]
    if ends or isinstance(steps, int) or not attrs.get("endpoint", True) or dtype.is_complex:
        return by_rule(b, rule, ends, attrs)
    start, end = (b.number(attrs[k], "f64") for k in ("start", "end"))
    count = b.number(steps, "f64")
    last = b.Max(b.Sub(count, 1.0), 1.0)
    step, places = b.Div(b.Sub(end, start), last), b.cast(b.range_of(steps), "f64")
    half = b.Max(b.Floor(b.Mul(count, 0.5)), 1.0)  # a single number is the start
    near = b.Add(start, b.Mul(step, places))
    far = b.Sub(end, b.Mul(step, b.Sub(last, places)))
    return b.cast(b.Where(b.Less(places, half), near, far), dtype.short)


def put(b, x, part, select):
    """x with a part that `select`, a function of an array, picks replaced."""
    shape = b.static(*x.shape)
    places = np.ascontiguousarray(select(np.arange(int(np.prod(shape))).reshape(shape)))
    if not places.size:
        return x
    flat = b.ScatterElements(
        b.flat(x), b.constant(places.reshape(-1), "places"), b.flat(part), axis=0
    )
    return b.reshape(flat, shape)


def by_rule(b, rule, ends, attrs):
    """A constant that a function of numbers gives."""
    if ends:
        b.refuse("ends that are tensors")
    known = int, float, complex, str, np.generic, dtype, type(None)
    b.static(*[x for x in attrs.values() if not isinstance(x, known)])
    return b.constant(rule(**attrs))


def identity(b, rule, n, m, dtype, k=0):
    """The op `eye`; `rule` gives it as an array."""
    if isinstance(n, int) and isinstance(m, int):
        return b.constant(rule(n, m, dtype, k))
    zeros = b.filled(b.ints((n, m)), np.zeros((), dtype.np))
    return b.EyeLike(zeros, k=k)


def numbered(b, shape):
    """An array of these sizes that holds the place of each element."""
    shape = b.static(*shape)
    return np.arange(int(np.prod(shape))).reshape(shape)


def resized(b, x, size):
    """The op `resize`: elements in order, zeros behind them."""
    have, want = int(np.prod(b.static(*x.shape))), int(np.prod(b.static(*size)))
    flat = b.flat(x)
    flat = b.slice(flat, 0, 0, want) if want < have else b.Pad(flat, b.ints((0, want - have)))
    return b.reshape(flat, size)
