"""Layers that only move values, resample them, or measure distances between them."""
from typing import Any

from . import functional as F
from .layer import Layer, layer
from .module import Module


class Flatten(Module):
    """Dimensions start_dim..end_dim as one.

    >>> import whet
    >>> from whet import nn
    >>> nn.Flatten()(whet.ones(2, 3, 4)).shape
    whet.Size([2, 12])
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several.

    >>> import whet
    >>> from whet import nn
    >>> nn.Unflatten(1, (2, 3))(whet.ones(4, 6)).shape
    whet.Size([4, 2, 3])
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        sizes = unflattened_size
        if isinstance(dim, str):
            raise TypeError("Unflatten: named dimensions are not supported")
        if isinstance(sizes, int) or not all(isinstance(s, int) for s in sizes):
            raise TypeError(f"unflattened_size must be a tuple of ints, but found {sizes!r}")
        self.dim, self.unflattened_size = dim, tuple(sizes)

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


@layer("fold")
class Fold(Layer):
    """Sum sliding windows (as columns) into an image.

    >>> import whet
    >>> from whet import nn
    >>> nn.Fold((3, 3), kernel_size=2)(whet.ones(1, 4, 4))
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    output_size: Any
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


@layer("unfold")
class Unfold(Layer):
    """Sliding windows of an image as columns.

    >>> import whet
    >>> from whet import nn
    >>> nn.Unfold(kernel_size=2)(whet.ones(1, 3, 4, 4)).shape
    whet.Size([1, 12, 9])
    """
    kernel_size: Any
    dilation: Any = 1
    padding: Any = 0
    stride: Any = 1


@layer("pixel_shuffle")
class PixelShuffle(Layer):
    """(*, C * r^2, H, W) -> (*, C, H * r, W * r)

    >>> import whet
    >>> from whet import nn
    >>> nn.PixelShuffle(2)(whet.ones(1, 8, 3, 3)).shape
    whet.Size([1, 2, 6, 6])
    """
    upscale_factor: int


@layer("pixel_unshuffle")
class PixelUnshuffle(Layer):
    """(*, C, H * r, W * r) -> (*, C * r^2, H, W)

    >>> import whet
    >>> from whet import nn
    >>> nn.PixelUnshuffle(2)(whet.ones(1, 2, 6, 6)).shape
    whet.Size([1, 8, 3, 3])
    """
    downscale_factor: int


@layer("channel_shuffle")
class ChannelShuffle(Layer):
    """Channels as (groups, n) transposed to (n, groups).

    >>> import whet
    >>> from whet import nn
    >>> nn.ChannelShuffle(2)(whet.arange(4.).reshape(1, 4, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """
    groups: int


class Upsample(Module):
    """Resample to a size or by a factor.

    >>> import whet
    >>> from whet import nn
    >>> nn.Upsample(scale_factor=2)(whet.tensor([[[1., 2.]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None,
                 recompute_scale_factor=None):
        super().__init__()
        self.size, self.mode, self.align_corners = size, mode, align_corners
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(f) for f in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners,
                             self.recompute_scale_factor)

    def extra_repr(self):
        what = (f"size={self.size!r}"
                if self.scale_factor is None else f"scale_factor={self.scale_factor!r}")
        return f"{what}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample with the nearest pixel.

    >>> import whet
    >>> from whet import nn
    >>> nn.UpsamplingNearest2d(scale_factor=2)(whet.ones(1, 1, 2, 2)).shape
    whet.Size([1, 1, 4, 4])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample bilinearly, corners aligned.

    >>> import whet
    >>> from whet import nn
    >>> nn.UpsamplingBilinear2d(scale_factor=2)(whet.ones(1, 1, 2, 2)).shape
    whet.Size([1, 1, 4, 4])
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


@layer("cosine_similarity", "x1, x2")
class CosineSimilarity(Layer):
    """The cosine of the angle between vectors along `dim`.

    >>> import whet
    >>> from whet import nn
    >>> nn.CosineSimilarity(dim=0)(whet.tensor([1., 0.]), whet.tensor([1., 1.]))
    tensor(0.7071)
    """
    dim: int = 1
    eps: float = 1e-8
    shown = ()


@layer("pairwise_distance", "x1, x2")
class PairwiseDistance(Layer):
    """The p-norm of x1 - x2 + eps.

    >>> import whet
    >>> from whet import nn
    >>> nn.PairwiseDistance()(whet.tensor([[0., 0.]]), whet.tensor([[3., 4.]]))
    tensor([5.0000])
    """
    p: float = 2.0
    eps: float = 1e-6
    keepdim: bool = False
    shown = ()


__all__ = [
    "Flatten", "Unflatten", "Fold", "Unfold", "PixelShuffle", "PixelUnshuffle", "ChannelShuffle",
    "Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d", "CosineSimilarity",
    "PairwiseDistance"]
