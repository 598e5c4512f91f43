"""Observers beneath all transforms, who see what is computed and let it pass."""
from .. import devices
from ..autograd import modes
from . import control_flow, registry
from .changes_in_place import in_place
from .observer import Observer

state = modes.state


class Passing(Observer):
    """Sees each op that is computed on the thread while it is entered, those of transforms after
    these have made them of a user's. Several of them see an op one after the other, the one that
    was entered last first. A traced function runs eagerly inside."""

    def __enter__(self):
        observers = state.observers
        at = sum([isinstance(o, Passing) for o in observers])
        state.observers = (*observers[:at], self, *observers[at:])
        modes.refresh()
        return self

    def __exit__(self, *exc):
        state.observers = tuple([o for o in state.observers if o is not self])
        modes.refresh()

    def beneath(self, run, *args):
        """Call a function with those alone who were entered before this one."""
        observers = state.observers
        state.observers = observers[:observers.index(self)]
        try:
            return run(*args)
        finally:
            state.observers = observers

    @staticmethod
    def is_recorded():
        """Is what runs now recorded, so that no other mode may take part?"""
        return any([o.records and not isinstance(o, Passing) for o in state.observers])

    # ---- what passes -----------------------------------------------------------------------------
    def __call__(self, op, inputs, attrs):
        return self.beneath(_run, op, inputs, attrs)

    def inplace(self, op, t, args, attrs):
        """A write in place."""
        return self.beneath(in_place, op, t, args, attrs)

    def draw(self, generator, op, shape):
        """Random numbers."""
        return self.beneath(drawn, generator, op, shape)

    def cond(self, pred, true_fn, false_fn, operands):
        """A choice: what is called is seen."""
        return (true_fn if pred else false_fn)(*operands)

    def while_loop(self, cond_fn, body_fn, carried):
        """Rounds: what is called is seen."""
        return control_flow.rounds(cond_fn, body_fn, carried)

    def custom(self, op, function, args, kwargs):
        """An operator of a user's (`library.custom_op`), beneath gradients."""
        return self.beneath(call_custom, op, function, args, kwargs)

    def ask(self, question, tensors):
        return question(*[devices.on_host(t._array) for t in tensors])


def _run(op, inputs, attrs):
    return state.observers[-1](op, inputs, attrs) if state.observers else registry.execute(
        op, inputs, attrs)


def drawn(generator, op, shape):
    """Random numbers, seen by those who are entered."""
    return state.observers[-1].draw(generator, op, shape) if state.observers else op.next(
        generator, shape)


def call_custom(op, function, args, kwargs):
    """Call a function of an operator of a user's, which those who are entered see as one op."""
    entered = [o for o in state.observers if isinstance(o, Passing)]
    return (entered[-1].custom(op, function, args, kwargs) if entered
            else function(*args, **kwargs))
