"""Tensors in the hands of NumPy: what its functions ask for, and which ops they are. Memory is
shared, in both directions."""
import functools

import numpy as np

from .. import dtypes
from ..tensor import shown, wrap
from . import dims
from .from_data import memory_of
from .registry import is_tensor
from .surface import FUNCTIONS, method


# ---- as a NumPy array ----------------------------------------------------------------------------
@method()
def __array__(self, dtype=None, copy=None):
    """The tensor's memory for `np.asarray`; converted or copied where asked."""
    a = self.numpy()
    # Only C code asks for this. It gets the array itself.
    if hasattr(a, "__whet_array__"):
        a = a.__array__()
    if dtype is not None and np.dtype(dtype) != a.dtype:
        if copy is False:
            raise ValueError(
                "Unable to avoid copy while creating an array as requested: the dtype differs")
        return a.astype(dtype)
    return a.copy() if copy else a


@method()
def __array_wrap__(self, array, context=None, return_scalar=False):
    """NumPy's result as a tensor."""
    return shown(wrap(np.asarray(array).astype(bool) if array.dtype == bool else np.asarray(array)))


# ---- NumPy's functions on tensors ----------------------------------------------------------------
_UFUNCS = {                         # NumPy's name where it differs from ours
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "conjugate": "conj", "divide": "true_divide", "equal": "eq",
    "not_equal": "ne", "greater": "gt", "greater_equal": "ge",
    "less": "lt", "less_equal": "le", "invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "negative": "neg", "power": "pow", "rint": "round", "multiply": "mul", "subtract": "sub",
    "fabs": "abs", "degrees": "rad2deg", "radians": "deg2rad", "float_power": "float_power",
    "mod": "remainder", "positive": "clone", "bitwise_invert": "bitwise_not", "spacing": None,
    "isnat": None, "modf": None, "divmod": None, "acos": "acos", "vecdot": "linalg_vecdot",
}
_REDUCE = {
    "add": "sum", "multiply": "prod", "maximum": "amax", "minimum": "amin", "logical_and": "all",
    "logical_or": "any"}
_ACCUMULATE = {"add": "cumsum", "multiply": "cumprod"}
_PRODUCTS = {"matmul", "vecdot"}


def _ours(x):
    """A NumPy operand as a tensor or number."""
    if isinstance(x, np.ndarray):
        return wrap(memory_of(x))
    return x.item() if isinstance(x, np.generic) and x.dtype.kind in "biufc" else x


def _operand(x):
    """What NumPy takes for an array, as a tensor or number: also lists and tuples of numbers."""
    if not isinstance(x, list | tuple):
        return _ours(x)
    return (FUNCTIONS["as_tensor"](x) if any(map(is_tensor, x))
            else wrap(memory_of(np.asarray(x))))


def _tensors(*xs):
    return [x if is_tensor(x) else FUNCTIONS["as_tensor"](_operand(x)) for x in xs]


def _of_one_type(*xs):
    """Tensors of the type that NumPy gives their product."""
    ts = _tensors(*xs)
    if len({t.dtype for t in ts}) == 1:
        return ts
    common = functools.reduce(FUNCTIONS["promote_types"], [t.dtype for t in ts])
    return [t.to(common) for t in ts]


def _deliver(result, out):
    """A result into NumPy's `out=`: tensors and arrays."""
    if out is None:
        return result
    out = out[0] if isinstance(out, tuple) else out
    if is_tensor(out):
        return out.copy_(result)
    np.copyto(out, result.detach().numpy(), casting="same_kind")
    return out


@method()
def __array_ufunc__(self, ufunc, way, *inputs, out=None, **kwargs):
    """A NumPy ufunc on tensors: the op of that name, with gradients."""
    name = ufunc.__name__
    if kwargs.get("where", True) is not True:
        return _where_chosen(ufunc, way, inputs, out, kwargs)
    kwargs.pop("where", None)
    inputs = [_operand(x) for x in inputs]
    if way == "__call__" and not kwargs:
        ours = _UFUNCS.get(name, name)
        fn = FUNCTIONS.get(ours) if ours else None
        if fn is not None:
            inputs = _of_one_type(*inputs) if name in _PRODUCTS else inputs
            return _deliver(fn(*inputs), out)
    elif (way == "reduce" and name in _REDUCE and not kwargs.get("dtype")
          and kwargs.get("initial", np._NoValue) is np._NoValue):
        axis, keepdims = kwargs.get("axis", 0), kwargs.get("keepdims", False)
        x = inputs[0]
        if axis is None:
            axis = tuple(range(x.ndim))
        return _deliver(_reduced(FUNCTIONS[_REDUCE[name]], x, axis, keepdims), out)
    elif way == "accumulate" and name in _ACCUMULATE:
        return _deliver(FUNCTIONS[_ACCUMULATE[name]](inputs[0], kwargs.get("axis", 0)), out)
    elif way == "outer" and not kwargs:
        fn = FUNCTIONS.get(_UFUNCS.get(name, name) or "")
        if fn is not None:
            a, b = (x if is_tensor(x) else FUNCTIONS["as_tensor"](x) for x in inputs)
            return _deliver(fn(a.reshape(*a.shape, *[1] * b.ndim), b), out)
    _refuse_gradients(ufunc, way, inputs)
    made = getattr(ufunc, way)(*_arrays(inputs), **_arrays(kwargs))
    if isinstance(made, tuple):
        return tuple([_deliver(FUNCTIONS["as_tensor"](m), o)
                      for m, o in zip(made, out or (None,) * len(made))])
    return made if made is None else _deliver(FUNCTIONS["as_tensor"](made), out)


