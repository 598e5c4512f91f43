"""Models that generate, and models of tables, graphs, sets and fields."""

import math

import whet
import whet.nn.functional as F
from whet import nn

from .entry import Entry, image, rows


class VAE(nn.Module):
    """What it makes of the mean, the mean itself, and the spread."""

    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 8))
        self.decode = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64))

    def forward(self, x):
        mean, spread = self.encode(x).chunk(2, -1)
        return self.decode(mean).sigmoid(), mean, (0.5 * spread).exp()


def generator():
    return nn.Sequential(
        nn.Unflatten(1, (8, 1, 1)), nn.ConvTranspose2d(8, 16, 4), nn.BatchNorm2d(16), nn.ReLU(),
        nn.ConvTranspose2d(16, 8, 4, 2, 1), nn.BatchNorm2d(8), nn.ReLU(),
        nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())


def discriminator():
    return nn.Sequential(
        nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1),
        nn.InstanceNorm2d(16, affine=True), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(256, 1))


def autoencoder():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, 2, 1), nn.ELU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ELU(),
        nn.ConvTranspose2d(16, 8, 3, 2, 1, 1), nn.ELU(), nn.ConvTranspose2d(8, 1, 3, 2, 1, 1),
        nn.Sigmoid())


class Diffusion(nn.Module):
    """What to take away from an image at a time, which the net is told."""

    def __init__(self, width=16):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.first, self.out = nn.Conv2d(1, width, 3, padding=1), nn.Conv2d(width, 1, 3, padding=1)
        self.norm, self.middle = nn.GroupNorm(4, width), nn.Conv2d(width, width, 3, padding=1)
        self.register_buffer("waves", whet.exp(-math.log(1e4) * whet.arange(width / 2) / width))

    def forward(self, image, time):
        angles = time[:, None] * self.waves
        t = self.time(whet.cat([angles.sin(), angles.cos()], -1))
        x = self.first(image)
        x = x + self.middle(F.silu(self.norm(x) + t[:, :, None, None]))
        return self.out(x)


class Coupling(nn.Module):
    """Half of the numbers say how the other half is scaled and moved; and by how much in all."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList([
            nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 6)) for _ in range(3)])

    def forward(self, x):
        a, b = x.chunk(2, -1)
        total = 0.0
        for net in self.nets:
            scale, move = net(a).chunk(2, -1)
            scale = scale.tanh()
            a, b = b * scale.exp() + move, a
            total = total + scale.sum(-1)
        return whet.cat([a, b], -1), total


class PixelCNN(nn.Module):
    """Convolutions that see what is above and to the left."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 8, 5, padding=2), nn.Conv2d(8, 4, 1)
        mask = whet.ones(5, 5)
        mask[2, 2:] = 0
        mask[3:] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        y = F.conv2d(x, self.first.weight * self.mask, self.first.bias, padding=2)
        return self.second(y.relu())


class Quantised(nn.Module):
    """Vectors become the nearest ones of a table."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(12, 4), nn.Linear(4, 12)
        self.table = nn.Embedding(10, 4)

    def forward(self, x):
        h = self.encode(x)
        distances = (h[:, None] - self.table.weight).square().sum(-1)
        which = distances.argmin(-1)
        return self.decode(self.table(which)), which


class DLRM(nn.Module):
    """Numbers and categories, and the products of all pairs of them."""

    def __init__(self):
        super().__init__()
        self.dense = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.tables = nn.ModuleList([nn.Embedding(n, 8) for n in (10, 20, 30)])
        self.top = nn.Sequential(nn.Linear(8 + 16, 16), nn.ReLU(), nn.Linear(16, 1), nn.Sigmoid())

    def forward(self, numbers, categories):
        x = self.dense(numbers)
        found = [t(categories[:, i]) for i, t in enumerate(self.tables)]
        all_of_them = whet.stack([x, *found], 1)
        products = all_of_them @ all_of_them.transpose(1, 2)
        return self.top(whet.cat([x, products.flatten(1)], 1))


class WideAndDeep(nn.Module):
    """A line beside a perceptron."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(12, 2)
        self.deep = nn.Sequential(nn.Linear(12, 24), nn.PReLU(), nn.LayerNorm(24), nn.Linear(24, 2))

    def forward(self, x):
        return F.log_softmax(self.wide(x) + self.deep(x), -1)


