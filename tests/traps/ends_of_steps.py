"""Training steps that end early: by a question, an error or a return, before or after backward.
What lies in `.grad` is what eager mode leaves there."""
import numpy as np
import whet
from whet import nn, optim
from whet.autograd import Function

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, state, trap

WIDE = 192                       # a gradient of its square has memory of the allocator's


def wide():
    """Weights whose gradient may lie where the old one lay."""
    return (whet.arange(WIDE * WIDE).reshape(WIDE, WIDE) % 7 - 3).to(whet.float32).requires_grad_()


def rows(k):
    """Some input of the right size."""
    return (whet.arange(2 * WIDE).reshape(2, WIDE) % 5).to(whet.float32) * k


@trap
def gradients_add_up_until_a_question_says_otherwise():
    """No zero_grad inside: sums over calls, of which some go another way half way through."""
    w = wide()
    def f(x):
        y = x @ w
        if y.sum() > 0:
            y.square().mean().backward()
        else:
            (y * 3).sum().backward()
        return y.sum()
    def calls(f):
        for k in (1, 1, 1, 1, -1, 1, -1, -1, 1, 1):
            yield f(rows(k)), w.grad.clone(), w.grad.sum()
    return f, calls


@trap
def a_question_after_backward_skips_the_step():
    """Gradients that are not finite: the step is left out, and they stay or are set to zero."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    o = Box(skipped=0)
    def f(x, clear):
        loss = model(x).square().sum()
        loss.backward()
        total = sum(p.grad.square().sum() for p in model.parameters())
        if not whet.isfinite(total):
            o.skipped += 1
            if clear:
                opt.zero_grad()
            return None
        opt.step()
        opt.zero_grad(set_to_none=False)
        return loss
    def calls(f):
        for k, x in enumerate((1, 1, 1, 1, float("inf"), 1, 1, float("nan"), 1, 1)):
            yield f(ramp(2, 3) * x, k % 2 == 0), o.skipped, state(model, opt)
            if o.skipped and k == 7:
                opt.zero_grad()
    return f, calls


@trap
def an_error_of_the_users_after_backward():
    """Every third call raises when the gradients are there, by a Python number."""
    w, o = wide(), Box(n=0)
    def f(x):
        w.grad = None
        loss = (x @ w).square().mean()
        loss.backward()
        o.n += 1
        if o.n % 3 == 0:
            raise ValueError("after backward", o.n)
        with whet.no_grad():
            w.sub_(w.grad * 0.01)
        return loss
    def calls(f):
        for k in range(10):
            yield outcome(lambda: f(rows(k))), w.grad.clone(), w.detach().sum(), o.n
    return f, calls


@trap
def an_error_by_the_data_after_backward():
    """A check of the loss raises when gradients are there and a buffer was written."""
    w, seen = wide(), whet.zeros(2)
    def f(x):
        loss = (x @ w).square().mean()
        loss.backward()
        seen.add_(1)
        if loss.item() > 1000:
            raise OverflowError(f"{loss.item():.1f}")
        w.grad.mul_(0.5)
        return loss.detach()
    def calls(f):
        for k in (1, 1, 1, 1, 100, 1, 1, 100, 100, 1):
            yield outcome(lambda: f(rows(k))), w.grad.clone(), seen.clone()
    return f, calls


@trap
def errors_are_caught_and_the_gradients_kept():
    """try, except, else and finally around backward, which fails at times."""
    w, o = wide(), Box(log=[])
    def f(x, n):
        old, w.grad = w.grad, None
        try:
            y = (x @ w).reshape(n, -1)
            y.square().mean(0).sum().backward()
        except RuntimeError:
            w.grad = old
            o.log.append("failed")
        else:
            if old is not None:
                w.grad = old + w.grad
        finally:
            o.log.append(n)
        return w.grad.sum()
    def calls(f):
        for n in (2, 2, 2, 2, 3 * 5 * 7, 2, 11, 2, 4, 4, 4):
            yield outcome(lambda: f(rows(1), n)), w.grad.clone(), list(o.log)
    return f, calls


@trap
def a_second_backward_is_an_error():
    """With retain_graph the first time, twice or not at all: what each has added stays."""
    w = leaf(3)
    def f(x, keep):
        loss = (w * x).square().sum()
        loss.backward(retain_graph=keep)
        loss.backward()
        return loss
    def calls(f):
        for keep in (True, True, True, False, False, True, False, True):
            yield outcome(lambda: f(ramp(3), keep)), w.grad.clone()
        w.grad = None
        yield outcome(lambda: f(ramp(3), True)), w.grad
    return f, calls


@trap
def gradients_are_cleared_in_three_ways():
    """None, zero_() and zeros by another tensor; who holds the old one sees what eager shows."""
    w = wide()
    def f(x, how):
        if how == "none":
            w.grad = None
        elif how == "zero" and w.grad is not None:
            w.grad.zero_()
        elif how == "zeros":
            w.grad = whet.zeros_like(w)
        (x @ w).square().mean().backward()
        return w.grad.sum()
    def calls(f):
        for how in ("none", "none", "none", "zero", "zero", "zero", "zeros", "zeros", "zeros",
                    "add", "add", "none", "zero"):
            held = w.grad
            yield f(rows(1), how), w.grad.clone(), held is w.grad, held is None or held.clone()
    return f, calls


@trap
def a_hook_raises_on_some_calls():
    """Of a tensor, of a node's gradient accumulated before: leaves that came first have theirs."""
    a, b, o = leaf(3), leaf(3), Box(n=0)
    def hook(g):
        o.n += 1
        if o.n % 4 == 0:
            raise ArithmeticError("in a hook")
        return g * 2
    a.register_hook(hook)
    def f(x):
        (a * x + (b * x).exp()).sum().backward()
        return a.grad.sum() + b.grad.sum()
    def calls(f):
        for k in range(9):
            yield outcome(lambda: f(ramp(3) * 0.1 * k)), a.grad, b.grad, o.n
    return f, calls


