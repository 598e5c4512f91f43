# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.nn.module import Module


def functional_call(module: Module, parameters_and_buffers: Any, args: Any = None, kwargs: Any = None, *, tie_weights: bool = True, strict: bool = False) -> Any: """`module(*args, **kwargs)` with the given tensors, by name, in place of its parameters and buffers."""
