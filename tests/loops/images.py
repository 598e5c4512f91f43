"""Images that are made, and one that is told: diffusion, CycleGAN, WGAN, VQ-VAE, MNIST."""
import collections
import copy
import itertools
import math
import random
from collections import OrderedDict, namedtuple

import numpy as np
import whet as torch
import whet.nn as nn
import whet.nn.functional as F

from .harness import loop
from .supervised import batches, digits

# ---- denoising-diffusion-pytorch -----------------------------------------------------------------
ModelPrediction = namedtuple("ModelPrediction", ["pred_noise", "pred_x_start"])


def exists(x):
    """lucidrains' habit."""
    return x is not None


def default(val, d):
    """lucidrains' habit."""
    return val if exists(val) else d() if callable(d) else d


def extract(a, t, x_shape):
    """Entries at t, to be broadcast."""
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


class GaussianDiffusion(nn.Module):
    """lucidrains'."""

    def __init__(self, model, *, timesteps=20):
        super().__init__()
        self.model, self.num_timesteps, self.self_condition = model, timesteps, False
        betas = torch.linspace(1e-4, 0.2, timesteps, dtype=torch.float64)
        alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
        register_buffer = lambda name, val: self.register_buffer(     # noqa: E731
            name, val.to(torch.float32))
        register_buffer("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        register_buffer("sqrt_one_minus_alphas_cumprod", torch.sqrt(1.0 - alphas_cumprod))
        register_buffer("loss_weight", torch.clamp(
            alphas_cumprod / (1 - alphas_cumprod), max=5) / (
                alphas_cumprod / (1 - alphas_cumprod)))

    @property
    def device(self):
        """Of the buffers."""
        return self.sqrt_alphas_cumprod.device

    def predict_start_from_noise(self, x_t, t, noise):
        """By the noise."""
        return ((x_t - extract(self.sqrt_one_minus_alphas_cumprod, t, x_t.shape) * noise)
                / extract(self.sqrt_alphas_cumprod, t, x_t.shape))

    def model_predictions(self, x, t, x_self_cond=None):
        """Both."""
        out = self.model(x, t, x_self_cond)
        return ModelPrediction(out, self.predict_start_from_noise(x, t, out))

    def p_losses(self, x_start, t, noise=None):
        """The loss."""
        noise = default(noise, lambda: torch.randn_like(x_start))
        x = (extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start
             + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise)
        x_self_cond = None
        if self.self_condition and random.random() < 0.5:
            with torch.no_grad():
                x_self_cond = self.model_predictions(x, t).pred_x_start
                x_self_cond.detach_()
        model_out = self.model(x, t, x_self_cond)
        loss = F.mse_loss(model_out, noise, reduction="none")
        loss = loss.flatten(1).mean(-1)
        loss = loss * extract(self.loss_weight, t, loss.shape)
        return loss.mean()

    def forward(self, img, *args, **kwargs):
        b, _, *_ = img.shape
        t = torch.randint(0, self.num_timesteps, (b,), device=self.device).long()
        return self.p_losses(img * 2 - 1, t, *args, **kwargs)


class SinusoidalPosEmb(nn.Module):
    """lucidrains'."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half_dim = self.dim // 2
        emb = math.log(10000) / (half_dim - 1)
        emb = torch.exp(torch.arange(half_dim, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class Unet(nn.Module):
    """A small one."""

    def __init__(self, channels=2):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(8), nn.Linear(8, 8), nn.GELU())
        self.init_conv = nn.Conv2d(2 * channels, 4, 3, padding=1)
        self.mlp, self.norm = nn.Linear(8, 8), nn.GroupNorm(2, 4)
        self.final_conv = nn.Conv2d(8, channels, 1)

    def forward(self, x, time, x_self_cond=None):
        x_self_cond = default(x_self_cond, lambda: torch.zeros_like(x))
        x = self.init_conv(torch.cat((x_self_cond, x), dim=1))
        r = x.clone()
        scale, shift = self.mlp(self.time_mlp(time))[:, :, None, None].chunk(2, dim=1)
        x = F.silu(self.norm(x) * (scale + 1) + shift)
        return self.final_conv(torch.cat((x, r), dim=1))


class EMA(nn.Module):
    """ema_pytorch's."""

    def __init__(self, model, beta=0.995, update_after_step=4, update_every=2):
        super().__init__()
        self.online_model, self.ema_model = [model], copy.deepcopy(model).requires_grad_(False)
        self.beta, self.update_every, self.update_after_step = beta, update_every, update_after_step
        self.register_buffer("initted", torch.tensor(False))
        self.register_buffer("step", torch.tensor(0))

    def copy_params_from_model_to_ema(self):
        """At first."""
        for ma, current in zip(self.ema_model.parameters(), self.online_model[0].parameters()):
            ma.data.copy_(current.data)

    def get_current_decay(self):
        """By the step."""
        epoch = max(self.step.item() - self.update_after_step - 1, 0.0)
        value = 1 - (1 + epoch / 1.0) ** -(2 / 3)
        return 0.0 if epoch <= 0 else min(max(value, 0.0), self.beta)

    def update(self):
        """Follow."""
        step = self.step.item()
        self.step += 1
        if (step % self.update_every) != 0:
            return
        if step <= self.update_after_step:
            self.copy_params_from_model_to_ema()
            return
        if not self.initted.item():
            self.copy_params_from_model_to_ema()
            self.initted.data.copy_(torch.tensor(True))
        decay = self.get_current_decay()
        with torch.no_grad():
            for ma, current in zip(self.ema_model.parameters(),
                                   self.online_model[0].parameters()):
                ma.data.lerp_(current.data, 1.0 - decay)


def cycle(dl):
    """For ever."""
    while True:
        yield from dl


@loop
def denoising_diffusion(trace):
    """lucidrains' Trainer: accumulation, ema_pytorch, a bar's text."""
    model = GaussianDiffusion(Unet())
    opt = torch.optim.Adam(model.parameters(), lr=8e-3, betas=(0.9, 0.99))
    ema, dl = EMA(model), cycle(torch.rand(6, 4, 2, 4, 4))

    @trace
    def train_step(batches):
        total_loss = 0.0
        for data in batches:
            loss = model(data)
            loss = loss / 2
            total_loss += loss.item()
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
        ema.update()
        return total_loss
    for _ in range(60):
        total_loss = train_step([next(dl), next(dl)])
        yield (f"loss: {total_loss:.4f}", ema.step,
               ema.ema_model.model.final_conv.bias)


# ---- CycleGAN ------------------------------------------------------------------------------------
class ImagePool:
    """CycleGAN's buffer of images."""

    def __init__(self, pool_size):
        self.pool_size = pool_size
        if self.pool_size > 0:
            self.num_imgs = 0
            self.images = []

    def query(self, images):
        """Some of the new, some of the old."""
        if self.pool_size == 0:
            return images
        return_images = []
        for image in images:
            image = torch.unsqueeze(image.data, 0)
            if self.num_imgs < self.pool_size:
                self.num_imgs = self.num_imgs + 1
                self.images.append(image)
                return_images.append(image)
            else:
                p = random.uniform(0, 1)
                if p > 0.5:
                    random_id = random.randint(0, self.pool_size - 1)
                    tmp = self.images[random_id].clone()
                    self.images[random_id] = image
                    return_images.append(tmp)
                else:
                    return_images.append(image)
        return torch.cat(return_images, 0)


class GANLoss(nn.Module):
    """CycleGAN's."""

    def __init__(self):
        super().__init__()
        self.register_buffer("real_label", torch.tensor(1.0))
        self.register_buffer("fake_label", torch.tensor(0.0))
        self.loss = nn.MSELoss()

    def __call__(self, prediction, target_is_real):
        target = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, target.expand_as(prediction))


