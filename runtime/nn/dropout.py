"""Dropout and its variants."""
from . import functional as F
from .layer import Layer, layer

__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


class _DropoutNd(Layer):
    shown = "p inplace"

    def prepare(self):
        if not 0 <= self.p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


@layer()
class Dropout(_DropoutNd):
    """Zero each element with probability p, and scale the rest by 1 / (1 - p); the identity in
    eval mode.

    >>> import whet
    >>> from whet import nn
    >>> y = nn.Dropout(0.5)(whet.ones(100))
    >>> set(y.tolist()) <= {0.0, 2.0}
    True
    >>> nn.Dropout(0.5).eval()(whet.ones(2))
    tensor([1., 1.])
    """
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


@layer()
class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L).

    >>> import whet
    >>> from whet import nn
    >>> nn.Dropout1d(0.5).eval()(whet.ones(1, 2))
    tensor([[1., 1.]])
    """
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


@layer()
class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W).

    >>> import whet
    >>> from whet import nn
    >>> y = nn.Dropout2d(0.5)(whet.ones(1, 4, 2, 2))
    >>> set(y.sum((2, 3)).flatten().tolist()) <= {0.0, 8.0}
    True
    """
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


@layer()
class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W).

    >>> import whet
    >>> from whet import nn
    >>> nn.Dropout3d(0.5)(whet.ones(1, 4, 2, 2, 2)).shape
    whet.Size([1, 4, 2, 2, 2])
    """
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


@layer()
class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of SELU networks.

    >>> import whet
    >>> from whet import nn
    >>> nn.AlphaDropout(0.1).eval()(whet.ones(2))
    tensor([1., 1.])
    """
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


@layer()
class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels.

    >>> import whet
    >>> from whet import nn
    >>> nn.FeatureAlphaDropout(0.1).eval()(whet.ones(2))
    tensor([1., 1.])
    """
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
