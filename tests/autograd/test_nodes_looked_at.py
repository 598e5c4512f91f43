"""What code finds in a graph that it looks at: names, calls, a place for its own."""
import pytest
import whet


def leaf():
    return whet.tensor([0.5, 2.0, 3.0], requires_grad=True)


class Thrice(whet.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 3

    @staticmethod
    def backward(ctx, g):
        saved, = ctx.saved_variables
        assert saved.shape == g.shape
        return g * 3


def chain(node):
    """The names of the types of nodes, along the first edges."""
    while node is not None:
        yield type(node).__name__
        following = node.next_functions
        node = following[0][0] if following else None


@pytest.mark.filterwarnings("ignore:'saved_variables'")
def test_the_type_of_a_node_has_the_name_of_its_op():
    x = leaf()
    wanted = ["SumBackward0", "LogSoftmaxBackward0", "ThriceBackward", "MulBackward0",
              "AccumulateGrad"]
    for _ in range(5):                       # from the third on, machine code makes some of them
        y = Thrice.apply(x * 2).log_softmax(0).sum()
        assert list(chain(y.grad_fn)) == wanted
        assert isinstance(y.grad_fn, whet.autograd.graph.Node) and y.grad_fn is y.grad_fn
        assert f"<{type(y.grad_fn).__name__}>" in repr(y)
        z = x.sort()[0]
        assert type(z.grad_fn).__name__ == "SortBackward0"
    y.backward()
    assert x.grad is not None
    w = x.clone()
    w[0] = 1.0
    assert type(w.grad_fn).__name__ == "CopySlices" and "grad_fn=<CopySlices>" in repr(w)


def test_the_types_of_nodes_of_a_traced_call_have_names():
    step = whet.jit.trace(lambda x: (x * 2).exp())
    x = leaf()
    for _ in range(4):
        assert list(chain(step(x).grad_fn)) == ["ExpBackward0", "MulBackward0", "AccumulateGrad"]


def test_a_long_chain_of_nodes_that_were_looked_at_is_freed_without_recursion():
    x = y = leaf()
    for i in range(100_000):
        y = y * 2 if i % 2 else y.sin()
        assert y.grad_fn is not None
    del y
    assert x.grad is None


def test_a_node_can_be_called():
    x, w = leaf(), leaf()
    for _ in range(4):
        gx, gw = (x * w).grad_fn(whet.ones(3))
        assert gx.tolist() == w.tolist() and gw.tolist() == x.tolist()
    g = x.exp().grad_fn(whet.ones(3))
    assert g.requires_grad and whet.allclose(g, x.exp())
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 5,))
    y.grad_fn.register_hook(lambda gs, outs: (gs[0] + outs[0], *gs[1:]))
    assert y.grad_fn(whet.ones(3))[0].tolist() == [15, 15, 15]
    end = y.grad_fn.next_functions[0][0]
    assert end(whet.ones(3)) == () and end(whet.ones(3)) == () and x.grad.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="expected 1 arguments, got 0"):
        y.grad_fn()


def test_a_node_has_a_place_for_what_others_keep():
    x = leaf()
    for _ in range(4):
        y, (z, _) = x.exp(), x.sort()
        assert y.grad_fn.metadata == {} and z.grad_fn.metadata == {}
        y.grad_fn.metadata["place"] = "here"
        assert y.grad_fn.metadata == {"place": "here"}


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
def test_what_a_traced_call_keeps_at_a_node_is_found_there():
    def keep(x):
        y = x.exp()
        y.grad_fn.metadata["place"] = "here"
        return y * 2
    step, x = whet.jit.trace(keep), leaf()
    for _ in range(5):
        node = step(x).grad_fn.next_functions[0][0]
        assert node.name() == "ExpBackward0" and node.metadata == {"place": "here"}


def test_saved_variables_is_the_old_name_of_saved_tensors():
    x = leaf()
    with pytest.warns(DeprecationWarning, match="saved_tensors"):
        Thrice.apply(x).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_conversions_and_extrema_have_the_names_that_pytorch_gives_them():
    x = whet.ones(2, 2, requires_grad=True)
    made = [x.double(), x.half(), x.max(0).values, x.min(1).values]
    assert [y.grad_fn.name() for y in made] == [
        "ToCopyBackward0", "ToCopyBackward0", "MaxBackward0", "MinBackward0"]
