"""MobileNetV2 (Sandler et al., 2018), with torchvision's keys: `features.2.conv.1.0.weight`."""
from whet import nn
from whet.nn import functional as F

from .mobile_parts import conv, multiple_of_8, start

# how much wider blocks are inside, their channels, how many there are, the stride of the first
STAGES = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
    (6, 320, 1, 1))


class InvertedResidual(nn.Module):
    """Widen, look around in each channel alone, narrow; added to what came in, where that fits."""

    def __init__(self, i, o, stride, expand):
        super().__init__()
        mid = i * expand
        widen = [conv(i, mid)] if expand > 1 else []
        self.conv = nn.Sequential(*widen, conv(mid, mid, 3, stride, mid),
                                  nn.Conv2d(mid, o, 1, bias=False), nn.BatchNorm2d(o))
        self.adds = stride == 1 and i == o

    def forward(self, x):
        return x + self.conv(x) if self.adds else self.conv(x)


class MobileNetV2(nn.Module):
    """Seven stages of inverted residuals; `width_mult` scales all channels.

    >>> import whet
    >>> model = whet.models.MobileNetV2(num_classes=10, width_mult=0.25).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """

    def __init__(self, num_classes=1000, width_mult=1.0, dropout=0.2):
        super().__init__()
        i, last = multiple_of_8(32 * width_mult), multiple_of_8(1280 * max(1.0, width_mult))
        layers = [conv(3, i, 3, 2)]
        for expand, channels, count, stride in STAGES:
            o = multiple_of_8(channels * width_mult)
            for k in range(count):
                layers.append(InvertedResidual(i, o, stride if k == 0 else 1, expand))
                i = o
        self.features = nn.Sequential(*layers, conv(i, last))
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, num_classes))
        self.apply(start)

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


def mobilenet_v2(num_classes=1000, width_mult=1.0):
    """MobileNetV2: 3.5 million parameters.

    >>> import whet
    >>> model = whet.models.mobilenet_v2(num_classes=10, width_mult=0.25).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return MobileNetV2(num_classes, width_mult)
