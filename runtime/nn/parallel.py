"""Modules over several devices: `whet.nn.parallel`."""
import contextlib
import sys

from .. import distributed
from .containers import DataParallel
from .module import Module
from .scattering import gather, parallel_apply, replicate, scatter, scatter_kwargs

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply",
    "replicate", "scatter", "scatter_kwargs"]


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`module(*inputs)`, the batch split over the devices given: there is one."""
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return DataParallel(module, device_ids, output_device, dim)(*inputs, **(module_kwargs or {}))


class DistributedDataParallel(Module):
    """A module that each process of a group has, with gradients that are averaged over them. In a
    group of one it calls the module.

    >>> import whet
    >>> whet.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> m = whet.nn.parallel.DistributedDataParallel(whet.nn.Linear(2, 1))
    >>> sorted(m.state_dict())
    ['module.bias', 'module.weight']
    >>> whet.distributed.destroy_process_group()
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True,
                 init_sync=True, process_group=None, bucket_cap_mb=None,
                 find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False,
                 static_graph=False):
        super().__init__()
        distributed.get_world_size(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have "
                               "any parameters that require a gradient.")
        if len(device_ids or ()) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = device_ids and list(device_ids), output_device
        self.process_group, self.broadcast_buffers = process_group, broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def no_sync(self):
        """Inside, gradients are not averaged."""
        return contextlib.nullcontext()

    def join(self, divide_by_initial_world_size=True, enable=True,
             throw_on_early_termination=False):
        """Inside, members may have unequal numbers of batches."""
        return contextlib.nullcontext()


# where PyTorch keeps them
for _name in ("data_parallel", "distributed", "scatter_gather", "replicate", "parallel_apply"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]
