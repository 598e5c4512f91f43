"""Small versions of well-known programs, only their imports changed: they learn, and traced they
give eager's bits."""
import importlib
import math
import pathlib

import numpy as np
import pytest
import whet as torch
import whet.nn as nn
import whet.nn.functional as F
import whet.optim as optim
from sklearn.datasets import load_digits
from whet.distributions import Categorical
from whet.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from whet.utils.data import DataLoader, TensorDataset


def noise(*shape, seed):
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape).astype("f4"))


def batches(n=6):
    data = load_digits()
    images, labels = (torch.tensor(data.images[:64 * n].astype("f4") / 16).unsqueeze(1),
                      torch.tensor(data.target[:64 * n]))
    return list(DataLoader(TensorDataset(images, labels), batch_size=64))


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.bn1 = (nn.Conv2d(width, width, 3, padding=1,
                                          bias=False), nn.BatchNorm2d(width))
        self.conv2, self.bn2 = (nn.Conv2d(width, width, 3, padding=1,
                                          bias=False), nn.BatchNorm2d(width))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return self.relu(out)


def residual_network():
    model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), Residual(8), nn.MaxPool2d(2), Residual(8),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4,
                          nesterov=True)

    def step(x, y):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    return step, batches() * 2


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.mean, self.logvar = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
        self.fc3, self.fc4 = nn.Linear(4, 32), nn.Linear(32, 64)

    def forward(self, x, eps):
        h = F.relu(self.fc1(x.view(-1, 64)))
        mu, logvar = self.mean(h), self.logvar(h)
        z = mu + eps * torch.exp(0.5 * logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


def variational_autoencoder():
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=5e-3)

    def step(x, eps):
        optimizer.zero_grad()
        recon, mu, logvar = model(x, eps)
        loss = (F.binary_cross_entropy(recon, x.view(-1, 64), reduction="sum")
                - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()))
        loss.backward()
        optimizer.step()
        return loss
    return step, [(x, noise(64, 4, seed=i)) for i, (x, _) in enumerate(batches() * 2)]


class LanguageModel(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.encoder, self.rnn, self.decoder = nn.Embedding(tokens, width), nn.LSTM(
            width, width, 2), nn.Linear(width, tokens)
        self.decoder.weight = self.encoder.weight

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.encoder(x), hidden)
        return F.log_softmax(self.decoder(out).flatten(0, 1), dim=1), hidden


def lstm_language_model():
    model = LanguageModel(10, 16)
    text = (torch.arange(400) * 3 % 10).view(8, -1).t().contiguous()

    def step(i, hidden):
        x, y = text[i:i + 10], text[i + 1:i + 11].reshape(-1)
        model.zero_grad()
        out, hidden = model(x, tuple(h.detach() for h in hidden))
        loss = F.nll_loss(out, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-2.0)
        return loss, hidden
    state = [(torch.zeros(2, 8, 16), torch.zeros(2, 8, 16))]

    def run(i):
        loss, state[0] = run.step(i, state[0])
        return loss
    run.step, run.traced = step, lambda: setattr(run, "step", torch.jit.trace(step))
    return run, [(i % 4 * 10,) for i in range(12)]


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads
        self.register_buffer("bias",
                             torch.tril(torch.ones(length, length)).view(1, 1, length, length))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2)
                   for t in self.c_attn(x).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = F.softmax(att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf")), dim=-1)
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = (nn.LayerNorm(width), Attention(width, heads, length),
                                           nn.LayerNorm(width))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width),
                                 nn.GELU(),
                                 nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, tokens=12, width=16, length=8):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.length = length
        self.h = nn.ModuleList([Block(width, 2, length) for _ in range(2)])
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, idx, targets=None):
        x = (self.wte(idx)
             + self.wpe(torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return (logits, None if targets is None else F.cross_entropy(
            logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1))

    @torch.no_grad()
    def generate(self, idx, count, top_k):
        for _ in range(count):
            logits = self(idx[:, -self.length:])[0][:, -1, :]
            v, _ = torch.topk(logits, top_k)
            logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)),
                            dim=1)
        return idx


def gpt():
    model = GPT()
    decay = [p for p in model.parameters() if p.dim() >= 2]
    groups = [{"params": decay, "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = optim.AdamW(groups, lr=1e-2, betas=(0.9, 0.95))
    schedule = optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 4))

    def step(x, y):
        _, loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss
    text = torch.arange(200) * 5 % 12
    windows = text.unfold(0, 8, 1).contiguous()
    return step, [(windows[i:i + 8], windows[i + 1:i + 9]) for i in range(14)]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.fc = nn.Embedding(20, 8, padding_idx=0), nn.Linear(16, 2)
        self.gru = nn.GRU(8, 8, bidirectional=True, batch_first=True)

    def forward(self, x, lengths):
        out, h = self.gru(
            pack_padded_sequence(self.embedding(x), lengths, batch_first=True,
                                 enforce_sorted=False))
        out, lengths = pad_packed_sequence(out, batch_first=True)
        return self.fc(torch.cat((h[-2], h[-1]), dim=1) + out.sum(1) / lengths.unsqueeze(1))


