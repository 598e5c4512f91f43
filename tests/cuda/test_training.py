"""Random numbers and whole training steps on simulated devices: the CPU's bits, and nothing that
the CPU computes."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn

from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]


def test_random_numbers_are_drawn_on_the_device(gpus):
    def draws(device):
        whet.manual_seed(5)
        x = whet.empty(7, device=device)
        return [
            whet.rand(5000, device=device), whet.randn(3, 5, device=device, dtype=whet.float64),
            whet.randn(9, device=device, dtype=whet.bfloat16), whet.randperm(70, device=device),
            whet.randint(7, (40,), device=device), whet.randint(-5, 1 << 40, (9,), device=device),
            x.normal_().clone(), x.exponential_().clone(), x.bernoulli_(0.3).clone(),
            F.dropout(whet.ones(50, device=device), 0.3), whet.rand(3).to(device)]
    for got, want in zip(draws("cuda"), draws("cpu"), strict=True):
        same(got, want)


class Digits(nn.Module):
    """A small network of convolutions."""

    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.second, self.drop = nn.Conv2d(4, 8, 3, stride=2), nn.Dropout(0.2)
        self.out = nn.Linear(8, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.first(x))), 2)
        return self.out(self.drop(F.relu(self.second(x)).flatten(1)))


class Letters(nn.Module):
    """A small transformer that guesses the next letter."""

    def __init__(self, letters=7, width=8):
        super().__init__()
        self.embed, self.places = nn.Embedding(letters, width), nn.Embedding(6, width)
        self.layer = nn.TransformerEncoderLayer(width, 2, 8, dropout=0.1, batch_first=True)
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, t):
        n = t.shape[1]
        x = self.embed(t) + self.places(whet.arange(n, device=t.device))
        mask = nn.Transformer.generate_square_subsequent_mask(n).to(t.device)
        return self.out(self.norm(self.layer(x, src_mask=mask)))


def steps(model, optimizer, batch, device):
    """Two steps; the losses, parameters and buffers."""
    whet.manual_seed(0)
    m = model().to(device)
    o, losses = optimizer(m.parameters()), []
    for _ in range(2):
        x, y = batch(device)
        loss = F.cross_entropy(m(x).flatten(0, -2), y.flatten())
        o.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        o.step()
        losses.append(loss.detach())
    return [*losses, *m.parameters(), *m.buffers()]


def images(device):
    return whet.rand(2, 1, 8, 8, device=device), whet.randint(10, (2,), device=device)


def sentences(device):
    t = whet.randint(7, (2, 5), device=device)
    return t[:, :-1], t[:, 1:]


TRAININGS = {
    "digits": (Digits, lambda p: whet.optim.SGD(p, 0.1, momentum=0.9), images),
    "letters": (Letters, lambda p: whet.optim.AdamW(p, 0.01), sentences)}


@pytest.mark.parametrize("name", TRAININGS)
def test_training_has_the_cpus_bits(gpus, name):
    model, optimizer, batch = TRAININGS[name]
    got, want = (steps(model, optimizer, batch, d) for d in ("cuda", "cpu"))
    for a, b in zip(got, want, strict=True):
        same(a, b)


def test_a_draw_from_another_place_of_the_stream_is_seen(gpus, monkeypatch):
    from whet.cuda import random_draws
    right = random_draws.counters
    monkeypatch.setattr(random_draws, "counters", lambda n, index: right(n + 1, index)[1:])
    whet.manual_seed(0)
    got = whet.rand(9, device="cuda")
    whet.manual_seed(0)
    with pytest.raises(AssertionError):
        same(got, whet.rand(9))


@pytest.mark.parametrize("name,options", [
    ("SGD", {"momentum": 0.9, "nesterov": True}), ("SGD", {}), ("Adam", {"amsgrad": True}),
    ("AdamW", {}), ("RMSprop", {"centered": True, "momentum": 0.5}), ("Adagrad", {}),
    ("NAdam", {})])
def test_a_step_is_one_kernel_for_each_parameter(gpus, monkeypatch, name, options):
    """With the CPU's bits, and each tensor written once."""
    found = []
    for device in ("cpu", "cuda"):
        start = np.random.default_rng(0).standard_normal((3, 5)).astype("f4")
        ps = [whet.nn.Parameter(whet.tensor(start).to(device)),
              whet.nn.Parameter(whet.tensor(start[0]).to(device))]
        optimizer = getattr(whet.optim, name)(ps, lr=0.1, **options)
        for k in range(3):
            optimizer.zero_grad()
            sum((p * p * (k + 1)).sum() for p in ps).backward()
            launches = []
            run = gpus.driver.launch
            monkeypatch.setattr(gpus.driver, "launch",
                                lambda *a, run=run, to=launches: to.append(a) or run(*a))
            optimizer.step()
            monkeypatch.setattr(gpus.driver, "launch", run)
        states = [s for p in ps for s in optimizer.state[p].values() if s.ndim]
        found.append([*ps, *states])
    assert len(launches) == 2
    for got, want in zip(*found[::-1], strict=True):
        same(got, want)
        assert got._version == want._version


@pytest.mark.parametrize("size", (1.0, 1e30, 1e-30))
def test_norms_of_gradients_are_waited_for_together(gpus, monkeypatch, size):
    """Whether a norm is out of range is asked of all of them, and of theirs: in two waits however
    many there are. With the CPU's bits, also where squares overflow or vanish."""
    found, waits = [], []
    for device in ("cpu", "cuda"):
        whet.manual_seed(0)
        ps = [whet.zeros(n, device=device, requires_grad=True) for n in range(1, 8)]
        for p in ps:
            p.grad = whet.randn(p.shape[0]).to(device) * size
        with monkeypatch.context() as patches:
            for name in ("synchronize", "synchronize_stream", "synchronize_event"):
                patches.setattr(gpus.driver, name, lambda *a, f=getattr(gpus.driver, name):
                                waits.append(a) or f(*a))
            found.append([nn.utils.clip_grad_norm_(ps, 1.0), *(p.grad for p in ps)])
    assert size != 1.0 or len(waits) <= 2, waits
    for got, want in zip(*found[::-1], strict=True):
        same(got, want)
