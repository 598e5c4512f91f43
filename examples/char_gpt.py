"""Train a small GPT, character by character, on the Python standard library's own sources; then let
it write some Python.

    python examples/char_gpt.py [steps]
"""
import inspect
import json
import math
import sys
import textwrap
import time

import whet
import whet.nn as nn
import whet.nn.functional as F

CONTEXT, WIDTH, HEADS, LAYERS, BATCH = 64, 64, 4, 3, 24
SOURCES = (json.decoder, json.encoder, textwrap)


class Attention(nn.Module):
    """Each position looks at itself and those before it."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, c // HEADS).transpose(1, 2)
                   for y in self.qkv(x).split(c, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    """Attention, then two linear layers, each added to what came in."""

    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(
            WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH),
                                 nn.GELU(),
                                 nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Logits of the next character at every position. The embedding of characters is the output
    layer's weight, too."""

    def __init__(self, characters):
        super().__init__()
        self.token, self.place = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters, bias=False)
        self.apply(self.start)
        self.head.weight = self.token.weight

    @staticmethod
    def start(module):
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids):
        x = self.token(ids) + self.place(whet.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @whet.no_grad()
    def write(self, ids, count, temperature=0.7, top=8):
        """Append `count` characters, each drawn from the likeliest few."""
        for _ in range(count):
            logits = self(ids[:, -CONTEXT:])[:, -1] / temperature
            least = logits.topk(top).values[:, [-1]]
            probabilities = logits.masked_fill(logits < least, -math.inf).softmax(-1)
            ids = whet.cat([ids, whet.multinomial(probabilities, 1)], dim=1)
        return ids


def optimizer_of(model):
    """Weight decay for matrices, none for biases and norms."""
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    return whet.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=5e-3,
        betas=(0.9, 0.95))


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    whet.manual_seed(0)
    text = "".join(inspect.getsource(m) for m in SOURCES)
    characters = sorted(set(text))
    number = {c: i for i, c in enumerate(characters)}
    ids = whet.tensor([number[c] for c in text])
    model = GPT(len(characters))
    opt = optimizer_of(model)
    schedule = whet.optim.lr_scheduler.OneCycleLR(opt, max_lr=5e-3, total_steps=steps,
                                                  pct_start=0.1)
    print(f"{len(text)} characters, {len(characters)} different ones; "
          f"{sum(p.numel() for p in model.parameters())} parameters")
    start = time.perf_counter()
    for step in range(1, steps + 1):
        at = whet.randint(len(ids) - CONTEXT - 1, (BATCH, 1)) + whet.arange(CONTEXT + 1)
        batch = ids[at]
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        schedule.step()
        if step == 1 or step % max(1, steps // 10) == 0:
            print(
                f"step {step:4d}/{steps}  loss {loss.item():.3f}  "
                f"{(time.perf_counter() - start) / step * 1e3:.1f} ms a step")
    prompt = "def "
    written = model.write(whet.tensor([[number[c] for c in prompt]]), 300)
    print("\n" + "".join(characters[i] for i in written[0].tolist()))
    if steps >= 500 and loss.item() > 2.0:
        sys.exit(f"the loss is {loss.item():.3f}, expected less than 2")


if __name__ == "__main__":
    main()
