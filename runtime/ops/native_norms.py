"""Normalisations together with the statistics that they use, as PyTorch's own code calls them.
Gradients flow through the statistics of `native_group_norm` alone."""
from .argument_guards import check_flag
from .half_precision import wide
from .norm import batch_norm, group_norm, layer_norm
from .random import check_real
from .surface import function


def _statistics(x, dim, eps, weight):
    """The means, and 1 / the standard deviations, along dimensions that stay."""
    dtype = x.dtype if weight is None else weight.dtype
    x = wide(x)
    mean = x.mean(dim, keepdim=True)
    scale = ((x - mean).square().mean(dim, keepdim=True) + eps).rsqrt()
    return mean.to(dtype), scale.to(dtype)


@function(method=False)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """(`layer_norm`, the means, 1 / the standard deviations).

    >>> import whet
    >>> whet.native_layer_norm(whet.tensor([[1., 3.]]), (2,), None, None, 0.0)[1]
    tensor([[2.]])
    """
    y = layer_norm(input, normalized_shape, weight, bias, eps)
    return (y, *_statistics(input.detach(), tuple(range(-len(normalized_shape), 0)), eps, weight))


@function(method=False)
def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """(`group_norm`, the means, 1 / the standard deviations) of N examples with C channels.

    >>> import whet
    >>> whet.native_group_norm(whet.tensor([[1., 3.]]), None, None, 1, 2, 1, 1, 0.0)[1]
    tensor([[2.]])
    """
    y = group_norm(input, group, weight, bias, eps)
    of_groups = _statistics(input.reshape(N, group, C // group * HxW), 2, eps, weight)
    return (y, *[s.squeeze(2) for s in of_groups])


@function(method=False, out=True)
def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """(`batch_norm`, the means, 1 / the standard deviations of the batch: none but in training).

    >>> import whet
    >>> x = whet.tensor([[1.], [3.]])
    >>> whet.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[1]
    tensor([2.])
    """
    check_flag("native_batch_norm", "training", training)
    check_real("native_batch_norm", "momentum", momentum)
    y = batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return y, input.new_empty((0,)), input.new_empty((0,))
    of_channels = _statistics(input.detach(), (0, *range(2, input.ndim)), eps, weight)
    return (y, *[s.reshape(-1) for s in of_channels])
