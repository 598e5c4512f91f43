"""What runs a trap: eagerly, then traced, from the same seeds; whatever can be seen of a call is
compared.

A trap makes its state afresh and returns `f`, the function to trace, and `calls(f)`, a generator
that calls it several times (three alike in a row before and after something changes, so that a
compiled program is in use) and yields all that a user could look at. A trap that takes an argument
gets `trace` itself, for methods, nested traces and decorators. Beside the values of a yield, the
harness compares what was printed and warned, the modes, the generators and the environment at that
moment, and at the end every yielded value once more.

    python -m tests.traps                       a table: right or wrong, and what was refused
    python -m tests.traps recorded=given_up     recorded in a way that users seldom meet
    WHET_GPU=sim python -m tests.traps device=cuda      the same on a device
    python -m tests.traps --peers [name ...]    the same programs under the tracers of others (`tests/traps/peers.py`)
    WHET_TRAPS_EAGER=1 python -m pytest tests/traps     eager against eager: are the programs themselves the same every time?
"""
import contextlib
import dataclasses
import decimal
import enum
import fractions
import functools
import hashlib
import importlib
import inspect
import io
import os
import random
import types
import warnings

import numpy as np
import whet
from whet import nn
from whet.jit.capture.internal_errors import faults
from whet.jit.policy import account

FILES = (
    "python_state control_flow control_functions memory written_memory modes values autograd "
    "training_steps arguments effects exchanged_state hidden calls_of_c modules_and_classes "
    "uses_of_traced_functions names acting_objects ends_and_turns numbers aliases training "
    "callers outside streams indirect_state everyday state_in_methods self_descriptions beneath "
    "several_places arrays transforms state origins containers_of_numbers unnamed_methods "
    "unseen_calls memory_of_arrays methods_of_numbers exact_types training_of_papers "
    "probed_functions freed_objects kinds_of_numbers changes_of_modules context_variables "
    "ends_of_steps reviewers reviewers_of_python reviewers_of_tensors reviewers_of_models "
    "doubters_of_python doubters_of_classes doubters_of_containers doubters_of_tensors "
    "doubters_of_memory doubters_of_objects state_of_loops tensor_classes growing_objects "
    "kept_distributions functions_of_scipy texts_of_numbers numbers_for_draws "
    "numbers_of_numpy_in_state data_of_buffers filled_caches absent_things "
    "arrays_beside_tensors state_without_names calls_with_plain_numbers "
    "dropped_histories growing_state containers_in_state made_names locks "
    "functional_state enums").split()
TRAPS = {}
account.GRACE = float("inf")              # whatever recordings cost: what is replayed must be right
faults.are_raised = True
Box = types.SimpleNamespace


def trap(build):
    """Register a trap under the name of the function that builds it."""
    assert build.__name__ not in TRAPS and build.__doc__, build.__name__
    TRAPS[build.__name__] = build
    return build


def traps():
    """All traps by name."""
    for name in FILES:
        importlib.import_module(f"tests.traps.{name}")
    return TRAPS


# ---- what traps are written with -----------------------------------------------------------------
def ramp(*shape, dtype=whet.float32):
    """0.5, 1, 1.5, ... in a shape."""
    return (whet.arange(1, 1 + int(np.prod(shape))).reshape(shape) * 0.5).to(dtype)


def leaf(*shape):
    """A ramp that requires a gradient."""
    return ramp(*shape).requires_grad_()


def thrice(call):
    """The results of three calls."""
    for _ in range(3):
        yield call()


def mlp(*layers):
    """A model small enough to compare completely."""
    return nn.Sequential(nn.Linear(3, 4), *layers, nn.Tanh(), nn.Linear(4, 2))


def state(model, opt=None):
    """Everything that a training step may change."""
    return dict(model.state_dict()), [p.grad for p in model.parameters()], opt and opt.state_dict()