def _refuse_gradients(ufunc, way, inputs):
    """Raise where NumPy alone is to compute what carries gradients."""
    call = ufunc.__name__ if way == "__call__" else f"{ufunc.__name__}.{way}"
    if any(is_tensor(x) and x.requires_grad for x in inputs):
        raise TypeError(
            f"numpy.{call} on whet tensors has no gradient; convert with tensor.detach() to leave "
            "the recorded graph")


def _where_chosen(ufunc, way, inputs, out, kwargs):
    """A ufunc that leaves elements of `out` as they are: NumPy computes it, into copies."""
    _refuse_gradients(ufunc, way, inputs)
    places = out if isinstance(out, tuple) else (out,)
    if out is not None:
        kwargs = {**kwargs, "out": tuple([np.array(o) for o in places])}
    made = getattr(ufunc, way)(*_arrays(inputs), **_arrays(kwargs))
    several = isinstance(made, tuple)
    given = [_deliver(FUNCTIONS["as_tensor"](m), o)
             for m, o in zip(made if several else (made,),
                             places if out is not None else [None] * ufunc.nout)]
    return tuple(given) if several else given[0]


def _reduced(fn, x, axis, keepdims):
    """A reduction over one or several dimensions; those that take one at a time are repeated."""
    if fn is not FUNCTIONS["prod"]:
        return fn(x, axis, keepdims)
    for a in sorted(dims.many(axis, x.ndim, "prod"), reverse=True):
        x = fn(x, a, keepdims)
    return x


def _type(dtype):
    """A type as NumPy's functions take it: one of ours, one of NumPy's, its name, or none."""
    return (dtype if dtype is None or isinstance(dtype, dtypes.dtype)
            else dtypes.from_numpy(np.dtype(dtype)))


class _NotTaken(TypeError):
    """An op does not take an argument of NumPy's function."""


def _refuse(**arguments):
    """Leave the call to NumPy's own function where it was given one of these, which the op does
    not take."""
    for name, x in arguments.items():
        if x is not None and x is not False and x is not np._NoValue:
            raise _NotTaken(f"this function of whet tensors does not support the argument {name!r}")


_NO = np._NoValue
_OPERANDS = {"", "min", "max", "indices"}       # those of an adapter's arguments that are arrays


def _call(ours, names):
    """An adapter: NumPy's parameters in order, "theirs=ours" where ours has another name;
    "theirs=" is given first, by position."""
    pairs = [tuple((n.split("=") * 2)[:2]) for n in names.split()]

    def adapter(*args, **kwargs):
        out = kwargs.pop("out", None)
        arguments = {}
        for (_, mine), v in zip(pairs, args):
            arguments[mine] = v
        known = dict(pairs)
        for k, v in kwargs.items():
            if v is np._NoValue:
                continue
            if k not in known:
                raise _NotTaken(f"numpy.{ours} on whet tensors does not support the argument {k!r}")
            arguments[known[k]] = v
        if len(args) > len(pairs):
            raise _NotTaken(
                f"numpy.{ours} on whet tensors takes at most {len(pairs)} positional arguments")
        arguments = {
            k: (_operand if k in _OPERANDS else _ours)(v) for k, v in arguments.items()
            if v is not None and v is not np._NoValue}
        if "dtype" in arguments:
            arguments["dtype"] = _type(arguments["dtype"])
        _refuse(axis=arguments.get("dim") == ())    # to the ops, no dimension is all of them
        first = arguments.pop("", _NO)
        fn = FUNCTIONS.get(ours)
        if fn is None:
            raise TypeError(f"numpy's {ours} is not supported on whet tensors")
        return _deliver(fn(**arguments) if first is _NO else fn(first, **arguments), out)
    return adapter


