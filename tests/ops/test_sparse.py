"""Sparse tensors: what they hold, what is done with them, their gradients, and their errors."""
import copy
import io
import pickle

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn, optim

LAYOUTS = whet.sparse_coo, whet.sparse_csr, whet.sparse_csc


def matrix(seed=0, n=6, m=5, dtype="f8"):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, m)) * (rng.random((n, m)) < 0.5)).astype(dtype)


def sparse(a, layout=whet.sparse_coo):
    return whet.tensor(a).to_sparse(layout=layout)


def unordered(a):
    """Its entries in any order, one of them in two parts."""
    s = sparse(a)
    order = whet.tensor(np.random.default_rng(1).permutation(s._nnz()))
    places, values = s._indices()[:, order], s._values()[order]
    half = values[:1] / 2
    return whet.sparse_coo_tensor(whet.cat([places, places[:, :1]], 1),
                                  whet.cat([half, values[1:], half]), a.shape)


def near(x, y):
    x = x.to_dense() if x.layout is not whet.strided else x
    np.testing.assert_allclose(x.detach().numpy(), y, rtol=1e-12, atol=1e-12)


# ---- what they are -------------------------------------------------------------------------------
def test_parts_of_a_coo_tensor():
    s = whet.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3., 4., 5.], (2, 3))
    assert isinstance(s, whet.Tensor) and whet.is_tensor(s)
    assert s.layout is whet.sparse_coo and s.is_sparse and not s.is_sparse_csr
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), s.numel()) == (2, 0, 3, 6)
    assert s.shape == whet.Size([2, 3]) and not s.is_coalesced()
    with pytest.raises(RuntimeError, match="please call .coalesce"):
        s.indices()
    c = s.coalesce()
    assert c.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and c.values().tolist() == [3, 4, 5]
    assert repr(s) == """tensor(indices=tensor([[0, 1, 1],
                       [2, 0, 2]]),
       values=tensor([3., 4., 5.]),
       size=(2, 3), nnz=3, layout=whet.sparse_coo)"""


def test_its_text_says_what_its_numbers_do_not():
    s = sparse(matrix(0, 2, 2))
    assert repr(s[0:0]) == """tensor(indices=tensor([], size=(2, 0)),
       values=tensor([], size=(0,)),
       size=(0, 2), nnz=0, dtype=whet.float64, layout=whet.sparse_coo)"""
    r = whet.sparse_csr_tensor([0, 2, 4], [0, 1, 0, 1], whet.arange(4.0), requires_grad=True)
    assert repr(r) == """tensor(crow_indices=tensor([0, 2, 4]),
       col_indices=tensor([0, 1, 0, 1]),
       values=tensor([0., 1., 2., 3.]), size=(2, 2), nnz=4,
       layout=whet.sparse_csr, requires_grad=True)"""
    long = whet.sparse_coo_tensor([range(30)], whet.arange(30.0) / 7, (30,))
    assert all(len(line) <= 80 for line in repr(long).splitlines())


def test_what_is_asked_of_one():
    s = sparse(matrix(dtype="f4"))
    assert s.is_signed() and not s.is_pinned() and s.get_device() == -1 and s.itemsize == 4
    assert whet.is_floating_point(s) and whet.numel(s) == 30
    assert whet.result_type(s, whet.ones(1, dtype=whet.float64)) is whet.float64
    assert s.type() == "whet.sparse.FloatTensor" and s.type(whet.float64).dtype is whet.float64
    one = whet.sparse_coo_tensor([[0]], [2.5], (1,))
    assert (float(one), int(one), complex(one)) == (2.5, 2, 2.5)
    with pytest.raises(RuntimeError, match="30 elements"):
        float(s)


