"""What is known of results before they exist, for `func.batch`.

The table of kinds says, of an op with its attributes on operands of some types and shapes, what
outlines its results have. An op is run on stand-ins to find out, once a process.
"""
import math

import numpy as np

from .. import devices
from ..autograd import modes
from ..ops import registry
from ..ops.convert import detach_op
from ..tensor import wrap

state = modes.state
# Kinds in the table. A program has some hundreds; one that makes new ones without end (numbers
# that always differ, say) begins with an empty table now and then.
MOST_KINDS = 1 << 14


class Outline:
    """Type, shape and strides of a tensor, by an array that has them and no numbers that mean
    anything. `is_outside`: is it of a tensor from outside, which many calls may share?"""
    __slots__ = ("array", "is_outside", "size")

    def __init__(self, array, is_outside):
        self.array, self.is_outside = array, is_outside
        self.size = math.prod(array.shape) * array.dtype.itemsize


class Kind:
    """What calls that can be run as one have in common, beside which tensors they share.

    outlines   of the result; a tuple of them, where there are several
    form       the operands: numbers and None in their places, and `...` for each tensor
    mode       the gradient mode in which they were noted, as bits
    outside    the tensors that are from outside, by their places among the tensors
    regular    do the tensors lie in memory without gaps? Views may ask for that"""
    __slots__ = ("outlines", "form", "mode", "outside", "regular", "is_plain", "array", "shapes")

    def __init__(self, op, outlines, form, mode, operands):
        # has a call one result, in memory of its own?
        self.is_plain = type(outlines) is not tuple and not op.is_view and op is not detach_op
        self.array = outlines.array if self.is_plain else None
        self.outlines, self.form, self.mode = outlines, form, mode
        self.shapes = ([o.array.shape for o in outlines] if type(outlines) is tuple else
                       [outlines.array.shape])
        self.outside = tuple([i for i, o in enumerate(operands) if o.is_outside])
        self.regular = [_is_regular(o.array) for o in operands]


_outlines: dict = {}
_kinds: dict = {}


def _is_regular(array):
    return bool(devices.places(array).flags.c_contiguous)


def outline(array, is_outside=False):
    """The outline of an array, the same object for equal ones."""
    where = devices.places(array)
    key = (array.dtype, array.shape, where.strides, is_outside,
           None if where is array else array.device)
    found = _outlines.get(key)
    if found is None:
        if len(_outlines) >= MOST_KINDS:
            _outlines.clear()
        like = _like(array) if where is array else _like_on_device(array, where)
        found = _outlines[key] = Outline(like, is_outside)
    return found


def _like_on_device(array, where):
    return devices.beyond.filled(array.index, array.shape, array.dtype, None, where.strides)


def _like(array):
    """An array like another one. What is large costs no memory until it is written to."""
    if array.flags.c_contiguous or not array.size:
        return np.zeros(array.shape, array.dtype)
    order = np.argsort([-abs(s) for s in array.strides], kind="stable")
    dense = np.zeros([array.shape[d] for d in order], array.dtype).transpose(np.argsort(order))
    if dense.strides == array.strides:
        return dense
    if min(array.strides) < 0:
        return dense
    span = sum([s * (n - 1) for s, n in zip(array.strides, array.shape)]) // array.itemsize + 1
    return np.lib.stride_tricks.as_strided(np.zeros(span, array.dtype), array.shape, array.strides)


def kind_of(key, op, inputs, attrs, operands):
    """The kind of a call, new to the table; None where such calls are not put together. `inputs`:
    numbers, None, and anything for a tensor, whose outline is among the `operands`."""
    if len(_kinds) >= MOST_KINDS:
        _kinds.clear()
    form = tuple([... if registry.is_tensor(x) else x for x in inputs])
    outlines = _outlines_of(op, form, operands, attrs)
    kind = _kinds[key] = outlines and Kind(op, outlines, form, key[1], operands)
    return kind


known = _kinds.get


def _outlines_of(op, form, operands, attrs):
    """Outlines of the results; None where they follow from more than the outlines of operands.

    An op that may give other shapes for other numbers is tried with several."""
    if op.random or not op.pure or not _has_a_rule(op):
        return None
    if not op.may_fail:
        return _tried(op, form, operands, attrs, None)
    if not op.differentiable:
        return None
    found = [_tried(op, form, operands, attrs, fill) for fill in (0, 1)]
    tried = [f for f in found if f is not None]
    return tried[0] if tried and all([f == tried[0] for f in tried]) else None


def _has_a_rule(op):
    return op.batch_rule is not None or type(op).batch is not registry.Op.batch


def _tried(op, form, operands, attrs, fill):
    """Outlines of the results for stand-ins; None where the op refuses these."""
    arrays = iter([o.array if fill is None else _filled(o.array, fill) for o in operands])
    inputs = tuple([wrap(next(arrays)) if x is ... else x for x in form])
    observers, flags, state.observers = state.observers, state.flags, ()
    modes.set_flags(0)
    try:
        with modes.own_types():
            outs = registry.execute(op, inputs, attrs)
    except (RuntimeError, ValueError, IndexError):
        if fill is None:
            raise
        return None
    finally:
        state.observers = observers
        modes.set_flags(flags)
    return (tuple([outline(t._array) for t in outs])
            if type(outs) is tuple else outline(outs._array))


def _filled(array, fill):
    """A stand-in with numbers: whole ones, and matrices that have an inverse."""
    if devices.is_elsewhere(array):
        return array
    made = np.full(array.shape, fill, array.dtype)
    if array.dtype.kind in "fc":
        made[...] = 1
        if array.ndim > 1 and array.shape[-1] == array.shape[-2]:
            made[...] = (1 + fill) * np.eye(array.shape[-1])
    return made

