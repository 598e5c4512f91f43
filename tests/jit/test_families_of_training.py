"""Steps of training as researchers write them are replayed at sizes that never came. Each call is
compared with eager mode's."""
import copy

import pytest
import whet
import whet.nn.functional as F
from whet import jit, nn
from whet.jit.program import sized_lists
from whet.jit.program.sized_lists import Segment

pytestmark = pytest.mark.usefixtures("never_sounded")


class Network(nn.Module):
    """A convolution over a sequence, and a head."""

    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv1d(6, 8, 3, padding=1), nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.conv(x.mT).relu().amax(-1))


class Recurrent(nn.Module):
    """A layer whose results lie time first, and a mean that is weighted like them."""

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(6, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        y, _ = self.rnn(x)
        w = whet.ones_like(y[..., :1])
        return self.head((y * w).sum(1) / w.sum(1).clamp(min=1))


def plain(model, x, y):
    return F.cross_entropy(model(x), y)


def penalised(model, x, y):
    """The norm of a gradient of the loss is part of it."""
    out = model(x)
    g, = whet.autograd.grad(F.cross_entropy(out, y), model.head.weight, create_graph=True)
    return F.cross_entropy(out, y) + g.square().sum()


def adversarial(model, x, y):
    x = x.clone().requires_grad_()
    g, = whet.autograd.grad(F.cross_entropy(model(x), y), x)
    return F.cross_entropy(model((x + 0.1 * g.sign()).detach()), y)


def curved(model, x, y):
    b, out = model.head.bias.detach(), model(x)
    h = whet.func.hessian(lambda b: F.cross_entropy(out.detach() + b, y))(b)
    return F.cross_entropy(out, y) + h.trace()


def recomputed(model, x, y):
    """The state of the generator is kept and put back, though nothing is drawn."""
    out = whet.utils.checkpoint.checkpoint(model, x, use_reentrant=False)
    return F.cross_entropy(out, y)


def narrow(model, x, y):
    with whet.autocast("cpu", dtype=whet.bfloat16):
        out = F.max_pool1d(model.conv(x.mT), 2).amax(-1)
    return F.cross_entropy(model.head(out.float()), y)


class Rounded(whet.autograd.Function):
    """Rounds to multiples of a number, through which gradients flow as they come."""

    @staticmethod
    def forward(ctx, x, step):
        ctx.step = step
        ctx.save_for_backward(x)
        return (x / step).round() * step

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * (x.abs() < 1 / ctx.step), None


def rounded(model, x, y):
    """A number that the user's code gives itself by way of the framework's."""
    return F.cross_entropy(Rounded.apply(model(x), 0.25), y)


def bits(*tensors):
    return [(tuple(t.shape), t.stride(), t.detach().numpy().tobytes()) for t in tensors]


def step_of(model, loss_of):
    def step(x, y):
        model.zero_grad()
        loss = loss_of(model, x, y)
        loss.backward()
        with whet.no_grad():
            for p in model.parameters():
                p -= 0.1 * p.grad
        return loss.detach()
    return step


def perturbed_step_of(model, loss_of):
    """The gradient is taken where the loss is worst nearby."""
    descend = step_of(model, loss_of)

    def step(x, y):
        model.zero_grad()
        loss_of(model, x, y).backward()
        with whet.no_grad():
            for p in model.parameters():
                p += 0.05 * p.grad
        return descend(x, y)
    return step


@pytest.mark.parametrize("network, loss_of", [
    (Network, plain), (Recurrent, plain), (Network, penalised), (Network, adversarial),
    (Network, curved), (Network, recomputed), (Network, narrow), (Network, rounded)])
def test_a_step_is_replayed_at_any_size(network, loss_of):
    check(network, loss_of)


def test_a_step_whose_weights_are_moved_meanwhile_is_replayed_at_any_size():
    """What a pass made of a write is a value that no run had."""
    check(Network, plain, perturbed_step_of)


def check(network, loss_of, step_of=step_of):
    whet.manual_seed(0)
    model = network()
    other = copy.deepcopy(model)
    eager, traced = step_of(model, loss_of), jit.trace(step_of(other, loss_of))
    for b, n in [(4, 13), (3, 8), (6, 11), (9, 7), (12, 10), (5, 6), (8, 9), (7, 12), (10, 14)]:
        x, y = whet.randn(b, n, 6), whet.randint(3, (b,))
        assert bits(eager(x, y), *model.parameters()) == bits(traced(x, y), *other.parameters())
    assert traced._calls.policy.summary().unseen >= 2


def test_constants_that_are_equal_at_some_sizes_only():
    """One stood for both where the function was recorded."""
    def f(x):
        ones = whet.ones(x.shape[0]).sum()
        return x * ones, x * ones.clamp(max=40)
    traced = jit.trace(f)
    for n in (20, 30, 25, 35, 50, 22, 60, 41, 40, 39):
        x = whet.randn(n, 3)
        assert bits(*traced(x)) == bits(*f(x)), n
    assert traced._calls.policy.summary().unseen >= 2


def test_a_plan_with_more_arrays_than_a_list_has_is_several_lists(monkeypatch):
    """A deep network has more than a thousand parameters, gradients and states."""
    monkeypatch.setattr(sized_lists, "MOST_ARRAYS", 8)
    net = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(3, 3), nn.Tanh())])
    other = copy.deepcopy(net)

    def step(net, x):
        loss = net(x).square().sum()
        loss.backward()
        with whet.no_grad():
            for p in net.parameters():
                p -= 0.01 * p.grad
                p.grad = None
        return loss.detach()
    traced = jit.trace(lambda x: step(net, x))
    for n in (5, 5, 7, 7, 9, 11, 13, 6, 5, 30):
        x = whet.randn(n, 3)
        assert whet.equal(traced(x), step(other, x))
    assert all(map(whet.equal, net.parameters(), other.parameters()))
    family, = [r.sizes.family for r in traced._calls.policy.held if r.sizes.family]
    assert len([s for s in family.plans[0].forward.list.steps if type(s) is Segment]) > 1
