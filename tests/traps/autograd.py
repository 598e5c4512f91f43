"""backward inside and outside, higher orders, hooks, custom functions, optimizers, whole training steps."""
import copy

import whet
import whet.nn.functional as F
from whet import nn, optim
from whet.autograd import Function, grad
from whet.utils.checkpoint import checkpoint

from tests.traps.harness import leaf, outcome, ramp, thrice, trap


def mlp(*layers):
    """A model small enough to compare completely."""
    return nn.Sequential(nn.Linear(3, 4), *layers, nn.Tanh(), nn.Linear(4, 2))


def state(model, opt=None):
    """Everything that a training step may change."""
    return dict(model.state_dict()), [p.grad for p in model.parameters()], opt and opt.state_dict()


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
    """.grad None, zeros, one of the user's own, and one that is shared: each accumulates in its own way."""
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
            handle = x.register_hook(lambda g: log.append(g.sum().item()) or g * 10) if k > 2 else None
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
def plain_gradient_descent_by_hand():
    """p -= lr * p.grad under no_grad: leaves are written to in place."""
    w, lr = leaf(3), [0.1]
    def f(x):
        loss = (x * w - 1).square().sum()
        loss.backward()
        with whet.no_grad():
            w.sub_(lr[0] * w.grad)
            w.grad.zero_()
        return loss.item()
    def calls(f):
        for k in range(7):
            lr[0] = 0.1 if k < 4 else 0.01
            yield f(ramp(3)), w
    return f, calls


@trap
def a_step_with_momentum():
    """SGD's buffers appear at the first step; the rate and the decay change between later ones."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    def f(x):
        opt.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        return loss.detach()
    def calls(f):
        for k in range(9):
            opt.param_groups[0]["lr"] = 0.1 if k < 4 else 0.01
            opt.param_groups[0]["weight_decay"] = 0.1 if k > 6 else 0
            yield f(ramp(2, 3)), state(model, opt)
    return f, calls


@trap
def a_step_of_adam():
    """The step count goes into the correction of every step."""
    model = mlp()
    opt = optim.Adam(model.parameters(), lr=0.05, amsgrad=True)
    def f(x, y):
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()
    def calls(f):
        for k in range(6):
            yield f(ramp(2, 3) / (k + 1), whet.tensor([0, 1])), state(model, opt)
    return f, calls


@trap
def a_schedule():
    """The scheduler steps inside, and changes the rate on some calls."""
    model = mlp()
    opt = optim.AdamW(model.parameters(), lr=0.1)
    schedule = optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
    def f(x):
        opt.zero_grad()
        model(x).square().mean().backward()
        opt.step()
        schedule.step()
        return schedule.get_last_lr()
    def calls(f):
        for _ in range(7):
            yield f(ramp(2, 3)), state(model, opt)
    return f, calls


@trap
def a_clipped_step():
    """The norm decides in data whether anything is scaled."""
    model = mlp()
    opt = optim.RMSprop(model.parameters(), lr=0.01)
    def f(x):
        opt.zero_grad(set_to_none=False)
        model(x).square().sum().backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return norm, norm > 1
    def calls(f):
        for scale in (1, 1, 1, 0.001, 0.001, 100, 1):
            yield f(ramp(2, 3) * scale), state(model)
    return f, calls


@trap
def a_step_that_is_left_out():
    """A loss that is not finite: skip, and count it."""
    model, skipped = mlp(), []
    opt = optim.SGD(model.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        loss = model(x).square().mean()
        if not whet.isfinite(loss):
            skipped.append(len(skipped))
            return None
        loss.backward()
        opt.step()
        return loss.detach()
    def calls(f):
        for n in (1, 1, 1, float("nan"), float("inf"), 1, 1):
            yield f(ramp(2, 3) * n), state(model), list(skipped)
    return f, calls


@trap
def gradients_are_gathered_over_calls():
    """A step every third call only, counted in a number of the outside."""
    model, count = mlp(), [0]
    opt = optim.Adagrad(model.parameters(), lr=0.1)
    def f(x):
        (model(x).square().mean() / 3).backward()
        count[0] += 1
        if count[0] % 3 == 0:
            opt.step()
            opt.zero_grad()
    def calls(f):
        for k in range(8):
            f(ramp(2, 3) * (k % 2 + 1))
            yield state(model), count
    return f, calls


@trap
def the_optimizer_is_given_other_parameters():
    """A group is added, and the state is loaded back, between calls."""
    model, extra = mlp(), leaf(2)
    opt = optim.Adam(model.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        (model(x) * extra).square().mean().backward()
        opt.step()
    def calls(f):
        before = copy.deepcopy(opt.state_dict())
        yield from thrice(lambda: (f(ramp(2, 3)), state(model, opt), extra))
        opt.load_state_dict(before)
        yield from thrice(lambda: (f(ramp(2, 3)), state(model, opt), extra))
        opt.add_param_group({"params": [extra], "lr": 0.01})
        yield from thrice(lambda: (f(ramp(2, 3)), state(model, opt), extra))
    return f, calls


@trap
def tied_weights():
    """One parameter in two places gets the sum of two gradients; then they are untied."""
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    b.weight = a.weight
    def f(x):
        a.zero_grad()
        b.zero_grad()
        b(a(x).tanh()).sum().backward()
        return a.weight.grad, b.weight.grad
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        b.weight = nn.Parameter(a.weight.detach().clone())
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def an_average_of_the_weights():
    """A shadow model that is written to in place, after each step."""
    model = mlp()
    shadow = copy.deepcopy(model).requires_grad_(False)
    opt = optim.SGD(model.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        F.mse_loss(model(x), shadow(x)).add(model(x).mean()).backward()
        opt.step()
        with whet.no_grad():
            for p, q in zip(model.parameters(), shadow.parameters()):
                q.lerp_(p, 0.5)
    def calls(f):
        for _ in range(5):
            f(ramp(2, 3))
            yield state(model), state(shadow)
    return f, calls


@trap
def training_with_noise_and_statistics():
    """Dropout and batch norm in one step: masks are new, running means move, then evaluation."""
    model = mlp(nn.BatchNorm1d(4), nn.Dropout(0.4))
    opt = optim.AdamW(model.parameters(), lr=0.05)
    def f(x):
        y = model(x)
        if model.training:
            opt.zero_grad()
            y.square().mean().backward()
            opt.step()
        return y.detach()
    def calls(f):
        for train in (True, True, True, True, False, False, True):
            model.train(train)
            yield f(ramp(4, 3)), state(model, opt)
    return f, calls


@trap
def two_models_against_each_other():
    """Two losses, two optimizers, and each backward stops at the other's door."""
    g, d = nn.Linear(2, 3), nn.Linear(3, 1)
    og, od = optim.SGD(g.parameters(), lr=0.1), optim.Adam(d.parameters(), lr=0.1)
    def f(real):
        fake = g(whet.randn(2, 2))
        od.zero_grad()
        (F.softplus(-d(real)).mean() + F.softplus(d(fake.detach())).mean()).backward()
        od.step()
        og.zero_grad()
        F.softplus(-d(fake)).mean().backward()
        og.step()
    def calls(f):
        for _ in range(5):
            f(ramp(2, 3))
            yield state(g, og), state(d, od)
    return f, calls


