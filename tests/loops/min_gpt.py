"""minGPT: its model and its trainer."""
import collections
import math
import time

import whet as torch
import whet.nn as nn
import whet.nn.functional as F

from .harness import loop


# ---- minGPT --------------------------------------------------------------------------------------
class MinTrainer:
    """minGPT's."""

    def __init__(self, model):
        self.callbacks = collections.defaultdict(list)
        self.model, self.iter_num, self.iter_time, self.iter_dt = model, 0, 0.0, 0.0
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))

    def add_callback(self, onevent, callback):
        """One more."""
        self.callbacks[onevent].append(callback)

    def trigger_callbacks(self, onevent):
        """All of an event."""
        for callback in self.callbacks.get(onevent, []):
            callback(self)

    def step(self, batch):
        """One batch."""
        model = self.model
        x, y = [t.to("cpu") for t in batch]
        logits, self.loss = model(x, y)
        model.zero_grad(set_to_none=True)
        self.loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        self.optimizer.step()
        self.trigger_callbacks("on_batch_end")
        self.iter_num += 1

    def clock(self):
        """How long it took."""
        tnow = time.time()
        self.iter_dt = tnow - self.iter_time
        self.iter_time = tnow


class NewGELU(nn.Module):
    """minGPT's."""

    def forward(self, x):
        return 0.5 * x * (1.0 + torch.tanh(
            math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class CausalSelfAttention(nn.Module):
    """minGPT's."""

    def __init__(self, n_embd=8, n_head=2, block_size=8):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.attn_dropout = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size))
                             .view(1, 1, block_size, block_size))
        self.n_head, self.n_embd = n_head, n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class Block(nn.Module):
    """minGPT's."""

    def __init__(self, n_embd=8):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(n_embd), CausalSelfAttention(n_embd)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(n_embd, 16), c_proj=nn.Linear(16, n_embd),
                                      act=NewGELU(), dropout=nn.Dropout(0.1)))
        m = self.mlp
        self.mlpf = lambda x: m.dropout(m.c_proj(m.act(m.c_fc(x))))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlpf(self.ln_2(x))
        return x


class MinGPT(nn.Module):
    """minGPT."""

    def __init__(self, vocab_size=12, block_size=8, n_embd=8):
        super().__init__()
        self.block_size = block_size
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(vocab_size, n_embd), wpe=nn.Embedding(block_size, n_embd),
            drop=nn.Dropout(0.1), h=nn.ModuleList([Block() for _ in range(2)]),
            ln_f=nn.LayerNorm(n_embd)))
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets=None):
        b, t = idx.size()
        assert t <= self.block_size, f"Cannot forward sequence of length {t}"
        pos = torch.arange(0, t, dtype=torch.long).unsqueeze(0)
        x = self.transformer.drop(self.transformer.wte(idx) + self.transformer.wpe(pos))
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1),
                                   ignore_index=-1)
        return logits, loss


@loop
def min_gpt(trace):
    """A trainer with callbacks by events, dropout, closures in modules; its clock is outside."""
    trainer = MinTrainer(MinGPT())
    said = []

    def batch_end_callback(trainer):
        if trainer.iter_num % 10 == 0:
            print(f"iter {trainer.iter_num}: train loss {trainer.loss.item():.5f}")
    trainer.add_callback("on_batch_end", batch_end_callback)
    step = trace(trainer.step)
    ids = torch.randint(0, 12, (45, 4, 9))
    for x in ids:
        step((x[:, :-1].clone(), x[:, 1:].clone()))
        trainer.clock()
        said.append(trainer.loss.item())
        yield said[-1], trainer.iter_num, trainer.model.lm_head.weight
