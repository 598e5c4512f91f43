"""Keeping gradients within bounds."""

import whet

from ...autograd.modes import warn
from ...ops.registry import REGISTRY, check_tensors
from ...ops.vector_norm import norms_of_each
from ...ops.write_to_each import are_simple, write_to_each
from ...tensor import Tensor


def _listed(parameters):
    if isinstance(parameters, Tensor):
        return [parameters]
    parameters = list(parameters)
    if not parameters:
        warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    return parameters


def _norm_of_norms(tensors, norm_type):
    tensors = list(tensors)
    if not tensors:
        return whet.tensor(0.0)
    # squares of halves vanish, or overflow, where the norm does not
    first = tensors[0]
    if norm_type == 2.0 and first.dtype in (whet.float32, whet.float64):
        simple = are_simple(tensors)
        if simple or first.is_cuda and all(
                t.device == first.device and t.dtype is first.dtype for t in tensors):
            return norms_of_each(tensors, simple).norm(norm_type)
    norms = [t.norm(norm_type) for t in tensors]
    return whet.stack(norms).norm(norm_type)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of all tensors.

    >>> import whet
    >>> whet.nn.utils.get_total_norm([whet.tensor([3.]), whet.tensor([4.])])
    tensor(5.)
    """
    with whet.no_grad():
        total = _norm_of_norms([tensors] if isinstance(tensors, Tensor) else tensors,
                               float(norm_type))
        if error_if_nonfinite and not bool(total.isfinite()):
            raise RuntimeError(
                f"The total norm of order {float(norm_type)} for gradients from `parameters` is "
                "non-finite, so it cannot be clipped. To disable this error and scale the "
                "gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
        return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients by max_norm / total_norm where that is below 1.

    >>> import whet
    >>> p = whet.ones(2, requires_grad=True)
    >>> (p * 10).sum().backward()
    >>> whet.nn.utils.clip_grads_with_norm_([p], 1.0, whet.tensor(100.0))
    >>> p.grad
    tensor([0.1000, 0.1000])
    """
    check_tensors("clip_grads_with_norm_", total_norm=total_norm)
    with whet.no_grad():
        scale = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        by_device: dict = {}
        for p in _listed(parameters):
            if p.grad is not None:
                by_device.setdefault(p.grad.device, []).append(p.grad)
        for device, gradients in by_device.items():
            write_to_each(REGISTRY["mul"], gradients, scale.to(device=device))


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """`clip_grad_norm_` under its older name."""
    warn("`clip_grad_norm` is now deprecated in favor of `clip_grad_norm_`.", FutureWarning,
         stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients so that their norm, taken together, is at most `max_norm`; returns
    what it was.

    >>> import whet
    >>> p = whet.nn.Parameter(whet.zeros(2))
    >>> p.grad = whet.tensor([3., 4.])
    >>> whet.nn.utils.clip_grad_norm_([p], max_norm=1.)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    parameters = _listed(parameters)
    total = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type,
                           error_if_nonfinite)
    if parameters:
        clip_grads_with_norm_(parameters, max_norm, total)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamp every element of the gradients to [-clip_value, clip_value].

    >>> import whet
    >>> p = whet.nn.Parameter(whet.zeros(2))
    >>> p.grad = whet.tensor([-3., 0.5])
    >>> whet.nn.utils.clip_grad_value_([p], 1.)
    >>> p.grad
    tensor([-1.0000,  0.5000])
    """
    clip_value = float(clip_value)
    with whet.no_grad():
        for p in [parameters] if isinstance(parameters, Tensor) else list(parameters):
            if p.grad is not None:
                p.grad.clamp_(min=-clip_value, max=clip_value)
