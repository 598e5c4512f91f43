"""A neural ordinary differential equation: a perceptron learns the law by which a point moves, from
a few places where it was.

It follows the whole path within 0.2 (root of the mean square).

    python examples/neural_ode.py [--steps N] [--trace]
"""
import whet
import whet.nn.functional as F
from command import run
from whet import nn

MOMENTS, DT, BATCH, LENGTH = 500, 0.025, 32, 10
LAW = whet.tensor([[-0.1, 2.0], [-2.0, -0.1]])


def runge_kutta(law, y, count):
    """The places at `count` moments from `y` on, by the method of fourth order."""
    path = [y]
    for _ in range(count - 1):
        k1 = law(y)
        k2 = law(y + DT / 2 * k1)
        k3 = law(y + DT / 2 * k2)
        k4 = law(y + DT * k3)
        y = y + DT / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        path.append(y)
    return whet.stack(path)


class Law(nn.Module):
    """How a point moves, from the cubes of where it is."""

    def __init__(self, width=50):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))
        for layer in self.net[::2]:
            nn.init.normal_(layer.weight, std=0.1)
            nn.init.zeros_(layer.bias)

    def forward(self, y):
        return self.net(y ** 3)


def main(steps=3000, trace=False):
    whet.manual_seed(0)
    start = whet.tensor([[2.0, 0.0]])
    true = runge_kutta(lambda y: y ** 3 @ LAW, start, MOMENTS)[:, 0]
    law = Law()
    opt = whet.optim.Adam(law.parameters(), 5e-3)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, steps)

    def step(wanted):
        loss = F.l1_loss(runge_kutta(law, wanted[0], LENGTH), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for i in range(1, steps + 1):
        at = whet.randint(MOMENTS - LENGTH, (BATCH,)) + whet.arange(LENGTH)[:, None]
        losses.append(step(true[at]).item())
        schedule.step()
        if i % max(1, steps // 10) == 0:
            with whet.no_grad():
                error = F.mse_loss(runge_kutta(law, start, MOMENTS)[:, 0], true).sqrt().item()
            print(f"step {i:4d}/{steps}  loss {losses[-1]:.5f}  error of the path {error:.4f}")
    return losses, error


if __name__ == "__main__":
    run(main)
