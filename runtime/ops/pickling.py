"""Deep copies and pickles of tensors: views of one memory stay views of one memory."""
import copyreg
import types
import weakref

import numpy as np

from .. import devices
from ..ir.memory_spans import address
from ..tensor import Tensor, shown, wrap
from ..tensor_base import REQUIRES_GRAD
from ..tensor_properties import owner
from .casting import copy_array
from .surface import FUNCTIONS, method


def refuse_history(t):
    """Raise RuntimeError where a tensor that goes to another process has a gradient to pass on."""
    if t.grad_fn is not None:
        raise RuntimeError(
            "a tensor with history cannot be sent to another process, since gradients do not "
            "cross processes: detach() it first")


def _region(a):
    """The block of memory under `a` as a 1-d array of bytes (the same object for every view of
    it), and where `a` starts in it."""
    root = owner(a)
    dense = root.flags.c_contiguous or root.flags.f_contiguous
    if not a.size or not dense or root.dtype == np.uint8 and root.nbytes > 4 * a.nbytes + 4096:
        return np.ascontiguousarray(a), None
    return root, address(a) - address(root)


def _place(root, at, dtype, shape, strides):
    """The array that `_region` took apart."""
    if at is None:
        return root.view(dtype.np).reshape(shape)
    flat = root.reshape(-1, order="A").view(np.uint8)
    return np.ndarray(shape, dtype.np, flat, at, strides)


_blocks: dict = {}


def _put_back(t, root):
    """Note that a tensor was put back over a block. Each such tensor has a version cell of its
    own, which writes to the others do not reach."""
    key, whole = id(root), root.nbytes == t._array.nbytes
    if key in _blocks:
        _blocks[key][1].shown = 1
    else:
        _blocks[key] = weakref.ref(root, lambda _: _blocks.pop(key, None)), t._shared()
        if whole:
            return
    shown(t)


def _keep(memo, key, root, copied):
    """Note the copy of a block, by an id that stays taken."""
    memo[key] = copied
    memo.setdefault(id(memo), []).append(root)


@method()
def __deepcopy__(self, memo):
    """An independent copy of a leaf; tensors that share memory still share it when they are
    copied together."""
    if id(self) in memo:
        return memo[id(self)]
    if self.grad_fn is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment. If you were attempting to deepcopy a module, this may be "
            "because of a whet.nn.utils.weight_norm usage.")
    from copy import deepcopy
    a = self._array
    elsewhere = devices.is_elsewhere(a)
    root, at = (a, None) if elsewhere else _region(a)
    key = "whet storage", id(root)
    copied = memo.get(key)
    if elsewhere:
        new = self.data.clone()._array if copied is None else copied
        _keep(memo, key, root, new)
    elif at is None:
        new = copy_array(a)
    elif copied is None and root.nbytes == a.nbytes:
        new = copied = self.data.clone()._array      # an op, which a trace follows
        _keep(memo, key, root, new)
    else:
        if copied is None:
            copied = root.copy(order="K")
            _keep(memo, key, root, copied)
        new = _place(copied, at, self.dtype, a.shape, a.strides)
    t = Tensor._make_subclass(self.__class__, wrap(new), bool(self._rg & REQUIRES_GRAD))
    if at is not None:
        _put_back(t, copied)
    memo[id(self)] = t
    if self._grad is not None:
        t._grad = deepcopy(self._grad, memo)
    for k, v in getattr(self, "__dict__", {}).items():
        t.__dict__[k] = deepcopy(v, memo)
    return t


def _rebuild(cls, root, at, dtype, shape, strides, requires_grad, attributes):
    t = Tensor._make_subclass(cls, wrap(_place(root, at, dtype, shape, strides)), requires_grad)
    _put_back(t, root)
    if attributes:
        t.__dict__.update(attributes)
    return t


def _rebuild_there(cls, t, device, requires_grad, attributes):
    """What a pickle says of a tensor on another device than the CPU."""
    made = Tensor._make_subclass(cls, t.to(device), requires_grad)
    if attributes:
        made.__dict__.update(attributes)
    return made


def _rebuild_meta(cls, dtype, shape, stride, requires_grad, attributes):
    """What a pickle says of a tensor without elements."""
    t = FUNCTIONS["empty_strided"](shape, stride, dtype=dtype, device="meta")
    made = Tensor._make_subclass(cls, t, requires_grad)
    if attributes:
        made.__dict__.update(attributes)
    return made


@method()
def __reduce_ex__(self, protocol):
    """Pickling: the memory (once for all its views), the geometry, and whether a gradient is
    wanted. History is left behind."""
    a, attributes = self._array, dict(getattr(self, "__dict__", {}))
    if self.is_meta:
        return _rebuild_meta, (self.__class__, self.dtype, tuple(self.shape), self.stride(),
                               self.requires_grad, attributes)
    if devices.is_elsewhere(a):
        return _rebuild_there, (self.__class__, self.detach().as_subclass(Tensor).cpu(),
                                str(self.device), self.requires_grad, attributes)
    root, at = _region(a)
    return _rebuild, (self.__class__, root, at, self.dtype, a.shape, a.strides, self.requires_grad,
                      attributes)


copyreg.constructor(_rebuild)  # type: ignore[arg-type]
copyreg.constructor(_rebuild_there)  # type: ignore[arg-type]
copyreg.constructor(_rebuild_meta)  # type: ignore[arg-type]


def _name_of(f):
    """What a pickle says of a C function. Ours are bound to numbers, of which they are no
    methods: they are found by name."""
    return f.__name__ if f.__module__ == "whet" else f.__reduce__()


copyreg.pickle(types.BuiltinFunctionType, _name_of)  # type: ignore[arg-type]
