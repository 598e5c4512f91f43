"""Tensors in what processes send to each other: by handle, so that both ends have one memory.

Sending a tensor moves it to shared memory, as `share_memory_` does; a view of memory that is not
shared is sent as a copy.
"""
from __future__ import annotations

import os
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import TYPE_CHECKING, Any

import numpy as np

from ..cpu import shared_memory
from ..cpu.shared_memory import SharedMapping
from ..ir.memory_spans import address
from ..nn.parameter import Buffer, Parameter
from ..ops.pickling import refuse_history
from ..tensor import Tensor, wrap
from ..tensor_base import REQUIRES_GRAD

if TYPE_CHECKING:
    from ..dtypes import dtype as DType


def _map_again(handle: Any, size: int) -> SharedMapping:
    return shared_memory.known_mapping(handle.detach(), size)


def _reduce_mapping(mapping: SharedMapping) -> Any:
    """Once a message, however many tensors lie in it."""
    return _map_again, (DupFd(mapping.fd), len(mapping))


def _rebuild(cls: type[Tensor], mapping: SharedMapping, at: int, dtype: DType,
             shape: tuple[int, ...], strides: tuple[int, ...], requires_grad: bool,
             attributes: dict[str, Any]) -> Tensor:
    array: np.ndarray = np.ndarray(shape, dtype.np, mapping, at, strides)
    t: Tensor = Tensor._make_subclass(cls, wrap(array), requires_grad)
    t.__dict__.update(attributes)
    return t


def _reduce(t: Tensor) -> Any:
    refuse_history(t)
    if not t.numel() or t.is_meta:
        return t.__reduce_ex__(4)
    a = (t.share_memory_() if t._base is None else t)._array
    mapping = shared_memory.mapping_of(a)
    if not isinstance(mapping, SharedMapping):
        a = shared_memory.shared_copy(a)
        mapping = shared_memory.mapping_of(a)
        assert mapping is not None
    start = address(np.frombuffer(mapping, np.uint8, 1))
    return _rebuild, (type(t), mapping, address(a) - start, t.dtype, a.shape, a.strides,
                      bool(t._rg & REQUIRES_GRAD), dict(getattr(t, "__dict__", {})))


def _rebuild_parameter(make: Any, data: Tensor, *options: Any) -> Any:
    return make(data, *options)


def _reduce_parameter(t: Parameter) -> Any:
    t.share_memory_()
    return _rebuild_parameter, (type(t), t.data, t.requires_grad)


def _rebuild_buffer(cls: type[Buffer], data: Tensor, persistent: bool) -> Buffer:
    return cls(data, persistent=persistent)


def _reduce_buffer(t: Buffer) -> Any:
    t.share_memory_()
    return _rebuild_buffer, (type(t), t.data, t.persistent)


def register() -> None:
    """Let queues, pipes and processes send tensors by handle, where descriptors can be sent."""
    if hasattr(os, "fork"):
        ForkingPickler.register(SharedMapping, _reduce_mapping)
        ForkingPickler.register(Tensor, _reduce)
        ForkingPickler.register(Parameter, _reduce_parameter)
        ForkingPickler.register(Buffer, _reduce_buffer)
