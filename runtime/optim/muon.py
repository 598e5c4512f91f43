"""Muon: momentum whose matrices are made orthogonal."""
import math

import whet

from .optimizer import ByParameter, check_bound, check_rate


class Muon(ByParameter):
    """Steps along the nearest orthogonal matrix to the momentum: for weights of hidden layers,
    which are matrices.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.eye(2))
    >>> opt = whet.optim.Muon([w], lr=0.1)
    >>> (w ** 2).sum().backward()
    >>> opt.step()
    >>> bool(w[0, 0] < 1)
    True
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.775, 2.0315), eps=1e-7, ns_steps=5,
                 adjust_lr_fn=None):
        check_rate(lr, "Learning rate should be >= 0 but is")
        check_bound(momentum >= 0, "momentum should be >= 0 but is", momentum)
        check_bound(weight_decay >= 0, "weight decay should be >= 0 but is", weight_decay)
        if adjust_lr_fn not in RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params, {
                "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
                "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn})
        for p in (p for group in self.param_groups for p in group["params"]):
            if p.ndim != 2:
                raise ValueError("Muon only supports 2D parameters whereas we found a parameter "
                                 f"with size: {p.size()}")

    def _update(self, group, p):
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        state, g = self.state[p], p.grad
        if not state:
            state["momentum_buffer"] = whet.zeros_like(g)
        momentum, lr = state["momentum_buffer"], group["lr"]
        momentum.lerp_(g, 1 - group["momentum"])
        direction = g.lerp(momentum, group["momentum"]) if group["nesterov"] else momentum
        step = orthogonal(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
        p.mul_(1 - lr * group["weight_decay"])
        p.sub_(step * (lr * RATES[group["adjust_lr_fn"]](*p.shape)))


# how much larger the step of a matrix is than the rate says
RATES = {
    None: lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns))}


def orthogonal(g, coefficients, steps, eps):
    """About the orthogonal factor of a matrix, by steps of Newton and Schulz in bfloat16.

    The coefficients take small singular values up quickly; what comes out has singular values
    about one, not one.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = g.shape[0] > g.shape[1]
    x = (g.mT if tall else g).bfloat16()
    x = x / x.norm().clamp(min=eps)              # its largest singular value is at most one
    for _ in range(steps):
        square = x @ x.mT
        x = whet.addmm(x, whet.addmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
