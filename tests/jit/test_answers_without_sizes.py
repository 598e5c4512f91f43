"""What the framework tells a function, and no size has a part in, does not keep calls of new sizes
from being replayed; what goes by sizes does."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn
from whet.func import functional_call, grad, vmap
from whet.ir import verify
from whet.jit.refusals.recording_errors import Refused
from whet.jit.replay import families
from whet.utils import data

from .ledgers import unrun

SIZES = range(5, 14)
LEAST = 4           # two recordings and a plan come first
NET = nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 3))
OPTIMIZER = whet.optim.SGD(NET.parameters(), 0.1)
SCHEDULE = whet.optim.lr_scheduler.StepLR(OPTIMIZER, 3)
SCALER = whet.amp.GradScaler("cpu", enabled=False)


pytestmark = pytest.mark.usefixtures("never_sounded")


QUESTIONS = {
    "dim": lambda x: x.dim() + x.ndim,
    "is_floating_point": lambda x: whet.is_floating_point(x) or x.is_complex(),
    "is_tensor": lambda x: whet.is_tensor(x),
    "device": lambda x: x.is_cuda or x.is_meta or not x.is_cpu or x.get_device() >= 0,
    "texts of types": lambda x: f"{x.dtype} {x.device}" != "whet.float32 cpu",
    "element_size": lambda x: x.element_size() * x.itemsize,
    "modes": lambda x: whet.is_grad_enabled() + whet.is_autocast_enabled("cpu"),
    "compiling": lambda x: whet.compiler.is_compiling(),
    "scripting": lambda x: whet.jit.is_scripting() + whet.jit.is_tracing(),
    "functions of others": lambda x: whet.overrides.has_torch_function_unary(x),
    "backends": lambda x: whet.backends.mps.is_available() + whet.backends.mkldnn.is_built(),
    "cuda": lambda x: whet.cuda.is_available() + whet.cuda.device_count(),
    "threads": lambda x: whet.get_num_threads() > 0,
    "names of parameters": lambda x: sum(len(k) for k, _ in NET.named_parameters()),
    "names of modules": lambda x: [k for k, _ in NET.named_modules()].index("2"),
    "names of children": lambda x: [k for k, _ in NET.named_children()].index("1"),
    "rates": lambda x: SCHEDULE.get_last_lr()[0],
    "scale": lambda x: SCALER.get_scale() if SCALER.is_enabled() else 1.0,
    "parametrized": lambda x: nn.utils.parametrize.is_parametrized(NET[0]),
    "elements": lambda x: whet.allclose(x.sign(), x.sign()) + whet.is_nonzero(x[0, 0] - x[0, 0]),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_without_sizes_lets_new_sizes_be_replayed(name):
    ask = QUESTIONS[name]

    def f(x):
        return (x * float(ask(x))).sum(-1).tanh()
    traced = jit.trace(f)
    for n in SIZES:
        x = whet.randn(n, 6)
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()
    assert unrun(traced) >= LEAST


def passes_errors_on(x):
    done = []
    try:
        y = x.softmax(-1)
    except RuntimeError as e:
        raise ValueError("no such sizes") from e
    finally:
        done.append(1)
    return y * len(done)


def is_compiled():
    try:
        import whet as framework
        return framework.compiler.is_compiling()
    except Exception:
        return False


def known():
    try:
        return SIZES["known"]
    except TypeError:
        return 2


def catches_what_no_size_raises(x):
    return x.softmax(-1) * (3 if is_compiled() else known())


class Fits:
    """It asks whether a size is right, in a function that catches no error itself."""
    def check(self, x):
        return x.view(4, -1).sum(0)

    def __call__(self, x):
        try:
            return self.check(x)
        except RuntimeError:
            return x * 3


def fits_each(x):
    def parts():
        try:
            yield x.view(4, -1)
        except RuntimeError:
            yield x * 3
    return [y * 2 for y in parts()]


@pytest.mark.parametrize("f", [passes_errors_on, catches_what_no_size_raises])
def test_errors_that_are_passed_on_or_go_by_no_size_let_new_sizes_be_replayed(f):
    traced = jit.trace(f)
    for n in SIZES:
        x = whet.randn(n, 6)
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()
    assert unrun(traced) >= LEAST


@pytest.mark.parametrize("f", [Fits(), fits_each], ids=["called", "generator"])
def test_an_error_that_goes_by_a_size_is_caught_anew(f):
    traced = jit.trace(f)
    for n in (*SIZES, *SIZES):
        x = whet.randn(n, 3)
        for y, z in zip(traced(x), f(x), strict=True):
            assert y.shape == z.shape and y.numpy().tobytes() == z.numpy().tobytes()


def test_what_stands_for_a_question_may_ask_for_a_size():
    """The functions that `whet` has of these names share their code with `numel`."""
    def f(x):
        return x + (1 if int(whet.numel(x)) % 4 == 0 else -1)
    traced = jit.trace(f)
    for n in (*SIZES, *SIZES):
        x = whet.randn(n, 6)
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()


LENGTHS = {
    "mean": lambda x: x.sum() / len(x),
    "half": lambda x: x[:len(x) // 2],
    "permuted": lambda x: x[whet.arange(len(x)) * 7 % len(x)],
    "branch": lambda x: x.sum() if len(x) > 3 else x.sum() * 2,
    "made": lambda x: whet.zeros(len(x), 6) + x + len(NET),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_the_length_of_a_tensor_is_followed(name):
    f, traced = LENGTHS[name], jit.trace(LENGTHS[name])
    for n in (*SIZES, 2, 3):
        x = whet.randn(n, 6)
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()
    assert unrun(traced) >= LEAST


@pytest.mark.parametrize("f", [
    lambda a: whet.from_numpy(a).sum() / len(a), lambda a: whet.from_numpy(a) / a.shape[0],
    lambda a: whet.full(a.shape, 2.) + whet.from_numpy(a)])
def test_sizes_of_numpy_arrays_are_followed(f):
    traced = jit.trace(f)
    for n in SIZES:
        a = whet.randn(n, 6).numpy()
        assert traced(a).numpy().tobytes() == f(a).numpy().tobytes()
    assert unrun(traced) >= LEAST


def blocks(x):
    return x * len(data.BatchSampler(data.SequentialSampler(data.TensorDataset(x)), 3, False))


@pytest.mark.parametrize("f, make", [
    (blocks, lambda n: whet.randn(n, 6)),
    (lambda x: x * len(x.tolist()), lambda n: whet.randn(n, 2)),
    (lambda x: x * len(x.to_sparse()), lambda n: whet.randn(n, 6)),
    (lambda a: whet.from_numpy(a[:len(a) // 2]), lambda n: whet.randn(n, 6).numpy()),
    (lambda a: whet.from_numpy(a)[:len(a) // 2], lambda n: whet.randn(n, 6).numpy()),
    (lambda a: whet.from_numpy(np.ones((len(a), 2)) + a.size), lambda n: whet.randn(n, 6).numpy()),
    (lambda a: sorted([whet.from_numpy(a)], key=len)[0] * 2, lambda n: whet.randn(n, 6).numpy())])
def test_lengths_of_what_is_no_tensor_are_asked_anew(f, make):
    traced = jit.trace(f)
    for n in (5, 7, 9, 11, 13, 12, 14, 16, 17, 18, 19, 5, 7, 9):
        x = make(n)
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()


@pytest.mark.parametrize("ask", [
    lambda x: x.nbytes, lambda x: x.stride(1), lambda x: len(x), lambda x: len(repr(NET(x).shape)),
    lambda x: x.t().is_contiguous(), lambda x: x.is_same_size(whet.zeros(8, 6))])
def test_a_question_about_sizes_is_asked_anew(ask):
    def f(x):
        return x.t() * (ask(x) % 5)
    traced = jit.trace(f)
    for n in (*SIZES, 1, *SIZES, 1):
        x = whet.ones(6, n).t()
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_an_image_that_has_the_size_already_is_left_alone(mode):
    """Were it computed, infinity times zero would be NaN."""
    def f(x):
        return F.interpolate(x, size=(8, 8), mode=mode)
    traced = jit.trace(f)
    for n in (5, 6, 7, 9, 10, 12, 8, 11, 8, 4):
        x = whet.randn(1, 2, n, n)
        x[0, 0, 1, 1] = math.inf
        assert traced(x).numpy().tobytes() == f(x).numpy().tobytes()


def per_sample(x, y):
    """The norms of the gradients of each example, whose loss is that of a batch of one."""
    def loss(parameters, x, y):
        out = functional_call(NET, parameters, (x[None],)).mean(1)
        return F.cross_entropy(out, y[None])
    parameters = {k: v.detach() for k, v in NET.named_parameters()}
    found = vmap(grad(loss), (None, 0, 0))(parameters, x, y)
    return sum(g.flatten(1).square().sum(1) for g in found.values()).sqrt()


def test_views_of_constants_are_read_as_they_lie():
    """Zeros for each example are one row, expanded: Python reads them as the batch."""
    traced = jit.trace(per_sample)
    for n in SIZES:
        x, y = whet.randn(8, n, 6), whet.arange(8) % 3
        assert traced(x, y).numpy().tobytes() == per_sample(x, y).numpy().tobytes()
    assert unrun(traced) >= LEAST


def test_a_family_that_does_something_else_leaves_the_recordings(monkeypatch):
    def fails(*_):
        raise Refused("a replay goes another way")
    grow = families.grow
    monkeypatch.setattr(verify, "CHECK", False)
    monkeypatch.setattr(families, "grow", lambda first, other, _: grow(first, other, fails))
    traced = jit.trace(lambda x: (x * 2).sum(0))
    for n in (*SIZES, *SIZES):
        x = whet.randn(n, 6)
        assert traced(x).numpy().tobytes() == (x * 2).sum(0).numpy().tobytes()
    ledger = traced._calls.policy.summary()
    assert unrun(traced) == ledger.failed == 0 and ledger.replayed >= LEAST, ledger
