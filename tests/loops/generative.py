"""Adversaries, autoencoders, diffusion, contrast, and a language model that learns and writes."""
import math

import numpy as np
import whet as torch
import whet.nn.functional as F
from whet import nn

from .harness import loop


@loop
def dcgan(trace):
    """The DCGAN example: labels of real and fake in one tensor, two optimizers, losses in lists."""
    netG = nn.Sequential(nn.ConvTranspose2d(4, 6, 4), nn.BatchNorm2d(6), nn.ReLU(True),
                         nn.ConvTranspose2d(6, 1, 4, 2, 1), nn.Tanh())
    netD = nn.Sequential(nn.Conv2d(1, 6, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True),
                         nn.Conv2d(6, 1, 4), nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real_label, fake_label, G_losses, D_losses = 1.0, 0.0, [], []

    @trace
    def step(real):
        netD.zero_grad()
        label = torch.full((real.size(0),), real_label)
        errD_real = criterion(netD(real).view(-1), label)
        errD_real.backward()
        noise = torch.randn(real.size(0), 4, 1, 1)
        fake = netG(noise)
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()).view(-1), label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()
        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake).view(-1), label)
        errG.backward()
        optimizerG.step()
        G_losses.append(errG.item())
        D_losses.append(errD.item())
    data = torch.rand(40, 4, 1, 8, 8) * 2 - 1
    for real in data:
        step(real)
        yield G_losses[-1], D_losses[-1]


@loop
def vae(trace):
    """The VAE example, with ExponentialLR inside."""
    enc, dec = nn.Linear(12, 8), nn.Linear(2, 12)
    mu_of, var_of = nn.Linear(8, 2), nn.Linear(8, 2)
    modules = nn.ModuleList([enc, dec, mu_of, var_of])
    optimizer = torch.optim.Adam(modules.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    train_loss = 0

    @trace
    def step(x):
        nonlocal train_loss
        h = F.relu(enc(x))
        mu, logvar = mu_of(h), var_of(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        recon = torch.sigmoid(dec(z))
        loss = (F.binary_cross_entropy(recon, x, reduction="sum")
                - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()))
        optimizer.zero_grad()
        loss.backward()
        train_loss += loss.item()
        optimizer.step()
        scheduler.step()
    for x in torch.rand(40, 8, 12):
        step(x)
        yield train_loss, scheduler.get_last_lr()


class EMA:
    """A shadow of the weights (of denoising-diffusion-pytorch)."""

    def __init__(self, model, beta=0.99):
        self.beta, self.step = beta, 0
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    def update(self, model):
        """Follow."""
        self.step += 1
        decay = min(self.beta, (1 + self.step) / (10 + self.step))
        for name, p in model.named_parameters():
            self.shadow[name] = decay * self.shadow[name] + (1 - decay) * p.detach()


@loop
def diffusion(trace):
    """DDPM: random steps and noise, a cosine schedule as a buffer, an EMA, CosineAnnealingLR
    inside."""
    T = 20
    betas = torch.linspace(1e-4, 0.2, T)
    alphas_bar = torch.cumprod(1 - betas, 0)
    model = nn.Sequential(nn.Linear(7, 24), nn.SiLU(), nn.Linear(24, 6))
    ema = EMA(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=60)

    @trace
    def step(x0):
        t = torch.randint(0, T, (x0.shape[0],))
        noise = torch.randn_like(x0)
        ab = alphas_bar[t][:, None]
        xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        loss = F.mse_loss(model(torch.cat([xt, t[:, None] / T], 1)), noise)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        ema.update(model)
        return loss.detach()
    for x in torch.randn(40, 8, 6):
        yield step(x), ema.shadow["0.bias"], scheduler.get_last_lr()


@loop
def contrast(trace):
    """SimCLR and MoCo: two views, a queue of keys that is written to in turn, a momentum
    encoder."""
    encoder, key_encoder = nn.Linear(6, 4), nn.Linear(6, 4)
    key_encoder.load_state_dict(encoder.state_dict())
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05, momentum=0.9)
    queue, ptr = F.normalize(torch.randn(4, 32), dim=0), torch.zeros(1, dtype=torch.long)

    @trace
    def step(x1, x2):
        q = F.normalize(encoder(x1), dim=1)
        with torch.no_grad():
            for p, k in zip(encoder.parameters(), key_encoder.parameters()):
                k.data = k.data * 0.99 + p.data * 0.01
            k = F.normalize(key_encoder(x2), dim=1)
        l_pos = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", [q, queue.clone().detach()])
        logits = torch.cat([l_pos, l_neg], dim=1) / 0.07
        loss = F.cross_entropy(logits, torch.zeros(logits.shape[0], dtype=torch.long))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        at = int(ptr)
        queue[:, at:at + 8] = k.T
        ptr[0] = (at + 8) % 32
        return loss.item()
    for x in torch.randn(48, 8, 6):
        yield step(x + 0.1 * torch.randn(8, 6), x), queue, ptr


