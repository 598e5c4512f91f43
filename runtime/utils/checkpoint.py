"""Trade time for memory: keep only a block's inputs, and run it again when its gradient is
needed."""
import contextlib

from ..amp import autocast
from ..autograd import modes, node
from ..autograd.levels import Level
from ..ops.registry import Stopped as _Stopped
from ..random import default_generator
from .selective_checkpoint import (  # noqa: F401
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)

_stops_early = True


class CheckpointError(RuntimeError):
    """A checkpointed function did not do the same when it was run again."""


def noop_context_fn():
    """What `context_fn` gives where none is given: nothing is in effect in either run.

    >>> from whet.utils.checkpoint import noop_context_fn
    >>> len(noop_context_fn())
    2
    """
    return contextlib.nullcontext(), contextlib.nullcontext()


class _Again(_Stopped):
    """Raised inside the second run once everything wanted has been saved."""


class _Block:
    """One checkpointed call: what was saved, by number, and how to get it back."""

    def __init__(self, fn, args, kwargs, preserve, again, compares):
        self.fn, self.args, self.kwargs, self.again = fn, args, kwargs, again
        self.versions = self.versions_now()
        self.rng = default_generator.get_state() if preserve else None
        self.count, self.values = 0, {}
        self.kinds, self.compares = [], compares
        self.stops_early = modes.read(lambda: _stops_early)
        self.autocast, self.autocast_for = modes.state.autocast, modes.state.autocast_for
        self.levels = _levels()

    def pack(self, x):
        self.count += 1
        self.kinds.append(_kind(x))
        return self.count - 1

    def unpack(self, number):
        if number not in self.values:
            self.run()
        return self.values.pop(number)

    def versions_now(self):
        """How often each tensor among the arguments was written to."""
        return [(x, x._version) for x in (*self.args, *self.kwargs.values())
                if hasattr(x, "_array")]

    def check_versions(self):
        """Raise where an argument was written to: a second run would do something else."""
        for (x, then), (_, now) in zip(self.versions, self.versions_now()):
            if now != then:
                raise RuntimeError(
                    f"{node.CHANGED}: [{x.dtype} {list(x.shape)}], an argument of what is "
                    f"checkpointed, is at version {now}; expected version {then} instead")

    def run(self):
        self.check_versions()
        got = self.saved_where_it_was()
        if any(x._version != version for x, version in got):
            # the block writes to what it saved: a run that copies keeps what it was
            got = self.saved_where_it_was(copies=True)
        self.values = {i: x for i, (x, _) in enumerate(got)}

    def saved_where_it_was(self, copies=False):
        """What is saved beneath the transforms that the backward alone is in, such as a `vmap` of
        several backwards: they know nothing of the block."""
        for level in _levels():
            if level not in self.levels:
                return level.beneath(self.saved_again, copies)
        return self.saved_again(copies)

    def saved_again(self, copies=False):
        """What the block saves, each with its version then; or copies of it."""
        now = default_generator.get_state()
        if self.rng is not None:
            default_generator.set_state(self.rng)
        got = []

        def keep(x):
            kept = x.clone() if copies else x
            got.append((kept, kept._version))
            if len(got) == self.count and self.stops_early:
                raise _Again
            return x
        try:
            with modes.enable_grad():
                args = [a._without_history().requires_grad_(a.requires_grad)
                        if hasattr(a, "_array") else a for a in self.args]
                with (modes.saved_tensors_hooks(keep, lambda x: x),
                      autocast(self.autocast_for, self.autocast, bool(self.autocast)), self.again):
                    self.fn(*args, **self.kwargs)
        except _Again:
            pass
        finally:
            default_generator.set_state(now)
        if len(got) != self.count:
            raise CheckpointError(
                f"checkpoint: the function saved {self.count} tensors in the forward but "
                f"{len(got)} when it was run again: it must do the same both times")
        again = [_kind(x) for x, _ in got]
        if self.compares and again != self.kinds:
            at = next(i for i, (a, b) in enumerate(zip(self.kinds, again)) if a != b)
            raise CheckpointError(
                "checkpoint: Recomputed values have different metadata than during the forward "
                f"pass: the function saved {_kind_in_words(self.kinds[at])} as tensor {at}, and "
                f"{_kind_in_words(again[at])} when it was run again")
        return got


