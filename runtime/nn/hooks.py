"""Hooks of modules: where they are kept, and how those of the backward pass see its gradients."""
import whet

from ..autograd import Function
from ..tensor import Tensor
from ..utils.hooks import Hooks


class ModuleHooks:
    """All hooks of one module; made when the first is registered, so that a call without hooks
    checks one word."""
    __slots__ = ("forward_pre", "forward", "backward_pre", "backward", "with_kwargs", "always",
                 "state_dict_pre", "state_dict", "load_pre", "load_post")

    def __init__(self):
        for name in self.__slots__:
            setattr(self, name, Hooks())

    def __bool__(self):
        return bool(self.forward_pre or self.forward or self.backward_pre or self.backward)


for_all = ModuleHooks()             # those registered for every module
none = ModuleHooks()                # those of a module that has none: never changed


def register(lists, kind, hook, prepend=False, with_kwargs=False, always=False):
    """Add a hook to one of the lists, with what else is to be known of it; returns its handle."""
    also = []
    if with_kwargs:
        also.append(lists.with_kwargs)
    if always:
        also.append(lists.always)
    handle = getattr(lists, kind).add(hook, *also, prepend=prepend)
    for facts in also:
        facts[handle.id] = True
    return handle


class _Tap(Function):
    """The identity, which shows the gradients of all its results to a function, and passes on
    what that returns."""

    @staticmethod
    def forward(ctx, see, *tensors):
        ctx.see = see
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in tensors)

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.see(grads)


class BackwardHooks:
    """The full backward hooks of one call: the gradients are looked at where they enter the
    module and where they leave it."""

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
            # a dict or another structure: torch, too, leaves it alone
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
            self.grad_output = full
            # no input needs a gradient: this is the only moment there is
            if self.places is None:
                for hook in self.after:
                    if hook(self.module, (None,) * self.n_inputs, full) is not None:
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
        for hook in self.after:
            changed = hook(self.module, full, self.grad_output)
            if changed is not None:
                full = changed if isinstance(changed, tuple) else (changed,)
                if len(full) != self.n_inputs:
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(full)}, "
                        f"but expected {self.n_inputs}")
        return [full[i] for i in self.places]
