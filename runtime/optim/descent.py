"""Gradient descent and the methods that scale it by what they saw of the gradient."""
import whet

from .adam import decay_kind, decayed, mix
from .elementwise import Elementwise
from .optimizer import check, check_rate


class SGD(Elementwise):
    """Stochastic gradient descent, with momentum if asked for.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.SGD([w], lr=0.1, momentum=0.9)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.8000, -1.6000])
    """
    counts = False
    first_differs = True         # the momentum buffer begins as the first gradient, undampened
    fills_sparse = True

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, foreach=None, differentiable=False, fused=None):
        check_rate(lr)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params, {
                "lr": lr, "momentum": momentum, "dampening": dampening,
                "weight_decay": weight_decay, "nesterov": nesterov, "maximize": maximize,
                "foreach": foreach, "differentiable": differentiable, "fused": fused})

    def kind(self, group):
        return *decay_kind(group), group["momentum"] != 0, group["nesterov"]

    def hypers(self, group):
        return group["lr"], group["momentum"], group["dampening"], group["weight_decay"]

    @staticmethod
    def states(kind):
        return ("momentum_buffer",) if kind[2] else ()

    @staticmethod
    def numbers(x, kind, step, lr, momentum, dampening, weight_decay):
        return -lr, momentum, 1 - dampening, weight_decay

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        has_momentum, nesterov = kind[2:4]
        rate, momentum, share, weight_decay = numbers
        p, g = decayed(kind, p, g, weight_decay)
        if has_momentum:
            buffer = g if "first" in kind else states[0] * momentum + share * g
            g = g + momentum * buffer if nesterov else buffer
            return p + rate * g, buffer
        return p + rate * g,


class ASGD(Elementwise):
    """Averaged stochastic gradient descent: `ax` is the running average of the parameters.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.8000, -1.6000])
    """
    scalars = ("eta", "mu")

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0,
                 foreach=None, maximize=False, differentiable=False, capturable=False):
        check_rate(lr)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(
            params, {
                "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
                "capturable": capturable})

    def kind(self, group):
        return decay_kind(group)

    def hypers(self, group):
        return (group["lambd"], group["weight_decay"], group["lr"], group["alpha"],
                group["t0"])

    @staticmethod
    def states(kind):
        return "ax",

    def start(self, group, p, name):
        return (float(group["lr"])
                if name == "eta" else 1.0 if name == "mu" else super().start(group, p, name))

    @staticmethod
    def after(x, kind, step, lambd, weight_decay, lr, alpha, t0, eta, mu):
        return lr / x.pow(1 + lambd * lr * step, alpha), 1 / x.maximum(step - t0, 1)

    @staticmethod
    def numbers(x, kind, step, lambd, weight_decay, lr, alpha, t0, eta, mu):
        return -eta, 1 - lambd * eta, weight_decay, mu

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        rate, shrink, weight_decay, mu = numbers
        ax, = states
        _, g = decayed(kind, p, g, weight_decay)
        p = p * shrink + rate * g
        return p, x.where(mu >= 1, p, ax + (p - ax) * mu)           # mu is at most 1


