"""A small GPT learns Python, character by character, from the standard library's own sources; then
it writes some. What it has read is kept, so that each new character costs one step.

It reaches a loss of 1.3 nats a character after 600 steps.

    python examples/char_gpt.py [--steps N] [--trace]
"""
import time

import whet
from command import run
from whet import nn
from whet.datasets import Characters, sources
from whet.models import GPT, GPTConfig

MODULES = "json.decoder", "json.encoder", "textwrap"
CONTEXT, BATCH = 64, 24


def optimizer_of(model):
    """Weight decay for matrices, none for biases and norms."""
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    return whet.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
        lr=5e-3, betas=(0.9, 0.95))


def main(steps=600, trace=False):
    whet.manual_seed(0)
    text = Characters(sources(MODULES), CONTEXT)
    model = GPT(GPTConfig(4 * CONTEXT, len(text.words), n_layer=3, n_head=4, n_embd=64))
    opt = optimizer_of(model)
    schedule = whet.optim.lr_scheduler.OneCycleLR(opt, max_lr=5e-3, total_steps=steps,
                                                  pct_start=0.1)
    print(f"{len(text.ids)} characters, {len(text.words)} different ones; "
          f"{sum(p.numel() for p in model.parameters())} parameters")

    def step(batch):
        _, loss = model(batch[:, :-1], batch[:, 1:])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        return loss.detach()

    step = whet.jit.trace(step) if trace else step
    losses, begin = [], time.perf_counter()
    for i in range(1, steps + 1):
        at = whet.randint(len(text), (BATCH, 1)) + whet.arange(CONTEXT + 1)
        losses.append(step(text.ids[at]).item())
        schedule.step()
        if i == 1 or i % max(1, steps // 10) == 0:
            print(f"step {i:4d}/{steps}  loss {losses[-1]:.3f}  "
                  f"{(time.perf_counter() - begin) / i * 1e3:.1f} ms a step")
    model.eval()
    begin = time.perf_counter()
    written = model.generate(text.encode("def ")[None], 2 * CONTEXT, temperature=0.7, top_k=8)
    print(f"\n{text.decode(written[0])}\n\n"
          f"{(time.perf_counter() - begin) / (2 * CONTEXT) * 1e3:.2f} ms a character")
    last = losses[-max(1, steps // 20):]
    return losses, sum(last) / len(last)


if __name__ == "__main__":
    run(main)
