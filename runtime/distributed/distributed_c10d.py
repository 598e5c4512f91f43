"""Groups of one process, and what their members send each other."""
import datetime
import os
import pickle
from enum import Enum

from .. import declared_for_tracing as _declared_for_tracing
from ..autograd import modes
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

BACKENDS = "gloo", "mpi", "nccl", "ucc"


default_pg_timeout = datetime.timedelta(minutes=30)


class Backend(str):
    """The name of what processes communicate by, in small letters.

    >>> import whet
    >>> whet.distributed.Backend("GLOO") == "gloo"
    True
    """
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return super().__new__(cls, name.lower())


class ReduceOp(Enum):
    """How the tensors of all members become one. Of one tensor each gives the tensor."""
    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


class ProcessGroup:
    """A group of processes: this one."""

    def __init__(self, backend):
        self.backend = backend

    def rank(self):
        """The number of this process in it."""
        return 0

    def size(self):
        """How many processes are in it."""
        return 1


class Work:
    """What a collective with `async_op=True` returns: it is done."""

    def wait(self, timeout=None):
        """Wait until it is done."""
        return True

    def is_completed(self):
        """Is it done?"""
        return True

    is_success = is_completed


class _World:
    """The group of all processes, once there is one."""
    __slots__ = ("group",)

    def __init__(self):
        self.group = None


_world = _World()


class _WorldAsked(type):
    @property
    def WORLD(cls):
        """The group of all processes; None before there is one."""
        return modes.read(lambda: _world.group)


class group(metaclass=_WorldAsked):
    """Where `group.WORLD` is found."""


GroupMember = group


# ---- groups --------------------------------------------------------------------------------------
@_declared_for_tracing.goes_by_no_size
def is_available():
    """Can groups be made? Such of one process can.

    >>> import whet
    >>> whet.distributed.is_available(), whet.distributed.is_initialized()
    (True, False)
    """
    return True


@_declared_for_tracing.goes_by_no_size
def is_initialized():
    """Is there a group of all processes?"""
    return group.WORLD is not None


def is_torchelastic_launched():
    """Was this process started by a launcher that starts it again? No."""
    return False


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1,
                       store=None, group_name="", pg_options=None, device_id=None):
    """Make the group of all processes, which must be this one alone. Where `rank` and `world_size`
    are not given, and no store or method that needs them, they are RANK and WORLD_SIZE of the
    environment.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> t = whet.ones(2)
    >>> dist.all_reduce(t)
    >>> t
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    backend = "gloo" if backend is None else str(backend).lower()
    if backend not in BACKENDS and ":" not in backend:
        raise ValueError(f"Invalid backend: '{backend}'")
    rank, world_size = (
        _of_environment(name) if value == -1 and store is None else value
        for name, value in (("RANK", rank), ("WORLD_SIZE", world_size)))
    if world_size != 1:
        raise NotImplementedError(
            f"init_process_group(): world_size is {world_size}, and processes cannot send each "
            "other tensors here: a group has one member. Start one process (world_size=1); its "
            "kernels use all threads")
    if rank != 0:
        raise ValueError(f"init_process_group(): the rank in a group of one is 0, not {rank}")
    _world.group = ProcessGroup(backend)


def _of_environment(name):
    try:
        return int(os.environ[name])
    except KeyError:
        raise ValueError(
            "Error initializing whet.distributed using env:// rendezvous: environment variable "
            f"{name} expected, but not set") from None


def destroy_process_group(group=None):
    """End a group; the one of all processes where none is given."""
    if _member(group) is _world.group:
        _world.group = None


def new_group(ranks=None, timeout=None, backend=None, pg_options=None,
              use_local_synchronization=False, group_desc=None, device_id=None):
    """A group of some of the processes: of this one.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_world_size(dist.new_group([0]))
    1
    >>> dist.destroy_process_group()
    """
    known = _member(None)
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(
            "the new group's rank should be within the world_size set by init_process_group")
    return ProcessGroup(known.backend if backend is None else str(backend).lower())


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None,
                  group_desc=None):
    """(the group of this process, all groups) of so many processes each: of this one."""
    _member(group)
    if group_size not in (None, 1):
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size (1)")
    made = new_group(None, timeout, backend, pg_options)
    return made, [made]


def _member(of):
    """The group that is meant."""
    known = group.WORLD
    if known is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group.")
    return known if of is None else of


@_declared_for_tracing.goes_by_no_size
def get_rank(group=None):
    """The number of this process in a group."""
    return _member(group).rank()


@_declared_for_tracing.goes_by_no_size
def get_world_size(group=None):
    """How many processes are in a group.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_world_size()
    1
    >>> dist.destroy_process_group()
    """
    return _member(group).size()


def get_backend(group=None):
    """The name of what the processes of a group communicate by."""
    return _member(group).backend


def get_global_rank(group, group_rank):
    """The number, among all, of a process in a group."""
    return group_rank


def get_group_rank(group, global_rank):
    """The number in a group of a process."""
    return global_rank


def get_node_local_rank(fallback_rank=None):
    """The number of this process on its machine: LOCAL_RANK of the environment."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work, assuming you are not running in a multi-device "
            "context and want the code to run locally instead.")
    return int(fallback_rank)


