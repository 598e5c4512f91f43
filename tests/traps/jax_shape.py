"""A thin PyTorch shape over jax.numpy, for the traps that jax.jit can express: functions of tensors
without writes and gradients.

`Tensor` holds an array (or, inside `jax.jit`, what stands for one) and is a pytree. A name that is
not here raises `NotExpressible`."""
import builtins
import contextlib
import operator

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
MISSING = []                     # names that a program wanted in vain


class NotExpressible(Exception):
    """There is no such thing in jax."""


def missing(name):
    """Note it (a program may catch the error) and raise."""
    MISSING.append(name)
    raise NotExpressible(name)


def _raw(x):
    if isinstance(x, Tensor):
        return x.a
    if isinstance(x, (list, tuple)) and any(isinstance(y, Tensor) for y in x):
        return type(x)([_raw(y) for y in x])
    return x


def _out(x):
    if isinstance(x, jax.Array):
        return Tensor(x)
    return type(x)([_out(y) for y in x]) if type(x) in (list, tuple) else x


def _call(f):
    def call(*args, **kwargs):
        kwargs = {{"dim": "axis", "keepdim": "keepdims"}.get(k, k): _raw(v)
                  for k, v in kwargs.items()}
        return _out(f(*map(_raw, args), **kwargs))
    return call


def _sizes(s):
    return tuple(int(n) if not isinstance(n, jax.Array) else n
                 for n in (s[0] if len(s) == 1 and isinstance(s[0], (tuple, list)) else s))


def _first(f):
    return lambda a, dim=None, **k: f(a, dim, **k)


relu = lambda a: jnp.maximum(a, 0)
SAME = {n: getattr(jnp, n) for n in """exp sin cos tan tanh sqrt log log1p expm1 abs sign floor ceil
        square isfinite isnan isinf reciprocal cosh sinh maximum minimum where einsum matmul stack
        equal allclose tril triu outer dot trace clip power remainder round logaddexp hypot atan2
        all any argmax argmin cumsum prod sum mean squeeze flip roll sort argsort take diff fmod
        nan_to_num""".split()}
SAME.update(relu=relu, cat=jnp.concatenate, sigmoid=jax.nn.sigmoid, softmax=jax.nn.softmax,
            log_softmax=jax.nn.log_softmax, mul=jnp.multiply, add=jnp.add, sub=jnp.subtract,
            div=jnp.divide, neg=jnp.negative, pow=jnp.power, clamp=jnp.clip, mm=jnp.matmul,
            t=jnp.transpose, eq=lambda a, b: a == b, ne=lambda a, b: a != b, lt=lambda a, b: a < b,
            le=lambda a, b: a <= b, gt=lambda a, b: a > b, ge=lambda a, b: a >= b,
            unsqueeze=jnp.expand_dims, transpose=jnp.swapaxes, clone=jnp.copy,
            var=lambda a, *d: jnp.var(a, *d, ddof=1), std=lambda a, *d: jnp.std(a, *d, ddof=1),
            norm=jnp.linalg.norm, flatten=jnp.ravel, zeros_like=jnp.zeros_like,
            ones_like=jnp.ones_like, full_like=jnp.full_like, amax=_first(jnp.max),
            amin=_first(jnp.min), erf=jax.scipy.special.erf)


