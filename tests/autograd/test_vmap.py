"""vmap of every registered op, by its samples, is the loop; and what vmap does beyond single
ops."""
import numpy as np
import pytest
import whet
from whet import func
from whet.dtypes import FLOAT
from whet.nn import functional as F
from whet.ops import batching
from whet.ops.registry import REGISTRY
from whet.utils.checkpoint import checkpoint, set_checkpoint_early_stop

from tests.ops.test_ops import RANDOM, calls

TESTED = [
    n for n in sorted(REGISTRY)
    if n not in RANDOM and REGISTRY[n].samples is not None and any(
        s.args for s in calls(REGISTRY[n], 0))]
EXAMPLES = 3


@pytest.fixture(autouse=True)
def no_loops(monkeypatch):
    """Every op has a rule for a batch; the loop is for those of users."""
    def looped(op, *_):
        raise AssertionError(f"vmap runs {op.name} for each example in turn")
    monkeypatch.setattr(batching, "looped", looped)


def batches(op):
    """(sample, stacked operands): the sample's calls with other numbers, one an example, where
    shapes allow it."""
    for same in zip(*[list(calls(op, seed)) for seed in range(EXAMPLES)]):
        columns = list(
            zip(*[[a.detach() if whet.is_tensor(a) else a for a in s.args] for s in same])
        )
        if all(not whet.is_tensor(c[0]) or len({t.shape for t in c}) == 1 for c in columns):
            yield same[0], [whet.stack(c) if whet.is_tensor(c[0]) else c[0] for c in columns]


def each(op, sample, stacked, batched):
    """The results of the loop over the examples."""
    rows = []
    for i in range(EXAMPLES):
        args = [
            s[i] if b else a.detach() if whet.is_tensor(a) else a
            for a, s, b in zip(sample.args, stacked, batched)
        ]
        r = op(*args, **sample.kwargs)
        rows.append(r if isinstance(r, tuple) else (r,))
    return rows


def assert_is_the_loop(op, sample, stacked, batched):
    try:
        rows = each(op, sample, stacked, batched)
    except RuntimeError:
        # another example's data does not fit this one's
        return
    if len({tuple(x.shape for x in r) for r in rows}) > 1:
        return
    args = [
        s if b else a.detach() if whet.is_tensor(a) else a
        for a, s, b in zip(sample.args, stacked, batched)
    ]
    dims = tuple(0 if b else None for b in batched)
    out = whet.vmap(lambda *a: op(*a, **sample.kwargs), dims)(*args)
    out = out if isinstance(out, tuple) else (out,)
    for k, got in enumerate(out):
        want = whet.stack([r[k] for r in rows])
        assert got.dtype is want.dtype and got.shape == want.shape
        np.testing.assert_allclose(
            got.numpy(),
            want.numpy(),
            rtol=1e-9,
            atol=1e-11,
            err_msg=f"{op.name} {sample} {batched}",
        )


@pytest.mark.parametrize("name", TESTED)
def test_vmap_of_an_op_is_the_loop(name):
    op = REGISTRY[name]
    for sample, stacked in batches(op):
        are = [whet.is_tensor(a) for a in sample.args]
        assert_is_the_loop(op, sample, stacked, are)
        if sum(are) > 1:
            for k, tensor in enumerate(are):
                if tensor:
                    assert_is_the_loop(op, sample, stacked, [i == k for i in range(len(are))])
                    assert_is_the_loop(
                        op, sample, stacked, [t and i != k for i, t in enumerate(are)]
                    )


# ---- what the samples do not show ----------------------------------------------------------------
def numbers(*shape):
    return whet.tensor(np.random.default_rng(7).standard_normal(shape))


def longs(*rows):
    return whet.tensor(rows)


BY_EACH_INDEX = {
    "index_add": lambda x, s, i: x.index_add(1, i, s),
    "index_copy": lambda x, s, i: x.index_copy(1, i, s),
    "index_fill": lambda x, s, i: x.index_fill(1, i, s[0, 0]),
    "index_fill, one number": lambda x, s, i: x.index_fill(0, i - 2, 3.0),
    "index_reduce": lambda x, s, i: x.index_reduce(1, i, s, "amax"),
    "index_select": lambda x, s, i: x.index_select(1, i),
    "embedding": lambda x, s, i: whet.nn.functional.embedding(i, x.mT),
    "numbers": lambda x, s, i: (
        x[0, 0].index_add(0, i[:1] * 0, s[0, 0])
        + x[0, 1].index_fill(0, i * 0, 2.0)
        + x[1, 1].index_select(0, i[:1] * 0)
    ),
    "masked_scatter": lambda x, s, i: x.masked_scatter(x > 0, s.repeat(2, 2) * 2),
    "bins": lambda x, s, i: (
        whet.histc(x, 4)
        + whet.histogram(s, 4)[0]
        + whet.bincount(i, minlength=4)
        + whet.bincount(i, s[0], 4)
    ),
    "searchsorted": lambda x, s, i: (
        whet.searchsorted(x.sort(1).values, x) + whet.bucketize(x, s[0].sort().values)
    ),
    "isin": lambda x, s, i: whet.isin(i, i[:1]) | whet.isin(longs(0, 1, 2), i),
    "softmax of a number": lambda x, s, i: (
        x[0, 0].softmax(0) + x[0, 1].logsumexp(0) + x[0, 1].sort(0).values + x[0, 1].cumsum(0)
    ),
    "nonzero_static": lambda x, s, i: whet.nonzero_static(x > 0, size=4),
    "unique": lambda x, s, i: whet.unique(i, return_inverse=True)[1],
}


