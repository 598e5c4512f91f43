# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any
from whet.nn.module import Module
from whet.types import Device, Dims
from whet.nn.containers import DataParallel as DataParallel


def data_parallel(module: Module, inputs: Any, device_ids: Any = None, output_device: Device | None = None, dim: Dims = 0, module_kwargs: Any = None) -> Any: """`module(*inputs)`, the batch split over the devices given: there is one."""
def gather(outputs: Any, target_device: Device, dim: Dims = 0) -> Any: ...
def parallel_apply(modules: Sequence[Module], inputs: Any, kwargs_tup: Any = None, devices: Sequence[Device] | None = None) -> list[Any]: """The results of modules, each of its own arguments."""
def replicate(network: Any, devices: Sequence[Device], detach: bool = False) -> list[Module]: """A copy of a module for each device."""
def scatter(inputs: Any, target_gpus: Sequence[Device], dim: Dims = 0) -> Any: """For each device (or as many as there are parts for) its part of tensors along a dimension."""
def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Sequence[Device], dim: Dims = 0) -> Any: """For each device its part of the positional and keyword arguments of a call."""

class DistributedDataParallel(Module):
    """A module that each process of a group has, with gradients that are averaged over them."""
    module: Module
    dim: Dims
    device_ids: Any
    output_device: Device | None
    process_group: Any
    broadcast_buffers: bool
    find_unused_parameters: bool
    static_graph: bool
    def __init__(self, module: Module, device_ids: Any = None, output_device: Device | None = None, dim: Dims = 0, broadcast_buffers: bool = True, init_sync: bool = True, process_group: Any = None, bucket_cap_mb: float | None = None, find_unused_parameters: bool = False, check_reduction: bool = False, gradient_as_bucket_view: bool = False, static_graph: bool = False) -> None: ...
    def forward(self, *inputs: Any, **kwargs: Any) -> Any: ...
    def join(self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False) -> AbstractContextManager[None]: """Inside, members may have unequal numbers of batches."""
    def no_sync(self) -> AbstractContextManager[None]: """Inside, gradients are not averaged."""
    def __call__(self, *inputs: Any, **kwargs: Any) -> Any: ...
