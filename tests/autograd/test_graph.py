"""The recorded graph: backwards from edges, and from what was written to since."""
import pytest
import whet
from whet.autograd import graph


def leaf(*numbers):
    return whet.tensor(numbers, requires_grad=True)


def test_backwards_start_from_edges():
    x = leaf(1.0, 2.0)
    y = (x * 3).sin()
    edge = graph.get_gradient_edge(y)
    wanted = (x.detach() * 3).cos() * 3
    g, = whet.autograd.grad(edge, x, (whet.ones(2),), retain_graph=True)
    assert whet.allclose(g, wanted)
    whet.autograd.backward([edge, y.sum()], [whet.ones(2), None], retain_graph=True)
    assert whet.allclose(x.grad, 2 * wanted)
    of_leaf, = whet.autograd.grad(graph.get_gradient_edge(x), x, (whet.ones(2),))
    assert of_leaf.tolist() == [1, 1]
    total = graph.get_gradient_edge(y.sum())
    assert whet.allclose(whet.autograd.grad(total, x)[0], wanted)
    first = graph.get_gradient_edge(whet.unbind(x * 2)[0])
    assert whet.autograd.grad(first, x)[0].tolist() == [2, 0]
    inner = graph.get_gradient_edge(x * 1)
    with pytest.raises(RuntimeError, match="scalar outputs"):
        whet.autograd.grad(inner, x)
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        whet.autograd.grad(inner, x, (whet.ones(3),))
    made = graph.GradientEdge(y.grad_fn, 0)
    with pytest.raises(RuntimeError, match="needs a gradient"):
        whet.autograd.grad(made, x)
    step = whet.jit.trace(
        lambda x: whet.autograd.grad(graph.get_gradient_edge((x * x).sum()), x)[0])
    for _ in range(4):
        assert step(x).tolist() == [2, 4]


def test_saved_tensors_may_be_written_to():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with graph.allow_mutation_on_saved_tensors() as copies:
        a = x * 2
        b = a.sin() * w
        c = a.exp_()
        with whet.no_grad():
            w.zero_()
        c.mul_(2)
        assert len(copies.copies) == 4
        (b.sum() + c.sum()).backward()
        assert whet.allclose(x.grad, whet.tensor([2., 4.]).cos() * 2 * whet.tensor([3., 4.])
                             + whet.tensor([2., 4.]).exp() * 4)
        y = leaf(2.0)
        z = (y * y).pow(2)
        slope, = whet.autograd.grad(z, y, create_graph=True)
        curve, = whet.autograd.grad(slope, y)
        assert slope.item() == 32 and curve.item() == 48
        with pytest.raises(RuntimeError, match="nested"), graph.allow_mutation_on_saved_tensors():
            pass
        late = (x * x).sum()
    with pytest.raises(AssertionError, match="outside"):
        late.backward()


def test_traced_functions_run_where_saved_tensors_may_be_written_to():
    def f(x):
        with graph.allow_mutation_on_saved_tensors():
            a = x * 2
            b = a * a
            a.zero_()
            return whet.autograd.grad(b.sum(), x)[0]
    traced, x = whet.jit.trace(f), leaf(1.0, 2.0)
    for _ in range(4):
        assert traced(x).tolist() == f(x).tolist() == [8, 16]


def saved(node):
    return sorted(name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_"))


@pytest.mark.parametrize("run, names", [
    (lambda x: x * x, ["other", "self"]), (lambda x: x.exp(), ["result"]),
    (lambda x: x ** x, ["exponent", "result", "self"]), (lambda x: x @ x, ["other", "self"]),
    (lambda x: x + 1, []), (lambda x: x.softmax(1), ["dim", "result"]),
    (lambda x: x.max(1).values, ["dim", "keepdim", "result1"]),
    (lambda x: whet.nn.functional.linear(x, x), ["bias", "input", "weight"])])
def test_a_node_names_what_it_has_saved(run, names):
    node = run(whet.ones(2, 2, requires_grad=True)).grad_fn
    assert saved(node) == names
    for name in names:
        getattr(node, f"_saved_{name}")


def test_what_a_node_has_saved_is_had_by_name():
    x = whet.tensor([1.0, 2.0], requires_grad=True)
    c = whet.tensor([3.0, 4.0])
    assert (x * x).grad_fn._saved_self is x
    node = (x * c).grad_fn
    assert node._saved_self is None and whet.equal(node._saved_other, c)
    assert (x * 2).grad_fn._saved_other == 2
    y = x.exp()
    assert whet.equal(y.grad_fn._saved_result, y) and y.grad_fn._saved_result.grad_fn is y.grad_fn
    with pytest.raises(AttributeError, match="no attribute '_saved_self'"):
        _ = y.grad_fn._saved_self
    conv = whet.nn.Conv2d(1, 1, 2, stride=2)(whet.ones(1, 1, 4, 4))
    assert conv.grad_fn._saved_stride == (2, 2) and conv.grad_fn._saved_input.shape == (1, 1, 4, 4)


def test_what_was_dropped_or_written_to_is_not_had_by_name():
    x = whet.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.mul_(2)
    z = x.exp()
    node = z.grad_fn
    z.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already"):
        _ = node._saved_result
    node = (x * x).grad_fn
    x.data.mul_(2)
    with whet.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        _ = node._saved_self


def test_a_tensor_made_of_another_has_its_history():
    x = whet.ones(2, requires_grad=True)
    y = whet.Tensor(x * 2)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [6, 6] and not whet.Tensor(x.detach()).requires_grad
    assert type(whet.Tensor(whet.nn.Parameter(x.detach()))) is whet.Tensor
