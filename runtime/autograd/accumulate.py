"""The end of a gradient's way: a leaf's `.grad`."""
from .hooks import Hooks


class LeafHooks:
    """Hooks of the step that accumulates a leaf's gradient."""
    __slots__ = ("pre_hooks", "post_hooks")

    def __init__(self):
        self.pre_hooks, self.post_hooks = Hooks(), Hooks()


class AccumulateGrad:
    """Stands for a leaf in `next_functions`; two of the same leaf are equal."""
    __slots__ = ("variable",)

    def __init__(self, variable):
        self.variable = variable

    def name(self):
        return "whet::autograd::AccumulateGrad"

    @property
    def next_functions(self):
        return ()

    def _hooks(self):
        extra = self.variable._extra
        if extra is None:
            extra = self.variable._extra = {}
        return extra.setdefault("node", LeafHooks())

    def register_hook(self, fn):
        """Call `fn((), grad_outputs)` after the leaf's gradient was accumulated."""
        return self._hooks().post_hooks.add(fn)

    def register_prehook(self, fn):
        """Call `fn(grad_outputs)` before the leaf's gradient is accumulated; what it returns
        replaces grad_outputs."""
        def hook(g):
            r = fn((g,))
            return r[0] if isinstance(r, tuple) else r
        return self._hooks().pre_hooks.add(hook)

    def __eq__(self, other):
        return type(other) is AccumulateGrad and other.variable is self.variable

    def __hash__(self):
        return id(self.variable)

    def __repr__(self):
        return f"<AccumulateGrad object at {id(self.variable):#x}>"


def clear_gradients(leaves, set_to_none):
    """Drop the gradients of leaves, without a look at them, or write zeros over them."""
    for leaf in leaves:
        if set_to_none:
            leaf.grad = None
        elif leaf.grad is not None:
            if leaf.grad.grad_fn is not None:
                leaf.grad.detach_()
            else:
                leaf.grad.requires_grad_(False)
            leaf.grad.zero_()