class CycleGANModel:
    """CycleGAN's."""

    def __init__(self):
        def net():
            return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.InstanceNorm2d(4), nn.ReLU(),
                                 nn.Conv2d(4, 2, 3, padding=1), nn.Tanh())
        self.netG_A, self.netG_B = net(), net()
        self.netD_A, self.netD_B = nn.Conv2d(2, 1, 3), nn.Conv2d(2, 1, 3)
        self.fake_A_pool, self.fake_B_pool = ImagePool(6), ImagePool(6)
        self.criterionGAN, self.criterionCycle = GANLoss(), nn.L1Loss()
        self.optimizer_G = torch.optim.Adam(
            itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=2e-3)
        self.optimizer_D = torch.optim.Adam(
            itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=2e-3)
        self.loss_names = ["D_A", "G_A", "cycle_A", "D_B", "G_B", "cycle_B"]
        self.optimizers = [self.optimizer_G, self.optimizer_D]
        self.schedulers = [torch.optim.lr_scheduler.LambdaLR(
            o, lambda epoch: 1.0 - max(0, epoch + 1 - 30) / 31.0) for o in self.optimizers]

    def set_input(self, input):
        """A batch."""
        self.real_A, self.real_B = input["A"], input["B"]

    def set_requires_grad(self, nets, requires_grad=False):
        """Freeze or thaw."""
        if not isinstance(nets, list):
            nets = [nets]
        for net in nets:
            if net is not None:
                for param in net.parameters():
                    param.requires_grad = requires_grad

    def forward(self):
        """Both ways and back."""
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_D_basic(self, netD, real, fake):
        """A discriminator's."""
        loss_D = (self.criterionGAN(netD(real), True)
                  + self.criterionGAN(netD(fake.detach()), False)) * 0.5
        loss_D.backward()
        return loss_D

    def backward_G(self):
        """The generators'."""
        self.loss_G_A = self.criterionGAN(self.netD_A(self.fake_B), True)
        self.loss_G_B = self.criterionGAN(self.netD_B(self.fake_A), True)
        self.loss_cycle_A = self.criterionCycle(self.rec_A, self.real_A) * 10.0
        self.loss_cycle_B = self.criterionCycle(self.rec_B, self.real_B) * 10.0
        self.loss_G = self.loss_G_A + self.loss_G_B + self.loss_cycle_A + self.loss_cycle_B
        self.loss_G.backward()

    def optimize_parameters(self):
        """A step of all."""
        self.forward()
        self.set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        self.set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D_basic(self.netD_A, self.real_B,
                                              self.fake_B_pool.query(self.fake_B))
        self.loss_D_B = self.backward_D_basic(self.netD_B, self.real_A,
                                              self.fake_A_pool.query(self.fake_A))
        self.optimizer_D.step()

    def get_current_losses(self):
        """By name."""
        return OrderedDict((name, float(getattr(self, "loss_" + name)))
                           for name in self.loss_names)


