"""What the members of a group of processes send each other. A group is one of one process (see
`process_groups.py`)."""
import pickle

from ..autograd import modes
from .process_groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    ReduceOp,
    Work,
    default_pg_timeout,
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_backend_available,
    is_gloo_available,
    is_initialized,
    is_mpi_available,
    is_nccl_available,
    is_torchelastic_launched,
    is_ucc_available,
    is_xccl_available,
    member_of,
    new_group,
    new_subgroups,
)
from .stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    HashStore,
    PrefixStore,
    Store,
)

__all__ = [
    "Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError",
    "GroupMember", "HashStore", "P2POp", "PrefixStore", "ProcessGroup", "ReduceOp", "Store",
    "Work", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce",
    "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "default_pg_timeout", "destroy_process_group", "gather",
    "gather_object", "get_backend", "get_global_rank", "get_group_rank", "get_node_local_rank",
    "get_pg_count", "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_process_group", "irecv", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "is_ucc_available", "is_xccl_available", "isend", "monitored_barrier", "new_group",
    "new_subgroups", "recv", "recv_object_list", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter", "scatter_object_list", "send", "send_object_list"]


# ---- collectives ---------------------------------------------------------------------------------
def _done(async_op):
    return Work() if async_op else None


def _check_root(name, rank, group, in_group=None):
    """Raise where the process that sends to all, or gets from all, is none of the group."""
    member_of(group)
    for x in (rank, in_group):
        if x not in (0, None):
            raise ValueError(f"{name}(): Global rank {x} is not part of group")


def _only(name, what, tensors):
    """The one tensor of a list with one for each member."""
    if len(tensors) != 1:
        raise ValueError(
            f"{name}(): {what} must have a tensor for each member of the group, 1, but has "
            f"{len(tensors)}")
    return tensors[0]


def _copy(name, output, source):
    """Put what was given into a tensor of the same type and number of elements."""
    if output.dtype != source.dtype:
        raise TypeError(f"{name}(): tensors must have one type, got {output.dtype} and "
                        f"{source.dtype}")
    if output.numel() != source.numel():
        raise ValueError(f"{name}(): output has {output.numel()} elements, and input "
                         f"{source.numel()}")
    with modes.no_grad():
        output.copy_(source.reshape(output.shape))


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Let each member have the sum (say) of the tensors of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> t = whet.tensor([3.0])
    >>> dist.all_reduce(t, op=dist.ReduceOp.MAX)
    >>> t
    tensor([3.])
    >>> dist.destroy_process_group()
    """
    member_of(group)
    return _done(async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Let member `dst` have the sum (say) of the tensors of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> t = whet.tensor([3.0])
    >>> dist.reduce(t, dst=0)
    >>> t
    tensor([3.])
    >>> dist.destroy_process_group()
    """
    _check_root("reduce", dst, group, group_dst)
    return _done(async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Let each member have the tensor of member `src`.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> t = whet.ones(2)
    >>> dist.broadcast(t, src=0)
    >>> t
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _check_root("broadcast", src, group, group_src)
    return _done(async_op)


def barrier(group=None, async_op=False, device_ids=None):
    """Wait until all members are here.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.barrier()
    >>> dist.destroy_process_group()
    """
    member_of(group)
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Wait until all members are here; an error for members that are late.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.monitored_barrier()
    >>> dist.destroy_process_group()
    """
    member_of(group)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Let each member have the tensors of all, in a list.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [whet.empty(2)]
    >>> dist.all_gather(parts, whet.ones(2))
    >>> parts
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    member_of(group)
    _copy("all_gather", _only("all_gather", "tensor_list", tensor_list), tensor)
    return _done(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Let each member have the tensors of all, in one tensor.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> whole = whet.empty(2)
    >>> dist.all_gather_into_tensor(whole, whet.ones(2))
    >>> whole
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    member_of(group)
    _copy("all_gather_into_tensor", output_tensor, input_tensor)
    return _done(async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Let member `dst` have the tensors of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [whet.empty(2)]
    >>> dist.gather(whet.ones(2), parts, dst=0)
    >>> parts
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    _check_root("gather", dst, group, group_dst)
    if gather_list is None:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    _copy("gather", _only("gather", "gather_list", gather_list), tensor)
    return _done(async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Let each member have its tensor of those that member `src` has.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> t = whet.empty(2)
    >>> dist.scatter(t, [whet.ones(2)], src=0)
    >>> t
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    _check_root("scatter", src, group, group_src)
    if scatter_list is None:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy("scatter", tensor, _only("scatter", "scatter_list", scatter_list))
    return _done(async_op)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Let each member have the sum (say) of its tensors in the lists of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> part = whet.empty(2)
    >>> dist.reduce_scatter(part, [whet.ones(2)])
    >>> part
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    member_of(group)
    _copy("reduce_scatter", output, _only("reduce_scatter", "input_list", input_list))
    return _done(async_op)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """Let each member have its part of the sum (say) of the tensors of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> part = whet.empty(2)
    >>> dist.reduce_scatter_tensor(part, whet.ones(2))
    >>> part
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    member_of(group)
    _copy("reduce_scatter_tensor", output, input)
    return _done(async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Let each member have its tensors of the lists of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> parts = [whet.empty(2)]
    >>> dist.all_to_all(parts, [whet.ones(2)])
    >>> parts
    [tensor([1., 1.])]
    >>> dist.destroy_process_group()
    """
    member_of(group)
    _copy("all_to_all", _only("all_to_all", "output_tensor_list", output_tensor_list),
          _only("all_to_all", "input_tensor_list", input_tensor_list))
    return _done(async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None,
                      async_op=False):
    """Let each member have its parts of the tensors of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> part = whet.empty(2)
    >>> dist.all_to_all_single(part, whet.ones(2))
    >>> part
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    member_of(group)
    _copy("all_to_all_single", output, input)
    return _done(async_op)


# ---- objects -------------------------------------------------------------------------------------
def _sent(x):
    """An object as who receives it gets it."""
    return pickle.loads(pickle.dumps(x))


def all_gather_object(object_list, obj, group=None):
    """Let each member have the objects of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> found = [None]
    >>> dist.all_gather_object(found, {"loss": 0.5})
    >>> found
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    member_of(group)
    object_list[0] = _sent(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Let member `dst` have the objects of all.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> found = [None]
    >>> dist.gather_object({"loss": 0.5}, found, dst=0)
    >>> found
    [{'loss': 0.5}]
    >>> dist.destroy_process_group()
    """
    _check_root("gather_object", dst, group, group_dst)
    if object_gather_list is None:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    object_gather_list[0] = _sent(obj)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Let each member have the objects of member `src`.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> things = [{"lr": 0.1}]
    >>> dist.broadcast_object_list(things, src=0)
    >>> things
    [{'lr': 0.1}]
    >>> dist.destroy_process_group()
    """
    _check_root("broadcast_object_list", src, group, group_src)
    object_list[:] = map(_sent, object_list)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None,
                        group=None, group_src=None):
    """Let each member have its object of those that member `src` has.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> found = [None]
    >>> dist.scatter_object_list(found, ["mine"], src=0)
    >>> found
    ['mine']
    >>> dist.destroy_process_group()
    """
    _check_root("scatter_object_list", src, group, group_src)
    scatter_object_output_list[0] = _sent(
        _only("scatter_object_list", "scatter_object_input_list", scatter_object_input_list or []))


# ---- from one to another -------------------------------------------------------------------------
def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to another member: there is none.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.send(whet.ones(2), dst=0)
    ... except ValueError as error:
    ...     print(str(error).split(":")[0])
    Invalid destination rank
    >>> dist.destroy_process_group()
    """
    member_of(group)
    raise ValueError("Invalid destination rank: destination rank should not be the same as the "
                     "rank of the current process, and there is no other")


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor from another member: there is none.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.recv(whet.ones(2), src=0)
    ... except ValueError as error:
    ...     print(str(error).split(":")[0])
    Invalid source rank
    >>> dist.destroy_process_group()
    """
    member_of(group)
    raise ValueError("Invalid source rank: source rank should not be the same as the rank of the "
                     "current process, and there is no other")


isend, irecv = send, recv


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """Send objects to another member: there is none.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.send_object_list(["a", 1], dst=0)
    ... except ValueError as error:
    ...     print(str(error).split(":")[0])
    Invalid destination rank
    >>> dist.destroy_process_group()
    """
    send(None, dst, group)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Receive objects from another member: there is none.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.recv_object_list([None, None], src=0)
    ... except ValueError as error:
    ...     print(str(error).split(":")[0])
    Invalid source rank
    >>> dist.destroy_process_group()
    """
    recv(None, src, group)


class P2POp:
    """A tensor to be sent to another member (`op` is `isend`) or received (`irecv`), for
    `batch_isend_irecv`.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.P2POp(dist.isend, whet.ones(2), peer=0).peer
    0
    >>> dist.destroy_process_group()
    """

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type "
                             "``whet.distributed.isend`` or ``whet.distributed.irecv``.")
        self.op, self.tensor, self.peer, self.tag = op, tensor, peer, tag
        self.group = member_of(group)


def batch_isend_irecv(p2p_op_list):
    """Send and receive several tensors.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> try:
    ...     dist.batch_isend_irecv([dist.P2POp(dist.irecv, whet.ones(2), peer=0)])
    ... except ValueError as error:
    ...     print(str(error).split(":")[0])
    Invalid source rank
    >>> dist.destroy_process_group()
    """
    return [p.op(p.tensor, p.peer, p.group, p.tag) for p in p2p_op_list]
