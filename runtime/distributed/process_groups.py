"""Groups of processes, each of one process, and what is asked of them."""
import datetime
import os
from enum import Enum

from .. import declared_for_tracing as _declared_for_tracing
from ..autograd import modes

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
    """How the tensors of all members become one. Of one tensor each gives the tensor.

    >>> import whet
    >>> whet.distributed.ReduceOp.SUM.name
    'SUM'
    """
    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


class ProcessGroup:
    """A group of processes: this one.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> world = dist.group.WORLD
    >>> world.rank(), world.size()
    (0, 1)
    >>> dist.destroy_process_group()
    """

    def __init__(self, backend):
        self.backend = backend

    def rank(self):
        """The number of this process in it."""
        return 0

    def size(self):
        """How many processes are in it."""
        return 1


class Work:
    """What a collective with `async_op=True` returns: it is done.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> work = dist.all_reduce(whet.ones(2), async_op=True)
    >>> work.wait()
    True
    >>> dist.destroy_process_group()
    """

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
    """Where `group.WORLD` is found.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_world_size(dist.group.WORLD)
    1
    >>> dist.destroy_process_group()
    """


GroupMember = group


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
    """Is there a group of all processes?

    >>> import whet
    >>> whet.distributed.is_initialized()
    False
    """
    return group.WORLD is not None


def is_torchelastic_launched():
    """Was this process started by a launcher that starts it again? No.

    >>> import whet
    >>> whet.distributed.is_torchelastic_launched()
    False
    """
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
    """End a group; the one of all processes where none is given.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.is_initialized()
    True
    >>> dist.destroy_process_group()
    >>> dist.is_initialized()
    False
    """
    if member_of(group) is _world.group:
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
    known = member_of(None)
    if ranks is not None and list(ranks) != [0]:
        raise ValueError(
            "the new group's rank should be within the world_size set by init_process_group")
    return ProcessGroup(known.backend if backend is None else str(backend).lower())


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None,
                  group_desc=None):
    """(the group of this process, all groups) of so many processes each: of this one.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> mine, every = dist.new_subgroups(1)
    >>> dist.get_world_size(mine), len(every)
    (1, 1)
    >>> dist.destroy_process_group()
    """
    member_of(group)
    if group_size not in (None, 1):
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size (1)")
    made = new_group(None, timeout, backend, pg_options)
    return made, [made]


def member_of(of):
    """The group that is meant."""
    known = group.WORLD
    if known is None:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group.")
    return known if of is None else of


@_declared_for_tracing.goes_by_no_size
def get_rank(group=None):
    """The number of this process in a group.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_rank()
    0
    >>> dist.destroy_process_group()
    """
    return member_of(group).rank()


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
    return member_of(group).size()


def get_backend(group=None):
    """The name of what the processes of a group communicate by.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_backend()
    'gloo'
    >>> dist.destroy_process_group()
    """
    return member_of(group).backend


def get_global_rank(group, group_rank):
    """The number, among all, of a process in a group.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_global_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    return group_rank


def get_group_rank(group, global_rank):
    """The number in a group of a process.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_group_rank(dist.group.WORLD, 0)
    0
    >>> dist.destroy_process_group()
    """
    return global_rank


def get_node_local_rank(fallback_rank=None):
    """The number of this process on its machine: LOCAL_RANK of the environment.

    >>> import whet
    >>> whet.distributed.get_node_local_rank(fallback_rank=0)
    0
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow "
            "`get_node_local_rank` to work, assuming you are not running in a multi-device "
            "context and want the code to run locally instead.")
    return int(fallback_rank)


def get_pg_count():
    """How many groups of all processes there are.

    >>> import whet
    >>> whet.distributed.get_pg_count()
    0
    """
    return int(is_initialized())


def get_process_group_ranks(group=None):
    """The numbers, among all, of the processes in a group.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.get_process_group_ranks()
    [0]
    >>> dist.destroy_process_group()
    """
    return [*range(member_of(group).size())]


# ---- what there is -------------------------------------------------------------------------------
def is_gloo_available():
    """May a group have this name? It may: programs choose it for the CPU.

    >>> import whet
    >>> whet.distributed.is_gloo_available()
    True
    """
    return True


def is_nccl_available():
    """Do devices communicate by this? They do not.

    >>> import whet
    >>> whet.distributed.is_nccl_available()
    False
    """
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend):
    """May a group have this name without it being needed for devices?

    >>> import whet
    >>> whet.distributed.is_backend_available("gloo")
    True
    """
    return backend.lower() == "gloo"