class Graph(nn.Module):
    """Two rounds over a graph that is given as a matrix."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 16), nn.Linear(16, 3)

    def forward(self, features, edges):
        degree = edges.sum(-1, keepdim=True).clamp(min=1.0)
        x = (edges @ self.first(features) / degree).relu()
        return (edges @ self.second(x) / degree).amax(1)


class DeepSets(nn.Module):
    """The same for any order of what is in a set."""

    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(3, 16), nn.Softplus(), nn.Linear(16, 16))
        self.all = nn.Sequential(nn.Linear(48, 16), nn.Mish(), nn.Linear(16, 2))

    def forward(self, x):
        h = self.each(x)
        return self.all(whet.cat([h.sum(1), h.mean(1), h.amax(1)], -1))


class Siamese(nn.Module):
    """How alike two images are."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2), nn.Hardswish(), nn.Flatten(), nn.Linear(8 * 9, 16))

    def forward(self, a, b):
        return F.cosine_similarity(F.normalize(self.net(a), dim=1), self.net(b), dim=1)


class Experts(nn.Module):
    """Several perceptrons, weighed by a gate."""

    def __init__(self, count=3):
        super().__init__()
        self.gate = nn.Linear(8, count)
        self.up = nn.Parameter(0.3 * whet.randn(count, 8, 16))
        self.down = nn.Parameter(0.3 * whet.randn(count, 16, 8))

    def forward(self, x):
        h = F.gelu(whet.einsum("bc,ecd->bed", x, self.up), approximate="tanh")
        y = whet.einsum("bed,edc->bec", h, self.down)
        return (self.gate(x).softmax(-1)[..., None] * y).sum(1)


class Field(nn.Module):
    """Colour and density at places in space, of waves of several lengths."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(27, 32), nn.ReLU(), nn.Linear(32, 4))
        self.register_buffer("waves", 2.0 ** whet.arange(4.0))

    def forward(self, places):
        angles = (places[..., None] * self.waves).flatten(-2)
        y = self.net(whet.cat([places, angles.sin(), angles.cos()], -1))
        return y[..., :3].sigmoid(), F.softplus(y[..., 3])


class Sine(nn.Module):
    """A perceptron of sines."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 1)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = (5.0 * layer(x)).sin()
        return self.layers[-1](x)


def numbers_and_categories(batch):
    return [whet.randn(batch, 6), whet.randint(10, (batch, 3))]


def graph(batch):
    return [whet.randn(batch, 7, 5), (whet.rand(batch, 7, 7) > 0.5).float()]


MODELS = {
    "vae": Entry(VAE, rows(64)),
    "gan_generator": Entry(generator, rows(8)),
    "gan_discriminator": Entry(discriminator, image(1, 16, 16)),
    "autoencoder": Entry(autoencoder, image(1, 16, 16)),
    "diffusion": Entry(Diffusion, lambda n: [whet.randn(n, 1, 8, 8), whet.rand(n)]),
    "flow": Entry(Coupling, rows(6)),
    "pixelcnn": Entry(PixelCNN, image(1, 9, 9)),
    "vector_quantiser": Entry(Quantised, rows(12)),
    "dlrm": Entry(DLRM, numbers_and_categories),
    "wide_and_deep": Entry(WideAndDeep, rows(12)),
    "graph": Entry(Graph, graph),
    "deep_sets": Entry(DeepSets, rows(6, 3)),
    "siamese": Entry(Siamese, lambda n: [whet.randn(n, 1, 8, 8), whet.randn(n, 1, 8, 8)]),
    "experts": Entry(Experts, rows(8)),
    "radiance_field": Entry(Field, rows(5, 3)),
    "sines": Entry(Sine, rows(2)),
}
