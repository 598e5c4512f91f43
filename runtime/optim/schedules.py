"""Schedules that are a formula of the epoch."""
import math
from bisect import bisect_right
from collections import Counter

from .. import declared_for_tracing
from ..autograd.modes import warn
from ..ops.python_calls import as_float, call, choose
from ..tensor import Tensor
from .optimizer import Optimizer

__all__ = [
    "LRScheduler", "LambdaLR", "MultiplicativeLR", "StepLR", "MultiStepLR", "ConstantLR",
    "LinearLR", "ExponentialLR", "CosineAnnealingLR", "PolynomialLR"]

ORDER_WARNING = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. Call them in the opposite "
    "order: `optimizer.step()` before `lr_scheduler.step()`. Else the first value of the learning "
    "rate schedule is skipped.")


def number(x):
    return x.clone() if isinstance(x, Tensor) else x


def set_option(group, name, value):
    """Write an option; a tensor keeps its identity."""
    if isinstance(group[name], Tensor):
        group[name].fill_(float(value))
    else:
        group[name] = as_float(value) if isinstance(value, Tensor) else value


def each_group(optimizer, value, name):
    """One value for each parameter group."""
    if isinstance(value, list | tuple):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. {name} has "
                f"{len(value)} values, param_groups has {len(optimizer.param_groups)}.")
        return list(value)
    return [value] * len(optimizer.param_groups)


class LRScheduler:
    """Base class: a subclass gives `get_lr`, the rates of the groups at `last_epoch`
    (`_get_closed_form_lr` where a formula exists).

    >>> import whet
    >>> class Halved(whet.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate * 0.5 ** self.last_epoch for rate in self.base_lrs]
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = Halved(opt)
    >>> opt.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", number(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                    "scheduler with last_epoch >= 0.")
        self.base_lrs = [number(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch, self._step_count, self._is_initial = last_epoch, 0, True
        optimizer._stepped = optimizer.__dict__.get("_stepped", False)
        self.step()
        self._is_initial = False

    def get_lr(self):
        """The learning rates of the groups now."""
        raise NotImplementedError

    @declared_for_tracing.goes_by_no_size
    def get_last_lr(self):
        """The learning rates that were set last."""
        return list(self._last_lr)

    def _remember(self, rates):
        """Note the rates, in the list that is there: a trace follows numbers in their places."""
        self.__dict__.setdefault("_last_lr", [])[:] = rates

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch=None):
        """Go to the next epoch (or, deprecated, to a given one)."""
        self._step_count += 1
        if self._step_count == 2 and not self.optimizer.__dict__.get("_stepped"):
            warn(ORDER_WARNING, UserWarning, stacklevel=2)
        if epoch is None:
            self.last_epoch += 1
            rates = self.get_lr()
        else:
            warn(
                "The epoch parameter in `scheduler.step()` was not necessary and is being "
                "deprecated where possible.",
                UserWarning,
                stacklevel=2)
            self.last_epoch = epoch
            rates = (self._get_closed_form_lr()
                     if hasattr(self, "_get_closed_form_lr") else self.get_lr())
        for group, lr in zip(self.optimizer.param_groups, rates):
            set_option(group, "lr", lr)
        self._remember([number(lr) for lr in self._rates()])

    def state_dict(self):
        """Everything but the optimizer."""
        return self._state("optimizer")

    def _state(self, *without):
        return {
            k: list(v) if k == "_last_lr" else v for k, v in self.__dict__.items()
            if k not in without}

    def load_state_dict(self, state_dict):
        """Take over a state."""
        self._take_state(state_dict)

    def _take_state(self, state):
        """Take over what `_state` gave. Rates are remembered in place, so their list is copied:
        the state may be loaded or saved again."""
        self.__dict__.update(state)
        if "_last_lr" in state:
            self._last_lr = list(state["_last_lr"])


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 0.5 ** epoch)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.lr_lambdas = each_group(optimizer, lr_lambda, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Everything but the optimizer and plain functions (callable objects give their
        attributes)."""
        state = self._state("optimizer", "lr_lambdas")
        state["lr_lambdas"] = [
            None if is_function(f) else dict(f.__dict__) for f in self.lr_lambdas]
        return state

    def load_state_dict(self, state_dict):
        """Take over a state."""
        state_dict = dict(state_dict)
        for f, attrs in zip(self.lr_lambdas, state_dict.pop("lr_lambdas")):
            if attrs is not None:
                f.__dict__.update(attrs)
        self._take_state(state_dict)

    def get_lr(self):
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs)]


