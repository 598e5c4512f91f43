# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.tensor import Tensor
from whet.utils.throughput import ThroughputBenchmark as ThroughputBenchmark
from whet.utils import data as data
from whet.utils import checkpoint as checkpoint
from whet.utils import hooks as hooks


def set_module(obj: Any, mod: str) -> None: """Say that an object is of another module, which messages then name."""
def swap_tensors(t1: Tensor, t2: Tensor) -> None: """Exchange what two tensors are: memory, class, history, gradient and attributes."""
