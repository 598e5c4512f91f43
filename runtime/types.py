"""Types to annotate with: what functions of whet take beside tensors.

>>> from whet.types import Number, Shape
>>> def scaled(shape: Shape, by: Number): ...
"""
import os
from builtins import bool as _bool  # noqa: F401  (packages import these names)
from builtins import bytes as _bytes  # noqa: F401
from builtins import complex as _complex  # noqa: F401
from builtins import float as _float  # noqa: F401
from builtins import int as _int  # noqa: F401
from builtins import str as _str  # noqa: F401
from collections.abc import Sequence
from types import EllipsisType
from typing import IO, Any, TypeAlias, Union

import numpy as np

from .devices import device
from .dtypes import dtype as _dtype  # noqa: F401
from .layouts import layout, memory_format
from .layouts import qscheme as _qscheme  # noqa: F401
from .ops.storage import TypedStorage, UntypedStorage
from .size import Size
from .tensor import Tensor

Number: TypeAlias = (int | float | bool | complex | np.generic
                     )    # noqa: UP007  (a checker reads it at any version)
Scalar: TypeAlias = Union[Tensor, int, float, bool, complex, np.generic]  # noqa: UP007
Device: TypeAlias = Union[device, str, int]                               # noqa: UP007
Shape: TypeAlias = Sequence[int]
Dims: TypeAlias = Union[int, Sequence[int]]                               # noqa: UP007
Ints: TypeAlias = Union[int, Sequence[int]]                               # noqa: UP007
Index: TypeAlias = (None | int | slice | EllipsisType | Tensor | np.ndarray | Sequence[Any]
                    | tuple[Any, ...])    # noqa: UP007
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]              # noqa: UP007
Storage: TypeAlias = Union[UntypedStorage, TypedStorage]                  # noqa: UP007
MemoryFormat: TypeAlias = memory_format
Layout: TypeAlias = layout
_device, _layout = device, layout
_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]                # noqa: UP007
_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]             # noqa: UP007
