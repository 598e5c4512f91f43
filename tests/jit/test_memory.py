"""Memory of traced calls: temporaries in one arena, a stated peak that is what is used, and
nothing held between calls."""
import gc
import threading
import warnings
import weakref

import numpy as np
import pytest
import whet
from whet import jit, nn, optim
from whet.cpu import memory, native
from whet.ir.drawing import amount
from whet.ir.parse import parse
from whet.jit.capture import memory_ceiling
from whet.jit.program.reproducer import differing
from whet.jit.verify.program_check import ProgramCheck
from whet.nn import functional as F

from tests import leaks

compiled = pytest.mark.skipif(not native.enabled(),
                              reason="the allocator counts its blocks only where it is on")


# ---- peaks ---------------------------------------------------------------------------------------
def randn(*shape):
    return whet.randn(*shape) * 1        # what NumPy drew is not the allocator's


def training(model, loss, optimizer, *args):
    opt = optimizer(model.parameters())

    def step(*args):
        opt.zero_grad()
        x = loss(model, *args)
        x.backward()
        opt.step()
        return x
    return step, args


def chain():
    return lambda x, y: ((x * 2 + y).tanh() - x.exp()) / 3, (whet.ones(1 << 20), whet.ones(1 << 20))


def python_between():
    return lambda x: (x.softmax(-1).cumsum(0).softmax(0) + 1).sum(0), (whet.ones(1024, 1024),)


def layers():
    model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.Sigmoid())

    def f(x):
        with whet.no_grad():
            return model(x)
    return f, (whet.ones(128, 1024),)


def update():
    mean, square = whet.zeros(1 << 20), whet.zeros(1 << 20)

    def f(x):
        mean.mul_(0.9).add_(x * 0.1)
        square.mul_(0.99).add_((x - mean) ** 2)
        return (x - mean) / (square + 1e-3).sqrt()
    return f, (whet.ones(1 << 20),)


def adam():
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                          nn.Linear(1024, 256))
    return training(model, lambda m, x, y: F.mse_loss(m(x), y), whet.optim.Adam, randn(256, 512),
                    randn(256, 256))


def convolutions():
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64),
                          nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4096, 256), nn.ReLU(),
                          nn.Linear(256, 10))
    return training(model, lambda m, x, y: F.cross_entropy(m(x), y),
                    lambda ps: whet.optim.SGD(ps, lr=1e-3, momentum=0.9), randn(32, 3, 32, 32),
                    whet.arange(32) % 10)


class Block(nn.Module):
    def __init__(self, d=256, heads=4):
        super().__init__()
        self.a, self.b, self.heads = nn.LayerNorm(d), nn.LayerNorm(d), heads
        self.qkv, self.out, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(
            d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(self.a(x)).reshape(n, t, 3, self.heads,
                                              d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, t, d))
        return x + self.down(F.gelu(self.up(self.b(x))))


def block_training():
    return training(Block(), lambda m, x: m(x).square().mean(),
                    whet.optim.AdamW,
                    randn(4, 128, 256))


def block_inference():
    model = Block()

    def f(x):
        with whet.no_grad():
            return model(x)
    return f, (randn(4, 128, 256),)


def recurrent():
    model = nn.LSTM(128, 256, batch_first=True)

    def f(x):
        with whet.no_grad():
            return model(x)[0]
    return f, (randn(64, 32, 128),)


def recurrent_training():
    return training(nn.LSTM(64, 128, batch_first=True), lambda m, x: m(x)[0].square().mean(),
                    whet.optim.Adam,
                    randn(64, 16, 64))


def sorting():
    return lambda x: (x.sort(-1)[0] * 2, (x + 1).argsort(0)), (randn(1024, 512),)


def products():
    a, b, c = (randn(512, 512) for _ in range(3))
    return lambda x: ((x @ a) @ b) @ c, (randn(512, 512),)


def attention():
    return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
            [randn(2, 4, 256, 64) for _ in range(3)])


def pointwise():
    def f(x, y):
        for i in range(100):
            x, y = (x * y + i).tanh(), (x - y).sigmoid()
        return x, y
    return f, (randn(1 << 18), randn(1 << 18))


