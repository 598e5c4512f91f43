"""Modules, parameters, hooks and optimizers that others change between calls."""
import copy
import pickle
import types

import numpy as np
import whet
import whet.nn.functional as F
from whet import nn, optim

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, state, trap


def step_of(model, opt, *, none=True):
    """A training step, and who calls it a number of times with `change(k)` before each call."""
    def step(x):
        opt.zero_grad(set_to_none=none)
        loss = (model(x) ** 2).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    def calls_with(change, count=12):
        def calls(f):
            for k in range(count):
                change(k)
                yield outcome(lambda: f(ramp(5, 3) * (1 + k % 3))), state(model, opt)
        return calls
    return step, calls_with


# ---- optimizers ----------------------------------------------------------------------------------
@trap
def the_groups_of_an_optimizer_are_edited():
    """lr, momentum, weight_decay and nesterov of a running optimizer."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step, calls = step_of(model, opt)
    def change(k):
        g = opt.param_groups[0]
        if k == 4: g["lr"] = 0.01
        if k == 6: g["momentum"] = 0.0
        if k == 8: g["weight_decay"] = 0.1
        if k == 10: g["momentum"], g["nesterov"] = 0.5, True
    return step, calls(change, 14)


@trap
def a_group_gets_and_loses_parameters():
    """add_param_group, and a parameter that is taken out of its list."""
    model = mlp()
    first, last = model[0], model[-1]
    opt = optim.Adam(first.parameters(), lr=0.1)
    step, calls = step_of(model, opt)
    def change(k):
        if k == 4: opt.add_param_group(dict(params=list(last.parameters()), lr=0.01))
        if k == 8: opt.state.pop(opt.param_groups[0]["params"].pop())
        if k == 11: [opt.state.pop(p) for p in opt.param_groups.pop()["params"]]
    return step, calls(change, 15)


@trap
def the_state_of_an_optimizer_is_dropped():
    """state.clear(), one parameter's state, and a state that is loaded."""
    model = mlp()
    opt = optim.AdamW(model.parameters(), lr=0.1)
    step, calls = step_of(model, opt)
    kept = []
    def change(k):
        if k == 3: kept.append(copy.deepcopy(opt.state_dict()))
        if k == 5: opt.state.clear()
        if k == 8: del opt.state[model[0].weight]
        if k == 11: opt.load_state_dict(kept[0])
    return step, calls(change, 15)


@trap
def the_step_count_is_set_back():
    """Adam's own count, as a tensor that is filled, and one that is exchanged."""
    model = mlp()
    opt = optim.Adam(model.parameters(), lr=0.1)
    step, calls = step_of(model, opt)
    def change(k):
        if k in (5, 6):
            for s in opt.state.values():
                s["step"].fill_(1) if k == 5 else s.update(step=whet.tensor(9.0))
    return step, calls(change)


@trap
def gradients_are_set_between_steps():
    """None, zeros, another tensor, scaled in place, shared by two parameters."""
    a, b = leaf(3), leaf(3)
    opt = optim.SGD([a, b], lr=0.1)
    def f(x):
        ((a * x).sum() + (b * b).sum()).backward()
        opt.step()
        return a * 1, b * 1
    def calls(f):
        for k in range(16):
            if k == 3: a.grad = None
            if k == 5: a.grad = whet.ones(3)
            if k == 7: a.grad.mul_(0.5)
            if k == 9: a.grad = b.grad
            if k == 12: a.grad = a.grad.clone()
            if k == 14: opt.zero_grad(set_to_none=False)
            yield f(ramp(3)), a.grad, b.grad, a.grad is b.grad
    return f, calls


@trap
def a_large_gradient_that_is_let_go():
    """set_to_none, large gradients, and a question in the midst whose answer changes."""
    w = whet.ones(300, 300).requires_grad_()
    opt = optim.SGD([w], lr=0.001)
    def f(x):
        opt.zero_grad(set_to_none=True)
        loss = (w * x).sum()
        if loss.item() > 0:
            loss = loss * 2
        loss.backward()
        opt.step()
        return loss.detach()
    def calls(f):
        for k in range(14):
            x = whet.full((300, 300), -1.0 if k in (6, 7, 11) else 1.0 + k)
            yield f(x), w.sum(), w.grad.sum()
    return f, calls


