"""Backward inside and outside, higher orders, hooks, custom functions."""

import whet
from whet import optim
from whet.autograd import Function, grad

from tests.traps.harness import leaf, mlp, outcome, ramp, state, thrice, trap


@trap
def backward_outside():
    """Forward is traced, backward is the caller's, with and without a second use of the result."""
    w = leaf(3)
    def f(x): return (x * w).exp().sum(), w * 2
    def calls(f):
        for k in range(5):
            x = leaf(3)
            y, z = f(x)
            (y + z.sum() if k % 2 else y).backward()
            yield y, z, x.grad, w.grad
    return f, calls


@trap
def backward_inside():
    """The gradients of captured leaves add up from call to call."""
    w = leaf(3)
    def f(x):
        loss = (x * w).square().sum()
        loss.backward()
        return loss.detach()
    def calls(f):
        for k in range(6):
            if k == 4:
                w.grad = None
            yield f(ramp(3)), w.grad
    return f, calls


@trap
def a_gradient_is_replaced():
    """.grad None, zeros, one of the user's own, and one that is shared: each accumulates in its own
    way."""
    w = leaf(3)
    def f(x): (x * w).sum().backward()
    def calls(f):
        mine = whet.ones(3)
        for g in (None, whet.zeros(3), mine, mine, None):
            w.grad = g
            for _ in range(3):
                f(ramp(3))
                yield w.grad, w.grad is g, mine
    return f, calls


@trap
def a_gradient_is_read_and_written_inside():
    """The function looks at .grad before and after, and scales it."""
    w = leaf(3)
    def f(x):
        before = None if w.grad is None else w.grad.clone()
        (x * w).sum().backward()
        w.grad.mul_(0.5)
        return before, w.grad
    def calls(f):
        for _ in range(5):
            before, g = f(ramp(3))
            yield before, g, g is w.grad
    return f, calls


@trap
def gradients_without_backward():
    """autograd.grad gives them and leaves .grad alone; some are not there."""
    w, v = leaf(3), leaf(3)
    def f(x):
        y = (x * w).exp().sum()
        return grad(y, [w, v], allow_unused=True), outcome(lambda: grad(y, w))
    def calls(f):
        for k in range(5):
            yield f(ramp(3) * k), w.grad, v.grad
    return f, calls


@trap
def a_second_derivative_inside():
    """create_graph: the gradient is part of the loss."""
    w = leaf(3)
    def f(x):
        y = (x * w).tanh().sum()
        g, = grad(y, w, create_graph=True)
        (y + g.square().sum()).backward()
        return y.detach(), g.detach()
    def calls(f):
        for scale in (1, 1, 1, 2, 2):
            yield f(ramp(3) * scale), w.grad
    return f, calls


@trap
def a_second_derivative_outside():
    """The result of a trace is differentiated twice by the caller."""
    def f(x): return (x.exp() * x).sum()
    def calls(f):
        for _ in range(4):
            x = leaf(3)
            y = f(x)
            g, = grad(y, x, create_graph=True)
            h, = grad(g.sum(), x, create_graph=True)
            h.sum().backward()
            yield y, g, h, x.grad
    return f, calls


@trap
def backward_twice():
    """The second time is an error, unless the graph was retained."""
    w = leaf(3)
    def f(x): return (x * w).exp().sum()
    def calls(f):
        for retain in (False, True, False, True):
            y = f(ramp(3))
            y.backward(retain_graph=retain)
            yield outcome(lambda: y.backward()), w.grad
    return f, calls


@trap
def a_parameter_changes_before_backward():
    """What backward would read was overwritten: an error, not a wrong gradient."""
    w = leaf(3)
    def f(x): return (x * w * w).sum()
    def calls(f):
        for change in (False, False, False, True, False):
            x = leaf(3)
            y = f(x)
            if change:
                with whet.no_grad():
                    w.mul_(2)
            yield (outcome(y.backward) or "done")[:2], x.grad
    return f, calls


@trap
def backward_through_two_calls():
    """The results of two calls in one graph; and old results, after newer calls."""
    w = leaf(3)
    def f(x): return (x * w).sin()
    def calls(f):
        results = [f(ramp(3) * k) for k in range(5)]
        whet.stack(results[1:4]).prod(0).sum().backward()
        yield w.grad, results
        f(f(ramp(3))).sum().backward()
        yield w.grad
        results[0].sum().backward()
        yield w.grad
    return f, calls


