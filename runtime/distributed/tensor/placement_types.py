"""How a tensor would lie on the processes of a mesh, as programs state it."""
from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """How a tensor lies on the processes of one dimension of a mesh."""

    def is_shard(self, dim=None):
        """Does each process have a part of the tensor, along this dimension where one is given?"""
        return False

    def is_replicate(self):
        """Does each process have all of it?"""
        return False

    def is_partial(self, reduce_op=None):
        """Are the processes' tensors still to be reduced, by this operation where one is given?"""
        return False


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part of the tensor along a dimension.

    >>> from whet.distributed.tensor import Shard
    >>> Shard(0).is_shard(), Shard(0).is_shard(1), Shard(0) == Shard(0)
    (True, False, True)
    """
    dim: int

    def is_shard(self, dim=None):
        return dim is None or dim == self.dim


@dataclass(frozen=True)
class _StridedShard(Shard):
    """A part that other dimensions of the mesh have split before."""
    split_factor: int = 1


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has all of the tensor.

    >>> from whet.distributed.tensor import Replicate
    >>> Replicate().is_replicate()
    True
    """

    def is_replicate(self):
        return True


@dataclass(frozen=True)
class Partial(Placement):
    """The tensor is what the processes' tensors are reduced to.

    >>> from whet.distributed.tensor import Partial
    >>> Partial().is_partial("sum"), Partial("max").is_partial("sum")
    (True, False)
    """
    reduce_op: str = "sum"

    def is_partial(self, reduce_op=None):
        return reduce_op is None or reduce_op == self.reduce_op
