"""What a user writes: a model, an optimizer, a loader, a traced step, NumPy in and out. Checked
by mypy and pyright, and run."""
import numpy as np
import whet
import whet.nn.functional as F
from whet import Tensor, jit, nn, optim
from whet.optim.lr_scheduler import CosineAnnealingLR
from whet.utils.data import DataLoader, Dataset, TensorDataset


class Points(Dataset[tuple[Tensor, Tensor]]):
    """Points of three clouds."""

    def __init__(self, count: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        label = rng.integers(0, 3, count)
        self.x = whet.from_numpy(rng.normal(label[:, None], 0.3, (count, 4)).astype(np.float32))
        self.y = whet.tensor(label, dtype=whet.int64)

    def __len__(self) -> int:
        return self.x.shape[0]

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.x[index], self.y[index]


class Classifier(nn.Module):
    """Two layers."""

    def __init__(self, width: int, hidden: int, classes: int = 3) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.LayerNorm(hidden))
        self.head = nn.Linear(hidden, classes, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def train(model: Classifier, loader: DataLoader[tuple[Tensor, Tensor]],
          epochs: int = 2) -> list[float]:
    optimizer = optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.99))
    schedule = CosineAnnealingLR(optimizer, T_max=epochs)

    @jit.trace
    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        return loss

    losses: list[float] = []
    for _ in range(epochs):
        total = sum(float(step(x, y)) for x, y in loader)
        losses.append(total / len(loader))
        schedule.step()
    return losses


def main() -> float:
    whet.manual_seed(0)
    data = Points(96)
    model = Classifier(4, 16)
    losses = train(model, DataLoader(data, batch_size=32, shuffle=True))
    with whet.no_grad():
        scores: Tensor = model(data.x).softmax(dim=-1)
    best, where = scores.max(dim=1)
    pairs = TensorDataset(best, where)
    guesses = where.numpy()
    assert len(pairs) == len(guesses) and losses[-1] < losses[0]
    right = whet.from_numpy(guesses) == data.y
    return right.float().mean().item() + best.min().item()


if __name__ == "__main__":
    print(main())
