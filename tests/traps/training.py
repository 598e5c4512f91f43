"""Modules and training scripts: hooks, flags, states, schedules, weights that are tied."""
import copy
import math

import whet
from whet import nn, optim

from tests.traps.harness import Box, leaf, outcome, ramp, thrice, trap


# ---- modules and training ------------------------------------------------------------------------
@trap
def a_module_with_a_call_of_its_own():
    """__call__ overridden in a subclass: hooks are skipped, results scaled."""
    class Loud(nn.Linear):
        gain = 2.0
        def __call__(self, x): return self.forward(x) * self.gain
    model = Loud(2, 2)
    seen = []
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        handle = model.register_forward_hook(lambda m, i, o: seen.append(1))
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
        handle.remove()
        Loud.gain = 3.0
        yield from thrice(lambda: f(ramp(2)))
        model.gain = 4.0
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def hooks_come_and_go_between_calls():
    """A forward hook that counts, a pre-hook that scales; removed in another order."""
    model, seen = nn.Sequential(nn.Linear(2, 2), nn.ReLU()), []
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        a = model[0].register_forward_hook(lambda m, i, o: o * 2)
        b = model.register_forward_pre_hook(lambda m, i: (i[0] + 1,))
        yield from thrice(lambda: f(ramp(2)))
        c = model[1].register_forward_hook(lambda m, i, o: seen.append(tuple(o.shape)))
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
        a.remove()
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
        b.remove(), c.remove()
        yield from thrice(lambda: (f(ramp(2)), len(seen)))
    return f, calls


@trap
def the_gradient_flag_of_one_parameter_flips():
    """requires_grad_(False) for the bias alone, during training."""
    model = nn.Linear(2, 2)
    def f(x):
        loss = model(x).pow(2).sum()
        loss.backward()
        return loss
    def calls(f):
        for flags in ((True, True), (True, False), (False, True), (True, True)):
            model.weight.requires_grad_(flags[0]), model.bias.requires_grad_(flags[1])
            yield from thrice(lambda: (f(ramp(3, 2)), model.weight.grad, model.bias.grad))
    return f, calls


@trap
def one_child_is_in_training():
    """eval() of one child only, with dropout and statistics."""
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(3, 4)))
        model[1].eval()
        yield from thrice(lambda: (f(ramp(3, 4)), model[1].running_mean))
        model[2].eval()
        yield from thrice(lambda: (f(ramp(3, 4)), model[1].num_batches_tracked))
        model.train()
        yield from thrice(lambda: f(ramp(3, 4)))
    return f, calls


