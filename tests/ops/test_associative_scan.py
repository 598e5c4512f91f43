"""`associative_scan`, which programs find in `whet._higher_order_ops`."""
import pytest
import whet
from whet._higher_order_ops.associative_scan import associative_scan


def recurrence(left, right):
    """x[i] = a[i] * x[i - 1] + b[i], two steps in one."""
    return left[0] * right[0], left[1] * right[0] + right[1]


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("reverse", [False, True])
def test_it_is_the_loop(n, reverse):
    a, b = whet.rand(2, n, 3), whet.randn(2, n, 3)
    got = associative_scan(recurrence, (a, b), 1, reverse=reverse, combine_mode="generic")[1]
    x = whet.zeros(2, 3)
    for i in reversed(range(n)) if reverse else range(n):
        x = a[:, i] * x + b[:, i]
        assert whet.allclose(got[:, i], x, atol=1e-6)


def test_parts_are_combined_as_slices_or_many_at_once():
    seen = []

    def add(x, y):
        seen.append(x.ndim)
        return x + y
    for mode in ("pointwise", "generic"):
        got = associative_scan(add, whet.arange(15).reshape(3, 5), -1, combine_mode=mode)
        assert got.equal(whet.arange(15).reshape(3, 5).cumsum(-1))
    assert set(seen) == {2, 1}
    products = associative_scan(whet.matmul, whet.eye(2).expand(4, 2, 2) * 2, 0,
                                combine_mode="generic")
    assert products[3].equal(whet.eye(2) * 16)


def test_gradients_flow_and_traces_replay():
    a, b = (whet.rand(6, 2, dtype=whet.float64, requires_grad=True) for _ in range(2))
    assert whet.autograd.gradcheck(
        lambda a, b: associative_scan(recurrence, (a, b), 0)[1], (a, b))

    def scanned(a, b):
        return associative_scan(recurrence, (a, b), 0, combine_mode="generic")[1]
    traced = whet.jit.trace(scanned)
    for _ in range(4):
        assert traced(a, b).equal(scanned(a, b))
    assert "eagerly" not in repr(traced)


@pytest.mark.parametrize("error,args,more", [
    (ValueError, (None, whet.ones(2), 0), {}),
    (ValueError, (whet.add, whet.ones(2), 0), {"combine_mode": "other"}),
    (ValueError, (whet.add, [], 0), {}),
    (ValueError, (whet.add, 3.0, 0), {}),
    (ValueError, (whet.add, whet.ones(0), 0), {}),
    (ValueError, (recurrence, (whet.ones(2), whet.ones(3)), 0), {}),
    (RuntimeError, (lambda x, y: (x, y), whet.ones(2), 0), {})])
def test_what_does_not_fit_is_an_error(error, args, more):
    with pytest.raises(error):
        associative_scan(*args, **more)


def test_control_flow_is_found_where_pytorch_has_it():
    from whet._higher_order_ops import cond, scan, while_loop
    from whet._higher_order_ops.scan import scan as by_module
    assert (cond, while_loop) == (whet.cond, whet.while_loop) and scan is by_module is whet.scan
