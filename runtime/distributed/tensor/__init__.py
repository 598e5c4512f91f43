"""`whet.distributed.tensor`: the names by which programs ask whether a tensor is spread over
processes. None is: a group has one process, which has all of it."""
from ... import function_protocol
from ...tensor import Tensor
from ..device_mesh import DeviceMesh, init_device_mesh
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "DeviceMesh", "Partial", "Placement", "Replicate", "Shard",
           "distribute_tensor", "init_device_mesh"]


class DTensor(Tensor):
    """A tensor that is spread over processes. There is none, so that nothing is an instance.

    >>> import whet
    >>> from whet.distributed.tensor import DTensor
    >>> isinstance(whet.ones(2), DTensor)
    False
    """

    # as no tensor is one, functions need not look for its override
    __torch_function__ = staticmethod(function_protocol.disabled)

    def __new__(cls, *args, **kwargs):
        raise RuntimeError("DTensor: no tensor is spread over processes: a group has one process. "
                           "Use the tensor as it is")

    @classmethod
    def from_local(cls, *args, **kwargs):
        """An error: a process has the whole tensor.

        >>> import whet
        >>> whet.distributed.tensor.DTensor.from_local(whet.ones(2))
        Traceback (most recent call last):
            ...
        RuntimeError: DTensor: no tensor is spread over processes: a group has one process. \
Use the tensor as it is
        """
        return cls(*args, **kwargs)


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """An error: a process has the whole tensor.

    >>> import whet
    >>> whet.distributed.tensor.distribute_tensor(whet.ones(2))
    Traceback (most recent call last):
        ...
    RuntimeError: DTensor: no tensor is spread over processes: a group has one process. \
Use the tensor as it is
    """
    return DTensor(tensor, device_mesh, placements)
