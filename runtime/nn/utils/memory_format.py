"""How the weights of convolutions lie in memory."""
from ..conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d


def _laid(module, kinds, memory_format):
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone().contiguous(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module, memory_format):
    """Lay the weights of all two-dimensional convolutions of a module so; the module.

    >>> import whet
    >>> layer = whet.nn.utils.convert_conv2d_weight_memory_format(
    ...     whet.nn.Conv2d(4, 2, 3), whet.channels_last)
    >>> layer.weight.is_contiguous(memory_format=whet.channels_last)
    True
    """
    return _laid(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module, memory_format):
    """Lay the weights of all three-dimensional convolutions of a module so; the module.

    >>> import whet
    >>> model = whet.nn.Sequential(whet.nn.Conv3d(2, 4, 3))
    >>> model = whet.nn.utils.convert_conv3d_weight_memory_format(model, whet.channels_last_3d)
    >>> model[0].weight.is_contiguous(memory_format=whet.channels_last_3d)
    True
    """
    return _laid(module, (Conv3d, ConvTranspose3d), memory_format)
