"""Levels: how a function transform sees every op that runs inside of it.

A call of `vmap`, or of forward mode, is a *level*: an observer on the stack of
`modes.state.observers`. Its tensors stand for values of the layer beneath, which are tensors of an
outer level or plain ones. An op on them comes to the innermost level. That computes the result with
ops of the layer beneath, which come to the next level in turn, and at last to a recorder, if
there is one.

Each layer has a history of its own. The nodes of a level's tensors hold tensors of that level, so a
backward inside of it is batched (or carries tangents) like any other code; the values beneath have
nodes in their layer at the same time, for who differentiates outside.
"""
from .. import function_protocol
from ..ops import changes_in_place, pointwise_family, registry
from ..ops.observer import Observer
from ..ops.random import draw_op
from ..tensor import Tensor
from . import inplace as ip
from . import modes

state, GRAD, INFERENCE, SPECIAL = modes.state, modes.GRAD, modes.INFERENCE, modes.SPECIAL


class LevelTensor(Tensor):
    """A tensor inside of a level. What it says of itself (shape, type, strides) is that of one
    tensor of the function that is transformed."""
    __slots__ = ("level", "value")
    _stands_for_another = True
    __torch_function__ = staticmethod(function_protocol.disabled)

    @property
    def _array(self):
        if self.level not in state.observers:
            raise RuntimeError(self.level.escaped)
        return self._representative()

    @_array.setter
    def _array(self, array):
        raise RuntimeError(
            f"{self.level.name}: the memory of a tensor inside of it cannot be replaced")

    def _bare(self):
        t = self.level.twin(self)
        t._cell = self._shared()
        return t

    _without_history = _bare

    @property
    def data(self):
        """The same memory without history."""
        return self.detach()

    def _as(self, cls):
        raise RuntimeError(
            f"{self.level.name}: a tensor inside of it cannot become a {cls.__name__}")

    def __repr__(self, **_):
        return f"{type(self).__name__}({self.value!r})"

    def __reduce_ex__(self, protocol):
        raise RuntimeError(
            f"{self.level.name}: a tensor inside of it cannot be saved or copied with Python's "
            "means")

    def __deepcopy__(self, memo):
        return self.clone()


class NeedsNumbers(RuntimeError):
    """Python asks for numbers that a transform does not have."""


