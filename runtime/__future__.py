"""How modules are converted: what later versions of PyTorch may do by themselves.

    >>> import whet
    >>> whet.__future__.get_swap_module_params_on_conversion()
    False
"""
from .autograd import modes

__all__ = ["get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
           "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion"]

_overwrites = _swaps = False


def set_overwrite_module_params_on_conversion(value):
    """Do `Module.to`, `.half()` and their like give a module new parameters, and leave those that
    it has as they are?"""
    global _overwrites
    modes.beyond("it sets how modules are converted")
    _overwrites = value


def get_overwrite_module_params_on_conversion():
    """See `set_overwrite_module_params_on_conversion`."""
    return modes.read(lambda: _overwrites)


def set_swap_module_params_on_conversion(value):
    """Do `Module.to`, `.half()` and their like, and `load_state_dict`, exchange what parameters
    are with new ones (`utils.swap_tensors`)? They give them new memory (`p.data = ...`) or copy
    into theirs, as a rule. This goes before `set_overwrite_module_params_on_conversion`."""
    global _swaps
    modes.beyond("it sets how modules are converted")
    _swaps = value


def get_swap_module_params_on_conversion():
    """See `set_swap_module_params_on_conversion`."""
    return modes.read(lambda: _swaps)
