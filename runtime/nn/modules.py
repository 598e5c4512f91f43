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

# What PyTorch has beside its activations and helpers, and whet elsewhere.
_ALSO = {
    "activation": ("transformer", "MultiheadAttention"),
    "utils": ("state", "consume_prefix_in_state_dict_if_present")}

__path__: list = []                     # lets the places be imported as submodules
for _name, _place in _PLACES.items():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = importlib.import_module(
        f"..{_place}", __name__)
for _name, (_place, _what) in _ALSO.items():
    setattr(globals()[_name], _what, getattr(
        importlib.import_module(f"..{_place}", __name__), _what))


def __getattr__(name):
    return getattr(sys.modules[__name__.rpartition(".")[0]], name)
