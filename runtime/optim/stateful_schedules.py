"""Schedules that look at more than the epoch: cycles, restarts, metrics, and other schedules."""
import math
import warnings
from bisect import bisect_right

from ..ops.python_calls import as_float, call, choose
from .optimizer import Optimizer
from .schedules import LRScheduler, each_group, is_function, number, set_option

__all__ = [
    "CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", "ReduceLROnPlateau", "SequentialLR",
    "ChainedScheduler"]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that starts again after `T_0` epochs, each time after `T_mult` times as
    many.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=2)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [1.0, 0.5, 1.0, 0.5]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min = T_0, T_0, T_mult, eta_min
        self.T_cur = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        share = (1 + call("cos", math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * share for base in self.base_lrs]

    def step(self, epoch=None):
        """Go on by one epoch, or to a (fractional) one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            now, length = self.T_cur + 1, self.T_i
            is_over = now >= length
            self.T_cur = choose(is_over, now - length, now)
            self.T_i = choose(is_over, length * self.T_mult, length)
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_i, self.T_cur = self.T_0, epoch % self.T_0
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult ** n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult ** n
        self.last_epoch = math.floor(epoch)
        self._step_count += 1
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            set_option(group, "lr", lr)
        self._remember([number(lr) for lr in self._rates()])


class CyclicLR(LRScheduler):
    """Back and forth between two rates (and, the other way round, between two momenta).

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.CyclicLR(
    ...     opt, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.1, 0.3, 0.5, 0.3]
    """

    def __init__(self, optimizer, base_lr, max_lr, step_size_up=2000, step_size_down=None,
                 mode="triangular", gamma=1.0, scale_fn=None, scale_mode="cycle",
                 cycle_momentum=True, base_momentum=0.8, max_momentum=0.9, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for lr, group in zip(each_group(optimizer, base_lr, "base_lr"), optimizer.param_groups):
            if last_epoch == -1:
                set_option(group, "lr", lr)
                group["initial_lr"] = number(group["lr"])
        self.max_lrs = each_group(optimizer, max_lr, "max_lr")
        up, down = (float(step_size_up),
                    float(step_size_up if step_size_down is None else step_size_down))
        self.total_size, self.step_ratio = up + down, up / (up + down)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma, self._scale_fn_custom = mode, gamma, scale_fn
        self.scale_mode = (scale_mode if scale_fn is not None else
                           "iterations" if mode == "exp_range" else "cycle")
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError(
                    "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.base_momentums = each_group(optimizer, base_momentum, "base_momentum")
            self.max_momentums = each_group(optimizer, max_momentum, "max_momentum")
            if last_epoch == -1:
                for m_max, m_base, group in zip(self.max_momentums, self.base_momentums,
                                                optimizer.param_groups):
                    _set_momentum(group, m_max)
                    group["max_momentum"], group["base_momentum"] = m_max, m_base
        super().__init__(optimizer, last_epoch)
        self.base_lrs = each_group(optimizer, base_lr, "base_lr")

    def scale_fn(self, x):
        """The height of a cycle, of its number or of the iteration."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return (1.0 if self.mode == "triangular" else 1
                / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma ** x)

    def get_lr(self):
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        top = self.step_ratio
        falling = (x - 1) / (top - 1) if top < 1 else 0.0
        height = choose(x <= top, x / top, falling)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for m_base, m_max, group in zip(self.base_momentums, self.max_momentums,
                                            self.optimizer.param_groups):
                _set_momentum(group, m_max - (m_max - m_base) * height)
        return [base + (top - base) * height for base, top in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self):
        """Everything but the optimizer and a plain scale function."""
        state = super().state_dict()
        f = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if f is None or is_function(f) else dict(f.__dict__)
        return state

    def load_state_dict(self, state_dict):
        """Take over a state."""
        state_dict = dict(state_dict)
        attrs = state_dict.pop("_scale_fn_custom", None)
        super().load_state_dict(state_dict)
        if attrs is not None:
            self._scale_fn_custom.__dict__.update(attrs)