@loop
def cycle_gan(trace):
    """A model whose losses and images are attributes, a pool of images that is drawn from."""
    model = CycleGANModel()
    optimize = trace(model.optimize_parameters)
    for a, b in torch.rand(44, 2, 2, 2, 5, 5) * 2 - 1:
        model.set_input({"A": a, "B": b})
        optimize()
        for scheduler in model.schedulers:
            scheduler.step()
        yield model.get_current_losses(), model.fake_B


# ---- WGAN-GP -------------------------------------------------------------------------------------
@loop
def wgan_gp(trace):
    """Gradients of gradients for the penalty, NumPy's numbers for alpha, critics more often."""
    generator = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 4))
    discriminator = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2, inplace=True),
                                  nn.Linear(8, 1))
    optimizer_G = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    Tensor = torch.FloatTensor

    def compute_gradient_penalty(D, real_samples, fake_samples):
        alpha = Tensor(np.random.random((real_samples.size(0), 1)))
        interpolates = (alpha * real_samples + ((1 - alpha) * fake_samples)).requires_grad_(True)
        d_interpolates = D(interpolates)
        fake = torch.autograd.Variable(Tensor(real_samples.shape[0], 1).fill_(1.0),
                                       requires_grad=False)
        gradients = torch.autograd.grad(outputs=d_interpolates, inputs=interpolates,
                                        grad_outputs=fake, create_graph=True, retain_graph=True,
                                        only_inputs=True)[0]
        gradients = gradients.view(gradients.size(0), -1)
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean()

    @trace
    def step(i, imgs):
        real_imgs = torch.autograd.Variable(imgs.type(Tensor))
        optimizer_D.zero_grad()
        z = torch.autograd.Variable(Tensor(np.random.normal(0, 1, (imgs.shape[0], 3))))
        fake_imgs = generator(z)
        gradient_penalty = compute_gradient_penalty(discriminator, real_imgs.data, fake_imgs.data)
        d_loss = (-torch.mean(discriminator(real_imgs)) + torch.mean(discriminator(fake_imgs))
                  + 10 * gradient_penalty)
        d_loss.backward()
        optimizer_D.step()
        optimizer_G.zero_grad()
        if i % 3 == 0:
            fake_imgs = generator(z)
            g_loss = -torch.mean(discriminator(fake_imgs))
            g_loss.backward()
            optimizer_G.step()
            print("[D loss: %f] [G loss: %f]" % (d_loss.item(), g_loss.item()))
    for i, imgs in enumerate(torch.randn(60, 8, 4)):
        step(i % 6, imgs)
        yield discriminator[0].weight, generator[0].bias


