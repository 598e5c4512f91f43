"""Where a process's part of a tensor lies: it is all of it."""


def compute_local_shape_and_global_offset(global_shape, mesh, placements):
    """(shape, offset) of the part that this process has.

    >>> from whet.distributed.tensor._utils import compute_local_shape_and_global_offset
    >>> compute_local_shape_and_global_offset((2, 3), None, [])
    ((2, 3), (0, 0))
    """
    return tuple(global_shape), (0,) * len(global_shape)
