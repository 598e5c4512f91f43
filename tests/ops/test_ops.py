"""Tests made from the registry: every op with its samples.

A pointwise op states domains, every other op states calls. Each is checked against the same op in
float64 (run by the NumPy reference where the op is an expression), numerically for first and second
derivatives, at several thread counts, on transposed and strided operands, and with bad operands. An
op without samples fails.
"""
import numpy as np
import pytest
import whet
from whet.autograd import gradcheck, gradgradcheck
from whet.dtypes import BOOL, FLOAT, INT
from whet.ir import scalar
from whet.ops.pointwise_family import PointwiseOp
from whet.ops.registry import REGISTRY
from whet.ops.sample_inputs import Domain, Sample

OPS = sorted(REGISTRY)
INNER = {n for n, op in REGISTRY.items() if op.inner}
RANDOM = {n for n, op in REGISTRY.items() if op.random}


def domains(op):
    d = op.samples
    return (d,) * op.nin if isinstance(d, Domain) else tuple(d)


class Make:
    """`make(*shape, low=-1, high=1, dtype=...)` for the samples of one test."""

    def __init__(self, seed, dtype=whet.float64, grad=True):
        self.rng, self.dtype, self.grad = np.random.default_rng(seed), dtype, grad

    def __call__(self, *shape, low=-1.0, high=1.0, dtype=None, grad=None):
        d = dtype or self.dtype
        if d.category == BOOL:
            return whet.tensor(self.rng.random(shape) < 0.5)
        if d.category == INT:
            return whet.tensor(self.rng.integers(int(low), int(high) + 1, shape), dtype=d)
        x = self.rng.uniform(low, high, shape)
        # distinct, so that sorts and extrema have no ties
        t = whet.tensor(np.asarray(x), dtype=d)
        return t.requires_grad_() if (self.grad if grad is None else grad) else t


def pointwise_inputs(op, shape, seed=0, dtype=whet.float64, grad=True):
    rng = np.random.default_rng(seed)
    out = []
    for d in domains(op):
        a = np.asarray(d(rng, shape))
        t = whet.tensor(a if d.kind != "f" else a, dtype=dtype if d.kind == "f" else None)
        out.append(t.requires_grad_(
        ) if grad and d.kind == "f" and d.grad and d.low != d.high and op.differentiable else t)
    return out


def calls(op, seed=0, dtype=whet.float64, grad=True):
    """The op's sample calls as Samples."""
    if isinstance(op, PointwiseOp):
        for shape in ((), (3,), (4, 5), (0, 3)):
            yield Sample(*pointwise_inputs(op, shape, seed, dtype, grad))
        return
    yield from op.samples(Make(seed, dtype, grad))


def run(op, sample):
    r = op(*sample.args, **sample.kwargs)
    return r if isinstance(r, tuple) else (r,)


@pytest.mark.parametrize("name", [n for n in OPS if n not in RANDOM | INNER])
def test_has_samples(name):
    assert REGISTRY[name].samples is not None, f"op {name} has no samples"


TESTED = [n for n in OPS if n not in RANDOM and REGISTRY[n].samples is not None]
POINTWISE = [n for n in TESTED if isinstance(REGISTRY[n], PointwiseOp)]


@pytest.mark.parametrize("name", POINTWISE)
@pytest.mark.parametrize("dtype", [whet.float32, whet.float64], ids=str)
def test_pointwise_equals_the_reference(name, dtype):
    op = REGISTRY[name]
    if 2 not in op.kinds:
        dtype = None
    for shape in ((), (1,), (37,), (5, 33)):
        xs = pointwise_inputs(op, shape, dtype=dtype or whet.int64, grad=False)
        y = op(*xs)
        wide = [x._array.astype(np.float64) if x.dtype.category == FLOAT else x._array for x in xs]
        ref, = scalar.evaluate((op.root,), wide, lambda s: np.dtype("f8")
                               if s == "f32" else whet.dtypes.SHORT[s].np)
        got = y._array
        assert got.shape == shape
        if got.dtype.kind in "fV":
            tol = {2: 2e-3, 4: 4e-6, 8: 1e-12}[got.dtype.itemsize]
            tol = {2: 1e-2}.get(got.dtype.itemsize, tol)
            np.testing.assert_allclose(got.astype("f8"), ref.astype("f8"), rtol=tol, atol=tol)
        else:
            assert (got == ref).all()


