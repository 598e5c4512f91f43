"""A variational autoencoder learns images of handwritten digits; then it draws digits that nobody
wrote.

It describes a held-out image in 23 nats.

    python examples/vae_digits.py [--epochs N] [--trace]
"""
import numpy as np
import whet
import whet.nn as nn
import whet.nn.functional as F
from command import run
from whet.datasets import Digits
from whet.utils.data import DataLoader


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


def loss_of(x, logits, mean, logvar):
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


def main(epochs=40, trace=False):
    whet.manual_seed(0)
    x, held_out = (Digits(train).images.flatten(1) for train in (True, False))
    batches = DataLoader(x, batch_size=64, shuffle=True)
    model = VAE()
    opt = whet.optim.Adam(model.parameters(), lr=3e-3)

    def step(batch):
        loss = loss_of(batch, *model(batch))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        model.train()
        losses.append(sum(step(batch).item() for batch in batches) / len(batches))
        model.eval()
        with whet.no_grad():
            test = loss_of(held_out, *model(held_out)).item()
        if epoch == 1 or epoch % max(1, epochs // 8) == 0:
            print(f"epoch {epoch:3d}/{epochs}  loss {losses[-1]:.2f}  held-out {test:.2f} nats")
    print("\nheld-out digits, what the model makes of them, and digits that it made up:\n")
    with whet.no_grad():
        again = model(held_out[:6])[0].sigmoid()
    print(picture(held_out[:6]), picture(again), picture(model.sample(6)), sep="\n\n")
    return losses, test


if __name__ == "__main__":
    run(main)
