"""Processes in rows and columns: `init_device_mesh`. A group has one process here, so a mesh has
one place, of any number of dimensions."""
import math

from . import distributed_c10d as distributed

__all__ = ["DeviceMesh", "init_device_mesh"]


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """A mesh of all processes, which are one: its sizes are 1. The group of all processes is made
    where there is none.

    >>> import whet
    >>> from whet.distributed.device_mesh import init_device_mesh
    >>> whet.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
    >>> mesh["data"].size(), mesh.get_coordinate()
    (1, (0, 0))
    >>> whet.distributed.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError("Each mesh_dim_name must be unique. Found repeated mesh_dim_name in "
                               f"mesh_dim_names {tuple(mesh_dim_names)}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found "
                f"len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):"
                f"{len(mesh_shape)}.")
    if not distributed.is_initialized():
        distributed.init_process_group(rank=0, world_size=1)
    return DeviceMesh(device_type, _ranks(mesh_shape), mesh_dim_names=mesh_dim_names)


def _ranks(shape):
    from ..ops import arange
    return arange(math.prod(shape)).reshape(tuple(shape)).int()


class DeviceMesh:
    """Processes by their places in a mesh, which has a group for each dimension.

    >>> import whet
    >>> dist = whet.distributed
    >>> dist.init_process_group("gloo", rank=0, world_size=1)
    >>> dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
    DeviceMesh((data=1, model=1), 'cpu')
    >>> dist.destroy_process_group()
    """

    def __init__(self, device_type, mesh, *, mesh_dim_names=None):
        from ..ops import as_tensor
        self.device_type = device_type
        self.mesh = as_tensor(mesh).int()
        self.mesh_dim_names = mesh_dim_names and tuple(mesh_dim_names)
        if self.mesh.numel() > distributed.get_world_size():
            raise RuntimeError("Mesh should not be bigger than default world size "
                               f"{distributed.get_world_size()}, but found {self.mesh.numel()} "
                               "ranks!")

    def __repr__(self):
        sizes = ", ".join([str(n) for n in self.shape] if self.mesh_dim_names is None else [
            f"{name}={n}" for name, n in zip(self.mesh_dim_names, self.shape)])
        ending = "," if self.ndim == 1 and self.mesh_dim_names is None else ""
        return f"DeviceMesh(({sizes}{ending}), '{self.device_type}')"

    def __eq__(self, other):
        return (isinstance(other, DeviceMesh) and self.device_type == other.device_type
                and self.mesh_dim_names == other.mesh_dim_names and self.shape == other.shape)

    def __hash__(self):
        return hash((self.device_type, self.mesh_dim_names, self.shape))

    @property
    def shape(self):
        """How many places there are along each dimension."""
        return tuple(self.mesh.shape)

    @property
    def ndim(self):
        """The number of dimensions."""
        return self.mesh.ndim

    def size(self, mesh_dim=None):
        """How many places there are, along a dimension or in all."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[mesh_dim]

    def __getitem__(self, names):
        """The mesh of some of the dimensions, by their names."""
        names = (names,) if isinstance(names, str) else tuple(names)
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if any(name not in self.mesh_dim_names for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are "
                           f"{list(self.mesh_dim_names)}.")
        sizes = [self.shape[self.mesh_dim_names.index(name)] for name in names]
        return DeviceMesh(self.device_type, _ranks(sizes), mesh_dim_names=names)

    def _check_dim(self, mesh_dim):
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(
                f"Found the DeviceMesh have {self.ndim} dimensions. Optional kwarg `mesh_dim` "
                "needs to be specified when device_mesh.ndim > 1.")
        if isinstance(mesh_dim, str):
            _ = self[mesh_dim]

    def get_group(self, mesh_dim=None):
        """The group of the processes along a dimension."""
        self._check_dim(mesh_dim)
        return distributed.group.WORLD

    def get_all_groups(self):
        """The groups along each dimension."""
        return [distributed.group.WORLD] * self.ndim

    def get_rank(self):
        """The number of this process among all."""
        return distributed.get_rank()

    def get_local_rank(self, mesh_dim=None):
        """The place of this process along a dimension."""
        self._check_dim(mesh_dim)
        return 0

    def get_coordinate(self):
        """The place of this process."""
        return (0,) * self.ndim
