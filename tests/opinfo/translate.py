"""Values and functions of torch as whet's, and whet's tensors as torch's."""
import dataclasses
import functools
import inspect
import types

import numpy as np
import torch
import whet

from .findings import Missing

SPACES = ("", "Tensor", "nn", "nn.functional", "nn.init", "nn.utils", "linalg", "fft", "special",
          "masked", "signal.windows", "autograd", "optim", "optim.lr_scheduler")
# files whose functions stand for public ones: they are read with whet in the place of torch
READ_WITH_WHET = ("common_methods_invocations", "opinfo", "common_modules", "common_optimizers",
                  "common_nn")


def attribute(owner, path):
    """`owner.a.b` for the path "a.b"."""
    return functools.reduce(getattr, filter(None, path.split(".")), owner)


@functools.cache
def public_names():
    """id of a public object of torch -> where it is found, the shortest path first."""
    found = {}
    for space in SPACES:
        owner = attribute(torch, space)
        for name in sorted(dir(owner), key=lambda n: n.startswith("_")):
            value = getattr(owner, name, None)
            if callable(value) or inspect.ismodule(value):
                found.setdefault(id(value), f"{space}.{name}".strip("."))
    return found


def ours(path):
    """What whet has at a path of torch's."""
    try:
        return attribute(whet, path)
    except AttributeError:
        raise Missing(path) from None


def function(fn):
    """A callable of torch, or of its tests, as one of whet's."""
    if fn is torch:
        return whet
    path = public_names().get(id(fn))
    if path is not None:
        return ours(path)
    if isinstance(fn, functools.partial):
        return functools.partial(function(fn.func), *map(value, fn.args),
                                 **{k: value(v) for k, v in fn.keywords.items()})
    if isinstance(fn, types.FunctionType) and any(p in fn.__module__ for p in READ_WITH_WHET):
        return read_with_whet(fn)
    if isinstance(fn, types.BuiltinFunctionType | types.MethodDescriptorType) and (
            "torch" in str(getattr(fn, "__module__", "") or getattr(fn, "__objclass__", ""))):
        raise Missing(getattr(fn, "__qualname__", str(fn)))
    return fn


@functools.cache
def read_with_whet(fn):
    """A PyTorch function tests, with whet's names in its globals and closure for torch's."""
    names, codes = set(), [fn.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
    space = dict(fn.__globals__)
    if fn.__name__ in space and space[fn.__name__] is fn:
        names.discard(fn.__name__)
    for name in names & space.keys():
        space[name] = (function(space[name]) if callable(space[name])
                       or inspect.ismodule(space[name]) else value(space[name]))
    cells = tuple([types.CellType(value(c.cell_contents)) for c in fn.__closure__ or ()])
    made = types.FunctionType(fn.__code__, space, fn.__name__, value(fn.__defaults__), cells)
    made.__kwdefaults__ = fn.__kwdefaults__ and {k: value(v) for k, v in fn.__kwdefaults__.items()}
    return made


def tensor(t):
    """A strided tensor of torch as one of whet's in memory of its own, with the same strides."""
    if t.layout is not torch.strided or t.is_quantized or t.is_nested:
        raise Missing(f"layout {t.layout}")
    plain = t.detach().resolve_conj().resolve_neg()
    flat = torch.empty(0, dtype=plain.dtype).set_(plain.untyped_storage()).clone()
    made = whet.as_strided(from_flat(flat), tuple(plain.shape), plain.stride(),
                           plain.storage_offset())
    if isinstance(t, torch.nn.Parameter):
        return whet.nn.Parameter(made.clone(), requires_grad=t.requires_grad)
    return made.requires_grad_() if t.requires_grad else made


def from_flat(flat):
    """Elements in a row, whose type NumPy may not have."""
    kind = getattr(whet, str(flat.dtype).removeprefix("torch."), None)
    if kind is None:
        raise Missing(str(flat.dtype))
    if flat.dtype is torch.bfloat16:
        return whet.from_numpy(flat.view(torch.int16).numpy()).view(kind)
    return whet.from_numpy(flat.numpy())


def value(v):
    """Any argument of torch's as whet's."""
    if isinstance(v, torch.Tensor):
        return tensor(v)
    if isinstance(v, torch.dtype | torch.memory_format | torch.layout):
        return ours(str(v).removeprefix("torch."))
    if isinstance(v, torch.device):
        return whet.device(str(v))
    if isinstance(v, torch.Size):
        return whet.Size(v)
    if isinstance(v, dict):
        return type(v)((k, value(x)) for k, x in v.items())
    if isinstance(v, tuple) and hasattr(v, "_fields"):
        return tuple([value(x) for x in v])
    if isinstance(v, list | tuple):
        return type(v)([value(x) for x in v])
    if isinstance(v, slice):
        return slice(value(v.start), value(v.stop), value(v.step))
    if dataclasses.is_dataclass(v) and id(type(v)) in public_names():
        return function(type(v))(**{f.name: value(getattr(v, f.name))
                                    for f in dataclasses.fields(v)})
    if isinstance(v, torch.nn.Module) and "made_with" in vars(v):
        args, kwargs = vars(v)["made_with"]
        return function(type(v))(*value(args), **value(kwargs))
    if callable(v) or inspect.ismodule(v):
        return function(v)
    return v


def back(t):
    """A whet tensor as one of torch's."""
    if not isinstance(t, whet.Tensor):
        return t
    plain = t.detach()
    kind = getattr(torch, str(t.dtype).rpartition(".")[2])
    if t.dtype is whet.bfloat16:
        return torch.from_numpy(np.array(plain.contiguous().view(whet.int16).numpy())).view(kind)
    return torch.from_numpy(np.array(plain.numpy()))
