"""Kernels that users write in Triton: tuned, and traced."""
import functools

import pytest
import whet
from whet.cuda import call_timing
from whet.cuda.simulated.driver import SimulatedDriver
from whet.library import wrap_triton

from tests.triton_runs import needs_triton

triton = pytest.importorskip("triton")
tl = triton.language

from tests.cuda import triton_kernels as k  # noqa: E402

pytestmark = needs_triton
EQUAL = functools.partial(whet.testing.assert_close, rtol=0, atol=0)
CLOSE = functools.partial(whet.testing.assert_close, rtol=1e-5, atol=1e-5)


# ---- choices -------------------------------------------------------------------------------------
def tuned(configs, **options):
    """An addition whose blocks are chosen."""
    return triton.autotune(configs=configs, key=["n"], **options)(k.add_kernel)


SIZES = [triton.Config({"BLOCK": b}) for b in (8, 32, 16)]


def add_by(kernel, n, out=None):
    x = whet.arange(float(n), device="cuda")
    out = whet.empty_like(x) if out is None else out
    seen = []

    def grid(meta):
        seen.append(meta["BLOCK"])
        return (triton.cdiv(n, meta["BLOCK"]),)
    wrap_triton(kernel)[grid](x, x, out, n)
    EQUAL(out.cpu(), 2 * whet.arange(float(n)))
    return seen


def test_the_first_configuration_is_taken_where_a_device_has_no_speed(gpus):
    kernel = tuned(SIZES)
    assert add_by(kernel, 40) == [8] and add_by(kernel, 41) == [8]


def test_the_fastest_configuration_is_chosen_once_for_each_key(gpus):
    times = {8: 3.0, 32: 1.0, 16: 2.0}
    timed = []

    def bench(call, quantiles):
        assert len(quantiles) == 3
        call()
        timed.append(1)
        return [times[(8, 32, 16)[(len(timed) - 1) % 3]]] * 3
    kernel = tuned(SIZES, do_bench=bench)
    assert add_by(kernel, 40) == [8, 32, 16, 32]
    assert add_by(kernel, 40) == [32] and len(timed) == 3
    assert add_by(kernel, 50)[-1] == 32 and len(timed) == 6


def test_configurations_are_pruned(gpus):
    def late(configs, named, **kwargs):
        assert named["n"] == 40
        return [c for c in configs if c.kwargs["BLOCK"] > 8]
    assert add_by(tuned(SIZES, prune_configs_by={"early_config_prune": late}), 40) == [32]


def test_what_is_tuned_leaves_no_traces_in_tensors(gpus, monkeypatch):
    """Sums that a kernel adds to are set back before each try, and before the launch that
    counts."""
    monkeypatch.setattr(SimulatedDriver, "has_speed", True)
    monkeypatch.setattr(call_timing, "LEAST", 1)
    monkeypatch.setattr(call_timing, "MOST", 1)

    @triton.autotune(configs=SIZES, key=["n"], reset_to_zero=["out"])
    @triton.jit
    def count(x, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.atomic_add(out + at % 2, tl.load(x + at, mask=at < n, other=0.0), mask=at < n)

    @triton.autotune(configs=SIZES, key=["n"], restore_value=["x"])
    @triton.jit
    def doubled(x, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(x + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)
    x, out = whet.ones(20, device="cuda"), whet.zeros(2, device="cuda")

    def grid(meta):
        return (triton.cdiv(20, meta["BLOCK"]),)
    wrap_triton(count)[grid](x, out, 20)
    assert out.tolist() == [10, 10]
    wrap_triton(doubled)[grid](x, 20)
    assert x.tolist() == [2] * 20


def test_meta_parameters_that_are_given_twice(gpus):
    x = whet.zeros(8, device="cuda")
    with pytest.raises(ValueError, match="Conflicting meta-parameters: BLOCK"):
        wrap_triton(tuned(SIZES))[(1,)](x, x, x, 8, BLOCK=8)


def test_functions_of_arguments_may_choose_beside_configurations(gpus):
    chosen = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})(
        k.add_kernel)
    assert add_by(chosen, 40) == [64]
    both = triton.autotune(
        configs=[triton.Config({}, num_warps=w) for w in (2, 4)], key=["n"])(chosen)
    assert add_by(both, 20) == [32]


# ---- traced --------------------------------------------------------------------------------------
def step_of(weights):
    optimizer = whet.optim.SGD(weights, lr=0.1)

    def step(x, m):
        hidden = k.matmul(x, m)
        y = k.softmax(k.norm(hidden, *weights)[0])
        loss = k.add(y, y).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        halves = hidden.detach().clone()
        k.scale_(halves, 0.5)
        return loss.detach(), halves
    return step


def test_a_training_step_with_kernels_is_replayed(gpus, no_host):
    """Those that write to one tensor, and to several."""
    (_, x), (_, m) = k.both(5, 20), k.both(20, 30, seed=1)
    x, m = x.detach(), m.detach()

    def run(wrap):
        weights = [whet.nn.Parameter(k.both(30, seed=s)[1].detach()) for s in (2, 3)]
        step = wrap(step_of(weights))
        return step, [step(x * i, m) for i in range(1, 6)], weights
    _, want, wanted = run(lambda f: f)
    traced, got, weights = run(whet.jit.trace)
    for mine, theirs in zip((*sum(got, ()), *weights), (*sum(want, ()), *wanted), strict=True):
        EQUAL(mine, theirs)
    assert traced._policy.summary().replayed >= 3


def test_tuning_does_not_keep_a_function_from_being_replayed(gpus, monkeypatch):
    """The call that times its kernels runs eagerly."""
    monkeypatch.setattr(SimulatedDriver, "has_speed", True)
    monkeypatch.setattr(call_timing, "LEAST", 1)
    monkeypatch.setattr(call_timing, "MOST", 1)
    kernel = tuned(SIZES[:2])

    @whet.jit.trace
    def f(x):
        out = whet.empty_like(x)
        wrap_triton(kernel)[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, x, out, 40)
        return out + 1
    for i in range(6):
        EQUAL(f(whet.full((40,), float(i), device="cuda")).cpu(), whet.full((40,), 2.0 * i + 1))
    assert f._policy.summary().replayed >= 3


def test_a_number_that_varies_is_a_guard(gpus):
    @whet.jit.trace
    def f(x, factor):
        y = x.clone()
        k.scale_(y, factor)
        return y
    x = whet.ones(8, device="cuda")
    for factor in (1.5, 1.5, 1.5, 2.5, 2.5, 1.5):
        assert f(x, factor).tolist() == [factor] * 8


def test_several_results_in_one_memory_are_not_recorded(gpus):
    @triton.jit
    def two(x, y):
        tl.store(x, 1.0)
        tl.store(y, tl.load(x) + 1.0)

    def eager():
        memory = whet.zeros(2, device="cuda")
        wrap_triton(two)[(1,)](memory, memory[1:])
        return memory * 1
    traced = whet.jit.trace(eager)
    with pytest.warns(whet.jit.TraceWarning, match="share memory"):
        found = [traced().tolist() for _ in range(3)]
    assert found == [[1, 2]] * 3
