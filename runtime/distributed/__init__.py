"""`whet.distributed`: programs written for many processes run here as a group of one.

There is no communication between processes yet: a group of more than one is refused. What a member
of a group of one sends, it receives, so that every collective is a copy or nothing at all.
"""
from . import rpc, tensor
from .device_mesh import DeviceMesh, init_device_mesh
from .distributed_c10d import *  # noqa: F403
from .distributed_c10d import __all__ as _names

__all__ = ["DeviceMesh", "init_device_mesh", "rpc", "tensor", *_names]
