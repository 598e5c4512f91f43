"""Models of images: convolutions, norms, pools, attention over patches."""

import whet
import whet.nn.functional as F
from whet import models as known
from whet import nn

from tests.export import models

from .entry import Entry, image, rows


def conv(i, o, kernel=3, stride=1, groups=1, act=nn.ReLU, dilation=1):
    """A convolution that keeps the size, a norm and an activation."""
    padding = dilation * (kernel - 1) // 2
    made = nn.Conv2d(i, o, kernel, stride, padding, dilation, groups, bias=False)
    return nn.Sequential(made, nn.BatchNorm2d(o), *([act()] if act else []))


def head(channels, classes=10):
    """Classes of the mean of an image."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Added(nn.Module):
    """What a branch gives, added to what came in, or to a shortcut of that."""

    def __init__(self, branch, shortcut=None, act=None):
        super().__init__()
        self.branch, self.shortcut = branch, shortcut or nn.Identity()
        self.act = act or nn.Identity()

    def forward(self, x):
        return self.act(self.branch(x) + self.shortcut(x))


class Beside(nn.Module):
    """What several branches give, one after the other in the channels."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return whet.cat([b(x) for b in self.branches], 1)


def mobilenet_v1():
    layers, i = [conv(3, 16, stride=2)], 16
    for o, stride in ((32, 1), (64, 2), (64, 1), (128, 2)):
        layers += [conv(i, i, 3, stride, i), conv(i, o, 1)]
        i = o
    return nn.Sequential(*layers, head(i))


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84),
        nn.Tanh(), nn.Linear(84, 10))


def alexnet():
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, 2, 2), nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(),
        nn.Linear(32 * 9, 64), nn.ReLU(), nn.Linear(64, 10))


def fire(i, squeeze, expand):
    wide = [nn.Sequential(nn.Conv2d(squeeze, expand, k, padding=k // 2), nn.ReLU()) for k in (1, 3)]
    return nn.Sequential(nn.Conv2d(i, squeeze, 1), nn.ReLU(), Beside(*wide))


def squeezenet():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), fire(16, 8, 16),
        fire(32, 8, 16), nn.MaxPool2d(3, 2, ceil_mode=True), fire(32, 12, 24), nn.Conv2d(48, 10, 1),
        nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def densenet():
    layers, i = [conv(3, 16)], 16
    for k in range(2):
        for _ in range(3):
            layers.append(Beside(nn.Identity(), nn.Sequential(
                nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, 8, 3, padding=1, bias=False))))
            i += 8
        if not k:
            layers += [nn.BatchNorm2d(i), nn.ReLU(), nn.Conv2d(i, i // 2, 1), nn.AvgPool2d(2)]
            i //= 2
    return nn.Sequential(*layers, head(i))


def inception():
    block = Beside(
        conv(16, 8, 1), nn.Sequential(conv(16, 8, 1), conv(8, 16, 3)),
        nn.Sequential(conv(16, 4, 1), conv(4, 8, 5)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(16, 8, 1)))
    return nn.Sequential(conv(3, 16, stride=2), block, nn.MaxPool2d(2), head(40))


class Excited(nn.Module):
    """Channels are weighed by what all of the image says."""

    def __init__(self, channels):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, 4, 1), nn.Conv2d(4, channels, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * self.up(F.silu(self.down(s))).sigmoid()


def efficientnet():
    def block(i, o, stride):
        mid = 4 * i
        branch = nn.Sequential(
            conv(i, mid, 1, act=nn.SiLU), conv(mid, mid, 5, stride, mid, nn.SiLU), Excited(mid),
            conv(mid, o, 1, act=None))
        return Added(branch) if stride == 1 and i == o else branch

    return nn.Sequential(
        conv(3, 16, stride=2, act=nn.SiLU), block(16, 16, 1), block(16, 24, 2), block(24, 24, 1),
        conv(24, 64, 1, act=nn.SiLU), head(64))


class Shuffled(nn.Module):
    """Half of the channels go through, and then all are mixed."""

    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.branch = nn.Sequential(
            conv(half, half, 1), conv(half, half, 3, 1, half, None), conv(half, half, 1))
        self.mix = nn.ChannelShuffle(2)

    def forward(self, x):
        a, b = x.chunk(2, 1)
        return self.mix(whet.cat([a, self.branch(b)], 1))


class Channels(nn.Module):
    """A norm over the channels of each place."""

    def __init__(self, channels):
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x):
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def convnext():
    def block(c):
        return Added(nn.Sequential(
            nn.Conv2d(c, c, 7, padding=3, groups=c), Channels(c), nn.Conv2d(c, 4 * c, 1), nn.GELU(),
            nn.Conv2d(4 * c, c, 1)))

    return nn.Sequential(
        nn.Conv2d(3, 24, 4, 4), Channels(24), block(24), Channels(24), nn.Conv2d(24, 48, 2, 2),
        block(48), head(48))


class Segmenter(nn.Module):
    """Classes of each pixel, from two resolutions."""

    def __init__(self):
        super().__init__()
        self.stem, self.down = conv(3, 16), conv(16, 32, stride=2)
        self.wide = Beside(*[conv(32, 8, 3, dilation=d) for d in (1, 2, 4)])
        self.out, self.skip = nn.Conv2d(24, 5, 1), nn.Conv2d(16, 5, 1)

    def forward(self, x):
        a = self.stem(x)
        y = self.out(self.wide(self.down(a)))
        y = F.interpolate(y, scale_factor=2.0, mode="bilinear", align_corners=False)
        return y + self.skip(a)


def super_resolution():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.Tanh(), nn.Conv2d(16, 8, 3, padding=1), nn.Tanh(),
        nn.Conv2d(8, 9, 3, padding=1), nn.PixelShuffle(3))


class Mixer(nn.Module):
    """Patches are mixed by perceptrons across places and across channels."""

    def __init__(self, width=24, places=16):
        super().__init__()
        self.patches, self.norms = nn.Conv2d(3, width, 4, 4), nn.ModuleList(
            [nn.LayerNorm(width) for _ in range(2)])
        self.across = nn.Sequential(nn.Linear(places, 32), nn.GELU(), nn.Linear(32, places))
        self.within = nn.Sequential(nn.Linear(width, 48), nn.GELU(), nn.Linear(48, width))
        self.head = nn.Linear(width, 10)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = x + self.across(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        x = x + self.within(self.norms[1](x))
        return self.head(x.mean(1))


def video():
    return nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d(2),
        nn.Conv3d(8, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 5))


def digits():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))


