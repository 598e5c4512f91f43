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
    """max(x, 0)

    >>> import whet
    >>> from whet import nn
    >>> nn.ReLU()(whet.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    inplace: bool = False


@layer("relu6")
class ReLU6(Layer):
    """min(max(x, 0), 6)

    >>> import whet
    >>> from whet import nn
    >>> nn.ReLU6()(whet.tensor([-1., 3., 8.]))
    tensor([0., 3., 6.])
    """
    inplace: bool = False


@layer("rrelu")
class RReLU(Layer):
    """x where positive, else a random slope (its mean in eval mode) times x.

    >>> import whet
    >>> from whet import nn
    >>> nn.RReLU().eval()(whet.tensor([-1., 2.]))
    tensor([-0.2292,  2.0000])
    """
    lower: float = 1.0 / 8
    upper: float = 1.0 / 3
    inplace: bool = False

    def forward(self, input):
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


@layer("threshold")
class Threshold(Layer):
    """x where above the threshold, else a value.

    >>> import whet
    >>> from whet import nn
    >>> nn.Threshold(0.5, 9.)(whet.tensor([0.25, 2.]))
    tensor([9., 2.])
    """
    threshold: float
    value: float
    inplace: bool = False


@layer("hardtanh")
class Hardtanh(Layer):
    """x clamped to [min_val, max_val].

    >>> import whet
    >>> from whet import nn
    >>> nn.Hardtanh()(whet.tensor([-2., 0.5, 2.]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
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
    """1 / (1 + exp(-x))

    >>> import whet
    >>> from whet import nn
    >>> nn.Sigmoid()(whet.tensor([0., 2.]))
    tensor([0.5000, 0.8808])
    """


@layer("tanh")
class Tanh(Layer):
    """tanh(x)

    >>> import whet
    >>> from whet import nn
    >>> nn.Tanh()(whet.tensor([0., 1.]))
    tensor([0.0000, 0.7616])
    """


@layer("hardsigmoid")
class Hardsigmoid(Layer):
    """relu6(x + 3) / 6

    >>> import whet
    >>> from whet import nn
    >>> nn.Hardsigmoid()(whet.tensor([-4., 0., 1.]))
    tensor([0.0000, 0.5000, 0.6667])
    """
    inplace: bool = False


@layer("hardswish")
class Hardswish(Layer):
    """x * relu6(x + 3) / 6

    >>> import whet
    >>> from whet import nn
    >>> nn.Hardswish()(whet.tensor([-4., 3., 1.]))
    tensor([-0.0000, 3.0000, 0.6667])
    """
    inplace: bool = False


@layer("silu")
class SiLU(Layer):
    """x * sigmoid(x)

    >>> import whet
    >>> from whet import nn
    >>> nn.SiLU()(whet.tensor([0., 2.]))
    tensor([0.0000, 1.7616])
    """
    inplace: bool = False


@layer("mish")
class Mish(Layer):
    """x * tanh(softplus(x))

    >>> import whet
    >>> from whet import nn
    >>> nn.Mish()(whet.tensor([0., 2.]))
    tensor([0.0000, 1.9440])
    """
    inplace: bool = False


@layer("elu")
class ELU(Layer):
    """x where positive, else alpha * (exp(x) - 1).

    >>> import whet
    >>> from whet import nn
    >>> nn.ELU()(whet.tensor([-1., 0., 2.]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    alpha: float = 1.0
    inplace: bool = False


@layer("celu")
class CELU(Layer):
    """x where positive, else alpha * (exp(x / alpha) - 1).

    >>> import whet
    >>> from whet import nn
    >>> nn.CELU()(whet.tensor([-1., 0., 2.]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    alpha: float = 1.0
    inplace: bool = False


@layer("selu")
class SELU(Layer):
    """The self-normalising ELU.

    >>> import whet
    >>> from whet import nn
    >>> nn.SELU()(whet.tensor([-1., 2.]))
    tensor([-1.1113,  2.1014])
    """
    inplace: bool = False


@layer("gelu")
class GELU(Layer):
    """x * Phi(x); `approximate="tanh"` for the tanh form.

    >>> import whet
    >>> from whet import nn
    >>> nn.GELU()(whet.tensor([-1., 0., 2.]))
    tensor([-0.1587,  0.0000,  1.9545])
    """
    approximate: str = "none"


@layer("glu")
class GLU(Layer):
    """a * sigmoid(b) for the two halves a, b of the input along `dim`.

    >>> import whet
    >>> from whet import nn
    >>> nn.GLU()(whet.tensor([1., 2., 0., 0.]))
    tensor([0.5000, 1.0000])
    """
    dim: int = -1


@layer("hardshrink")
class Hardshrink(Layer):
    """x where |x| > lambd, else 0.

    >>> import whet
    >>> from whet import nn
    >>> nn.Hardshrink()(whet.tensor([-2., 0.25, 1.]))
    tensor([-2.,  0.,  1.])
    """
    lambd: float = 0.5

    def extra_repr(self):
        return f"{self.lambd}"


@layer("softshrink")
class Softshrink(Layer):
    """x moved towards 0 by lambd.

    >>> import whet
    >>> from whet import nn
    >>> nn.Softshrink()(whet.tensor([-2., 0.25, 1.]))
    tensor([-1.5000,  0.0000,  0.5000])
    """
    lambd: float = 0.5

    def extra_repr(self):
        return f"{self.lambd}"


@layer("tanhshrink")
class Tanhshrink(Layer):
    """x - tanh(x)

    >>> import whet
    >>> from whet import nn
    >>> nn.Tanhshrink()(whet.tensor([0., 2.]))
    tensor([0.0000, 1.0360])
    """


@layer("leaky_relu")
class LeakyReLU(Layer):
    """x where positive, else negative_slope * x.

    >>> import whet
    >>> from whet import nn
    >>> nn.LeakyReLU(0.1)(whet.tensor([-1., 2.]))
    tensor([-0.1000,  2.0000])
    """
    negative_slope: float = 0.01
    inplace: bool = False


@layer("logsigmoid")
class LogSigmoid(Layer):
    """log(sigmoid(x))

    >>> import whet
    >>> from whet import nn
    >>> nn.LogSigmoid()(whet.tensor([0., -100.]))
    tensor([  -0.6931, -100.0000])
    """


@layer("softplus")
class Softplus(Layer):
    """log(1 + exp(beta * x)) / beta; x itself above the threshold.

    >>> import whet
    >>> from whet import nn
    >>> nn.Softplus()(whet.tensor([0., 2.]))
    tensor([0.6931, 2.1269])
    """
    beta: float = 1.0
    threshold: float = 20.0


@layer("softsign")
class Softsign(Layer):
    """x / (1 + |x|)

    >>> import whet
    >>> from whet import nn
    >>> nn.Softsign()(whet.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """


@layer("softmax")
class Softmax(Layer):
    """exp(x) over its sum along `dim`.

    >>> import whet
    >>> from whet import nn
    >>> nn.Softmax(dim=0)(whet.tensor([0., 1.]))
    tensor([0.2689, 0.7311])
    """
    dim: int | None = None


@layer("softmin")
class Softmin(Layer):
    """Softmax of -x.

    >>> import whet
    >>> from whet import nn
    >>> nn.Softmin(dim=0)(whet.tensor([0., 1.]))
    tensor([0.7311, 0.2689])
    """
    dim: int | None = None


@layer("log_softmax")
class LogSoftmax(Layer):
    """log(softmax(x))

    >>> import whet
    >>> from whet import nn
    >>> nn.LogSoftmax(dim=0)(whet.tensor([0., 1.]))
    tensor([-1.3133, -0.3133])
    """
    dim: int | None = None


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W).

    >>> import whet
    >>> from whet import nn
    >>> nn.Softmax2d()(whet.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input):
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class PReLU(Module):
    """x where positive, else a learned slope (one, or one a channel) times x.

    >>> import whet
    >>> from whet import nn
    >>> nn.PReLU()(whet.tensor([-1., 2.])).detach()
    tensor([-0.2500,  2.0000])
    """

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
