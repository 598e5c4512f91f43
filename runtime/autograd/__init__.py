"""Reverse-mode differentiation: `backward`, `grad`, `Function`, modes, hooks, checks.

Input: a tensor that ops have made. Each op left a node behind (`node.py`).
Output: gradients of leaves, or of inputs that are asked for (`engine.py`).
It is an error where a saved tensor was written to, or a graph is gone through a second time.

`inplace.py` says what a write does to histories. `function.py` has ops of the user's own.
`levels.py` has what `vmap` and forward mode are made of.
"""
from . import modes
from .modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    no_grad,
    saved_tensors_hooks,
    set_detect_anomaly,
    set_grad_enabled,
)
from .variable import Variable

_LAZY = {
    "backward": "engine", "grad": "gradients", "Function": "function",
    "graph": "graph",
    "functional": "functional", "forward_ad": "forward_ad", "profiler": "profiler",
    "grad_mode": "grad_mode", "anomaly_mode": "anomaly_mode",
    "set_multithreading_enabled": "grad_mode"}


def __getattr__(name):
    import importlib
    if name in _LAZY:
        module = importlib.import_module(f".{_LAZY[name]}", __name__)
        is_module = _LAZY[name] == name and not hasattr(module, name)
        found = module if is_module else getattr(module, name)
        globals()[name] = found              # the next look finds it there
        return found
    raise AttributeError(f"module 'whet.autograd' has no attribute {name!r}")


# now, and not when it is asked for: programs import the module too, which must not take the name
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "Function",
    "inference_mode", "modes", "no_grad", "saved_tensors_hooks", "set_detect_anomaly",
    "set_grad_enabled", "Variable"]
