"""Reverse-mode differentiation: `backward`, `grad`, `Function`, modes, hooks, checks.

Input: a tensor that ops have made. Each op left a node behind (`node.py`).
Output: gradients of leaves, or of inputs that are asked for (`engine.py`).
It is an error where a saved tensor was written to, or a graph is gone through a second time.

`inplace.py` says what a write does to histories. `function.py` has ops of the user's own.
`levels.py` has what `vmap` and forward mode are made of.
"""
from ..lazy_names import lazy_names as _lazy_names
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

__getattr__, __dir__ = _lazy_names(
    __name__,
    modules={name: name for name in (
        "anomaly_mode", "forward_ad", "functional", "grad_mode", "graph", "profiler")},
    members={"backward": "engine", "grad": "gradients", "Function": "function",
             "set_multithreading_enabled": "grad_mode"}, is_quick=True)


# now, and not when it is asked for: programs import the module too, which must not take the name
from .gradcheck import gradcheck, gradgradcheck

__all__ = [
    "backward", "detect_anomaly", "enable_grad", "grad", "gradcheck", "gradgradcheck", "Function",
    "inference_mode", "modes", "no_grad", "saved_tensors_hooks", "set_detect_anomaly",
    "set_grad_enabled", "Variable"]
