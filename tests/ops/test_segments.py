"""Reductions of segments: each is the reduction of its part."""
import pytest
import whet
from whet import segment_reduce
from whet.autograd import gradcheck, gradgradcheck

LENGTHS = whet.tensor([3, 0, 2, 1])
WAYS = {"sum": whet.sum, "mean": whet.mean, "prod": lambda x, d: x.prod(d), "max": whet.amax,
        "min": whet.amin}
EMPTY = {"sum": 0.0, "mean": float("nan"), "prod": 1.0, "max": -float("inf"),
         "min": float("inf")}


@pytest.mark.parametrize("reduce", WAYS)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_segment_is_reduced_by_itself(reduce, axis):
    x = whet.randn(2, 6, 3, dtype=whet.float64) if axis else whet.randn(6, 3, dtype=whet.float64)
    lengths = LENGTHS.expand(2, 4) if axis else LENGTHS
    parts = [WAYS[reduce](p, axis) if p.shape[axis] else
             whet.full_like(p.sum(axis), EMPTY[reduce]) for p in x.split(LENGTHS.tolist(), axis)]
    wanted = whet.stack(parts, axis)
    offsets = whet.tensor([0, 3, 3, 5, 6]).expand(*lengths.shape[:-1], 5)
    for how in dict(lengths=lengths), dict(offsets=offsets):
        made = segment_reduce(x, reduce, axis=axis, **how)
        assert whet.allclose(made, wanted, equal_nan=True)
        traced = whet.jit.trace(lambda x: segment_reduce(x, reduce, axis=axis, **how))  # noqa: B023
        for _ in range(3):
            assert whet.equal(traced(x).nan_to_num(), made.nan_to_num())
    x.requires_grad_()

    def whole(x):
        return segment_reduce(x, reduce, lengths=lengths, axis=axis, initial=0.5)
    assert gradcheck(whole, (x,)) and gradgradcheck(whole, (x,))


def test_what_segments_begin_with_and_share():
    x = whet.tensor([2.0, 2.0, 1.0, 0.0, 3.0, 0.0], requires_grad=True)

    def reduced(how, initial=None):
        y = segment_reduce(x, how, lengths=whet.tensor([3, 3, 0]), initial=initial)
        slope, = whet.autograd.grad(y[:2].sum(), x)
        return y.tolist(), slope.tolist()
    assert reduced("max", 2.5) == ([2.5, 3, 2.5], [0, 0, 0, 0, 1, 0])
    assert reduced("max") == ([2, 3, -float("inf")], [0.5, 0.5, 0, 0, 1, 0])
    assert reduced("min", 0.0) == ([0, 0, 0], [0, 0, 0, 0.5, 0, 0.5])
    assert reduced("prod", 5.0) == ([20, 0, 5], [10, 10, 20, 0, 0, 0])
    assert reduced("mean", 3.0)[0] == [pytest.approx(8 / 3), 2, 3]
    assert segment_reduce(x, "sum", offsets=whet.tensor([1, 3])).tolist() == [3]
    assert segment_reduce(x, "sum", lengths=whet.tensor([2]), unsafe=True).tolist() == [4]


@pytest.mark.parametrize("error, how", [
    (RuntimeError, dict(reduce="sum")), (RuntimeError, dict(reduce="amax", lengths=LENGTHS)),
    (RuntimeError, dict(reduce="sum", lengths=whet.tensor([3]))),
    (RuntimeError, dict(reduce="sum", lengths=whet.tensor([-1, 7]))),
    (RuntimeError, dict(reduce="sum", lengths=whet.tensor([6.0]))),
    (RuntimeError, dict(reduce="sum", lengths=LENGTHS, axis=1)),
    (RuntimeError, dict(reduce="sum", indices=LENGTHS)),
    (IndexError, dict(reduce="sum", lengths=LENGTHS, axis=2))])
def test_wrong_segments(error, how):
    with pytest.raises(error):
        segment_reduce(whet.ones(6, 2), **how)
    with pytest.raises(NotImplementedError):
        segment_reduce(whet.ones(6, dtype=whet.int64), "sum", lengths=LENGTHS)
