"""Residual networks (He et al., 2015), with torchvision's keys: `layer3.0.downsample.1.weight`.

The stride of a bottleneck is in its 3x3 convolution, as torchvision has it.
"""
from whet import nn
from whet.nn import functional as F


def conv(i, o, kernel, stride=1):
    """A convolution that keeps the size, or divides it by the stride; a norm follows."""
    return nn.Conv2d(i, o, kernel, stride, kernel // 2, bias=False)


def shortcut(i, o, stride):
    """What came in, in the form of what a block gives; None where it has that form."""
    if i == o and stride == 1:
        return None
    return nn.Sequential(conv(i, o, 1, stride), nn.BatchNorm2d(o))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, added to what came in.

    >>> import whet
    >>> block = whet.models.BasicBlock(64, 64)
    >>> block(whet.randn(1, 64, 8, 8)).shape
    whet.Size([1, 64, 8, 8])
    """
    expansion = 1

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1, self.bn1 = conv(inplanes, planes, 3, stride), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = conv(planes, planes, 3), nn.BatchNorm2d(planes)
        self.downsample = shortcut(inplanes, planes, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class Bottleneck(nn.Module):
    """A 3x3 convolution of few channels between two of 1x1, added to what came in.

    >>> import whet
    >>> block = whet.models.Bottleneck(64, 16)
    >>> block(whet.randn(1, 64, 8, 8)).shape
    whet.Size([1, 64, 8, 8])
    """
    expansion = 4

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1, self.bn1 = conv(inplanes, planes, 1), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = conv(planes, planes, 3, stride), nn.BatchNorm2d(planes)
        self.conv3, self.bn3 = conv(planes, 4 * planes, 1), nn.BatchNorm2d(4 * planes)
        self.downsample = shortcut(inplanes, 4 * planes, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    """Four stages of `layers` blocks each; every stage has twice the channels, half the size.

    >>> import whet
    >>> model = whet.models.ResNet(whet.models.BasicBlock, [1, 1, 1, 1], num_classes=10, width=8)
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """

    def __init__(self, block, layers, num_classes=1000, width=64):
        super().__init__()
        self.conv1, self.bn1 = conv(3, width, 7, 2), nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        planes, channels = width, width
        for i, count in enumerate(layers, 1):
            blocks = []
            for k in range(count):
                blocks.append(block(channels, planes, 2 if i > 1 and k == 0 else 1))
                channels = planes * block.expansion
            setattr(self, f"layer{i}", nn.Sequential(*blocks))
            planes *= 2
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d(1), nn.Linear(channels, num_classes)
        self.apply(start)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def start(module):
    """Weights of convolutions that keep the size of gradients."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")


def resnet18(num_classes=1000, width=64):
    """ResNet-18: 11.7 million parameters.

    >>> import whet
    >>> model = whet.models.resnet18(num_classes=10, width=4).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return ResNet(BasicBlock, [2, 2, 2, 2], num_classes, width)


def resnet34(num_classes=1000, width=64):
    """ResNet-34: 21.8 million parameters.

    >>> import whet
    >>> model = whet.models.resnet34(num_classes=10, width=4).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return ResNet(BasicBlock, [3, 4, 6, 3], num_classes, width)


def resnet50(num_classes=1000, width=64):
    """ResNet-50: 25.6 million parameters.

    >>> import whet
    >>> model = whet.models.resnet50(num_classes=10, width=4).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return ResNet(Bottleneck, [3, 4, 6, 3], num_classes, width)


def resnet101(num_classes=1000, width=64):
    """ResNet-101: 44.5 million parameters.

    >>> import whet
    >>> model = whet.models.resnet101(num_classes=10, width=4).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return ResNet(Bottleneck, [3, 4, 23, 3], num_classes, width)


def resnet152(num_classes=1000, width=64):
    """ResNet-152: 60.2 million parameters.

    >>> import whet
    >>> model = whet.models.resnet152(num_classes=10, width=4).eval()
    >>> model(whet.randn(2, 3, 32, 32)).shape
    whet.Size([2, 10])
    """
    return ResNet(Bottleneck, [3, 8, 36, 3], num_classes, width)
