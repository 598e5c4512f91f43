"""Forward mode: numbers with a tangent, `whet.autograd.forward_ad`.

A dual tensor is a tensor of a level (see levels.py): it stands for a tensor of the layer beneath,
the primal, and has another one beside it, its tangent. Levels may be nested, and keep their
tangents apart.
"""
from typing import NamedTuple

from ..ops import registry
from ..ops.complex_views import region_of_copy, with_region
from ..ops.convert import copy_op
from ..ops.creation import zeros
from ..ops.tangents import tangents_of
from ..tensor import new
from . import function_levels as functions
from . import inplace as ip
from . import modes
from .levels import Level, LevelTensor

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
    "unpack_dual"]


class DualTensor(LevelTensor):
    """A primal (`value`) with its tangent; None is a tangent of zeros.

    A tangent is never written to: a new one takes its place. A view whose base got another tangent
    takes its part of that.
    """
    __slots__ = ("_tangent", "_base_tangent")

    def _representative(self):
        return self.value._array

    @property
    def tangent(self):
        base = self._base
        if base is not None and base._tangent is not self._base_tangent:
            self._base_tangent = base._tangent
            self._tangent = (None if base._tangent is None else self.level.derive(
                _part, (base._tangent,), self.place(base))[0])
        return self._tangent

    @tangent.setter
    def tangent(self, tangent):
        base = self._base
        if base is not None:
            base._tangent, tangent = self.level.derive(_with_part, (base._tangent, tangent),
                                                       base.value.shape, base.dtype,
                                                       self.place(base),
                                                              count=2)
            self._base_tangent = base._tangent
        self._tangent = tangent

    def place(self, base):
        """Where in the base this view lies."""
        where = ip.geometry(self, base)
        if where is None:
            raise RuntimeError(
                "forward mode: a view of another type than its base cannot be written to")
        return where


def _part(tangents, where):
    """The part of a tangent that lies in a region."""
    return region_of_copy(*tangents, where)[1:]


def _with_part(tangents, shape, dtype, where):
    """(the base's tangent with another one in a region, that region)"""
    before, tangent = tangents
    if before is None:
        if tangent is None:
            return None, None
        before = zeros(shape, dtype=dtype)
    whole = with_region(before, where, tangent)
    return whole, region_of_copy(whole, where)[1]


class ForwardLevel(Level):
    """One evaluation with tangents."""
    name = "forward mode"

    def tensor(self, value, tangent=None):
        t = new(DualTensor)
        t.level, t.value, t._tangent, t._base_tangent = self, value, tangent, None
        return t

    def twin(self, t):
        return self.tensor(t.value, t.tangent)

    def replace(self, t, r):
        t.value, t._tangent = r.value, r._tangent

    def __call__(self, op, inputs, attrs):
        # a new tensor, which may be written to in place
        if not any([registry.is_tensor(x) for x in inputs]):
            return self.tensor(self.beneath(registry.apply, op, inputs, attrs))
        return super().__call__(op, inputs, attrs)

    def inplace(self, op, t, args, attrs):
        # a Parameter that was made inside is no dual tensor, and takes constants that are
        if not self.owns(t):
            args = tuple([x.value if self.owns(x) and self.is_constant(x) else x for x in args])
        return super().inplace(op, t, args, attrs)

    def is_constant(self, x):
        """Has it neither a tangent nor a history at this level?"""
        return x.tangent is None and not x.requires_grad

    def compute(self, op, inputs, attrs):
        values = tuple([
            x.value if isinstance(x, LevelTensor) and x.level is self else x for x in inputs])
        tangents = tuple([
            x.tangent if isinstance(x, LevelTensor) and x.level is self else None for x in inputs])
        outs, tangents = self.beneath(_run, op, values, tangents, attrs)
        if type(outs) is tuple:
            return tuple([self.tensor(y, t) for y, t in zip(outs, tangents)])
        return self.tensor(outs, tangents)

    def derive(self, compute, tangents, *known, count=1):
        """compute(tangents, *known): tangents, `count` of them, in the layer beneath."""
        return self.beneath(compute, tangents, *known)

    def overwrites(self, value):
        """A tensor of the layer beneath is about to be written to."""

    def finish(self, op, inputs, attrs, outs):
        super().finish(op, inputs, attrs, outs)
        if op.is_view:
            for t in outs if type(outs) is tuple else (outs,):
                t._base_tangent = t._base._tangent

    def write(self, op, t, args, attrs):
        result = args[0] if op is copy_op else self.computed_for(op, t, args, attrs)
        tangent = result.tangent if self.owns(result) else None
        if tangent is not None:
            tangent, = self.derive(_laid_like, (tangent,), t.shape, t.dtype)
        self.overwrites(t.value)
        self.beneath(t.value.copy_, result.value if self.owns(result) else result)
        t.tangent = tangent

    def function(self, cls, args, kwargs):
        return functions.with_tangents(self, cls, args, kwargs)

    def beside(self, source, made):
        made = made.value if self.owns(made) else made
        if not self.owns(source):
            return self.beneath(registry.beside, source, made)
        return self.tensor(self.beneath(registry.beside, source.value, made))