@trap
def parameters_are_frozen_and_thawed():
    """requires_grad_ of a layer, between steps and within backward's reach."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1)
    step, calls = step_of(model, opt)
    def change(k):
        if k in (4, 9): model[0].requires_grad_(k == 9)
        if k == 6: model[0].bias.requires_grad_(True)
    return step, calls(change, 14)


# ---- modules -------------------------------------------------------------------------------------
@trap
def a_parameter_is_exchanged_or_written():
    """Another Parameter, `.data`, copy_, and the weights of two layers tied."""
    model = mlp()
    def f(x): return model(x)
    def calls(f):
        for k in range(16):
            with whet.no_grad():
                if k == 3: model[0].weight = nn.Parameter(ramp(4, 3))
                if k == 6: model[0].weight.data = ramp(4, 3) * 2
                if k == 8: model[0].weight.data.mul_(0.5)
                if k == 10: model[-1].bias.copy_(ramp(2))
                if k == 12: model[0].weight.data = ramp(3, 4).T
                if k == 14: model.double()
            yield outcome(lambda: f(ramp(2, 3).to(model[-1].bias.dtype)))
    return f, calls


@trap
def layers_are_put_in_and_taken_out():
    """append, insert, del, and a slice of a Sequential."""
    model = mlp()
    def f(x): return model(x), len(model)
    def calls(f):
        for k in range(15):
            if k == 3: model.append(nn.Tanh())
            if k == 6: model.insert(1, nn.ReLU())
            if k == 9: del model[-1]
            if k == 12: model[1] = nn.Identity()
            yield f(ramp(2, 3))
    return f, calls


@trap
def train_and_eval_take_turns():
    """BatchNorm's statistics, Dropout's draws, and one layer that is set by itself."""
    model = mlp(nn.BatchNorm1d(4), nn.Dropout(0.5))
    def f(x): return model(x)
    def calls(f):
        for k in range(18):
            if k in (4, 10): model.eval()
            if k in (7, 13): model.train()
            if k == 15: model[1].eval()
            yield f(ramp(5, 3) * (k + 1)), model.state_dict()
    return f, calls


@trap
def statistics_of_a_norm_are_edited():
    """momentum, eps, track_running_stats, a buffer that is None or reset."""
    norm = nn.BatchNorm1d(3)
    def f(x): return norm(x)
    def calls(f):
        for k in range(18):
            if k == 3: norm.momentum = 0.5
            if k == 6: norm.eps = 0.1
            if k == 8: norm.reset_running_stats()
            if k == 10: norm.momentum = None
            if k == 13: norm.eval()
            if k == 15: norm.running_mean.add_(1)
            yield f(ramp(4, 3) * (k + 1)), dict(norm.named_buffers())
    return f, calls


@trap
def a_forward_is_patched():
    """On the instance, on the class, and taken off again."""
    class Scale(nn.Module):
        def forward(self, x): return x * 2
    m = Scale()
    old = Scale.forward
    def f(x): return m(x)
    def calls(f):
        for k in range(15):
            if k == 3: m.forward = lambda x: x * 3
            if k == 6: del m.forward
            if k == 9: Scale.forward = lambda self, x: x - 1
            if k == 12: Scale.forward = old
            yield f(ramp(2))
    return f, calls


@trap
def hooks_come_and_go():
    """Forward and pre-hooks, one that changes the result, one that counts."""
    m, met, handles = nn.Linear(3, 2), [], []
    def count(m, args, out): met.append(len(met))
    def f(x): return m(x)
    def calls(f):
        for k in range(16):
            if k == 3: handles.append(m.register_forward_hook(lambda m, a, out: out * 2))
            if k == 6: handles.append(m.register_forward_pre_hook(lambda m, a: (a[0] + 1,)))
            if k == 9: handles.pop(0).remove()
            if k == 11: handles.append(m.register_forward_hook(count))
            if k == 14: [h.remove() for h in handles]
            yield f(ramp(2, 3)), list(met)
    return f, calls


@trap
def hooks_on_gradients_come_and_go():
    """Of a parameter that a training step goes by."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1)
    step, calls = step_of(model, opt)
    handles = []
    def change(k):
        if k == 4: handles.append(model[0].weight.register_hook(lambda g: g * 0.5))
        if k == 8: handles[0].remove()
    return step, calls(change)


