"""Folding batch norms into the layers before them."""
import copy

import whet

from ..parameter import Parameter


def _scale(bn_rv, bn_eps, bn_w):
    return bn_w * whet.rsqrt(bn_rv + bn_eps)


def _fold(w, b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape):
    b = whet.zeros_like(bn_rm) if b is None else b
    bn_w = whet.ones_like(bn_rm) if bn_w is None else bn_w
    bn_b = whet.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = _scale(bn_rv, bn_eps, bn_w)
    new_w = (w * scale.reshape(shape)).to(w.dtype)
    new_b = ((b - bn_rm) * scale + bn_b).to(b.dtype)
    return Parameter(new_w.detach(), w.requires_grad), Parameter(new_b.detach(), b.requires_grad)


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution that does what it and the batch norm did.

    >>> import whet
    >>> one = whet.ones(1)
    >>> weight, bias = whet.nn.utils.fuse_conv_bn_weights(
    ...     whet.ones(1, 1, 1), one, one, one * 4, 0.0, one, one)
    >>> weight, bias
    (Parameter containing:
    tensor([[[0.5000]]]), Parameter containing:
    tensor([1.]))
    """
    shape = [1, -1] if transpose else [-1, 1]
    return _fold(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.ndim - 2))


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a linear layer that does what it and the batch norm did.

    >>> import whet
    >>> one = whet.ones(1)
    >>> weight, bias = whet.nn.utils.fuse_linear_bn_weights(
    ...     whet.tensor([[2.0]]), one, one, one * 4, 0.0, one, one)
    >>> weight, bias
    (Parameter containing:
    tensor([[1.]]), Parameter containing:
    tensor([1.]))
    """
    return _fold(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _fused(layer, bn, weights):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("Fusion needs running statistics")
    made = copy.deepcopy(layer)
    with whet.no_grad():
        made.weight, made.bias = weights(made)
    return made


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution with the batch norm folded in; both must be in eval mode.

    >>> import whet
    >>> conv, norm = whet.nn.Conv2d(3, 4, 3).eval(), whet.nn.BatchNorm2d(4).eval()
    >>> fused, x = whet.nn.utils.fuse_conv_bn_eval(conv, norm), whet.randn(1, 3, 8, 8)
    >>> whet.allclose(fused(x), norm(conv(x)), atol=1e-6)
    True
    """
    return _fused(
        conv,
        bn, lambda c: fuse_conv_bn_weights(c.weight, c.bias, bn.running_mean, bn.running_var, bn.
                                           eps, bn.weight, bn.bias, transpose))


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear layer with the batch norm folded in; both must be in eval mode.

    >>> import whet
    >>> linear, norm = whet.nn.Linear(3, 4).eval(), whet.nn.BatchNorm1d(4).eval()
    >>> fused, x = whet.nn.utils.fuse_linear_bn_eval(linear, norm), whet.randn(5, 3)
    >>> whet.allclose(fused(x), norm(linear(x)), atol=1e-6)
    True
    """
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features "
                             "== 1")
    return _fused(linear, bn,
                  lambda x: fuse_linear_bn_weights(x.weight, x.bias, bn.running_mean,
                                                   bn.running_var, bn.eps, bn.weight,
                                                               bn.bias))
