"""Files of models. A file is written beside its place, checked, run on the samples where there is
something that runs it, and only then gets its name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import OnnxError
from ..library import onnx_library
from .complex_values import as_pairs

# Protocol buffers hold no more than 2 GiB; what is larger goes into a file beside.
LARGEST = (1 << 31) - (1 << 24)
# How far a result may be from whet's, relative to 1 + the greatest magnitude in it. Each of the two
# sums in an order of its own.
BOUNDS = {"f16": 2e-2, "bf16": 1e-1, "f32": 1e-3, "f64": 1e-6}
# Where layers of bytes are written as real ones, a byte may be the next one.
BOUND_OF_BYTES = 5e-2
CHUNK = 1024  # smaller arrays stay in the model


def save(
    proto: Any,
    path: Any,
    samples: Sequence[Sample],
    external: bool | None = None,
    of_bytes: bool = False,
) -> None:
    """Write a model to a path, once it is checked and has given the samples' results. `of_bytes`:
    it rounds to bytes after sums of real numbers."""
    place = pathlib.Path(os.fspath(path))
    with checked(proto, place.name, samples, external, place.parent, of_bytes) as folder:
        # the data first: a model never stands beside data of another
        for file in sorted(folder.iterdir(), key=lambda f: f.name == place.name):
            os.replace(file, place.parent / file.name)


class Sample:
    """One call: inputs and results by name, as arrays; complex numbers as pairs, as a model has
    them."""

    def __init__(self, inputs: Mapping[str, Any], results: Mapping[str, Any]) -> None:
        self.inputs, self.results = (
            {k: as_pairs(a) for k, a in arrays.items()} for arrays in (inputs, results)
        )


@contextlib.contextmanager
def checked(
    proto: Any,
    name: str,
    samples: Sequence[Sample],
    external: bool | None,
    beside: pathlib.Path,
    of_bytes: bool = False,
) -> Iterator[pathlib.Path]:
    """A folder beside with the files of a model that holds."""
    onnx = onnx_library()
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=beside) as at:
        folder = pathlib.Path(at)
        whole = proto.ByteSize()
        if external or external is None and whole > LARGEST:
            copy = onnx.ModelProto()
            copy.CopyFrom(proto)
            onnx.save_model(
                copy,
                str(folder / name),
                save_as_external_data=True,
                location=f"{name}.data",
                size_threshold=CHUNK,
            )
        else:
            onnx.save_model(proto, str(folder / name))
        check(folder / name)
        for sample in samples:
            compare(folder / name, sample, of_bytes)
        yield folder


def check(path: pathlib.Path) -> None:
    """The standard's own check, with the shapes of all values inferred."""
    checker = onnx_library("onnx.checker")
    inference = onnx_library("onnx.shape_inference")
    try:
        checker.check_model(str(path), full_check=True)
    except (checker.ValidationError, inference.InferenceError) as e:
        raise OnnxError(f"the model is not valid: {e}") from None


def compare(path: pathlib.Path, sample: Sample, of_bytes: bool = False) -> None:
    """Run the model on a sample, in ONNX Runtime where it is installed."""
    made = in_runtime(path, sample)
    if made is None:
        return
    for (name, wanted), got in zip(sample.results.items(), made, strict=True):
        problem = difference(np.asarray(got), wanted, of_bytes)
        if problem:
            raise OnnxError(f"the model gives another result `{name}` in ONNX Runtime: {problem}")


def runtime_library() -> Any:
    """ONNX Runtime, which checks what is written where it is installed; else None."""
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    return importlib.import_module("onnxruntime")


def in_runtime(path: pathlib.Path, sample: Sample) -> Sequence[Any] | None:
    """The results in ONNX Runtime; None where it is not installed, or lacks an operator."""
    onnxruntime = runtime_library()
    if onnxruntime is None:
        return None
    state = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    arrays = [*sample.inputs.values(), *sample.results.values()]
    if any(a.dtype.kind not in "biuf" for a in arrays):  # it takes no arrays of these types
        return None
    try:
        session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
        names = {x.name for x in session.get_inputs()}
        feeds = {k: np.ascontiguousarray(a) for k, a in sample.inputs.items() if k in names}
        made: Sequence[Any] = session.run(list(sample.results), feeds)
    except state.NotImplemented:
        return None
    return made


def difference(got: np.ndarray, wanted: np.ndarray, of_bytes: bool = False) -> str | None:
    """How a result differs from whet's, beyond the bound for its type."""
    from whet.ir.values import short

    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return f"{got.dtype}{list(got.shape)}, not {wanted.dtype}{list(wanted.shape)}"
    bound = BOUNDS.get(short(wanted.dtype))
    if bound is not None and of_bytes:
        bound = max(bound, BOUND_OF_BYTES)
    if bound is None:
        return None if (got == wanted).all() else "other values"
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    same = (a == b) | np.isnan(a) & np.isnan(b)
    finite = np.abs(b[np.isfinite(b)])
    scale = 1 + (finite.max() if finite.size else 0)
    with np.errstate(all="ignore"):
        error = np.where(same, 0, np.abs(a - b) / scale)
    worst = float(error.max()) if error.size else 0.0
    return None if worst <= bound else f"a difference of {worst:.1e}, where {bound:.0e} is allowed"