def test_names_of_types():
    """Programs of PyTorch's first years make them so."""
    places = whet.LongTensor([[0, 1], [1, 0]])
    s = whet.sparse.FloatTensor(places, whet.FloatTensor([1, 2]), whet.Size([2, 2]))
    assert s.to_dense().tolist() == [[0, 1], [2, 0]]
    assert isinstance(s, whet.sparse.FloatTensor) and not isinstance(s, whet.sparse.LongTensor)
    assert not isinstance(s.to_dense(), whet.sparse.FloatTensor)
    assert not isinstance(s, whet.FloatTensor)
    assert whet.sparse.DoubleTensor(2, 3).to_dense().tolist() == [[0] * 3] * 2
    with pytest.raises(TypeError, match="values of whet.int64"):
        whet.sparse.LongTensor(places, whet.ones(2))


def test_parts_of_compressed_tensors():
    a = matrix()
    r, c = sparse(a, whet.sparse_csr), sparse(a, whet.sparse_csc)
    assert r.crow_indices().tolist() == [0, *np.cumsum((a != 0).sum(1)).tolist()]
    assert c.ccol_indices().tolist() == [0, *np.cumsum((a != 0).sum(0)).tolist()]
    assert r.col_indices().tolist() == a.nonzero()[1].tolist()
    assert c.row_indices().tolist() == a.T.nonzero()[1].tolist()
    with pytest.raises(RuntimeError):
        r.ccol_indices()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_from_one_layout_to_another(layout, other):
    a = matrix()
    s = sparse(a, layout).to_sparse(layout=other)
    assert s.layout is other
    near(s, a)
    near(s.t(), a.T)
    assert sparse(a, layout).to_sparse().layout is whet.sparse_coo


def test_blocks():
    a = matrix(0, 6, 4)
    for layout in (whet.sparse_bsr, whet.sparse_bsc):
        s = whet.tensor(a).to_sparse(layout=layout, blocksize=(3, 2))
        assert s.values().shape[1:] == (3, 2)
        near(s, a)
        near(s.t(), a.T)
        near(s @ whet.tensor(matrix(1, 4, 3)), a @ matrix(1, 4, 3))


def test_dense_dimensions():
    a = matrix(0, 6, 4).reshape(2, 3, 4)
    s = whet.tensor(a).to_sparse(2)
    assert (s.sparse_dim(), s.dense_dim()) == (2, 1)
    near(s, a)
    near(s.sum((0, 2)), a.sum((0, 2)))
    near(s.select(2, 1), a[:, :, 1])


def test_equal_places_are_summed_in_their_order():
    s = whet.sparse_coo_tensor([[1, 0, 1]], [1., 2., 3.], (2,))
    assert s.coalesce().values().tolist() == [2, 4]
    near(s, [2, 4])


# ---- errors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("places, values, size, message", [
    ([[0, 5], [0, 1]], [1., 2.], (2, 3), "size is inconsistent with indices: for dim 0"),
    ([[0, -1], [0, 1]], [1., 2.], (2, 3), "found negative index -1 for dim 0"),
    ([[0, -1], [0, 1]], [1., 2.], None, "found negative index"),
    ([[0, 1]], [1., 2.], (2, 3), "len.size. == sparse_dim . dense_dim"),
    ([[0, 1]], [1., 2., 3.], (2,), "must have same nnz"),
    ([[0, 1]], [1., 2.], (-2,), "negative dimension"),
    ([0, 1], [1., 2.], (2,), "sparse_dim x nnz")])
def test_coo_tensors_that_cannot_be(places, values, size, message):
    with pytest.raises(RuntimeError, match=message):
        whet.sparse_coo_tensor(places, values, size)


@pytest.mark.parametrize("pointers, places", [
    ([0, 1, 3], [0, 5, 1]), ([0, 1, 3], [0, -1, 1]), ([0, 4, 3], [0, 1, 2]), ([1, 1, 3], [0, 1, 2]),
    ([0, 1, 2], [0, 1, 2]), ([0, 3], [0, 1, 2])])
def test_csr_tensors_that_cannot_be(pointers, places):
    with pytest.raises(RuntimeError):
        whet.sparse_csr_tensor(pointers, places, [1., 2., 3.], (2, 3))


