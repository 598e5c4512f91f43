"""An exported function as an ONNX model, whose constants keep their names, with samples to check
it."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from whet.ir.graph import Graph

from ..errors import OnnxError
from ..library import onnx_library
from . import model_file
from .model import Model, Signature, build
from .model_file import Sample
from .named_sizes import Dynamic, Recordings, identifier
from .shorter_loops import shortened
from .translate import refuse_all

OLDEST = 17
OF_DATA = 6  # recordings of other data, where these decide sizes
MULTIPLES = 1, 2, 4, 8, 16, 32, 64  # of which sizes may have to be, tried in order
Call: TypeAlias = tuple[Any, tuple[Any, ...], dict[str, Any]]  # a function and its arguments


def newest_opset() -> int:
    """The newest opset that the installed package knows."""
    found: int = onnx_library("onnx.defs").onnx_opset_version()
    return found


def checked_opset(opset: int | None) -> int:
    """An opset that can be written; at first 20, which most runtimes know."""
    if opset is None:
        return min(20, newest_opset())
    if not OLDEST <= opset <= newest_opset():
        raise ValueError(f"opset: expected {OLDEST} to {newest_opset()}, got {opset}")
    return opset


class Names:
    """The names of inputs and outputs: those that are asked for, else the user's."""

    def __init__(
        self,
        exported: Any,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> None:
        self.inputs = _renamed("input", [v.name for v in exported.inputs], inputs)
        self.outputs = _renamed("output", [v.name for v in exported.results], outputs)
        twice = {n for n in self.inputs if n in self.outputs}
        self.outputs = [f"{n}_out" if n in twice else n for n in self.outputs]


def _renamed(what: str, own: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    wanted = list(wanted or ())
    if len(wanted) > len(own):
        raise ValueError(f"{what}_names: there are {len(own)} {what}s, not {len(wanted)}")
    names = [*wanted, *own[len(wanted) :]]
    if len(set(names)) < len(names):
        raise ValueError(f"{what}_names: a name is given twice: {names}")
    return names


@dataclass
class Source:
    """What a model is written of: a graph, and the arrays of its constants."""

    graph: Graph
    constants: Mapping[str, Any]
    other_call: Sample | None = None  # one of other sizes, by places

    @classmethod
    def of(cls, exported: Any) -> Source:
        """What a model is written of, from an exported function; where its sizes differ, they are
        expressions."""
        constants = {k: t._array for k, t in exported.constants.items()}
        if exported.sized is None:
            return cls(exported.graph, constants)
        dims = exported.sized.dims
        names = [identifier(n) for n in dims.names]
        all_values = dims.to_fit()
        merged = Recordings(
            [dict(zip(names, values)) for values in all_values],
            [exported.graph_at(values) for values in all_values],
            [constants] * len(all_values),
            names,
            {i: {p: (e.text(names), tuple(map(e.at, all_values))) for p, e in holes.items()}
             for i, holes in exported.sized.formulas().items()},
        ).merged()
        arrays = [
            dims.resized(i, a, all_values[-1]) for i, a in enumerate(exported.samples.inputs)
        ]
        made = exported.run(arrays)
        call = Sample(*[{str(i): a for i, a in enumerate(xs)} for xs in (arrays, made)])
        return cls(merged, constants, call)


def signature_of(exported: Any, names: Names, source: Source) -> Signature:
    """The values of a graph that are given, made and held."""
    inputs = source.graph.inputs
    outside = [x.value for x in inputs if x.place != "constant"]
    held = [
        (x.value, x.name, np.asarray(source.constants[x.name]))
        for x in inputs
        if x.place == "constant"
    ]
    notes = {f"whet.precondition.{i}": repr(p) for i, p in enumerate(exported.preconditions)}
    notes.update({f"whet.rewrite.{i}": text for i, text in enumerate(exported.rewrites)})
    return Signature(
        list(zip(outside, names.inputs)),
        [(v, name) for (v, _), name in zip(source.graph.results, names.outputs)],
        held,
        exported.name,
        notes,
    )


def model_of(
    exported: Any, names: Names, opset: int, source: Source | None = None, pairs: bool = False
) -> Model:
    """The model of an exported function; raises OnnxError where it cannot be expressed."""
    source = source or Source.of(exported)
    signature = signature_of(exported, names, source)
    model = build(source.graph.nodes, source.graph.types, signature, opset, pairs)
    refuse_all(model.problems, exported.name)
    return model


def samples_of(exported: Any, names: Names, source: Source | None = None) -> list[Sample]:
    """The call that was recorded, with names, and one of other sizes where these may differ."""
    own = Sample(
        dict(zip(names.inputs, exported.samples.inputs)),
        dict(zip(names.outputs, exported.samples.results)),
    )
    other = source.other_call if source else None
    if other is None:
        return [own]
    return [
        own,
        Sample(
            dict(zip(names.inputs, other.inputs.values())),
            dict(zip(names.outputs, other.results.values())),
        ),
    ]


def with_sizes(
    exported: Any, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any], dynamic: Dynamic
) -> Source:
    """An exported function with named sizes that may differ: it is recorded at several. Where its
    numbers are no sums of products of these, what Python makes of a size is followed. Sizes that
    data decide are found by recordings of other data."""
    call = fn, tuple(args), dict(kwargs)
    if any(n.op is not None and n.op.sized_by_data for n in exported.graph.nodes):
        try:
            return _as_recorded(call, dynamic.dims(exported), dynamic.names, True)
        except (RuntimeError, ValueError, IndexError) as error:
            warnings.warn(
                "export(): the model holds for data that decide the sizes of the example alone: "
                f"{error}", stacklevel=3)
    if not dynamic.names:
        return Source.of(exported)
    refused: list[Exception] = []
    # An image that is halved a few times has a size that is a multiple, perhaps an unstated one.
    for most in MULTIPLES:
        dims = dynamic.dims(exported, most)
        try:
            return _as_recorded(call, dims, dynamic.names)
        except OnnxError as error:
            followed = _as_followed(exported, call, dims)
            if followed is None:
                raise error
            return followed
        except (RuntimeError, ValueError, IndexError) as error:
            refused.append(error)
    raise refused[0]


def _as_followed(exported: Any, call: Call, dims: Any) -> Source | None:
    """The graph of any sizes that `whet.export` finds, if it finds one."""
    differ = {
        exported.inputs[at].name: {axis: dims.dims[k] for axis, k in axes.items()}
        for at, axes in dims.places.items()
    }
    export = importlib.import_module("whet.jit.export.export").export
    fn, args, kwargs = call
    try:
        return Source.of(export(fn, *args, dynamic=differ, **kwargs))
    except (RuntimeError, ValueError):
        return None


def _as_recorded(call: Call, dims: Any, names: Sequence[str], counts: bool = False) -> Source:
    """The graph of which the recordings at several sizes are cases. `counts`: data decide sizes,
    too, so that each recording is of other data."""
    record = importlib.import_module("whet.jit.export.export").graph_as_written
    graphs, all_constants = [], []
    all_values = dims.to_fit() if names else [()] * OF_DATA
    for k, values in enumerate(all_values):
        drawn = np.random.default_rng(k) if counts and k else None
        graph, constants, recorded = record(
            *call, functools.partial(_resized, dims, values, drawn))
        graphs.append(graph)
        all_constants.append(constants)
    if len({len(g.nodes) for g in graphs}) > 1:
        graphs = list(map(shortened, graphs))
    sizes = [dict(zip(names, values)) for values in all_values]
    merged = Recordings(sizes, graphs, all_constants, names).merged()
    other = Sample(*[{str(i): a for i, a in enumerate(arrays)}
                     for arrays in (recorded.inputs, recorded.results)])
    return Source(merged, all_constants[0], other)


def _resized(
    dims: Any, values: Sequence[int], drawn: np.random.Generator | None, i: int, a: np.ndarray
) -> np.ndarray:
    """An input's array with other sizes; its elements are drawn anew from those that are there."""
    made: np.ndarray = dims.resized(i, a, values)
    if drawn is None or not made.size:
        return made
    return made.reshape(-1)[drawn.integers(made.size, size=made.shape)]


def to_onnx(
    exported: Any,
    path: Any,
    opset: int | None = None,
    external_data: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    qdq: bool = False,
) -> None:
    """Write an exported function to a file: see `Exported.to_onnx`."""
    if path is None:
        raise OnnxError("to_onnx: a path is needed")
    names = Names(exported, input_names, output_names)
    source = Source.of(exported)
    model = model_of(exported, names, checked_opset(opset), source, qdq)
    samples = samples_of(exported, names, source)
    # where numbers go to bytes and back, a sum that lies between two may become the other one
    of_bytes = any(n.op_type == "DequantizeLinear" for n in model.proto.graph.node)
    model_file.save(model.proto, path, samples, external_data, of_bytes)
