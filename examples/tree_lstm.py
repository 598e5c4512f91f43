"""Is a sentence true? An LSTM over the trees of sentences such as "not (a and (b or not c))", where
each word is true or false, and nobody says which. Each tree is another program, and
`whet.func.batch` runs them together: equal steps of all trees at once.

The truth of 97 % of sentences that are longer than those it learnt from.

    python examples/tree_lstm.py [--steps N] [--batch_size N] [--loop] [--trace]

With `--loop` the trees are gone through one by one, which takes several times as long. The trees
are others at each step, so what `--trace` traces is the step of the optimizer.
"""
import random

import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.func import batch, cell

WORDS, AND, OR, NOT = 20, 0, 1, 2


def sentence(rng, words):
    """A tree of so many words: a word, (NOT, tree) or (AND or OR, tree, tree)."""
    if rng.random() < 0.2:
        return NOT, sentence(rng, words)
    if words == 1:
        return rng.randrange(WORDS)
    left = rng.randrange(1, words)
    return rng.choice((AND, OR)), sentence(rng, left), sentence(rng, words - left)


def is_true(tree):
    """Words with even numbers are true."""
    if isinstance(tree, int):
        return tree % 2 == 0
    op, *parts = tree
    found = [is_true(t) for t in parts]
    return not found[0] if op == NOT else all(found) if op == AND else any(found)


class TreeLSTM(nn.Module):
    """A state for each tree from those of its parts. What is done to one tree of a kind is a cell:
    `batch` sees one step where there are twenty ops."""

    def __init__(self, width):
        super().__init__()
        self.words, self.start = nn.Embedding(WORDS, 2 * width), nn.Embedding(3, 5 * width)
        self.parts, self.answer = nn.Linear(2 * width, 5 * width, bias=False), nn.Linear(width, 2)

    @cell
    def of_word(self, word):
        return self.words(word).tanh().chunk(2)

    @cell
    def of_parts(self, op, left, right):
        (h1, c1), (h2, c2) = left, right
        i, f1, f2, o, u = (self.start(op) + self.parts(whet.cat([h1, h2]))).chunk(5)
        c = i.sigmoid() * u.tanh() + (f1 + 1).sigmoid() * c1 + (f2 + 1).sigmoid() * c2
        return o.sigmoid() * c.tanh(), c

    @cell
    def answered(self, h):
        return self.answer(h)

    def state(self, tree):
        if isinstance(tree, int):
            return self.of_word(whet.tensor(tree))
        op, *parts = tree
        found = [self.state(t) for t in parts]
        return self.of_parts(whet.tensor(op), found[0], found[-1])

    def forward(self, tree):
        return self.answered(self.state(tree)[0])


def main(steps=220, batch_size=64, width=64, loop=False, trace=False):
    whet.manual_seed(0)
    rng = random.Random(0)
    model = TreeLSTM(width)
    opt = whet.optim.Adam(model.parameters(), 3e-3)

    def answers(trees):
        return whet.stack([model(t) for t in trees] if loop else batch(model)(trees))

    def drawn(count, least, most):
        """Trees, as many true ones as false ones, and whether they are true."""
        trees = {True: [], False: []}
        while min(map(len, trees.values())) < count // 2:
            t = sentence(rng, rng.randint(least, most))
            trees[is_true(t)].append(t)
        some = [(t, k) for k in trees for t in trees[k][:count // 2]]
        return [t for t, _ in some], whet.tensor([int(k) for _, k in some])

    def update():
        opt.step()
        opt.zero_grad()

    update = whet.jit.trace(update) if trace else update
    losses = []
    for i in range(1, steps + 1):
        trees, truth = drawn(batch_size, 1, 12)
        loss = F.cross_entropy(answers(trees), truth)
        loss.backward()
        update()
        losses.append(loss.item())
        if i % max(1, steps // 10) == 0:
            print(f"step {i:4d}/{steps}  loss {losses[-1]:.3f}")
    trees, truth = drawn(400, 13, 24)
    with whet.no_grad():
        right = (answers(trees).argmax(1) == truth).float().mean().item()
    print(f"{right:.1%} of 400 longer sentences")
    return losses, right


if __name__ == "__main__":
    run(main)