class Rprop(Elementwise):
    """Steps that look at the gradient's sign only: they grow while it stays, and shrink when it
    turns.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    """

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False,
                 foreach=None, maximize=False, differentiable=False):
        check_rate(lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(
            params, {
                "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
                "maximize": maximize, "differentiable": differentiable, "capturable": capturable})

    def kind(self, group):
        return group["maximize"], ""

    def hypers(self, group):
        return *group["etas"], *group["step_sizes"]

    @staticmethod
    def states(kind):
        return "prev", "step_size"

    def start(self, group, p, name):
        if name != "step_size":
            return super().start(group, p, name)
        lr = float(group["lr"])              # of each part of a complex number
        return whet.full_like(p, complex(lr, lr) if p.is_complex() else lr)

    @staticmethod
    def numbers(x, kind, step, shrink, grow, low, high):
        return shrink, grow, low, high

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        shrink, grow, low, high = numbers
        before, size = states
        _, g = decayed(kind, p, g, None)
        same = g * before
        turned = same < 0
        size = x.where(same > 0, size * grow, x.where(turned, size * shrink, size))
        size = x.where(size < low, low, size)
        size = x.where(size > high, high, size)
        g = x.where(turned, g * 0, g)
        return p - x.sign(g) * size, g, size


class RMSprop(Elementwise):
    """Steps scaled by the running mean of the gradient's square.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.RMSprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 5.9605e-08, -1.0000e+00])
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0,
                 centered=False, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        check_rate(lr)
        check(eps >= 0, "epsilon value", eps)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(alpha >= 0, "alpha value", alpha)
        super().__init__(
            params, {
                "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
                "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
                "maximize": maximize, "differentiable": differentiable})

    def kind(self, group):
        return (*decay_kind(group), group["momentum"] > 0, group["centered"], 1 - group["alpha"]
                < 0.5)

    def hypers(self, group):
        return group["lr"], group["alpha"], group["eps"], group["weight_decay"], group["momentum"]

    @staticmethod
    def states(kind):
        return ("square_avg", *(("momentum_buffer",) if kind[2] else
                                ()), *(("grad_avg",) if kind[3] else ()))

    @staticmethod
    def numbers(x, kind, step, lr, alpha, eps, weight_decay, momentum):
        return -lr, alpha, 1 - alpha, eps, weight_decay, momentum

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        has_momentum, centered, near = kind[2:5]
        rate, alpha, rest, eps, weight_decay, momentum = numbers
        square, *states = states
        p, g = decayed(kind, p, g, weight_decay)
        square = square * alpha + rest * g * g
        new = [square]
        if centered:
            mean = mix(near, states[-1], g, rest, alpha)
            scale = x.sqrt(square - mean * mean) + eps
        else:
            scale = x.sqrt(square) + eps
        if has_momentum:
            buffer = states[0] * momentum + g / scale
            p = p + rate * buffer
            new.append(buffer)
        else:
            p = p + rate * g / scale
        return p, *new, *((mean,) if centered else ())


class Adagrad(Elementwise):
    """Steps scaled by the sum of the gradient's squares.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.9000, -1.9000])
    """

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0,
                 eps=1e-10, foreach=None, *, maximize=False, differentiable=False, fused=None):
        check_rate(lr)
        check(lr_decay >= 0, "lr_decay value", lr_decay)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(initial_accumulator_value >= 0,
              "initial_accumulator_value value",
              initial_accumulator_value)
        check(eps >= 0, "epsilon value", eps)
        super().__init__(
            params, {
                "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
                "maximize": maximize, "differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            self._prepare(group, group["params"], self.kind(group))

    def kind(self, group):
        return decay_kind(group)

    def hypers(self, group):
        return group["lr"], group["lr_decay"], group["weight_decay"], group["eps"]

    @staticmethod
    def states(kind):
        return "sum",

    def start(self, group, p, name):
        value = group["initial_accumulator_value"]
        return whet.full_like(p, complex(value, value) if p.is_complex() else value)

    def share_memory(self):
        """Put the sums where other processes can see them."""
        for state in self.state.values():
            state["sum"].share_memory_()

    @staticmethod
    def numbers(x, kind, step, lr, lr_decay, weight_decay, eps):
        return -(lr / (1 + (step - 1) * lr_decay)), weight_decay, eps

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        size, weight_decay, eps = numbers
        p, g = decayed(kind, p, g, weight_decay)
        total = states[0] + g * g
        return p + size * g / (x.sqrt(total) + eps), total


class Adadelta(Elementwise):
    """Steps scaled by the ratio of past steps to past gradients.

    >>> import whet
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> opt = whet.optim.Adadelta([w], lr=1.0)
    >>> (w * w).sum().backward()
    >>> opt.step()
    >>> w.detach()
    tensor([ 0.9968, -1.9968])
    """

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *,
                 capturable=False, maximize=False, differentiable=False):
        check_rate(lr)
        check(0 <= rho <= 1, "rho value", rho)
        check(eps >= 0, "epsilon value", eps)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(
            params, {
                "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay,
                "maximize": maximize, "capturable": capturable, "foreach": foreach,
                "differentiable": differentiable})

    def kind(self, group):
        return decay_kind(group)

    def hypers(self, group):
        return group["lr"], group["rho"], group["eps"], group["weight_decay"]

    @staticmethod
    def states(kind):
        return "square_avg", "acc_delta"

    @staticmethod
    def numbers(x, kind, step, lr, rho, eps, weight_decay):
        return -lr, rho, 1 - rho, eps, weight_decay

    @staticmethod
    def elements(x, kind, p, g, states, numbers):
        rate, rho, rest, eps, weight_decay = numbers
        square, steps = states
        p, g = decayed(kind, p, g, weight_decay)
        square = square * rho + rest * g * g
        delta = x.sqrt(steps + eps) / x.sqrt(square + eps) * g
        return p + rate * delta, square, steps * rho + rest * delta * delta
