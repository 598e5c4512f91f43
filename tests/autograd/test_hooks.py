"""Hooks: of tensors, nodes and leaves; order, replacement, removal."""
import gc
import weakref

import pytest
import whet
from whet.autograd import grad
from whet.utils.checkpoint import checkpoint


def leaf(*values):
    return whet.tensor([float(v) for v in values], requires_grad=True)


def test_order():
    log = []
    x = leaf(1, 2)
    y = x * 2
    y.register_hook(lambda g: log.append("tensor 1"))
    y.grad_fn.register_prehook(lambda gs: log.append("before"))
    y.register_hook(lambda g: log.append("tensor 2"))
    y.grad_fn.register_hook(lambda gi, go: log.append("after"))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    x.register_hook(lambda g: log.append("leaf"))
    y.sum().backward()
    assert log == ["tensor 1", "tensor 2", "before", "after", "leaf", "accumulated"]


def test_hooks_replace_gradients():
    x = leaf(1, 2)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    x.register_hook(lambda g: -g)
    y.sum().backward()
    assert x.grad.tolist() == [-22, -22]
    assert grad((x * 3).sum(), x)[0].tolist() == [-3, -3]


def test_a_retained_gradient_is_the_last_word():
    x = leaf(1)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert y.grad.item() == 10 and x.grad.item() == 20


def test_node_hooks():
    x, w = leaf(1, 2), leaf(3, 4)
    y = x * w
    seen = []
    y.grad_fn.register_hook(lambda gi, go: seen.append(([g.tolist() for g in gi], [
        g.tolist() for g in go])))
    y.grad_fn.register_hook(lambda gi, go: (gi[0] * 2, None))
    y.sum().backward()
    assert seen == [([[3, 4], [1, 2]], [[1, 1]])]
    assert x.grad.tolist() == [6, 8] and w.grad is None
    y = x.exp()
    y.grad_fn.register_prehook(lambda go: (go[0] * 0,))
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_hooks_of_a_node_with_several_outputs():
    x = leaf(3, 1, 2)
    values, _ = x.sort()
    seen = []
    values.grad_fn.register_prehook(lambda go: seen.append(len(go)))
    values.grad_fn.register_prehook(lambda go: (go[0] * 2, *go[1:]))
    values.register_hook(lambda g: g + 1)
    values.sum().backward()
    assert seen == [2] and x.grad.tolist() == [4, 4, 4]


def test_hooks_of_a_leafs_node():
    x = leaf(1, 2)
    node = (x * 2).grad_fn.next_functions[0][0]
    log = []
    node.register_prehook(lambda go: (go[0] * 5,))
    handle = node.register_hook(lambda gi, go: log.append((gi, go[0].tolist())))
    (x * 2).sum().backward()
    assert x.grad.tolist() == [10, 10] and log == [((), [10, 10])] and node.variable is x
    handle.remove()
    (x * 2).sum().backward()
    assert len(log) == 1 and x.grad.tolist() == [20, 20]


def test_removal():
    x = leaf(1)
    log = []
    a = x.register_hook(lambda g: log.append("a"))
    x.register_hook(lambda g: log.append("b"))
    x.sum().backward()
    a.remove()
    a.remove()
    x.sum().backward()
    with x.register_hook(lambda g: log.append("c")):
        x.sum().backward()
    x.sum().backward()
    assert log == ["a", "b", "b", "b", "c", "b"]


def test_a_hook_may_remove_itself():
    x = leaf(1)
    log = []

    def once(g):
        log.append(1)
        handle.remove()
    handle = x.register_hook(once)
    x.register_hook(lambda g: log.append(2))
    for _ in range(2):
        x.sum().backward()
    assert log == [1, 2, 2]


def test_post_accumulate_sees_the_sum():
    w = leaf(1, 2)
    seen = []

    def step(t):
        seen.append(t.grad.tolist())
        with whet.no_grad():
            t -= t.grad
        t.grad = None
    w.register_post_accumulate_grad_hook(step)
    (w * w).sum().backward()
    assert seen == [[2, 4]] and w.tolist() == [-1, -2] and w.grad is None
    with pytest.raises(RuntimeError):
        (w * 2).register_post_accumulate_grad_hook(step)
    with pytest.raises(RuntimeError):
        whet.ones(1).register_hook(print)