def loop():
    w = randn(256, 256) / 16

    def f(x):
        h = whet.zeros(64, 256)
        for i in range(16):
            h = (x[i] + h @ w).tanh()
        return h
    return f, (randn(16, 64, 256),)


@compiled
@pytest.mark.parametrize("case", [
    chain, python_between, layers, update, adam, convolutions, block_training, block_inference,
    recurrent, recurrent_training, sorting, products, attention, pointwise, loop])
def test_the_stated_peak_is_what_a_call_uses(case):
    fn, args = case()
    f = jit.trace(fn, verify="off")
    for _ in range(4):
        f(*args)
    gc.collect()
    path = max(f.explain(data=True)["paths"], key=lambda p: p["calls"])
    stated, shown = path["peak"], f.explain(full=True)
    memory.reset_peak()
    f(*args)
    used = memory.stats()["peak"]
    del f, fn, args
    gc.collect()
    used -= memory.stats()["live"]
    assert used > 1e6 and abs(stated - used) < 0.1 * used, (stated, used, path["memory"])
    assert f"holds at most {amount(stated)}: " in shown


# ---- recording in eager's memory -----------------------------------------------------------------
def most(call):
    """The bytes that a call adds to what is alive, at most."""
    gc.collect()
    return memory.growth(call)


def long_chain():
    def f(x):
        for _ in range(30):
            x = (x * 1.01 + 0.5).tanh()
        return x
    return f, (whet.ones(1 << 18),)


def attention():
    block, x = Block(256, 4), randn(8, 64, 256)
    return training(block, lambda m, x: m(x).square().mean(),
                    lambda ps: whet.optim.SGD(ps, lr=1e-3),
                    x)


@compiled
@pytest.mark.parametrize("make", [long_chain, layers, update, convolutions, attention])
def test_a_recorded_call_takes_what_an_eager_one_does_or_what_its_program_needs(make):
    """What it writes to is there twice, once as it was; and so are results, which are compared."""
    eager, args = make()
    wanted = most(lambda: eager(*args))
    f, args = make()
    t = jit.trace(f)
    used = max(most(lambda: t(*args)) for _ in range(3))
    path, = t.explain(data=True)["paths"]
    r, = (r for rs in t._table.values() for r in rs)
    needs = {k: path["memory"][k] for k in ("kept", "arena", "made")}
    written = sum(
        memory.taken(r.replay.inputs.types[i].nbytes) for i in r.recorded.overlaps.written)
    assert used <= 1.1 * max(wanted, sum(needs.values())) + written + needs["made"]


@compiled
def test_a_long_chain_is_recorded_in_the_memory_of_two_of_its_operations():
    f, args = long_chain()
    t = jit.trace(f)
    assert (most(lambda: t(*args)) <= 3.1 * args[0].nbytes
            and most(lambda: t(*args)) <= 1.1 * args[0].nbytes)


@compiled
def test_a_recording_keeps_no_part_of_a_graph_that_the_run_lets_go_of():
    """A graph is freed by its backward as it goes."""
    def f(x):
        y = x
        for _ in range(20):
            y = y.sin()                      # saves its operand
        y.sum().backward()
        before = memory.stats()["live"]
        del y
        return x.grad.sum(), before
    memory.empty_cache()
    x = whet.ones(1 << 18, requires_grad=True)
    live = memory.stats()["live"]
    out, within = jit.trace(f)(x)
    assert within - live <= 4.1 * x.nbytes


# ---- what is held --------------------------------------------------------------------------------
@compiled
def test_a_program_holds_no_memory_between_calls():
    x, w = whet.ones(256, 1024), whet.ones(1024, 1024)
    f = jit.trace(lambda x, w: ((x @ w).softmax(-1) @ w).sum())
    f(x, w)
    gc.collect()
    before = memory.stats()["live"]
    f(x, w), f(x, w)
    path, = f.explain(data=True)["paths"]
    assert path["memory"]["arena"] >= 2 << 20 and path["calls"] == 2
    assert memory.stats()["live"] == before


