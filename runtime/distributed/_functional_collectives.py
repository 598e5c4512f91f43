"""Collectives that give new tensors, by the names of PyTorch's inner module, which packages use. In
a group of one process each returns its operand."""
from .nn.functional import all_reduce, broadcast
from .nn.functional import all_to_all_single as _exchanged

__all__ = ["all_gather_tensor", "all_gather_tensor_autograd", "all_reduce", "all_to_all_single",
           "all_to_all_single_autograd", "broadcast", "reduce_scatter_tensor",
           "reduce_scatter_tensor_autograd", "wait_tensor"]


def wait_tensor(tensor):
    """The tensor, once its collective is done, which it is.

    >>> import whet
    >>> from whet.distributed._functional_collectives import wait_tensor
    >>> wait_tensor(whet.ones(2))
    tensor([1., 1.])
    """
    return tensor


def all_gather_tensor(self, gather_dim, group=None, tag=""):
    """What all have, one after the other along a dimension.

    >>> import whet
    >>> from whet.distributed._functional_collectives import all_gather_tensor
    >>> whet.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> all_gather_tensor(whet.ones(2, 3), 0).shape
    whet.Size([2, 3])
    >>> whet.distributed.destroy_process_group()
    """
    return broadcast(self, 0, group)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group=None, tag=""):
    """This process' part, along a dimension, of the sum (say) of what all have."""
    return broadcast(self, 0, group)


def all_to_all_single(self, output_split_sizes, input_split_sizes, group=None, tag=""):
    """What all have for this process, in one tensor."""
    return _exchanged(None, self, output_split_sizes, input_split_sizes, group)


all_gather_tensor_autograd, reduce_scatter_tensor_autograd, all_to_all_single_autograd = (
    all_gather_tensor, reduce_scatter_tensor, all_to_all_single)
