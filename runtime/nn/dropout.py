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
    eval mode."""
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout(input, self.p, self.training, self.inplace)


@layer()
class Dropout1d(_DropoutNd):
    """Dropout of whole channels of (N, C, L) or (C, L)."""
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout1d(input, self.p, self.training, self.inplace)


@layer()
class Dropout2d(_DropoutNd):
    """Dropout of whole channels of (N, C, H, W)."""
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.inplace)


@layer()
class Dropout3d(_DropoutNd):
    """Dropout of whole channels of (N, C, D, H, W)."""
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.inplace)


@layer()
class AlphaDropout(_DropoutNd):
    """Dropout that keeps mean and variance of SELU networks."""
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


@layer()
class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of whole channels."""
    p: float = 0.5
    inplace: bool = False

    def forward(self, input):
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