@trap
def a_backward_of_the_users_raises_on_some_calls():
    """autograd.Function whose backward looks at numbers and fails."""
    w = leaf(3)
    class Fails(Function):
        @staticmethod
        def forward(ctx, x): return x * 2
        @staticmethod
        def backward(ctx, g):
            if g.sum() > 20:
                raise FloatingPointError("too large")
            return g * 2
    def f(x):
        y = Fails.apply(w * x)
        (y * y).sum().backward()
        return y
    def calls(f):
        for k in (0.1, 0.1, 0.1, 9, 0.1, 9, 0.1, 0.1):
            yield outcome(lambda: f(ramp(3) * k)), None if w.grad is None else w.grad.clone()
    return f, calls


@trap
def a_traced_forward_and_a_backward_outside():
    """The caller's backward fails, is done twice, or is left out; gradients add up."""
    w = wide()
    def f(x):
        y = x @ w
        return (y * 2).mean() if y.sum() > 0 else y.square().mean()
    def calls(f):
        for k in (1, 1, 1, -1, 1, -1, 1, 1):
            loss = f(rows(k))
            yield outcome(lambda: loss.backward(whet.ones(2))), loss.detach()
            loss2 = f(rows(k))
            loss2.backward(retain_graph=True)
            loss2.backward()
            yield outcome(loss2.backward), w.grad.clone()
    return f, calls


@trap
def clipping_that_raises():
    """error_if_nonfinite, between backward and the step."""
    model = mlp()
    opt = optim.AdamW(model.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5, error_if_nonfinite=True)
        opt.step()
        return loss
    def calls(f):
        for x in (1, 1, 1, 1, float("nan"), 1, float("inf"), 1, 1):
            yield outcome(lambda: f(ramp(2, 3) * x)), state(model, opt)
    return f, calls


@trap
def the_gradient_is_looked_at_in_the_middle():
    """Branches on `.grad` between two backwards, on an array of it and on its flags."""
    a, b = leaf(3), wide()
    def f(x):
        (a * x).sum().backward()
        if a.grad[0] > 5:
            a.grad = None
        (b * x[0]).mean().backward()
        if float(np.asarray(b.grad.numpy())[0, 0]) > 1e-4:
            b.grad.zero_()
        return a.grad is None, b.grad.requires_grad
    def calls(f):
        for k in (1, 1, 1, 2, 2, 2, -3, 1, 1, 5, 1, 1):
            yield f(ramp(3) * k), None if a.grad is None else a.grad.clone(), b.grad.clone()
    return f, calls


@trap
def micro_batches_of_which_one_is_bad():
    """A loop of backwards that stops at the first bad one: gradients of those before stay."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1)
    def f(xs):
        done = 0
        for x in xs:
            loss = model(x).square().mean() / len(xs)
            if whet.isnan(loss):
                break
            loss.backward()
            done += 1
        else:
            opt.step()
            opt.zero_grad()
        return done
    def calls(f):
        nan = float("nan")
        good = 1, 1, 1
        for scales in (good, good, good, good, (1, nan, 1), good, (nan, 1, 1), (1, 1, nan), good):
            yield f([ramp(2, 3) * k for k in scales]), state(model, opt)
    return f, calls


@trap
def a_graph_is_kept_though_the_step_writes_to_what_it_saved():
    """retain_graph=True, then an optimizer: who differentiates again is told what was written
    to, by whom and how often; gradients that read nothing of it are there."""
    model = mlp(nn.Linear(4, 4))
    opt = optim.Adam(model.parameters(), lr=0.1)
    def f(x):
        hidden = model[0](x)
        loss = model[1:](hidden).square().mean()
        opt.zero_grad()
        loss.backward(retain_graph=True)
        opt.step()
        return loss, hidden
    def calls(f):
        for k in range(7):
            loss, hidden = f(ramp(2, 3))
            yield loss, hidden, state(model, opt)
            if k % 2:
                yield outcome(lambda: whet.autograd.grad(loss, model[-1].bias, retain_graph=True))
                yield outcome(lambda: whet.autograd.grad(loss, hidden, retain_graph=True))
                yield outcome(lambda: hidden.sum().backward()), state(model)
            yield outcome(loss.backward), outcome(loss.backward), state(model)
    return f, calls


@trap
def what_a_graph_saved_is_written_to():
    """An argument, a buffer and a result of the call itself, once or twice, after a product saved
    them; and one that was saved before and after."""
    w, total = leaf(3), whet.zeros(3)
    def f(x, how):
        total.add_(1)
        y = w.exp()
        out = w * x + w * total + y * 2
        if how == "argument":
            x.mul_(2)
        elif how == "buffer":
            total.add_(1).add_(1)
        elif how == "result":
            y.detach().zero_()
        elif how == "both":
            x.mul_(2)
            out = out + w * x
        return out.sum()
    def calls(f):
        for how in ("argument", "buffer", "result", "both"):
            for _ in range(5):
                y = f(ramp(3), how)
                yield y, outcome(y.backward), w.grad, total
    return f, calls