def packed_gru():
    model, r = Classifier(), np.random.default_rng(0)
    optimizer = optim.Adam(model.parameters(), lr=0.02)

    def step(x, lengths, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, lengths), y)
        loss.backward()
        optimizer.step()
        return loss
    y = torch.tensor(np.arange(12) % 2)
    lengths = torch.tensor(r.permutation(12) % 5 + 2)
    x = torch.tensor(r.integers(1, 10, (12, 6))) + 10 * y.unsqueeze(1)
    return step, [(torch.where(torch.arange(6) < lengths.unsqueeze(1), x, 0), lengths, y)] * 8


def penalised_critic():
    critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    optimizer = optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))

    def step(real, fake, alpha):
        optimizer.zero_grad()
        between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        d = critic(between)
        g = torch.autograd.grad(outputs=d, inputs=between, grad_outputs=torch.ones(d.size()),
                                create_graph=True, retain_graph=True, only_inputs=True)[0]
        loss = critic(fake).mean() - critic(real).mean() + ((g.norm(2, dim=1) - 1) ** 2).mean() * 10
        loss.backward()
        optimizer.step()
        return loss.detach()

    return (step,
            [(noise(16, 2, seed=i) + 2, noise(16, 2, seed=50 + i), noise(16, 1, seed=i).sigmoid())
             for i in range(10)])


def meta_learner():
    net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = optim.Adam(net.parameters(), lr=1e-2)

    def step(x, y):
        params = dict(net.named_parameters())
        loss = F.mse_loss(torch.func.functional_call(net, params, (x[:8],)), y[:8])
        gs = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        quick = {n: p - 0.1 * g for (n, p), g in zip(params.items(), gs)}
        outer = F.mse_loss(torch.func.functional_call(net, quick, (x[8:],)), y[8:])
        optimizer.zero_grad()
        outer.backward()
        optimizer.step()
        return outer.detach()
    x = noise(16, 1, seed=3)
    return step, [(x, torch.sin(x))] * 10


def actor_critic():
    body, actor, critic = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)
    optimizer = optim.Adam([*body.parameters(), *actor.parameters(), *critic.parameters()], lr=3e-2)

    def step(state, action, returns):
        h = F.relu(body(state))
        m = Categorical(F.softmax(actor(h), dim=-1))
        value = critic(h).squeeze(-1)
        policy = -(m.log_prob(action) * (returns - value.detach())).mean()
        loss = F.smooth_l1_loss(value, returns)
        optimizer.zero_grad()
        (policy + loss - 0.01 * m.entropy().mean()).backward()
        optimizer.step()
        return loss
    state = noise(16, 4, seed=1)
    return step, [(state, (state[:, 0] > 0).long(), state.sum(1))] * 10


def mixed_precision():
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer, scaler = optim.SGD(model.parameters(), lr=0.5), torch.amp.GradScaler("cpu")

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return loss
    x = noise(32, 8, seed=5)
    return step, [(x, x[:, :4].argmax(1))] * 10


PROGRAMS = [
    residual_network, variational_autoencoder, lstm_language_model, gpt, packed_gru,
    penalised_critic, meta_learner, actor_critic, mixed_precision]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_learns_and_is_traced_to_the_bit(program):
    losses = []
    for traced in (False, True):
        torch.manual_seed(3)
        step, inputs = program()
        if traced and hasattr(step, "traced"):
            step.traced()
        elif traced:
            step = torch.jit.trace(step)
        losses.append([step(*args).item() for args in inputs])
    eager, replayed = losses
    assert eager == replayed
    assert eager[-1] < eager[0]


def test_a_language_model_goes_on():
    torch.manual_seed(0)
    model = GPT()
    text = model.generate(torch.tensor([[0, 5, 10]]), 9, top_k=2)
    assert text.shape == (1, 12) and bool(((text >= 0) & (text < 12)).all())


# the programs in examples/, and what makes them short
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SHORT = {
    "cartpole": {"episodes": 4}, "char_gpt": {"steps": 4}, "dcgan_digits": {"epochs": 1},
    "diffusion_points": {"epochs": 2}, "gaussian_process": {"steps": 5},
    "graph_network": {"people": 200, "epochs": 4},
    "hogwild_digits": {"epochs": 1, "processes": 1}, "maml_sines": {"steps": 5},
    "matrix_factorisation": {"epochs": 1}, "neural_ode": {"steps": 5},
    "physics_informed": {"steps": 5}, "residual_digits": {"epochs": 1},
    "fourier_operator": {"epochs": 1}, "siamese_digits": {"epochs": 1},
    "sine_waves": {"steps": 1}, "super_resolution": {"epochs": 1},
    "tree_lstm": {"steps": 2, "batch_size": 8},
    "vae_digits": {"epochs": 1}, "word_language_model": {"epochs": 1}}
OTHERS = {"command", "digits"}


@pytest.mark.parametrize("name", SHORT)
def test_an_example_runs_and_is_traced_to_the_bit(name, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    if name == "super_resolution":
        pytest.importorskip("PIL")
    if name == "word_language_model":
        # as many words as take a few seconds
        few = torch.datasets.docstrings(["json.decoder", "textwrap"])
        monkeypatch.setattr("whet.datasets.text.docstrings", lambda: few)
    main = importlib.import_module(name).main
    eager, traced = main(**SHORT[name]), main(**SHORT[name], trace=True)
    assert all(map(math.isfinite, eager[0])) and eager == traced


def test_every_example_is_tried():
    assert {p.stem for p in EXAMPLES.glob("*.py")} - OTHERS == SHORT.keys()