def test_wrong_hooks():
    x = leaf(1)
    x.register_hook(lambda g: 1.0)
    with pytest.raises(TypeError):
        (x * 2).backward()
    y = leaf(1)
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (y * 2).backward()
    assert whet.is_grad_enabled()


def test_hooks_record_in_create_graph():
    x = leaf(2)
    y = x * x
    y.register_hook(lambda g: g * x)
    g, = grad(y, x, create_graph=True)
    h, = grad(g, x)
    assert (g.item(), h.item()) == (8, 8)
    modes = []
    x.register_hook(lambda g: modes.append(whet.is_grad_enabled()))
    (x * x).backward()
    (x * x).backward(create_graph=True)
    assert modes == [False, True]


def test_retained_gradients_and_hooks_make_no_cycle():
    gc.collect()
    gc.disable()
    try:
        x = leaf(1, 2)
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: None)
        y.sum().backward()
        refs = weakref.ref(y), weakref.ref(y.grad_fn)
        del y
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


def test_a_retained_gradient_is_that_of_the_tensor_after_a_write_in_place():
    x = leaf(1, 2)
    y = x * 1
    y.retain_grad()
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.mul_(3)
    y.unsqueeze_(0)
    y.sum().backward()
    assert y.grad.tolist() == [[1, 1]] and seen == [[3, 3]] and x.grad.tolist() == [3, 3]


def test_gradients_retained_by_a_base_and_its_views_follow_writes_through_either():
    x = leaf(1, 1, 1)
    base = x * 1
    base.retain_grad()
    view = base[:2]
    view.retain_grad()
    view.mul_(3)
    base.mul_(3)
    (base.sum() + view.sum()).backward()
    assert base.grad.tolist() == [2, 2, 1] and view.grad.tolist() == [1, 1]
    assert x.grad.tolist() == [18, 18, 3]


def test_backward_to_inputs_keeps_the_gradients_of_computed_ones():
    x = leaf(1, 2)
    y = x * 2
    (y * y).sum().backward(inputs=[y], retain_graph=True)
    assert y.retains_grad and y.grad.tolist() == [4, 8] and x.grad is None
    y.sum().backward()
    assert y.grad.tolist() == [5, 9]


LEADING_BACK = {
    "hook": lambda x: x.register_hook(lambda g: x * 1),
    "post": lambda x: x.register_post_accumulate_grad_hook(lambda p: x * 1),
    "node": lambda x: (x * 2).grad_fn.next_functions[0][0].register_hook(lambda gi, go: x * 1),
    "attribute": lambda x: setattr(x, "me", [x]),
}


@pytest.mark.parametrize("lead_back", LEADING_BACK.values(), ids=LEADING_BACK)
@pytest.mark.parametrize("make", [
    lambda: leaf(1), lambda: whet.nn.Parameter(leaf(1)), lambda: leaf(1).detach().requires_grad_()],
    ids=["tensor", "parameter", "detached"])
def test_the_collector_finds_a_leaf_that_its_hooks_or_attributes_lead_back_to(make, lead_back):
    def made():
        x = make()
        assert lead_back(x) is not x
        return weakref.ref(x)
    gone = made()
    gc.collect()
    assert gone() is None


def test_tensors_without_hooks_and_attributes_are_not_tracked_by_the_collector():
    xs = [leaf(1), leaf(1) * 2, whet.ones(3)[:2]]
    (xs[0] * 2).sum().backward()
    assert not any(map(gc.is_tracked, [*xs[1:], xs[0] * 2]))


def test_hooks_of_nodes_give_as_many_gradients_as_they_are_given():
    for register in ("register_prehook", "register_hook"):
        y = leaf(1).exp()
        getattr(y.grad_fn, register)(lambda *gradients: (gradients[0][0], None))
        with pytest.raises(RuntimeError, match=r"number of values \(got 2, but expected 1"):
            y.sum().backward()
    x = leaf(1)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(TypeError, match="should return None"):
        x.sum().backward()


