"""One call in `whet.array_api` and in array-api-strict, and how what they give differs."""
import contextlib
import operator

import numpy as np
import whet

from . import extensions  # noqa: F401  (registers the calls of the extensions)
from .calls import CALLS
from .draws import ALL, Draw, DType

ours = whet.array_api
try:
    import array_api_strict as strict
    strict.set_array_api_strict_flags(api_version="2024.12",
                                      boolean_indexing=True,
                                      data_dependent_shapes=True)
except ImportError:
    strict = None


class Difference(Exception):
    """A result that is not the standard's."""


def name_of(dtype):
    return str(dtype).rpartition(".")[2]


def put(x, xp, array):
    """Arguments with a namespace's own arrays and types."""
    if isinstance(x, np.ndarray):
        return array(x)
    if isinstance(x, DType):
        return getattr(xp, x)
    if isinstance(x, dict):
        return {k: put(v, xp, array) for k, v in x.items()}
    return type(x)(put(v, xp, array) for v in x) if type(x) in (list, tuple) else x


def find(xp, name):
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def as_numpy(x):
    return x.numpy() if isinstance(x, whet.Tensor) else np.asarray(x._array)


def tolerance(dtype):
    return 2e-4 if np.dtype(dtype).name in ("float32", "complex64") else 1e-9


def compare(got, want, unsigned=False):
    """Raise `Difference` where two results are not the same."""
    if isinstance(want, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(want):
            raise Difference(f"{type(got).__name__} for {type(want).__name__} of {len(want)}")
        if not isinstance(got, type(want)) and type(want) in (tuple, list):
            raise Difference(f"a {type(got).__name__}, not a {type(want).__name__}")
        for field in getattr(want, "_fields", ()):
            if not hasattr(got, field):
                raise Difference(f"no field {field}")
        for g, w in zip(got, want):
            compare(g, w, unsigned)
    elif hasattr(want, "_array"):
        if not isinstance(got, whet.Tensor):
            raise Difference(f"a {type(got).__name__}, not a tensor")
        compare_arrays(got, want, unsigned)
    elif name_of(got) != name_of(want):
        raise Difference(f"{got}, not {want}")


def compare_arrays(got, want, unsigned):
    if name_of(got.dtype) != name_of(want.dtype):
        raise Difference(f"{got.dtype}, not {name_of(want.dtype)}")
    if tuple(got.shape) != want.shape:
        raise Difference(f"shape {tuple(got.shape)}, not {want.shape}")
    g, w = as_numpy(got), as_numpy(want)
    if w.dtype.kind in "biu":
        same = (g == w).all()
    elif w.dtype.kind == "c":
        tested = np.isfinite(w)
        same = np.allclose(g[tested], w[tested], rtol=tolerance(w.dtype), atol=tolerance(w.dtype))
    else:
        same = np.allclose(g, w, rtol=tolerance(w.dtype), atol=tolerance(w.dtype), equal_nan=True)
        same = same and (unsigned or (np.signbit(g) == np.signbit(w))[(w == 0) & (g == 0)].all())
    if not same:
        raise Difference(f"{g!r}, not {w!r}")


# NumPy's power takes a square root where the standard wants no sign; which of two zeros is unique
# is not said, nor which is the larger, nor whether a sum starts with one. A transform is sums.
EITHER_ZERO = {
    "clip", "sum", "mean", "cumulative_sum", "max", "min", "maximum", "minimum", "sort", "pow",
    "operator.pow", "operator.ipow", "unique_values", "unique_counts", "unique_all",
    "unique_inverse", "fft.irfft", "fft.hfft"
}
UNIQUE = {"linalg.svd", "linalg.qr", "linalg.eigh"}


def recombined(name, result):
    """Of factors that are not unique, what is: their product and shapes."""
    a = [as_numpy(x) for x in result]
    if name == "linalg.qr":
        product = a[0] @ a[1]
    elif name == "linalg.eigh":
        product = (a[1] * a[0][..., None, :]) @ np.conj(np.swapaxes(a[1], -1, -2))
    else:
        k = a[1].shape[-1]
        product = (a[0][..., :k] * a[1][..., None, :]) @ a[2][..., :k, :]
    return [x.shape for x in a], [name_of(x.dtype) for x in result], product


def check(name, seed):
    """One random call of a function; None, or what is different with the call. `""` where
    the standard's own implementation refuses the call, so that there is nothing to compare."""
    if name.startswith("operator."):
        make = OPERATORS[name]
    else:
        make = CALLS[name]
    args, kwargs = make(Draw(hash_of(name, seed)))
    written = [repr(a) for a in args] + [f"{k}={v!r}" for k, v in kwargs.items()]
    call = f"{name}({', '.join(written)})"
    with np.errstate(all="ignore"):
        want = _run(strict, name, args, kwargs, strict_array)
    if isinstance(want, Exception):
        return ""
    with doubles():
        got = _run(ours, name, args, kwargs, whet_array)
    if isinstance(got, Exception):
        return f"{call}\n    {type(got).__name__}: {got}"
    try:
        if name in UNIQUE:
            (s1, t1, p1), (s2, t2, p2) = recombined(name, got), recombined(name, want)
            if s1 != s2 or t1 != t2 or not np.allclose(p1, p2, rtol=2e-3, atol=2e-3):
                raise Difference(f"{s1} {t1} {p1}, not {s2} {t2} {p2}")
            if hasattr(want, "_fields") and not all(hasattr(got, f) for f in want._fields):
                raise Difference(f"no fields {want._fields}")
        else:
            compare(got, want, name in EITHER_ZERO)
    except Difference as e:
        return f"{call}\n    {e}"
    return None


def hash_of(name, seed):
    return sum((i + 1) * ord(c) for i, c in enumerate(name)) * 1_000_003 + seed


def strict_array(a):
    return strict.asarray(a, copy=True)


@contextlib.contextmanager
def doubles():
    """Floats are float64 by default, as in array-api-strict."""
    before = whet.get_default_dtype()
    whet.set_default_dtype(whet.float64)
    try:
        yield
    finally:
        whet.set_default_dtype(before)


def whet_array(a):
    return ours.asarray(a, copy=True)


def _run(xp, name, args, kwargs, array):
    try:
        fn = APPLIED[name] if name in APPLIED else find(xp, name)
        return fn(*put(args, xp, array), **put(kwargs, xp, array))
    except (TypeError, ValueError, RuntimeError, IndexError, AttributeError, KeyError,
            NotImplementedError) as e:
        return e


# ---- operators -----------------------------------------------------------------------------------
NAMES = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "floor_divide": "floordiv",
    "remainder": "mod",
    "pow": "pow",
    "bitwise_and": "and_",
    "bitwise_or": "or_",
    "bitwise_xor": "xor",
    "bitwise_left_shift": "lshift",
    "bitwise_right_shift": "rshift",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
    "matmul": "matmul"
}
APPLIED, OPERATORS = {}, {}
for _standard, _op in NAMES.items():
    APPLIED[f"operator.{_op}"] = getattr(operator, _op)
    OPERATORS[f"operator.{_op}"] = CALLS[_standard]
    _inplace = "i" + _op.rstrip("_")
    if hasattr(operator, _inplace) and _op != "matmul":
        APPLIED[f"operator.{_inplace}"] = getattr(operator, _inplace)
        OPERATORS[f"operator.{_inplace}"] = CALLS[_standard]
