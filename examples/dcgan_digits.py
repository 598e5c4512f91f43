"""A generator and a discriminator play against each other (DCGAN), until digits come of noise.

Of what it makes, three in five look like one digit (of real images 94 %), and all ten are there.

    python examples/dcgan_digits.py [--epochs N] [--trace]
"""
import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Digits
from whet.utils.data import DataLoader

NOISE = 16


def generator(width=32):
    """Noise to an image of 8x8."""
    return nn.Sequential(
        nn.ConvTranspose2d(NOISE, 2 * width, 2, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
        nn.ConvTranspose2d(width, 1, 4, 2, 1), nn.Sigmoid())


def discriminator(width=32):
    """An image to how real it seems."""
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Dropout2d(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width),
        nn.LeakyReLU(0.2), nn.Conv2d(2 * width, 1, 2), nn.Flatten(0))


def start(module):
    """The first weights, as in the paper."""
    if isinstance(module, nn.Conv2d | nn.ConvTranspose2d):
        nn.init.normal_(module.weight, 0, 0.02)
    elif isinstance(module, nn.BatchNorm2d):
        nn.init.normal_(module.weight, 1, 0.02)


def sure(images, digits):
    """The share of images that look like one digit: of the five nearest real ones, all are it. And
    how many digits there are."""
    near = whet.cdist(images.flatten(1), digits.images.flatten(1)).topk(5, largest=False).indices
    labels = digits.labels[near]
    same = (labels == labels[:, :1]).all(1)
    return same.float().mean().item(), len(labels[same, 0].unique())


def main(epochs=60, trace=False):
    whet.manual_seed(0)
    digits = Digits()
    loader = DataLoader(digits, batch_size=64, shuffle=True, drop_last=True)
    G, D = generator().apply(start), discriminator().apply(start)
    of_g = whet.optim.Adam(G.parameters(), 2e-3, betas=(0.5, 0.999))
    of_d = whet.optim.Adam(D.parameters(), 1e-3, betas=(0.5, 0.999))
    loss_of = F.binary_cross_entropy_with_logits

    def step(real):
        fake = G(whet.randn(len(real), NOISE, 1, 1))
        is_real, is_fake = D(real), D(fake.detach())
        loss_d = (loss_of(is_real, whet.full_like(is_real, 0.9))
                  + loss_of(is_fake, whet.zeros_like(is_fake)))
        of_d.zero_grad()
        loss_d.backward()
        of_d.step()
        seems = D(fake)
        loss_g = loss_of(seems, whet.ones_like(seems))
        of_g.zero_grad()
        loss_g.backward()
        of_g.step()
        return loss_d.detach(), loss_g.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        G.train()
        both = [whet.stack(step(real)) for real, _ in loader]
        losses += whet.stack(both).mean(0).tolist()
        G.eval()
        with whet.no_grad():
            share, kinds = sure(G(whet.randn(500, NOISE, 1, 1)), digits)
        if epoch == 1 or epoch % max(1, epochs // 12) == 0:
            print(f"epoch {epoch:2d}/{epochs}  discriminator {losses[-2]:.3f}  "
                  f"generator {losses[-1]:.3f}  like one digit {share:.0%}, of {kinds} kinds")
    return losses, share * (kinds == 10)


if __name__ == "__main__":
    run(main)
