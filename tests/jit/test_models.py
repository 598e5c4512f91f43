"""Training steps of models as they are written: a replay is one list of launches, and leaves
eager's bits."""
import math

import pytest
import whet
from whet import jit, models, nn
from whet.cpu import native
from whet.nn import functional as F


def gpt():
    """AdamW, clipped gradients, a learning rate that follows a cosine."""
    model = models.GPT(models.GPTConfig(8, 29, n_layer=4, n_head=2, n_embd=16, dropout=0.1))
    opt = whet.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, 30)

    def step(x, y):
        loss = model(x, y)[1]
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss, norm

    def call(step, g):
        x = whet.randint(0, 29, (4, 9), generator=g)
        out = step(x[:, :-1].contiguous(), x[:, 1:].contiguous())
        schedule.step()
        return out
    return step, call, [model]


def lstm():
    """A recurrent language model."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.lstm, self.head = nn.Embedding(29, 16), nn.LSTM(
                16, 16, batch_first=True), nn.Linear(16, 29)

        def forward(self, x):
            return self.head(self.lstm(self.emb(x))[0])
    model = Model()
    opt = whet.optim.Adam(model.parameters(), lr=1e-2)

    def step(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(model(x).reshape(-1, 29), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        opt.step()
        return loss

    def call(step, g):
        x = whet.randint(0, 29, (4, 13), generator=g)
        return step(x[:, :-1].contiguous(), x[:, 1:].contiguous())
    return step, call, [model]


def cnn():
    """Convolutions with batch norm."""
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8),
                          nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5))
    opt = whet.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)

    def step(x, y):
        opt.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y, label_smoothing=0.1)
        loss.backward()
        opt.step()
        return loss, (out.argmax(1) == y).float().mean()

    def call(step, g):
        return step(whet.randn(4, 1, 8, 8, generator=g), whet.randint(0, 5, (4,), generator=g))
    return step, call, [model]


def vae():
    """Noise inside, two losses."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.mean, self.var = nn.Linear(20, 16), nn.Linear(16, 4), nn.Linear(16, 4)
            self.dec = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 20))

        def forward(self, x):
            h = F.relu(self.enc(x))
            m, v = self.mean(h), self.var(h)
            return self.dec(m + whet.randn_like(m) * (0.5 * v).exp()), m, v
    model = Model()
    opt = whet.optim.Adam(model.parameters(), lr=1e-3)

    def step(x):
        opt.zero_grad()
        y, m, v = model(x)
        loss = (F.binary_cross_entropy_with_logits(y, x, reduction="sum") - 0.5 *
                (1 + v - m.pow(2) - v.exp()).sum())
        loss.backward()
        opt.step()
        return loss / x.shape[0]

    def call(step, g):
        return step(whet.rand(6, 20, generator=g))
    return step, call, [model]


def gan():
    """Two models with an optimizer each."""
    G = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 6), nn.Tanh())
    D = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(16, 1))
    og = whet.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
    od = whet.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))

    def step(real):
        fake = G(whet.randn(real.shape[0], 4))
        od.zero_grad()
        a, b = D(real), D(fake.detach())
        ld = (F.binary_cross_entropy_with_logits(a, whet.ones_like(a))
              + F.binary_cross_entropy_with_logits(b, whet.zeros_like(b)))
        ld.backward()
        od.step()
        og.zero_grad()
        c = D(fake)
        lg = F.binary_cross_entropy_with_logits(c, whet.ones_like(c))
        lg.backward()
        og.step()
        return ld, lg

    def call(step, g):
        return step(whet.randn(6, 6, generator=g))
    return step, call, [G, D]


def policy():
    """A policy gradient with discounted returns."""
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = whet.optim.RMSprop(net.parameters(), lr=1e-2)

    def step(states, actions, rewards):
        returns = whet.stack([(rewards[i:] * 0.9 ** whet.arange(len(rewards) - i)).sum()
                              for i in range(len(rewards))])
        returns = (returns - returns.mean()) / (returns.std() + 1e-6)
        logp = F.log_softmax(net(states), -1)
        chosen = logp.gather(1, actions.unsqueeze(1)).squeeze(1)
        entropy = -(logp.exp() * logp).sum(1).mean()
        loss = -(chosen * returns).mean() - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(net.parameters(), 0.5)
        opt.step()
        return loss, entropy

    def call(step, g):
        return step(whet.randn(8, 4, generator=g),
                    whet.randint(0, 3, (8,), generator=g),
                    whet.rand(8, generator=g))
    return step, call, [net]


def unet():
    """A denoising step with time embeddings, a skip connection and averaged weights."""
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Linear(8, 8)
            self.a, self.b = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 8, 3, stride=2, padding=1)
            self.c = nn.Conv2d(8, 8, 3, padding=1)
            self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
            self.out = nn.Conv2d(16, 1, 3, padding=1)
            self.na, self.nb = nn.GroupNorm(2, 8), nn.GroupNorm(2, 8)

        def forward(self, x, t):
            f = whet.exp(-math.log(100.0) * whet.arange(4) / 4)
            e = t[:, None].float() * f
            e = self.time(whet.cat([e.sin(), e.cos()], 1))
            a = F.silu(self.na(self.a(x)))
            b = F.silu(self.nb(self.b(a)) + e[:, :, None, None])
            return self.out(whet.cat([self.up(F.silu(self.c(b))), a], 1))
    model = Model()
    opt = whet.optim.AdamW(model.parameters(), lr=1e-3)
    scale = whet.linspace(1.0, 0.1, 10)
    ema = [p.detach().clone() for p in model.parameters()]

    def step(x, t):
        noise = whet.randn_like(x)
        s = scale[t][:, None, None, None]
        loss = F.mse_loss(model(x * s + noise * (1 - s * s).sqrt(), t), noise)
        opt.zero_grad(set_to_none=False)
        loss.backward()
        opt.step()
        with whet.no_grad():
            for e, p in zip(ema, model.parameters()):
                e.lerp_(p, 0.01)
        return loss

    def call(step, g):
        return step(whet.randn(3, 1, 8, 8, generator=g), whet.randint(0, 10, (3,), generator=g))
    return step, call, [model]


MODELS = dict(gpt=gpt, lstm=lstm, cnn=cnn, vae=vae, gan=gan, policy=policy, unet=unet)


def tensors(x):
    """The tensors of a result."""
    return [x] if whet.is_tensor(x) else [y for part in x for y in tensors(part)]


def trained(name, traced, steps):
    """(what training gives and leaves behind, as bytes; the traced step)"""
    whet.manual_seed(0)
    step, call, models = MODELS[name]()
    fn, g, got = jit.trace(step) if traced else step, whet.Generator().manual_seed(1), []
    for _ in range(steps):
        got += [t.numpy(force=True).tobytes() for t in tensors(call(fn, g))]
    return (got + [t.numpy(force=True).tobytes() for m in models
                   for t in m.state_dict().values()], fn)


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_is_one_list_of_launches(name):
    want, _ = trained(name, False, 20)
    got, fn = trained(name, True, 20)
    assert got == want
    r = max((r for rs in fn._table.values() for r in rs), key=lambda r: r.calls)
    assert r.calls >= 10
    if native.enabled():
        assert not [n for n in r.program.called] and r.program.only_launches is not None
        assert r.tables.ready is not None           # machine code compares, at all calls
