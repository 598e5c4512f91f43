"""Small ONNX models, written as text or made of nodes."""
import numpy as np
import onnx
import whet.onnx
from onnx import helper, numpy_helper, parser

HEAD = '<ir_version: 9, opset_import: ["" : {opset}, "ai.onnx.ml" : 3]>\n'


def of_text(text, opset=18):
    """A model of ONNX's own notation."""
    return parser.parse_model(HEAD.format(opset=opset) + text)


def of_nodes(nodes, inputs, outputs, opset, constants=None, domains=()):
    """A model of nodes; types are those of the arrays in `inputs`, results have any type."""
    ports = [helper.make_tensor_value_info(
        n, helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype), None) for n, a in inputs.items()]
    results = [helper.make_empty_tensor_value_info(n) for n in outputs]
    weights = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(nodes, "graph", ports, results, weights)
    versions = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in domains)]
    return helper.make_model(graph, opset_imports=versions)


def run_node(op, opset, *arrays, outputs=1, **attributes):
    """The results of one node, of a version of its domain's operators."""
    domain = attributes.pop("domain", "")
    names = [f"x{i}" if a is not None else "" for i, a in enumerate(arrays)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    given = {n: a for n, a in zip(names, arrays) if a is not None}
    model = of_nodes([node], given, results, 21 if domain else opset,
                     domains=[(domain, opset)] if domain else ())
    found = whet.onnx.load(model)(*given.values())
    return found if outputs == 1 else list(found)


def weights_of(model):
    """The arrays of a model's initialisers."""
    return {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}


__all__ = ["onnx"]