@pytest.mark.parametrize("name", BY_EACH_INDEX)
def test_each_example_has_its_own_places(name):
    f = BY_EACH_INDEX[name]
    x, s, i = numbers(4, 3, 4), numbers(4, 3, 3), longs([0, 2, 1], [3, 1, 2], [2, 0, 3], [1, 3, 0])
    for dims in (
        (0, 0, 0),
        (None, 0, 0),
        (0, None, 0),
        (0, 0, None),
        (None, None, 0),
        (0, None, None),
    ):
        args = [t if d == 0 else t[0] for t, d in zip((x, s, i), dims)]
        rows = [f(*[t[k] if d == 0 else t for t, d in zip(args, dims)]) for k in range(4)]
        want = whet.stack(rows)
        assert whet.equal(whet.vmap(f, dims)(*args), want), dims
        nested = whet.vmap(lambda *a, f=f, dims=dims: whet.vmap(f, dims)(*a))(
            *[whet.stack([t, t.flip(0)]) for t in args]
        )
        assert whet.equal(nested[0], want), dims


@pytest.mark.parametrize(
    "f",
    [
        lambda x, i: x.index_add(0, i, x[:1]),
        lambda x, i: x.index_copy(0, i, x[:1]),
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.index_fill(0, i - 7, 0.0),
        lambda x, i: x.index_reduce(0, i, x[:1], "amin"),
    ],
)
def test_a_place_outside_of_an_example_is_an_error(f):
    with pytest.raises((IndexError, RuntimeError), match="out of bounds|out of range"):
        whet.vmap(f)(numbers(2, 3), longs([0], [4]))


@pytest.mark.parametrize(
    "f",
    [
        whet.nonzero,
        whet.unique,
        whet.bincount,
        lambda x: x[x > 1],
        lambda x: whet.repeat_interleave(x, x),
    ],
)
def test_shapes_that_depend_on_data_are_an_error_where_they_differ(f):
    assert whet.vmap(f)(longs([1, 2, 0], [2, 0, 1])).shape[0] == 2
    with pytest.raises(RuntimeError, match="vmap"):
        whet.vmap(f)(longs([1, 2, 0], [2, 2, 3]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: whet.multinomial(x.exp(), 2, replacement=True),
        lambda x: whet.multinomial(x.exp(), 2),
        lambda x: whet.poisson(x.exp()),
    ],
)
def test_drawn_numbers_of_a_batch(f):
    x = numbers(5, 4).abs()
    x[1] = x[0]
    same, apart = [whet.vmap(f, randomness=r)(x) for r in ("same", "different")]
    assert same.shape == apart.shape == (5, *f(x[0]).shape)
    assert whet.equal(same[0], same[1])


DIFFERENTIABLE = [n for n in TESTED if REGISTRY[n].differentiable]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_in_a_batch_and_of_a_batch_are_the_loops(name):
    """The gradient of each example, by a backward that runs in the batch, and the gradient of all,
    by the history beneath the batch."""
    op = REGISTRY[name]
    for sample, stacked in batches(op):
        at = [i for i, a in enumerate(sample.args) if whet.is_tensor(a) and a.requires_grad]
        if not at:
            continue

        def loss(*args, sample=sample):
            out = op(*args, **sample.kwargs)
            out = [
                o
                for i, o in enumerate(out if isinstance(out, tuple) else (out,))
                if i not in op.nondiff_outputs and o.dtype.category >= FLOAT
            ]
            return sum((o * o.conj()).real.sum() if o.is_complex() else (o * o).sum() for o in out)
        dims = tuple(0 if whet.is_tensor(a) else None for a in sample.args)
        slope = func.grad(loss, tuple(at))
        try:
            wanted = [
                slope(*[s[i] if d == 0 else s for s, d in zip(stacked, dims)])
                for i in range(EXAMPLES)
            ]
        except RuntimeError:
            # another example's data does not fit this one's
            continue
        inside = whet.vmap(slope, dims)(*stacked)
        outside = func.grad(
            lambda *args, dims=dims, loss=loss: whet.vmap(loss, dims)(*args).sum(), tuple(at)
        )(*stacked)
        for k in range(len(at)):
            want = np.stack([w[k].numpy() for w in wanted])
            np.testing.assert_allclose(
                inside[k].numpy(), want, rtol=1e-7, atol=1e-9, err_msg=f"inside {sample}"
            )
            np.testing.assert_allclose(
                outside[k].numpy(), want, rtol=1e-7, atol=1e-9, err_msg=f"outside {sample}"
            )