MODELS = {
    "digits": Entry(digits, image(1, 8, 8)),
    "lenet": Entry(lenet, image(1, 28, 28)),
    "alexnet": Entry(alexnet, image(3, 32, 32)),
    "vgg": Entry(lambda: known.vgg11(10, width=8), image(3, 32, 32)),
    "resnet18": Entry(lambda: known.resnet18(10, width=16), image(3, 32, 32)),
    "resnet50": Entry(known.resnet50, image(3, 64, 64)),
    "mobilenet": Entry(mobilenet_v1, image(3, 32, 32)),
    "mobilenet_v2": Entry(lambda: known.mobilenet_v2(10, 0.25), image(3, 32, 32)),
    "squeezenet": Entry(squeezenet, image(3, 32, 32)),
    "densenet": Entry(densenet, image(3, 16, 16)),
    "inception": Entry(inception, image(3, 32, 32)),
    "efficientnet": Entry(efficientnet, image(3, 32, 32)),
    "shufflenet": Entry(
        lambda: nn.Sequential(conv(3, 16, stride=2), Shuffled(16), Shuffled(16), head(16)),
        image(3, 16, 16)),
    "convnext": Entry(convnext, image(3, 32, 32)),
    "segmenter": Entry(Segmenter, image(3, 16, 16)),
    "unet": Entry(lambda: known.UNet(1, 1, width=4), image(1, 16, 16)),
    "super_resolution": Entry(super_resolution, image(1, 12, 12)),
    "vit": Entry(lambda: known.VisionTransformer(16, 4, 3, 10, 32, 2, 4), image(3, 16, 16)),
    "mixer": Entry(Mixer, image(3, 16, 16)),
    "video": Entry(video, image(1, 8, 12, 12)),
    "perceptron": Entry(lambda: models.made()["perceptron"][0], rows(5)),
}
