"""Programs of somebody who does not believe it: layers, optimizers, and settings of whet's own that
are changed between calls."""
import contextlib
import copy
import json
import pickle
import random

import whet
from whet import distributions, nn, optim
from whet.distributions import kl
from whet.nn import functional as F
from whet.nn.utils import parametrize

from tests.traps.harness import Box, leaf, mlp, outcome, ramp, state, thrice, trap


@trap
def optimizers_are_rearranged():
    """add_param_group, lr as another number, state cleared and loaded, betas exchanged."""
    model, extra = mlp(), leaf(2)
    opt = optim.Adam(model.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        loss = model(x).square().sum() + (extra * extra).sum()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        def some(): return f(ramp(2, 3)), state(model, opt), extra.detach().clone()
        yield from thrice(some)
        opt.add_param_group({"params": [extra], "lr": 0.5})
        yield from thrice(some)
        opt.param_groups[0]["lr"] = 0.01
        yield from thrice(some)
        kept = copy.deepcopy(opt.state_dict())
        opt.state.clear()
        yield from thrice(some)
        opt.load_state_dict(kept)
        yield from thrice(some)
        opt.param_groups[1]["betas"] = (0.5, 0.9)
        yield from thrice(some)
        opt.param_groups.pop(), opt.state.pop(extra)
        yield from thrice(some)
    return f, calls


@trap
def a_schedule_and_an_average_in_the_step():
    """A scheduler, an EMA by lerp_, a warm-up by a closure's counter, all inside."""
    model = mlp()
    ema = copy.deepcopy(model)
    opt = optim.SGD(model.parameters(), lr=0.1)
    sched = optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.5)
    o = Box(step=0)
    def f(x):
        o.step += 1
        scale = min(1.0, o.step / 4)
        opt.zero_grad()
        loss = model(x).square().mean() * scale
        loss.backward()
        opt.step()
        sched.step()
        with whet.no_grad():
            for a, b in zip(ema.parameters(), model.parameters()):
                a.lerp_(b, 0.1 if o.step > 2 else 1.0)
        return loss
    def calls(f):
        for k in range(12):
            if k == 8:
                o.step = 0
            yield f(ramp(2, 3)), [p for p in ema.parameters()], sched.get_last_lr(), o.step
    return f, calls


@trap
def layers_are_added_and_cast():
    """ModuleList grows, a layer is replaced by Identity, the model becomes double and back."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
            self.register_buffer("bias", None)
        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = layer(x.to(next(self.parameters()).dtype)) + i
            return x if self.bias is None else x + self.bias
    net = Net()
    def calls(f):
        def some(): return f(ramp(2, 3))
        yield from thrice(some)
        net.layers.append(nn.Tanh())
        yield from thrice(some)
        net.layers[1] = nn.Identity()
        yield from thrice(some)
        net.double()
        yield from thrice(some)
        net.bias = whet.ones(3, dtype=whet.float64)
        yield from thrice(some)
        net.float()
        yield from thrice(some)
        del net.layers[0]
        yield from thrice(lambda: outcome(some))
    return net, calls


@trap
def a_weight_is_computed():
    """Spectral norm's buffers, a parametrization, and a mask that changes."""
    layer = nn.Linear(3, 3)
    mask = whet.ones(3, 3)
    class Masked(nn.Module):
        def forward(self, w): return w * mask
    nn.utils.parametrize.register_parametrization(layer, "weight", Masked())
    def f(x):
        y = layer(x)
        y.sum().backward()
        return y
    def calls(f):
        def some(): return f(ramp(2, 3)), [(n, p.grad) for n, p in layer.named_parameters()]
        yield from thrice(some)
        mask[0] = 0
        yield from thrice(some)
        with nn.utils.parametrize.cached():
            yield from thrice(lambda: outcome(some)[0])
        nn.utils.parametrize.remove_parametrizations(layer, "weight")
        yield from thrice(some)
    return f, calls


@trap
def a_tensor_of_a_class_of_ones_own():
    """A subclass with an attribute and a method that the call uses and that change."""
    class Named(whet.Tensor):
        label = "none"
        def twice(self): return self * 2
    def f(x): return x.twice() + len(x.label), type(x + 1).__name__
    def calls(f):
        x = ramp(2).as_subclass(Named)
        yield from thrice(lambda: f(x))
        x.label = "long label"
        yield from thrice(lambda: f(x))
        Named.twice = lambda self: self * 5
        yield from thrice(lambda: f(x))
        Named.label = "b"
        del x.label
        yield from thrice(lambda: f(x))
    return f, calls