# ---- vectors by matrices -------------------------------------------------------------------------
def by_linear(x, w):
    return whet.nn.functional.linear(x, w, w[:, 0])


def by_matmul(x, w):
    return x @ w.mT


@pytest.mark.drawn(3)
@pytest.mark.parametrize("product", [by_linear, by_matmul])
@pytest.mark.parametrize("which", [(0, None), (None, 0), (0, 0)])
@pytest.mark.parametrize("around", [(0, None), (None, 0), (0, 0), None])
def test_a_vector_by_a_matrix_is_the_loop_with_gradients(product, which, around):
    """One vector of each example: they are the rows of one matrix, in every nesting."""
    def of_one(x, w):
        y, back = func.vjp(product, x, w)
        return y, *back(y.cos()), *func.jacrev(product, (0, 1))(x, w)

    def loop(f, dims):
        def each(x, w):
            rows = [f(*[a if d is None else a[i] for a, d in zip((x, w), dims)]) for i in range(2)]
            return tuple([whet.stack(same) for same in zip(*rows)])
        return each
    f, slow, shapes = of_one, of_one, [(3,), (4, 3)]
    for dims in (which, around):
        if dims is not None:
            f, slow = func.vmap(f, in_dims=dims), loop(slow, dims)
            shapes = [s if d is None else (2, *s) for s, d in zip(shapes, dims)]
    xs = [whet.randn(*s) for s in shapes]
    whet.testing.assert_close(f(*xs), slow(*xs))


def test_dims_are_given_in_containers_of_the_inputs_kinds():
    x = whet.arange(3.0)
    assert whet.equal(func.vmap(lambda a: a[0] + a[1], in_dims=([0, 0],))([x, x]), x + x)
    with pytest.raises(ValueError, match="expected `in_dims` to be int or a .* tuple"):
        func.vmap(lambda a, b: a + b, in_dims=[0, 0])(x, x)
    with pytest.raises(ValueError, match="not compatible with the structure of inputs"):
        func.vmap(lambda a: a[0] + a[1], in_dims=((0, 0),))([x, x])


@pytest.mark.parametrize("f, x", [
    (whet.linalg.matrix_exp, whet.arange(12.0).reshape(3, 2, 2)),
    (lambda n: whet.special.hermite_polynomial_he(whet.tensor(2.0), n), whet.arange(3)),
    (lambda x: x.unfold(0, 1, 1), whet.arange(3.0)), (lambda x: x.unfold(0, 0, 1), whet.ones(3)),
    (lambda w: F.linear(whet.ones(0, 3), w), whet.ones(2, 4, 3)),
    (lambda x: whet.istft(x, 10), whet.ones(2, 10, 3, dtype=whet.complex128)),
    (lambda i: whet.put(whet.zeros(2, 3), i, whet.ones(2)), whet.tensor([[0, 5], [1, -1]])),
])
def test_what_goes_by_all_examples_is_right_for_each(f, x):
    whet.testing.assert_close(func.vmap(f)(x), whet.stack([f(example) for example in x]))


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_checkpointed_block_runs_again_beneath_the_vmap_of_its_backward(early_stop):
    x = whet.tensor([1.0, 2.0, 3.0], requires_grad=True)
    with set_checkpoint_early_stop(early_stop):
        y = checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False)
    made, = whet.autograd.grad(y, x, whet.eye(3), is_grads_batched=True)
    whet.testing.assert_close(made, (2 * x * y).detach().diag())


def test_a_checkpointed_block_within_a_vmap():
    def f(x):
        return checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).sum()
    x = whet.rand(3, 2)
    whet.testing.assert_close(func.vmap(func.grad(f))(x), 2 * x * (x * x).exp())


@pytest.mark.parametrize("dims, named", [
    ("no", "must be an int, None or a python collection of ints"),
    (("no",), "must be an int, None or a python collection of ints"),
    ((0, 0), "not compatible with the structure of the outputs")])
def test_places_for_results_that_there_cannot_be_are_refused(dims, named):
    with pytest.raises(ValueError, match=named):
        func.vmap(lambda x: x, out_dims=dims)(whet.ones(2, 3))


def test_a_number_beside_results_needs_the_word_that_it_has_no_batch():
    x = whet.ones(2, 3)
    with pytest.raises(ValueError, match="must only return Tensors, got type <class 'int'>"):
        func.vmap(lambda x: (3, x), out_dims=(0, 1))(x)
    number, turned = func.vmap(lambda x: (3, x), out_dims=(None, 1))(x)
    assert number == 3 and turned.shape == (3, 2)
