"""Optimizers and whole training steps."""
import copy

import whet
import whet.nn.functional as F
from whet import nn, optim
from whet.utils.checkpoint import checkpoint

from tests.traps.harness import Box, leaf, mlp, ramp, state, thrice, trap


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
        with whet.autograd.saved_tensors_hooks(lambda t: log.append("pack") or t * 1,
                                               lambda t: log.append("unpack") or t):
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
def hooks_of_saved_tensors_beside_numbers_that_vary():
    """A number that differs from call to call is no tensor: pack hooks do not see it, whatever op
    it goes into, and it loses no digits in them."""
    o, w, seen = Box(n=0.1), leaf(3), []
    def pack(t):
        seen.append((tuple(t.shape), t.dtype))
        return t.half()
    def f(x):
        o.n += 0.1
        with whet.autograd.saved_tensors_hooks(pack, whet.Tensor.float):
            y = x * w * o.n
            y = whet.where(y > o.n, y * o.n, y / (o.n + 1)) - o.n
            y = y.clamp(min=-o.n).lerp(x, o.n)
            y.mul_(o.n)
        y.sum().backward()
        return y
    def calls(f):
        for _ in range(6):
            yield f(ramp(3)), w.grad, list(seen)
    return f, calls


@trap
def what_is_checkpointed_counts_its_runs():
    """The second run multiplies by another number: gradients go by that of the first, which the
    node has."""
    o, w = Box(n=0), leaf(3)
    def block(x):
        o.n += 1
        return (x * w * o.n).sin() * o.n
    def f(x):
        y = checkpoint(block, x, use_reentrant=False)
        y.sum().backward()
        return y
    def calls(f):
        for _ in range(6):
            w.grad, x = None, leaf(3)
            yield f(x), w.grad, x.grad, o.n
    return f, calls


@trap
def nodes_tell_numbers_that_vary():
    """`grad_fn._saved_other` is the number itself, with all of its digits."""
    o, w = Box(n=0.1), leaf(3)
    def f(x):
        o.n += 0.1
        y = (x * w) * o.n
        saved = y.grad_fn._saved_other
        return y, saved, type(saved).__name__, x * (saved * 3)
    def calls(f):
        for _ in range(6):
            y, *more = f(ramp(3))
            y.sum().backward()
            yield y, more, w.grad
    return f, calls
