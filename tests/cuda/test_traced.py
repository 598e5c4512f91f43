"""Traced functions on simulated devices: eager's bits, replayed, and what is refused says why."""
import contextlib
import warnings

import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.jit.capture.internal_errors import faults
from whet.jit.export import ExportError
from whet.jit.machine_code import table_index

from tests.cuda import sweep
from tests.cuda.test_training import Digits, Letters
from tests.traps import harness
from tests.triton_runs import needs_triton

pytestmark = needs_triton
PARTS = 140                      # of all traps one in so many is tried here


@pytest.fixture(autouse=True)
def faults_are_raised(monkeypatch):
    """An error of the tracer itself ends the test."""
    monkeypatch.setattr(faults, "are_raised", True)


def bits(x):
    """What a result holds."""
    if isinstance(x, tuple | list):
        return [bits(y) for y in x]
    return x.detach().cpu().numpy().tobytes() if whet.is_tensor(x) else x


def replayed(f):
    """How many calls of a traced function were replayed."""
    return f._policy.summary().replayed


def alike(make, given, calls=6, least=4):
    """`make()` gives a step and what it changes; traced, it does what it does eagerly, and is
    replayed at least so often. `given(i)` are a call's arguments."""
    def run(trace):
        whet.manual_seed(1)
        step, state = make()
        f = trace(step)
        seen = [bits(f(*given(i))) for i in range(calls)]
        return seen, [bits(t) for t in state()], f
    want, changed, _ = run(lambda fn: fn)
    got, after, f = run(whet.jit.trace)
    assert (got, after) == (want, changed)
    assert replayed(f) >= least, str(f.explain())
    return f


def test_what_is_fused_lies_as_its_last_op_left_it(gpus):
    """Operands of a row program of several ops may lie otherwise: a mask that is the same for all
    rows, say."""
    def attend(x):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    def turned(x):
        return (whet.ones(20, 20, device="cuda") + x.transpose(1, 2)).softmax(-1)
    for fn in (attend, turned):
        alike(lambda: (fn, lambda: []), lambda i: (whet.full((2, 20, 20), i / 3).cuda(),), least=5)


def test_gradients_of_a_loop_over_slices(gpus):
    def make():
        w = whet.randn(4, 4).cuda().requires_grad_()

        def step(x):
            h = whet.zeros(2, 4, device="cuda")
            for t in range(x.shape[1]):
                h = whet.tanh(x[:, t] @ w + h * x[:, t - 1])
            return whet.autograd.grad(h.sum(), (x, w))[0]
        return step, lambda: [w]
    alike(make, lambda i: (whet.full((2, 5, 4), i / 3).cuda().requires_grad_(),), least=3)


def test_a_call_that_eager_makes_faster(gpus):
    """Machine code calls the function itself, for a first argument such as this one."""
    f = whet.jit.trace(lambda x: x.reshape(-1))
    for _ in range(6):
        f(whet.ones(2, 2).cuda())
    r = next(iter(f._table.values()))[0]
    r.slow = True
    f._calls.tables.first(r, (whet.ones(2, 2).cuda(),))
    for x, counted in ((whet.ones(2, 2), 1), (whet.ones(4, 1), 1)):
        assert f(x.cuda()).tolist() == [1.0] * 4
        assert table_index.uses_of(r.tables.passed) == counted
    assert f(whet.ones(2, 2)).tolist() == [1.0] * 4          # of another place


def learner(model, optimizer, schedule=None, number=False):
    """A training step of a model, and its parameters and buffers."""
    def make():
        m = model().cuda()
        o = optimizer(m.parameters())
        s = schedule and schedule(o)

        def step(x, y):
            loss = F.cross_entropy(m(x), y)
            o.zero_grad()
            loss.backward()
            o.step()
            if s is not None:
                s.step()
            return loss.item() if number else loss
        return step, lambda: [*m.parameters(), *m.buffers()]
    return make


def mlp():
    return nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Dropout(0.3), nn.LayerNorm(8),
                         nn.Linear(8, 3))


