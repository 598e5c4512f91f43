# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.nn.module import Module
from whet.types import Device, Dims
from whet.nn.containers import DataParallel as DataParallel


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Device | None = None, dim: Dims = 0, module_kwargs: Any = None) -> Any: """`module(*inputs)`, the batch split over the devices given: there is one."""
