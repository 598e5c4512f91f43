"""tensor[index], gathers and scatters, masks, searches and sorts: values as NumPy's, PyTorch's
rules, bounds, gradients."""
import numpy as np
import pytest
import whet
from whet import jit
from whet.nn.functional import one_hot

A = np.random.default_rng(0).normal(size=(3, 4, 5))
I, J = np.array([0, 2, -1]), np.array([[1, 0, 2]] * 2)
MASK = A > 0.3


def tensors(index):
    """The same index with tensors instead of arrays."""
    if isinstance(index, tuple):
        return tuple(map(tensors, index))
    return whet.tensor(index) if isinstance(index, np.ndarray) else index


INDICES = [
    0, -1, slice(1, None), slice(None, None, 2), slice(5, 2), ..., None, (), (1, 2),
    (0, slice(None), -2), (slice(None), 1), (..., 0), (None, 1, ..., None),
    (slice(0, 2), None, slice(1, 4, 2)), (1, 2, 3), (0, ..., slice(None), 2), I, J, (I, I),
    (J[:, :1], I), (slice(None), I), (slice(None), I, I + 1),
    (slice(1, None), J), (..., I), (I, ...), (slice(None), slice(None), J), MASK, (MASK[:, 0, 0],),
    (slice(None), MASK[0, :, 0]), (MASK[:, :, 0], 1),
    (slice(None), MASK[0]), (MASK[:, :, 0],), (None, I), (I, None, I),
    (I[:2], slice(None), J[:, :2]), np.array([], np.int64), np.array([True, False, True]),
    (slice(0, 3, 2), np.array([3])), np.array([[0]]), np.int64(1), (np.int32(1), I),
    I.astype(np.int32),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading_is_numpys(index):
    want = A[index]
    x = whet.tensor(A, requires_grad=True)
    for i in (index, tensors(index)):
        got = x[i]
        assert tuple(got.shape) == want.shape
        np.testing.assert_array_equal(got.numpy(force=True), want)
        np.testing.assert_array_equal(whet.tensor(A)[i].numpy(), want)
    places = np.arange(A.size).reshape(A.shape)[index]
    g = np.random.default_rng(1).normal(size=want.shape)
    x[tensors(index)].backward(whet.tensor(g))
    grad = np.zeros(A.size)
    np.add.at(grad, places.reshape(-1), g.reshape(-1))
    np.testing.assert_allclose(x.grad.numpy().reshape(-1), grad)


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_writing_is_numpys(index):
    want = A.copy()
    value = np.random.default_rng(2).normal(size=want[index].shape)
    want[index] = value
    for give in (whet.tensor, lambda v: whet.tensor(v, requires_grad=True)):
        x, v = whet.tensor(A) * 1, give(value)
        x[tensors(index)] = v
        np.testing.assert_array_equal(x.numpy(force=True), want)
    weights = np.random.default_rng(3).normal(size=A.shape)
    (x * whet.tensor(weights)).sum().backward()
    places = np.arange(A.size).reshape(A.shape)[index]
    if len(np.unique(places)) == places.size:
        np.testing.assert_allclose(v.grad.numpy(), weights[index])
    want[index] = 2.5
    x = whet.tensor(A)
    x[tensors(index)] = 2.5
    np.testing.assert_array_equal(x.numpy()[index], want[index])
    assert x._version == 1


def test_rules_that_are_pytorchs():
    x = whet.tensor(A)
    # NumPy would put the gathered dimension first
    assert x[0, :, whet.tensor([1, 2])].shape == (4, 2)
    assert x[whet.tensor(1)].shape == (4, 5) and x[whet.tensor(1)]._base is x
    assert (x[True].shape == (1, 3, 4, 5) and x[False].shape == (0, 3, 4, 5)
            and x[whet.tensor(True), 0].shape == (1, 4, 5))
    assert (x[[0, slice(None)]].shape == (4, 5) and x[[[0, 1], [1, 2]]].shape == (2, 5)
            and x[[0, 2]].shape == (2, 4, 5))
    assert x[0, [True, False, True, False]].shape == (2, 5) and x[[]].shape == (0, 4, 5)
    assert (whet.tensor(5.0)[None].tolist() == [5] and whet.tensor(5.0)[...].item() == 5
            and whet.tensor(5.0)[()].item() == 5)
    assert x[0:whet.tensor(2)].shape == (2, 4, 5)
    assert [r.shape for r in x] == [(4, 5)] * 3


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_one_number_as_an_index_may_be_of_any_size(dtype):
    x, i = whet.tensor(A), whet.tensor(1, dtype=getattr(whet, dtype))
    assert (x[i] == x[1]).all() and (x[:, i, [0, 2]] == x[:, 1, [0, 2]]).all()
    x[i] = 7
    assert (x[1] == 7).all() and (x[0] != 7).all()


@pytest.mark.parametrize(
    "index, error, text",
    [(3, IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
     (-4, IndexError, "index -4 is out of bounds"),
     ((0, 4), IndexError, "index 4 is out of bounds for dimension 1 with size 4"),
     ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
     (slice(None, None, -1), ValueError, "step must be greater than zero"),
     ("a", TypeError, "invalid data type 'str'"), (1.0, IndexError, "only integers, slices"),
     ({}, IndexError, "got dict"), (slice("a"), TypeError, "slice indices must be integers"),
     (np.array([3]), IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
     (np.array([-4, 0]), IndexError, "index -4 is out of bounds"),
     ((slice(None), np.array([9])),
      IndexError,
      "index 9 is out of bounds for dimension 1 with size 4"),
     (np.array([0.5]), IndexError, "must be long"),
     (np.array([True, False]), IndexError, r"shape of the mask \[2\] at index 0 does not match"),
     ((I, I[:2]), IndexError, "could not be broadcast"),
     (np.array([1], np.int16), IndexError, "must be long")])
def test_bad_indices(index, error, text):
    x = whet.tensor(A)
    for i in (index, tensors(index)):
        with pytest.raises(error, match=text):
            x[i]
        with pytest.raises(error, match=text):
            x[i] = 0.0
    assert (x.numpy() == A).all() and x._version == 0


@pytest.mark.parametrize("value, error, text",
                         [([1, 2, 3], TypeError, "can't assign a list"),
                          ("a", TypeError, "can't assign a str"),
                          (None, TypeError, "can't assign a NoneType"),
                          (whet.ones(3), RuntimeError, "must match the existing size"),
                          (1j, RuntimeError, "cannot be converted")])
def test_bad_values(value, error, text):
    x = whet.zeros(2, 4)
    with pytest.raises(error, match=text):
        x[0] = value
    assert not x.any() and x._version == 0


def test_values_are_converted_and_broadcast():
    n = whet.zeros(2, 3, dtype=whet.int64)
    n[0] = 1.9
    n[1] = whet.tensor([-1.9, 2.0, 3.5])
    n[:, 2] = whet.ones(1, 1, 2)
    assert n.tolist() == [[1, 1, 1], [-1, 2, 1]]
    n[n > 0] = 7
    n[whet.tensor([1])] = np.array([4, 5, 6])
    assert n.tolist() == [[7, 7, 7], [4, 5, 6]]


def test_the_base_of_a_gather_may_be_overwritten():
    w = whet.ones(3, requires_grad=True)
    x = w * 2
    y = x[whet.tensor([0, 0])].sum() + x.gather(0, whet.tensor([1])).sum() + x[1:].sum()
    x.mul_(5)
    y.backward()
    assert w.grad.tolist() == [4, 4, 2]


def test_sums_at_equal_places_are_in_index_order():
    """Left to right in the type itself: 1 + 2**-24 loses the small number each time, the other
    way round does not."""
    small = np.full(64, 2.0**-24, np.float32)
    for v in ((np.concatenate([[1], small]).astype(np.float32),
               np.concatenate([small, [1]]).astype(np.float32))):
        want = np.float32(0)
        for e in v:
            want = np.float32(want + e)
        i = whet.zeros(65, dtype=whet.int64)
        for columns in (1, 3):
            source = whet.tensor(v)[:, None].expand(65, columns)
            got = [
                whet.zeros(2, columns).index_add(0, i, source),
                whet.zeros(2, columns).index_put((i,), source, accumulate=True),
                whet.zeros(2, columns).scatter_add(0, i[:, None].expand(65, columns), source)]
            x = whet.zeros(2, columns, requires_grad=True)
            x[i].backward(source)
            for r in (*got, x.grad):
                assert (r[0] == whet.tensor(want)).all() and not r[1].any()


def test_half_types_are_summed_in_float32():
    x = whet.zeros(2, 4, dtype=whet.bfloat16)
    r = x.index_add(0, whet.zeros(1000, dtype=whet.int64), whet.ones(1000, 4, dtype=whet.bfloat16))
    assert r.tolist() == [[1000] * 4, [0] * 4]


def test_gather_and_scatter_follow_take_along_axis():
    x, rng = whet.tensor(A), np.random.default_rng(4)
    for dim in (0, 1, -1):
        n = A.shape[dim]
        i = rng.integers(0, n, A.shape)
        for src, a in ((x, A), (x.permute(2, 0, 1), A.transpose(2, 0, 1))):
            k = i if src is x else i.transpose(2, 0, 1)
            d = dim % 3 if src is x else (dim % 3 + 1) % 3
            np.testing.assert_array_equal(
                src.gather(d, whet.tensor(k)).numpy(), np.take_along_axis(a, k, d))
            want = np.zeros(a.shape)
            np.put_along_axis(want, k, a, d)
            got = whet.zeros(a.shape, dtype=whet.float64).scatter(d, whet.tensor(k), src)
            assert (got.numpy() == want).all()
    assert x.gather(1, whet.tensor([[[3, 0]]])).tolist() == [[[A[0, 3, 0], A[0, 0, 1]]]]
    for bad in (4, -1):
        with pytest.raises(RuntimeError,
                           match=f"index {bad} is out of bounds for dimension 1 with size 4"):
            x.gather(1, whet.tensor([[[bad]]]))
        with pytest.raises(RuntimeError,
                           match=f"index {bad} is out of bounds for dimension 1 with size 4"):
            x.scatter_(1, whet.tensor([[[bad]]]), 1.0)


@pytest.mark.parametrize("reduce, combine",
                         [("sum", np.add), ("prod", np.multiply), ("amax", np.maximum),
                          ("amin", np.minimum), ("mean", None)])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce, combine, include_self):
    x, v = np.array([2.0, 3, 4]), np.array([5.0, 7, -1, 2])
    i = np.array([0, 0, 2, 0])
    want = x.copy()
    for k in range(3):
        group = [*([x[k]] if include_self else []), *v[i == k]] if (i == k).any() else [x[k]]
        want[k] = np.mean(group) if combine is None else combine.reduce(group)
    got = whet.tensor(x).scatter_reduce(0, whet.tensor(i), whet.tensor(v), reduce,
                                        include_self=include_self)
    np.testing.assert_allclose(got.numpy(), want)
    if reduce != "sum":
        got = whet.tensor(x).index_reduce(0, whet.tensor(i), whet.tensor(v), reduce,
                                          include_self=include_self)
        np.testing.assert_allclose(got.numpy(), want)


def test_whole_slices():
    x = whet.tensor(A)
    i = whet.tensor([2, 0])
    np.testing.assert_array_equal(x.index_select(1, i).numpy(), A[:, [2, 0]])
    want = A.copy()
    want[:, [2, 0]] = 7
    np.testing.assert_array_equal(x.index_fill(1, i, 7).numpy(), want)
    want[:, [2, 0]] = A[:, :2]
    np.testing.assert_array_equal(x.index_copy(1, i, x[:, :2]).numpy(), want)
    want = A.copy()
    want[:, [2, 0]] += 2 * A[:, :2]
    np.testing.assert_allclose(x.index_add(1, i, x[:, :2], alpha=2).numpy(), want)
    assert x.index_fill_(1, i, 7) is x and x[0, 0, 0] == 7
    for bad in ((lambda: x.index_select(0, whet.tensor([-1])),
                 lambda: x.index_copy(0, whet.tensor([5]), x[:1]))):
        with pytest.raises(IndexError):
            bad()
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.index_add(0, whet.tensor([3]), x[:1])


def test_flat_places():
    x = whet.arange(6.0).view(2, 3)
    assert (x.take(whet.tensor([0, -1])).tolist() == [0, 5]
            and x.t().take(whet.tensor([1])).tolist() == [3])
    x.t().put_(whet.tensor([1, 1]), whet.tensor([10.0, 20.0]), accumulate=True)
    assert x.tolist() == [[0, 1, 2], [33, 4, 5]]
    assert whet.take_along_dim(x, whet.tensor([[2], [0]]), 1).tolist() == [[2], [33]]
    with pytest.raises(IndexError, match="tried to access index 6 on a tensor of 6 elements"):
        x.take(whet.tensor([6]))


@pytest.mark.parametrize("shape", [(9000,), (60, 100), (7, 30, 40), (1, 5000, 0)])
def test_masks_of_many_elements(shape):
    rng = np.random.default_rng(0)
    plain, of = rng.normal(size=shape).astype("f4"), rng.random(shape) > 0.4
    for a, mask in ((plain, of), (plain.T, of.T), (plain, of.T.copy().T)):
        x, m, source = whet.tensor(a), whet.tensor(mask), whet.arange(float(a.size))
        wanted = a.copy()
        wanted[mask] = np.arange(mask.sum())
        assert np.array_equal(x[m].numpy(), a[mask])
        assert np.array_equal(x.masked_select(m).numpy(), a[mask])
        assert np.array_equal(x.masked_scatter(m, source).numpy(), wanted)
        assert np.array_equal(x.clone().masked_scatter_(m, source).numpy(), wanted)
        assert np.array_equal(m.nonzero().numpy(), np.argwhere(mask))
        assert np.array_equal((x * m).nonzero().numpy(), np.argwhere(a * mask))


def test_masks():
    x = whet.tensor(A)
    m = whet.tensor(MASK)
    np.testing.assert_array_equal(x.masked_fill(m, 0.5).numpy(), np.where(MASK, 0.5, A))
    np.testing.assert_array_equal(
        x.masked_select(m[0]).numpy(), A[np.broadcast_to(MASK[0], A.shape)])
    want = A.copy()
    want[MASK] = np.arange(MASK.sum())
    np.testing.assert_array_equal(x.masked_scatter(m, whet.arange(60.0, dtype=whet.float64)).numpy(), want)
    assert whet.zeros(2, dtype=whet.int64).masked_fill(whet.tensor([True, False]), 1.5).tolist() == [1, 0]
    with pytest.raises(RuntimeError, match="only supports boolean masks"):
        x.masked_fill(x.long(), 1)
    with pytest.raises(RuntimeError, match="0-dimensional value"):
        x.masked_fill(m, whet.ones(1, dtype=whet.float64))
    with pytest.raises(RuntimeError, match="Number of elements of source"):
        x.masked_scatter_(m, whet.ones(1, dtype=whet.float64))


def test_where_is_it_not_zero():
    a = np.array([[0, 3, 0], [4, 0, 5]])
    x = whet.tensor(a)
    np.testing.assert_array_equal(whet.nonzero(x).numpy(), np.argwhere(a))
    assert [t.tolist() for t in x.nonzero(as_tuple=True)] == [t.tolist() for t in np.nonzero(a)]
    assert [t.tolist() for t in whet.where(x > 0)] == [[0, 1, 1], [1, 0, 2]]
    assert (whet.nonzero(whet.tensor(1)).shape == (1, 0)
            and whet.tensor(0).nonzero(as_tuple=True)[0].tolist() == [])
    assert whet.nonzero_static(x, size=4).tolist() == [[0, 1], [1, 0], [1, 2], [-1, -1]]


def test_searches():
    edges = whet.tensor([1.0, 3.0, 5.0])
    v = whet.tensor([[0.0, 1.0], [3.5, float("nan")]])
    assert whet.bucketize(v, edges).tolist() == [[0, 0], [2, 3]]
    assert whet.bucketize(v, edges, right=True).tolist() == [[0, 1], [2, 3]]
    assert (whet.searchsorted(whet.tensor([[1, 3], [2, 4]]), whet.tensor([[3], [3]]),
                              side="right").tolist() == [[2], [1]])
    assert (whet.searchsorted(edges, 3.0).item() == 1
            and whet.bucketize(v, edges, out_int32=True).dtype is whet.int32)
    assert whet.isin(whet.tensor([1, 2, 3]), whet.tensor([2, 5])).tolist() == [False, True, False]
    assert whet.isin(whet.tensor([1, 2]), 2, invert=True).tolist() == [True, False]
    with pytest.raises(RuntimeError, match="first N-1 dimensions"):
        whet.searchsorted(whet.zeros(2, 3), whet.zeros(3, 2))


def test_distinct_values():
    x = whet.tensor([[3, 1], [3, 2], [3, 1]])
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True)
    assert (values.tolist() == [1, 2, 3] and counts.tolist() == [2, 1, 3]
            and (values[inverse] == x).all())
    values, inverse, counts = x.unique(return_inverse=True, return_counts=True, dim=0)
    assert (values.tolist() == [[3, 1], [3, 2]] and inverse.tolist() == [0, 1, 0]
            and counts.tolist() == [2, 1])
    values, counts = whet.unique_consecutive(whet.tensor([1, 1, 2, 1]), return_counts=True)
    assert values.tolist() == [1, 2, 1] and counts.tolist() == [2, 1, 1]
    assert (len(whet.unique(whet.tensor([float("nan"), 1.0, float("nan")]))) == 3
            and whet.unique(whet.zeros(0)).shape == (0,))
    r = whet.unique_all(whet.tensor([5, 4, 5]))
    assert (r.values.tolist() == [4, 5] and r.indices.tolist() == [1, 0]
            and r.counts.tolist() == [1, 2])


def test_counts():
    i = whet.tensor([0, 2, 2])
    assert (i.bincount().tolist() == [1, 0, 2]
            and i.bincount(whet.tensor([1.0, 2.0, 3.0]), 5).tolist() == [1, 0, 5, 0, 0])
    a = np.random.default_rng(5).normal(size=100).astype(np.float32)
    x = whet.tensor(a)
    np.testing.assert_array_equal(whet.histc(x, 7, -2, 2).numpy(), np.histogram(a, 7, (-2, 2))[0])
    hist, edges = whet.histogram(x, 6, range=(-1.0, 1.0), density=True)
    np.testing.assert_allclose(hist.numpy(),
                               np.histogram(a, 6, (-1, 1), density=True)[0],
                               rtol=1e-5)
    np.testing.assert_allclose(edges.numpy(), np.linspace(-1, 1, 7), atol=1e-6)
    h, e = whet.histogramdd(x.view(50, 2), [3, 4], range=(-2.0, 2.0, -1.0, 1.0))
    np.testing.assert_array_equal(h.numpy(),
                                  np.histogramdd(a.reshape(50, 2), [3, 4], [(-2, 2), (-1, 1)])[0])
    with pytest.raises(RuntimeError, match="weight tensor"):      # it would be read beyond its end
        whet.histogramdd(x.view(50, 2), [3, 4], weight=x[:20])
    assert (one_hot(whet.tensor([[0, 2]])).tolist() == [[[1, 0, 0], [0, 0, 1]]]
            and one_hot(whet.tensor([1]), 2).tolist() == [[0, 1]])
    for bad in (lambda: whet.bincount(whet.tensor([-1])), lambda: one_hot(whet.tensor([3]), 2),
                lambda: whet.histc(x, 0), lambda: one_hot(whet.tensor([-1]))):
        with pytest.raises(RuntimeError):
            bad()


def test_sorting():
    x = whet.tensor([2.0, float("nan"), -1.0, 2.0])
    values, indices = x.sort()
    assert indices.tolist() == [2, 0, 3, 1] and values[:3].tolist() == [-1, 2, 2]
    assert (x.sort(descending=True).indices.tolist() == [1, 0, 3, 2]
            and x.argsort().tolist() == [2, 0, 3, 1])
    y = whet.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(y.sort(1).values.numpy(force=True), np.sort(A, 1))
    np.testing.assert_array_equal(y.msort().numpy(force=True), np.sort(A, 0))
    np.testing.assert_array_equal(
        y.topk(2, 2).values.numpy(force=True), np.sort(A, 2)[:, :, :-3:-1])
    np.testing.assert_array_equal(y.kthvalue(3, 1).values.numpy(force=True), np.sort(A, 1)[:, 2])
    np.testing.assert_array_equal(y.median(2).values.numpy(force=True), np.median(A, 2))
    assert whet.tensor([[1, 2, 2], [3, 3, 1]]).mode().values.tolist() == [2, 3]
    assert (whet.median(whet.tensor([4, 1, 3, 2])).item() == 2 and whet.nanmedian(x).item() == 2
            and bool(whet.median(x).isnan()))
    for f in (lambda t: t.sort(1, True).values, lambda t: t.topk(2, 0, False).values,
              lambda t: t.kthvalue(2, 2).values, lambda t: t.median(), lambda t: t.median(1).values,
              lambda t: t.quantile(0.3, 1),
              lambda t: t.quantile(whet.tensor([0.2, 0.9], dtype=whet.float64))):
        assert whet.autograd.gradcheck(f, (y,))
    with pytest.raises(RuntimeError, match="out of range"):
        y.topk(9)


def test_elements_that_are_all_the_median_share_its_gradient():
    nan = float("nan")
    for values, function, wanted in (
            ([3., 1., 3., 3., 1.], whet.median, [1 / 3, 0, 1 / 3, 1 / 3, 0]),
            ([1., nan, 1., 2.], whet.nanmedian, [1 / 2, 0, 1 / 2, 0]),
            ([1., nan, 1., nan], whet.median, [0, 1 / 2, 0, 1 / 2])):
        x = whet.tensor(values, requires_grad=True)
        function(x).backward()
        np.testing.assert_allclose(x.grad.numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles(interpolation):
    x = whet.tensor(A)
    for dim in (None, 1):
        for keepdim in (False, True):
            got = x.quantile(whet.tensor([0.0, 0.37, 1.0], dtype=whet.float64), dim, keepdim,
                             interpolation=interpolation)
            np.testing.assert_allclose(
                got.numpy(),
                np.quantile(A, [0.0, 0.37, 1.0], dim, method=interpolation, keepdims=keepdim))
    b = A.copy()
    b[0, 0] = np.nan
    b[0, 0, 1] = 2
    np.testing.assert_allclose(
        whet.tensor(b).nanquantile(0.4, 2).numpy(), np.nanquantile(b, 0.4, 2))
    assert (whet.tensor(b).quantile(0.4, 1).isnan()[0, [0, 2, 3, 4]].all()
            and not whet.tensor(b).quantile(0.4, 1).isnan()[1:].any())


def test_filling():
    x = whet.zeros(3, 3)
    assert x.fill_(2) is x and x.sum() == 18 and x.zero_().sum() == 0
    assert x.fill_diagonal_(1).tolist() == np.eye(3).tolist()
    want = np.zeros((7, 3))
    np.fill_diagonal(want, 5, wrap=True)
    assert whet.zeros(7, 3).fill_diagonal_(5, wrap=True).tolist() == want.tolist()
    w = whet.ones((), requires_grad=True)
    whet.zeros(2, 3).fill_(w).sum().backward()
    assert w.grad == 6


def test_a_value_that_does_not_fit_is_said_before_where_it_goes():
    """The order of PyTorch's errors, which traced calls have too."""
    x = whet.ones(1, 8).expand(3, 8)
    for f in ((lambda x, v: x.__setitem__(..., v),
               whet.jit.trace(lambda x, v: x.__setitem__(..., v)))):
        with pytest.raises(RuntimeError, match="must match the existing size"):
            f(x, whet.ones(8, 8))
        with pytest.raises(RuntimeError, match="more than one element"):
            f(x, whet.ones(3, 8))


def test_one_hot_in_a_trace_asks_only_whether_classes_are_in_range():
    f = jit.trace(lambda k: one_hot(k, 4).float() * 2)
    for k in [3, 0, 2], [0, 0, 1], [2, 2, 2], [1, 3, 1]:
        t = whet.tensor(k)
        assert f(t).tolist() == (one_hot(t, 4).float() * 2).tolist()
    assert len(f.explain(data=True)["paths"]) == 1
    for bad in [4, 0, 0], [0, -1, 0]:
        with pytest.raises(RuntimeError, match="Class values must be"):
            f(whet.tensor(bad))


@pytest.mark.parametrize("shape, dims, index",
                         [((7, 9), (0, 1), lambda i, j:
                           (i, j)), ((7, 9, 5), (0, 1), lambda i, j:
                                     (i, j)), ((3, 7, 9), (1, 2), lambda i, j: (slice(None), i, j)),
                          ((7, 9), (0, 1), lambda i, j: (i[:10, None], j[None, :6])),
                          ((7, 9), (0, 1), lambda i, j:
                           (i[:10].reshape(5, 2).T, j[:10].reshape(5, 2).T)), ])
def test_putting_at_several_indices(shape, dims, index):
    rng = np.random.default_rng(0)
    i, j = whet.tensor(rng.integers(-7, 7, 50)), whet.tensor(rng.integers(-9, 9, 50))
    x, key = whet.randn(*shape), index(i, j)
    w = whet.randn(*x[key].shape)

    def gradient(x, w, i, j):
        x = x.detach().requires_grad_()
        (x[index(i, j)] * w).sum().backward()
        return x.grad

    def written(x, w, i, j):
        x = x.clone()
        x[index(i, j)] = w
        return x
    plain = tuple(k.numpy() if isinstance(k, whet.Tensor) else k for k in key)
    summed, put = np.zeros(shape, "f4"), x.numpy().copy()
    np.add.at(summed, plain, w.numpy())
    put[plain] = w.numpy()
    for fn, want in (gradient, summed), (written, put):
        f = jit.trace(fn)
        for _ in range(3):
            np.testing.assert_allclose(f(x, w, i, j).numpy(), want, atol=1e-5)
        assert f(x, w, i, j).numpy().tobytes() == fn(x, w, i, j).numpy().tobytes()
        assert "index_put" not in f.explain() or not f.explain(data=True)["paths"][0]["python"]
        for bad in 9, -10, 2**60:
            k = j.clone()
            k[3] = bad
            with pytest.raises(IndexError, match="out of bounds for dimension"):
                f(x, w, i, k)
            assert fn(x, w, i, j).numpy().tobytes() == f(x, w, i, j).numpy().tobytes()


def test_a_tensor_without_dimensions_has_no_places():
    def read(x, y):
        return x[y.size(-1)]

    def write(x, y):
        x[y.size(-1)] = 1.0
    for way in (read, write, whet.jit.trace(read), whet.jit.trace(write)):
        with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
            way(whet.tensor(1.0), whet.ones(3, 2))


@pytest.mark.parametrize("layout", ["dense", "transposed", "part", "expanded"])
@pytest.mark.parametrize("first, of", [(0, 1), (0, 2), (0, 3), (1, 2)])
@pytest.mark.parametrize("width", [2, 9])
def test_a_mask_of_several_dimensions_in_any_layout(layout, first, of, width):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((6, 8, width)).astype("f")
    x = whet.tensor(a, requires_grad=True)
    if layout == "transposed":
        a, t = a.transpose(1, 0, 2), x.transpose(0, 1)
    elif layout == "part":
        a, t = a[:, 1:6], x[:, 1:6]
    elif layout == "expanded":
        a, t = np.broadcast_to(a[:, :1], a.shape), x[:, :1].expand(a.shape)
    else:
        t = x
    mask = rng.random(a.shape[first:first + of]) > 0.4
    key, names = (slice(None),) * first + (mask,), (slice(None),) * first + (whet.tensor(mask),)
    assert np.array_equal(t[names].detach().numpy(), a[key])
    weights = rng.standard_normal(a[key].shape).astype("f")
    t[names].backward(whet.tensor(weights))
    wanted = np.zeros(a.shape, "f")
    wanted[key] = weights
    got, = whet.autograd.grad(t[names], t, whet.tensor(weights))
    assert np.array_equal(got.numpy(), wanted)
    if first == 0 and of == 3:
        assert np.array_equal(whet.masked_select(t, whet.tensor(mask)).detach().numpy(), a[mask])


@pytest.mark.parametrize("count", [1, 24, 25, 1000])
def test_one_wrong_number_is_found_among_few_and_many(count):
    """Python looks at few, NumPy at many."""
    index = whet.arange(count)
    targets, classes = index % 7, whet.zeros(count, 7)
    assert whet.zeros(count)[index].shape == (count,)
    assert whet.bincount(index).tolist() == [1] * count
    assert whet.nn.functional.nll_loss(classes, targets) == 0
    for place in {0, count // 2, count - 1}:
        for wrong in (-count - 1, count):
            bad = index.clone()
            bad[place] = wrong
            with pytest.raises(IndexError):
                whet.zeros(count)[bad]
        for wrong in (-1, 7):
            bad = targets.clone()
            bad[place] = wrong
            with pytest.raises(IndexError):
                whet.nn.functional.nll_loss(classes, bad)
        bad = index.clone()
        bad[place] = -1
        with pytest.raises(RuntimeError, match="non-negative"):
            whet.bincount(bad)


@pytest.mark.parametrize("indices", [(), [], (None,), (None, None)])
@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_without_an_index_says_so(indices, accumulate):
    x = whet.ones(2, 3)
    for call in (x.index_put_, x.index_put):
        with pytest.raises(IndexError, match="must have a tensor for some dimension"):
            call(indices, whet.tensor(5.0), accumulate=accumulate)
    assert x.tolist() == [[1.0] * 3] * 2


def test_a_list_of_ranges_is_an_index_for_each_dimension():
    x = whet.arange(12).view(3, 4)
    assert x[[range(2), range(2)]].tolist() == x[range(2), range(2)].tolist() == [0, 5]
    with pytest.raises(TypeError, match="does not support deleting"):
        del x[0]