@trap
def a_hook_on_an_argument():
    """A hook that scales, registered by the caller on one call's tensor, and removed on another."""
    def f(x): return (x * x).sum()
    def calls(f):
        log = []
        for k in range(6):
            x = leaf(3)
            handle = (x.register_hook(lambda g: log.append(g.sum().item()) or g * 10) if k > 2
                      else None)
            y = f(x)
            if k == 5:
                handle.remove()
            y.backward()
            yield x.grad, list(log)
    return f, calls


@trap
def a_hook_on_a_parameter():
    """It comes between two calls, and goes."""
    w = leaf(3)
    def f(x):
        w.grad = None
        (x * w).exp().sum().backward()
        return w.grad
    def calls(f):
        log = []
        yield from thrice(lambda: f(ramp(3)))
        handle = w.register_hook(lambda g: log.append(1) or g.clamp(max=2))
        yield from thrice(lambda: (f(ramp(3)), list(log)))
        handle.remove()
        yield from thrice(lambda: (f(ramp(3)), list(log)))
    return f, calls


@trap
def a_hook_is_registered_inside():
    """On an intermediate, with an effect on a list of the outside when backward comes."""
    log = []
    w = leaf(3)
    def f(x):
        y = x * w
        y.register_hook(lambda g: log.append(g.tolist()) or g * 2)
        return y.exp().sum()
    def calls(f):
        for _ in range(5):
            f(ramp(3)).backward()
            yield w.grad, list(log)
    return f, calls


@trap
def hooks_after_accumulation():
    """The optimizer runs within backward."""
    model = mlp()
    opts = {p: optim.SGD([p], lr=0.1) for p in model.parameters()}
    def now(p):
        opts[p].step()
        opts[p].zero_grad()
    for p in opts:
        p.register_post_accumulate_grad_hook(now)
    def f(x):
        loss = model(x).square().mean()
        loss.backward()
        return loss.detach()
    def calls(f):
        for _ in range(5):
            yield f(ramp(2, 3)), state(model)
    return f, calls


@trap
def hooks_of_modules():
    """Forward hooks and pre-hooks that come and go, and change what goes through."""
    model = mlp()
    def calls(f):
        log = []
        yield from thrice(lambda: f(ramp(2, 3)))
        a = model[0].register_forward_hook(lambda m, args, y: log.append(y.mean().item()))
        yield from thrice(lambda: (f(ramp(2, 3)), list(log)))
        b = model[2].register_forward_pre_hook(lambda m, args: (args[0] * 2,))
        yield from thrice(lambda: (f(ramp(2, 3)), len(log)))
        a.remove()
        yield from thrice(lambda: (f(ramp(2, 3)), len(log)))
        b.remove()
        yield from thrice(lambda: (f(ramp(2, 3)), len(log)))
    return model, calls


@trap
def gradients_are_retained():
    """retain_grad on an intermediate that is returned."""
    w = leaf(3)
    def f(x):
        h = x * w
        h.retain_grad()
        return h, h.exp().sum()
    def calls(f):
        for _ in range(4):
            h, y = f(ramp(3))
            y.backward()
            yield h.grad, w.grad, h.is_leaf
    return f, calls


@trap
def an_argument_is_made_to_require_a_gradient():
    """requires_grad_ inside is an effect on the caller's tensor."""
    def f(x):
        x.requires_grad_()
        y = (x * x).sum()
        y.backward()
        return y
    def calls(f):
        for _ in range(4):
            x = ramp(3)
            y = f(x)
            yield y.requires_grad, x, x.grad
        yield from thrice(lambda: (f(x), x.grad))
    return f, calls


@trap
def a_detached_part():
    """detach, and no gradient for what only went through it."""
    w, v = leaf(3), leaf(3)
    def f(x):
        a, b = x * w, x * v
        return (a / a.detach().norm() + b.detach()).sum(), b.detach_()
    def calls(f):
        for _ in range(4):
            y, b = f(ramp(3))
            y.backward()
            yield y, b, w.grad, v.grad
    return f, calls


