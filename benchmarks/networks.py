"""Networks of the sizes that people use, for inference: each entry makes one, and its inputs."""
import whet
from whet import nn
from whet.nn import functional as F

from .memory import resnet50


def norm(c_in, c_out, kernel=1, stride=1, groups=1):
    """A convolution that keeps the size, and its norm."""
    conv = nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(c_out))


class Added(nn.Module):
    """What a branch gives, and what came in or a shortcut of it, added."""

    def __init__(self, branch, way=None, act=None):
        super().__init__()
        self.branch, self.way, self.act = branch, way or nn.Identity(), act or nn.Identity()

    def forward(self, x):
        return self.act(self.branch(x) + self.way(x))


def resnet18():
    """ResNet-18."""
    layers, c = [norm(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for m, stride in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
        way = norm(c, m, 1, stride) if stride > 1 else None
        branch = nn.Sequential(norm(c, m, 3, stride), nn.ReLU(), norm(m, m, 3))
        layers.append(Added(branch, way, nn.ReLU()))
        c = m
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 1000))


def mobilenet_v2():
    """MobileNetV2."""
    def block(i, o, stride, wider):
        m = i * wider
        parts = [] if wider == 1 else [norm(i, m), nn.ReLU6()]
        parts += [norm(m, m, 3, stride, m), nn.ReLU6(), norm(m, o)]
        branch = nn.Sequential(*parts)
        return Added(branch) if stride == 1 and i == o else branch

    layers, c = [norm(3, 32, 3, 2), nn.ReLU6()], 32
    for wider, o, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                    (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for k in range(count):
            layers.append(block(c, o, stride if k == 0 else 1, wider))
            c = o
    layers += [norm(c, 1280), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, nn.Linear(1280, 1000))


def bert(width=384, heads=6, layers=4, words=8000, length=128):
    """An encoder of BERT's kind."""
    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, activation="gelu",
                                               batch_first=True)
            self.encoder, self.norm = nn.TransformerEncoder(layer, layers), nn.LayerNorm(width)

        def forward(self, x):
            return self.encoder(self.norm(self.words(x) + self.places.weight))
    return Bert()


class GPTBlock(nn.Module):
    """A block of GPT's kind."""

    def __init__(self, width=768, heads=12):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (z.reshape(b, t, self.heads, -1).transpose(1, 2)
                   for z in self.qkv(self.first(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.second(x))))


class Reader(nn.Module):
    """Two recurrent layers, and classes of what they end with."""

    def __init__(self, kind, width=256):
        super().__init__()
        self.net, self.out = kind(width, width, 2, batch_first=True), nn.Linear(width, 20)

    def forward(self, x):
        return self.out(self.net(x)[0][:, -1])


def perceptron():
    """A perceptron of three layers."""
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(),
                         nn.Linear(1024, 10), nn.Softmax(-1))


def image(batch=1):
    """Arguments that are images."""
    return lambda: (whet.randn(batch, 3, 224, 224),)


def rows(*sizes):
    """Arguments that are an array of floats."""
    return lambda: (whet.randn(*sizes),)


NETWORKS = {
    "ResNet-18": (resnet18, image()),
    "ResNet-50": (lambda: resnet50(nn), image()),
    "MobileNetV2": (mobilenet_v2, image()),
    "MobileNetV2, batch 8": (mobilenet_v2, image(8)),
    "BERT, 4 layers, 128 words": (bert, lambda: (whet.randint(8000, (1, 128)),)),
    "GPT block, 256 words": (GPTBlock, rows(1, 256, 768)),
    "LSTM, 32 steps, batch 1": (lambda: Reader(nn.LSTM), rows(1, 32, 256)),
    "LSTM, 32 steps, batch 16": (lambda: Reader(nn.LSTM), rows(16, 32, 256)),
    "GRU, 32 steps, batch 16": (lambda: Reader(nn.GRU), rows(16, 32, 256)),
    "perceptron, 1 row": (perceptron, rows(1, 784)),
    "perceptron, 64 rows": (perceptron, rows(64, 784)),
}


def network(name):
    """(a network in eval mode, the same at each call, its inputs); running statistics are no
    zeros and ones."""
    whet.manual_seed(0)
    make, inputs = NETWORKS[name]
    net = make().eval()
    for key, b in net.named_buffers():
        if key.endswith("running_mean"):
            b.copy_(0.1 * whet.randn_like(b))
        elif key.endswith("running_var"):
            b.copy_(0.5 + whet.rand_like(b))
    return net, inputs()
