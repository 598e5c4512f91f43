"""MobileNetV3 (Howard et al., 2019), with torchvision's keys: `features.4.block.2.fc1.weight`."""
from whet import nn
from whet.nn import functional as F

from .mobile_parts import conv, multiple_of_8, slow_norm, start

RE, HS = nn.ReLU, nn.Hardswish
# of each block: kernel, channels inside, channels, whether channels are weighed, activation, stride
LARGE = (
    (3, 16, 16, False, RE, 1), (3, 64, 24, False, RE, 2), (3, 72, 24, False, RE, 1),
    (5, 72, 40, True, RE, 2), (5, 120, 40, True, RE, 1), (5, 120, 40, True, RE, 1),
    (3, 240, 80, False, HS, 2), (3, 200, 80, False, HS, 1), (3, 184, 80, False, HS, 1),
    (3, 184, 80, False, HS, 1), (3, 480, 112, True, HS, 1), (3, 672, 112, True, HS, 1),
    (5, 672, 160, True, HS, 2), (5, 960, 160, True, HS, 1), (5, 960, 160, True, HS, 1))
SMALL = (
    (3, 16, 16, True, RE, 2), (3, 72, 24, False, RE, 2), (3, 88, 24, False, RE, 1),
    (5, 96, 40, True, HS, 2), (5, 240, 40, True, HS, 1), (5, 240, 40, True, HS, 1),
    (5, 120, 48, True, HS, 1), (5, 144, 48, True, HS, 1), (5, 288, 96, True, HS, 2),
    (5, 576, 96, True, HS, 1), (5, 576, 96, True, HS, 1))


class SqueezeExcitation(nn.Module):
    """Channels are weighed by what all of the image says."""

    def __init__(self, channels):
        super().__init__()
        few = multiple_of_8(channels // 4)
        self.fc1, self.fc2 = nn.Conv2d(channels, few, 1), nn.Conv2d(few, channels, 1)

    def forward(self, x):
        s = F.adaptive_avg_pool2d(x, 1)
        return x * F.hardsigmoid(self.fc2(F.relu(self.fc1(s))))


class InvertedResidual(nn.Module):
    """Widen, look around in each channel alone, weigh, narrow; added where that fits."""

    def __init__(self, i, kernel, mid, o, weighed, act, stride):
        super().__init__()
        widen = [conv(i, mid, act=act, norm=slow_norm)] if mid != i else []
        weigh = [SqueezeExcitation(mid)] if weighed else []
        self.block = nn.Sequential(
            *widen, conv(mid, mid, kernel, stride, mid, act, slow_norm), *weigh,
            conv(mid, o, act=None, norm=slow_norm))
        self.adds = stride == 1 and i == o

    def forward(self, x):
        return x + self.block(x) if self.adds else self.block(x)


class MobileNetV3(nn.Module):
    """Blocks as a table says, then two linear layers; `width_mult` scales all channels.

    >>> import whet
    >>> from whet.models.mobilenet_v3 import SMALL
    >>> model = whet.models.MobileNetV3(SMALL, 1024, num_classes=10, width_mult=0.5).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """

    def __init__(self, blocks, last, num_classes=1000, width_mult=1.0, dropout=0.2):
        super().__init__()
        def scaled(channels):
            return multiple_of_8(channels * width_mult)
        i, last = scaled(16), scaled(last)
        layers = [conv(3, i, 3, 2, act=HS, norm=slow_norm)]
        for kernel, mid, o, weighed, act, stride in blocks:
            layers.append(
                InvertedResidual(i, kernel, scaled(mid), scaled(o), weighed, act, stride))
            i = scaled(o)
        self.features = nn.Sequential(*layers, conv(i, 6 * i, act=HS, norm=slow_norm))
        self.classifier = nn.Sequential(
            nn.Linear(6 * i, last), nn.Hardswish(), nn.Dropout(dropout),
            nn.Linear(last, num_classes))
        self.apply(start)

    def forward(self, x):
        return self.classifier(F.adaptive_avg_pool2d(self.features(x), 1).flatten(1))


def mobilenet_v3_large(num_classes=1000, width_mult=1.0):
    """MobileNetV3, large: 5.5 million parameters.

    >>> import whet
    >>> model = whet.models.mobilenet_v3_large(num_classes=10, width_mult=0.25).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return MobileNetV3(LARGE, 1280, num_classes, width_mult)


def mobilenet_v3_small(num_classes=1000, width_mult=1.0):
    """MobileNetV3, small: 2.5 million parameters.

    >>> import whet
    >>> model = whet.models.mobilenet_v3_small(num_classes=10, width_mult=0.25).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return MobileNetV3(SMALL, 1024, num_classes, width_mult)
