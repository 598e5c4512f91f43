"""What flows through a loaded graph, and what an operator's inputs are turned into.

A value is a tensor; numbers that are known while the graph is walked (`Known`: shapes, axes); a
NumPy array of what whet has no type for (strings, 8-bit floats, 4-bit integers); a list, which is a
sequence; or None, which is an optional value that is not there. An operator's definition annotates
its inputs with the types at the end of this file. Each says how a value becomes what it asks for.
"""
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import numpy as np
import whet

from ... import dtypes
from ...autograd import modes
from ...tensor import Tensor
from ..element_types import COMPUTED
from ..errors import OnnxError

MOST_KNOWN = 1024                # elements of an array that is known


class Known:
    """A small array of Python numbers: what a shape is computed with. Under a trace its elements
    may be sizes that vary, so only Python's own operators are applied to them."""
    __slots__ = ("items", "type", "made")

    def __init__(self, items: Any, type: dtypes.dtype = dtypes.int64) -> None:
        array = items if isinstance(items, np.ndarray) else np.array(items, dtype=object)
        self.items = array if array.dtype == object else array.astype(object)
        self.type = type
        self.made: Tensor | None = None
        if type.is_floating_point:
            self.items = each(lambda x: float(type.np.type(x)), self.items)

    def tensor(self) -> Tensor:
        """The numbers as a tensor."""
        return whet.tensor(self.items.tolist(), dtype=self.type).reshape(self.items.shape)

    def __repr__(self) -> str:
        return f"Known({self.items.tolist()}, {self.type})"


def each(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """A function of Python numbers, or of texts, applied to arrays of them, which are broadcast."""
    return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)


class Lasting(Known):
    """Numbers of the file itself, which never change: their tensor is made once, but for runs that
    are recorded, where it is made of the numbers as part of the run."""
    __slots__ = ()

    def tensor(self) -> Tensor:
        if modes.state.observers:
            return super().tensor()
        if self.made is None:
            self.made = super().tensor()
        return self.made


# ---- what an operator asks for -------------------------------------------------------------------
def as_tensor(value: Any) -> Tensor:
    """A tensor of the value."""
    if isinstance(value, Tensor):
        return value
    if isinstance(value, Known):
        return value.tensor()
    if isinstance(value, np.ndarray):
        if value.dtype not in COMPUTED:
            kind = "strings" if value.dtype == object else value.dtype
            raise OnnxError(f"the operator computes with numbers, not with {kind}")
        return whet.from_numpy(value)
    raise OnnxError(f"a tensor is needed, not {described(value)}")


def as_array(value: Any) -> np.ndarray:
    """A NumPy array of the value, whatever its type."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Known):
        return np.array(value.items.tolist(), value.type.np).reshape(value.items.shape)
    return as_tensor(value).detach().numpy()


def as_known(value: Any) -> Known:
    """The value's numbers, which a graph's course depends on."""
    if isinstance(value, Known):
        return value
    tensor = as_tensor(value)
    items: np.ndarray = np.array(tensor.reshape(-1).tolist(), dtype=object)
    return Known(items.reshape(tuple(tensor.shape)), tensor.dtype)


def as_numbers(value: Any) -> list[Any]:
    """A flat list of Python numbers."""
    if isinstance(value, Known):
        return list(value.items.reshape(-1).tolist())
    return list(as_tensor(value).reshape(-1).tolist())


def as_number(value: Any) -> Any:
    """The one number that the value holds."""
    numbers = as_numbers(value)
    if len(numbers) != 1:
        raise OnnxError(f"one number is needed, not {len(numbers)}")
    return numbers[0]


def as_sequence(value: Any) -> list[Any]:
    """A list of values."""
    if not isinstance(value, list):
        raise OnnxError(f"a sequence is needed, not {described(value)}")
    return value


def as_it_is(value: Any) -> Any:
    """The value itself."""
    return value


def described(value: Any) -> str:
    """What kind of value this is, for a message."""
    if value is None:
        return "an optional value that is not there"
    return "a sequence" if isinstance(value, list) else f"a {type(value).__name__}"


Value: TypeAlias = Annotated[Any, as_it_is]
Array: TypeAlias = Annotated[np.ndarray, as_array]
Numbers: TypeAlias = Annotated[list[Any], as_numbers]       # what the graph's course depends on
Ints: TypeAlias = Annotated[list[int], as_numbers]
Int: TypeAlias = Annotated[int, as_number]
Number: TypeAlias = Annotated[float, as_number]
KnownNumbers: TypeAlias = Annotated[Known, as_known]
Sequence: TypeAlias = Annotated[list[Any], as_sequence]
SETTINGS = (as_numbers, as_number, as_known)     # of values that ought to be known


def type_of(value: Any) -> np.dtype:
    """The NumPy type of a value's elements."""
    if isinstance(value, np.ndarray):
        return value.dtype
    kind: dtypes.dtype = value.type if isinstance(value, Known) else as_tensor(value).dtype
    return kind.np


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a value."""
    if isinstance(value, Known):
        return value.items.shape
    return tuple(value.shape)


def from_array(array: np.ndarray) -> Any:
    """The value of an array: a tensor wherever whet has the type."""
    if array.dtype in COMPUTED:
        return whet.from_numpy(np.ascontiguousarray(array).reshape(array.shape))
    return array