def test_a_hook_of_several_tensors_gets_their_gradients_together():
    found = []
    a, b, c = leaf(1), leaf(2), leaf(3)
    inner, other = (a * 2).split(1)[0], b * 3
    tensors = (inner, other, c)
    handle = whet.autograd.graph.register_multi_grad_hook(
        tensors, lambda gs: found.append([g if g is None else g.item() for g in gs]))
    (inner * other).sum().backward(retain_graph=True)
    (inner * other).sum().backward(retain_graph=True)
    grad((inner * other * c).sum(), [inner, c], retain_graph=True)
    (inner * other * c).sum().backward(retain_graph=True)
    assert found == [[6, 2, None], [6, 2, None], [18, None, 12], [18, 6, 12]]
    handle.remove()
    (inner * other).sum().backward(retain_graph=True)
    assert len(found) == 4


def test_a_hook_of_any_of_several_tensors_is_called_once():
    found = []
    a, b = leaf(1), leaf(2)
    whet.autograd.graph.register_multi_grad_hook((a, b), found.append, mode="any")
    for _ in range(2):
        (a * b).sum().backward()
    assert len(found) == 2
    with pytest.raises(ValueError, match="mode"):
        whet.autograd.graph.register_multi_grad_hook((a, b), found.append, mode="some")


def test_hooks_of_saved_tensors_can_be_refused_and_must_not_write():
    def nothing(x):
        return x
    with whet.autograd.graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with whet.autograd.graph.saved_tensors_hooks(nothing, nothing):
                pass
    with whet.autograd.graph.saved_tensors_hooks(lambda x: x.add_(1), nothing):
        with pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
            leaf(1).clone().exp().square()


def test_gradients_at_edges_of_the_graph():
    edge = whet.autograd.graph.get_gradient_edge
    x = leaf(1, 2)
    first, second = x.split(1)
    product = (first * second).sum()
    places = [edge(x), edge(second), edge(product)]
    assert [g.tolist() for g in grad(product, places)] == [[2, 1], [1], 1]
    y = x * 2
    whet.autograd.graph.increment_version(y)
    assert y._version == 1


@pytest.mark.parametrize("mode", ["all", "any"])
def test_a_hook_of_several_tensors_keeps_no_graph(mode):
    w = whet.ones(3, requires_grad=True)
    whet.autograd.graph.register_multi_grad_hook((w,), lambda found: None, mode=mode)
    loss = (w * 2).sum()
    node = weakref.ref(loss.grad_fn)
    loss.backward()
    del loss
    assert node() is None


def test_hooks_may_not_change_the_size_of_a_gradient():
    x = whet.ones(3, requires_grad=True)
    handle = x.register_hook(lambda g: whet.ones(2))
    with pytest.raises(RuntimeError, match="changed the size"):
        x.sum().backward()
    handle.remove()
    (x * 2).register_hook(lambda g: g[:1])
    y = x * 2
    y.register_hook(lambda g: g[:1])
    with pytest.raises(RuntimeError, match="changed the size"):
        y.sum().backward()


@pytest.mark.parametrize("change", [
    lambda y, k: y.mul_(2), lambda y, k: k.add_(1), lambda y, k: y[0].zero_()])
@pytest.mark.parametrize("traced", [False, True])
def test_a_checkpoint_whose_arguments_were_written_to_has_no_backward(change, traced):
    def step(x, k):
        y = x * 1
        z = checkpoint(lambda t, k: (t * k).sin(), y, k=k)
        change(y, k)
        return grad(z.sum(), x)
    step = whet.jit.trace(step) if traced else step
    for _ in range(3):
        with pytest.raises(RuntimeError, match="what is checkpointed, is at version"):
            step(whet.ones(2, requires_grad=True), whet.ones(2))


def test_nodes_of_calls_that_are_repeated_are_nodes():
    """Machine code makes those of the later calls."""
    x = whet.ones(2, requires_grad=True)
    for _ in range(40):
        assert isinstance((x * 2).exp().grad_fn, whet.autograd.graph.Node)


def test_a_hook_may_not_change_the_type_of_a_gradient():
    x = leaf(1, 2)
    for t in (x, x * 2):
        handle = t.register_hook(lambda g: g.double())
        with pytest.raises(RuntimeError, match="has changed the type of value: whet.float32 to"):
            t.sum().backward()
        handle.remove()