class Attention(nn.Module):
    """Causal attention with a cache (as of nanoGPT and its descendants)."""

    def __init__(self, width=8, heads=2, most=64):
        super().__init__()
        self.qkv, self.out, self.heads = nn.Linear(width, 3 * width), nn.Linear(width, width), heads
        self.register_buffer("k_cache", torch.zeros(1, heads, most, width // heads),
                             persistent=False)
        self.register_buffer("v_cache", torch.zeros(1, heads, most, width // heads),
                             persistent=False)

    def forward(self, x, pos=None, mask=None):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2)
                   for y in self.qkv(x).split(c, 2))
        if pos is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            self.k_cache[:, :, pos], self.v_cache[:, :, pos] = k, v
            y = F.scaled_dot_product_attention(q, self.k_cache, self.v_cache, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(b, t, c))


class GPT(nn.Module):
    """A block."""

    def __init__(self, vocabulary=12, width=8, most=64):
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, width), nn.Embedding(most, width)
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, most=most)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids, pos=None, mask=None):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]) if pos is None else pos)
        return self.head(x + self.attention(self.norm(x), pos, mask))


@loop
def nano_gpt(trace):
    """nanoGPT: batches by from_numpy of a memory map's windows, a learning rate by a formula,
    clipped gradients, an estimate of MFU left out."""
    data = (np.random.randint(0, 12, 600) % 12).astype(np.uint16)
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, betas=(0.9, 0.95), weight_decay=0.1)
    warmup_iters, lr_decay_iters, learning_rate, min_lr = 8, 60, 6e-3, 6e-4

    def get_batch():
        ix = torch.randint(len(data) - 16, (4,))
        x = torch.stack([torch.from_numpy(data[i:i + 16].astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy(data[i + 1:i + 17].astype(np.int64)) for i in ix])
        return x, y

    def get_lr(it):
        if it < warmup_iters:
            return learning_rate * (it + 1) / (warmup_iters + 1)
        if it > lr_decay_iters:
            return min_lr
        coeff = (0.5 * (1.0 + math.cos(math.pi * (it - warmup_iters) /
                                       (lr_decay_iters - warmup_iters))))
        return min_lr + coeff * (learning_rate - min_lr)

    @trace
    def step(x, y, lr):
        for group in optimizer.param_groups:
            group["lr"] = lr
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()
    for it in range(48):
        yield step(*get_batch(), get_lr(it)), model.head.bias


@loop
def kv_cache(trace):
    """gpt-fast's decoding: a static cache that is written to at a position, which is a tensor,
    and the mask's row of it; top-k sampling."""
    model = GPT().eval()
    causal = torch.tril(torch.ones(64, 64, dtype=torch.bool))

    @trace
    def decode_one_token(x, input_pos):
        with torch.no_grad():
            logits = model(x, input_pos, causal[None, None, input_pos])[:, -1] / 0.8
            v, _ = torch.topk(logits, 5)
            logits = torch.where(logits < v[:, -1:], -float("inf"), logits)
            probs = F.softmax(logits, dim=-1)
            q = torch.empty_like(probs).exponential_(1)
            return torch.argmax(probs / q, dim=-1, keepdim=True), probs
    token, pos = torch.tensor([[1]]), torch.tensor([0])
    for _ in range(60):
        token, probs = decode_one_token(token, pos)
        token, pos = token.clone(), pos + 1
        yield token, probs
