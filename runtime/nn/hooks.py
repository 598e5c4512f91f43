"""Hooks of modules: where they are kept, and how those of the backward pass see its gradients."""
import functools
import warnings

import whet

from ..autograd import Function
from ..tensor import Tensor
from ..utils.hooks import Hooks


class ModuleHooks:
    """All hooks of one module; made when the first is registered or asked for, so that a call
    without hooks checks one word."""
    __slots__ = ("forward_pre", "forward", "backward_pre", "backward", "forward_pre_with_kwargs",
                 "forward_with_kwargs", "forward_always_called", "state_dict_pre", "state_dict",
                 "state_dict_in_place", "load_pre", "load_pre_with_module", "load_post",
                 "parameter", "buffer", "module")

    def __init__(self):
        for name in self.__slots__:
            setattr(self, name, Hooks())

    def __bool__(self):
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


for_all = ModuleHooks()             # those registered for every module
none = ModuleHooks()                # those of a module that has none: never changed


def registered(kind, module, name, value):
    """What becomes of a parameter, buffer or submodule that a module gets."""
    for hook in list(getattr(for_all, kind).values()):
        changed = hook(module, name, value)
        if changed is not None:
            value = changed
    return value


def register(lists, kind, hook, prepend=False, with_kwargs=False, always=False,
             in_place=False, with_module=False):
    """Add a hook to one of the lists, with what else is to be known of it; returns its handle."""
    also = []
    if with_kwargs:
        also.append(getattr(lists, f"{kind}_with_kwargs"))
    if always:
        also.append(getattr(lists, f"{kind}_always_called"))
    if in_place:
        also.append(getattr(lists, f"{kind}_in_place"))
    if with_module:
        also.append(getattr(lists, f"{kind}_with_module"))
    handle = getattr(lists, kind).add(hook, *also, prepend=prepend)
    for facts in also:
        facts[handle.id] = True
    return handle


def _list(kind):
    """The attribute of a module by which PyTorch's libraries find its hooks of a kind."""
    def get(module):
        return getattr(module._hook_lists(), kind)

    def put(module, hooks):
        setattr(module._hook_lists(), kind, hooks if type(hooks) is Hooks else Hooks(hooks))
    return property(get, put)