@jax.tree_util.register_pytree_node_class
class Tensor:
    """An array with methods."""
    grad = None
    requires_grad = is_leaf = False

    def __init__(self, a):
        self.a = a

    def tree_flatten(self):
        return (self.a,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        t = object.__new__(cls)
        t.a = children[0]
        return t

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        missing(f"Tensor.{name}")

    def __setitem__(self, i, v):
        missing("Tensor.__setitem__")

    dtype, ndim, T = (property(lambda t, n=n: _out(getattr(t.a, n)))
                      for n in ("dtype", "ndim", "T"))
    shape = property(lambda t: t.a.shape)
    size = lambda t, d=None: t.a.shape if d is None else t.a.shape[d]
    dim = lambda t: t.a.ndim
    numel = lambda t: t.a.size
    item = lambda t: t.a.item()
    tolist = lambda t: t.a.tolist()
    numpy = lambda t: np.asarray(t.a)
    detach = contiguous = lambda t: Tensor(t.a)
    is_inference = lambda t: False
    to = lambda t, d: Tensor(t.a.astype(d))
    float, double, long, int, bool = (lambda t, d=d: Tensor(t.a.astype(d))
                                      for d in ("float32", "float64", "int64", "int32", "bool"))
    view = reshape = lambda t, *s: Tensor(t.a.reshape(_sizes(s)))
    expand = lambda t, *s: Tensor(jnp.broadcast_to(t.a, _sizes(s)))
    permute = lambda t, *s: Tensor(t.a.transpose(_sizes(s)))
    max = lambda t, *a: missing("Tensor.max of a dimension") if a else Tensor(t.a.max())
    min = lambda t, *a: missing("Tensor.min of a dimension") if a else Tensor(t.a.min())
    __len__ = lambda t: len(t.a)
    __iter__ = lambda t: (Tensor(x) for x in t.a)
    __getitem__ = lambda t, i: Tensor(t.a[_raw(i)])
    __bool__, __float__, __int__, __index__, __complex__ = (lambda t, f=f: f(t.a) for f in
                                                                         (builtins.bool, builtins.float, builtins.int, operator.index, complex))
    __repr__ = lambda t: repr(t.a)
    __format__ = lambda t, s: format(t.a, s)
    __hash__ = object.__hash__
    __contains__ = lambda t, x: _raw(x) in t.a


for _n, _f in SAME.items():
    if _n not in vars(Tensor):
        setattr(Tensor, _n, _call(_f))
for _n in "add sub mul truediv floordiv mod pow matmul and or xor eq ne lt le gt ge lshift rshift".split():
    _f = getattr(operator, f"__{_n}__")
    setattr(Tensor, f"__{_n}__",
            lambda t, o, f=_f: _out(f(t.a, _raw(o)))
            if isinstance(o, (Tensor, jax.Array, int, float, complex, np.generic))
            else NotImplemented)
    setattr(Tensor, f"__r{_n}__", lambda t, o, f=_f: _out(f(_raw(o), t.a)))
for _n in "neg pos invert abs".split():
    setattr(Tensor, f"__{_n}__", lambda t, f=getattr(operator, f"__{_n}__"): Tensor(f(t.a)))
Tensor.__round__ = lambda t: Tensor(jnp.round(t.a))
for _n in "add sub mul truediv floordiv mod pow matmul and or xor".split():
    setattr(Tensor, f"__i{_n}__", lambda t, o: missing("writing in place"))


# ---- the module ----------------------------------------------------------------------------------
dtype = np.dtype
device = jax.Device
for _n in "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 complex64 complex128".split():
    globals()[_n] = np.dtype(getattr(jnp, _n))
FUNCTIONS = {n: _call(f) for n, f in SAME.items()}
arange = _call(jnp.arange)
tensor = as_tensor = lambda x, dtype=None: Tensor(jnp.asarray(_raw(x), dtype or (jnp.float32 if np.asarray(_raw(x)).dtype == np.float64 else None)))
full = lambda s, v, dtype=None: Tensor(jnp.full(s, _raw(v), dtype or (jnp.float32 if isinstance(v, float) else None)))
zeros = lambda *s, dtype=None: Tensor(jnp.zeros(_sizes(s), dtype or jnp.float32))
ones = lambda *s, dtype=None: Tensor(jnp.ones(_sizes(s), dtype or jnp.float32))
is_grad_enabled = is_inference_mode_enabled = lambda: False
get_default_dtype, set_default_dtype = (lambda: "float32"), (lambda d: None if d == "float32" else missing("set_default_dtype"))
get_num_threads, get_rng_state = (lambda: 1), (lambda: np.zeros(1))
manual_seed = set_grad_enabled = lambda x: None
set_num_threads = lambda n: missing("set_num_threads")
is_tensor = lambda x: isinstance(x, Tensor)
allclose = lambda a, b: bool(jnp.allclose(a.a, b.a))
equal = lambda a, b: bool(jnp.array_equal(a.a, b.a))
no_grad = contextlib.nullcontext


class _Absent(type):
    def __getattr__(cls, name):
        return cls


class Absent(metaclass=_Absent):
    """In place of a class or a module that jax has not."""

    def __new__(cls, *args, **kwargs):
        missing(cls.__name__)


def __getattr__(name):
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    if name in ("bool", "int", "float", "double", "long"):
        return np.dtype({"int": "int32", "float": "float32", "double": "float64",
                         "long": "int64"}.get(name, name))
    if name.startswith("__"):
        raise AttributeError(name)
    missing(name)


def functional(name):
    """whet.nn.functional"""
    if name in ("relu", "softmax", "log_softmax", "sigmoid", "tanh"):
        return FUNCTIONS[name]
    if name.startswith("__"):
        raise AttributeError(name)
    missing(f"F.{name}")
