"""`einops` as layers of a network: found as `einops.layers.whet`."""
import whet
from einops.layers import RearrangeMixin, ReduceMixin
from einops.layers._einmix import _EinmixMixin
from whet.nn import Module, Parameter


class Rearrange(RearrangeMixin, Module):
    """`einops.rearrange` as a layer.

    >>> import whet
    >>> from einops.layers.whet import Rearrange
    >>> Rearrange("b c h w -> b (c h w)")(whet.ones(2, 3, 4, 4)).shape
    whet.Size([2, 48])
    """

    def forward(self, x):
        return self._apply_recipe(x)


class Reduce(ReduceMixin, Module):
    """`einops.reduce` as a layer.

    >>> import whet
    >>> from einops.layers.whet import Reduce
    >>> Reduce("b c (h p) (w q) -> b c h w", "mean", p=2, q=2)(whet.ones(2, 3, 4, 4)).shape
    whet.Size([2, 3, 2, 2])
    """

    def forward(self, x):
        return self._apply_recipe(x)


class EinMix(_EinmixMixin, Module):
    """A linear layer that is given by what it does with dimensions.

    >>> import whet
    >>> from einops.layers.whet import EinMix
    >>> mix = EinMix("b t c -> b t d", "c d", bias_shape="d", c=8, d=16)
    >>> mix(whet.ones(2, 5, 8)).shape
    whet.Size([2, 5, 16])
    """

    def _create_parameters(self, weight_shape, weight_bound, bias_shape, bias_bound):
        self.weight = _parameter(weight_shape, weight_bound)
        self.bias = None if bias_shape is None else _parameter(bias_shape, bias_bound)

    def _create_rearrange_layers(self, pre_reshape_pattern, pre_reshape_lengths,
                                 post_reshape_pattern, post_reshape_lengths):
        self.pre_rearrange = _rearrange(pre_reshape_pattern, pre_reshape_lengths)
        self.post_rearrange = _rearrange(post_reshape_pattern, post_reshape_lengths)

    def forward(self, x):
        if self.pre_rearrange is not None:
            x = self.pre_rearrange(x)
        x = whet.einsum(self.einsum_pattern, x, self.weight)
        if self.bias is not None:
            x = x + self.bias
        return x if self.post_rearrange is None else self.post_rearrange(x)


def _parameter(shape, bound):
    """A parameter with uniform random elements between -bound and bound."""
    return Parameter(whet.empty(shape).uniform_(-bound, bound))


def _rearrange(pattern, lengths):
    """A layer for a pattern; None without one."""
    return None if pattern is None else Rearrange(pattern, **lengths)
