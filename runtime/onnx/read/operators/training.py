"""The steps of optimisers, of ai.onnx.preview.training."""
from collections.abc import Callable
from typing import Any

import whet

from .... import autograd
from ....autograd.modes import enable_grad
from ....tensor import Tensor
from ...errors import OnnxError
from ..definition import Body, operator

DOMAIN = "ai.onnx.preview.training"


def stepped(data: tuple[Tensor, ...], kinds: int,
            step: Callable[..., tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    """A step of each tensor. `data` has all tensors, all gradients, then each kind of state."""
    count = len(data) // kinds
    groups = [step(*data[i::count]) for i in range(count)]
    return tuple(g[k] for k in range(kinds - 1) for g in groups)


@operator("Adagrad", domain=DOMAIN)
def adagrad(rate: Tensor, count: Tensor, *data: Tensor, decay_factor: float = 0.0,
            epsilon: float = 0.0, norm_coefficient: float = 0.0) -> Any:
    now = rate / (1 + count.to(rate.dtype) * decay_factor)

    def step(x: Tensor, gradient: Tensor, squares: Tensor) -> tuple[Any, ...]:
        g = norm_coefficient * x + gradient
        total = squares + g * g
        return whet.sub(x, now * g / (whet.sqrt(total) + epsilon)), total
    return stepped(data, 3, step)


@operator("Momentum", domain=DOMAIN)
def momentum(rate: Tensor, count: Tensor, *data: Tensor, alpha: float, beta: float, mode: str,
             norm_coefficient: float) -> Any:
    if mode not in ("standard", "nesterov"):
        raise OnnxError(f"there is no mode {mode!r}")
    part = whet.where(count > 0, whet.tensor(beta), whet.tensor(1.0)).to(rate.dtype)

    def step(x: Tensor, gradient: Tensor, velocity: Tensor) -> tuple[Tensor, ...]:
        g = norm_coefficient * x + gradient
        new = alpha * velocity + part * g
        return x - rate * (new if mode == "standard" else g + alpha * new), new
    return stepped(data, 3, step)


@operator("Adam", domain=DOMAIN)
def adam(rate: Tensor, count: Tensor, *data: Tensor, alpha: float = 0.9, beta: float = 0.999,
         epsilon: float = 0.0, norm_coefficient: float = 0.0,
         norm_coefficient_post: float = 0.0) -> Any:
    t = count.to(rate.dtype)
    corrected = rate * whet.sqrt(1 - beta ** t) / (1 - alpha ** t)
    now = whet.where(t > 0, corrected, rate)

    def step(x: Tensor, gradient: Tensor, first: Tensor, second: Tensor) -> tuple[Tensor, ...]:
        g = norm_coefficient * x + gradient
        first = whet.add(alpha * first, (1 - alpha) * g)
        second = whet.add(beta * second, (1 - beta) * (g * g))
        new = x - now * (first / (whet.sqrt(second) + epsilon))
        return (1 - norm_coefficient_post) * new, first, second
    return stepped(data, 4, step)


@operator("Gradient", domain=DOMAIN)
def gradient(*inputs: Tensor, xs: list[str], zs: list[str] | None = None, y: str,
             body: Body | None = None) -> Any:
    """The gradients of y by the first inputs. `body` recomputes y from all inputs."""
    assert body is not None
    higher = any(x.requires_grad for x in inputs)
    with enable_grad():
        leaves = [x if x.requires_grad else x.detach().requires_grad_() for x in inputs]
        result = body(*leaves)[0]
        return tuple(autograd.grad(result, leaves[:len(xs)], whet.ones_like(result),
                                   create_graph=higher))
