"""`whet.distributed.fsdp`: the names by which programs ask whether a module's parameters are spread
over processes. None are: a group has one process, which has all of them."""
from dataclasses import dataclass
from typing import Any, NoReturn

from ...nn.module import Module

__all__ = ["CPUOffloadPolicy", "FSDPModule", "FullyShardedDataParallel", "MixedPrecisionPolicy",
           "OffloadPolicy", "fully_shard"]


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"{what}: no parameters are spread over processes: a group has one process. "
                       f"Use the module as it is, or nn.parallel.DistributedDataParallel")


class FullyShardedDataParallel(Module):
    """A module whose parameters are spread over processes. There is none.

    >>> import whet
    >>> from whet.distributed.fsdp import FullyShardedDataParallel
    >>> isinstance(whet.nn.Linear(2, 2), FullyShardedDataParallel)
    False
    """

    def __init__(self, module, *args, **kwargs):
        _refuse("FullyShardedDataParallel")


class FSDPModule:
    """What a module becomes by `fully_shard`. There is none.

    >>> import whet
    >>> from whet.distributed.fsdp import FSDPModule
    >>> isinstance(whet.nn.Linear(2, 2), FSDPModule)
    False
    """


def fully_shard(module, **how) -> NoReturn:
    """An error: a process has all parameters.

    >>> import whet
    >>> whet.distributed.fsdp.fully_shard(whet.nn.Linear(2, 2))
    Traceback (most recent call last):
        ...
    RuntimeError: fully_shard: no parameters are spread over processes: a group has one process. \
Use the module as it is, or nn.parallel.DistributedDataParallel
    """
    _refuse("fully_shard")


# ---- what programs would ask of it ---------------------------------------------------------------
@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which types parameters and gradients would be sent.

    >>> from whet.distributed.fsdp import MixedPrecisionPolicy
    >>> MixedPrecisionPolicy().cast_forward_inputs
    True
    """
    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Parameters stay where they are.

    >>> from whet.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy
    >>> isinstance(CPUOffloadPolicy(), OffloadPolicy)
    True
    """


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters would wait in the CPU's memory.

    >>> from whet.distributed.fsdp import CPUOffloadPolicy
    >>> CPUOffloadPolicy(pin_memory=False).pin_memory
    False
    """
    pin_memory: bool = True
