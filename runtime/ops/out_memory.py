"""How a result is put into the memory of its `out=`."""
import math
import warnings

import numpy as np

from .. import devices, dtypes
from ..autograd import inplace, modes
from ..ir.memory_spans import address
from ..memory_sharing import extent
from . import registry


def takes_as_it_is(out, operands):
    """Is the result of an elementwise function of these operands one of the shape and type of
    `out`, all of them real floats in memory, without gradients? Then it can be computed there."""
    a, dtype = out._array, out.dtype
    if (modes.state.observers or type(a) is not np.ndarray or out._rg
            or dtype.category != dtypes.FLOAT):
        return False
    shape = a.shape
    for x in operands:
        if type(x) is not float and type(x) is not int and (
                not registry.is_tensor(x) or x._rg or x.dtype is not dtype
                or type(b := x._array) is not np.ndarray or b.shape != shape):
            return False
    return True


def put_out(name, r, out, operands=(), warn=True):
    """Copy a result, which is made of these operands, into the `out=` tensor under PyTorch's rules
    for type and shape."""
    if not dtypes.can_cast(r.dtype, out.dtype):
        raise RuntimeError(
            f"{name}: result type {r.dtype.letter} can't be cast to the desired output type "
            f"{out.dtype.letter}")
    devices.check_same(r, out)
    if out._array.shape != r._array.shape:
        _resize(name, out, r._array.shape, operands, warn)
    with modes.no_grad():
        out.copy_(r)
    return out


def _resize(name, out, shape, operands, warn):
    if out._array.size:
        if type(out._array) is np.ndarray:
            with modes.no_grad():
                inplace.check_writable(out, name)
            _check_memory(out._array, shape, operands)
        if warn:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(out._array.shape)}, which does not match the required output shape "
                f"{list(shape)}. This behavior is deprecated. You can reuse an out tensor t by "
                "resizing it, inplace, to zero elements with t.resize_(0).",
                stacklevel=4)
    out.resize_(shape)


def _check_memory(a, shape, operands):
    """Raise where an operand lies in the memory that `a` has, or that it gets with another shape:
    writing there would change elements of the operand that `a` never showed."""
    low, high = extent(a)
    high = max(high, address(a) + math.prod(shape) * a.itemsize)
    for x in _tensors(operands):
        if type(x._array) is np.ndarray:
            first, end = extent(x._array)
            if first < high and low < end:
                raise RuntimeError(
                    "unsupported operation: some elements of the input tensor and the written-to "
                    "tensor refer to a single memory location. Please clone() the tensor before "
                    "performing the operation.")


def _tensors(operands):
    """The tensors among arguments, and in lists of them."""
    for x in operands:
        if registry.is_tensor(x):
            yield x
        elif isinstance(x, list | tuple):
            yield from _tensors(x)
