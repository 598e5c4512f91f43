"""Tensors as they lie in a file, or in a file beside it."""
from pathlib import Path
from typing import Any

import numpy as np

from ..element_types import ElementType
from ..errors import OnnxError
from ..library import onnx_library

EXTERNAL = 1                     # TensorProto.EXTERNAL


def array_of(proto: Any, folder: Path | None) -> np.ndarray:
    """The array of a TensorProto. Data outside of the file is looked for in `folder` alone."""
    if proto.data_location == EXTERNAL:
        proto = _with_data(proto, folder)
    element_type = ElementType.of_code(proto.data_type)
    if any(n < 0 for n in proto.dims):
        raise OnnxError(f"tensor {proto.name!r} has the shape {list(proto.dims)}")
    try:
        array = onnx_library("onnx.numpy_helper").to_array(proto)
    except Exception as error:   # what protobuf and NumPy raise about data that does not fit
        raise OnnxError(f"tensor {proto.name!r} cannot be read: {error}") from error
    if element_type.name == "STRING":
        return texts(array)
    return np.array(array)       # writable, and not a part of the file's memory


def texts(array: Any) -> np.ndarray:
    """An array of strings, where some may be bytes."""
    flat = [x.decode("utf-8", "surrogateescape") if isinstance(x, bytes) else str(x)
            for x in np.asarray(array, dtype=object).reshape(-1)]
    return np.array([*flat, None], dtype=object)[:-1].reshape(np.shape(array))


def _with_data(proto: Any, folder: Path | None) -> Any:
    facts = {entry.key: entry.value for entry in proto.external_data}
    path = _inside(folder, facts.get("location", ""), proto.name)
    try:
        offset, length = int(facts.get("offset", 0)), int(facts.get("length", -1))
    except ValueError as error:
        raise OnnxError(f"tensor {proto.name!r}: {error}") from error
    size = path.stat().st_size
    if offset < 0 or offset > size or length < -1 or offset + max(length, 0) > size:
        raise OnnxError(f"tensor {proto.name!r} is outside of {path.name}, of {size} bytes")
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read() if length < 0 else file.read(length)
    found = type(proto)()
    found.CopyFrom(proto)
    del found.external_data[:]
    found.data_location = 0
    found.raw_data = data
    return found


def _inside(folder: Path | None, location: str, name: str) -> Path:
    """The path of data beside the model: never one that leads out of its folder."""
    if folder is None:
        raise OnnxError(f"tensor {name!r} is in the file {location!r}: "
                        "load the model by its path, or pass folder=")
    root = folder.resolve()
    path = (root / location).resolve()
    if not location or root not in path.parents or not path.is_file():
        raise OnnxError(f"tensor {name!r}: there is no file {location!r} in the model's folder")
    return path


def dense(proto: Any, folder: Path | None) -> np.ndarray:
    """The full array of a SparseTensorProto."""
    values, indices = array_of(proto.values, folder), array_of(proto.indices, folder)
    shape = tuple(proto.dims)
    full = np.zeros(shape, values.dtype)
    if indices.ndim == 1:
        flat = indices
    else:
        flat = np.ravel_multi_index(tuple(indices.T), shape)
    if flat.shape != values.shape or (flat.size and not 0 <= flat.min() <= flat.max() < full.size):
        raise OnnxError(f"sparse tensor {proto.values.name!r}: indices do not fit its shape")
    full.reshape(-1)[flat] = values
    return full
