"""`whet.train`: the loop with what belongs to it; a run that was broken off goes on to the bit."""
import os

import pytest
import whet
from whet import nn, optim
from whet.nn import functional as F
from whet.train import Trainer
from whet.utils.data import DataLoader, TensorDataset


class Broken(Exception):
    """What breaks a run off."""


def accuracy(model, x, y):
    return (model(x).argmax(1) == y).float().mean()


def loss_of(model, x, y):
    return F.cross_entropy(model(x), y)


def made(**how):
    whet.manual_seed(0)
    x = whet.randn(50, 6)
    data = TensorDataset(x, x[:, :3].argmax(1))
    model = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2),
                          nn.Linear(16, 3))
    opt = optim.AdamW(model.parameters(), 1e-2)
    schedule = optim.lr_scheduler.CosineAnnealingLR(opt, 40)
    trainer = Trainer(model, opt, loss_of, scheduler=schedule, metrics={"right": accuracy},
                      clip=1.0, ema=0.9, **how)
    return trainer, DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=25)


def left(trainer):
    """What a run leaves behind, as bytes."""
    tensors = [*trainer.model.state_dict().values(), *trainer.average.state_dict().values()]
    return trainer.history, [t.numpy(force=True).tobytes() for t in tensors], whet.rand(2).tolist()


@pytest.mark.parametrize("how", [{}, {"accumulate": 2}, {"autocast": whet.bfloat16}],
                         ids=["plain", "accumulated", "bfloat16"])
def test_a_traced_run_is_eager_to_the_bit_and_learns(how):
    runs = []
    for trace in (False, True):
        trainer, loader, held = made(trace=trace, **how)
        trainer.fit(loader, 4, held)
        runs.append(left(trainer))
    assert runs[0] == runs[1]
    assert runs[0][0][-1]["loss"] < runs[0][0][0]["loss"]
    assert set(runs[0][0][0]) == {"loss", "held_out_loss", "right"}


@pytest.mark.parametrize("accumulate", [1, 2])
def test_most_calls_of_a_traced_run_are_replayed(accumulate):
    trainer, loader, held = made(trace=True, accumulate=accumulate)
    trainer.fit(loader, 20, held)
    told = trainer.step.explain(data=True)
    assert told["calls"]["replayed"] > 100, trainer.step


def test_it_is_the_loop_that_everybody_writes():
    trainer, loader, _ = made()
    trainer.fit(loader, 2)
    other, loader, _ = made()
    model, opt = other.model, other.optimizer
    for _ in range(2):
        for x, y in loader:
            loss = loss_of(model, x, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            other.scheduler.step()
    for a, b in zip(trainer.model.parameters(), model.parameters()):
        assert whet.equal(a, b)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("at", [3, 7, 11, 17])
def test_a_run_that_was_broken_off_goes_on_to_the_bit(at, trace, tmp_path):
    trainer, loader, held = made(trace=trace, accumulate=2)
    trainer.fit(loader, 3, held)
    wanted, calls = left(trainer), []

    def breaks(trainer):
        calls.append(None)
        if len(calls) == at:
            raise Broken
    how = {"trace": trace, "accumulate": 2, "path": str(tmp_path / "run"), "every": 1}
    trainer, loader, held = made(callbacks=[breaks], **how)
    with pytest.raises(Broken):
        trainer.fit(loader, 3, held)
    trainer, loader, held = made(**how)
    whet.manual_seed(99)
    trainer.fit(loader, 3, held)
    assert left(trainer) == wanted
    assert os.listdir(tmp_path) == ["run"]


def test_a_checkpoint_that_could_not_be_written_leaves_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "run"
    trainer, loader, _ = made(path=str(path))
    trainer.fit(loader, 1)
    before = path.read_bytes()

    def fails(state, path):
        with open(path, "wb") as f:
            f.write(b"half")
        raise OSError("no space")
    monkeypatch.setattr(whet, "save", fails)
    with pytest.raises(OSError, match="no space"):
        trainer.fit(loader, 2)
    assert path.read_bytes() == before


def test_training_ends_where_the_held_out_loss_does_not_fall():
    trainer, loader, held = made(patience=2)
    trainer.evaluate = lambda loader: {"held_out_loss": [3.0, 2.0, 2.5, 2.1, 1.0][trainer.epoch]}
    assert len(trainer.fit(loader, 5, held)) == 4
