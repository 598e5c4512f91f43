"""`whet.masked`: what is computed of the elements for which a mask holds is what comes of them
alone."""
import numpy as np
import pytest
import whet
from whet import masked

ALONE = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min,
    "var": lambda a: np.var(a, ddof=1), "std": lambda a: np.std(a, ddof=1), "median":
    lambda a: np.sort(a)[(len(a) - 1) // 2], "norm": np.linalg.norm,
    "logsumexp": lambda a: np.log(np.exp(a).sum())}


def example(dtype="float64"):
    rng = np.random.default_rng(0)
    mask = rng.random((3, 6)) < 0.6
    mask[:, :2] = True
    return (rng.normal(size=(3, 6)) * 4).astype(dtype), mask


@pytest.mark.parametrize("name", ALONE)
def test_reductions_are_of_what_the_mask_leaves(name):
    a, mask = example()
    want = [ALONE[name](row[m]) for row, m in zip(a, mask)]
    got = getattr(masked, name)(whet.tensor(a), dim=1, mask=whet.tensor(mask))
    np.testing.assert_allclose(got.numpy(), want)
    kept = getattr(masked, name)(whet.tensor(a), dim=1, keepdim=True, mask=whet.tensor(mask))
    assert kept.shape == (3, 1)


@pytest.mark.parametrize("name", ["sum", "amax", "argmax", "amin", "argmin", "prod", "cumsum"])
def test_whole_numbers(name):
    a, mask = example("int32")
    got = getattr(masked, name)(whet.tensor(a), 1, mask=whet.tensor(mask)).numpy()
    if name == "cumsum":
        assert got.dtype == np.int32 and (got == np.cumsum(np.where(mask, a, 0), 1)).all()
        return
    for g, row, m in zip(got, a, mask):
        if name.startswith("arg"):
            assert m[g] and row[g] == getattr(row[m], name[3:])()
        else:
            assert g == ALONE[name](row[m])


def test_softmax_and_norms():
    a, mask = example()
    x, m = whet.tensor(a), whet.tensor(mask)
    y = masked.softmax(x, 1, mask=m)
    assert (y[~m] == 0).all() and y.sum(1).allclose(whet.ones(3, dtype=whet.float64))
    assert masked.log_softmax(x, 1, mask=m)[m].exp().allclose(y[m])
    assert masked.softmin(-x, 1, mask=m).allclose(y)
    assert masked.normalize(x, 2.0, 1,
                            mask=m).square().sum(1).allclose(whet.ones(3, dtype=whet.float64))
    assert masked.logaddexp(x, x, other_mask=m)[~m].equal(x[~m])


@pytest.mark.parametrize("name", ["sum", "mean", "var", "logsumexp", "prod", "norm", "softmax"])
def test_gradients_and_traces(name):
    a, mask = example()
    m = whet.tensor(mask)

    def f(x):
        y = masked.norm(x, 2.0, 1, mask=m) if name == "norm" else getattr(masked, name)(
            x, 1, mask=m)
        return whet.where(y.isfinite(), y, 0).sum()
    x = whet.tensor(a, requires_grad=True)
    assert whet.autograd.gradcheck(f, (x,))
    f(x).backward()
    assert (x.grad[~m] == 0).all()
    traced = whet.jit.trace(lambda x, m: getattr(masked, "sum")(x, 1, mask=m))
    for _ in range(3):
        assert traced(x.detach(), m).equal(masked.sum(x.detach(), 1, mask=m))


def test_nothing_left():
    x, none = whet.ones(2, 3), whet.zeros(2, 3, dtype=whet.bool)
    assert masked.sum(x, 1, mask=none).tolist() == [0, 0]
    assert masked.prod(x, 1, mask=none).tolist() == [1, 1]
    assert masked.mean(x, 1, mask=none).isnan().all()
    assert masked.amax(x, 1, mask=none).tolist() == [-float("inf")] * 2


def test_masks_are_checked():
    with pytest.raises(IndexError):
        masked.sum(whet.ones(2), mask=whet.ones(2, 2, dtype=whet.bool))
    with pytest.raises(RuntimeError):
        masked.var(whet.ones(2), None, True, correction=1)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_medians_of_integers_are_of_what_the_mask_leaves(dtype):
    a, mask = example(dtype)
    want = [ALONE["median"](row[m]) for row, m in zip(a, mask)]
    x = whet.tensor(a)
    assert masked.median(x, 1, mask=whet.tensor(mask)).tolist() == want
    kept = masked.median(x, 1, keepdim=True, mask=whet.tensor(mask))
    assert kept.shape == (3, 1) and kept.dtype is x.dtype
    assert masked.median(x, 1).tolist() == [ALONE["median"](row) for row in a]
    with pytest.raises(ValueError, match="has no median"):
        masked.median(x, 1, mask=whet.zeros(1, 6, dtype=whet.bool))