@compiled
def test_a_call_takes_its_arena_as_one_block():
    x, w = whet.ones(64, 512), whet.ones(512, 512)
    f = jit.trace(lambda x, w: ((x @ w).softmax(-1).tanh() @ w).softmax(0) @ w)
    for _ in range(3):
        f(x, w)
    path, = f.explain(data=True)["paths"]
    assert path["launches"] >= 4 and not path["python"]
    before = memory.stats()
    f(x, w)
    after = memory.stats()
    # and its result
    assert after["reused"] + after["fresh"] - before["reused"] - before["fresh"] == 2


def test_a_recording_lets_go_of_the_gradients_that_were_there():
    model = nn.Linear(4, 4)
    step, args = training(model, lambda m, x: m(x).sum(), lambda ps: whet.optim.SGD(ps, lr=0.1),
                          whet.ones(2, 4))
    f = jit.trace(step)
    for _ in range(3):
        f(*args)
    _, r = jit.report.explain.recordings(f)[0]
    assert (r.calls and not any(t is model.weight or t._array.shape == (4, 4) and t._grad is None
                                for t in r.guards.tensors if t is not model.weight))


@compiled
@pytest.mark.parametrize("body",
                         [
                             lambda u: u + u.t(), lambda u: u.t() * u + u, lambda u:
                             (u * 2).exp() + u[0], lambda u:
                             (u + 1, u.t() + 2), lambda u: u[1:] + u[:-1], lambda u:
                             (u + 1).softmax(0) * (u - 1)])
def test_a_result_takes_an_operands_place_only_where_element_lies_on_element(body):
    x, w = whet.randn(96, 64), whet.randn(64, 96)

    def f(x, w):
        out = body((x @ w).softmax(-1))
        return [y.softmax(0) for y in (out if type(out) is tuple else (out,))]
    g = jit.trace(f, strict=True)
    for _ in range(3):
        for a, b in zip(f(x, w), g(x, w)):
            assert a._array.tobytes() == b._array.tobytes()


def test_joined_and_reshaped_copies_are_launches():
    def f(x):
        y = x.transpose(0, 1).reshape(6, 4)
        return (whet.stack([y, y + 1, y * 2], 1).softmax(-1),
                whet.cat([y, y], 1).tanh(),
                whet.stack([y.sum(), y[0, 0]]))
    g = jit.trace(f, strict=True)
    x = whet.randn(4, 3, 2)
    for _ in range(3):
        for a, b in zip(f(x), g(x)):
            assert a._array.tobytes() == b._array.tobytes()
    if native.enabled():
        assert not g.explain(data=True)["paths"][0]["python"]


@compiled
def test_weights_that_several_products_read_are_packed_once():
    w, x = whet.randn(256, 256), whet.randn(64, 256)
    f = jit.trace(lambda x: ((x @ w).tanh() @ w).exp() @ w, strict=True)
    for _ in range(3):
        y = f(x)
    assert f.explain(data=True)["paths"][0]["memory"]["kept"] < 1.5 * w.nbytes
    w.mul_(0.5)
    assert f(x)._array.tobytes() == ((
        (x @ w).tanh() @ w).exp() @ w)._array.tobytes() != y._array.tobytes()


@compiled
def test_the_arrays_of_a_run_are_freed_without_the_collector():
    fn, args = adam()
    gc.collect()
    gc.disable()
    try:
        f = jit.trace(fn)
        f(*args)
        before = memory.stats()["live"]
        # the second call is recorded again: now there are gradients
        for _ in range(3):
            f(*args)
        path = max(f.explain(data=True)["paths"], key=lambda p: p["calls"])
        assert path["calls"] and memory.stats()["live"] <= before
    finally:
        gc.enable()


def test_rounds_of_tracing_leave_nothing_behind():
    for cycle in (leaks.forward_and_backward, leaks.training_step):
        # Code of ours that is met for the first time is noted once. What leaks does so each time.
        more = min((leaks.grown(cycle, 8) for _ in range(3)), key=lambda more: more["objects"])
        assert (more["objects"] <= 8 and not more["blocks"]
                and not more["kernels"]), (cycle.__name__, more)


