"""What of a checkpointed block is kept all the same: results of ops that a policy names."""
from enum import Enum

from ..library import CustomOpDef
from ..ops import aten
from ..ops.convert import detach_op
from ..ops.dispatch_observers import Passing
from ..ops.registry import finish
from ..tensor import wrap


class CheckpointPolicy(Enum):
    """What becomes of an op's results. What is preferred here is done.

    >>> import whet
    >>> from whet.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts
    >>> def policy(ctx, op, *args, **kwargs):
    ...     if "mm" in str(op):
    ...         return CheckpointPolicy.MUST_SAVE
    ...     return CheckpointPolicy.PREFER_RECOMPUTE
    >>> len(create_selective_checkpoint_contexts(policy))
    2
    """
    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


SAVED = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE
MISSING = object()


class SelectiveCheckpointContext:
    """What a policy gets to know: `op_output` is the op's result. It is asked in the first run
    alone: `is_recompute` is False."""

    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """The two contexts of a checkpointed call that keeps results of some ops: of those in a list
    (`whet.ops.aten.mm.default`, operators of one's own), or of those for which `policy_fn(ctx, op,
    *args, **kwargs)` gives `CheckpointPolicy.MUST_SAVE`. The arguments are the op's operands, and
    its attributes by name. Views, draws and writes in place are always made again.

    >>> import functools, whet
    >>> from whet.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(
    ...     create_selective_checkpoint_contexts, [whet.ops.aten.mm.default])
    >>> x, w = whet.ones(2, 3, requires_grad=True), whet.ones(3, 4)
    >>> y = checkpoint(lambda x: (x @ w).exp(), x, use_reentrant=False, context_fn=contexts)
    >>> y.sum().backward()                                  # makes `exp` again, not the product

    In a traced function the trace chooses what is kept, and the contexts do nothing.
    """
    policy = policy_fn_or_list
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, aten.OpOverload | CustomOpDef):
                hint = " Please update the OpOverloadPacket to a specific OpOverload." if (
                    isinstance(op, aten.OpOverloadPacket)) else ""
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type "
                    f"{type(op)}.{hint}")

        def policy(ctx, op, *args, **kwargs):
            return op in policy_fn_or_list
    elif not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    first = _Keeping(policy)
    return first, _Recalling(first, allow_cache_entry_mutation)


class _OfTwoRuns(Passing):
    """One of the two contexts. It is not entered where somebody records what runs."""
    is_entered = False

    def may_enter(self):
        """May it take part in the run that begins?"""
        return not self.is_recorded()

    def __enter__(self):
        self.is_entered = self.may_enter()
        return super().__enter__() if self.is_entered else self

    def __exit__(self, *exc):
        if self.is_entered:
            super().__exit__(*exc)


def is_cheap(op):
    """Has an op nothing to keep: is its result the memory of an operand?"""
    return op.is_view or op is detach_op


class _Keeping(_OfTwoRuns):
    """The context of the first run. `kept`: op -> for each call, in order, its results with the
    versions that they had; None where they are made again."""

    def __init__(self, policy):
        self.policy, self.kept = policy, {}

    def __call__(self, op, inputs, attrs):
        outs = super().__call__(op, inputs, attrs)
        if not is_cheap(op):
            calls = self.kept.setdefault(op, [])
            calls.append(self.beneath(self.chosen, op, inputs, attrs, outs))
        return outs

    def custom(self, op, function, args, kwargs):
        outs = super().custom(op, function, args, kwargs)
        self.kept.setdefault(op, []).append(
            self.beneath(self.chosen_of, op, args, kwargs, outs))
        return outs

    def chosen(self, op, inputs, attrs, outs):
        """What is kept of a call of an op."""
        named = aten.packet(aten.name_of(op, inputs, is_backward=False)).default
        return self.chosen_of(named, inputs, attrs, outs)

    def chosen_of(self, named, inputs, attrs, outs):
        """What is kept of what has this name."""
        ctx = SelectiveCheckpointContext(is_recompute=False, op_output=outs)
        answer = self.policy(ctx, named, *inputs, **attrs)
        if answer not in SAVED if isinstance(answer, CheckpointPolicy) else not answer:
            return None
        made = outs if isinstance(outs, tuple | list) else (outs,)
        return [(t._without_history(), t._version) for t in made]


class _Recalling(_OfTwoRuns):
    """The context of the second run, whose results of kept ops are those of the first."""

    def __init__(self, first, may_be_written):
        self.first, self.may_be_written, self.calls = first, may_be_written, {}

    def may_enter(self):
        return self.first.is_entered and super().may_enter()

    def __enter__(self):
        self.calls = {op: iter(calls) for op, calls in self.first.kept.items()}
        return super().__enter__()

    def __call__(self, op, inputs, attrs):
        if is_cheap(op):
            return super().__call__(op, inputs, attrs)
        results = self.next_of(op, f"aten.{aten.name_of(op, inputs, is_backward=False)}")
        if results is None:
            return super().__call__(op, inputs, attrs)
        return self.beneath(self.recalled, op, inputs, attrs, results)

    def custom(self, op, function, args, kwargs):
        results = self.next_of(op, op._qualname)
        if results is None:
            return super().custom(op, function, args, kwargs)
        made = [wrap(array) for array in self.beneath(self.arrays, results)]
        return tuple(made) if len(made) > 1 else made[0]

    def next_of(self, op, name):
        """What was kept of the next call of an op."""
        results = next(self.calls.get(op, iter(())), MISSING)
        if results is MISSING:
            raise RuntimeError(f"{name} encountered during backward but not found in storage: a "
                               "checkpointed function must do the same both times")
        return results

    def recalled(self, op, inputs, attrs, results):
        """The results of a call that were kept, as if it were made now."""
        arrays = self.arrays(results)
        return finish(op, inputs, attrs, tuple(arrays) if len(arrays) > 1 else arrays[0])

    def arrays(self, results):
        """The memory of results that were kept."""
        arrays = []
        for t, version in results:
            if t._version != version:
                if not self.may_be_written:
                    raise RuntimeError(
                        "Tensor cached during selective activation checkpoint has been mutated")
                t = t.clone()
            arrays.append(t._array)
        return arrays
