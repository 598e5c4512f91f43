"""Matrix factorisation: who likes what, from a few ratings of many. Readers and films are rows of
two embeddings, whose gradients are of the rows alone that a batch has.

Ratings that it has not seen are told within 0.35, where the noise in them is 0.3.

    python examples/matrix_factorisation.py [--epochs N] [--trace]
"""
import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.utils.data import DataLoader, TensorDataset

READERS, FILMS, RANK, RATINGS, NOISE = 500, 300, 4, 30000, 0.3


class Factors(nn.Module):
    """A rating: what both have on their own, and the product of what they are like."""

    def __init__(self, width=8):
        super().__init__()
        self.readers, self.films = nn.Embedding(READERS, width), nn.Embedding(FILMS, width)
        self.mild, self.good = nn.Embedding(READERS, 1), nn.Embedding(FILMS, 1)
        for table in (self.readers, self.films, self.mild, self.good):
            nn.init.normal_(table.weight, std=0.1)
        self.mean = nn.Parameter(whet.tensor(3.0))

    def forward(self, reader, film):
        product = (self.readers(reader) * self.films(film)).sum(1)
        return product + self.mean + (self.mild(reader) + self.good(film))[:, 0]


def ratings():
    """Pairs of reader and film, and the ratings that a hidden model gives, with noise."""
    readers, films = whet.randn(READERS, RANK) / RANK ** 0.5, whet.randn(FILMS, RANK)
    reader, film = whet.randint(READERS, (RATINGS,)), whet.randint(FILMS, (RATINGS,))
    rating = 3 + (readers[reader] * films[film]).sum(1) + NOISE * whet.randn(RATINGS)
    return reader, film, rating


def main(epochs=20, trace=False):
    whet.manual_seed(0)
    data, cut = ratings(), RATINGS * 9 // 10
    held = [t[cut:] for t in data]
    loader = DataLoader(TensorDataset(*[t[:cut] for t in data]), batch_size=256, shuffle=True)
    model = Factors()
    opt = whet.optim.AdamW(model.parameters(), 1e-2, weight_decay=0.1)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)

    def step(reader, film, rating):
        loss = F.mse_loss(model(reader, film), rating)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        losses.append(sum(step(*batch).item() for batch in loader) / len(loader))
        schedule.step()
        with whet.no_grad():
            error = F.mse_loss(model(*held[:2]), held[2]).sqrt().item()
        print(f"epoch {epoch:2d}/{epochs}  loss {losses[-1]:.4f}  held-out error {error:.4f}")
    return losses, error


if __name__ == "__main__":
    run(main)