def get_pg_count():
    """How many groups of all processes there are."""
    return int(is_initialized())


def get_process_group_ranks(group=None):
    """The numbers, among all, of the processes in a group."""
    return [*range(_member(group).size())]


# ---- collectives ---------------------------------------------------------------------------------
def _done(async_op):
    return Work() if async_op else None


def _check_root(name, rank, group, in_group=None):
    """Raise where the process that sends to all, or gets from all, is none of the group."""
    _member(group)
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
    _member(group)
    return _done(async_op)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """Let member `dst` have the sum (say) of the tensors of all."""
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
    _member(group)
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """Wait until all members are here; an error for members that are late."""
    _member(group)


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
    _member(group)
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
    _member(group)
    _copy("all_gather_into_tensor", output_tensor, input_tensor)
    return _done(async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Let member `dst` have the tensors of all."""
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
    """Let each member have the sum (say) of its tensors in the lists of all."""
    _member(group)
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
    _member(group)
    _copy("reduce_scatter_tensor", output, input)
    return _done(async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Let each member have its tensors of the lists of all."""
    _member(group)
    _copy("all_to_all", _only("all_to_all", "output_tensor_list", output_tensor_list),
          _only("all_to_all", "input_tensor_list", input_tensor_list))
    return _done(async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None,
                      async_op=False):
    """Let each member have its parts of the tensors of all."""
    _member(group)
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
    _member(group)
    object_list[0] = _sent(obj)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Let member `dst` have the objects of all."""
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
    """Let each member have its object of those that member `src` has."""
    _check_root("scatter_object_list", src, group, group_src)
    scatter_object_output_list[0] = _sent(
        _only("scatter_object_list", "scatter_object_input_list", scatter_object_input_list or []))


# ---- from one to another -------------------------------------------------------------------------
def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to another member: there is none."""
    _member(group)
    raise ValueError("Invalid destination rank: destination rank should not be the same as the "
                     "rank of the current process, and there is no other")


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor from another member: there is none."""
    _member(group)
    raise ValueError("Invalid source rank: source rank should not be the same as the rank of the "
                     "current process, and there is no other")


isend, irecv = send, recv


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """Send objects to another member: there is none."""
    send(None, dst, group)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Receive objects from another member: there is none."""
    recv(None, src, group)


class P2POp:
    """A tensor to be sent to another member (`op` is `isend`) or received (`irecv`), for
    `batch_isend_irecv`."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise ValueError("Invalid ``op``. Expected ``op`` to be of type "
                             "``whet.distributed.isend`` or ``whet.distributed.irecv``.")
        self.op, self.tensor, self.peer, self.tag = op, tensor, peer, tag
        self.group = _member(group)


def batch_isend_irecv(p2p_op_list):
    """Send and receive several tensors."""
    return [p.op(p.tensor, p.peer, p.group, p.tag) for p in p2p_op_list]


# ---- what there is -------------------------------------------------------------------------------
def is_gloo_available():
    """May a group have this name? It may: programs choose it for the CPU."""
    return True


def is_nccl_available():
    """Do devices communicate by this? They do not."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend):
    """May a group have this name without it being needed for devices?

    >>> import whet
    >>> whet.distributed.is_backend_available("gloo")
    True
    """
    return backend.lower() == "gloo"
