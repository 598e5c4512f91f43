"""What both MobileNets are made of."""
from functools import partial

from whet import nn


def multiple_of_8(channels):
    """The nearest multiple of 8, but not under nine tenths of what is asked for."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near


def conv(i, o, kernel=1, stride=1, groups=1, act=nn.ReLU6, norm=nn.BatchNorm2d):
    """A convolution that keeps the size, or divides it by the stride; a norm; an activation."""
    made = nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(made, norm(o), *([act()] if act else []))


def start(module):
    """The first weights, as torchvision draws them."""
    if isinstance(module, nn.Conv2d):
        nn.init.kaiming_normal_(module.weight, mode="fan_out")
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
    if isinstance(module, nn.Conv2d | nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


# the norm of MobileNetV3
slow_norm = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
