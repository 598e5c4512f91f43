"""A random call for each name of the array API standard: `CALLS[name](draw)` gives its arguments,
NumPy arrays in them where each namespace puts its own."""
import numpy as np

from .draws import (
    ALL,
    BOOLS,
    COMPLEX,
    FLOATS,
    INTS,
    NUMERIC,
    REAL_NUMERIC,
    REALS,
    DType,
)

CALLS: dict = {}
ONE = {
    "abs": NUMERIC,
    "acos": FLOATS,
    "acosh": FLOATS,
    "asin": FLOATS,
    "asinh": FLOATS,
    "atan": FLOATS,
    "atanh": FLOATS,
    "bitwise_invert": BOOLS + INTS,
    "ceil": REAL_NUMERIC,
    "conj": NUMERIC,
    "cos": FLOATS,
    "cosh": FLOATS,
    "exp": FLOATS,
    "expm1": FLOATS,
    "floor": REAL_NUMERIC,
    "imag": COMPLEX,
    "isfinite": NUMERIC,
    "isinf": NUMERIC,
    "isnan": NUMERIC,
    "log": FLOATS,
    "log1p": FLOATS,
    "log2": FLOATS,
    "log10": FLOATS,
    "logical_not": BOOLS,
    "negative": NUMERIC,
    "positive": NUMERIC,
    "real": NUMERIC,
    "reciprocal": FLOATS,
    "round": NUMERIC,
    "sign": NUMERIC,
    "signbit": REALS,
    "sin": FLOATS,
    "sinh": FLOATS,
    "square": NUMERIC,
    "sqrt": FLOATS,
    "tan": FLOATS,
    "tanh": FLOATS,
    "trunc": REAL_NUMERIC
}
TWO = {
    "add": NUMERIC, "atan2": REALS, "bitwise_and": BOOLS + INTS, "bitwise_or": BOOLS + INTS,
    "bitwise_xor": BOOLS + INTS, "copysign": REALS, "divide": FLOATS, "equal": ALL,
    "floor_divide": REAL_NUMERIC, "greater": REAL_NUMERIC, "greater_equal": REAL_NUMERIC,
    "hypot": REALS, "less": REAL_NUMERIC, "less_equal": REAL_NUMERIC, "logaddexp": REALS,
    "logical_and": BOOLS, "logical_or": BOOLS, "logical_xor": BOOLS, "maximum": REAL_NUMERIC,
    "minimum": REAL_NUMERIC, "multiply": NUMERIC, "nextafter": REALS, "not_equal": ALL,
    "pow": NUMERIC, "remainder": REAL_NUMERIC, "subtract": NUMERIC, "bitwise_left_shift": INTS,
    "bitwise_right_shift": INTS}


def of(name):
    """Register the drawing of a function's arguments."""
    def register(fn):
        CALLS[name] = fn
        return fn
    return register


def two(d, allowed, **kw):
    """Two arrays that go together, or one and a number."""
    dtypes, shapes = d.dtypes(allowed), d.shapes()
    args = [d.array(t, s, **kw) for t, s in zip(dtypes, shapes)]
    if d.sometimes(0.2):
        at = d.one_of(0, 1)
        args[at] = d.number(dtypes[1 - at])
    return args


for _name, _allowed in ONE.items():
    CALLS[_name] = lambda d, allowed=_allowed: ([d.array(d.one_of(*allowed))], {})
for _name, _allowed in TWO.items():
    CALLS[_name] = lambda d, allowed=_allowed: (two(d, allowed), {})


def _shift(d):
    t = d.dtypes(INTS)
    width = 8 * min(np.dtype(x).itemsize for x in t)
    first, second = d.shapes()
    return [d.array(t[0], first), d.array(t[1], second, False, 0, width - 1)], {}


def _divided(d):
    """What is divided by whole numbers: none of them zero. Of infinities NumPy's quotient is not a
    number, and the standard's is an infinity."""
    args = two(d, REAL_NUMERIC, special=False)
    second = args[1]
    if isinstance(second, np.ndarray) and second.dtype.kind in "iu":
        args[1] = np.where(second == 0, 3, second).astype(second.dtype)
    elif not isinstance(second, np.ndarray):
        args[1] = second or 2
    return args, {}


