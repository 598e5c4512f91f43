"""Every op of the registry on tensors without elements: what the results are like on the CPU is
what they are like on `meta`."""
import pytest
import whet
from whet.ops.registry import REGISTRY

from tests.ops.test_ops import OPS, calls

# a size that attributes tell is known of these
TOLD_A_SIZE = {"repeated_places", "repeated_places_rows"}
SIZED_BY_DATA = {"nonzero", "unique", "bincount", "nonzero_rows", "unique_rows", "bincount_rows"}
# their samples' numbers fit each other, which those that an op is tried on do not
OF_NUMBERS = {"ldl_solve", "repeated_places_rows"}
SAMPLED = [name for name in OPS if REGISTRY[name].samples is not None]


def there(x):
    """A tensor's geometry on `meta`."""
    if not whet.is_tensor(x):
        return x
    return x.detach().to("meta").requires_grad_(x.requires_grad)


def turned(x):
    """The same numbers in another order in memory."""
    if not whet.is_tensor(x) or x.ndim < 2:
        return x
    return x.detach().transpose(0, -1).contiguous().transpose(0, -1).requires_grad_(x.requires_grad)


def told(result):
    """All that a result is but its numbers. (Nothing goes by the strides of no elements.)"""
    if isinstance(result, tuple):
        return [told(x) for x in result]
    if result is None:
        return None
    strides = result.stride() if result.numel() else None
    return result.dtype, result.shape, strides, result.requires_grad


def given(op):
    """The operands of the op's samples, and the same in another order in memory."""
    for sample in calls(op):
        if any(map(whet.is_tensor, sample.args)):
            for args in (sample.args, tuple(map(turned, sample.args))):
                yield args, sample.kwargs


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", [n for n in SAMPLED if n not in SIZED_BY_DATA | OF_NUMBERS])
def test_results_are_like_those_of_the_cpu(name):
    op = REGISTRY[name]
    for args, attrs in given(op):
        try:
            wanted = told(op(*args, **attrs))
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue                         # turned, they are none of the op's
        made = op(*map(there, args), **attrs)
        assert told(made) == wanted
        for t in made if isinstance(made, tuple) else (made,):
            assert t is None or t.is_meta


@pytest.mark.parametrize("name", sorted(SIZED_BY_DATA))
def test_sizes_that_go_by_numbers_are_refused(name):
    op = REGISTRY[name]
    assert op.sized_by_data
    for args, attrs in given(op):
        with pytest.raises(NotImplementedError, match="depends on numbers"):
            op(*map(there, args), **attrs)


def test_all_that_go_by_numbers_are_listed():
    found = {n for n in OPS if REGISTRY[n].sized_by_data}
    assert found - {"as_length"} == SIZED_BY_DATA | TOLD_A_SIZE      # that traces alone call


def gradients(op, args, attrs):
    """What the gradients of an op's operands are like."""
    leaves = [x for x in args if whet.is_tensor(x) and x.requires_grad]
    made = op(*args, **attrs)
    outs = [t for t in (made if isinstance(made, tuple) else (made,))
            if t is not None and t.requires_grad]
    if not outs or not leaves:
        return []
    found = whet.autograd.grad(outs, leaves, [whet.ones_like(t) for t in outs], allow_unused=True)
    return [told(g) for g in found]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", [n for n in SAMPLED if REGISTRY[n].differentiable])
def test_gradients_are_like_those_of_the_cpu(name):
    """Through the backwards of all ops."""
    if name in OF_NUMBERS:
        return
    op = REGISTRY[name]
    for args, attrs in given(op):
        try:
            wanted = gradients(op, args, attrs)
        except (RuntimeError, TypeError, ValueError, IndexError):
            continue                         # turned, they are none of the op's
        assert gradients(op, list(map(there, args)), attrs) == wanted


@pytest.mark.parametrize("name", ["add", "mul", "relu", "sigmoid", "fill", "scatter_add",
                                  "index_add", "masked_scatter", "copy", "tril"])
def test_in_place(name):
    op = REGISTRY[name]
    from whet.ops.pointwise_family import inplace
    for args, attrs in given(op):
        args = [x.detach() if whet.is_tensor(x) else x for x in args]
        t, *rest = map(there, args)
        before = told(t), t._version
        try:
            inplace(op, args[0].clone(), args[1:], attrs)
        except RuntimeError:
            continue
        assert inplace(op, t, rest, attrs) is t
        assert (told(t), t._version) == (before[0], before[1] + 1)


def test_no_memory_is_asked_for():
    """Results of any size; NumPy would refuse arrays like these."""
    x = whet.empty(10**6, 10**6, device="meta")
    for y in (x + 1, x @ x, x.softmax(-1), x.T.contiguous(), x.sort()[0], whet.cat([x, x]),
              x.cumsum(0), x.to(whet.float64), whet.nn.functional.linear(x, x), x[:, [1, 2]],
              x.tril(), x.masked_fill(x > 0, 0.0), whet.nn.functional.layer_norm(x, (10**6,))):
        assert y.is_meta and y.numel() >= 10**6


def test_views_know_their_memory():
    x = whet.empty(4, 6, device="meta")
    y = x[1:, ::2].T
    assert y.stride() == (2, 6) and y.storage_offset() == 6 and y._base is x
    assert y.as_strided((4, 6), (6, 1), 0).shape == (4, 6)
    with pytest.raises(RuntimeError, match="out of bounds"):
        x.as_strided((5, 6), (6, 1))
    assert y.untyped_storage() == x.untyped_storage() != whet.empty(4, 6, device="meta"
                                                                    ).untyped_storage()
    y.add_(1)
    assert x._version == y._version == 1


def test_kinds_that_come_again_are_known(monkeypatch):
    """An op's code runs once for calls that are alike."""
    from whet.meta import results
    found, run = [], results._described_results
    monkeypatch.setattr(results, "_described_results",
                        lambda *call: found.append(call) or run(*call))
    x = whet.empty(17, 19, device="meta")
    for _ in range(3):
        x.var(0)
    first = len(found)
    assert first
    whet.empty(17, 19, device="meta").var(0)
    assert len(found) == first
    whet.empty(17, 23, device="meta").var(0)
    assert len(found) > first


@pytest.mark.parametrize(("shape", "strides"), [
    ((3, 4), (1, 3)), ((3, 4), (4, 1)), ((2, 3), (0, 1)), ((2, 4), (8, 2)), ((4, 2), (2, 8))])
def test_gradients_of_regions_lie_as_their_base_does(shape, strides):
    op = REGISTRY["strided_sum"]
    attrs = dict(shape=shape, size=(2, 2), stride=(1, 3), offset=0, base_stride=strides)
    x = whet.ones(2, 2)
    assert told(op(there(x), **attrs)) == told(op(x, **attrs))
