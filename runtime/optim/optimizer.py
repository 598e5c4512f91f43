"""Optimizer: parameters in groups, state per parameter, and hooks of steps and of states."""
import functools
import warnings
from collections import defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain

import whet

from .. import declared_for_tracing
from ..autograd.accumulate import clear_gradients
from ..tensor import Tensor
from ..utils.hooks import Hooks

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


def _hooks_at(event):
    """The attribute of an optimizer by which PyTorch's libraries find its hooks of a kind."""
    def replace(self, hooks):
        mine = self._hooks_of(event)
        mine.clear()
        mine.update(hooks)
    return property(lambda self: self._hooks_of(event), replace)


class Optimizer:
    """Base class: a subclass gives `defaults` and a `step`.

    `params` is an iterable of tensors, of (name, tensor) pairs, or of dicts with a `params` entry
    and options of their own.

    >>> import whet
    >>> class Descent(whet.optim.Optimizer):
    ...     def __init__(self, params, lr):
    ...         super().__init__(params, {"lr": lr})
    ...     @whet.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= group["lr"] * p.grad
    >>> w = whet.nn.Parameter(whet.tensor([1.0, -2.0]))
    >>> (w * w).sum().backward()
    >>> Descent([w], lr=0.25).step()
    >>> w.detach()
    tensor([ 0.5000, -1.0000])
    """
    _unwatched = frozenset(("_plans",))     # what a trace need not compare: caches
    # what a trace need not compare where code within reach has none of these names: the state of
    # L-BFGS differs at each call of a closure, which comes to nothing of it
    _named_by = {"state": frozenset(("state", "step", "state_dict", "load_state_dict"))}
    scheduled = ("lr",)         # options that are likely to be others at later steps
    _hooks = None               # event, such as "step_pre" -> Hooks, made when first needed
    # those of all optimizers: a trace that comes to one compares what its classes hold
    _hooks_of_all = {"step_pre": Hooks(), "step_post": Hooks()}
    _optimizer_step_pre_hooks = _hooks_at("step_pre")
    _optimizer_step_post_hooks = _hooks_at("step_post")
    _optimizer_state_dict_pre_hooks = _hooks_at("state_dict_pre")
    _optimizer_state_dict_post_hooks = _hooks_at("state_dict_post")
    _optimizer_load_state_dict_pre_hooks = _hooks_at("load_pre")
    _optimizer_load_state_dict_post_hooks = _hooks_at("load_post")

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_step_hooks(cls.__dict__["step"])

    def __init__(self, params, defaults):
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                "dicts, but got "
                + type(params).__name__)
        if not isinstance(defaults, dict):
            raise TypeError(f"defaults must be a dict, but got {type(defaults).__name__}")
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        if hasattr(params, "parameters") and not hasattr(params, "__iter__"):
            raise TypeError(
                "params must be an iterable of tensors or dicts, but got a "
                f"{type(params).__name__}: pass its .parameters()")
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    def _patch_step_function(self):
        """Nothing: steps of all subclasses run hooks. Optimizers that wrap others and do not
        call `Optimizer.__init__` ask for it by this name of PyTorch's."""

    def _sets_up(self):
        """Will the next step make state? The first one does, mostly, and traces wait for it."""
        return not self.state and not self.__dict__.get("_stepped")

    def _gathers(self):
        """Are there gradients for a first step, which is still to come?"""
        return self._sets_up() and any(
            p.grad is not None for group in self.param_groups for p in group["params"])

    @declared_for_tracing.reads_unnamed
    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    @declared_for_tracing.reads_unnamed
    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__dict__.pop("_plans", None)
        for group in self.param_groups:
            for name, value in self.defaults.items():
                # options that a version of long ago did not have
                group.setdefault(name, value)

    def __repr__(self):
        groups = ["\n".join([f"Parameter Group {i}",
                             *(f"    {key}: {group[key]}" for key in sorted(group)
                               if key != "params")])
                  for i, group in enumerate(self.param_groups)]
        return type(self).__name__ + " (\n" + "\n\n".join(groups) + "\n)"

    def add_param_group(self, param_group):
        """Add parameters with options of their own; missing options are taken from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        if "params" not in param_group:
            raise KeyError(
                "param_group must have the parameters under 'params', but has "
                f"{sorted(map(str, param_group))}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead.")
        params = _without_names(list(params), param_group)
        self._check_params(params, "param_names" in param_group)
        param_group["params"] = params
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}")
            param_group.setdefault(name, value)
        self.param_groups.append(param_group)

    def _check_params(self, params, with_names):
        """An error where these cannot be a group beside those that are there."""
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type(p).__name__}")
            if not self.defaults.get("differentiable", None) and not p.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters: each is changed "
                "once for each time that it is listed", stacklevel=3)
        if (not {id(p) for p in params}.isdisjoint(
                id(p) for group in self.param_groups for p in group["params"])):
            raise ValueError("some parameters appear in more than one parameter group")
        if (self.param_groups
                and with_names != ("param_names" in self.param_groups[0])):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                "with names to the optimizer" if with_names else
                "all optimizer param groups should be with/without names. cannot add param group "
                "without names to the optimizer")

    def zero_grad(self, set_to_none=True):
        """Drop (or zero) the gradients of all parameters."""
        for group in self.param_groups:
            clear_gradients(group["params"], set_to_none)

    def step(self, closure=None):
        """One update of the parameters; `closure` computes the loss again and returns it."""
        raise NotImplementedError

    # ---- state -----------------------------------------------------------------------------------
    @declared_for_tracing.reads_unnamed
    def state_dict(self):
        """`{"state": {number: ...}, "param_groups": [...]}`, with parameters replaced by their
        numbers."""
        for hook in self._hooks_to_run("state_dict_pre"):
            hook(self)
        number = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            groups.append({
                **{k: v for k, v in group.items() if k != "params"},
                "params": [number[id(p)] for p in group["params"]]})
        state = {number[id(k)] if isinstance(k, Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._hooks_to_run("state_dict_post"):
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    @declared_for_tracing.reads_unnamed
    def load_state_dict(self, state_dict):
        """Take over a state; tensors are copied and converted to their parameter's type (a
        `step` stays as it is)."""
        state_dict = dict(state_dict)
        for hook in self._hooks_to_run("load_pre"):
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        saved = deepcopy(state_dict["param_groups"])
        groups = self.param_groups
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the "
                             "size of optimizer's group")
        param = (dict(
            zip(chain.from_iterable(s["params"] for s in saved),
                chain.from_iterable(g["params"] for g in groups))))
        state = defaultdict(dict)
        for k, v in state_dict["state"].items():
            if k in param:
                state[param[k]] = self._own_copy(param[k], v)
            else:
                state[k] = v
        for mine, theirs in zip(groups, saved):
            theirs["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in theirs:
                theirs["param_names"] = mine["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._hooks_to_run("load_post"):
            hook(self)

    def _own_copy(self, p, value, key=None):
        """A loaded value for the state of parameter p."""
        if isinstance(value, Tensor):
            if key == "step":
                return value.detach().clone()
            converts = p.is_floating_point() and value.is_floating_point()
            return value.detach().to(dtype=p.dtype if converts else None, device=p.device).clone()
        if isinstance(value, dict):
            return {k: self._own_copy(p, v, k) for k, v in value.items()}
        if isinstance(value, Iterable) and not isinstance(value, str | bytes):
            return type(value)(self._own_copy(p, v) for v in value)
        return value

    # ---- hooks -----------------------------------------------------------------------------------
    def _hooks_to_run(self, event):
        """The optimizer's own hooks of an event, as they are now: one may add others."""
        return list(self._hooks[event].values()) if self._hooks and event in self._hooks else ()

    def _hooks_of(self, event):
        if self._hooks is None:
            self._hooks = {}
        return self._hooks.setdefault(event, Hooks())

    def _add_hook(self, event, hook, prepend=False):
        return self._hooks_of(event).add(hook, prepend=prepend)

    def register_step_pre_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` before each step; `args` are the optimizer and what
        `step` is given. It may return new (args, kwargs)."""
        return self._add_hook("step_pre", hook)

    def register_step_post_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._add_hook("step_post", hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` before `state_dict`."""
        return self._add_hook("state_dict_pre", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return another."""
        return self._add_hook("state_dict_post", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call `hook(optimizer, state_dict)` before loading; it may return another."""
        return self._add_hook("load_pre", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call `hook(optimizer)` after loading."""
        return self._add_hook("load_post", hook, prepend)


def _with_step_hooks(step):
    """A `step` that runs the hooks around it and notes that it was called (learning rate
    schedulers ask)."""
    @declared_for_tracing.reads_unnamed
    @functools.wraps(step)
    def run(self, *args, **kwargs):
        self._stepped = True
        of_all = Optimizer._hooks_of_all
        if self._hooks is None and not of_all["step_pre"] and not of_all["step_post"]:
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in [*of_all["step_pre"].values(), *self._hooks_to_run("step_pre")]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{type(self).__name__}.step: a pre hook must return None or a tuple of "
                        f"(new_args, new_kwargs), but got {changed}.")
                args, kwargs = changed
        result = step(*args, **kwargs)
        for hook in [*self._hooks_to_run("step_post"), *of_all["step_post"].values()]:
            hook(self, args, kwargs)
        return result
    return run