def _pow(d):
    """Not the power of a half, for which NumPy takes the square root: of -inf, it is inf."""
    args = two(d, d.one_of(INTS, FLOATS))
    args[1] = np.where(args[1] == 0.5, 3, args[1]).astype(args[1].dtype) if isinstance(
        args[1], np.ndarray) else (1.5 if args[1] == 0.5 else args[1])
    if any(isinstance(a, np.ndarray) and a.dtype.kind in "iu" for a in args):
        args[1] = abs(args[1]) % 4 if not isinstance(args[1], np.ndarray) else (
            np.abs(args[1] % 4).astype(args[1].dtype))
    return args, {}


CALLS.update(bitwise_left_shift=_shift,
             bitwise_right_shift=_shift,
             floor_divide=_divided,
             remainder=_divided,
             pow=_pow)


@of("clip")
def _clip(d):
    t = d.one_of(*REAL_NUMERIC)
    x = d.array(t)
    low, high = sorted([d.number(t), d.number(t)])
    bounds = {"min": low, "max": high}
    for k in bounds:
        if d.sometimes(0.3):
            bounds[k] = np.full(d.one_of((), x.shape), bounds[k], t)
        elif d.sometimes(0.2):
            bounds[k] = None
    return [x], bounds


# ---- reductions ----------------------------------------------------------------------------------
def reduction(*allowed, dtype=False, empty=True, special=True):
    def call(d):
        t = d.one_of(*allowed)
        x = d.array(t, None if empty else d.shape(sides=(1, 2, 3)), special)
        kw = {"axis": d.axes(x.ndim), "keepdims": d.sometimes()}
        if dtype and d.sometimes(0.3):
            kw["dtype"] = DType(d.one_of(*(u for u in NUMERIC if np.can_cast(t, u))))
        return [x], kw
    return call


CALLS.update(
    sum=reduction(*NUMERIC, dtype=True), prod=reduction(*NUMERIC, dtype=True),
    mean=reduction(*FLOATS), max=reduction(*REAL_NUMERIC, empty=False),
    min=reduction(*REAL_NUMERIC, empty=False), all=reduction(*ALL), any=reduction(*ALL),
    count_nonzero=reduction(*ALL))


def _spread(d):
    """With a correction that leaves something: NumPy divides by zero, the standard does not."""
    args, kw = reduction(*REALS, empty=False)(d)
    kw["correction"] = d.one_of(0, 0.0, 0.5)
    return args, kw


def _place(d):
    x = d.array(d.one_of(*REAL_NUMERIC), d.shape(sides=(1, 2, 3)), False)
    return [x], {
        "axis": d.axis(x.ndim) if x.ndim and d.sometimes() else None,
        "keepdims": d.sometimes()
    }


def _running(d):
    t = d.one_of(*NUMERIC)
    x = d.array(t, d.shape(1))
    axis = None if x.ndim == 1 and d.sometimes() else d.axis(x.ndim)
    kw = {"axis": axis, "include_initial": d.sometimes()}
    if d.sometimes(0.3):
        kw["dtype"] = DType(d.one_of(*(u for u in NUMERIC if np.can_cast(t, u))))
    return [x], kw


CALLS.update(std=_spread,
             var=_spread,
             argmax=_place,
             argmin=_place,
             cumulative_sum=_running,
             cumulative_prod=_running)


# ---- order, sets, places -------------------------------------------------------------------------
def _sorted(d):
    x = d.array(d.one_of(*REAL_NUMERIC), d.shape(1), False)
    return [x], {"axis": d.axis(x.ndim), "descending": d.sometimes(), "stable": True}


CALLS.update(sort=_sorted, argsort=_sorted)


@of("nonzero")
def _nonzero(d):
    return [d.array(d.one_of(*ALL), d.shape(1))], {}


