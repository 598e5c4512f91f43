"""A Gaussian process tells a curve of noisy points, and how sure it is. Its three numbers (length,
height, noise) are those under which the points are likeliest, by gradients through `cholesky`.

Nine in ten of the true values are within its bounds of two deviations, and the noise is found.

    python examples/gaussian_process.py [--steps N] [--trace]
"""
import math

import whet
from command import run
from whet import nn

NOISE = 0.1


def curve(x):
    """What is to be found."""
    return (3 * x).sin() + 0.5 * (7 * x).cos()


class Process(nn.Module):
    """A kernel of squared distances; all numbers are logarithms."""

    def __init__(self):
        super().__init__()
        self.length, self.height, self.noise = (nn.Parameter(whet.tensor(-1.0)) for _ in range(3))

    def kernel(self, a, b):
        """How alike the values at two places are."""
        apart = (a[:, None] - b) / self.length.exp()
        return self.height.exp() ** 2 * whet.exp(-0.5 * apart.square())

    def factor(self, x):
        """The Cholesky factor of the points' covariance."""
        return whet.linalg.cholesky(self.kernel(x, x) + self.noise.exp() ** 2 * whet.eye(len(x)))

    def forward(self, x, y):
        """The negative logarithm of the points' likelihood, for each."""
        L = self.factor(x)
        alpha = whet.cholesky_solve(y[:, None], L)[:, 0]
        total = 0.5 * y @ alpha + L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)
        return total / len(x)

    def tell(self, x, y, at):
        """The mean and the deviation of the curve at other places."""
        L, k = self.factor(x), self.kernel(x, at)
        mean = k.T @ whet.cholesky_solve(y[:, None], L)[:, 0]
        v = whet.linalg.solve_triangular(L, k, upper=False)
        return mean, (self.height.exp() ** 2 - v.square().sum(0)).clamp(min=1e-10).sqrt()


def main(steps=300, trace=False):
    whet.manual_seed(0)
    x, at = whet.rand(100) * 4, whet.linspace(0, 4, 200)
    y = curve(x) + NOISE * whet.randn(100)
    process = Process()
    opt = whet.optim.Adam(process.parameters(), 0.05)

    def step():
        loss = process(x, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for i in range(1, steps + 1):
        losses.append(step().item())
        if i % max(1, steps // 10) == 0:
            print(f"step {i:3d}/{steps}  loss {losses[-1]:.4f}  length "
                  f"{process.length.exp():.3f}  noise {process.noise.exp():.3f}")
    with whet.no_grad():
        mean, deviation = process.tell(x, y, at)
    within = ((mean - curve(at)).abs() < 2 * deviation).float().mean().item()
    error = (mean - curve(at)).square().mean().sqrt().item()
    print(f"{within:.0%} of the curve is within two deviations; the error is {error:.4f}")
    return losses, error


if __name__ == "__main__":
    run(main)