def test_invariants_are_looked_at_where_that_is_asked_for():
    def make():
        return whet.sparse_csr_tensor([0, 2], [1, 0], [1., 2.], (1, 2))
    make()
    with whet.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match="sorted"):
        make()
    make()
    with pytest.raises(RuntimeError, match="sorted"):
        whet.sparse_csr_tensor([0, 2], [1, 0], [1., 2.], (1, 2), check_invariants=True)


def test_a_wrong_index_that_was_written_later_is_an_error_and_no_fault():
    s = sparse(matrix())
    s._indices()[1, 0] = 1 << 40
    with pytest.raises(IndexError):
        s @ whet.ones(5, 3, dtype=whet.float64)
    r = sparse(matrix(), whet.sparse_csr)
    r.crow_indices()[1] = 1 << 40
    with pytest.raises(RuntimeError):
        r @ whet.ones(5, 3, dtype=whet.float64)


def test_what_there_is_not_says_so():
    s = sparse(matrix())
    for f in (whet.exp, whet.cos, whet.max, lambda x: x.view(30), lambda x: x == x, lambda x: x > 1,
              lambda x: x + 1, lambda x: 1 / x, lambda x: x.mean()):
        with pytest.raises(NotImplementedError, match="whet.sparse_coo"):
            f(s)
    with pytest.raises(TypeError, match="to_dense"):
        s.numpy()
    with pytest.raises(RuntimeError, match="zeroth power"):
        s ** 0
    with pytest.raises(RuntimeError, match="scalar or zero-dim"):
        s / s
    assert not hasattr(s, "no_such_name")
    for ask in ("indices", "coalesce", "is_coalesced"):
        with pytest.raises(RuntimeError, match=f"{ask} expected sparse coordinate tensor layout"):
            getattr(sparse(matrix(), whet.sparse_csr), ask)()
    with pytest.raises(TypeError, match="Parameter: a tensor of layout whet.sparse_coo"):
        nn.Parameter(s)


# ---- what is done with them, with gradients ------------------------------------------------------
D = matrix(5, 5, 4)
CASES = {
    "product": (lambda s: s @ whet.tensor(D), lambda a: a @ D),
    "dense product": (lambda s: whet.tensor(D.T) @ s.t(), lambda a: D.T @ a.T),
    "with a vector": (lambda s: s @ whet.tensor(D[:, 0]), lambda a: a @ D[:, 0]),
    "with itself": (lambda s: s @ s.t(), lambda a: a @ a.T),
    "linear": (lambda s: F.linear(whet.tensor(D.T), s), lambda a: D.T @ a.T),
    "sum": (lambda s: s.sum(), lambda a: a.sum()),
    "along rows": (lambda s: s.sum(0), lambda a: a.sum(0)),
    "added": (lambda s: s + s * 2, lambda a: a * 3),
    "subtracted": (lambda s: s - 3 * s, lambda a: -2 * a),
    "to a dense one": (lambda s: whet.tensor(matrix(3)) + s, lambda a: matrix(3) + a),
    "from a dense one": (lambda s: whet.tensor(matrix(3)) - s, lambda a: matrix(3) - a),
    "times itself": (lambda s: s * s, lambda a: a * a),
    "times a dense one": (lambda s: s * whet.tensor(matrix(3)), lambda a: a * matrix(3)),
    "of a dense one": (lambda s: whet.tensor(matrix(3)) * s, lambda a: a * matrix(3)),
    "halved": (lambda s: s / 2, lambda a: a / 2),
    "squared": (lambda s: s ** 2, lambda a: a ** 2),
    "sine": (lambda s: s.sin(), np.sin),
    "tangent": (lambda s: whet.tanh(s), np.tanh),
    "rectified": (lambda s: F.relu(s), lambda a: a.clip(0)),
    "of a dense batch": (lambda s: whet.tensor(np.stack([D.T, -D.T])) @ s.t(),
                         lambda a: np.stack([D.T @ a.T, -D.T @ a.T])),
    "not below zero": (lambda s: s.clamp(min=0), lambda a: a.clip(0)),
    "finite": (lambda s: whet.nan_to_num(s), lambda a: a),
    "beside itself": (lambda s: whet.hstack([s, s]), lambda a: np.hstack([a, a])),
    "below itself": (lambda s: whet.vstack([s, s]), lambda a: np.vstack([a, a])),
    "some rows": (lambda s: s[whet.tensor([True, False] * 3)], lambda a: a[::2]),
    "negative": (lambda s: -s, lambda a: -a),
    "absolute": (lambda s: abs(s), abs),
    "norm": (lambda s: s.norm(), np.linalg.norm)}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("form", [*LAYOUTS, "unordered"], ids=str)