def _reduction(name, extra=""):
    return _call(name, f"a= axis=dim {extra} keepdims=keepdim")


def _of_truths(name):
    of_truths = _reduction(name)                # PyTorch's has bytes for bytes
    return lambda a, *args, **kwargs: of_truths(a.to(dtypes.bool_), *args, **kwargs)


def _extremum(name):
    def adapter(a, axis=None, out=None, keepdims=False, **kwargs):
        _refuse(axis=axis == (), **kwargs)
        axis = tuple(range(a.ndim)) if axis is None else axis
        return _deliver(
            FUNCTIONS[name](a, axis, bool(keepdims) if keepdims is not np._NoValue else False), out)
    return adapter


def _prod(a, axis=None, dtype=None, out=None, keepdims=False, **kwargs):
    _refuse(axis=axis == (), **kwargs)
    d = _type(dtype)
    keep = False if keepdims is np._NoValue else bool(keepdims)
    if axis is None:
        return _deliver(FUNCTIONS["prod"](a, dtype=d), out)
    return _deliver(_reduced(FUNCTIONS["prod"], a if d is None else a.to(d), axis, keep), out)


def _spread(name):

    def adapter(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, correction=None,
                **kwargs):
        _refuse(axis=axis == (), **kwargs)
        keep = False if keepdims is np._NoValue else bool(keepdims)
        c = ddof if correction in (None, np._NoValue) else correction
        return _deliver(
            FUNCTIONS[name](a if dtype is None else a.to(_type(dtype)), axis,
                            correction=c, keepdim=keep), out)
    return adapter


def _cumulative(name):
    def adapter(a, axis=None, dtype=None, out=None):
        if axis is None:
            a, axis = a.reshape(-1), 0
        return _deliver(
            FUNCTIONS[name](a, axis,
                            **({} if dtype is None else {"dtype": _type(dtype)})), out)
    return adapter


def _like(name):
    def adapter(a, *value, dtype=None, order="K", subok=True, shape=None, device=None):
        d = None if dtype is None else _type(dtype)
        if shape is not None:
            shape = (shape,) if isinstance(shape, int) else tuple(shape)
            plain = name.removesuffix("_like")
            return FUNCTIONS[plain](shape, *value, dtype=a.dtype if d is None else d)
        return FUNCTIONS[name](a, *value, dtype=d)
    return adapter


def _where(condition, x=None, y=None):
    condition, x, y = _operand(condition), _operand(x), _operand(y)
    if not is_tensor(condition):
        condition = FUNCTIONS["as_tensor"](condition)
    return (FUNCTIONS["where"](condition.to(dtypes.bool_), x, y)
            if x is not None else FUNCTIONS["nonzero"](condition, as_tuple=True))


def _take(a, indices, axis=None, out=None, mode="raise"):
    a, i = _operand(a), FUNCTIONS["as_tensor"](_operand(indices))
    _refuse(mode=mode != "raise")
    if axis is None:
        return _deliver(FUNCTIONS["take"](a, i), out)
    d = axis % a.ndim
    return _deliver(a[(slice(None),) * d + (i,)], out)


def _repeat(a, repeats, axis=None):
    return FUNCTIONS["repeat_interleave"](_ours(a),
                                          _ours(repeats) if not isinstance(repeats, list | tuple)
                                          else FUNCTIONS["tensor"](list(repeats)),
                                          axis)


def _squeeze(a, axis=None):
    if axis is not None:
        for d in axis if isinstance(axis, tuple) else (axis,):
            if a.shape[d] != 1:
                raise ValueError(
                    "cannot select an axis to squeeze out which has size not equal to one")
    return FUNCTIONS["squeeze"](a, axis)


def _expand_dims(a, axis):
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    n = a.ndim + len(axes)
    for d in sorted(x % n for x in axes):
        a = a.unsqueeze(d)
    return a


def _flip(m, axis=None):
    return FUNCTIONS["flip"](m, tuple(range(m.ndim)) if axis is None else axis)