class Level(Observer):
    """The observer of one call of a transform, as long as that runs."""
    name = "transform"
    records = False

    def __init__(self):
        self.flags, self.hooks = 0, ()
        # does a backward run here that records nothing, though the layer beneath may?
        self.quiet = False

    def __enter__(self):
        self.flags, self.hooks = state.flags, state.saved_hooks
        # hooks are those of the layer that they were set in: what a level saves does not outlive it
        state.saved_hooks = ()
        state.observers += (self,)
        modes.refresh()
        return self

    def __exit__(self, *exc):
        state.observers, state.saved_hooks = (tuple([o for o in state.observers if o is not self]),
                                              self.hooks)
        modes.refresh()

    @property
    def escaped(self):
        return (
            f"a tensor that was made inside of a {self.name} is used outside of it: return it "
            "from the function that is transformed, instead of storing it elsewhere")

    # ---- what a level defines ----
    def tensor(self, value):
        """A new tensor of this level for `value`, without a history."""
        raise NotImplementedError

    def twin(self, t):
        """A new tensor of this level for the same value as `t`, without t's history at this
        level."""
        raise NotImplementedError

    def compute(self, op, inputs, attrs):
        """The op's result (or a tuple of results) as tensors of this level. Some inputs are of
        this level."""
        raise NotImplementedError

    def write(self, op, t, args, attrs):
        """Put the result of the op into the memory of `t`, a tensor of this level."""
        raise NotImplementedError

    # ---- the layer beneath ----
    def beneath(self, f, *args):
        """f(*args), run in the layer beneath."""
        observers, flags, hooks = state.observers, state.flags, state.saved_hooks
        at = observers.index(self)
        state.observers, state.saved_hooks = observers[:at], self.hooks
        below = self.flags if flags & GRAD or self.quiet else self.flags & ~GRAD
        special = at or self.hooks or state.anomaly
        modes.set_flags(below & ~SPECIAL | flags & INFERENCE | (SPECIAL if special else 0))
        try:
            return f(*args)
        finally:
            # whoever beneath stopped observing stays away
            state.observers += observers[at:]
            state.saved_hooks = hooks
            modes.set_flags(flags)

    def owns(self, x):
        """Is it a tensor of this level?"""
        return isinstance(x, LevelTensor) and x.level is self

    def below(self):
        """The observer of the layer beneath, or None."""
        at = state.observers.index(self)
        return state.observers[at - 1] if at else None

    # ---- ops ----
    def __call__(self, op, inputs, attrs):
        for x in inputs:
            if isinstance(x, LevelTensor) and x.level is self:
                break
        else:
            return self.beneath(registry.apply, op, inputs, attrs)
        outs = self.compute(op, inputs, attrs)
        self.finish(op, inputs, attrs, outs)
        return outs

    def finish(self, op, inputs, attrs, outs):
        """Mark views, and record the op in this level's history."""
        flags = state.flags
        if op.is_view:
            registry.share(op, inputs[0], outs, flags)
        if flags & GRAD and op.differentiable and not flags & INFERENCE:
            edges = self.edges(inputs)
            if any([e is not None for e in edges]):
                registry.record(op, inputs, attrs, outs, edges)

    def edges(self, inputs):
        """What gradients flow to within this level. Tensors of outer layers have a history
        elsewhere."""
        return tuple([
            registry.edge_of(x) if self.owns(x) and x.requires_grad else None for x in inputs])

    def inplace(self, op, t, args, attrs):
        """An op that writes to `t`."""
        if not self.owns(t):
            if any(self.owns(x) for x in args):
                raise RuntimeError(
                    f"{self.name}: {op.name}_ writes a tensor of the {self.name} into one from "
                    "outside of it. Make the tensor that is written to from one inside "
                    "(x.new_zeros, zeros_like), or use the op that is not in place.")
            return self.beneath(changes_in_place.in_place, op, t, args, attrs)
        if op.name == "resize":
            raise RuntimeError(f"{self.name}: a tensor inside of it cannot be resized in place")
        if op.is_view:
            return self.reshape(op, t, attrs)
        return pointwise_family.inplace_now(op, t, args, attrs, ip, self)

    def computed_for(self, op, t, args, attrs):
        """The result of an op that is about to be written to `t`. What the layers beneath save
        of it must outlive the write."""
        before = t._bare().clone()
        result = self.compute(op, tuple([before if x is t else x for x in (t, *args)]), attrs)
        pointwise_family.check_fits(result._array, t, op.name + "_")
        return result

    def reshape(self, op, t, attrs):
        """A view of `t` takes its place: the same tensor object shows its memory in another
        shape."""
        history = state.flags & GRAD and t.requires_grad
        r = self(op, (t,), attrs)
        if history and t._base is None and t._node is None:
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation "
                f"({op.name}_).")
        self.replace(t, r)
        if history:
            t._node = r._node
        t._bump(op.name + "_")
        return t

    def replace(self, t, r):
        """Make `t` a tensor of the value of `r`."""
        t.value = r.value

    # ---- what Python asks ----
    def item(self, t):
        return self.beneath(t.value.item) if self.owns(t) else self.beneath(t.item)

    def concretize(self, t):
        if self.owns(t):
            self.refuse_numbers(t)
        elif self.below() is not None:
            self.beneath(_concretize, t)

    def exposed(self, t):
        if self.owns(t):
            raise NeedsNumbers(
                f"{self.name}: .numpy() of a tensor inside of it would show what the {self.name} "
                "cannot follow: use whet's ops")
        if self.below() is not None:
            self.beneath(_exposed, t)

    def refuse_numbers(self, t):
        """Raise where the numbers of `t` are no facts of the layer beneath."""

    def shown(self, t):
        below = self.below()
        if below is not None and not self.owns(t):
            self.beneath(below.shown, t)

    def array_is_shared(self, t):
        below = self.below()
        if below is not None:
            below.array_is_shared(t)

    def without_history(self, t):
        below = self.below()
        if below is not None:
            below.without_history(t)

    def asked(self, t, what):
        below = self.below()
        return None if below is None or self.owns(t) else self.beneath(below.asked, t, what)

    def read(self, setting):
        if self.below() is not None:
            self.beneath(modes.read, setting)

    def goes_by(self, holder):
        if self.below() is not None:
            self.beneath(modes.goes_by, holder)

    def warns(self, message, category, stacklevel):
        below = self.below()
        return below is not None and below.warns(message, category, stacklevel + 1)

    def positioned(self, generator, event):
        below = self.below()
        return True if below is None else self.beneath(below.positioned, generator, event)

    def refuse(self, reason):
        if self.below() is not None:
            self.below().refuse(reason)

    def failed(self, error):
        if self.below() is not None:
            self.below().failed(error)

    def draw(self, generator, op, shape):
        """Random numbers."""
        return self.beneath(draw_op, generator, op, shape)

    def beside(self, source, made):
        """A new tensor made in the likeness of `source`."""
        return made

    def cond(self, pred, true_fn, false_fn, operands):
        """The branch that the predicate says, of which a recording has one for each way; both,
        where it says another for each example."""
        if not self.differs(pred):
            return (true_fn if pred else false_fn)(*operands)
        from ..func.trees import like, tensors
        pred = pred.reshape(()) != 0
        yes, no = true_fn(*operands), false_fn(*operands)
        return like(yes,
                    [_chosen(pred, a, b) for a, b in zip(tensors(yes), tensors(no), strict=True)])

    def while_loop(self, cond_fn, body_fn, carried):
        """Rounds for all examples, as long as there is one that goes on."""
        from ..ops.control_flow import rounds_apart

        def goes_on(*carried):
            answer = cond_fn(*carried)
            return answer if registry.is_tensor(answer) and self.differs(answer) else bool(answer)
        return rounds_apart(self.any_of, _chosen, goes_on, body_fn, carried)

    def differs(self, t):
        """Is it another number for each example of a batch, at this level or at one beneath?"""
        return self.beneath(_differs, t.value if self.owns(t) else t)

    def any_of(self, t):
        """Is it true for any example?"""
        return (bool(t)
                if isinstance(t, bool) else self.beneath(_any_of, t.value if self.owns(t) else t))

    def function(self, cls, args, kwargs):
        """A call of an `autograd.Function`."""
        raise NotImplementedError

    # ---- differentiating inside ----
    def variable(self, t):
        """A tensor of this level for `t`, to be differentiated by: a leaf, or a function of `t`
        where that has a history at this level."""
        if not self.owns(t):
            return self.tensor(t).requires_grad_()
        return t.view_as(t) if t.requires_grad else t._bare().requires_grad_()


def _concretize(t):
    state.observers[-1].concretize(t)


def _exposed(t):
    if state.observers[-1].exposed(t) is not None:
        state.observers[-1].refuse("NumPy is handed the memory of a tensor inside of a transform")


def _differs(t):
    level = innermost()
    return level is not None and level.differs(t)


def _any_of(t):
    level = innermost()
    return bool(t) if level is None else level.any_of(t)


def _chosen(pred, a, b):
    """`a` for the examples where `pred` is true, else `b`."""
    from ..ops.surface import FUNCTIONS
    if isinstance(pred, bool):
        return a if pred else b
    return FUNCTIONS["where"](pred.reshape(()), a, b)


def innermost():
    """The innermost level that is active; None if there is none."""
    return (state.observers[-1]
            if state.observers and isinstance(state.observers[-1], Level) else None)


def variable(t):
    """A tensor for `t` to be differentiated by, in the innermost level."""
    level = innermost()
    if level is not None:
        return level.variable(t)
    return t.view_as(t) if t.requires_grad else t.detach().requires_grad_()