@trap
def buffers_are_registered_and_deleted():
    """register_buffer, one that is None, one that is deleted, a plain attribute in its place."""
    m = nn.Module()
    m.register_buffer("scale", ramp(2))
    def f(x): return x * (1.0 if m.scale is None else m.scale), len(list(m.buffers()))
    def calls(f):
        for k in range(15):
            if k == 3: m.scale = ramp(2) * 3
            if k == 6: m.scale = None
            if k == 9: m.register_buffer("other", ramp(2))
            if k == 11: del m.scale
            if k == 12: m.scale = 0.25
            yield outcome(lambda: f(ramp(2)))
    return f, calls


@trap
def a_model_is_copied_pickled_and_loaded():
    """The function reads it from a box in which another one is laid."""
    o = Box(model=mlp())
    def f(x): return o.model(x)
    def calls(f):
        for k in range(14):
            if k == 3: o.model = copy.deepcopy(o.model)
            if k == 6: o.model = pickle.loads(pickle.dumps(o.model))
            if k == 8: o.model.load_state_dict({n: t * 2 for n, t in o.model.state_dict().items()})
            if k == 11: o.model[0].apply(lambda m: m.weight.data.zero_())
            yield f(ramp(2, 3))
    return f, calls


@trap
def an_average_of_weights_is_kept():
    """EMA by lerp_, by `.data` and by a dict of clones; then the weights are exchanged with it."""
    model = mlp()
    kept = {n: p.detach().clone() for n, p in model.named_parameters()}
    opt = optim.SGD(model.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        model(x).square().mean().backward()
        opt.step()
        with whet.no_grad():
            for n, p in model.named_parameters():
                kept[n].lerp_(p, 0.1)
    def calls(f):
        for k in range(12):
            f(ramp(4, 3))
            if k == 7:
                with whet.no_grad():
                    for n, p in model.named_parameters():
                        p.copy_(kept[n])
            if k == 9:
                kept["0.bias"] = kept["0.bias"].clone()
            yield dict(kept), state(model, opt)
    return f, calls


@trap
def weights_are_pruned_by_a_mask():
    """The mask is an attribute, a buffer, and is written to between calls."""
    m = nn.Linear(3, 3)
    m.mask = whet.ones(3, 3)
    def f(x): return F.linear(x, m.weight * m.mask, m.bias)
    def calls(f):
        for k in range(12):
            if k == 3: m.mask[0] = 0
            if k == 6: m.mask = (m.weight.detach().abs() > 0.1).float()
            if k == 9: m.mask = m.mask.bool()
            yield f(ramp(2, 3))
    return f, calls


@trap
def accumulated_gradients_over_micro_batches():
    """A step at every third call: the count is an attribute."""
    model = mlp()
    opt = optim.SGD(model.parameters(), lr=0.1)
    o = Box(k=0)
    def f(x):
        (model(x).square().mean() / 3).backward()
        o.k += 1
        if o.k % 3 == 0:
            opt.step()
            opt.zero_grad()
        return o.k
    def calls(f):
        for _ in range(14):
            yield f(ramp(4, 3)), state(model, opt)
    return f, calls


@trap
def a_step_that_is_skipped_for_its_gradients():
    """An infinite gradient skips the step and halves a scale, as GradScaler does."""
    w, o = leaf(3), Box(scale=4.0, good=0)
    def f(x):
        w.grad = None
        ((w * x).sum() * o.scale).backward()
        if not bool(w.grad.isfinite().all()):
            o.scale *= 0.5
            return False
        o.good += 1
        with whet.no_grad():
            w.sub_(w.grad / o.scale * 0.1)
        return True
    def calls(f):
        for k in range(14):
            yield f(ramp(3) * (float("inf") if k in (5, 9) else 1.0)), w, o.scale, o.good
    return f, calls


@trap
def learning_stops_early():
    """The best loss and a patience, compared with item()."""
    model, o = mlp(), Box(best=float("inf"), bad=0, stop=False)
    def f(x):
        loss = model(x).square().mean().item()
        if loss < o.best:
            o.best, o.bad = loss, 0
        else:
            o.bad += 1
        o.stop = o.bad >= 3
        return loss, o.stop
    def calls(f):
        for k in range(14):
            with whet.no_grad():
                model[-1].weight.mul_(0.9 if k < 7 else 1.1)
            yield f(ramp(4, 3)), o.best, o.bad
    return f, calls


# ---- graphs --------------------------------------------------------------------------------------
@trap
def a_graph_of_the_outside_is_gone_through():
    """The backward frees it: the second time is an error."""
    other, o = leaf(4), Box()
    makes = [lambda: leaf(4), lambda: other * 1, lambda: other * 1 + 1,
             lambda: (other * 2).view(2, 2).view(4)]
    def f(x):
        (x * o.leaf).sum().backward()
        return x + 1
    def calls(f):
        for make in makes * 2:
            o.leaf = make()
            for _ in range(3):
                yield outcome(lambda: f(ramp(4))), other.grad
    return f, calls


@trap
def an_argument_with_a_graph_is_gone_through():
    """A result of the last call is given back, with or without its history."""
    w = leaf(3)
    def f(h, x):
        h = h * w + x
        h.sum().backward(retain_graph=False)
        return h
    def calls(f):
        h = ramp(3)
        for k in range(14):
            out = outcome(lambda: f(h, ramp(3)))
            yield out, w.grad
            h = ramp(3) if isinstance(out, tuple) or k > 10 else out if k % 3 == 2 else out.detach()
    return f, calls


@trap
def a_graph_is_kept_and_gone_through_again():
    """retain_graph, then without, by turns."""
    w, o = leaf(3), Box(keep=True)
    shared = Box(y=w * 2 + 1)
    def f(x):
        (shared.y * x).sum().backward(retain_graph=o.keep)
        return x * 2
    def calls(f):
        for k in range(12):
            o.keep = k % 4 != 3
            if k in (4, 8): shared.y = w * (k + 1) + 1
            yield outcome(lambda: f(ramp(3))), w.grad
    return f, calls


@trap
def a_loss_is_kept_with_its_graph():
    """The sum of losses of several calls is differentiated outside."""
    w, losses = leaf(3), []
    def f(x): return (w * x).square().sum()
    def calls(f):
        for k in range(12):
            losses.append(f(ramp(3) * k))
            if len(losses) == 3:
                sum(losses).backward()
                losses.clear()
            yield w.grad, len(losses)
    return f, calls


@trap
def what_is_saved_is_written_to_later():
    """The error of a backward through a result whose operand was changed."""
    w = leaf(3)
    def f(x): return (w * x).exp()
    def calls(f):
        for k in range(10):
            x = ramp(3)
            y = f(x)
            if k % 3 == 2: x.add_(1)
            if k == 7: y.detach().mul_(2)
            yield outcome(lambda: y.sum().backward()), w.grad
    return f, calls


@trap
def a_leaf_is_made_of_a_result():
    """detach().requires_grad_() within, grad of it, and a second backward outside."""
    w = leaf(3)
    def f(x):
        h = (w * x).detach().requires_grad_()
        (h * h).sum().backward()
        return h, h.grad
    def calls(f):
        for k in range(8):
            h, g = f(ramp(3) * k)
            (h * 3).sum().backward()
            yield h.grad, g is h.grad, w.grad
    return f, calls


@trap
def a_module_is_bound_elsewhere_and_dies():
    """A method of a module is another's attribute."""
    class Holder:
        pass
    o = Holder()
    o.net = nn.Linear(2, 2)
    o.call = o.net.forward
    def f(x): return o.call(x)
    def calls(f):
        for k in range(10):
            if k == 4:
                o.net = nn.Linear(2, 2)
                with whet.no_grad(): o.net.weight.fill_(1)
            if k == 7:
                o.call = types.MethodType(nn.Linear.forward, o.net)
            yield f(ramp(2))
    return f, calls


@trap
def arrays_of_the_weights():
    """NumPy writes to a weight's memory, and reads it, between calls."""
    m = nn.Linear(2, 2)
    a = m.weight.detach().numpy()
    def f(x): return m(x), m.weight.sum().item() > 1
    def calls(f):
        for k in range(12):
            if k == 3: a[:] = 1
            if k == 6: a[0, 1] = np.nan
            if k == 8: np.copyto(a, 0.25)
            if k == 10: m.weight.data = whet.from_numpy(a.copy())
            yield f(ramp(3, 2)), a.copy()
    return f, calls
