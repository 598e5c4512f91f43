"""Networks of the sizes that people use, for inference: each entry makes one, and its inputs."""
import whet
from whet import models, nn
from whet.nn import functional as F


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
    "ResNet-18": (models.resnet18, image()),
    "ResNet-50": (models.resnet50, image()),
    "MobileNetV2": (models.mobilenet_v2, image()),
    "MobileNetV2, batch 8": (models.mobilenet_v2, image(8)),
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