# ---- the MNIST example ---------------------------------------------------------------------------
class Net(nn.Module):
    """The MNIST example's."""

    def __init__(self):
        super().__init__()
        self.conv1, self.dropout1 = nn.Conv2d(1, 4, 3, 1), nn.Dropout(0.25)
        self.fc1, self.fc2 = nn.Linear(36, 8), nn.Linear(8, 3)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = torch.flatten(self.dropout1(x), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


@loop
def mnist(trace):
    """The step with its line of the log, and the test's with sums over batches."""
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
    args = type("Namespace", (), dict(log_interval=4, dry_run=False))()
    test_loss = correct = 0

    @trace
    def train(epoch, batch_idx, data, target):
        model.train()
        data, target = data.to("cpu"), target.to("cpu")
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print(f"Train Epoch: {epoch} [{batch_idx * len(data)}/48 "
                  f"({100. * batch_idx / 6:.0f}%)]\tLoss: {loss.item():.6f}")

    @trace
    def test(data, target):
        nonlocal test_loss, correct
        model.eval()
        with torch.no_grad():
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    for epoch in range(9):
        for batch_idx, (x, y) in enumerate(batches(*digits(48, 64), 8, 1)):
            train(epoch, batch_idx, x.view(8, 1, 8, 8), y)
            test(x.view(8, 1, 8, 8), y)
            yield test_loss, correct, model.fc2.bias
        test_loss = correct = 0


# ---- VQ-VAE --------------------------------------------------------------------------------------
class VectorQuantizerEMA(nn.Module):
    """zalandoresearch's."""

    def __init__(self, num_embeddings=6, embedding_dim=4, commitment_cost=0.25, decay=0.99):
        super().__init__()
        self._embedding_dim, self._num_embeddings = embedding_dim, num_embeddings
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.normal_()
        self._commitment_cost, self._decay, self._epsilon = commitment_cost, decay, 1e-5
        self.register_buffer("_ema_cluster_size", torch.zeros(num_embeddings))
        self._ema_w = nn.Parameter(torch.Tensor(num_embeddings, embedding_dim))
        self._ema_w.data.normal_()

    def forward(self, inputs):
        input_shape = inputs.shape
        flat_input = inputs.view(-1, self._embedding_dim)
        distances = (torch.sum(flat_input**2, dim=1, keepdim=True)
                     + torch.sum(self._embedding.weight**2, dim=1)
                     - 2 * torch.matmul(flat_input, self._embedding.weight.t()))
        encoding_indices = torch.argmin(distances, dim=1).unsqueeze(1)
        encodings = torch.zeros(encoding_indices.shape[0], self._num_embeddings)
        encodings.scatter_(1, encoding_indices, 1)
        quantized = torch.matmul(encodings, self._embedding.weight).view(input_shape)
        if self.training:
            self._ema_cluster_size = (self._ema_cluster_size * self._decay
                                      + (1 - self._decay) * torch.sum(encodings, 0))
            n = torch.sum(self._ema_cluster_size.data)
            self._ema_cluster_size = ((self._ema_cluster_size + self._epsilon)
                                      / (n + self._num_embeddings * self._epsilon) * n)
            dw = torch.matmul(encodings.t(), flat_input)
            self._ema_w = nn.Parameter(self._ema_w * self._decay + (1 - self._decay) * dw)
            self._embedding.weight = nn.Parameter(
                self._ema_w / self._ema_cluster_size.unsqueeze(1))
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        loss = self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(encodings, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return loss, quantized, perplexity


@loop
def vq_vae(trace):
    """Parameters that are made anew in forward, errors in lists of NumPy's numbers."""
    encoder, vq, decoder = nn.Linear(6, 4), VectorQuantizerEMA(), nn.Linear(4, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    train_res_recon_error, train_res_perplexity = [], collections.deque(maxlen=10)

    @trace
    def step(data):
        optimizer.zero_grad()
        vq_loss, quantized, perplexity = vq(encoder(data))
        recon_error = F.mse_loss(decoder(quantized), data) / 0.06
        loss = recon_error + vq_loss
        loss.backward()
        optimizer.step()
        train_res_recon_error.append(recon_error.item())
        train_res_perplexity.append(perplexity.item())
    for data in torch.randn(44, 8, 6):
        step(data)
        yield train_res_recon_error[-1], list(train_res_perplexity), vq._embedding.weight
