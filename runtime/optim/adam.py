"""Adam and its relatives."""

from ..tensor import Tensor
from .elementwise import Elementwise
from .optimizer import check, check_rate


def check_adam(lr, betas, eps, weight_decay):
    """The options that all relatives of Adam share."""
    check_rate(lr)
    check(eps >= 0, "epsilon value", eps)
    check_betas(betas)
    check(weight_decay >= 0, "weight_decay value", weight_decay)


def check_betas(betas):
    """Two rates of decay."""
    for i in range(2):
        check(0 <= betas[i] < 1, f"beta parameter at index {i}", betas[i])


def check_tensors_for_numbers(lr, betas, foreach, capturable):
    """Raise ValueError where PyTorch does for a rate or betas that are tensors."""
    if len({isinstance(beta, Tensor) for beta in betas}) > 1:
        raise ValueError("betas must be either both floats or both Tensors")
    for what, x in (("lr", lr), *((f"betas[{i}]", beta) for i, beta in enumerate(betas))):
        if isinstance(x, Tensor):
            if foreach and not capturable:
                raise ValueError(
                    f"{what} as a Tensor is not supported for capturable=False and foreach=True")
            if x.numel() != 1:
                raise ValueError(f"Tensor {what} must be 1-element")


def decayed(kind, p, g, decay):
    """Parameter and gradient after `maximize` and weight decay; `kind` starts with what
    `decay_kind` gives."""
    maximize, how, *_ = kind
    if maximize:
        g = -g
    if how == "decoupled":
        return p * decay, g
    return p, g + decay * p if how == "l2" else g


def decay_number(kind, lr, weight_decay):
    """The number that `decayed` takes."""
    return 1 - lr * weight_decay if kind[1] == "decoupled" else weight_decay


def decay_kind(group):
    """(maximize, decay): decay is "", "l2" (a part of the gradient) or "decoupled"."""
    if group["weight_decay"] == 0:
        return group["maximize"], ""
    return group["maximize"], "decoupled" if group.get("decoupled_weight_decay") else "l2"


def mix(near, a, b, t, rest):
    """a + t * (b - a), from the nearer end: `near` says that t < 0.5; `rest` is 1 - t."""
    return a + t * (b - a) if near else b - (b - a) * rest


class _Moments(Elementwise):
    """What relatives of Adam compute their steps from."""

    def kind(self, group):
        return *decay_kind(group), bool(group["betas"][0] > 0.5)

    def hypers(self, group):
        return group["lr"], *group["betas"], group["eps"], group["weight_decay"]


