"""Train a variational autoencoder on scikit-learn's images of handwritten digits; then draw digits
that nobody wrote.

    python examples/vae_digits.py [epochs]
"""
import sys
import time

import numpy as np
import whet
import whet.nn as nn
import whet.nn.functional as F
from sklearn.datasets import load_digits
from whet.utils.data import DataLoader, TensorDataset, random_split


class VAE(nn.Module):
    """An image to a normal distribution over 8 numbers; a sample of it back to an image."""

    def __init__(self, pixels=64, hidden=128, latent=8):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU(),
                                    nn.Linear(hidden, 2 * latent))
        self.decode = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, pixels))
        self.latent = latent

    def forward(self, x):
        mean, logvar = self.encode(x).chunk(2, dim=1)
        z = mean + whet.randn_like(mean) * (0.5 * logvar).exp() if self.training else mean
        return self.decode(z), mean, logvar

    @whet.no_grad()
    def sample(self, count):
        """Images from random points."""
        return self.decode(whet.randn(count, self.latent)).sigmoid()


def loss_of(logits, x, mean, logvar):
    """What reconstruction costs, and how far the distribution is from the standard normal: nats
    per image."""
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * (1 + logvar - mean.square() - logvar.exp()).sum()
    return (reconstruction + divergence) / len(x)


def picture(images):
    """Images of 8x8 beside each other, in characters."""
    shades = np.array(list(" .:-=+*#%@"))
    rows = np.concatenate(list(shades[(images.view(-1, 8, 8) * 9.99).to(whet.int64).numpy()]),
                          axis=1)
    return "\n".join("".join(c * 2 for c in row) for row in rows)


def main():
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    whet.manual_seed(0)
    x = whet.from_numpy(load_digits().data.astype("f4") / 16)
    train, held = random_split(TensorDataset(x), [0.8, 0.2])
    batches = DataLoader(train, batch_size=64, shuffle=True)
    held_out = x[whet.tensor(held.indices)]
    model = VAE()
    opt = whet.optim.Adam(model.parameters(), lr=3e-3)
    start, first = time.perf_counter(), None
    for epoch in range(1, epochs + 1):
        model.train()
        for (batch,) in batches:
            loss = loss_of(*loss_inputs(model, batch))
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with whet.no_grad():
            test = loss_of(*loss_inputs(model, held_out)).item()
        first = test if first is None else first
        if epoch == 1 or epoch % max(1, epochs // 8) == 0:
            print(
                f"epoch {epoch:3d}/{epochs}  held-out loss {test:.2f} nats  "
                f"{(time.perf_counter() - start) / epoch:.3f} s an epoch")
    print("\nheld-out digits, what the model makes of them, and digits that it made up:\n")
    with whet.no_grad():
        again = model(held_out[:6])[0].sigmoid()
    print(picture(held_out[:6]), picture(again), picture(model.sample(6)), sep="\n\n")
    if epochs >= 40 and test > first - 5:
        sys.exit(f"the loss went from {first:.2f} to {test:.2f} only")


def loss_inputs(model, x):
    logits, mean, logvar = model(x)
    return logits, x, mean, logvar


if __name__ == "__main__":
    main()