def test_it_is_what_dense_tensors_give(name, form):
    f, expected = CASES[name]
    a = matrix()
    s = unordered(a) if form == "unordered" else sparse(a, form)
    near(f(s), expected(a))
    # the gradient: that of the dense tensor, at the places
    s, d = s.detach().requires_grad_(), whet.tensor(a, requires_grad=True)
    for x in (s, d):
        y = f(x)
        y = y.to_dense() if y.layout is not whet.strided else y
        (y * (whet.arange(y.numel()).reshape(y.shape) + 1.0).cos()).sum().backward()
    there = whet.tensor(a != 0)
    got = s.grad.to_dense()
    if form == "unordered":                      # of equal places each has the whole gradient
        first = tuple(s._indices()[:, 0].tolist())
        got[first] /= 2
    np.testing.assert_allclose(got.numpy(), (d.grad * there).numpy(), atol=1e-9)


def test_parts_and_places():
    a, s = matrix(), sparse(matrix())
    near(s[1], a[1])
    near(s[:, 1:4], a[:, 1:4])
    near(s[None], a[None])
    near(s[..., 2], a[..., 2])
    near(s.index_select(1, whet.tensor([4, 0, 0])), a[:, [4, 0, 0]])
    near(s.narrow(0, 2, 3), a[2:5])
    near(whet.cat([s, s], 1), np.concatenate([a, a], 1))
    near(whet.stack([s, s]), np.stack([a, a]))
    near(s.unsqueeze(1), a[:, None])
    near(s.permute(1, 0), a.T)
    assert s[1, 2].item() == a[1, 2] and len(s) == 6
    for row, x in zip(a, s, strict=True):
        near(x, row)
    near(whet.tensor(matrix(3)).sparse_mask(s), matrix(3) * (a != 0))


def test_products_of_other_names():
    a, s = matrix(), sparse(matrix())
    d, e = whet.tensor(D), whet.tensor(matrix(6, 6, 4))
    near(whet.addmm(e, s, d, beta=2, alpha=3), 2 * matrix(6, 6, 4) + 3 * (a @ D))
    near(whet.spmm(s, d), a @ D)
    near(whet.smm(s, d), a @ D)
    near(whet.hspmm(s, d), a @ D)
    near(whet.sspaddmm(sparse(matrix(6, 6, 4)), s, d), matrix(6, 6, 4) + a @ D)
    near(whet.bmm(whet.stack([s, s]), whet.stack([d, d])), np.stack([a @ D] * 2))
    mask = sparse(matrix(7, 6, 5), whet.sparse_csr)
    near(whet.sparse.sampled_addmm(mask, e, d.t()),
         matrix(7, 6, 5) + (matrix(6, 6, 4) @ D.T) * (matrix(7, 6, 5) != 0))
    near(whet.sparse.mm(s, d, "mean"), (a @ D) / np.maximum((a != 0).sum(1), 1)[:, None])


def test_softmax_is_over_the_entries():
    a, s = matrix(), sparse(matrix())
    for dim in (0, 1):
        powers = np.exp(a) * (a != 0)
        expected = powers / np.maximum(powers.sum(dim, keepdims=True), 1e-300)
        near(whet.sparse.softmax(s, dim), expected)
        with np.errstate(divide="ignore"):
            near(whet.sparse.log_softmax(s, dim), np.where(a != 0, np.log(expected), 0))


