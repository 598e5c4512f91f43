"""Whole training steps, traced: after many steps the same bits as eager in every loss,
parameter, buffer, gradient and optimizer state."""
import copy

import pytest
import whet
from whet import jit, nn
from whet.nn import functional as F


class Classifier(nn.Module):
    """Convolutions with batch norm."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = (nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4),
                                          nn.Linear(4 * 4 * 4, 3))

    def forward(self, x):
        return self.out(F.max_pool2d(F.relu(self.norm(self.conv(x))), 2).flatten(1))


class Language(nn.Module):
    """An LSTM over tokens."""

    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.out = (nn.Embedding(11, 6), nn.LSTM(6, 8, batch_first=True),
                                           nn.Linear(8, 11))

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0]).flatten(0, 1)


class Block(nn.Module):
    """A transformer block with dropout."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(8), nn.LayerNorm(8)
        self.qkv, self.join = nn.Linear(8, 24), nn.Linear(8, 8)
        self.wide, self.narrow, self.drop = nn.Linear(8, 16), nn.Linear(16, 8), nn.Dropout(0.1)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 4)).transpose(1, 2)
                   for t in self.qkv(self.first(x)).chunk(3, -1))
        weights = (q @ k.transpose(-1, -2) * 0.5).softmax(-1)
        x = x + self.drop(self.join((weights @ v).transpose(1, 2).flatten(2)))
        return x + self.drop(self.narrow(F.gelu(self.wide(self.second(x)))))


CASES = {
    "mlp, Adam": (lambda: nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)),
                  lambda p: whet.optim.Adam(p, lr=1e-2), lambda:
                  (whet.randn(8, 6), whet.randint(0, 3, (8,))),
                  F.cross_entropy),
    "cnn, SGD with momentum": (Classifier, lambda p: whet.optim.SGD(p, lr=0.1, momentum=0.9),
                               lambda: (whet.randn(4, 1, 8, 8), whet.randint(0, 3, (4,))),
                               F.cross_entropy),
    "lstm, RMSprop": (Language, lambda p: whet.optim.RMSprop(p, lr=1e-2), lambda:
                      (whet.randint(0, 11, (3, 5)), whet.randint(0, 11, (15,))),
                      F.cross_entropy),
    "transformer block, AdamW": (Block, lambda p: whet.optim.AdamW(p, lr=1e-2), lambda:
                                 (whet.randn(2, 5, 8), whet.randn(2, 5, 8)),
                                 F.mse_loss), }


def train(case, traced, steps):
    """(everything that training leaves behind, the traced step or None)"""
    make, optimizer, batch, loss_of = CASES[case]
    whet.manual_seed(3)
    model = make()
    opt = optimizer(model.parameters())

    def step(x, y):
        opt.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        opt.step()
        return loss
    call = jit.trace(step) if traced else step
    losses = [call(*batch()).detach() for _ in range(steps)]
    state = [
        t.clone() for p in model.parameters()
        for t in (p.detach(), p.grad, *(v for v in opt.state[p].values() if whet.is_tensor(v)))]
    state += [b.clone() for b in model.buffers()]
    return [t.numpy().tobytes() for t in losses + state], call if traced else None


@pytest.mark.parametrize("case", CASES)
def test_a_traced_training_step_leaves_eagers_bits(case):
    want, _ = train(case, False, 100)
    got, step = train(case, True, 100)
    assert got == want
    facts = step.explain(data=True)
    assert facts["refused"] is None and facts["paths"], facts["refused"] or step._why


def test_a_traced_model_in_an_eager_training_loop():
    results = []
    for traced in (False, True):
        whet.manual_seed(0)
        model = Block()
        call = jit.trace(model) if traced else model
        opt = whet.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(30):
            x = whet.randn(2, 5, 8, requires_grad=True)
            opt.zero_grad()
            call(x).square().mean().backward()
            opt.step()
        results.append(
            [t.detach().numpy().tobytes() for p in model.parameters()
             for t in (p, p.grad)] + [x.grad.numpy().tobytes()])
        if traced:
            assert call.explain(data=True)["paths"]
    assert results[0] == results[1]


def test_evaluation_after_training_is_another_recording():
    model = Classifier()
    twin = copy.deepcopy(model)
    call = jit.trace(model)
    for mode in (True, False, True, False):
        model.train(mode)
        twin.train(mode)
        for _ in range(3):
            x = whet.randn(2, 1, 8, 8)
            with whet.no_grad():
                assert call(x).tolist() == twin(x).tolist()
    assert model.norm.running_mean.tolist() == twin.norm.running_mean.tolist()
    assert model.norm.num_batches_tracked.item() == twin.norm.num_batches_tracked.item() == 6


@pytest.mark.parametrize(
    "options",
    [{}, {"use_buffers": True}, {"multi_avg_fn": whet.optim.swa_utils.get_ema_multi_avg_fn(0.9)}],
    ids=["mean", "buffers", "ema"])
def test_weights_are_averaged_in_the_step(options):
    outcomes = []
    for trace in (lambda f: f, whet.jit.trace):
        whet.manual_seed(0)
        model = whet.nn.Sequential(whet.nn.Linear(3, 3), whet.nn.BatchNorm1d(3))
        mean, opt = (whet.optim.swa_utils.AveragedModel(model, **options),
                     whet.optim.SGD(model.parameters(), lr=0.1))

        def step(x):
            opt.zero_grad()
            (model(x) * x).sum().backward()
            opt.step()
            mean.update_parameters(model)
        step = trace(step)
        for _ in range(7):
            step(whet.randn(4, 3))
        outcomes.append({k: v.numpy().tobytes() for k, v in mean.state_dict().items()})
    assert (outcomes[0] == outcomes[1]
            and any(p["calls"] >= 3 for p in step.explain(data=True)["paths"])), step.explain()