@trap
def a_function_of_ones_own():
    """A backward in Python, with state of its own and a number from the context."""
    counts = {"forward": 0, "backward": 0}
    class Clip(Function):
        @staticmethod
        def forward(ctx, x, limit):
            counts["forward"] += 1
            ctx.limit = limit
            ctx.save_for_backward(x)
            return x.clamp(-limit, limit)
        @staticmethod
        def backward(ctx, g):
            counts["backward"] += 1
            x, = ctx.saved_tensors
            return g * (x.abs() <= ctx.limit) * counts["backward"], None
    def f(x, limit): return Clip.apply(x * 2, limit).sum()
    def calls(f):
        for limit in (1.5, 1.5, 1.5, 10.0, 10.0, 1.5):
            x = leaf(3)
            f(x, limit).backward()
            yield x.grad, dict(counts)
    return f, calls


@trap
def a_write_to_a_view_with_a_gradient():
    """The history of a base goes through what was written into its row."""
    w = leaf(2, 3)
    def f(x):
        y = w * 2
        y[0].mul_(x)
        y[:, 1] = x.sum()
        return (y * y).sum()
    def calls(f):
        for _ in range(4):
            x = leaf(3)
            y = f(x)
            y.backward()
            yield y, x.grad, w.grad
    return f, calls


@trap
def which_outputs_have_a_history():
    """is_leaf, requires_grad and grad_fn of outputs: a leaf, a detached one, an integer, an input,
    a new leaf."""
    w = leaf(3)
    def f(x): return (w, x * w, (x * w).detach(), (x * w).argmax(), x, x.clone().requires_grad_(),
                      w.view(3, 1))
    def calls(f):
        for x in (ramp(3), leaf(3), ramp(3)):
            for _ in range(3):
                ys = f(x)
                yield ys, [y.grad_fn is None for y in ys], [y.grad_fn.name() for y in ys if y.grad_fn]
    return f, calls


# ---- leaves that the function makes --------------------------------------------------------------
def descend(x, y):
    """Where a backward of a result leads, as far as the graph tells, and what arrives there."""
    found, todo = [], [y.grad_fn]
    while todo:
        node = todo.pop()
        found.append(node.name())
        if hasattr(node, "variable"):
            found.append(node.variable.detach().clone())
        todo += [n for n, _ in node.next_functions if n is not None]
    y.sum().backward()
    return found, x.grad


@trap
def a_result_leads_to_a_leaf_of_the_call():
    """x * g with x.clone().requires_grad_() inside: gradients flow to what nobody else has."""
    def f(x):
        x = x.clone().requires_grad_()
        g, = whet.autograd.grad((x ** 2).sum(), x)
        return x * g
    def calls(f):
        for i in range(6):
            x = ramp(3) + i
            y = f(x)
            yield y.requires_grad, y.detach(), descend(x, y)
    return f, calls


@trap
def a_leaf_of_the_call_is_returned_with_what_leads_to_it():
    """Its gradient is the one that the other result's backward leaves."""
    def f(x):
        z = x.detach().requires_grad_()
        return z, (z * x).exp().sum(), z * 2
    def calls(f):
        for i in range(6):
            x = leaf(3) if i % 2 else ramp(3)
            z, y, w = f(x)
            y.backward()
            (w.sum() * (i + 1)).backward()
            yield z.is_leaf, z.grad, x.grad, z.detach(), w.detach()
    return f, calls


@trap
def a_leaf_of_the_call_has_a_gradient_already():
    """backward() inside, and a result whose gradients flow to the same leaf."""
    def f(x, w):
        z = (x * 2).detach().requires_grad_()
        (z * w).sum().backward()
        return z.grad * w, (z * w + z.grad).sum()
    def calls(f):
        w = leaf(3)
        for i in range(6):
            w.grad = None
            a, b = f(ramp(3) + i, w)
            before = w.grad.clone()
            (a.sum() + b).backward()
            yield a.detach(), b.detach(), before, w.grad
    return f, calls


@trap
def penalties_of_gradients_to_leaves_of_the_call():
    """create_graph=True at several sizes; a second derivative outside."""
    net = mlp()
    def f(x):
        x = x.detach().requires_grad_()
        g, = whet.autograd.grad(net(x).sum(), x, create_graph=True)
        return ((g.norm(dim=1) - 1) ** 2).mean(), x[0] * 3
    def calls(f):
        for n in (2, 2, 2, 3, 3, 5, 5, 2, 4, 4):
            net.zero_grad()
            loss, first = f(ramp(n, 3))
            grads = whet.autograd.grad(loss, list(net.parameters()), create_graph=True,
                                       allow_unused=True)
            sum((g ** 2).sum() for g in grads if g is not None).backward()
            first.sum().backward()
            yield loss.detach(), first.detach(), [p.grad for p in net.parameters()]
    return f, calls