def outcome(call):
    """What a call gives, or what it raises."""
    try:
        return call()
    except BaseException as e:
        return "raised", type(e).__name__, str(e), type(e.__cause__).__name__


def shares(a, b):
    """Do two tensors share memory?"""
    return bool(np.shares_memory(numbers(a), numbers(b)))


# ---- what can be seen of a value (`tests.traps.peers` puts its own in place of the first four) ---
def numbers(t):
    """What a tensor holds, as an array."""
    return t.detach().cpu().numpy()


def of_the_tracer(w):
    """Is a warning the tracer's own?"""
    return w.category.__name__ == "TraceWarning"


def environment():
    """The variables that a program may set."""
    return hash(tuple(sorted(os.environ.items())))


def bits(a):
    """The bytes of an array, each NaN made the same one, with its numbers beside them to be
    read."""
    flat = np.array(a, copy=True, order="C").reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    if flat.dtype.kind not in "biuOSU":
        flat[flat != flat] = np.nan
    raw = flat.tobytes()
    return (str(a.tolist()), raw.hex()) if len(raw) <= 512 else hashlib.sha256(raw).hexdigest()


def freeze(v):
    """What can be seen of a value at this moment, as plain data that compares."""
    if isinstance(v, whet.Tensor):
        flags = ([s for s in ("requires_grad", "is_leaf") if getattr(v, s)]
                 + ["inference"] * v.is_inference())
        return (type(v).__name__, str(v.dtype), tuple(v.shape), flags, bits(numbers(v)),
                freeze(v.grad) if v.is_leaf else None)
    if isinstance(v, (np.ndarray, np.generic)):
        return type(v).__name__, str(v.dtype), v.shape, bits(np.asarray(v))
    if isinstance(v, (float, complex)):
        return type(v).__name__, bits(np.asarray(v))
    if v is None or isinstance(v,
                               (bool, int, str, bytes, bytearray, type, whet.dtype, whet.device,
                                range, slice, decimal.Decimal, fractions.Fraction, enum.Enum)):
        return type(v).__name__, str(v)
    if isinstance(v, dict):
        return type(v).__name__, [(freeze(k), freeze(e)) for k, e in v.items()]
    if isinstance(v, (set, frozenset)):
        return type(v).__name__, sorted(map(repr, v))
    if isinstance(v, BaseException):
        return type(v).__name__, [freeze(e) for e in v.args]
    if hasattr(v, "__iter__") and hasattr(v, "__len__"):
        return type(v).__name__, [freeze(e) for e in v]
    if dataclasses.is_dataclass(v) or isinstance(v, Box):
        return type(v).__name__, freeze(vars(v))
    raise TypeError(f"a trap yields what the harness cannot compare: {v!r}")


def _world():
    """What is the same for everybody and a call may change."""
    state = np.random.get_state()
    return dict(grad=whet.is_grad_enabled(), inference=whet.is_inference_mode_enabled(),
                default_dtype=str(whet.get_default_dtype()), threads=whet.get_num_threads(),
                whet_generator=whet.get_rng_state().tolist(),
                python_generator=hash(random.getstate()),
                numpy_generator=hash((state[1].tobytes(), state[2])), environment=environment())


@contextlib.contextmanager
def _restored():
    """Seeds and modes as they are wanted, and afterwards as they were."""
    grad, dtype, threads, environment = (whet.is_grad_enabled(), whet.get_default_dtype(),
                                         whet.get_num_threads(), dict(os.environ))
    whet.manual_seed(11), random.seed(11), np.random.seed(11)
    try:
        yield
    finally:
        whet.set_grad_enabled(grad)
        whet.set_default_dtype(dtype)
        if whet.get_num_threads() != threads:
            whet.set_num_threads(threads)
        for name in set(os.environ) - set(environment):
            del os.environ[name]
        os.environ.update(environment)


# ---- runs ----------------------------------------------------------------------------------------
def eager(f, **options):
    """The trace that is none."""
    return f


