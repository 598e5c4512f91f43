"""vmap of every registered op, by its samples, is the loop; and what vmap does beyond single ops."""
import numpy as np
import pytest
import whet
from whet import func
from whet.ops.registry import REGISTRY

from tests.ops.test_ops import RANDOM, calls

CREATES = {n for n in REGISTRY if n in ("zeros", "empty", "full", "constant", "arange", "linspace", "logspace", "eye")}
TESTED = [n for n in sorted(REGISTRY) if n not in RANDOM | CREATES and REGISTRY[n].samples is not None]
EXAMPLES = 3


def batches(op):
    """(sample, stacked operands): the sample's calls with other numbers, one an example, where shapes allow it."""
    for same in zip(*[list(calls(op, seed)) for seed in range(EXAMPLES)]):
        columns = list(zip(*[[a.detach() if whet.is_tensor(a) else a for a in s.args] for s in same]))
        if all(not whet.is_tensor(c[0]) or len({t.shape for t in c}) == 1 for c in columns):
            yield same[0], [whet.stack(c) if whet.is_tensor(c[0]) else c[0] for c in columns]


def each(op, sample, stacked, batched):
    """The results of the loop over the examples."""
    rows = []
    for i in range(EXAMPLES):
        args = [s[i] if b else a.detach() if whet.is_tensor(a) else a for a, s, b in zip(sample.args, stacked, batched)]
        r = op(*args, **sample.kwargs)
        rows.append(r if isinstance(r, tuple) else (r,))
    return rows


def assert_is_the_loop(op, sample, stacked, batched):
    try:
        rows = each(op, sample, stacked, batched)
    except RuntimeError:
        return                                       # another example's data does not fit this one's
    if len({tuple(x.shape for x in r) for r in rows}) > 1:
        return
    args = [s if b else a.detach() if whet.is_tensor(a) else a for a, s, b in zip(sample.args, stacked, batched)]
    dims = tuple(0 if b else None for b in batched)
    out = whet.vmap(lambda *a: op(*a, **sample.kwargs), dims)(*args)
    out = out if isinstance(out, tuple) else (out,)
    for k, got in enumerate(out):
        want = whet.stack([r[k] for r in rows])
        assert got.dtype is want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-9, atol=1e-11, err_msg=f"{op.name} {sample} {batched}")


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
                    assert_is_the_loop(op, sample, stacked, [t and i != k for i, t in enumerate(are)])


DIFFERENTIABLE = [n for n in TESTED if REGISTRY[n].differentiable]


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_in_a_batch_and_of_a_batch_are_the_loops(name):
    """The gradient of each example, by a backward that runs in the batch, and the gradient of all, by the history beneath the batch."""
    op = REGISTRY[name]
    for sample, stacked in batches(op):
        at = [i for i, a in enumerate(sample.args) if whet.is_tensor(a) and a.requires_grad]
        if not at:
            continue

        def loss(*args, sample=sample):
            out = op(*args, **sample.kwargs)
            out = [o for i, o in enumerate(out if isinstance(out, tuple) else (out,)) if i not in op.nondiff_outputs and o.dtype.kind >= 2]
            return sum((o * o.conj()).real.sum() if o.is_complex() else (o * o).sum() for o in out)
        dims = tuple(0 if whet.is_tensor(a) else None for a in sample.args)
        slope = func.grad(loss, tuple(at))
        try:
            wanted = [slope(*[s[i] if d == 0 else s for s, d in zip(stacked, dims)]) for i in range(EXAMPLES)]
        except RuntimeError:
            continue                                 # another example's data does not fit this one's
        inside = whet.vmap(slope, dims)(*stacked)
        outside = func.grad(lambda *args, dims=dims, loss=loss: whet.vmap(loss, dims)(*args).sum(), tuple(at))(*stacked)
        for k in range(len(at)):
            want = np.stack([w[k].numpy() for w in wanted])
            np.testing.assert_allclose(inside[k].numpy(), want, rtol=1e-7, atol=1e-9, err_msg=f"inside {sample}")
            np.testing.assert_allclose(outside[k].numpy(), want, rtol=1e-7, atol=1e-9, err_msg=f"outside {sample}")