def test_in_place():
    s = sparse(matrix())
    s.mul_(2)
    near(s, matrix() * 2)
    s += sparse(matrix(3))
    near(s, matrix() * 2 + matrix(3))
    d = whet.tensor(matrix())
    d += s
    near(d, matrix() * 3 + matrix(3))
    s.zero_()
    assert s._nnz() == 0


def test_second_derivatives():
    s = sparse(matrix()).requires_grad_()
    d = whet.tensor(D, requires_grad=True)
    g, = whet.autograd.grad((s @ d).square().sum(), d, create_graph=True)
    h, = whet.autograd.grad(g.square().sum(), s)
    assert h.layout is whet.sparse_coo and h._nnz() == s._nnz()
    eps = 1e-6
    step = whet.tensor(np.random.default_rng(0).standard_normal(s._nnz()))

    def value(t):
        moved = s.detach()._with(s._held.detach() + t * step)
        g, = whet.autograd.grad((moved @ d).square().sum(), d)
        return g.square().sum().item()
    numeric = (value(eps) - value(-eps)) / (2 * eps)
    assert (h._held * step).sum().item() == pytest.approx(numeric, rel=1e-6)


@pytest.mark.parametrize("threads", [1, 3])
def test_sums_do_not_depend_on_threads_or_on_the_form(threads):
    before = whet.get_num_threads()
    rng = np.random.default_rng(0)
    flat = np.sort(rng.choice(3000 * 900, 30000, replace=False))
    values = rng.standard_normal(30000).astype("f4")
    s = whet.sparse_coo_tensor(np.stack([flat // 900, flat % 900]), values, (3000, 900),
                               is_coalesced=True)
    d = whet.tensor(rng.standard_normal((900, 70)).astype("f4"))
    forms = s, s.to_sparse_csr(), s.to_sparse_csc(), s._with(s._held)._coalesced_(False)
    expected = (s @ d).numpy().tobytes()
    whet.set_num_threads(threads)
    try:
        assert {(x @ d).numpy().tobytes() for x in forms} == {expected}
    finally:
        whet.set_num_threads(before)


# ---- sparse gradients ----------------------------------------------------------------------------
def test_an_embedding_with_sparse_gradients():
    table = nn.Embedding(10, 4, padding_idx=2, sparse=True)
    table(whet.tensor([[1, 2, 3], [3, 4, 1]])).sum().backward()
    g = table.weight.grad
    assert g.is_sparse and g._indices().tolist() == [[1, 3, 3, 4, 1]]
    table(whet.tensor([5])).sum().backward()
    assert table.weight.grad.is_sparse and table.weight.grad._nnz() == 6
    (table.weight * 2).sum().backward()
    assert not table.weight.grad.is_sparse


@pytest.mark.parametrize("name, options", [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}), ("SparseAdam", {"lr": 0.1})])
def test_optimizers_take_sparse_gradients(name, options):
    """They do what they do with dense ones, to rounding: these add in another order."""
    seen = []
    for is_sparse in (True, False):
        whet.manual_seed(0)
        table = nn.EmbeddingBag(10, 4, sparse=is_sparse, mode="sum")
        other = nn.Linear(4, 1)
        groups = [table.weight] if name == "SparseAdam" else [table.weight, *other.parameters()]
        optimizer = getattr(optim, name)(groups, **options)
        for i in range(3):
            optimizer.zero_grad()
            other(table(whet.tensor([[1, 2, 3], [3, i + 4, 1]]))).square().sum().backward()
            optimizer.step()
        seen.append(table.weight.detach().numpy())
    np.testing.assert_allclose(*seen, rtol=1e-5, atol=1e-7)


def test_optimizers_that_cannot_take_them_say_so():
    table = nn.Embedding(4, 2, sparse=True)
    optimizer = optim.Adam(table.parameters())
    table(whet.tensor([1])).sum().backward()
    before = table.weight.detach().clone()
    with pytest.raises(RuntimeError, match="Adam does not support sparse gradients"):
        optimizer.step()
    assert (table.weight == before).all()


