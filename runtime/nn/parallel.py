"""Modules over several devices: `whet.nn.parallel`."""
from .containers import DataParallel

__all__ = ["DataParallel", "data_parallel"]


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`module(*inputs)`, the batch split over the devices given: there is one."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))