def register_optimizer_step_pre_hook(hook):
    """Call `hook(optimizer, args, kwargs)` before each step of any optimizer, and before that
    one's own hooks; `args` are the optimizer and what `step` is given. It may return new (args,
    kwargs).

    >>> import whet
    >>> from whet.optim.optimizer import register_optimizer_step_pre_hook
    >>> optimizer = whet.optim.SGD([whet.ones(1, requires_grad=True)], lr=0.1)
    >>> with register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print("a step")):
    ...     optimizer.step()
    a step
    """
    return Optimizer._hooks_of_all["step_pre"].add(hook)


def register_optimizer_step_post_hook(hook):
    """Call `hook(optimizer, args, kwargs)` after each step of any optimizer, and after that one's
    own hooks."""
    return Optimizer._hooks_of_all["step_post"].add(hook)


class ByParameter(Optimizer):
    """An optimizer that updates one parameter at a time: a subclass gives `_update(group, p)`."""

    def step(self, closure=None):
        """One update of all parameters that have a gradient."""
        loss = reevaluate(closure)
        with whet.no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        self._update(group, p)
        return loss

    def _update(self, group, p):
        """One step of one parameter; nothing is recorded."""
        raise NotImplementedError


def reevaluate(closure):
    """The loss of a closure, computed with gradients on; None without a closure."""
    if closure is None:
        return None
    with whet.enable_grad():
        return closure()


def check(condition, name, value):
    """Raise as every optimizer does for an option out of range."""
    if not condition:
        raise ValueError(f"Invalid {name}: {value}")


def check_bound(condition, bound, value):
    """Raise for an option that is not what it should be, as `bound` says."""
    if not condition:
        raise ValueError(f"{bound}: {value}")


def check_rate(lr, bound="Invalid learning rate"):
    """Raise unless it is a number, or a tensor of one, and not below zero."""
    if isinstance(lr, str | bytes):
        raise TypeError(f"learning rate must be a number, not {type(lr).__name__}: {lr!r}")
    if whet.is_tensor(lr) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_bound(float(lr) >= 0, bound, lr)


def _without_names(params, group):
    """The parameters alone; names that come with them go into the group."""
    named = [isinstance(p, tuple) for p in params]
    if any(named) and not all(named):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing")
    if any(named):
        group["param_names"] = [name for name, _ in params]
        params = [p for _, p in params]
    return params
