"""`whet.onnx.export`, which takes the arguments of `torch.onnx.export`."""

from __future__ import annotations

import contextlib
import enum
import importlib
import inspect
import pathlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .library import onnx_library
from .write import model_file
from .write.exported_model import Names, checked_opset, model_of, samples_of, with_sizes
from .write.named_sizes import Dynamic


class TrainingMode(enum.Enum):
    """The mode that modules are in while they are exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OnnxProgram:
    """A model that is written, but has no file yet.

    >>> import whet
    >>> program = whet.onnx.export(whet.nn.ReLU(), (whet.ones(2),), dynamo=True)
    >>> type(program).__name__, [node.op_type for node in program.model_proto.graph.node]
    ('OnnxProgram', ['Relu'])
    """

    def __init__(self, proto: Any, samples: Sequence[model_file.Sample]) -> None:
        self.model_proto, self.samples = proto, list(samples)

    def save(self, destination: Any, *, external_data: bool | None = None) -> None:
        """Write the model to a path or a file, once it is checked."""
        if not hasattr(destination, "write"):
            model_file.save(self.model_proto, destination, self.samples, external_data)
            return
        beside = pathlib.Path(tempfile.gettempdir())
        with model_file.checked(
            self.model_proto, "model.onnx", self.samples, False, beside
        ) as folder:
            destination.write((folder / "model.onnx").read_bytes())

    def __repr__(self) -> str:
        text: str = onnx_library("onnx.printer").to_text(self.model_proto)
        return text


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    export_params: bool = True,
    verbose: bool | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool | None = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    dynamo: bool = True,
    external_data: bool | None = None,
    dynamic_shapes: Any = None,
    verify: bool = True,
    optimize: bool = True,
    report: bool = False,
) -> OnnxProgram:
    """Write a module or function as an ONNX model, with PyTorch's arguments.

    `args` are the example arguments: a tuple, or one tensor; a dict at its end holds keyword
    arguments. `f` is a path or a file opened for writing bytes, or None. Modules are in the mode
    `training` meanwhile. `dynamic_axes` and `dynamic_shapes` name sizes that may differ.
    `do_constant_folding`, `dynamo`, `optimize` and `report` have no effect: constants are folded.

    >>> import io, whet
    >>> layer, file = whet.nn.Linear(3, 2), io.BytesIO()
    >>> _ = whet.onnx.export(layer, whet.ones(4, 3), file, input_names=["x"], output_names=["y"])
    >>> len(file.getvalue()) > 100
    True
    """
    positional, named = _arguments(model, args, kwargs)
    with _in_mode(model, training):
        exported = importlib.import_module("whet.jit.export").export(model, *positional, **named)
        names = Names(exported, input_names, output_names)
        dynamic = Dynamic.of_torch(
            exported, names.inputs, names.outputs, dynamic_axes, dynamic_shapes)
        source = with_sizes(exported, model, positional, named, dynamic)
    proto = model_of(exported, names, checked_opset(opset_version), source).proto
    program = OnnxProgram(proto, samples_of(exported, names, source))
    _give_constants(proto, program.samples, export_params, keep_initializers_as_inputs)
    if verbose:
        print(program)
    if f is not None:
        program.save(f, external_data=external_data)
    return program


def _arguments(
    model: Any, args: Any, kwargs: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(positional, keyword) arguments of the example call."""
    positional = tuple(args) if isinstance(args, tuple | list) else (args,)
    if kwargs is not None or not positional or not isinstance(positional[-1], dict):
        return positional, dict(kwargs or {})
    parameters = inspect.signature(getattr(model, "forward", model)).parameters
    last = positional[-1]
    return (positional[:-1], last) if all(k in parameters for k in last) else (positional, {})


@contextlib.contextmanager
def _in_mode(model: Any, mode: TrainingMode) -> Iterator[None]:
    """Modules in a mode, and afterwards in the one that they were in."""
    modules = list(model.modules()) if hasattr(model, "modules") else []
    before = [m.training for m in modules]
    if modules and mode is not TrainingMode.PRESERVE:
        model.train(mode is TrainingMode.TRAINING)
    try:
        yield
    finally:
        for m, was in zip(modules, before):
            m.training = was


def _give_constants(
    proto: Any, samples: Sequence[model_file.Sample], held: bool, as_inputs: bool | None
) -> None:
    """Make initialisers inputs too, `as_inputs`, or inputs alone, where they are not `held`."""
    if held and not as_inputs:
        return
    numpy_helper, helper = onnx_library("onnx.numpy_helper"), onnx_library("onnx.helper")
    for tensor in proto.graph.initializer:
        info = helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        proto.graph.input.append(info)
        for sample in samples:
            sample.inputs[tensor.name] = numpy_helper.to_array(tensor)
    if not held:
        del proto.graph.initializer[:]
