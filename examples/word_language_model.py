"""A language model of words, from the docstrings of Python's standard library: an LSTM or a
transformer reads some words and tells the next.

Of 2000 words, the LSTM leaves about 250 to choose among (its perplexity), the transformer 200.

    python examples/word_language_model.py [--model lstm|transformer] [--epochs N] [--trace]
"""
import math

import whet
import whet.nn.functional as F
from command import run
from whet import nn
from whet.datasets import Words
from whet.utils.data import DataLoader, Subset


class Recurrent(nn.Module):
    """An LSTM whose last layer has the embedding's weight."""

    def __init__(self, words, width=96):
        super().__init__()
        self.embedding, self.drop = nn.Embedding(words, width), nn.Dropout(0.2)
        self.rnn = nn.LSTM(width, width, 2, dropout=0.2, batch_first=True)
        self.out = nn.Linear(width, words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.out.weight = self.embedding.weight

    def forward(self, ids):
        y, _ = self.rnn(self.drop(self.embedding(ids)))
        return self.out(self.drop(y))


class Transformer(nn.Module):
    """Two layers of attention to the words before."""

    def __init__(self, words, width=96, length=32):
        super().__init__()
        self.embedding, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, 0.2, "gelu", batch_first=True,
                                           norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width),
                                             enable_nested_tensor=False)
        self.out = nn.Linear(width, words)
        nn.init.uniform_(self.embedding.weight, -0.1, 0.1)
        self.out.weight = self.embedding.weight

    def forward(self, ids):
        x = self.embedding(ids) * math.sqrt(self.embedding.embedding_dim)
        x = x + self.places(whet.arange(ids.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(ids.shape[1])
        return self.out(self.encoder(x, mask=mask, is_causal=True))


def main(model="lstm", epochs=10, trace=False):
    whet.manual_seed(0)
    text = Words(length=32)
    cut = len(text) * 9 // 10
    loader = DataLoader(Subset(text, range(cut)), batch_size=32, shuffle=True, drop_last=True)
    held = [whet.stack(part) for part in zip(*Subset(text, range(cut, len(text))))]
    net = {"lstm": Recurrent, "transformer": Transformer}[model](len(text.words))
    opt = whet.optim.AdamW(net.parameters(), 5e-3)
    schedule = whet.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)

    def step(ids, wanted):
        loss = F.cross_entropy(net(ids).flatten(0, 1), wanted.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses = []
    for epoch in range(1, epochs + 1):
        net.train()
        losses.append(sum(step(*batch).item() for batch in loader) / len(loader))
        schedule.step()
        net.eval()
        with whet.no_grad():
            test = F.cross_entropy(net(held[0]).flatten(0, 1), held[1].flatten()).item()
        print(f"epoch {epoch:2d}/{epochs}  loss {losses[-1]:.3f}  "
              f"held-out perplexity {math.exp(test):.1f}")
    return losses, math.exp(test)


if __name__ == "__main__":
    run(main)
