"""Words and tokens: language models, translation, embeddings, tags."""
import math
import random
import time
from dataclasses import dataclass, field

import numpy as np
import whet as torch
import whet.nn as nn
import whet.nn.functional as F
from whet.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from .harness import loop


# ---- the word language model ---------------------------------------------------------------------
class RNNModel(nn.Module):
    """The word language model example's."""

    def __init__(self, ntoken=16, ninp=8, nhid=8, nlayers=2, dropout=0.2):
        super().__init__()
        self.drop, self.encoder = nn.Dropout(dropout), nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        """Zeros."""
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid),
                weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


@loop
def word_language_model(trace):
    """Truncated backpropagation: batches cut from a text by position, weights moved by hand."""
    model, criterion = RNNModel(), nn.NLLLoss()
    train_data, bptt, lr = torch.randint(0, 16, (901, 4)), 5, 2.0
    hidden, total_loss, start_time = model.init_hidden(4), 0.0, time.time()

    def get_batch(source, i):
        seq_len = min(bptt, len(source) - 1 - i)
        return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)

    @trace
    def train_step(i):
        nonlocal hidden, total_loss
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    for batch, i in enumerate(range(0, train_data.size(0) - 1, bptt)):
        train_step(i)
        if batch % 20 == 19:
            cur_loss, elapsed = total_loss / 20, time.time() - start_time
            yield f"loss {cur_loss:5.2f} ppl {math.exp(cur_loss):8.2f}", elapsed < 0
            total_loss, start_time = 0, time.time()
        yield total_loss, hidden


# ---- the annotated transformer -------------------------------------------------------------------
class LabelSmoothing(nn.Module):
    """Implement label smoothing."""

    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx, self.confidence = padding_idx, 1.0 - smoothing
        self.smoothing, self.size, self.true_dist = smoothing, size, None

    def forward(self, x, target):
        assert x.size(1) == self.size
        true_dist = x.data.clone()
        true_dist.fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.data.unsqueeze(1), self.confidence)
        true_dist[:, self.padding_idx] = 0
        mask = torch.nonzero(target.data == self.padding_idx)
        if mask.dim() > 0:
            true_dist.index_fill_(0, mask.squeeze(), 0.0)
        self.true_dist = true_dist
        return self.criterion(x, true_dist.clone().detach())


class Batch:
    """Object for holding a batch of data with mask during training."""

    def __init__(self, src, tgt=None, pad=0):
        self.src = src
        self.src_mask = (src != pad).unsqueeze(-2)
        if tgt is not None:
            self.tgt = tgt[:, :-1]
            self.tgt_y = tgt[:, 1:]
            self.tgt_mask = self.make_std_mask(self.tgt, pad)
            self.ntokens = (self.tgt_y != pad).data.sum()

    @staticmethod
    def make_std_mask(tgt, pad):
        """Hides padding and what is to come."""
        tgt_mask = (tgt != pad).unsqueeze(-2)
        size = tgt.size(-1)
        return tgt_mask & (torch.triu(torch.ones(1, size, size), diagonal=1) == 0)


@dataclass
class TrainState:
    """Track number of steps, examples, and tokens processed."""
    step: int = 0
    accum_step: int = 0
    samples: int = 0
    tokens: int = 0
    log: list = field(default_factory=list)


def rate(step, model_size, factor, warmup):
    """Noam's."""
    if step == 0:
        step = 1
    return factor * (model_size ** (-0.5) * min(step ** (-0.5), step * warmup ** (-1.5)))


class EncoderDecoder(nn.Module):
    """A small one."""

    def __init__(self, vocab=12, d_model=8):
        super().__init__()
        self.embed, self.generator = nn.Embedding(vocab, d_model), nn.Linear(d_model, vocab)
        self.attention = nn.MultiheadAttention(d_model, 2, batch_first=True)
        self.cross, self.norm = nn.MultiheadAttention(d_model, 2, batch_first=True), nn.LayerNorm(8)

    def forward(self, src, tgt, src_mask, tgt_mask):
        memory, x = self.embed(src), self.embed(tgt)
        x = self.norm(x + self.attention(x, x, x, attn_mask=~tgt_mask.repeat_interleave(2, 0),
                                         need_weights=False)[0])
        pad = ~src_mask.squeeze(1)
        return x + self.cross(x, memory, memory, key_padding_mask=pad, need_weights=False)[0]


