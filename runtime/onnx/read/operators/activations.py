"""Activation functions, softmax and its kin."""
import math

import whet
import whet.nn.functional as F

from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import operator


@operator("LeakyRelu")
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    return F.leaky_relu(x, alpha)


@operator("Elu")
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.elu(x, alpha)


@operator("Selu", since=6)
def selu(x: Tensor, *, alpha: float = 1.67326319217681884765625,
         gamma: float = 1.05070102214813232421875) -> Tensor:
    return gamma * whet.where(x > 0, x, alpha * whet.expm1(whet.clamp(x, max=0)))


@operator("Selu")
def selu_1(x: Tensor, *, alpha: float = 1.6732, gamma: float = 1.0507) -> Tensor:
    return selu(x, alpha=alpha, gamma=gamma)


@operator("Celu")
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.celu(x, alpha)


@operator("ThresholdedRelu")
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.threshold(x, alpha, 0.0)


@operator("HardSigmoid")
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return whet.clamp(x * alpha + beta, 0.0, 1.0)


@operator("HardSwish")
def hard_swish(x: Tensor) -> Tensor:
    return F.hardswish(x)


@operator("Softplus")
def softplus(x: Tensor) -> Tensor:
    return F.softplus(x)


@operator("Softsign")
def softsign(x: Tensor) -> Tensor:
    return F.softsign(x)


@operator("Mish")
def mish(x: Tensor) -> Tensor:
    return F.mish(x)


@operator("Swish")
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    return F.silu(x) if alpha == 1 else x * whet.sigmoid(alpha * x)


@operator("SwiGLU")
def swiglu(gate: Tensor, value: Tensor, *, alpha: float = 1.0) -> Tensor:
    if gate.shape != value.shape:
        raise OnnxError(f"the inputs have the shapes {list(gate.shape)} and {list(value.shape)}")
    return swish(gate, alpha=alpha) * value


@operator("Gelu")
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@operator("Shrink")
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    bias = int(bias) if not x.dtype.is_floating_point and bias == math.floor(bias) else bias
    moved = whet.where(x < -lambd, x + bias, whet.where(x > lambd, x - bias, whet.zeros_like(x)))
    return moved.to(x.dtype)


@operator("Softmax", since=13)
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return whet.softmax(x, axis)


@operator("LogSoftmax", since=13)
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return whet.log_softmax(x, axis)


@operator("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    highest = whet.argmax(x, dim=axis, keepdim=True)
    return whet.zeros_like(x).scatter(axis, highest, 1.0)


def flat(x: Tensor, axis: int) -> Tensor:
    """A matrix whose rows are all dimensions before `axis`."""
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), -1)


# before version 13 the dimensions from `axis` on are one
@operator("Softmax")
def softmax_1(x: Tensor, *, axis: int = 1) -> Tensor:
    return whet.softmax(flat(x, axis), 1).reshape(x.shape)


@operator("LogSoftmax")
def log_softmax_1(x: Tensor, *, axis: int = 1) -> Tensor:
    return whet.log_softmax(flat(x, axis), 1).reshape(x.shape)


@operator("Hardmax")
def hardmax_1(x: Tensor, *, axis: int = 1) -> Tensor:
    return hardmax(flat(x, axis), axis=1).reshape(x.shape)