@of("searchsorted")
def _searchsorted(d):
    t = d.one_of(*REAL_NUMERIC)
    x1, kw = d.array(t, (d.one_of(1, 2, 5),), False), {"side": d.one_of("left", "right")}
    if d.sometimes():
        kw["sorter"] = np.argsort(x1, kind="stable")
    else:
        x1 = np.sort(x1)
    return [x1, d.array(t, None, False)], kw


@of("where")
def _where(d):
    t, s = d.dtypes(ALL), d.shapes(3)
    args = [d.array("bool", s[0]), d.array(t[0], s[1]), d.array(t[1], s[2])]
    if d.sometimes(0.2):
        args[2] = d.number(t[0])
    return args, {}


for _name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
    CALLS[_name] = lambda d: ([d.array(d.one_of(*ALL), None, d.sometimes(0.3))], {})


@of("take")
def _take(d):
    x = d.array(d.one_of(*ALL), d.shape(1, sides=(1, 2, 3)))
    axis = d.axis(x.ndim)
    n = x.shape[axis]
    i = d.array(d.one_of("int64", "int32"), (d.one_of(0, 1, 4),), False, -n, n - 1)
    return [x, i], {} if x.ndim == 1 and d.sometimes() else {"axis": axis}


@of("take_along_axis")
def _take_along_axis(d):
    x = d.array(d.one_of(*ALL), d.shape(1, sides=(1, 2, 3)))
    axis = d.axis(x.ndim)
    shape = list(x.shape)
    shape[axis] = d.one_of(0, 1, 4)
    n = x.shape[axis]
    return [x, d.array(d.one_of("int64", "int32"), tuple(shape), False, -n, n - 1)], {"axis": axis}


@of("diff")
def _diff(d):
    t = d.one_of(*NUMERIC)
    x = d.array(t, d.shape(1, sides=(2, 3, 4)))
    axis = d.axis(x.ndim)
    kw = {"axis": axis, "n": d.one_of(0, 1, 2)}
    for k in ("prepend", "append"):
        if d.sometimes(0.3):
            shape = list(x.shape)
            shape[axis] = d.one_of(1, 2)
            kw[k] = d.array(t, tuple(shape))
    return [x], kw


# ---- shapes --------------------------------------------------------------------------------------
@of("concat")
def _concat(d):
    axis_none = d.sometimes(0.3)
    t, shape = d.dtypes(ALL, 3), d.shape(0 if axis_none else 1)
    axis, arrays = None if axis_none else d.axis(len(shape)), []
    for u in t:
        own = list(shape)
        if axis is not None:
            own[axis] = d.one_of(0, 1, 2)
        arrays.append(d.array(u, tuple(own)))
    return [tuple(arrays) if d.sometimes() else arrays], {"axis": axis}


@of("stack")
def _stack(d):
    shape = d.shape()
    arrays = [d.array(u, shape) for u in d.dtypes(ALL, 2)]
    return [arrays], {"axis": d.choice.randint(-len(shape) - 1, len(shape))}


@of("unstack")
def _unstack(d):
    x = d.array(d.one_of(*ALL), d.shape(1))
    return [x], {"axis": d.axis(x.ndim)}


@of("expand_dims")
def _expand_dims(d):
    x = d.array(d.one_of(*ALL))
    return [x], {"axis": d.choice.randint(-x.ndim - 1, x.ndim)}


@of("squeeze")
def _squeeze(d):
    x = d.array(d.one_of(*ALL), d.shape(1, sides=(1, 1, 2)))
    ones = [a for a in range(x.ndim) if x.shape[a] == 1]
    if not ones:
        return [x], {"axis": ()}
    return [x], {"axis": d.choice.choice(ones) if d.sometimes() else tuple(ones)}


@of("flip")
def _flip(d):
    x = d.array(d.one_of(*ALL))
    return [x], {"axis": d.axes(x.ndim)}


@of("roll")
def _roll(d):
    x = d.array(d.one_of(*ALL))
    axis = d.axes(x.ndim)
    shift = d.choice.randint(-5, 5)
    if isinstance(axis, tuple):
        axis = tuple({a % x.ndim for a in axis})
        if d.sometimes():
            shift = tuple(d.choice.randint(-5, 5) for _ in axis)
    return [x, shift], {"axis": axis}