def is_function(f):
    return (not hasattr(f, "__dict__")
            or type(f).__name__ in ("function", "builtin_function_or_method", "method"))


class MultiplicativeLR(LambdaLR):
    """The last rate times a function of the epoch.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.MultiplicativeLR(opt, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self):
        if self._is_initial:
            return self._rates()
        return [lr * f(self.last_epoch) for f, lr in zip(self.lr_lambdas, self._rates())]


class StepLR(LRScheduler):
    """Times gamma every `step_size` epochs.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.1)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 1.0, 0.1, 0.1]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return self._rates()
        factor = choose(self.last_epoch % self.step_size == 0, self.gamma, 1.0)
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.MultiStepLR(opt, milestones=[1, 3])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        factor = 1.0
        for milestone, times in self.milestones.items():
            factor = choose(self.last_epoch == milestone, self.gamma ** times, factor)
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma ** passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times `factor` until `total_iters`.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        return (self._rates() if self.last_epoch != self.total_iters else [
            lr * (1.0 / self.factor) for lr in self._rates()])

    def _get_closed_form_lr(self):
        now = 1 if self.last_epoch >= self.total_iters else self.factor
        return [base * now for base in self.base_lrs]


class LinearLR(LRScheduler):
    """A factor that goes from `start_factor` to `end_factor` in `total_iters` epochs.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.LinearLR(opt, start_factor=0.25, total_iters=3)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.25, 0.5, 0.75, 1.0]
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5,
                 last_epoch=-1):
        if not 0 < start_factor <= 1:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self._is_initial:
            return self._rates()
        is_over, change = self.last_epoch > self.total_iters, self.end_factor - self.start_factor
        # After the end the formula may divide by zero.
        epoch = choose(is_over, 1, self.last_epoch)
        factor = 1.0 + change / (self.total_iters * self.start_factor + (epoch - 1) * change)
        factor = choose(is_over, 1.0, factor)
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self):
        change = ((self.end_factor - self.start_factor) * min(self.total_iters, self.last_epoch)
                  / self.total_iters)
        return [base * (self.start_factor + change) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma every epoch.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        return (self._rates() if self._is_initial or self.last_epoch == 0 else [
            lr * self.gamma for lr in self._rates()])

    def _get_closed_form_lr(self):
        return [base * self.gamma ** self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Decays the learning rate to zero in `total_iters` epochs, as a power of the remaining
    fraction.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.PolynomialLR(opt, total_iters=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.75, 0.5, 0.25]
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch == 0:
            return self._rates()
        is_over = self.last_epoch > self.total_iters
        # Just after the end the formula divides by zero.
        epoch = choose(is_over, 1, self.last_epoch)
        factor = (((1.0 - epoch / self.total_iters) /
                   (1.0 - (epoch - 1) / self.total_iters)) ** self.power)
        factor = choose(is_over, 1.0, factor)
        return [lr * factor for lr in self._rates()]

    def _get_closed_form_lr(self):
        left = (1.0 - min(self.total_iters, self.last_epoch) / self.total_iters) ** self.power
        return [base * left for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """To `eta_min` in `T_max` epochs along a cosine (and back).

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.8536, 0.5, 0.1464]
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        if self._is_initial or self.last_epoch == 0:
            return self._rates()
        t, n, low = self.last_epoch, self.T_max, self.eta_min
        turns = (t - 1 - n) % (2 * n) == 0
        # Where it turns the formula would divide by zero.
        t = choose(turns, 1, t)
        factor = (1 + call("cos", math.pi * t / n)) / (1 + call("cos", math.pi * (t - 1) / n))
        return [
            choose(turns, lr + (base - low) * (1 - call("cos", math.pi / n)) / 2,
                   factor * (lr - low) + low)
            for base, lr in zip(self.base_lrs, self._rates())]

    def _get_closed_form_lr(self):
        share = (1 + call("cos", math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]