@trap
def a_buffer_is_replaced():
    """By a tensor of another dtype, another shape, and None."""
    class Shift(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("by", ramp(2))
        def forward(self, x): return x if self.by is None else x + self.by
    model = Shift()
    def f(x): return model(x)
    def calls(f):
        for by in (ramp(2), ramp(2).double(), ramp(1), None, ramp(2) * 5, ramp(2).long()):
            model.by = by
            yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def a_state_is_loaded_between_calls():
    """load_state_dict writes in place, or assigns."""
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    first = copy.deepcopy(model.state_dict())
    def f(x): return model(x)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        model.load_state_dict(other.state_dict())
        yield from thrice(lambda: f(ramp(2)))
        model.load_state_dict(first, assign=True)
        yield from thrice(lambda: f(ramp(2)))
        yield outcome(lambda: model.load_state_dict({"weight": ramp(2, 2)})), f(ramp(2))
    return f, calls


def trained(model, optimizer, after=lambda: None):
    """A step of training, to be traced."""
    def f(x):
        optimizer.zero_grad()
        loss = (model(x) - 1).pow(2).mean()
        loss.backward()
        after()
        optimizer.step()
        return loss
    return f


@trap
def settings_of_an_optimizer_are_edited():
    """param_groups: lr, momentum, weight decay, a group that is added."""
    model, extra = nn.Linear(2, 2), nn.Parameter(ramp(2))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    def calls(f):
        for key, value in (("lr", 0.1), ("lr", 0.05), ("momentum", 0.9), ("weight_decay", 0.01),
                           ("nesterov", True), ("lr", 0.2)):
            optimizer.param_groups[0][key] = value
            yield from thrice(lambda: (f(ramp(3, 2)), model.weight))
        optimizer.add_param_group({"params": [extra], "lr": 0.3})
        yield from thrice(lambda: (f(ramp(3, 2)), model.weight, extra))
    return trained(model, optimizer), calls


@trap
def schedulers_of_several_kinds():
    """StepLR and cosine between calls, stepped outside and inside."""
    model = nn.Linear(2, 2)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    inside = optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    def calls(f):
        for k in range(10):
            yield f(ramp(3, 2)), model.weight, optimizer.param_groups[0]["lr"]
            if k > 4:
                scheduler.step()
    return trained(model, optimizer, inside.step), calls


@trap
def gradients_are_none_or_zero():
    """zero_grad(set_to_none=...) flips."""
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    o = Box(none=True)
    def f(x):
        optimizer.zero_grad(set_to_none=o.none)
        before = model.weight.grad is None
        (model(x) - 1).pow(2).mean().backward()
        optimizer.step()
        return before
    def calls(f):
        for o.none in (True, False, True, False):
            yield from thrice(lambda: (f(ramp(3, 2)), model.weight.grad, model.weight))
    return f, calls


@trap
def gradients_are_clipped_in_other_ways():
    """clip_grad_norm_ with limits that vary, by value, and an infinite norm."""
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    o = Box(limit=1.0, norms=[])
    def clip():
        o.norms.append(nn.utils.clip_grad_norm_(model.parameters(), o.limit,
                                                norm_type=2.0 if o.limit < 5 else math.inf))
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
    def calls(f):
        for o.limit in (1.0, 1.0, 0.5, 0.25, 7.0, 7.0, 1.0, 2.0):
            yield f(ramp(3, 2)), model.weight, o.norms[-1], len(o.norms)
    return trained(model, optimizer, clip), calls


@trap
def every_second_call_makes_a_step():
    """Gradients add up; a counter in the loop decides about the step."""
    model = nn.Linear(2, 2)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    o = Box(n=0)
    def f(x):
        (model(x).pow(2).mean() / 2).backward()
        o.n += 1
        if o.n % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
        return model.weight.grad is None
    def calls(f):
        for _ in range(9):
            yield f(ramp(3, 2)), model.weight.clone(), model.weight.grad
    return f, calls


@trap
def a_weight_is_tied_and_untied():
    """decoder.weight = encoder.weight, and its own again."""
    a, b = nn.Linear(2, 2), nn.Linear(2, 2)
    own = b.weight
    def f(x):
        loss = b(a(x)).sum()
        loss.backward()
        return loss
    def calls(f):
        for w in (own, a.weight, own, a.weight):
            b.weight = w
            for m in (a, b):
                m.zero_grad()
            own.grad = None
            yield from thrice(lambda: (f(ramp(2)), a.weight.grad, own.grad))
    return f, calls


@trap
def a_parameter_becomes_a_plain_tensor():
    """del model.weight; model.weight = a tensor computed from two parameters."""
    model, g, v = nn.Linear(2, 2), leaf(1), leaf(2, 2)
    def f(x):
        out = model(x)
        return out
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        del model.weight
        for _ in range(3):
            model.weight = v * g / v.norm()
            y = f(ramp(2))
            y.sum().backward()
            yield y, g.grad, v.grad
    return f, calls


@trap
def what_is_recorded_under_no_grad_is_used_with_it():
    """no_grad inside for a part, a decorator around, and the caller's own mode."""
    w = leaf(2)
    @whet.no_grad()
    def part(x): return x * w
    def f(x):
        with whet.no_grad():
            scale = (x * w).sum()
        with whet.enable_grad():
            y = x * w
        return y * scale + part(x), whet.is_grad_enabled()
    def calls(f):
        for enabled in (True, False, True):
            with whet.set_grad_enabled(enabled):
                for _ in range(3):
                    y, flag = f(ramp(2))
                    yield y, flag, outcome(lambda: y.sum().backward()), w.grad
    return f, calls
