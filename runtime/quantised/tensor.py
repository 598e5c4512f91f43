"""What a tensor of a quantised type holds."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import declared_for_tracing, layouts
from ..composite_tensor import CompositeTensor
from ..dtypes import QUANTISED, float32
from ..formatting import quantised_str
from ..layouts import strided


def refusal(name: str) -> NotImplementedError:
    """The error of an op that there is not for tensors of quantised types."""
    return NotImplementedError(
        f"Could not run '{name}' with a tensor of a quantised type: there is no such op for them. "
        "Use dequantize() first.")


@dataclass(eq=False, repr=False)
class QuantizedTensor(CompositeTensor):
    """Integers, and which real numbers they stand for. `_scale` and `_zero` are numbers, or, where
    there is an `_axis`, tensors of one for each place along it."""
    _held: Any
    _scale: Any
    _zero: Any
    _axis: int | None = None
    _kind = "quantized"
    layout = strided
    is_quantized = True
    is_sparse = is_sparse_csr = is_nested = False

    def _with(self, values: Any) -> QuantizedTensor:
        return QuantizedTensor(values, self._scale, self._zero, self._axis)

    def _values_of(self, gradient: Any) -> Any:
        raise RuntimeError("only Tensors of floating point dtype can require gradients")

    # ---- what it is ----
    dtype = property(lambda self: QUANTISED[self._held.dtype])
    shape = property(lambda self: self._held.shape)
    nbytes = property(lambda self: self._held.nbytes)

    def numel(self) -> int:
        """The number of elements."""
        return int(self._held.numel())

    nelement = numel

    def stride(self, dim: int | None = None) -> Any:
        """Steps in memory, in elements."""
        return self._held.stride(dim)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Is the memory in row-major order without gaps?"""
        return bool(self._held.is_contiguous(memory_format))

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Integers have no gradients: an error where one is asked for."""
        if requires_grad:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        return self

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the type of tensor."""
        if dtype is not None:
            raise refusal("type")
        return f"whet.quantized.{self.dtype.letter}Tensor"

    # ---- its scheme ----
    def qscheme(self) -> Any:
        """One scale for all, or one for each place along an axis?"""
        return layouts.per_tensor_affine if self._axis is None else layouts.per_channel_affine

    def _of_scheme(self, name: str, per_channel: bool) -> None:
        if (self._axis is not None) != per_channel:
            wanted = "per_channel_affine" if per_channel else "per_tensor_affine"
            raise RuntimeError(f"{name}: Expected qscheme whet.{wanted}, but got {self.qscheme()}")

    def q_scale(self) -> float:
        """The scale of all elements."""
        self._of_scheme("q_scale", per_channel=False)
        return float(self._scale)

    def q_zero_point(self) -> int:
        """The integer that stands for zero."""
        self._of_scheme("q_zero_point", per_channel=False)
        return int(self._zero)

    def q_per_channel_scales(self) -> Any:
        """The scales along the axis."""
        self._of_scheme("q_per_channel_scales", per_channel=True)
        return self._scale

    def q_per_channel_zero_points(self) -> Any:
        """The integers that stand for zero, along the axis."""
        self._of_scheme("q_per_channel_zero_points", per_channel=True)
        return self._zero

    def q_per_channel_axis(self) -> int:
        """The dimension that has a scale for each place."""
        self._of_scheme("q_per_channel_axis", per_channel=True)
        assert self._axis is not None
        return self._axis

    def int_repr(self) -> Any:
        """The integers, copied."""
        return self._held.clone()

    def _along(self, x: Any) -> Any:
        """Scales or zero points as they broadcast with the integers."""
        if self._axis is None:
            return x
        shape = [1] * self.dim()
        shape[self._axis] = -1
        return x.reshape(shape)

    def dequantize(self) -> Any:
        """The real numbers, of float32."""
        away = self._held.to(float32) - self._along(self._zero)
        scale: Any = self._along(self._scale)
        return (away * (scale if self._axis is None else scale.to(float32))).to(float32)

    # ---- numbers out ----
    @declared_for_tracing.tells_elements
    def item(self) -> Any:
        """The single element as a Python number."""
        return self.dequantize().item()

    def numpy(self, *, force: bool = False) -> Any:
        """There is no array of a quantised type."""
        raise TypeError(f"Got unsupported ScalarType {self.dtype.letter}")

    def tolist(self) -> Any:
        """The real numbers as lists."""
        return self.dequantize().tolist()

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        facts = [f"dtype={self.dtype}", f"quantization_scheme={self.qscheme()}",
                 f"scale={self._scale!r}", f"zero_point={self._zero!r}"]
        return quantised_str(self.dequantize(),
                             facts + ([] if self._axis is None else [f"axis={self._axis}"]))

