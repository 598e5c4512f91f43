"""Learning to learn (MAML): weights from which one step of gradient descent fits any sine wave of
which ten points are known. The step is differentiated, too.

One step takes the error from about 3 to 0.5.

    python examples/maml_sines.py [--steps N] [--trace]
"""
import math

import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.func import functional_call, grad, vmap

TASKS, POINTS, RATE = 25, 10, 0.01


def tasks(count):
    """Waves of other heights and phases: points to learn from, and others to be asked for."""
    height = whet.rand(count, 1, 1) * 4.9 + 0.1
    phase = whet.rand(count, 1, 1) * math.pi
    x = whet.rand(count, 2 * POINTS, 1) * 10 - 5
    y = height * (x + phase).sin()
    return x[:, :POINTS], y[:, :POINTS], x[:, POINTS:], y[:, POINTS:]


def main(steps=6000, trace=False):
    whet.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    opt = whet.optim.Adam(net.parameters(), 1e-3)

    def loss_of(weights, x, y):
        return F.mse_loss(functional_call(net, weights, (x,)), y)

    def adapted(weights, x, y):
        slopes = grad(loss_of)(weights, x, y)
        return {name: w - RATE * slopes[name] for name, w in weights.items()}

    def both(weights, x, y, x_asked, y_asked):
        """The error at points that were not given, before and after the step."""
        quick = adapted(weights, x, y)
        return loss_of(weights, x_asked, y_asked), loss_of(quick, x_asked, y_asked)

    def errors(*task):
        weights = dict(net.named_parameters())
        return [e.mean() for e in vmap(both, in_dims=(None, 0, 0, 0, 0))(weights, *task)]

    def step(*task):
        before, after = errors(*task)
        opt.zero_grad()
        after.backward()
        opt.step()
        return before.detach(), after.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for i in range(1, steps + 1):
        before, after = step(*tasks(TASKS))
        losses.append(after.item())
        if i % max(1, steps // 10) == 0:
            print(f"step {i:4d}/{steps}  error before one step {before.item():.3f}, after it "
                  f"{losses[-1]:.3f}")
    after = errors(*tasks(500))[1].item()
    print(f"500 other waves: {after:.3f}")
    return losses, after


if __name__ == "__main__":
    run(main)
