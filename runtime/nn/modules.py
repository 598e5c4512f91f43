"""Where PyTorch keeps its layers: `whet.nn.modules.conv` is `whet.nn.conv`,
`whet.nn.modules.batchnorm` is `whet.nn.norm`."""
import importlib
import sys

_PLACES = {
    "activation": "activation", "adaptive": "adaptive", "batchnorm": "norm",
    "channelshuffle": "shape", "container": "containers", "conv": "conv", "distance": "shape",
    "dropout": "dropout", "flatten": "shape", "fold": "shape", "instancenorm": "norm",
    "lazy": "lazy", "linear": "linear", "loss": "loss",
    "module": "module", "normalization": "norm", "padding": "padding", "pixelshuffle": "shape",
    "pooling": "pooling", "rnn": "rnn", "sparse": "sparse", "transformer": "transformer",
    "upsampling": "shape", "utils": "tuples"}

# What PyTorch has beside its activations, and whet beside the transformer.
_ALSO = {"activation": ("MultiheadAttention",)}

__path__: list = []                     # lets the places be imported as submodules
for _name, _place in _PLACES.items():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = importlib.import_module(
        f"..{_place}", __name__)
for _name, _classes in _ALSO.items():
    for _class in _classes:
        setattr(globals()[_name], _class, getattr(globals()["transformer"], _class))


def __getattr__(name):
    return getattr(sys.modules[__name__.rpartition(".")[0]], name)
