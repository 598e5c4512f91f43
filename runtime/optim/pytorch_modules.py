"""Where PyTorch keeps its optimizers: `whet.optim.sgd` is a module in which `SGD` is."""
import sys

from . import adam, descent

_PLACES = {"adadelta": descent, "adagrad": descent, "adamax": adam, "adamw": adam, "asgd": descent,
           "nadam": adam, "radam": adam, "rmsprop": descent, "rprop": descent, "sgd": descent}

for _name, _module in _PLACES.items():
    sys.modules[f"{__package__}.{_name}"] = _module
    setattr(sys.modules[__package__], _name, _module)
