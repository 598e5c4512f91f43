"""Several processes train one network at once, without waiting for each other (Hogwild): its
weights are in memory that all of them share.

It tells 96 % of the held-out digits, with four processes as with one.

    python examples/hogwild_digits.py [--epochs N] [--processes N] [--trace]
"""
import whet
import whet.multiprocessing as mp
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Digits
from whet.utils.data import DataLoader, Subset


def network():
    """A perceptron of two layers."""
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def train(rank, model, losses, epochs, trace):
    """What each process does: its share of the images, again and again."""
    whet.manual_seed(rank)
    whet.set_num_threads(1)
    digits, processes = Digits(), len(losses)
    loader = DataLoader(Subset(digits, range(rank, len(digits), processes)), batch_size=16,
                        shuffle=True)
    opt = whet.optim.SGD(model.parameters(), 0.05, momentum=0.5)

    def step(images, labels):
        loss = F.cross_entropy(model(images), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    for epoch in range(epochs):
        losses[rank, epoch] = sum(step(*batch).item() for batch in loader) / len(loader)
        print(f"process {rank}  epoch {epoch + 1:2d}/{epochs}  loss {losses[rank, epoch]:.4f}",
              flush=True)


def main(epochs=10, processes=4, trace=False):
    whet.manual_seed(0)
    model, losses = network(), whet.zeros(processes, epochs)
    model.share_memory()
    losses.share_memory_()
    mp.spawn(train, (model, losses, epochs, trace), nprocs=processes)
    held = Digits(train=False)
    with whet.no_grad():
        right = (model(held.images).argmax(1) == held.labels).float().mean().item()
    print(f"held-out images right {right:.1%}")
    return losses.flatten().tolist(), right


if __name__ == "__main__":
    run(main)
