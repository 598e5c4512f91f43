"""VGG (Simonyan and Zisserman, 2014), with torchvision's keys: `features.0.weight`."""
from whet import nn

# 3x3 convolutions in each of five stages; a pool ends a stage
COUNTS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


def features(counts, batch_norm, width):
    """The stages, of `width` to eight times as many channels."""
    layers, i = [], 3
    for stage, count in enumerate(counts):
        o = width * min(2 ** stage, 8)
        for _ in range(count):
            layers.append(nn.Conv2d(i, o, 3, padding=1))
            layers += [nn.BatchNorm2d(o)] if batch_norm else []
            layers.append(nn.ReLU())
            i = o
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers)


class VGG(nn.Module):
    """Five stages of 3x3 convolutions, then three linear layers.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.VGG([1, 1, 2, 2, 2], num_classes=10, width=8)
    >>> sum(isinstance(m, whet.nn.Conv2d) for m in model.modules())
    8
    """

    def __init__(self, counts, batch_norm=False, num_classes=1000, dropout=0.5, width=64):
        super().__init__()
        self.features = features(counts, batch_norm, width)
        self.avgpool = nn.AdaptiveAvgPool2d(7)
        wide = 64 * width
        self.classifier = nn.Sequential(
            nn.Linear(8 * width * 7 * 7, wide), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(wide, wide), nn.ReLU(), nn.Dropout(dropout), nn.Linear(wide, num_classes))
        self.apply(start)

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def start(module):
    """The first weights, as torchvision draws them."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
        nn.init.zeros_(module.bias)


def vgg11(num_classes=1000, width=64):
    """VGG of 8 convolutions and 3 linear layers.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg11()
    >>> sum(p.numel() for p in model.parameters())
    132863336
    """
    return VGG(COUNTS[11], batch_norm=False, num_classes=num_classes, width=width)


def vgg13(num_classes=1000, width=64):
    """VGG of 10 convolutions and 3 linear layers.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg13()
    >>> sum(p.numel() for p in model.parameters())
    133047848
    """
    return VGG(COUNTS[13], batch_norm=False, num_classes=num_classes, width=width)


def vgg16(num_classes=1000, width=64):
    """VGG of 13 convolutions and 3 linear layers.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg16()
    >>> sum(p.numel() for p in model.parameters())
    138357544
    """
    return VGG(COUNTS[16], batch_norm=False, num_classes=num_classes, width=width)


def vgg19(num_classes=1000, width=64):
    """VGG of 16 convolutions and 3 linear layers.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg19()
    >>> sum(p.numel() for p in model.parameters())
    143667240
    """
    return VGG(COUNTS[19], batch_norm=False, num_classes=num_classes, width=width)


def vgg11_bn(num_classes=1000, width=64):
    """`vgg11` with a batch norm after each convolution.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg11_bn()
    >>> sum(p.numel() for p in model.parameters())
    132868840
    """
    return VGG(COUNTS[11], batch_norm=True, num_classes=num_classes, width=width)


def vgg13_bn(num_classes=1000, width=64):
    """`vgg13` with a batch norm after each convolution.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg13_bn()
    >>> sum(p.numel() for p in model.parameters())
    133053736
    """
    return VGG(COUNTS[13], batch_norm=True, num_classes=num_classes, width=width)


def vgg16_bn(num_classes=1000, width=64):
    """`vgg16` with a batch norm after each convolution.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg16_bn()
    >>> sum(p.numel() for p in model.parameters())
    138365992
    """
    return VGG(COUNTS[16], batch_norm=True, num_classes=num_classes, width=width)


def vgg19_bn(num_classes=1000, width=64):
    """`vgg19` with a batch norm after each convolution.

    >>> import whet
    >>> with whet.device("meta"):                # no memory, and no numbers drawn
    ...     model = whet.models.vgg19_bn()
    >>> sum(p.numel() for p in model.parameters())
    143678248
    """
    return VGG(COUNTS[19], batch_norm=True, num_classes=num_classes, width=width)