# ---- copies, files, others -----------------------------------------------------------------------
@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_and_files(layout):
    s = sparse(matrix(), layout).requires_grad_()
    saved = io.BytesIO()
    whet.save({"s": s}, saved)
    saved.seek(0)
    for other in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), whet.load(saved)["s"]):
        assert other.layout is layout and other.requires_grad and other._held is not s._held
        near(other, matrix())
    assert s.clone().layout is layout and s.to(whet.float32).dtype is whet.float32


def test_a_file_with_a_wrong_index_is_refused():
    s = sparse(matrix())
    s._indices()[0, 0] = 99
    saved = io.BytesIO()
    whet.save(s, saved)
    saved.seek(0)
    with pytest.raises(RuntimeError, match="size is inconsistent"):
        whet.load(saved)


def test_a_module_keeps_one_as_a_buffer():
    module = nn.Linear(5, 2)
    module.register_buffer("adj", sparse(matrix(dtype="f4")))
    other = copy.deepcopy(module)
    other.adj.zero_()
    other.load_state_dict(module.state_dict())
    near(other.double().adj, matrix(dtype="f4"))


def test_scipy_both_ways():
    scipy = pytest.importorskip("scipy.sparse")
    a = matrix()
    for kind in ("csr", "csc", "coo"):
        theirs = getattr(scipy, f"{kind}_array")(a)
        ours = whet.sparse.from_scipy(theirs)
        assert str(ours.layout) == f"whet.sparse_{kind}"
        near(ours, a)
        back = whet.sparse.to_scipy(ours)
        assert back.format == kind and (back.toarray() == a).all()


def test_the_parts_of_each_layout_have_its_names():
    values, block = whet.tensor([2.0]), whet.tensor([[[2.0]]])
    rows, columns = {"crow_indices": [0, 1], "col_indices": [0]}, {"ccol_indices": [0, 1],
                                                                   "row_indices": [0]}
    for make, parts, held in (
            (whet.sparse_csr_tensor, rows, values), (whet.sparse_csc_tensor, columns, values),
            (whet.sparse_bsr_tensor, rows, block), (whet.sparse_bsc_tensor, columns, block)):
        assert make(**parts, values=held).to_dense().tolist() == [[2]]
        assert make(*parts.values(), held, (1, 1), dtype=whet.float64).dtype is whet.float64


def test_functions_of_users_save_sparse_tensors():
    class Product(whet.autograd.Function):
        @staticmethod
        def forward(ctx, places, values, b):
            a = whet.sparse_coo_tensor(places, values, (3, 3))
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            rows, columns = a._indices()
            return None, (g @ b.t())[rows, columns], a.t() @ g

    places = whet.tensor([[0, 2], [1, 0]])
    values, b = whet.tensor([2.0, 3.0], requires_grad=True), whet.ones(3, 2, requires_grad=True)

    def gradients(values, b):
        return whet.autograd.grad(Product.apply(places, values, b).pow(2).sum(), (values, b))

    traced = whet.jit.trace(gradients)
    for _ in range(3):
        for given in gradients(values, b), traced(values, b):
            assert given[0].tolist() == [8, 12]
            assert given[1].tolist() == [[18, 18], [8, 8], [0, 0]]


def test_a_saved_sparse_tensor_that_was_written_to_is_an_error():
    class Values(whet.autograd.Function):
        @staticmethod
        def forward(ctx, x, a):
            ctx.save_for_backward(a)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            ctx.saved_tensors                                                       # noqa: B018
            return g, None

    a = sparse(matrix())
    y = Values.apply(whet.ones(2, requires_grad=True), a)
    a._values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_values_made_in_inference_mode_are_told():
    with whet.inference_mode():
        inside = sparse(matrix())
    assert inside.is_inference() and not sparse(matrix()).is_inference()


def test_places_of_a_sparse_tensor_may_be_floats():
    made = whet.sparse_coo_tensor(whet.tensor([[0.0, 1.0], [1.0, 0.0]]), whet.ones(2), (2, 2))
    assert made._indices().dtype == whet.int64
    assert made.to_dense().tolist() == [[0, 1], [1, 0]]
