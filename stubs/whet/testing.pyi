# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any
from whet.dtypes import dtype
from whet.tensor import Tensor
from whet.types import Device, Ints, MemoryFormat


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True, msg: Any = '') -> None: """`assert_close` under its older name: types need not be the same, NaNs are equal."""
def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False, msg: Any = None) -> None: """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere."""
def make_tensor(*shape: Ints, dtype: dtype, device: Device | None = None, low: float | None = None, high: float | None = None, requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False, memory_format: MemoryFormat | None = None) -> Tensor: ...