class Adam(_Moments):
    """Steps scaled by running means of the gradient and of its square.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False,
                 *, foreach=None, maximize=False, capturable=False, differentiable=False,
                 fused=None, decoupled_weight_decay=False):
        check_tensors_for_numbers(lr, betas, foreach, capturable)
        check_adam(lr, betas, eps, weight_decay)
        super().__init__(
            params, {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "amsgrad": amsgrad, "maximize": maximize, "foreach": foreach,
                "capturable": capturable, "differentiable": differentiable, "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay})

    def kind(self, group):
        return *decay_kind(group), group["amsgrad"], bool(group["betas"][0] > 0.5)

    @staticmethod
    def states(kind):
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if kind[2] else ("exp_avg", "exp_avg_sq")

    @staticmethod
    def numbers(x, kind, step, lr, beta1, beta2, eps, weight_decay):
        return (-(lr / (1 - x.pow(beta1, step))), x.sqrt(1 - x.pow(beta2, step)), beta1, 1 - beta1,
                beta2, 1 - beta2, eps, decay_number(kind, lr, weight_decay))

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        amsgrad, near = kind[2:4]
        size, correction, beta1, rest1, beta2, rest2, eps, decay = numbers
        m, v, *top = states
        p, g = decayed(kind, p, g, decay)
        m = mix(near, m, g, rest1, beta1)
        v = v * beta2 + rest2 * g * g
        if amsgrad:
            top = [x.maximum(top[0], v)]
        denominator = x.sqrt(top[0] if amsgrad else v) / correction + eps
        return p + size * m / denominator, m, v, *top


class AdamW(Adam):
    """Adam with weight decay apart from the gradient.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.AdamW([w], lr=0.1, weight_decay=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.8900, -1.8800])
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2,
                 amsgrad=False, *, maximize=False, foreach=None, capturable=False,
                 differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach,
                         maximize=maximize, capturable=capturable, differentiable=differentiable,
                         fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(_Moments):
    """Adam with a running maximum in place of the running square.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None,
                 *, maximize=False, differentiable=False, capturable=False):
        check_adam(lr, betas, eps, weight_decay)
        super().__init__(
            params, {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                "capturable": capturable})

    @staticmethod
    def states(kind):
        return "exp_avg", "exp_inf"

    @staticmethod
    def numbers(x, kind, step, lr, beta1, beta2, eps, weight_decay):
        return -(lr / (1 - x.pow(beta1, step))), beta1, 1 - beta1, beta2, eps, weight_decay

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        near = kind[2]
        size, beta1, rest1, beta2, eps, decay = numbers
        m, top = states
        p, g = decayed(kind, p, g, decay)
        m = mix(near, m, g, rest1, beta1)
        top = x.maximum(top * beta2, x.absolute(g) + eps)
        return p + size * m / top, m, top


class NAdam(_Moments):
    """Adam with Nesterov momentum.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.8944, -1.8944])
    """
    scalars = ("mu_product",)

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 momentum_decay=4e-3, decoupled_weight_decay=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False):
        check_adam(lr, betas, eps, weight_decay)
        check(momentum_decay >= 0, "momentum_decay value", momentum_decay)
        super().__init__(
            params, {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
                "maximize": maximize, "foreach": foreach, "capturable": capturable,
                "differentiable": differentiable})

    def hypers(self, group):
        return (group["lr"], *group["betas"], group["eps"], group["weight_decay"],
                group["momentum_decay"])

    @staticmethod
    def states(kind):
        return "exp_avg", "exp_avg_sq"

    def start(self, group, p, name):
        return 1.0 if name == "mu_product" else super().start(group, p, name)

    @staticmethod
    def before(x, kind, step, lr, beta1, beta2, eps, weight_decay, momentum_decay, mu_product):
        return mu_product * NAdam._momentum(x, step, beta1, momentum_decay),

    @staticmethod
    def _momentum(x, step, beta1, momentum_decay):
        return beta1 * (1 - 0.5 * x.pow(0.96, step * momentum_decay))

    @staticmethod
    def numbers(x, kind, step, lr, beta1, beta2, eps, weight_decay, momentum_decay, mu_product):
        mu = NAdam._momentum(x, step, beta1, momentum_decay)
        after = NAdam._momentum(x, step + 1, beta1, momentum_decay)
        return (-lr * (1 - mu) / (1 - mu_product), -lr * after /
                (1 - mu_product * after), 1 - x.pow(beta2, step), beta1, 1 - beta1, beta2,
                1 - beta2, eps, decay_number(kind, lr, weight_decay))

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        near = kind[2]
        by_gradient, by_mean, correction, beta1, rest1, beta2, rest2, eps, decay = numbers
        m, v = states
        p, g = decayed(kind, p, g, decay)
        m = mix(near, m, g, rest1, beta1)
        v = v * beta2 + rest2 * g * g
        denominator = x.sqrt(v / correction) + eps
        return p + by_gradient * g / denominator + by_mean * m / denominator, m, v


class RAdam(_Moments):
    """Adam that uses the second moment only once its variance is tractable.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.8000, -1.6000])
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False,
                 differentiable=False):
        check_adam(lr, betas, eps, weight_decay)
        super().__init__(
            params, {
                "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
                "maximize": maximize, "foreach": foreach, "capturable": capturable,
                "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable})

    @staticmethod
    def states(kind):
        return "exp_avg", "exp_avg_sq"

    @staticmethod
    def numbers(x, kind, step, lr, beta1, beta2, eps, weight_decay):
        power = x.pow(beta2, step)
        most = 2 / (1 - beta2) - 1
        rho = most - 2 * step * power / (1 - power)
        rectified = x.sqrt((rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
        return (lr, 1 - x.pow(beta1, step), x.sqrt(1 - power), x.where(rho > 5, rectified, rho * 0),
                beta1, 1 - beta1, beta2, 1 - beta2, eps, decay_number(kind, lr, weight_decay))

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        near = kind[2]
        lr, correction, root, rectified, beta1, rest1, beta2, rest2, eps, decay = numbers
        m, v = states
        p, g = decayed(kind, p, g, decay)
        m = mix(near, m, g, rest1, beta1)
        v = v * beta2 + rest2 * g * g
        plain = m / correction * lr
        step = x.where(rectified > 0, plain * (root / (x.sqrt(v) + eps)) * rectified, plain)
        return p - step, m, v