def _levels():
    """The function transforms that are in effect, outermost first."""
    return [o for o in modes.state.observers if isinstance(o, Level)]


def _kind(x):
    return tuple(x.shape), x.dtype, x.device


def _kind_in_words(kind):
    shape, dtype, device = kind
    return f"{dtype} {list(shape)} on {device}"


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """May the second run of what is checkpointed inside end with the last tensor that it saves? It
    may, unless this says otherwise.

    >>> import whet
    >>> from whet.utils.checkpoint import checkpoint, set_checkpoint_early_stop
    >>> def block(x):
    ...     y = x.sin()
    ...     print("end")
    ...     return y
    >>> with set_checkpoint_early_stop(False):
    ...     y = checkpoint(block, whet.ones(2, requires_grad=True))
    end
    >>> y.sum().backward()
    end
    """
    global _stops_early
    before, _stops_early = _stops_early, bool(enable)
    try:
        yield
    finally:
        _stops_early = before


def detach_variable(inputs):
    """The same values, tensors among them without their history. They require gradients where
    they did.

    >>> import whet
    >>> from whet.utils.checkpoint import detach_variable
    >>> x = whet.ones(2, requires_grad=True) * 2
    >>> detach_variable((x, 3))
    (tensor([2., 2.], requires_grad=True), 3)
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError("Only tuple of tensors is supported. Got Unsupported input type: ",
                           type(inputs).__name__)
    return tuple([x.detach().requires_grad_(x.requires_grad) if hasattr(x, "_array") else x
                  for x in inputs])


def check_backward_validity(inputs):
    """Warn where no tensor among the inputs requires a gradient.

    >>> import whet
    >>> whet.utils.checkpoint.check_backward_validity([whet.ones(1, requires_grad=True)])
    """
    if not any(x.requires_grad for x in inputs if hasattr(x, "_array")):
        modes.warn("None of the inputs have requires_grad=True. Gradients will be None")


def get_device_states(*args):
    """(numbers of the devices that tensors among the arguments lie on, states of their
    generators): there are none, as one generator draws for all devices (`get_rng_state`).

    >>> import whet
    >>> whet.utils.checkpoint.get_device_states(whet.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Let the generators of devices go on from such states."""
    if len(devices) or len(states):
        raise ValueError("set_device_states: devices have no generators of their own")


def checkpoint(function, *args, use_reentrant=None, context_fn=None, determinism_check="default",
               debug=False, preserve_rng_state=True, **kwargs):
    """function(*args), keeping no intermediate results; they are computed again in the backward.
    `context_fn()` gives two contexts: the first run is made in one, the second in the other (see
    `create_selective_checkpoint_contexts`). It is an error if the second run saves tensors of other
    shapes or types (unless `determinism_check` is "none").

    >>> import whet
    >>> from whet.utils.checkpoint import checkpoint
    >>> x = whet.ones(3, requires_grad=True)
    >>> checkpoint(lambda x: x.exp().sin(), x).sum().backward()
    """
    if not modes.state.flags & modes.GRAD:
        return function(*args, **kwargs)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            "determinism_check should be one of ['default', 'none'], but got "
            f"{determinism_check!r}")
    first, again = (context_fn or noop_context_fn)()
    compares = determinism_check == "default"
    block = _Block(function, args, kwargs, preserve_rng_state, again, compares)
    with modes.saved_tensors_hooks(block.pack, block.unpack), first:
        return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Run a sequence of functions in `segments` checkpointed parts.

    >>> import whet
    >>> model = whet.nn.Sequential(whet.nn.Linear(2, 2), whet.nn.ReLU(), whet.nn.Linear(2, 1))
    >>> x = whet.ones(3, 2, requires_grad=True)
    >>> y = whet.utils.checkpoint.checkpoint_sequential(model, 2, x, use_reentrant=False)
    >>> whet.equal(y, model(x))
    True
    """
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments

    def part(lo, hi):
        def run(x):
            for f in functions[lo:hi]:
                x = f(x)
            return x
        return run
    at = 0
    for _ in range(segments - 1):
        input = checkpoint(part(at, at + size), input, **kwargs)
        at += size
    return part(at, len(functions))(input)
