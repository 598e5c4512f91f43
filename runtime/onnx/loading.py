"""`load`: from a file to a module."""
import os
from pathlib import Path
from typing import Any

from .errors import OnnxError, UnsupportedOnnx
from .library import onnx_library
from .module import OnnxModule
from .read.graph_reader import Reader
from .read.model_facts import Model, Scope, initializers
from .read.plan import FAILURES
from .read.signature import Port


def load(model: Any, *, folder: str | os.PathLike[str] | None = None) -> OnnxModule:
    """A Module of an ONNX model: a path, the bytes of a file, or a `ModelProto`.

    Data that lies beside the file is looked for in `folder`, by default the file's own. Nothing of
    a file is ever executed. What cannot be run raises `UnsupportedOnnx` with a list of all of it.

        model = whet.onnx.load("model.onnx")
        y = model(x)

    >>> import whet
    >>> import io
    >>> file = io.BytesIO()
    >>> _ = whet.onnx.export(whet.nn.ReLU(), (whet.ones(2),), file)
    >>> whet.onnx.load(file.getvalue())(whet.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    proto, beside = read(model)
    where = Path(folder) if folder is not None else beside
    if not proto.HasField("graph"):
        raise OnnxError("the file has no graph")
    try:
        return module_of(proto, where)
    except OnnxError:
        raise
    except (*FAILURES, MemoryError) as error:        # what protobuf gives of a damaged file
        raise OnnxError(f"the model cannot be read: {error}") from error


def module_of(proto: Any, where: Path | None) -> OnnxModule:
    """The Module of a ModelProto."""
    facts, scope = Model(proto, where), Scope.of(proto.opset_import)
    check_versions(scope)
    members = initializers(proto.graph, where)
    reader = Reader(facts, scope, members=members)
    plan = reader.graph(proto.graph)
    if facts.faults:
        raise UnsupportedOnnx(facts.faults)
    module = OnnxModule(proto.graph.name,
                        tuple(Port.of(v, v.name not in members) for v in proto.graph.input),
                        tuple(map(Port.of, proto.graph.output)))
    for name, array in members.items():
        module.add_member(name, array, name in facts.computed_with)
    module.plan, module.constants = plan, plan.held()
    module.reads(list(reader.read))
    describe(module, proto, scope)
    return module


def read(model: Any) -> tuple[Any, Path | None]:
    """The ModelProto, and the folder that it lies in."""
    onnx = onnx_library()
    if isinstance(model, onnx.ModelProto):
        return model, None
    path = None
    if not isinstance(model, bytes | bytearray | memoryview):
        path = Path(os.fspath(model))
        model = path.read_bytes()
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(bytes(model))
    except Exception as error:               # protobuf's DecodeError has no public base
        raise OnnxError(f"this is no ONNX model, or a damaged one: {error}") from error
    return proto, path.parent if path else None


def check_versions(scope: Scope) -> None:
    """An error where the model needs operators that are newer than those that are known."""
    newest = onnx_library("onnx.defs").onnx_opset_version()
    wanted = scope.opsets.get("", 0)
    if wanted > newest:
        raise OnnxError(f"the model needs version {wanted} of ai.onnx, and {newest} is the newest "
                        "that the installed package onnx knows")


def describe(module: OnnxModule, proto: Any, scope: Scope) -> None:
    """Keep what the file states about itself."""
    module.opsets = dict(scope.opsets)
    module.metadata = {p.key: p.value for p in proto.metadata_props}
    module.producer = f"{proto.producer_name} {proto.producer_version}".strip()
    module.doc = proto.doc_string or proto.graph.doc_string
    module.ir_version, module.model_version = proto.ir_version, proto.model_version
