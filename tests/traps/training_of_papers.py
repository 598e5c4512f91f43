"""Training techniques from papers: weights that are moved and put back, differentiated through,
merged, averaged, clamped by descriptors, routed by data."""
import whet
from whet import nn, optim

from tests.traps.harness import Box, mlp, outcome, ramp, state, trap


@trap
def steps_that_are_learnt_through():
    """Inner steps by functional_call, as many as an argument says; an outer one through them."""
    m = mlp()
    opt = optim.Adam(m.parameters(), lr=0.01)
    def f(x, steps):
        p = dict(m.named_parameters())
        for _ in range(steps):
            inner = whet.func.functional_call(m, p, (x,)).pow(2).mean()
            gs = whet.autograd.grad(inner, list(p.values()), create_graph=True)
            p = {k: v - 0.1 * g for (k, v), g in zip(p.items(), gs)}
        loss = whet.func.functional_call(m, p, (x * 2,)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for i in range(9):
            yield f(ramp(2, 3) * 0.1 * i, 1 + i // 4 % 2), state(m, opt)
    return f, calls


@trap
def weights_climb_before_they_descend():
    """Moved along the gradient, kept in a dict by parameter, and put back before the step."""
    m = mlp()
    opt = optim.SGD(m.parameters(), lr=0.05, momentum=0.9)
    moved = {}
    def f(x):
        loss = m(x).pow(2).mean()
        loss.backward()
        for p in m.parameters():
            entry = moved.setdefault(p, {})
            entry["by"] = p.grad * 0.1
            p.data.add_(entry["by"])
        opt.zero_grad()
        m(x).pow(2).mean().backward()
        for p in m.parameters():
            p.data.sub_(moved[p]["by"])
        opt.step()
        opt.zero_grad()
        return loss
    def calls(f):
        for i in range(9):
            yield f(ramp(2, 3) * 0.1 * i), state(m, opt), [e["by"] for e in moved.values()]
    return f, calls


@trap
def a_low_rank_part_is_merged_and_taken_out():
    """A layer beside a layer, which is added to its weights between calls, and subtracted again."""
    class LowRank(nn.Module):
        def __init__(self, layer):
            super().__init__()
            self.layer, self.merged, self.scale = layer.requires_grad_(False), False, 1.0
            self.a, self.b = nn.Parameter(ramp(2, 3) * 0.1), nn.Parameter(ramp(4, 2) * 0.1)
        def turn(self):
            sign = -self.scale if self.merged else self.scale
            self.layer.weight.data += self.b.data @ self.a.data * sign
            self.merged = not self.merged
        def forward(self, x):
            y = self.layer(x)
            return y if self.merged else y + x @ self.a.T @ self.b.T * self.scale
    m = mlp()
    m[0] = LowRank(m[0])
    opt = optim.Adam([p for p in m.parameters() if p.requires_grad], lr=0.01)
    def f(x):
        opt.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for i in range(12):
            if i in (4, 8):
                m[0].turn()
            m[0].scale = 2.0 if i >= 10 else 1.0
            yield f(ramp(2, 3)), state(m, opt)
    return f, calls


@trap
def weights_are_averaged_and_look_ahead():
    """Every second step into an average, every third half of the way back to slow weights."""
    m = mlp()
    opt = optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    average = optim.swa_utils.AveragedModel(m)
    slow, o = [p.detach().clone() for p in m.parameters()], Box(n=0)
    def f(x):
        o.n += 1
        opt.zero_grad()
        loss = m(x).pow(2).mean()
        loss.backward()
        opt.step()
        if o.n % 2 == 0:
            average.update_parameters(m)
        if o.n % 3 == 0:
            with whet.no_grad():
                for p, q in zip(m.parameters(), slow):
                    q.lerp_(p, 0.5)
                    p.copy_(q)
        return loss
    def calls(f):
        for _ in range(13):
            yield f(ramp(2, 3) * 0.1), state(m, opt), dict(average.state_dict()), list(slow)
    return f, calls


@trap
def a_descriptor_clamps_what_a_module_learns():
    """Set by the forward, clamped on the way, read by it again."""
    class Clamped:
        def __set_name__(self, owner, name): self.name = "_" + name
        def __get__(self, o, owner=None): return getattr(o, self.name)
        def __set__(self, o, v): object.__setattr__(o, self.name, min(max(v, 0.0), 1.0))
    class Layer(nn.Module):
        rate = Clamped()
        def __init__(self):
            super().__init__()
            self.rate, self.linear = 0.5, nn.Linear(2, 2)
        def forward(self, x):
            self.rate = self.rate + 0.2
            return self.linear(x) * self.rate
    m = Layer()
    def f(x): return m(x)
    def calls(f):
        for start in (0.5, 0.1, -3.0):
            m.rate = start
            for _ in range(5):
                yield f(ramp(2)), m.rate
    return f, calls


@trap
def a_weight_is_a_property_of_its_logarithm():
    """Made by the method that an attribute names, and set through the logarithm between calls."""
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.raw, self.by = nn.Parameter(ramp(3)), "exp"
        @property
        def weight(self): return getattr(self.raw, self.by)()
        @weight.setter
        def weight(self, v): self.raw.data = v.log()
        def forward(self, x): return x * self.weight
    m = Layer()
    opt = optim.SGD(m.parameters(), lr=0.1)
    def f(x):
        opt.zero_grad()
        loss = m(x).sum()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for m.by in ("exp", "sin", "exp"):
            for _ in range(4):
                yield f(ramp(3)), m.raw
            m.weight = ramp(3)
    return f, calls


@trap
def tokens_are_routed_to_experts():
    """Which expert gets which rows, and how many, is in the data; counters go with it."""
    experts, gate = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)]), nn.Linear(3, 3)
    opt = optim.SGD([*experts.parameters(), *gate.parameters()], lr=0.1)
    counts = [0] * 3
    def f(x):
        opt.zero_grad()
        p = gate(x).softmax(-1)
        best, y = p.argmax(-1), whet.zeros_like(x)
        for i, expert in enumerate(experts):
            rows = (best == i).nonzero().flatten()
            if rows.numel():
                y = y.index_add(0, rows, expert(x[rows]) * p[rows, i:i + 1])
                counts[i] += rows.numel()
        loss = (y - x).pow(2).mean()
        loss.backward()
        opt.step()
        return loss
    def calls(f):
        for _ in range(12):
            yield f(whet.randn(6, 3)), list(counts), state(experts, opt)
    return f, calls


@trap
def values_are_asserted():
    """A number of the data and one of the arguments are compared, and both are in the message."""
    def f(x, limit):
        assert x.max() < limit, f"{x.max().item()} is beyond {limit}"
        assert not whet.isnan(x).any(), "not a number"
        return x * limit
    def calls(f):
        for k, limit in ((1, 10), (1, 10), (1, 20), (100, 20), (100, 10), (1, 0.1),
                         (float("nan"), 10), (1, 20)):
            yield outcome(lambda: f(ramp(2) * k, limit))
    return f, calls