def traced(into, **options):
    """whet's trace, with options of it; it keeps what it makes in a list. With WHET_TRAPS_EAGER=1
    it is none."""
    if os.environ.get("WHET_TRAPS_EAGER") == "1":
        return eager

    def trace(f, **more):
        t = whet.jit.trace(f, **{**options, **more})
        into.append(t)
        return t
    return trace


def run(build, trace):
    """All that can be seen of a trap's calls: a list of dicts, one for each yield, and one of what
    the yielded values are in the end."""
    seen, kept, printed = [], [], io.StringIO()
    with _restored(), contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        f, calls = build(trace) if inspect.signature(build).parameters else build()
        for value in calls(trace(f)):
            kept.append(value)
            news = [(w.category.__name__, str(w.message).split("Traceback")[0]) for w in warned
                    if not of_the_tracer(w)]
            seen.append(dict(value=freeze(value), printed=printed.getvalue(), warned=news,
                             **_world()))
            printed.seek(0), printed.truncate(), warned.clear()
    seen.append(dict(at_the_end=[freeze(v) for v in kept]))
    return seen


def difference(build, trace, want=None):
    """Where a traced run first differs from the eager one, in words, or None. `want` is the eager
    run, where there was one."""
    want = run(build, eager) if want is None else want
    try:
        got = run(build, trace)
    except Exception as e:
        return f"only traced it raises {type(e).__name__}: {e}"
    if len(want) != len(got):
        return f"{len(got) - 1} values were yielded, eagerly {len(want) - 1}"
    for i, (a, b) in enumerate(zip(want, got)):
        for what in a:
            if a[what] != b[what]:
                return (f"yield {i}, {what}: eagerly\n  {str(a[what])[:1500]}\ntraced\n  "
                        f"{str(b[what])[:1500]}")


def calls_made(build):
    """How many times a trap calls its function."""
    count = []

    class Counted:
        def __init__(self, f): self.f = f
        def __getattr__(self, name): return getattr(self.__dict__["f"] if "f" in self.__dict__ else None, name)

        def __call__(self, *args, **kwargs):
            count.append(1)
            return self.f(*args, **kwargs)

    def counting(f, **options):
        if isinstance(f, type):
            return f
        if not inspect.isroutine(f):
            return Counted(f)

        @functools.wraps(f, updated=())
        def call(*args, **kwargs):
            count.append(1)
            return f(*args, **kwargs)
        return call
    run(build, counting)
    return len(count)


def runs(build):
    """Does a trap run eagerly where new tensors are now? Many ask for NumPy's arrays, which show
    the memory of the CPU alone."""
    try:
        run(build, eager)
    except Exception:
        return False
    return True


def table(part=slice(None), device="cpu", recorded="usual", **options):
    """A line for each trap: is it right, and was it compiled or refused (and why). Gives the number
    of wrong ones. On another device those are left out that do not run there. `recorded` is one of
    `KINDS` in `tests/traps/kinds_of_recording.py`."""
    from tests.traps.kinds_of_recording import KINDS
    wrong, names = 0, list(traps())[part]
    whet.set_default_device(device)
    for name in names:
        made = []
        if device != "cpu" and not runs(TRAPS[name]):
            print(f"-      {name}")
            continue
        want = run(TRAPS[name], eager)
        with KINDS[recorded]():
            problem = difference(TRAPS[name], traced(made, **options), want)
        wrong += problem is not None
        reasons = []
        for t in made:
            with contextlib.suppress(Exception):
                reasons.append(t.explain(data=True)["refused"])
        fate = next((f"refused: {r}" for r in reasons if r), "compiled" if reasons else "")
        print(f"{'right' if problem is None else 'WRONG'}  {name:56s} {fate}")
        if problem:
            print("       " + problem.replace("\n", "\n       "))
    print(f"{len(names)} traps, {wrong} wrong")
    return wrong