@loop
def annotated_transformer(trace):
    """Noam's rate by LambdaLR, KL with smoothed labels where padding is found by nonzero, a class
    that computes a loss, a dataclass that counts."""
    model, criterion = EncoderDecoder(), LabelSmoothing(12, 0, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.5, betas=(0.9, 0.98), eps=1e-9)
    lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lr_lambda=lambda step: rate(step, 8, factor=1.0, warmup=20))
    train_state = TrainState()

    def loss_compute(x, y, norm):
        x = F.log_softmax(model.generator(x), dim=-1)
        sloss = criterion(x.contiguous().view(-1, x.size(-1)), y.contiguous().view(-1)) / norm
        return sloss.data * norm, sloss

    @trace
    def train_step(src, tgt):
        batch = Batch(src, tgt, 0)
        out = model.forward(batch.src, batch.tgt, batch.src_mask, batch.tgt_mask)
        loss, loss_node = loss_compute(out, batch.tgt_y, batch.ntokens)
        loss_node.backward()
        train_state.step += 1
        train_state.samples += batch.src.shape[0]
        train_state.tokens += batch.ntokens
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        train_state.accum_step += 1
        lr_scheduler.step()
        return loss / batch.ntokens
    for data in torch.randint(1, 12, (90, 4, 6)):
        data[:, 0] = 1
        if random.random() < 0.5:
            data[0, 4:] = 0
        yield train_step(data, data), train_state.step, train_state.tokens


# ---- word2vec ------------------------------------------------------------------------------------
class SkipGramModel(nn.Module):
    """Skip-gram with negative samples."""

    def __init__(self, emb_size=30, emb_dimension=8):
        super().__init__()
        self.u_embeddings = nn.Embedding(emb_size, emb_dimension)
        self.v_embeddings = nn.Embedding(emb_size, emb_dimension)
        initrange = 1.0 / emb_dimension
        nn.init.uniform_(self.u_embeddings.weight.data, -initrange, initrange)
        nn.init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u, emb_v = self.u_embeddings(pos_u), self.v_embeddings(pos_v)
        emb_neg_v = self.v_embeddings(neg_v)
        score = torch.sum(torch.mul(emb_u, emb_v), dim=1)
        score = torch.clamp(score, max=10, min=-10)
        score = -F.logsigmoid(score)
        neg_score = torch.bmm(emb_neg_v, emb_u.unsqueeze(2)).squeeze()
        neg_score = torch.clamp(neg_score, max=10, min=-10)
        neg_score = -torch.sum(F.logsigmoid(-neg_score), dim=1)
        return torch.mean(score + neg_score)


class Word2vecData:
    """Where negatives come from."""
    NEGATIVE_TABLE_SIZE = 500

    def __init__(self, size=30):
        pow_frequency = np.arange(size, 0, -1) ** 0.5
        ratio = pow_frequency / sum(pow_frequency)
        count = np.round(ratio * Word2vecData.NEGATIVE_TABLE_SIZE)
        negatives = []
        for wid, c in enumerate(count):
            negatives += [wid] * int(c)
        self.negatives, self.negpos = np.array(negatives), 0
        np.random.shuffle(self.negatives)

    def getNegatives(self, target, size):
        """The next ones of the table."""
        response = self.negatives[self.negpos:self.negpos + size]
        self.negpos = (self.negpos + size) % len(self.negatives)
        if len(response) != size:
            return np.concatenate((response, self.negatives[0:self.negpos]))
        return response


@loop
def word2vec(trace):
    """Skip-gram whose negatives are cut from a table in turn, as the collator does it."""
    data, skip_gram_model = Word2vecData(), SkipGramModel()
    optimizer = torch.optim.SGD(skip_gram_model.parameters(), lr=0.2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 60)
    running_loss = 0.0

    @trace
    def step(pos_u, pos_v):
        nonlocal running_loss
        neg_v = torch.LongTensor(np.stack([data.getNegatives(v, 3) for v in range(8)]))
        optimizer.zero_grad()
        loss = skip_gram_model.forward(pos_u, pos_v, neg_v)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running_loss = running_loss * 0.9 + loss.item() * 0.1
    for pair in torch.randint(0, 30, (60, 2, 8)):
        step(*pair)
        yield running_loss, skip_gram_model.u_embeddings.weight


# ---- packed sequences ----------------------------------------------------------------------------
class Tagger(nn.Module):
    """A recurrent tagger over packed sequences."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, batch_first=True, bidirectional=True)
        self.hidden2tag = nn.Linear(10, 4)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True,
                                      enforce_sorted=False)
        out, _ = self.lstm(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.size(1))
        return self.hidden2tag(out)


@loop
def packed_tagger(trace):
    """Lengths that differ from batch to batch, a loss over those that are no padding."""
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_function = nn.CrossEntropyLoss(ignore_index=-1)

    @trace
    def step(x, lengths, tags):
        model.zero_grad()
        tag_scores = model(x, lengths)
        loss = loss_function(tag_scores.view(-1, 4), tags.view(-1))
        loss.backward()
        optimizer.step()
        active = tags.view(-1) != -1
        preds = tag_scores.view(-1, 4)[active].argmax(-1)
        return loss.item(), (preds == tags.view(-1)[active]).float().mean().item()
    for _ in range(60):
        lengths = torch.randint(2, 8, (4,))
        mask = torch.arange(7) < lengths[:, None]
        x = torch.randint(1, 20, (4, 7)) * mask
        yield step(x, lengths, torch.where(mask, x % 4, -1)), model.hidden2tag.bias