def _transpose(a, axes=None):
    return FUNCTIONS["permute"](a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def _sort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        a, axis = a.reshape(-1), 0
    return FUNCTIONS["sort"](a, axis=axis)


def _argsort(a, axis=-1, kind=None, order=None, *, stable=None):
    if axis is None:
        a, axis = a.reshape(-1), 0
    return FUNCTIONS["argsort"](a, axis)


def _concatenate(arrays, axis=0, out=None, *, dtype=None, casting=None):
    ts = _tensors(*arrays)
    if axis is None:
        ts, axis = [t.reshape(-1) for t in ts], 0
    r = FUNCTIONS["cat"](ts, axis)
    return _deliver(r if dtype is None else r.to(_type(dtype)), out)


def _stacking(name):
    def adapter(tup, **kwargs):
        _refuse(**kwargs)
        return FUNCTIONS[name](_tensors(*tup))
    return adapter


def _of_each(name):
    return lambda *arrays: FUNCTIONS[name](*_tensors(*arrays))


def _stack(arrays, axis=0, out=None, *, dtype=None, casting=None):
    r = FUNCTIONS["stack"](_tensors(*arrays), axis)
    return _deliver(r if dtype is None else r.to(_type(dtype)), out)


def _split(ary, indices_or_sections, axis=0):
    if isinstance(indices_or_sections, int) and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return list(FUNCTIONS["tensor_split"](ary, indices_or_sections, axis))


def _einsum(*operands, out=None, **kwargs):
    if not isinstance(operands[0], str):        # operands and the numbers of their dimensions
        return _deliver(FUNCTIONS["einsum"](*[_ours(x) for x in operands]), out)
    return _deliver(FUNCTIONS["einsum"](operands[0], *_of_one_type(*operands[1:])), out)


def _two(name):
    def adapter(a, b, out=None):
        return _deliver(FUNCTIONS[name](*_of_one_type(a, b)), out)
    return adapter


def _close(name):
    def adapter(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
        return FUNCTIONS[name](*_of_one_type(a, b), rtol, atol, equal_nan)
    return adapter


def _dot(a, b, out=None):
    a, b = _of_one_type(a, b)
    if not a.ndim or not b.ndim:
        return _deliver(a * b, out)
    return _deliver(
        FUNCTIONS["matmul"](a, b)
        if b.ndim <= 2 else FUNCTIONS["tensordot"](a, b, ([a.ndim - 1], [b.ndim - 2])),
        out)


def _tensordot(a, b, axes=2):
    return FUNCTIONS["tensordot"](*_of_one_type(a, b), axes)


def _round(a, decimals=0, out=None):
    _refuse(integers=decimals and a.dtype.category < dtypes.FLOAT)
    return _deliver(FUNCTIONS["round"](a, decimals=decimals), out)


def _vdot(a, b):
    return FUNCTIONS["vdot"](*[x.reshape(-1) for x in _of_one_type(a, b)])


def _meshgrid(*xi, indexing="xy", sparse=False, copy=True):
    _refuse(sparse=sparse)
    return FUNCTIONS["meshgrid"](*_of_one_type(*xi), indexing=indexing)


def _unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *,
            equal_nan=True, sorted=True):
    _refuse(return_index=return_index)
    return FUNCTIONS["unique"](ar, True, return_inverse, return_counts, axis)


def _median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    _refuse(axis=isinstance(axis, tuple), integers=a.dtype.category < dtypes.FLOAT)
    keep = keepdims is not np._NoValue and bool(keepdims)
    return _deliver(FUNCTIONS["quantile"](a, 0.5, axis, keep), out)


def _array_equal(a1, a2, equal_nan=False):
    _refuse(equal_nan=equal_nan)
    return FUNCTIONS["equal"](*_tensors(a1, a2))


_FUNCTIONS = {
    "sum": _reduction("sum", "dtype"),
    "mean": _reduction("mean", "dtype"),
    "prod": _prod,
    "all": _of_truths("all"),
    "any": _of_truths("any"),
    "max": _extremum("amax"),
    "amax": _extremum("amax"),
    "min": _extremum("amin"),
    "amin": _extremum("amin"),
    "std": _spread("std"),
    "var": _spread("var"),
    "argmax": _call("argmax", "a= axis=dim keepdims=keepdim"),
    "argmin": _call("argmin", "a= axis=dim keepdims=keepdim"),
    "cumsum": _cumulative("cumsum"),
    "cumprod": _cumulative("cumprod"),
    "count_nonzero": _call("count_nonzero", "a= axis=dim"),
    "nansum": _reduction("nansum", "dtype"),
    "nanmean": _reduction("nanmean", "dtype"),
    "concatenate": _concatenate,
    "stack": _stack,
    "hstack": _stacking("hstack"),
    "vstack": _stacking("vstack"),
    "dstack": _stacking("dstack"),
    "column_stack": _stacking("column_stack"), "split": _split, "array_split": lambda ary,
    indices_or_sections, axis=0: list(
        FUNCTIONS["tensor_split"](ary, indices_or_sections, axis)),
    "reshape": _call("reshape", "a= shape"), "ravel": _call("ravel", "a="), "transpose": _transpose,
    "permute_dims": _transpose, "swapaxes": _call("transpose", "a= axis1=dim0 axis2=dim1"),
    "moveaxis": _call("movedim", "a= source destination"), "squeeze": _squeeze,
    "expand_dims": _expand_dims, "broadcast_to": _call("broadcast_to", "array= shape=size"),
    "broadcast_arrays": lambda *args,
    subok=False: FUNCTIONS["broadcast_tensors"](*_tensors(*args)), "flip": _flip,
    "fliplr": _call("fliplr", "m="), "flipud": _call("flipud", "m="),
    "roll": _call("roll", "a= shift=shifts axis=dims"), "rot90": _call("rot90", "m= k axes=dims"),
    "tile": _call("tile", "A= reps=dims"), "repeat": _repeat,
    "atleast_1d": _of_each("atleast_1d"),
    "atleast_2d": _of_each("atleast_2d"),
    "atleast_3d": _of_each("atleast_3d"),
    "tril": _call("tril", "m= k=diagonal"),
    "triu": _call("triu", "m= k=diagonal"),
    "diag": _call("diag", "v= k=diagonal"),
    "diagonal": _call("diagonal", "a= offset axis1=dim1 axis2=dim2"),
    "trace": _call("trace", "a="),
    "diff": _call("diff", "a= n axis=dim"),
    "where": _where,
    "nonzero": lambda a: FUNCTIONS["nonzero"](a, as_tuple=True),
    "argwhere": _call("argwhere", "a="),
    "take": _take,
    "take_along_axis": _call("take_along_dim", "arr= indices axis=dim"),
    "sort": _sort,
    "argsort": _argsort,
    "searchsorted": lambda a, v, side="left", sorter=None: FUNCTIONS["searchsorted"]
    (_operand(a), _operand(v), side=side, sorter=sorter),
    "clip": _call("clamp", "a= a_min=min a_max=max min max"),
    "round": _round,
    "around": _round,
    "real": _call("real", "val="),
    "imag": _call("imag", "val="),
    "angle": _call("angle", "z="),
    "nan_to_num": _call("nan_to_num", "x= nan posinf neginf"),
    "isclose": _close("isclose"), "allclose": _close("allclose"),
    "array_equal": _array_equal,
    "zeros_like": _like("zeros_like"),
    "ones_like": _like("ones_like"),
    "empty_like": _like("empty_like"),
    "full_like": _like("full_like"),
    "copy": lambda a, order="K", subok=False: a.clone(),
    "shape": lambda a: tuple(a.shape),
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.numel() if axis is None else a.shape[axis],
    "dot": _dot, "inner": _two("inner"), "outer": _two("outer"), "kron": _two("kron"),
    "vdot": _vdot, "einsum": _einsum, "tensordot": _tensordot,
    "meshgrid": _meshgrid, "bincount": lambda x,
    weights=None, minlength=0: FUNCTIONS["bincount"](_operand(x), _operand(weights), minlength),
    "unique": _unique,
    "isin": lambda element, test_elements, assume_unique=False, invert=False,
    **kw: FUNCTIONS["isin"](
        _operand(element), _operand(test_elements), invert=invert),
    "median": _median,
    "result_type": lambda *xs: np.result_type(
        *[x._array.dtype if is_tensor(x) else x for x in xs]),
}


@method()
def __array_function__(self, func, types, args, kwargs):
    """A NumPy function on tensors: the op that does the same, with gradients; where there is
    none, or it does not take an argument, NumPy's own on their memory."""
    fn = (_FUNCTIONS.get(func.__name__)
          if func.__module__ in ("numpy", "numpy.lib", "numpy._core.multiarray") else None)
    if fn is not None:
        try:
            return fn(*args, **kwargs)
        except _NotTaken:
            pass
        except RuntimeError:        # types and shapes that the op does not take, but NumPy may
            if any(x.requires_grad for x in _tensors_among(args)):
                raise
    return func(*_arrays(args), **_arrays(kwargs))


def _tensors_among(x):
    """The tensors in nested arguments."""
    return ([x] if is_tensor(x) else [t for y in x for t in _tensors_among(y)]
            if type(x) in (list, tuple) else [])


def _arrays(x):
    """What NumPy is given for a tensor, or for one in a container. One that requires a gradient
    raises."""
    if is_tensor(x):
        return x.numpy()
    if type(x) in (list, tuple):
        return type(x)(map(_arrays, x))
    return {k: _arrays(v) for k, v in x.items()} if type(x) is dict else x