@of("permute_dims")
def _permute_dims(d):
    x = d.array(d.one_of(*ALL))
    return [x, tuple(d.choice.sample(range(x.ndim), x.ndim))], {}


@of("moveaxis")
def _moveaxis(d):
    x = d.array(d.one_of(*ALL), d.shape(1))
    if d.sometimes():
        return [x, d.axis(x.ndim), d.axis(x.ndim)], {}
    n = d.choice.randint(0, x.ndim)
    return [x,
            tuple(d.choice.sample(range(x.ndim), n)),
            tuple(d.choice.sample(range(x.ndim), n))], {}


@of("reshape")
def _reshape(d):
    x = d.array(d.one_of(*ALL))
    shape = d.one_of((x.size, ), (-1, ) if x.size else (x.size, ), (1, *x.shape), x.shape[::-1],
                     (*x.shape, 1))
    return [x, shape], {"copy": d.one_of(None, True)}


@of("repeat")
def _repeat(d):
    x = d.array(d.one_of(*ALL))
    axis = d.axis(x.ndim) if x.ndim and d.sometimes(0.7) else None
    n = x.size if axis is None else x.shape[axis]
    return [x, d.array("int64", (n, ), False, 0, 3) if d.sometimes() else d.choice.randint(0, 3)], {
        "axis": axis
    }


@of("tile")
def _tile(d):
    return [
        d.array(d.one_of(*ALL)),
        tuple(d.choice.randint(0, 3) for _ in range(d.choice.randint(0, 4)))
    ], {}


@of("broadcast_to")
def _broadcast_to(d):
    x, shape = d.array(d.one_of(*ALL), d.shape(sides=(0, 1, 3))), d.shape(0, 1)
    return [x, shape + tuple(2 if s == 1 and d.sometimes() else s for s in x.shape)], {}


@of("broadcast_arrays")
def _broadcast_arrays(d):
    return [d.array(d.one_of(*ALL), s) for s in d.shapes(d.one_of(1, 2, 3))], {}


@of("meshgrid")
def _meshgrid(d):
    t = d.one_of(*NUMERIC)
    return [d.array(t, (d.one_of(0, 1, 2, 3), )) for _ in range(d.one_of(0, 1, 2, 3))], {
        "indexing": d.one_of("xy", "ij")
    }


def _triangle(d):
    return [d.array(d.one_of(*ALL), d.shape(2))], {"k": d.choice.randint(-4, 4)}


CALLS.update(tril=_triangle, triu=_triangle)


# ---- making arrays, types ------------------------------------------------------------------------
def maybe_dtype(d, allowed=ALL):
    return {"dtype": DType(d.one_of(*allowed))} if d.sometimes(0.7) else {}


def _filled(d):
    return [d.one_of(d.shape(), d.choice.randint(0, 4))], maybe_dtype(d)


def _like(d):
    return [d.array(d.one_of(*ALL))], maybe_dtype(d)


CALLS.update(zeros=_filled, ones=_filled, zeros_like=_like, ones_like=_like)


@of("full")
def _full(d):
    t = d.one_of(*ALL)
    return [d.shape(), d.number(t)], {"dtype": DType(t)} if d.sometimes() else {}


@of("full_like")
def _full_like(d):
    t = d.one_of(*ALL)
    return [d.array(t), d.number(t)], {"dtype": DType(t)} if d.sometimes() else {}


@of("eye")
def _eye(d):
    n = d.choice.randint(0, 4)
    return [n] if d.sometimes() else [n, d.one_of(None, 0, 2, 5)], {
        "k": d.choice.randint(-5, 5),
        **maybe_dtype(d)
    }


@of("arange")
def _arange(d):
    step = d.one_of(1, 2, -1, 3, 0.5, -1.5)
    start, stop = d.choice.randint(-5, 5), d.choice.randint(-5, 5)
    args = [start
            ] if d.sometimes(0.2) else [start, stop] if d.sometimes(0.3) else [start, stop, step]
    kw = {"dtype": DType(d.one_of("int64", "int8", "float32", "float64"))} if d.sometimes() else {}
    if any(isinstance(a, float) for a in args) and "int" in kw.get("dtype", ""):
        del kw["dtype"]
    return args, kw


