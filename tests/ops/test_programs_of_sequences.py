"""Programs of sequences: language models, recurrent networks, GPT."""
import math

import numpy as np
import pytest
import whet as torch
import whet.nn as nn
import whet.nn.functional as F
import whet.optim as optim

from tests.ops.program_parts import fit, rng, start


@pytest.mark.parametrize("kind, expected",
                         [("LSTM", (3.0501864, 2.9939635)), ("GRU", (3.0825884, 3.0029905))])
def test_word_language_model(kind, expected):
    class RNNModel(nn.Module):
        def __init__(self, ntoken, ninp, nhid, nlayers):
            super().__init__()
            self.encoder = nn.Embedding(ntoken, ninp)
            self.rnn = getattr(nn, kind)(ninp, nhid, nlayers, dropout=0.0)
            self.decoder = nn.Linear(nhid, ntoken)
            self.decoder.weight = self.encoder.weight

        def forward(self, ids, hidden):
            output, hidden = self.rnn(self.encoder(ids), hidden)
            return F.log_softmax(self.decoder(output).view(-1, 20), dim=1), hidden

        def init_hidden(self, bsz):
            zeros = next(self.parameters()).new_zeros(2, bsz, 8)
            return (zeros, zeros.clone()) if kind == "LSTM" else zeros

    def repackage_hidden(h):
        return h.detach() if isinstance(h, torch.Tensor) else tuple(repackage_hidden(v) for v in h)

    model = start(RNNModel(20, 8, 8, 2))
    assert (list(model.state_dict())[:3]
            == ["encoder.weight", "rnn.weight_ih_l0", "rnn.weight_hh_l0"]
            and len(list(model.parameters())) == 10)
    data = torch.from_numpy(rng().randint(0, 20, (31, 4)))
    hidden, losses = model.init_hidden(4), []
    for i in range(0, 30, 6):
        x, y = data[i:i + 6], data[i + 1:i + 7].view(-1)
        model.zero_grad()
        output, hidden = model(x, repackage_hidden(hidden))
        loss = nn.NLLLoss()(output, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-2.0)
        losses.append(loss.item())
    assert (losses[0], losses[-1]) == pytest.approx(expected, rel=1e-4)


def test_time_sequence_prediction():
    class Sequence(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm1, self.lstm2 = nn.LSTMCell(1, 9), nn.LSTMCell(9, 9)
            self.linear = nn.Linear(9, 1)

        def forward(self, x, future=0):
            outputs = []
            h, c, h2, c2 = (torch.zeros(x.size(0), 9, dtype=torch.double) for _ in range(4))
            for x_t in x.split(1, dim=1):
                h, c = self.lstm1(x_t, (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                outputs += [self.linear(h2)]
            for _ in range(future):
                h, c = self.lstm1(outputs[-1], (h, c))
                h2, c2 = self.lstm2(h, (h2, c2))
                outputs += [self.linear(h2)]
            return torch.cat(outputs, dim=1)

    waves = np.sin((np.arange(20) + rng().randint(-80, 80, (6, 1))) / 5.0)
    x, y = torch.from_numpy(waves[:, :-1]), torch.from_numpy(waves[:, 1:])
    model = start(Sequence().double())
    optimizer = optim.LBFGS(model.parameters(), lr=0.8, max_iter=12)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = nn.MSELoss()(model(x), y)
        losses.append(loss.item())
        loss.backward()
        return loss

    optimizer.step(closure)
    assert losses[-1] < losses[0] * 0.2
    assert model(x, future=5).shape == (6, 24)


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("bias", torch.tril(torch.ones(context, context))
                             .view(1, 1, context, context))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = (t.view(B, T, self.heads, C // self.heads).transpose(1, 2)
                   for t in self.c_attn(x).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), CausalSelfAttention(width, heads, context)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(width, 4 * width), act=nn.GELU(),
                                      c_proj=nn.Linear(4 * width, width)))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        m = self.mlp
        return x + m.c_proj(m.act(m.c_fc(self.ln_2(x))))


class GPT(nn.Module):
    def __init__(self, vocab, width=16, heads=2, layers=2, context=16):
        super().__init__()
        self.context = context
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(vocab, width),
            wpe=nn.Embedding(context, width),
            h=nn.ModuleList([Block(width, heads, context) for _ in range(layers)]),
            ln_f=nn.LayerNorm(width)))
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.transformer.wte.weight = self.lm_head.weight

    def forward(self, idx, targets=None):
        pos = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(pos)
        for block in self.transformer.h:
            x = block(x)
        logits = self.lm_head(self.transformer.ln_f(x))
        return (logits,
                None if targets is None
                else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1),
                                     ignore_index=-1))

    def configure_optimizers(self):
        decay = [p for p in self.parameters() if p.dim() >= 2]
        rest = [p for p in self.parameters() if p.dim() < 2]
        return optim.AdamW([{"params": decay, "weight_decay": 0.1},
                            {"params": rest, "weight_decay": 0.0}], lr=1e-2, betas=(0.9, 0.95))

    @torch.no_grad()
    def generate(self, idx, count, top_k):
        for _ in range(count):
            logits = self(idx[:, -self.context:])[0][:, -1, :]
            v, _ = torch.topk(logits, top_k)
            logits[logits < v[:, [-1]]] = -float("Inf")
            idx = torch.cat((idx, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)),
                            dim=1)
        return idx


def test_GPT(tmp_path):
    model = GPT(10)
    torch.manual_seed(0)
    text = torch.arange(200) % 10
    opt = model.configure_optimizers()

    def loss():
        at = torch.randint(len(text) - 17, (8,))
        x = torch.stack([text[i:i + 16] for i in at])
        y = torch.stack([text[i + 1:i + 17] for i in at])
        return model(x, y)[1]

    losses = fit(model, loss, opt, 60, clip=1.0)
    assert losses[-1] < 0.2 < 2.0 < losses[0]
    assert (model.generate(torch.tensor([[3, 4]]), 20, 1)[0].tolist()
            == [(3 + i) % 10 for i in range(22)])
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "iter_num": 60},
               tmp_path / "ckpt.pt")
    checkpoint = torch.load(tmp_path / "ckpt.pt", map_location="cpu")
    again = GPT(10)
    again.load_state_dict(checkpoint["model"])
    opt_again = again.configure_optimizers()
    opt_again.load_state_dict(checkpoint["optimizer"])
    x = text[:32].view(2, 16)
    for m, o in ((model, opt), (again, opt_again)):
        o.zero_grad(set_to_none=True)
        m(x, x)[1].backward()
        o.step()
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters()))