def _set_momentum(group, value):
    if "betas" in group:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class OneCycleLR(LRScheduler):
    """Up to `max_lr` and down to almost nothing, in one cycle.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.OneCycleLR(opt, max_lr=1.0, total_steps=5)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.04, 0.9505, 0.6113, 0.1883]
    """

    def __init__(self, optimizer, max_lr, total_steps=None, epochs=None, steps_per_epoch=None,
                 pct_start=0.3, anneal_strategy="cos", cycle_momentum=True, base_momentum=0.85,
                 max_momentum=0.95, div_factor=25.0, final_div_factor=1e4, three_phase=False,
                 last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, value in (("total_steps", total_steps),) if total_steps is not None else \
                (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
            if value <= 0 or not isinstance(value, int):
                raise ValueError(f"Expected positive integer {name}, but got {value}")
        self.total_steps = total_steps if total_steps is not None else epochs * steps_per_epoch
        if not 0 <= pct_start <= 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        peak = float(pct_start * self.total_steps)
        last = self.total_steps - 1
        ends = (peak - 1, 2 * peak - 2, last) if three_phase else (peak - 1, last)
        rates = ["initial_lr", "max_lr", *["initial_lr"][:three_phase], "min_lr"]
        momenta = [
            "base_momentum" if rate == "max_lr" else "max_momentum" for rate in rates]
        # of the form that it has in PyTorch's files, as it is part of the state
        self._schedule_phases = [
            {"end_step": end, "start_lr": rates[i], "end_lr": rates[i + 1],
             "start_momentum": momenta[i], "end_momentum": momenta[i + 1]}
            for i, end in enumerate(ends)]
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, each_group(optimizer, max_lr, "max_lr")):
                group["initial_lr"], group["max_lr"] = top / div_factor, top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError(
                    "optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            if last_epoch == -1:
                for group, m_max, m_base in zip(
                        optimizer.param_groups, each_group(optimizer, max_momentum, "max_momentum"),
                        each_group(optimizer, base_momentum, "base_momentum")):
                    _set_momentum(group, m_max)
                    group["max_momentum"], group["base_momentum"] = m_max, m_base
        super().__init__(optimizer, last_epoch)

    def _between(self, start, end, share):
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (call("cos", math.pi * share) + 1)

    def get_lr(self):
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}")
        phases = self._schedule_phases
        ends = [float(phase["end_step"]) for phase in phases]
        passed = [step > end for end in ends[:-1]]

        def current(values):
            """Which of the values of all phases holds in the phase that this step is in."""
            value = values[0]
            for is_over, later in zip(passed, values[1:]):
                value = choose(is_over, later, value)
            return value
        start, end = current([0.0, *ends[:-1]]), current(ends)
        share = (step - start) / (end - start)

        def between(group, option):
            """An option on its way between two values that its group has."""
            origin = current([group[phase[f"start_{option}"]] for phase in phases])
            target = current([group[phase[f"end_{option}"]] for phase in phases])
            return self._between(origin, target, share)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(between(group, "lr"))
            if self.cycle_momentum:
                _set_momentum(group, between(group, "momentum"))
        return rates


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a metric has not improved for `patience` epochs.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> schedule = whet.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
    >>> for loss in (0.5, 0.4, 0.4, 0.4):
    ...     schedule.step(loss)
    >>> opt.param_groups[0]["lr"]
    0.1
    """

    def __init__(self, optimizer, mode="min", factor=0.1, patience=10, threshold=1e-4,
                 threshold_mode="rel", cooldown=0, min_lr=0, eps=1e-8):
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("min", "max"):
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold = threshold
        self.threshold_mode, self.cooldown, self.eps = threshold_mode, cooldown, eps
        self.min_lrs = each_group(optimizer, min_lr, "min_lrs")
        self.last_epoch = 0
        self._remember([number(lr) for lr in self._rates()])
        self._reset()

    def _reset(self):
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = self.num_bad_epochs = 0

    @property
    def in_cooldown(self):
        """Are bad epochs ignored now?"""
        return self.cooldown_counter > 0

    def is_better(self, a, best):
        """Is `a` an improvement worth the name?"""
        sign = -1 if self.mode == "min" else 1
        if self.threshold_mode == "rel":
            line = best * (1.0 + sign * self.threshold)
        else:
            line = best + sign * self.threshold
        return a < line if self.mode == "min" else a > line

    def step(self, metrics, epoch=None):
        """Look at this epoch's metric."""
        now = as_float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(now, self.best):
            self.best, self.num_bad_epochs = now, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            if len(self.optimizer.param_groups) != len(self.min_lrs):
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(self.optimizer.param_groups)}) differs from when `ReduceLROnPlateau` "
                    f"was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the "
                    "length of the `optimizer` param groups.")
            for group, low in zip(self.optimizer.param_groups, self.min_lrs):
                old = as_float(group["lr"])
                new = max(old * self.factor, low)
                if old - new > self.eps:
                    set_option(group, "lr", new)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._remember([number(lr) for lr in self._rates()])


