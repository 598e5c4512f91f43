"""A diffusion model learns where points of the plane lie, by taking noise off them; then it makes
points of noise alone.

Of its points, nine in ten are within 0.1 of the spiral that it learned.

    python examples/diffusion_points.py [--epochs N] [--trace]
"""
import math

import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Spirals
from whet.utils.data import DataLoader

STEPS = 100
BETAS = whet.linspace(1e-4, 0.08, STEPS)
LEFT = (1 - BETAS).cumprod(0)             # what is left of a point after so many steps of noise


class Denoiser(nn.Module):
    """The noise in points, by a perceptron that is told the step."""

    def __init__(self, width=128, waves=16):
        super().__init__()
        self.register_buffer("waves", whet.exp(-math.log(100) * whet.arange(waves) / waves))
        self.net = nn.Sequential(
            nn.Linear(2 + 2 * waves, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, points, t):
        angle = t[:, None] * self.waves
        return self.net(whet.cat([points, angle.sin(), angle.cos()], 1))


@whet.no_grad()
def sampled(model, count):
    """Points of noise, from which noise is taken step by step."""
    x = whet.randn(count, 2)
    for t in reversed(range(STEPS)):
        noise = model(x, whet.full((count,), t))
        x = (x - BETAS[t] / (1 - LEFT[t]).sqrt() * noise) / (1 - BETAS[t]).sqrt()
        if t > 0:
            x = x + BETAS[t].sqrt() * whet.randn_like(x)
    return x


def main(epochs=1000, trace=False):
    whet.manual_seed(0)
    data = Spirals(2000, arms=1, noise=0.0)
    points = data.points / data.points.std()
    loader = DataLoader(points, batch_size=256, shuffle=True, drop_last=True)
    model = Denoiser()
    opt = whet.optim.Adam(model.parameters(), 2e-3)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)

    def step(x):
        t, noise = whet.randint(STEPS, (len(x),)), whet.randn_like(x)
        left = LEFT[t][:, None]
        loss = F.mse_loss(model(left.sqrt() * x + (1 - left).sqrt() * noise, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        losses.append(sum(step(x).item() for x in loader) / len(loader))
        schedule.step()
        if epoch == 1 or epoch % max(1, epochs // 10) == 0:
            print(f"epoch {epoch:3d}/{epochs}  loss {losses[-1]:.4f}")
    made = sampled(model, 1000) * data.points.std()
    near = whet.cdist(made, data.points).amin(1) < 0.1
    share = near.float().mean().item()
    print(f"{share:.1%} of what it makes is within 0.1 of the spiral")
    return losses, share


if __name__ == "__main__":
    run(main)