@of("linspace")
def _linspace(d):
    return [
        d.one_of(0, -1.5, 2, 1 + 2j if d.sometimes(0.2) else 3.0),
        d.one_of(0, 4.5, -3),
        d.choice.randint(0, 6)
    ], {
        "endpoint": d.sometimes(),
        **(maybe_dtype(d, COMPLEX) if d.sometimes(0.3) else {})
    }


@of("asarray")
def _asarray(d):
    t = d.one_of(*ALL)
    x = d.array(t)
    return [
        x if d.sometimes() else d.number(t) if d.sometimes(0.3) else
        [d.number("int8"), 2] if d.sometimes() else [[0.5, d.number("float64")], [1, True]]
    ], {
        "copy": d.one_of(None, True)
    }


@of("astype")
def _astype(d):
    t, u = d.one_of(*ALL), d.one_of(*ALL)
    if t in COMPLEX and u not in COMPLEX:
        u = d.one_of(*COMPLEX)
    x = d.array(t, None, False)
    if t in REALS and u not in FLOATS:
        x = np.abs(x)
    if u[0] == "u" and t in INTS + REALS:
        x = np.where(x < 0, 1, x).astype(t)
    return [x, DType(u)], {"copy": d.sometimes()}


@of("result_type")
def _result_type(d):
    t = d.dtypes(ALL, d.one_of(1, 2, 3))
    args = [d.array(u) if d.sometimes() else DType(u) for u in t]
    if d.sometimes(0.4):
        args.insert(d.choice.randint(0, len(args)), d.number(d.choice.choice(t)))
    return args, {}


@of("can_cast")
def _can_cast(d):
    t = d.one_of(*ALL)
    return [d.array(t) if d.sometimes(0.3) else DType(t), DType(d.one_of(*ALL))], {}


KINDS = ("bool", "signed integer", "unsigned integer", "integral", "real floating",
         "complex floating", "numeric")


@of("isdtype")
def _isdtype(d):
    def kind():
        return DType(d.one_of(*ALL)) if d.sometimes(0.3) else d.one_of(*KINDS)

    return [
        DType(d.one_of(*ALL)),
        tuple(kind() for _ in range(d.one_of(1, 2, 3))) if d.sometimes() else kind()
    ], {}


# ---- products ------------------------------------------------------------------------------------
@of("matmul")
def _matmul(d):
    t = d.dtypes(NUMERIC)
    n, k, m = (d.one_of(0, 1, 2, 3) for _ in range(3))
    batch = d.shapes()
    first = (k,) if d.sometimes(0.3) else (*batch[0], n, k)
    second = (k,) if d.sometimes(0.3) else (*batch[1], k, m)
    return [d.array(t[0], first, False, 0, 4), d.array(t[1], second, False, 0, 4)], {}


@of("tensordot")
def _tensordot(d):
    t, shape, other = d.dtypes(NUMERIC), d.shape(most=2), d.shape(most=2)
    inner = d.shape(most=2)
    a, b = d.array(t[0], shape + inner, False, 0, 4), d.array(t[1], inner + other, False, 0, 4)
    if d.sometimes():
        return [a, b], {"axes": len(inner)}
    order = d.choice.sample(range(len(inner)), len(inner))
    axes = (tuple(len(shape) + i for i in order), tuple(order))
    return [a, b], {"axes": axes}


@of("vecdot")
def _vecdot(d):
    t, shapes, n = d.dtypes(NUMERIC), d.shapes(), d.one_of(0, 1, 3)
    axis = -d.choice.randint(1, 1 + min(map(len, shapes)))
    def put(s):
        at = len(s) + 1 + axis
        return (*s[:at], n, *s[at:])
    return [d.array(u, put(s), False, 0, 4) for u, s in zip(t, shapes)], {"axis": axis}


@of("matrix_transpose")
def _matrix_transpose(d):
    return [d.array(d.one_of(*ALL), d.shape(2))], {}