class Hooked:
    """The part of Module that registers hooks and shows them: each attribute is the dict, by
    handle id, that calls go through."""
    _is_full_backward_hook = None       # whether those of the backward pass are full ones
    _forward_pre_hooks = _list("forward_pre")
    _forward_hooks = _list("forward")
    _backward_pre_hooks = _list("backward_pre")
    _backward_hooks = _list("backward")
    _forward_pre_hooks_with_kwargs = _list("forward_pre_with_kwargs")
    _forward_hooks_with_kwargs = _list("forward_with_kwargs")
    _forward_hooks_always_called = _list("forward_always_called")
    _state_dict_pre_hooks = _list("state_dict_pre")
    _state_dict_hooks = _list("state_dict")
    _load_state_dict_pre_hooks = _list("load_pre")
    _load_state_dict_post_hooks = _list("load_post")

    def _hook_lists(self):
        if not isinstance(self.__dict__.get("_hooks"), ModuleHooks):
            self.__dict__["_hooks"] = ModuleHooks()
        return self.__dict__["_hooks"]

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before every `forward`; it may return new arguments."""
        return register(self._hook_lists(), "forward_pre", hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output)` after every `forward`; it may return a new output."""
        return register(self._hook_lists(), "forward", hook, prepend, with_kwargs, always_call)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` before the module's gradients are computed; it may
        return new ones."""
        return register(self._hook_lists(), "backward_pre", hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known;
        it may return new ones."""
        self._agree_on_backward_hooks(full=True)
        return register(self._hook_lists(), "backward", hook, prepend)

    def register_backward_hook(self, hook):
        """Call `hook(module, grad_input, grad_output)` with the gradients of the last operation of
        the module, as programs did before there was `register_full_backward_hook`."""
        self._agree_on_backward_hooks(full=False)
        return register(self._hook_lists(), "backward", hook)

    def _agree_on_backward_hooks(self, full):
        if self._is_full_backward_hook not in (None, full):
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on "
                               "a single Module. Please use only one of them.")
        self._is_full_backward_hook = full

    def register_state_dict_pre_hook(self, hook):
        """Call `hook(module, prefix, keep_vars)` before `state_dict` is filled."""
        return register(self._hook_lists(), "state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata)` after `state_dict` is filled
        (changes it in place)."""
        return register(self._hook_lists(), "state_dict", hook, in_place=True)

    def _register_state_dict_hook(self, hook):
        return register(self._hook_lists(), "state_dict", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Call `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` first."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return register(self._hook_lists(), "load_pre", hook, with_module=with_module)

    def register_load_state_dict_post_hook(self, hook):
        """Call `hook(module, incompatible_keys)` after a state dict was loaded into the module; it
        may change the lists."""
        return register(self._hook_lists(), "load_post", hook)


def of_backward(module, mine):
    """What a call's backward hooks become: those for the node of its result, and the full ones
    (None where there are none)."""
    after, of_nodes = list(mine.backward.values()), []
    if module._is_full_backward_hook is False:
        after, of_nodes = of_nodes, after
    before = [*for_all.backward_pre.values(), *mine.backward_pre.values()]
    after = [*for_all.backward.values(), *after]
    return of_nodes, BackwardHooks(module, before, after) if before or after else None


def register_at_node(module, after, result):
    """Let hooks see the gradients of the operation that made a result, or the first of many."""
    while not isinstance(result, Tensor):
        if isinstance(result, dict):
            result = next((v for v in result.values() if isinstance(v, Tensor)), None)
        elif isinstance(result, tuple | list) and result:
            result = result[0]
        else:
            return
    if result.grad_fn is not None:
        for hook in after:
            result.grad_fn.register_hook(functools.partial(hook, module))


class _Tap(Function):
    """The identity, which shows the gradients of all its results to a function, and passes on
    what that returns."""
    _called = "full backward hooks of a module"

    @staticmethod
    def forward(ctx, see, *tensors):
        ctx.see = see
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.see(grads)


class BackwardHooks:
    """The full backward hooks of one call, which see the gradients of its results and of its
    inputs."""

    def __init__(self, module, before, after):
        self.module, self.before, self.after = module, before, after
        self.grad_output, self.places, self.n_inputs = None, None, 0

    def _tap(self, values, see):
        """Send the tensors among `values` that need a gradient through a _Tap; also their
        positions (None if there are none)."""
        places = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.requires_grad]
        if not places or not whet.is_grad_enabled():
            return values, None
        values = list(values)
        for i, t in zip(places, _Tap.apply(see, *(values[i] for i in places))):
            values[i] = t
        return tuple(values), places

    def inputs(self, args):
        self.n_inputs = len(args)
        args, self.places = self._tap(args, self._on_grad_input)
        return args

    def outputs(self, result):
        single = not isinstance(result, tuple | list)
        values = (result,) if single else tuple(result)
        if not all(isinstance(v, Tensor) or v is None for v in values) and single:
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of "
                f"Tensors but received {type(result)}", stacklevel=2)
            return result
        n = len(values)

        def on_grad_output(grads, n=n):
            full = [None] * n
            for i, g in zip(places, grads):
                full[i] = g
            full = tuple(full)
            for hook in self.before:
                changed = hook(self.module, full)
                if changed is not None:
                    full = changed if isinstance(changed, tuple) else (changed,)
                    if len(full) != n:
                        raise RuntimeError(
                            "Backward pre hook returned an invalid number of grad_output, got "
                            f"{len(full)}, but expected {n}")
            if self.places is not None:
                self.grad_output = full
            else:                       # no input needs a gradient: there is no other moment
                for hook in self.after:
                    changed = hook(self.module, (None,) * self.n_inputs, full)
                    if changed is not None and not (
                            isinstance(changed, tuple) and all(g is None for g in changed)):
                        raise RuntimeError(
                            "Backward hook for Modules where no input requires gradient should "
                            "always return None or None for all gradients.")
            return [full[i] for i in places]

        values, places = self._tap(values, on_grad_output)
        if single:
            return values[0]
        return type(result)(*values) if hasattr(result, "_fields") else type(result)(values)

    def _on_grad_input(self, grads):
        full = [None] * self.n_inputs
        for i, g in zip(self.places, grads):
            full[i] = g
        full = tuple(full)
        # a result of the module keeps this alive, but has no use for its gradients
        grad_output, self.grad_output = self.grad_output, None
        # gradients that came past the results (a second backward, a tensor that the module keeps)
        # are none of the hooks' business
        for hook in self.after if grad_output is not None else ():
            changed = hook(self.module, full, grad_output)
            if changed is not None:
                full = changed if isinstance(changed, tuple) else (changed,)
                if len(full) != self.n_inputs:
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(full)}, "
                        f"but expected {self.n_inputs}")
        return [full[i] for i in self.places]
