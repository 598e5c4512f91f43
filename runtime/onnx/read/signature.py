"""What a model says of its inputs and results, and whether a value is what it says."""
from dataclasses import dataclass
from typing import Any

import numpy as np
import whet

from ...tensor import Tensor
from ..element_types import COMPUTED, ElementType
from ..errors import OnnxError
from .values import Known, from_array, shape_of, type_of


@dataclass(frozen=True)
class Port:
    """An input or a result: its name, its element type and sizes where the file states them."""
    name: str
    kind: str                            # "tensor", "sequence", "optional", "map"
    element: ElementType | None
    sizes: tuple[int | str | None, ...] | None
    doc: str = ""
    needed: bool = True                  # False: an initialiser stands in where nothing is passed

    @staticmethod
    def of(proto: Any, needed: bool = True) -> "Port":
        """What a ValueInfoProto says."""
        kind = proto.type.WhichOneof("value") or "tensor_type"
        short = kind.removesuffix("_type").removeprefix("sparse_")
        if short != "tensor":
            return Port(proto.name, short, None, None, proto.doc_string, needed)
        tensor = getattr(proto.type, kind)
        element = ElementType.of_code(tensor.elem_type) if tensor.elem_type else None
        sizes = tuple(map(_size, tensor.shape.dim)) if tensor.HasField("shape") else None
        return Port(proto.name, short, element, sizes, proto.doc_string, needed)

    def __str__(self) -> str:
        if self.kind != "tensor":
            return f"{self.name}: {self.kind}"
        sizes = "" if self.sizes is None else ", ".join(
            "?" if n is None else str(n) for n in self.sizes)
        return f"{self.name}: {self.element or 'any'}[{sizes if self.sizes is not None else '...'}]"

    def value(self, x: Any) -> Any:
        """What is passed for this input, as a value; an error where it is something else."""
        if self.kind != "tensor":
            return nested(x)
        found = nested(x)
        if isinstance(found, list):
            found = from_array(np.asarray(x))
        if isinstance(found, Known) or found is None:
            raise OnnxError(f"input {self.name!r} should be a tensor, not {x!r:.60}")
        if self.element is not None and type_of(found) != self.element.numpy:
            raise OnnxError(f"input {self.name!r} should have the type {self.element}, "
                            f"not {type_of(found)}")
        self.check(shape_of(found))
        return found

    def of_no_steps(self, axis: int) -> Any:
        """No values of this kind, joined along an axis. Sizes that are not stated are 0."""
        element = self.element.numpy if self.element else np.dtype(np.float32)
        sizes = [n if isinstance(n, int) else 0 for n in self.sizes or ()]
        axis = axis % (len(sizes) + 1)
        return from_array(np.empty((*sizes[:axis], 0, *sizes[axis:]), element))

    def check(self, shape: tuple[int, ...]) -> None:
        """An error where the shape is not as stated."""
        if self.sizes is not None and (len(shape) != len(self.sizes) or any(
                isinstance(n, int) and n != m for n, m in zip(self.sizes, shape))):
            raise OnnxError(f"input {self.name!r} should have the shape "
                            f"{_listed(self.sizes)}, not {_listed(shape)}")


def _size(dim: Any) -> int | str | None:
    if dim.HasField("dim_value"):
        return int(dim.dim_value)
    return str(dim.dim_param) or None


def _listed(sizes: tuple[Any, ...]) -> str:
    return "[" + ", ".join("?" if n is None else str(n) for n in sizes) + "]"


def nested(x: Any) -> Any:
    """A value of what users pass: tensors, arrays, numbers, strings, lists of those, None."""
    if x is None or isinstance(x, Tensor | dict):
        return x
    if isinstance(x, list):
        return [nested(y) for y in x]
    array = np.asarray(x)
    if array.dtype in COMPUTED and all(step >= 0 for step in array.strides):
        return whet.from_numpy(array)
    if array.dtype.kind in "US":
        array = array.astype(np.str_).astype(object)
    return from_array(array)


def returned(value: Any) -> Any:
    """A result as users get it: tensors, arrays of what whet has no type for, lists, None."""
    if isinstance(value, Known):
        return value.tensor()
    return [returned(x) for x in value] if isinstance(value, list) else value