@trap
def transforms_inside():
    """grad, vmap and jvp of a closure over what changes."""
    w, o = ramp(3), Box(power=2)
    def inner(x): return ((x * w) ** o.power).sum()
    def f(x):
        g = whet.func.grad(inner)(x[0])
        b = whet.func.vmap(lambda r: inner(r) * r)(x)
        _, t = whet.func.jvp(inner, (x[1],), (whet.ones(3),))
        return g, b, t
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        w.mul_(3)
        yield from thrice(lambda: f(ramp(2, 3)))
        o.power = 3
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def modes_that_are_left_on():
    """set_grad_enabled, set_default_dtype and manual_seed inside, by the argument."""
    w = leaf(2)
    def f(x, k):
        if k == 1:
            whet.set_grad_enabled(False)
        elif k == 2:
            whet.set_grad_enabled(True)
        elif k == 3:
            whet.manual_seed(5)
        elif k == 4:
            state = whet.get_rng_state()
            a = whet.rand(2)
            whet.set_rng_state(state)
            return w * x + a, whet.rand(2)
        return w * x + whet.rand(2), whet.is_grad_enabled()
    def calls(f):
        for k in (0, 0, 1, 0, 1, 2, 0, 3, 3, 3, 4, 4, 4, 0, 1, 2, 4):
            yield f(ramp(2), k), whet.is_grad_enabled()
        whet.set_grad_enabled(True)
    return f, calls


@trap
def random_numbers_by_index_and_mask():
    """randperm, multinomial, dropout and bernoulli under a fork of the generator, with skips."""
    own = whet.Generator()
    own.manual_seed(3)
    o = Box(skip=False)
    def f(x):
        if o.skip:
            return x
        i = whet.randperm(3, generator=own)
        y = F.dropout(x[i], 0.5)
        random.random()
        return y + whet.bernoulli(whet.full((3,), 0.5)) + whet.rand(3, generator=own)
    def calls(f):
        for k in range(10):
            o.skip = k in (4, 5)
            if k == 7:
                own.manual_seed(3)
            yield f(ramp(3)), own.get_state().tolist()[:4]
    return f, calls


@trap
def copies_and_pickles_inside():
    """copy.copy, deepcopy of a model, pickle and back, json of a config."""
    model, config = mlp(), {"k": [1, 2.5]}
    def f(x):
        twin = copy.deepcopy(model)
        with whet.no_grad():
            twin[0].weight.mul_(2)
        c = json.loads(json.dumps(config))
        y = pickle.loads(pickle.dumps(x))
        return twin(x) + c["k"][1], copy.copy(y) + 1, twin[0].weight is model[0].weight
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        config["k"][1] = 7
        yield from thrice(lambda: f(ramp(2, 3)))
        with whet.no_grad():
            model[0].weight.zero_()
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def a_divergence_is_registered_later():
    """register_kl for a user class, then for its base, then forgotten."""
    class Mine(distributions.Normal):
        pass
    p, q = Mine(ramp(2), ramp(2)), distributions.Normal(ramp(2) * 2, ramp(2))
    def f(x): return distributions.kl_divergence(p, q) * x + distributions.kl_divergence(q, q)
    def calls(f):
        yield from thrice(lambda: f(ramp(2)))
        try:
            kl.register_kl(Mine, distributions.Normal)(lambda a, b: a.loc * 100)
            yield from thrice(lambda: f(ramp(2)))
            kl.register_kl(Mine, distributions.Normal)(lambda a, b: b.loc - 1)
            yield from thrice(lambda: f(ramp(2)))
        finally:
            kl._KL_REGISTRY.pop((Mine, distributions.Normal), None)
        yield from thrice(lambda: f(ramp(2)))
    return f, calls


@trap
def parametrized_weights_are_kept_for_a_while():
    """parametrize.cached() around some calls, nested, and inside of the function."""
    layer, o = nn.Linear(3, 3), Box(scale=whet.ones(1), inside=False)
    class Scaled(nn.Module):
        def forward(self, w): return w * o.scale
    parametrize.register_parametrization(layer, "weight", Scaled())
    def f(x):
        if o.inside:
            with parametrize.cached():
                return layer(x) + layer.weight.sum()
        return layer(x) + layer.weight.sum()
    def calls(f):
        yield from thrice(lambda: f(ramp(2, 3)))
        with parametrize.cached():
            yield f(ramp(2, 3))
            o.scale.fill_(5.0)
            yield from thrice(lambda: f(ramp(2, 3)))
            with parametrize.cached():
                o.scale.fill_(7.0)
                yield from thrice(lambda: f(ramp(2, 3)))
        yield from thrice(lambda: f(ramp(2, 3)))
        o.inside = True
        o.scale.fill_(2.0)
        yield from thrice(lambda: f(ramp(2, 3)))
    return f, calls


@trap
def first_values_are_left_out():
    """nn.init inside of a call, and around it what leaves tensors as they are."""
    def f(w): return nn.init.constant_(w, 3.0)
    def calls(f):
        for k in range(8):
            with nn.init.left_as_they_are() if k in (3, 4, 6) else contextlib.nullcontext():
                yield f(whet.zeros(2))
    return f, calls
