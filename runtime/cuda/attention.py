"""Attention of halves on devices, by kernels that keep no matrix of scores."""
from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from ..dtypes import FROM_NUMPY
from .arrays import DeviceArray, empty
from .errors import NoForm
from .gathers import lowered
from .launch import launch
from .pointwise import copied, is_half, is_wide

F32 = np.dtype(np.float32)


def forward(q: DeviceArray, k: DeviceArray, v: DeviceArray, mask: DeviceArray | None = None, *,
            scale: float, is_causal: bool) -> tuple[DeviceArray, DeviceArray]:
    """(softmax(q @ k.T * scale + mask) @ v, the logarithms of the sums of exponentials)"""
    from ..passes.lower_triton import attention as lower
    found = _Attention(q, k, v, mask, scale, is_causal)
    y = empty(q.index, (*q.shape[:-1], v.shape[-1]), q.dtype)
    logs = empty(q.index, q.shape[:-1], F32)
    found.launch("forward", lower.lower_forward, lower.forward_tile, {"y": y}, {"logs": logs})
    return y, logs


def backward(g: DeviceArray, q: DeviceArray, k: DeviceArray, v: DeviceArray, y: DeviceArray,
             logs: DeviceArray, mask: DeviceArray | None = None, *, scale: float,
             is_causal: bool) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """The gradients of q, k and v."""
    from ..passes.lower_triton import attention as lower
    found = _Attention(q, k, v, mask, scale, is_causal)
    made = {f"g{name}": empty(q.index, x.shape, q.dtype) for name, x in found.operands.items()}
    found.operands |= {"y": y, "g": g}
    kept = {"logs": logs, "products": empty(q.index, q.shape[:-1], F32)}
    found.launch("queries", lower.lower_queries, lower.backward_tile, {"gq": made["gq"]}, kept)
    found.launch("keys", lower.lower_keys, lower.backward_tile,
                 {"gk": made["gk"], "gv": made["gv"]}, kept)
    return made["gq"], made["gk"], made["gv"]


class _Attention:
    """Operands of one batch, and the arguments of kernels that describe them."""

    def __init__(self, q: DeviceArray, k: DeviceArray, v: DeviceArray, mask: DeviceArray | None,
                 scale: float, is_causal: bool) -> None:
        from ..ops.attention import MOST_FEATURES
        from ..passes.lower_triton.attention import LOG2E
        if max(q.shape[-1], v.shape[-1]) > MOST_FEATURES:
            raise NoForm("attention of this many features")
        if not is_half(q):
            raise NoForm(q.dtype.name)
        self.operands = {"q": q, "k": k, "v": v}
        self.mask, self.is_causal, self.batch = mask, is_causal, q.shape[:-2]
        self.sizes = q.shape[-2], k.shape[-2]
        self.features, self.values = q.shape[-1], v.shape[-1]
        self.numbers: dict[str, float] = {
            "m": self.sizes[0], "n": self.sizes[1], "scale": scale * LOG2E,
            "inner": self.batch[-1] if self.batch else 1, "batches": prod(self.batch)}

    def launch(self, what: str, write: Any, tile_of: Any, results: Mapping[str, DeviceArray],
               kept: Mapping[str, DeviceArray]) -> None:
        """Run one of the kernels."""
        from ..passes.lower_triton import attention as lower
        tensors = {name: self.in_two(x) for name, x in (self.operands | {**results}).items()}
        for name, x in tensors.items():
            self.add_strides(name, x, "roi")
        if self.mask is not None:
            shape = (*self.batch, *self.sizes)
            tensors["mask"] = self.in_two(self.mask.view_as(
                np.broadcast_to(self.mask.geometry, shape)), adjacent=False)
            self.add_strides("mask", tensors["mask"], "mnoi")
        tensors |= kept
        geometries = {name: x.geometry for name, x in tensors.items()}
        mask = None if self.mask is None else FROM_NUMPY[self.mask.dtype].short
        form = lower.Form(FROM_NUMPY[self.operands["q"].dtype].short, self.features, self.values,
                          self.is_causal, mask, is_wide([*geometries.values()]))
        tile = tile_of(form)
        source = lowered(("attention", what, form, tile), lambda: write(form, tile))
        names = [name for name, kind in source.parameters if kind[0] == "*"]
        launch(self.operands["q"].index, source, {n: geometries[n] for n in names}, self.numbers)

    def in_two(self, x: DeviceArray, adjacent: bool = True) -> DeviceArray:
        """An operand in two batch dimensions, its features side by side."""
        shape = (prod(self.batch[:-1]), self.batch[-1] if self.batch else 1, *x.shape[-2:])
        if adjacent and x.strides[-1] != x.itemsize:
            x = copied(x)
        try:
            return x.view_as(x.geometry.reshape(shape, copy=False))
        except ValueError:
            return copied(x).reshape(shape)

    def add_strides(self, name: str, x: DeviceArray, dims: str) -> None:
        """The strides of an operand."""
        outer, inner, *rows = (s // x.itemsize for s in x.strides)
        self.numbers |= dict(zip((f"{name}_{d}" for d in dims),
                                 (*rows[:len(dims) - 2], outer, inner), strict=True))
