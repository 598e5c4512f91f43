"""A siamese network learns which two images show the same digit; it is never told which digit.

Of pairs of held-out images, it tells 98 %.

    python examples/siamese_digits.py [--epochs N] [--trace]
"""
import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Digits

BATCH = 128


class Siamese(nn.Module):
    """How far apart two images are, each seen by the same network."""

    def __init__(self, width=32):
        super().__init__()
        self.see = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * width, 16))

    def forward(self, a, b):
        a, b = self.see(whet.cat([a, b])).chunk(2)
        return F.pairwise_distance(a, b)


def pairs(digits, count):
    """Images, and others of which about half show the same digit; are they the same?"""
    first = whet.randint(len(digits), (count,))
    second = whet.randint(len(digits), (count,))
    alike = digits.labels[:, None] == digits.labels[first]
    drawn = (alike * whet.rand(len(digits), count)).argmax(0)
    second = whet.where(whet.rand(count) < 0.5, drawn, second)
    same = digits.labels[first] == digits.labels[second]
    return digits.images[first], digits.images[second], same.float()


def main(epochs=20, trace=False):
    whet.manual_seed(0)
    train, held = Digits(), Digits(train=False)
    model = Siamese()
    opt = whet.optim.Adam(model.parameters(), 1e-3)

    def step(a, b, same):
        apart = model(a, b)
        loss = (same * apart.square() + (1 - same) * F.relu(2 - apart).square()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses, rounds = [], len(train) // BATCH
    a, b, same = pairs(held, 2000)
    for epoch in range(1, epochs + 1):
        model.train()
        losses.append(sum(step(*pairs(train, BATCH)).item() for _ in range(rounds)) / rounds)
        model.eval()
        with whet.no_grad():
            right = ((model(a, b) < 1) == (same > 0)).float().mean().item()
        print(f"epoch {epoch:2d}/{epochs}  loss {losses[-1]:.4f}  held-out pairs right {right:.1%}")
    return losses, right


if __name__ == "__main__":
    run(main)
