"""`out=` of elementwise functions whose result fits: it is computed there, and is what the function
gives without it."""
import numpy as np
import pytest
import whet

CALLS = {
    "add": lambda x, y, **kw: whet.add(x, y, **kw), "scaled": lambda x, y, **kw: whet.sub(
        x, y, alpha=2, **kw), "number": lambda x, y, **kw: whet.mul(x, 3, **kw),
    "exp": lambda x, y, **kw: whet.exp(x, **kw), "clamp": lambda x, y, **kw: whet.clamp(
        x, -1, 0.5, **kw), "logaddexp": lambda x, y, **kw: whet.logaddexp(x, y, **kw),
    "atan2": lambda x, y, **kw: whet.atan2(x, y, **kw)}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64, whet.bfloat16])
def test_results_are_computed_where_they_belong(name, dtype):
    f = CALLS[name]
    x, y = whet.randn(7, 9).to(dtype), whet.randn(7, 9).to(dtype)
    want = f(x, y)
    for _ in range(3):
        for out in (whet.full_like(x, float("nan")), whet.randn(9, 7).to(dtype).mT):
            before = out._version
            assert f(x, y, out=out) is out and whet.equal(out, want)
            assert out._version > before
    for own in (0, 1):
        operands = [x.clone(), y.clone()]
        assert whet.equal(f(*operands, out=operands[own]), want)


@pytest.mark.parametrize("name", CALLS)
def test_results_over_a_part_of_an_operand_are_those_of_its_old_elements(name):
    for shift in (1, 8, 40):
        a = whet.randn(128)
        want = CALLS[name](a[:64].clone(), a[32:96].clone())
        got = CALLS[name](a[:64], a[32:96], out=a[shift:64 + shift])
        assert whet.equal(got, want) and whet.equal(a[shift:64 + shift], want)


def test_a_large_result_takes_no_memory_of_its_own():
    x, out = whet.ones(1 << 22), whet.empty(1 << 22)
    whet.add(x, x, out=out)
    whet.memory.reset_peak()
    before = whet.memory.stats()["peak"]
    whet.add(x, x, out=out)
    assert whet.memory.stats()["peak"] - before < 1 << 20


def test_gradients_and_read_only_memory_are_refused():
    x, out = whet.randn(3, requires_grad=True), whet.empty(3)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        whet.exp(x, out=out)
    with whet.no_grad():
        assert whet.equal(whet.exp(x, out=out), whet.exp(x))
    with pytest.raises(RuntimeError):
        whet.exp(x.detach(), out=whet.from_numpy(np.broadcast_to(np.ones(1, "f4"), 3)))
