"""Two LSTM cells learn sine waves with L-BFGS, and go on by themselves from what they have read.

After 8 steps of 20 evaluations, 200 moments ahead are right within 0.1 (root of the mean square).

    python examples/sine_waves.py [--steps N] [--trace]
"""
import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Sines

READ, AHEAD = 200, 200


class Waves(nn.Module):
    """Each moment from those before; `ahead` moments more from its own."""

    def __init__(self, width=32):
        super().__init__()
        self.width = width
        self.first, self.second = nn.LSTMCell(1, width), nn.LSTMCell(width, width)
        self.out = nn.Linear(width, 1)

    def forward(self, waves, ahead=0):
        zeros = waves.new_zeros(len(waves), self.width)
        first, second, made = (zeros, zeros), (zeros, zeros), []
        moments = waves.split(1, 1)
        for i in range(len(moments) + ahead):
            x = moments[i] if i < len(moments) else made[-1]
            first = self.first(x, first)
            second = self.second(first[0], second)
            made.append(self.out(second[0]))
        return whet.cat(made, 1)


def main(steps=8, trace=False):
    whet.manual_seed(0)
    waves = Sines(32, READ + AHEAD).waves.double()
    train, held = waves[:28, :READ + 1], waves[28:]
    model = Waves().double()
    opt = whet.optim.LBFGS(model.parameters(), lr=0.8)

    def closure():
        opt.zero_grad()
        loss = F.mse_loss(model(train[:, :-1]), train[:, 1:])
        loss.backward()
        return loss

    closure = whet.jit.trace(closure) if trace else closure
    losses = []
    for i in range(1, steps + 1):
        losses.append(opt.step(closure).item())
        with whet.no_grad():
            made = model(held[:, :READ], AHEAD - 1)
        error = F.mse_loss(made[:, READ - 1:], held[:, READ:]).sqrt().item()
        print(f"step {i}/{steps}  loss {losses[-1]:.5f}  "
              f"error of {AHEAD} moments ahead {error:.3f}")
    return losses, error


if __name__ == "__main__":
    run(main)