def _refuse_plateau(self, i, scheduler):
    """Raise for a `ReduceLROnPlateau`, whose step needs a metric, among chained schedulers."""
    if isinstance(scheduler, ReduceLROnPlateau):
        raise ValueError(
            f"{type(self).__name__} does not support `ReduceLROnPlateau` scheduler as it "
            "requires additional kwargs to be specified when calling `step`, but got one "
            f"at index {i} in the given schedulers sequence.")


def _refuse_another_optimizer(self, i, scheduler, optimizer):
    """Raise for a scheduler of another optimizer than the schedulers beside it are of."""
    if scheduler.optimizer is not optimizer:
        raise ValueError(
            f"{type(self).__name__} expects all schedulers to belong to the same optimizer, but "
            f"got scheduler {type(scheduler).__name__} at index {i} has {scheduler.optimizer}, "
            f"which is different from {type(optimizer).__name__}.")


def _undo_first_step(scheduler):
    """Take back the count of the step that a scheduler does when it is made; of one that holds
    others, their counts."""
    for held in scheduler.__dict__.get("_schedulers", ()):
        _undo_first_step(held)
    if "_schedulers" not in scheduler.__dict__:
        scheduler.last_epoch -= 1
        scheduler._step_count -= 1


class SequentialLR(LRScheduler):
    """Several schedulers, one after the other; milestones say when the next takes over.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> first = whet.optim.lr_scheduler.ConstantLR(opt, factor=0.1, total_iters=2)
    >>> then = whet.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> schedule = whet.optim.lr_scheduler.SequentialLR(opt, [first, then], milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.1, 0.1, 1.0, 0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        for i, s in enumerate(schedulers):
            if not hasattr(s, "optimizer"):
                raise TypeError(
                    f"{type(self).__name__} at index {i} should have `optimizer` as its attribute.")
            _refuse_plateau(self, i, s)
            _refuse_another_optimizer(self, i, s, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                f"the number of milestone points, but got number of schedulers {len(schedulers)} "
                f"and the number of milestones to be equal to {len(milestones)}")
        self.optimizer, self._schedulers = optimizer, schedulers
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        # all have set the rates: start again with the first alone
        for group in optimizer.param_groups:
            set_option(group, "lr", group["initial_lr"])
        _undo_first_step(self)
        first = schedulers[bisect_right(self._milestones, 0)]
        self._start(first)
        self._remember(first.get_last_lr())

    @staticmethod
    def _start(scheduler):
        scheduler._is_initial = True
        scheduler.step()
        scheduler._is_initial = False

    def step(self):
        """Go to the next epoch."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                scheduler.step(0)
        else:
            scheduler.step()
        self._remember(scheduler.get_last_lr())

    def state_dict(self):
        """Everything but the optimizer."""
        state = self._state("optimizer", "_schedulers")
        state["_schedulers"] = [s.state_dict() for s in self._schedulers]
        return state

    def load_state_dict(self, state_dict):
        """Take over a state."""
        state_dict = dict(state_dict)
        for s, state in zip(self._schedulers, state_dict.pop("_schedulers")):
            s.load_state_dict(state)
        self._take_state(state_dict)


class ChainedScheduler(LRScheduler):
    """Steps several schedulers at once; their factors multiply.

    >>> import whet
    >>> opt = whet.optim.SGD([whet.zeros(1)], lr=1.0)
    >>> halved = whet.optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=2)
    >>> falling = whet.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> schedule = whet.optim.lr_scheduler.ChainedScheduler([halved, falling], optimizer=opt)
    >>> rates = []
    >>> for _ in range(4):
    ...     rates.append(round(opt.param_groups[0]["lr"], 4))
    ...     opt.step()
    ...     schedule.step()
    >>> rates
    [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers, optimizer=None):
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no "
                "scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for i, s in enumerate(schedulers):
            _refuse_plateau(self, i, s)
            _refuse_another_optimizer(self, i, s, optimizer)
        self.optimizer, self._schedulers = optimizer, schedulers
        self._remember([number(lr) for lr in self._rates()])

    def step(self):
        """Go to the next epoch."""
        for s in self._schedulers:
            s.step()
        self._remember([number(lr) for lr in self._rates()])

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict
