"""How the gradients of leaves lie in memory."""
import pytest
import whet


@pytest.mark.parametrize("create_graph", (False, True))
@pytest.mark.parametrize("laid", (
    lambda: whet.ones(3, 4), lambda: whet.ones(4, 3).t(),
    lambda: whet.ones(2, 3, 4).permute(2, 0, 1),
    lambda: whet.ones(2, 3, 4, 5).to(memory_format=whet.channels_last)))
@pytest.mark.parametrize("use", (
    lambda x: x.mT * 2, lambda x: x * whet.ones(x.shape), lambda x: x.sum(), lambda x: x.mT @ x))
def test_gradients_lie_as_their_leaves_do(laid, use, create_graph):
    x = laid().detach().requires_grad_()
    use(x).sum().backward(create_graph=create_graph)
    assert x.grad.stride() == x.stride() and not x.grad._is_view()


def test_gradients_of_leaves_with_gaps_lie_row_by_row():
    for x in (whet.ones(3, 8)[:, ::2], whet.ones(3, 1).expand(3, 4), whet.ones(8, 3)[::2].t()):
        x = x.detach().requires_grad_()
        (x.mT * 2).sum().backward()
        assert x.grad.is_contiguous()
    weight = whet.ones(4, requires_grad=True)
    (whet.ones(2, 1) @ weight.view(4, 1).T).sum().backward()
    assert weight.grad.view(2, 2).tolist() == [[2, 2], [2, 2]]


def test_traced_gradients_lie_as_their_leaves_do():
    weights = [whet.ones(3, 4).requires_grad_(), whet.ones(4, 3).t().requires_grad_()]

    def step(x):
        for w in weights:
            w.grad = None
            (x @ w.T).square().sum().backward()
        return [w.grad.view(-1) if w.is_contiguous() else w.grad.t().view(-1) for w in weights]
    traced = whet.jit.trace(step)
    for k in range(5):
        x = whet.full((2, 4), k + 1.0)
        got = [g.tolist() for g in traced(x)]
        assert [w.grad.stride() for w in weights] == [(4, 1), (1, 3)]
        assert got == [g.tolist() for g in step(x)]
    assert traced.explain(data=True)["calls"]["replayed"] >= 2
