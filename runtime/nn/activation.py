"""Activations."""
import whet

from . import functional as F
from .layer import Layer, layer
from .module import Module
from .parameter import Parameter

__all__ = [
    "ReLU", "ReLU6", "RReLU", "Threshold", "Hardtanh", "Sigmoid", "Tanh", "Hardsigmoid",
    "Hardswish", "SiLU", "Mish", "ELU", "CELU", "SELU", "GELU", "GLU", "Hardshrink", "Softshrink",
    "Tanhshrink", "LeakyReLU", "LogSigmoid", "Softplus", "Softsign", "Softmax", "Softmin",
    "LogSoftmax", "Softmax2d", "PReLU"]


@layer("relu")
class ReLU(Layer):
    """max(x, 0)"""
    inplace: bool = False


@layer("relu6")
class ReLU6(Layer):
    """min(max(x, 0), 6)"""
    inplace: bool = False


@layer("rrelu")
class RReLU(Layer):
    """x where positive, else a random slope (its mean in eval mode) times x."""
    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


@layer("threshold")
class Threshold(Layer):
    """x where above the threshold, else a value."""
    threshold: float
    value: float
    inplace: bool = False


@layer("hardtanh")
class Hardtanh(Layer):
    """x clamped to [min_val, max_val]."""
    min_val: float = -1.0
    max_val: float = 1.0
    inplace: bool = False
    min_value: float | None = None
    max_value: float | None = None
    shown = "min_val max_val inplace"
    unpassed = ("min_value", "max_value")

    def prepare(self):
        self.min_val = self.min_val if self.min_value is None else self.min_value
        self.max_val = self.max_val if self.max_value is None else self.max_value
        del self.min_value, self.max_value
        if not self.max_val > self.min_val:
            raise AssertionError(
                f"Hardtanh: max_val must be larger than min_val, got {self.max_val} and "
                f"{self.min_val}")


@layer("sigmoid")
class Sigmoid(Layer):
    """1 / (1 + exp(-x))"""


@layer("tanh")
class Tanh(Layer):
    """tanh(x)"""


@layer("hardsigmoid")
class Hardsigmoid(Layer):
    """relu6(x + 3) / 6"""
    inplace: bool = False


@layer("hardswish")
class Hardswish(Layer):
    """x * relu6(x + 3) / 6"""
    inplace: bool = False


@layer("silu")
class SiLU(Layer):
    """x * sigmoid(x)"""
    inplace: bool = False


@layer("mish")
class Mish(Layer):
    """x * tanh(softplus(x))"""
    inplace: bool = False


@layer("elu")
class ELU(Layer):
    """x where positive, else alpha * (exp(x) - 1)."""
    alpha: float = 1.0
    inplace: bool = False


@layer("celu")
class CELU(Layer):
    """x where positive, else alpha * (exp(x / alpha) - 1)."""
    alpha: float = 1.0
    inplace: bool = False


@layer("selu")
class SELU(Layer):
    """The self-normalising ELU."""
    inplace: bool = False


@layer("gelu")
class GELU(Layer):
    """x * Phi(x); `approximate="tanh"` for the tanh form."""
    approximate: str = "none"


@layer("glu")
class GLU(Layer):
    """a * sigmoid(b) for the two halves a, b of the input along `dim`."""
    dim: int = -1


@layer("hardshrink")
class Hardshrink(Layer):
    """x where |x| > lambd, else 0."""
    lambd: float = 0.5

    def extra_repr(self):
        return f"{self.lambd}"


@layer("softshrink")
class Softshrink(Layer):
    """x moved towards 0 by lambd."""
    lambd: float = 0.5

    def extra_repr(self):
        return f"{self.lambd}"


@layer("tanhshrink")
class Tanhshrink(Layer):
    """x - tanh(x)"""


@layer("leaky_relu")
class LeakyReLU(Layer):
    """x where positive, else negative_slope * x."""
    negative_slope: float = 0.01
    inplace: bool = False


@layer("logsigmoid")
class LogSigmoid(Layer):
    """log(sigmoid(x))"""


@layer("softplus")
class Softplus(Layer):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold."""
    beta: float = 1.0
    threshold: float = 20.0


@layer("softsign")
class Softsign(Layer):
    """x / (1 + |x|)"""


@layer("softmax")
class Softmax(Layer):
    """exp(x) over its sum along `dim`."""
    dim: int | None = None


@layer("softmin")
class Softmin(Layer):
    """Softmax of -x."""
    dim: int | None = None


@layer("log_softmax")
class LogSoftmax(Layer):
    """log(softmax(x))"""
    dim: int | None = None


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input):
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class PReLU(Module):
    """x where positive, else a learned slope (one, or one a channel) times x."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(whet.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Every slope to its initial value."""
        with whet.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input):
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"
