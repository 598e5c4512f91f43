"""A graph as a model: inputs and outputs with names, initialisers, types with names of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from whet.ir.graph import Node
from whet.ir.values import Type, short

from ..library import onnx_library
from .complex_values import as_pairs, is_complex, joined, split, type_of_pairs
from .formulas import FormulaBuilder
from .operators import element_code, needs, used_nodes
from .translate import Problem, Translation, translated
from .values import Pair, Value


@dataclass
class Signature:
    """What a model is given and gives: values of the graph with their names. `constants` are values
    that it holds."""

    inputs: Sequence[tuple[int, str]]
    outputs: Sequence[tuple[int, str]]
    constants: Sequence[tuple[int, str, np.ndarray]] = ()
    name: str = "graph"
    notes: Mapping[str, str] = field(default_factory=dict)


class Model:
    """A model that is written, and what of it could not be."""

    def __init__(self, proto: Any, problems: list[Problem]) -> None:
        self.proto, self.problems = proto, problems


def build(
    nodes: Sequence[Node],
    types: Mapping[int, Type],
    signature: Signature,
    opset: int,
    pairs: bool = False,
) -> Model:
    """The model of recorded nodes. `pairs`: layers of bytes are real ones between `QuantizeLinear`
    and `DequantizeLinear`."""
    b = FormulaBuilder(opset)
    b.pairs = pairs
    b.names.taken.update(name for _, name in signature.outputs)
    values: dict[int, Value] = {}
    inputs: dict[int, Value] = {}
    for number, name in signature.inputs:
        t = type_of_pairs(types[number])
        inputs[number] = x = Value(_free(b, name), short(t.dtype), t.shape)
        values[number] = split(b, x) if is_complex(types[number]) else x
        for axis, n in enumerate(t.shape):
            if not isinstance(n, int | np.integer) and str(n).isidentifier():
                b.dims.setdefault(str(n), (x, axis))
    for number, name, array in signature.constants:
        x = b.initialiser(_free(b, name), as_pairs(array))
        values[number] = split(b, x) if is_complex(types[number]) else x
    walk = translated(nodes, types, b, values, [number for number, _ in signature.outputs])
    _name_outputs(b, walk, signature)
    return Model(_proto(b, types, signature, inputs), walk.problems)


def _free(b: FormulaBuilder, name: str) -> str:
    """An input's name, which an output may have too."""
    b.names.taken.discard(name) if name in b.names.taken else None
    return b.names.fresh(name)


def _name_outputs(b: FormulaBuilder, walk: Translation, signature: Signature) -> None:
    """Give results their names, by nodes that do nothing else."""
    helper = onnx_library("onnx.helper")
    values = [walk.memory.read(number) for number, _ in signature.outputs]
    values = [joined(b, x) if isinstance(x, Pair) else x for x in values]
    made = {o: n for n in b.nodes for o in n.output}
    for value, (_, name) in zip(values, signature.outputs):
        node = made.pop(value.name, None)
        if node is None or any(value.name in needs(n) for n in b.nodes):
            b.nodes.append(
                helper.make_node(
                    "Identity", [value.name], [name], name=b.names.fresh(f"node_{name}")
                )
            )
        else:
            node.output[list(node.output).index(value.name)] = name


def _proto(
    b: FormulaBuilder,
    types: Mapping[int, Type],
    signature: Signature,
    input_values: Mapping[int, Value],
) -> Any:
    helper, numpy_helper = onnx_library("onnx.helper"), onnx_library("onnx.numpy_helper")
    wanted = {name for _, name in signature.outputs}
    nodes = used_nodes(b.nodes, wanted)
    inputs = [
        _described(input_values[number].name, types[number]) for number, _ in signature.inputs
    ]
    outputs = [_described(name, types[number]) for number, name in signature.outputs]
    arrays = [
        numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name)
        for name, a in b.arrays.items()
        if name in wanted
    ]
    graph = helper.make_graph(nodes, signature.name, inputs, outputs, initializer=arrays)
    imports = [helper.make_opsetid("", b.opset)]
    from ... import __version__

    proto = helper.make_model(
        graph,
        opset_imports=imports,
        producer_name="whet",
        producer_version=__version__,
        ir_version=max(8, helper.find_min_ir_version_for(imports)),
    )
    for key, value in signature.notes.items():
        entry = proto.metadata_props.add()
        entry.key, entry.value = key, value
    return proto


def _described(name: str, t: Type) -> Any:
    t = type_of_pairs(t)
    sizes = [int(n) if isinstance(n, int | np.integer) else str(n) for n in t.shape]
    return onnx_library("onnx.helper").make_tensor_value_info(
        name, element_code(short(t.dtype)), sizes
    )