SHARING = """
graph "scratch":
  %0 = input "g" "" : f32[8,128,16,16]
  %1 = input "x" "" : f32[8,128,16,16]
  %2 = input "m" "" : f32[1,128,1,1]
  %3 = input "s" "" : f32[1,128,1,1]
  %4 = input "w" "" : f32[1,128,1,1]
  %5 = input "a" "" : f32[8,128,16,16]
  %6 = input "b" "" : f32[8,128,16,16]
  %7 = input "c" "" : f32[8,64,16,16]
  %8 = input "d" "" : f32[8,64,16,16]
  %9 = input "e" "" : f32[64,1,3,3]
  %10, %11, %12 = batch_norm_backward(%0, %1, %2, %3, %4, 2048.0, dim=(0, 2, 3)) : f32[8,128,16,16], f32[1,128,1,1], f32[1,128,1,1]
  %13 = view(%11, size=(128,)) : f32[128]
  %14 = conv_weight_grad(%10, %5, w_shape=Size(128, 1, 3, 3), stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=128) : f32[128,1,3,3]
  %15 = conv_weight_grad(%6, %7, w_shape=Size(128, 64, 1, 1), stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1) : f32[128,64,1,1]
  %16 = conv_input_grad(%8, %9, x_shape=Size(8, 64, 32, 32), stride=(2, 2), padding=(1, 1), dilation=(1, 1), groups=64) : f32[8,64,32,32]
  %17 = clone(%13) : f32[128]
  %18 = clone(%14) : f32[128,1,3,3]
  %19 = clone(%15) : f32[128,64,1,1]
  return %16, %17, %18, %19
"""


def test_launches_that_share_scratch_have_as_much_as_the_largest_needs():
    g = parse(SHARING.strip() + "\n")
    arrays = [
        np.random.default_rng(k).normal(size=g.types[x.value].shape).astype(np.float32)
        for k, x in enumerate(g.inputs)]
    threads = whet.get_num_threads()
    try:
        whet.set_num_threads(2)
        assert differing(g, arrays) == []
    finally:
        whet.set_num_threads(threads)


def test_what_would_take_too_much_to_record_runs_eagerly(monkeypatch):
    from whet.jit.program import value_layouts
    monkeypatch.setattr(value_layouts, "MOST", 10_000)
    f, x = jit.trace(lambda x: [x := x * 1.5 for _ in range(20)][-1]), whet.ones(500)
    for _ in range(5):
        assert f(x).tolist() == f.fn(x).tolist()
    assert "addresses" in str(f._why) and not f.explain(data=True)["paths"]
    y = whet.ones(5)
    for _ in range(3):
        assert f(y).tolist() == f.fn(y).tolist()
    assert f.explain(data=True)["paths"]


@pytest.mark.parametrize("limit", range(0, 200, 8))
def test_recording_is_given_up_wherever_it_takes_too_much(limit, monkeypatch):
    """Also in the backward of a graph that the run has used up in part."""
    from whet.jit.program import value_layouts
    monkeypatch.setattr(value_layouts, "MOST", limit)

    def f(x):
        y = x.sin()
        z = y * x
        (z * y).sum().backward()
        return y, z, x.exp() * y
    t = jit.trace(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.TraceWarning)
        for _ in range(3):
            x, again = (whet.ones(2, requires_grad=True) for _ in range(2))
            got, want = t(x), f(again)
            assert ([a.tolist() for a in got] == [a.tolist() for a in want]
                    and x.grad.tolist() == again.grad.tolist())
            assert [a.requires_grad for a in got] == [a.requires_grad for a in want]


# ---- while a call is recorded --------------------------------------------------------------------
def trained(widths):
    """A step of a model whose layers are all of other sizes, so that no temporary takes the
    place of another layer's."""
    model = nn.Sequential(*[nn.Linear(a, b) for a, b in zip(widths, widths[1:])])
    opt = optim.AdamW(model.parameters())

    def step(x):
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()
    return model, step


def held():
    """The bytes that the process holds in large blocks."""
    stats = memory.stats()
    return stats["live"] + stats["cached"]


@compiled
def test_a_recorded_run_holds_little_more_than_what_is_alive(monkeypatch):
    _, step = trained([300, 400, 500, 600, 700, 800, 900])
    most, seen, look = [0], [], memory_ceiling.Ceiling.after_operation

    def looked(self):
        most[0] = max(most[0], memory.stats()["live"])
        look(self)
        seen.append(held() / (most[0] + most[0] / memory_ceiling.SLACK + memory_ceiling.FLOOR))
    monkeypatch.setattr(memory_ceiling.Ceiling, "after_operation", looked)
    memory.empty_cache()
    step(whet.randn(4, 300))                 # makes the optimizer's state
    jit.trace(step)(whet.randn(4, 300))
    assert len(seen) > 30 and max(seen) <= 1


