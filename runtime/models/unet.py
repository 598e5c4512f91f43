"""A U-Net (Ronneberger et al., 2015), padded and with batch norms, with the keys of milesial's
Pytorch-UNet: `down1.maxpool_conv.1.double_conv.0.weight`."""
from whet import cat, nn
from whet.nn import functional as F


class DoubleConv(nn.Module):
    """Twice a 3x3 convolution, a norm and a ReLU."""

    def __init__(self, i, o, mid=None):
        super().__init__()
        mid = mid or o
        self.double_conv = nn.Sequential(
            nn.Conv2d(i, mid, 3, padding=1, bias=False), nn.BatchNorm2d(mid), nn.ReLU(),
            nn.Conv2d(mid, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    """Half the size, then two convolutions."""

    def __init__(self, i, o):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(i, o))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    """Twice the size, and what was there on the way down beside it, then two convolutions."""

    def __init__(self, i, o, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
            self.conv = DoubleConv(i, o, i // 2)
        else:
            self.up, self.conv = nn.ConvTranspose2d(i, i // 2, 2, 2), DoubleConv(i, o)

    def forward(self, x, before):
        x = self.up(x)
        high, wide = before.shape[2] - x.shape[2], before.shape[3] - x.shape[3]
        x = F.pad(x, (wide // 2, wide - wide // 2, high // 2, high - high // 2))
        return self.conv(cat([before, x], 1))


class UNet(nn.Module):
    """Four levels down and up again, and classes of each pixel.

    >>> import whet
    >>> model = whet.models.UNet(n_channels=3, n_classes=2, width=4)
    >>> model(whet.randn(1, 3, 32, 32)).shape
    whet.Size([1, 2, 32, 32])
    """

    def __init__(self, n_channels=3, n_classes=2, bilinear=False, width=64):
        super().__init__()
        w, half = width, 2 if bilinear else 1
        self.inc = DoubleConv(n_channels, w)
        self.down1, self.down2 = Down(w, 2 * w), Down(2 * w, 4 * w)
        self.down3, self.down4 = Down(4 * w, 8 * w), Down(8 * w, 16 * w // half)
        self.up1 = Up(16 * w, 8 * w // half, bilinear)
        self.up2 = Up(8 * w, 4 * w // half, bilinear)
        self.up3 = Up(4 * w, 2 * w // half, bilinear)
        self.up4 = Up(2 * w, w, bilinear)
        self.outc = OutConv(w, n_classes)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        x4 = self.down3(x3)
        x = self.up1(self.down4(x4), x4)
        return self.outc(self.up4(self.up3(self.up2(x, x3), x2), x1))


class OutConv(nn.Module):
    """Classes of each pixel's channels."""

    def __init__(self, i, o):
        super().__init__()
        self.conv = nn.Conv2d(i, o, 1)

    def forward(self, x):
        return self.conv(x)