@pytest.mark.parametrize("name", [n for n in TESTED if REGISTRY[n].differentiable])
def test_gradients(name):
    op = REGISTRY[name]
    for k, sample in enumerate(calls(op)):
        tensors = [a for a in sample.args if whet.is_tensor(a) and a.requires_grad]
        if not tensors or sum(t.numel() for t in tensors) > 400:
            continue

        def fn(*ts, sample=sample):
            it = iter(ts)
            args = [next(it) if whet.is_tensor(a) and a.requires_grad else a for a in sample.args]
            out = run(op, Sample(*args, **sample.kwargs))
            return tuple(o for i, o in enumerate(out) if i not in op.nondiff_outputs)
        assert gradcheck(fn, tensors), f"sample {k}"


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", [n for n in TESTED if REGISTRY[n].differentiable])
def test_second_gradients(name):
    op = REGISTRY[name]
    for k, sample in enumerate(calls(op)):
        tensors = [a for a in sample.args if whet.is_tensor(a) and a.requires_grad]
        if not tensors or not 0 < sum(t.numel() for t in tensors) <= 80:
            continue

        def fn(*ts, sample=sample):
            it = iter(ts)
            args = [next(it) if whet.is_tensor(a) and a.requires_grad else a for a in sample.args]
            out = run(op, Sample(*args, **sample.kwargs))
            return tuple(o for i, o in enumerate(out) if i not in op.nondiff_outputs)
        outs = [o for o in fn(*tensors) if o.requires_grad]
        g = whet.autograd.grad(outs, tensors, [whet.ones_like(o, requires_grad=True) for o in outs],
                               create_graph=True, allow_unused=True)
        if not any(x is not None and x.requires_grad for x in g):
            continue
        assert gradgradcheck(fn, tensors, atol=1e-4), f"sample {k}"


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "name", [n for n in POINTWISE if REGISTRY[n].differentiable and 3 in REGISTRY[n].kinds])
def test_gradients_of_complex_operands(name):
    """First and second: most expressions have a complex derivative, some conjugate or take
    absolute values."""
    op = REGISTRY[name]
    reals, more = pointwise_inputs(op, (3,)), pointwise_inputs(op, (3,), seed=1)
    xs = [(a.detach() + 0.5j * b.detach()).requires_grad_() if a.requires_grad else a
          for a, b in zip(reals, more)]
    leaves = [x for x in xs if x.requires_grad]
    if not leaves:
        pytest.skip("no gradients")
    try:
        op(*xs)
    except NotImplementedError:
        pytest.skip("real numbers only")

    def fn(*ts):
        it = iter(ts)
        return op(*[next(it) if x.requires_grad else x for x in xs])
    assert gradcheck(fn, leaves)
    assert gradgradcheck(fn, leaves, atol=1e-4)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", TESTED)
def test_bits_do_not_depend_on_threads(name):
    op = REGISTRY[name]
    before = whet.get_num_threads()
    samples = list(calls(op, dtype=whet.float32, grad=False))
    if isinstance(op, PointwiseOp):
        samples.append(Sample(*pointwise_inputs(op, (70_001,), dtype=whet.float32, grad=False)))
    try:
        results = []
        for threads in (1, 2, 4):
            whet.set_num_threads(threads)
            results.append([o._array.tobytes() for s in samples for o in run(op, s)])
        assert results[0] == results[1] == results[2]
    finally:
        whet.set_num_threads(before)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", TESTED)
def test_layout_does_not_matter(name):
    """The same values in transposed, strided and reversed memory give the same bits."""
    op = REGISTRY[name]
    if op.is_view:
        pytest.skip("a view of another layout is another view")
    for sample in calls(op, dtype=whet.float32, grad=False):
        want = [o._array for o in run(op, sample)]
        for relayout in (_strided, _reversed_memory):
            args = [relayout(a) if whet.is_tensor(a) and a.ndim else a for a in sample.args]
            got = [o._array for o in run(op, Sample(*args, **sample.kwargs))]
            for w, g in zip(want, got):
                assert w.shape == g.shape and w.dtype == g.dtype
                assert np.array_equal(w, g, equal_nan=w.dtype.kind == "f"), (name, sample)


def _strided(t):
    a = t._array
    big = np.zeros([2 * n for n in a.shape], a.dtype)
    view = big[tuple(slice(None, None, 2) for _ in a.shape)]
    view[...] = a
    return whet.from_numpy(view)


def _reversed_memory(t):
    a = t._array
    return whet.from_numpy(np.asfortranarray(a))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", TESTED)
def test_bad_operands_raise(name):
    op = REGISTRY[name]
    sample = next(iter(calls(op, grad=False)))
    for bad in ("a string", object(), [1, 2]):
        args = list(sample.args)
        at = next((i for i, a in enumerate(args) if whet.is_tensor(a)), None)
        if at is None:
            continue
        args[at] = bad
        with pytest.raises((TypeError, RuntimeError, ValueError, IndexError, AttributeError)):
            op(*args, **sample.kwargs)


def memory_of(t):
    a = t._array
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


@pytest.mark.parametrize("make", [whet.rand, whet.randn])
@pytest.mark.parametrize("size", [1, 5, 8])
def test_draws_of_any_size_lie_alone(make, size):
    """Blocks of the stream are drawn whole; the rest of the last one is nobody's."""
    x = make(size)
    assert x.untyped_storage().nbytes() == 4 * size
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((size + 1,), (1,))


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", TESTED)
def test_results_lie_in_no_larger_memory(name):
    """`as_strided` may look at all of it."""
    op = REGISTRY[name]
    for sample in calls(op, grad=False):
        given = [memory_of(t) for t in (*sample.args, *sample.kwargs.values())
                 if whet.is_tensor(t)]
        for t in run(op, sample):
            if whet.is_tensor(t) and t.numel():
                memory = memory_of(t)
                assert memory.nbytes <= t._array.nbytes or any(memory is m for m in given)