@trap
def a_recurrent_model_keeps_its_state():
    """Hidden state from call to call, detached by hand; lengths change."""
    cell, hidden = nn.GRU(2, 3, batch_first=True), [None]
    def f(x):
        y, h = cell(x, hidden[0])
        hidden[0] = h.detach()
        return y.sum()
    def calls(f):
        for n in (3, 3, 3, 5, 5, 2, 3):
            y = f(ramp(1, n, 2) / 10)
            y.backward()
            yield y, hidden[0], state(cell)
    return f, calls


@trap
def checkpointed():
    """The forward part runs again in backward, with the same random numbers."""
    model = mlp(nn.Dropout(0.5))
    def f(x):
        y = checkpoint(model, x, use_reentrant=False).sum()
        y.backward()
        return y.detach()
    def calls(f):
        for _ in range(4):
            model.zero_grad()
            yield f(ramp(2, 3)), state(model)
    return f, calls


@trap
def saved_tensors_are_packed():
    """saved_tensors_hooks around some calls: what is saved, and how often, is observable."""
    w = leaf(3)
    def f(x): return (x * w).exp().sum()
    def calls(f):
        log = []
        yield from thrice(lambda: f(ramp(3)))
        with whet.autograd.saved_tensors_hooks(lambda t: log.append("pack") or t * 1, lambda t: log.append("unpack") or t):
            for _ in range(3):
                f(ramp(3)).backward()
                yield w.grad, list(log)
        for _ in range(3):
            f(ramp(3)).backward()
            yield w.grad, len(log)
    return f, calls


@trap
def a_closure_is_called_as_often_as_needed():
    """LBFGS calls back, and how many times depends on the values."""
    w, seen = leaf(2), []
    opt = optim.LBFGS([w], lr=0.5, max_iter=4)
    def f(x):
        def closure():
            opt.zero_grad()
            loss = (w - x).square().sum() + w.prod()
            loss.backward()
            seen.append(1)
            return loss
        return opt.step(closure).detach()
    def calls(f):
        for scale in (1, 1, 1, 4, 4):
            yield f(ramp(2) * scale), w, len(seen)
    return f, calls


@trap
def which_outputs_have_a_history():
    """is_leaf, requires_grad and grad_fn of outputs: a leaf, a detached one, an integer, an input, a new leaf."""
    w = leaf(3)
    def f(x): return w, x * w, (x * w).detach(), (x * w).argmax(), x, x.clone().requires_grad_(), w.view(3, 1)
    def calls(f):
        for x in (ramp(3), leaf(3), ramp(3)):
            for _ in range(3):
                ys = f(x)
                yield ys, [y.grad_fn is None for y in ys], [y.grad_fn.name() for y in ys if y.grad_fn]
    return f, calls
