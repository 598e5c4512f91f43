"""Modes that see each op beneath the functions of the library: `TorchDispatchMode`.

PyTorch has no public form of this, so programs take it from where it is.
"""
from ..autograd import modes
from ..ops import aten, registry
from ..ops.changes_in_place import in_place
from ..ops.dispatch_observers import Passing, call_custom, drawn

__all__ = ["TorchDispatchMode"]


class TorchDispatchMode:
    """A `with` block in which `__torch_dispatch__(func, types, args, kwargs)` says what each op
    gives, those of backwards among them. `func` is the op by PyTorch's name for it
    (`whet.ops.aten.mm.default`) or an operator of one's own, and computes it. `args` are the op's
    operands and `kwargs` its attributes: these are ours, and not always those of PyTorch's schemas.
    The mode does not see what happens in the method. Of several modes the one that was entered last
    comes first.

    >>> import whet
    >>> from whet.utils._python_dispatch import TorchDispatchMode
    >>> class Listing(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **kwargs or {})
    >>> x = whet.ones(2, 2)
    >>> with Listing():
    ...     y = (x @ x).relu_()
    aten.mm.default
    aten.relu_.default

    A traced function runs eagerly inside, and one that enters a mode is not recorded. What the
    method computes has its own gradients. Questions about numbers (`.item()`) are no ops.
    """

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        modes.beyond("it enters a mode that is to see each op")
        entered = vars(self).setdefault("_entered", [])
        entered.append(_Dispatched(self).__enter__())
        return self

    def __exit__(self, *exc):
        vars(self)["_entered"].pop().__exit__(*exc)


class _Dispatched(Passing):
    """Hands each op to a mode."""

    def __init__(self, mode):
        self.mode = mode

    def __call__(self, op, inputs, attrs):
        named = aten.packet(aten.name_of(op, inputs, is_backward=False)).default
        return self.beneath(
            self._hand_over, named, lambda *args, **kwargs: registry.apply(op, args, kwargs),
            inputs, attrs)

    def inplace(self, op, t, args, attrs):
        named = aten.packet(f"{op.name}_").default
        return self.beneath(
            self._hand_over, named, lambda t, *args, **kwargs: in_place(op, t, args, kwargs),
            (t, *args), attrs)

    def draw(self, generator, op, shape):
        named = aten.packet(op.name).default
        return self.beneath(
            self._hand_over, named, lambda shape: drawn(generator, op, shape), (shape,), {})

    def custom(self, op, function, args, kwargs):
        return self.beneath(
            self._hand_over, op, lambda *args, **kwargs: call_custom(op, function, args, kwargs),
            args, kwargs)

    def _hand_over(self, named, run, args, kwargs):
        """What the mode says, for which the op's name stands for `run`."""
        with aten.standing_for(named, run):
            result = self.mode.__torch_dispatch__(named, (), tuple(args), dict(kwargs))
        if result is NotImplemented:
            raise TypeError(f"{type(self.mode).__name__}.__torch_dispatch__ gave NotImplemented "
                            f"for {named}: call it for what it gives by itself")
        return result
