"""A residual network on images of handwritten digits, with shifted images, a learning rate that
rises and falls, and averaged weights.

It tells 99 % of the held-out images.

    python examples/residual_digits.py [--epochs N] [--trace]
"""
import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Digits
from whet.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from whet.utils.data import DataLoader


class Residual(nn.Module):
    """Two convolutions, added to what came in."""

    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(x + self.norm2(self.conv2(y)))


def network(width=32):
    """Four residual blocks, two before and two behind a pool."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), Residual(width), Residual(width), nn.MaxPool2d(2),
        Residual(width), Residual(width), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(width, 10))


def shifted(images):
    """Each image moved by at most one point, in both directions."""
    y, x = whet.randint(3, (2, len(images), 1, 1))
    at = whet.arange(8)
    rows = whet.arange(len(images))[:, None, None]
    return F.pad(images, (1, 1, 1, 1))[rows, 0, y + at[:, None], x + at][:, None]


def main(epochs=15, trace=False):
    whet.manual_seed(0)
    loader, held = DataLoader(Digits(), batch_size=64, shuffle=True), Digits(train=False)
    model = network()
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95), use_buffers=True)
    opt = whet.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = whet.optim.lr_scheduler.OneCycleLR(opt, 0.2, epochs=epochs,
                                                  steps_per_epoch=len(loader))

    def step(images, labels):
        loss = F.cross_entropy(model(shifted(images)), labels, label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for images, labels in loader:
            total += step(images, labels).item()
            schedule.step()
            average.update_parameters(model)
        losses.append(total / len(loader))
        average.eval()
        with whet.no_grad():
            right = (average(held.images).argmax(1) == held.labels).float().mean().item()
        print(f"epoch {epoch:2d}/{epochs}  loss {losses[-1]:.3f}  "
              f"held-out images right {right:.1%}")
    return losses, right


if __name__ == "__main__":
    run(main)