@compiled
def test_a_call_that_makes_the_optimizers_state_takes_what_eager_takes():
    """It is not recorded: later calls do something else."""
    first, eager, step = (trained([300, 400, 500])[1] for _ in range(3))
    f, x = jit.trace(step), whet.randn(4, 300)
    first(x)                                 # kernels that nobody has used take more
    assert most(lambda: f(x)) <= most(lambda: eager(x))
    f(x), f(x), f(x)
    calls = f.explain(data=True)["calls"]
    # what it writes is not copied: its program is checked by a call of its own
    want = {"set_up": 1, "recorded": 1, "checked": 1, "replayed": 1}
    assert {k: calls[k] for k in want} == want, calls


def test_what_sets_nothing_up_after_all_is_waited_for_once():
    """The optimizer makes no step in the function."""
    model = nn.Linear(3, 3)
    model.optimizer = optim.SGD(model.parameters(), lr=0.1)
    f, x = jit.trace(model), whet.randn(2, 3)
    with whet.no_grad():
        for _ in range(4):
            assert f(x).tolist() == model(x).tolist()
    calls = f.explain(data=True)["calls"]
    assert (calls["set_up"], calls["recorded"], calls["replayed"]) == (1, 1, 2), calls


@compiled
def test_what_the_run_has_let_go_of_makes_room_for_the_program(monkeypatch):
    held_by_run, run = [], ProgramCheck.run
    monkeypatch.setattr(ProgramCheck,
                        "run", lambda self, *args: held_by_run.append(held()) or run(self, *args))
    x = whet.randn(1 << 20)
    memory.empty_cache()
    before = held()
    jit.trace(lambda x: ((x * 2).cumsum(0) + (x * 3).cumsum(0)).sum())(x)
    assert held_by_run[0] - before < x.nbytes


def test_gradients_that_the_run_replaced_are_gone_when_the_program_runs(monkeypatch):
    model, step = trained([30, 40, 50])
    f, alive, run = jit.trace(step), [], ProgramCheck.run
    f(whet.randn(4, 30))
    refs = [weakref.ref(p.grad._array) for p in model.parameters()]
    monkeypatch.setattr(ProgramCheck,
                        "run",
                        lambda self, *args: alive.extend(r() for r in refs) or run(self, *args))
    f(whet.randn(4, 30))
    assert alive == [None] * 4


@compiled
@pytest.mark.parametrize("before, alive, unused, size, fits",
                         [(0, 100, 10, 0, True), (0, 100, 20, 0, False), (130, 100, 20, 0, True),
                          (0, 100, 10, 10, False), (0, 100, 0, 10, True)])
def test_the_ceiling_is_what_was_held_or_little_more_than_what_was_alive(
        before, alive, unused, size, fits, monkeypatch):
    emptied = []
    monkeypatch.setattr(memory, "empty_cache", lambda: emptied.append(True))
    ceiling, mb = memory_ceiling.Ceiling(), 1 << 20
    ceiling.before, ceiling.most = before * mb, alive * mb
    ceiling.live, ceiling.cached = (type("Word", (), {"value": n * mb}) for n in (alive, unused))
    ceiling.make_room(size * mb)
    ceiling.after_operation()
    assert bool(emptied) != fits


class Batch:
    """What a call is given, which is another object each time."""

    def __init__(self, x):
        self.x = x


def test_a_function_that_runs_eagerly_keeps_nothing_that_it_is_given():
    """Calls of an object are known by its address, for as long as there is the object."""
    event = threading.Event()

    def refused(batch):
        return batch.x.sum() if event is not None else None
    f, given = jit.trace(refused), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(20):
            batch = Batch(whet.ones(4))
            given.append(weakref.ref(batch))
            f(batch)
            assert f(batch).item() == 4.0
    del batch
    assert not any(made() for made in given)
    assert "Event" in f.explain(data=True)["refused"]
    assert len(f._table) < 3