for _standard, _op in {
        "abs": "abs",
        "negative": "neg",
        "positive": "pos",
        "bitwise_invert": "invert"
}.items():
    APPLIED[f"operator.{_op}"], OPERATORS[f"operator.{_op}"] = getattr(operator,
                                                                       _op), CALLS[_standard]


def _getitem(d):
    x = d.array(d.one_of(*ALL))
    return [x, d.key(x.shape)], {}


def _masked(d):
    x = d.array(d.one_of(*ALL))
    return [x, d.array("bool", x.shape[:d.choice.randint(0, x.ndim)])], {}


def _by_arrays(d):
    x = d.array(d.one_of(*ALL), d.shape(1, sides=(1, 2, 3)))
    return [
        x,
        tuple(
            d.array("int64", s, False, -n, n -
                    1) if d.sometimes(0.7) else d.choice.randint(-n, n - 1)
            for s, n in zip(d.shapes(x.ndim), x.shape))
    ], {}


def _setitem(d):
    x = d.array(d.one_of(*ALL))
    key = d.key(x.shape) if d.sometimes(0.7) else d.array("bool", x.shape)
    if isinstance(key, np.ndarray):
        return [x, key, d.number(x.dtype.name)], {}
    shape = x[key].shape
    return [
        x, key,
        d.one_of(d.number(x.dtype.name), d.array(x.dtype.name, ()), d.array(x.dtype.name, shape))
    ], {}


def set_item(x, key, value):
    x[key] = value
    return x


def as_scalar(kind):
    return lambda x: kind(x)


for _n, _make, _fn in (("getitem", _getitem, operator.getitem), ("masked", _masked,
                                                                 operator.getitem),
                       ("by_arrays", _by_arrays, operator.getitem), ("setitem", _setitem,
                                                                     set_item)):
    APPLIED[f"operator.{_n}"], OPERATORS[f"operator.{_n}"] = _fn, _make
for _kind in (bool, int, float, complex):
    APPLIED[f"operator.{_kind.__name__}"] = as_scalar(_kind)
    OPERATORS[f"operator.{_kind.__name__}"] = lambda d: ([d.array(d.one_of(*ALL), (), False)], {})
APPLIED["operator.index"] = operator.index
OPERATORS["operator.index"] = lambda d: ([d.array(d.one_of("int8", "int64", "uint8"),
                                                  (), False)], {})
