"""Tensors from outside that lose their history in a call (`state.detach_()`), or between calls, and
what else leads to them."""
import whet
from whet import nn

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


def with_history(k, w):
    """A tensor that is no leaf."""
    return (ramp(3) + k) * w


@trap
def truncated_backpropagation():
    """The state of a step before, in a tuple; one has none, so that its kind differs."""
    cell = nn.GRUCell(3, 4)
    opt = whet.optim.SGD(cell.parameters(), lr=0.1)
    def f(x, state):
        for s in state:
            s.detach_()
        h, = state
        for row in x:
            h = cell(row, h)
        opt.zero_grad()
        h.square().sum().backward()
        opt.step()
        return h.sum().detach(), (h,)
    def calls(f):
        state, kept = (whet.zeros(2, 4),), []
        for k in range(8):
            if k == 5:
                state = whet.zeros(2, 4),
            kept += state
            total, state = f(ramp(2, 2, 3) * 0.1 + k, state)
            yield total, state, kept, cell.weight_hh.grad
    return f, calls


@trap
def state_in_an_attribute():
    """Its old tensors are kept by someone, and differentiated later on."""
    w, o = leaf(3), Box(h=whet.zeros(3))
    def f(x):
        o.h.detach_()
        o.h = whet.tanh(x + o.h * w)
        return o.h * 2
    def calls(f):
        kept = []
        for k in range(6):
            kept.append(o.h)
            y = f(ramp(3) * 0.1 + k)
            y.sum().backward()
            yield y, o.h, kept, w.grad
    return f, calls


@trap
def arguments_of_all_kinds():
    """A tensor with a history, a leaf, one that needs no gradient, a view (which is an error)."""
    w, v = leaf(3), leaf(3)
    def f(h):
        asked = h.requires_grad
        h.detach_()
        return h * v if asked else h * v + 1, h.is_leaf
    def calls(f):
        for k in range(3):
            for make in (lambda: with_history(k, w), lambda: leaf(3), lambda: ramp(3),
                         lambda: with_history(k, w).view(3), lambda: with_history(k, w)[:2]):
                for _ in range(3):
                    h = make()
                    yield outcome(lambda: f(h)[0]), h.requires_grad, h.is_leaf, h._version
    return f, calls


@trap
def used_before_and_after():
    """Gradients flow to the old history from what was computed before."""
    w, v = leaf(3), leaf(3)
    def f(h):
        before = h * 3
        h.detach_()
        return before, h * v
    def calls(f):
        for k in range(4):
            h = with_history(k, w)
            made = h * h
            before, after = f(h)
            (before + after + made).sum().backward()
            yield before, after, h, w.grad, v.grad
    return f, calls


@trap
def dropped_and_made_anew():
    """A write that has a gradient gives the tensor another history."""
    w, v = leaf(3), leaf(3)
    def f(h):
        h.detach_()
        h.mul_(v)
        return h * 2
    def calls(f):
        for k in range(4):
            h = with_history(k, w)
            y = f(h)
            (y + h).sum().backward()
            yield y, h, w.grad, v.grad
    return f, calls


@trap
def dropped_and_made_a_leaf():
    """It gets a gradient of its own in the call, and one afterwards."""
    w = leaf(3)
    def f(h):
        h.detach_().requires_grad_()
        (h * h).sum().backward()
        return h * h.grad
    def calls(f):
        for k in range(4):
            h = with_history(k, w)
            y = f(h)
            yield h.grad.clone()
            y.sum().backward()
            yield y, h, w.grad
    return f, calls


@trap
def one_tensor_twice_and_a_view_of_it():
    """The other name has no history either; the view keeps its own."""
    w = leaf(3)
    def f(h, other, view):
        h.detach_()
        return other * 2, view * 2
    def calls(f):
        for k in range(4):
            h = with_history(k, w)
            view = h.view(3)
            y, z = f(h, h, view)
            z.sum().backward()
            yield y, z, h, view, w.grad
    return f, calls


@trap
def a_leaf_of_outside_that_has_a_history_later():
    """It requires a gradient as before, and code asks whether it is a leaf."""
    w = leaf(3)
    o = Box(h=ramp(3) * w)
    h = o.h
    def f(x):
        return x * (2 if h.is_leaf else 3)
    def calls(f):
        yield from thrice(lambda: f(ramp(3)))
        h.detach_().requires_grad_()
        yield from thrice(lambda: f(ramp(3)))
        h.detach_().mul_(w)
        yield from thrice(lambda: f(ramp(3)))
    return f, calls


@trap
def a_flag_of_outside_that_only_a_leaf_may_change():
    """The call raises where the tensor has a history by now."""
    w, h = leaf(3), leaf(3)
    def f(x):
        h.requires_grad_(False)
        return x * h
    def calls(f):
        for k in range(6):
            h.detach_().requires_grad_()
            if k > 3:
                h.detach_().mul_(w)
            yield outcome(lambda: f(ramp(3))), h.requires_grad, h.is_leaf
    return f, calls


@trap
def a_gradient_that_loses_its_history():
    """Of `backward(create_graph=True)`, as old training loops drop it."""
    w = leaf(3)
    def f(x):
        if w.grad is not None:
            w.grad.detach_()
            w.grad.zero_()
        loss = (w ** 3 * x).sum()
        loss.backward(create_graph=True)
        return loss.detach()
    def calls(f):
        for k in range(5):
            loss = f(ramp(3) + k)
            yield loss, w.grad.detach(), w.grad.requires_grad
    return f, calls