def _run(op, values, tangents, attrs):
    """(results, tangents) in the layer beneath."""
    outs = registry.apply(op, values, attrs)
    if all([t is None for t in tangents]) or not op.differentiable:
        return outs, (None,) * len(outs) if type(outs) is tuple else None
    return outs, tangents_of(op, values, tangents, outs, attrs)


def _laid_like(tangents, shape, dtype):
    tangent, = tangents
    tangent = tangent if tangent.shape == shape else tangent.expand(shape)
    return (tangent if tangent.dtype is dtype else tangent.to(dtype),)


# ---- the public calls ----------------------------------------------------------------------------
class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives.

    >>> import whet
    >>> from whet.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     y = forward_ad.make_dual(whet.tensor(3.), whet.tensor(1.)) ** 2
    ...     print(forward_ad.unpack_dual(y).tangent)
    tensor(6.)
    """
    primal: object
    tangent: object


class dual_level:
    """`with dual_level():` tensors made by `make_dual` inside carry tangents along, which
    `unpack_dual` reads.

    >>> import whet
    >>> import whet.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(whet.tensor([1., 2.]), whet.tensor([1., 0.]))
    ...     fw.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """

    def __enter__(self):
        self.level = ForwardLevel()
        self.level.__enter__()
        return self.level

    def __exit__(self, *exc):
        self.level.__exit__(*exc)


def _innermost():
    return next((o for o in reversed(modes.state.observers) if type(o) is ForwardLevel), None)


def enter_dual_level():
    """Begin a level, until `exit_dual_level`.

    >>> import whet
    >>> import whet.autograd.forward_ad as fwAD
    >>> level = fwAD.enter_dual_level()
    >>> y = fwAD.make_dual(whet.tensor(3.0), whet.tensor(1.0)) ** 2
    >>> fwAD.unpack_dual(y).tangent
    tensor(6.)
    >>> fwAD.exit_dual_level(level=level)
    """
    return ForwardLevel().__enter__()


def exit_dual_level(*, level=None):
    """End the innermost level.

    >>> import whet
    >>> from whet.autograd import forward_ad
    >>> level = forward_ad.enter_dual_level()
    >>> x = forward_ad.make_dual(whet.tensor([3.]), whet.tensor([1.]))
    >>> forward_ad.unpack_dual(x * x).tangent
    tensor([6.])
    >>> forward_ad.exit_dual_level()
    """
    level = level or _innermost()
    if level is None:
        raise RuntimeError(
            "exit_dual_level: Trying to exit a forward AD level when no level is active.")
    level.__exit__(None, None, None)


def make_dual(tensor, tangent, *, level=None):
    """A tensor with a tangent.

    >>> import whet
    >>> import whet.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     y = fwAD.make_dual(whet.tensor(3.), whet.tensor(1.)) ** 2
    ...     fwAD.unpack_dual(y).tangent
    ...
    tensor(6.)
    """
    level = level or _innermost()
    if level is None:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to "
            "enter_dual_level() first.")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(
            f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "make_dual: Expected primal and tangent to have the same shape, got "
            f"{list(tensor.shape)} and {list(tangent.shape)}")
    # they may have been made inside of the level
    plain = [t.value if level.owns(t) else t for t in (tensor, tangent)]
    dual = level.tensor(*plain)
    return dual.requires_grad_() if tensor.requires_grad and modes.is_grad_enabled() else dual


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor; the tangent is None if it has none.

    >>> import whet
    >>> import whet.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     y = fwAD.make_dual(whet.tensor(3.0), whet.tensor(1.0)) ** 2
    ...     fwAD.unpack_dual(y).tangent
    tensor(6.)
    """
    level = level or _innermost()
    if level is None or not level.owns(tensor):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(tensor.value, tensor.tangent)