def batches(*shape, classes=3, numbers=whet.randn):
    """Four batches on the device, in turn."""
    whet.manual_seed(7)
    made = [(numbers(*shape).cuda(), whet.randint(classes, (shape[0],)).cuda()) for _ in range(4)]
    return lambda i: made[i % 4]


OPTIMIZERS = {
    "SGD": lambda ps: whet.optim.SGD(ps, 0.1, momentum=0.9),
    "Adam": lambda ps: whet.optim.Adam(ps, 0.01),
    "AdamW": lambda ps: whet.optim.AdamW(ps, 0.01, amsgrad=True),
    "RMSprop": lambda ps: whet.optim.RMSprop(ps, 0.01)}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_steps(gpus, name):
    alike(learner(mlp, OPTIMIZERS[name]), batches(4, 5))


@pytest.mark.parametrize("seed", range(3))
def test_streams_that_run_late(gpus_of, seed):
    gpus_of(seed)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR
    alike(learner(mlp, OPTIMIZERS["Adam"], lambda o: schedule(o, 10), number=True), batches(4, 5))


def test_convolutions(gpus):
    alike(learner(Digits, OPTIMIZERS["SGD"]), batches(2, 1, 8, 8, classes=10), 4, 2)


def test_a_transformer(gpus):
    def make():
        m = Letters().cuda()
        o = whet.optim.AdamW(m.parameters(), 1e-2)

        def step(t):
            loss = F.cross_entropy(m(t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
            o.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            o.step()
            return loss
        return step, lambda: [*m.parameters()]
    whet.manual_seed(3)
    texts = [whet.randint(7, (2, 6)).cuda() for _ in range(3)]
    alike(make, lambda i: (texts[i % 3],), 4, 2)


def test_gradients_that_leave_the_call(gpus):
    def make(tracing):
        m = mlp().cuda()
        o = whet.optim.Adam(m.parameters(), 0.01)
        forward = whet.jit.trace(lambda x: m(x)) if tracing else m

        def step(x, y):
            loss = F.cross_entropy(forward(x), y)
            o.zero_grad()
            loss.backward()
            o.step()
            return loss
        return step, forward, [*m.parameters()]
    seen, given = [], batches(4, 5)
    for tracing in (False, True):
        whet.manual_seed(1)
        step, forward, params = make(tracing)
        seen.append(([bits(step(*given(i))) for i in range(6)], bits(params)))
    assert seen[0] == seen[1]
    assert replayed(forward) >= 4


def test_fewer_kernels_than_eagerly(gpus):
    def f(x, w, b):
        h = (x @ w + b).tanh() * 2 - 1
        return (h.softmax(1) * h.sigmoid() + h.exp()).sum(1)
    given = [whet.randn(*s, device="cuda") for s in ((4, 6), (6, 5), (5,))]
    counts = []
    for g in (f, whet.jit.trace(f)):
        for _ in range(3):
            g(*given)
        whet.cuda.synchronize()
        launched, launch = [], gpus.driver.launch
        gpus.driver.launch = lambda *a: (launched.append(a), launch(*a))
        g(*given)
        gpus.driver.launch = launch
        counts.append(len(launched))
    assert counts[1] <= 3 < counts[0]


def test_each_device_has_recordings_of_its_own(gpus):
    f = whet.jit.trace(lambda x: (x * 2 + 1).relu().sum(0))
    x = whet.randn(4, 3)
    there = [x, x.cuda(), x.to("cuda:1")]
    want = bits((x * 2 + 1).relu().sum(0))
    for i in (0, 1, 0, 0, 1, 1, 2, 0, 2, 2, 1, 0):
        y = f(there[i])
        assert y.device == there[i].device and bits(y) == want
    assert replayed(f) == 9


def test_a_closed_over_tensor_that_moves(gpus):
    m = nn.Linear(3, 2)
    f = whet.jit.trace(lambda x: m(x).relu())
    x = whet.randn(4, 3)
    for device in ("cpu", "cuda", "cpu", "cuda:1"):
        m.to(device)
        for _ in range(3):
            y = f(x.to(device))
            assert y.device == whet.device(device) and bits(y) == bits(m(x.to(device)).relu())


def test_numbers_of_the_host_are_told_at_each_call(gpus):
    f = whet.jit.trace(lambda x, n: x * n + n ** 2)
    x = whet.randn(5, device="cuda")
    for n in (1.5, 2.5, -0.0, 3.5, float("inf"), 7.25, 1e-45):
        assert bits(f(x, n)) == bits(x * n + n ** 2)
    assert replayed(f) >= 3
    scale = whet.tensor(2.0)
    g = whet.jit.trace(lambda x: x * scale)
    for k in range(6):
        scale.fill_(k - 2.5)
        assert bits(g(x)) == bits(x * scale)
    assert replayed(g) >= 3


def test_random_numbers_go_on_as_eagerly(gpus):
    def f(x):
        return F.dropout(x, 0.4) + whet.randn_like(x) * whet.rand(3, device="cuda")
    x, g, seen = whet.randn(4, 3, device="cuda"), whet.jit.trace(f), []
    for fn in (f, g):
        whet.manual_seed(5)
        seen.append([bits([fn(x), whet.rand(2)]) for _ in range(5)])
    assert seen[0] == seen[1] and replayed(g) >= 3


def test_there_and_back(gpus):
    """Operands that come from the host, results that go there, numbers that decide."""
    def f(x, w):
        y = x.to("cuda") @ w
        if y.sum().item() > 0:
            y = y * 2
        table = whet.tensor([1.0, -1.0]).to("cuda")
        return (y * table).cpu(), y.mean().item()
    g, w = whet.jit.trace(f), whet.randn(3, 2, device="cuda")
    for k in range(8):
        x = whet.randn(4, 3) + (k % 2 * 4 - 2)
        assert bits(g(x, w)) == bits(f(x, w))
    assert replayed(g) >= 3


def test_what_the_host_writes_after_a_question_is_undone_where_that_misses(gpus):
    """The host's part comes first: a replay that a question ends leaves none of it."""
    seen = []
    for trace in (lambda fn: fn, whet.jit.trace):
        count, total = whet.zeros(()), whet.zeros(2)

        def f(x, count=count, total=total):
            if x.sum().item() > 0:
                x = x * 3
            count.add_(1)
            total.add_(count)
            return x * count
        g = trace(f)
        seen.append([bits([g(whet.ones(3, device="cuda") * k), count, total])
                     for k in (1, 2, 3, 4, -1, 5, -2, 6, -3, -4, 7)])
    assert seen[0] == seen[1] and replayed(g) >= 3


def test_operands_that_share_memory(gpus):
    def f(a, b):
        a.mul_(2)
        b += a
        return b * a
    g = whet.jit.trace(f)
    for at in (0, 1, 3, 0, 1, 3, 0, 1, 3):
        x, y = (whet.arange(8.0, device="cuda") for _ in range(2))
        assert bits([g(x[:5], x[at:at + 5]), x]) == bits([f(y[:5], y[at:at + 5]), y])
    assert replayed(g) >= 4


def test_constants_are_nobodys_to_write_to(gpus):
    def f(x):
        mask = whet.tril(whet.ones(3, 3, device="cuda"))
        total = whet.zeros(3, device="cuda")
        total += (x * mask).sum(0)
        return mask, total
    g, x = whet.jit.trace(f), whet.randn(3, 3, device="cuda")
    for _ in range(5):
        mask, total = g(x)
        assert bits((mask, total)) == bits(f(x))
        mask.zero_()
        total.fill_(7)
    assert replayed(g) >= 3


def test_calls_in_other_streams(gpus_of):
    """A replay works in the stream of who calls."""
    for seed in range(4):
        gpus_of(seed)
        f, s = whet.jit.trace(lambda x: (x @ x).exp() * 0.5), whet.cuda.Stream()
        x = whet.randn(4, 4, device="cuda") * 0.1
        want = bits((x @ x).exp() * 0.5)
        for _ in range(3):
            f(x)
        s.wait_stream(whet.cuda.current_stream())
        with whet.cuda.stream(s):
            y = f(x)
            y.record_stream(s)
            assert bits(y) == want
        assert replayed(f) == 3


def test_bad_data_is_an_error_at_the_next_wait(gpus):
    w = whet.randn(5, 3, device="cuda")
    f = whet.jit.trace(lambda i: F.embedding(i, w) * 2)
    good, bad = (whet.tensor(i, device="cuda") for i in ([0, 4], [1, 7]))
    for _ in range(4):
        f(good)
    f(bad)
    with pytest.raises(IndexError, match="out of bounds"):
        whet.cuda.synchronize()
    f(bad)
    with pytest.raises(IndexError, match="out of bounds"):
        f(good).tolist()
    assert bits(f(good)) == bits(F.embedding(good, w) * 2)
    assert replayed(f) >= 5


def test_an_earlier_error_is_not_taken_for_one_of_the_call(gpus):
    w = whet.randn(5, 3, device="cuda")
    f = whet.jit.trace(lambda x: x.sum().item())
    for _ in range(4):
        f(w)
    F.embedding(whet.tensor([9], device="cuda"), w)
    with pytest.raises(IndexError, match="out of bounds"):
        f(w)
    assert f(w) == w.sum().item()


@pytest.mark.parametrize("what, why", [
    ("x + x.to('cuda:1').cpu().cuda()", "several devices"),
    ("(whet.cuda.synchronize(), x * 2)[1]", "waits for a device"),
    ("x * whet.cuda.memory_allocated()", "memory a device"),
    ("inside(whet.cuda.Stream(), lambda: x * 2)", "another stream"),
    ("inside(whet.cuda.device(1), lambda: x * 2)", "another device")])
def test_what_is_refused_says_why(gpus, what, why):
    f = eval(f"lambda x: {what}", {"whet": whet, "inside": inside})
    x = whet.randn(3, device="cuda")
    g = whet.jit.trace(f)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for _ in range(3):
            g(x)
    assert not replayed(g)
    assert any(why in str(w.message) for w in warned), [str(w.message) for w in warned]


def inside(manager, call):
    """What a call gives within a `with` block."""
    with manager:
        return call()


def test_an_export_is_of_the_cpu(gpus):
    m = nn.Linear(3, 2).cuda()
    with pytest.raises(ExportError, match=r"(?s)on 'cuda:0', and what is exported.*\.cpu\(\)"):
        whet.export(m, whet.randn(1, 3, device="cuda"))
    with contextlib.suppress(ExportError):
        whet.export(lambda x: x + whet.ones(3, device="cuda").cpu(), whet.randn(3))


@pytest.mark.parametrize("name", [
    "add", "matmul", "layer_norm", "index_put", "cumsum", "unique", "gru"])
def test_ops_are_replayed(name):
    with sweep.by_the_cpu():
        assert sweep.compared(name, False, traced=True) == ("equal", "")


@pytest.mark.parametrize("name", [
    *[*harness.traps()][::PARTS],
    "penalties_of_gradients_to_leaves_of_the_call",  # a graph is made of what a replay kept
    "a_schedule_CosineAnnealingLR",                  # Python computes with numbers
])
def test_traps(gpus, name):
    build = harness.TRAPS[name]
    try:
        whet.set_default_device("cuda")
        if not harness.runs(build):
            pytest.skip("it asks for what only the CPU has")
        assert harness.difference(build, harness.traced([])) is None
    finally:
        whet.set_default_device("cpu")


def test_a_device_that_is_nearly_full(gpus_of):
    """What does not fit twice is not copied for a comparison, and the calls are eager's."""
    gpus_of(0, 4 << 20)
    w = whet.ones(1 << 18, device="cuda")

    def f(x):
        w.mul_(x)
        return w[:4] * 2
    g, x = whet.jit.trace(f), whet.tensor(2.0, device="cuda")
    for k in range(5):
        assert g(x).tolist() == [2.0 ** (k + 2)] * 4
