"""whet as a backend of the package `onnx`: its `Backend` interface, which standard suites drive.

    import onnx.backend.test
    import whet.onnx.backend
    suite = onnx.backend.test.BackendTest(whet.onnx.backend, __name__)
"""
from typing import Any

import numpy as np

from ..autograd.modes import no_grad
from .errors import OnnxError
from .library import onnx_library
from .loading import load
from .module import OnnxModule
from .read.values import as_array


class Prepared:
    """A model that is ready to run on arrays."""

    def __init__(self, module: OnnxModule) -> None:
        self.module = module

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The results of a list of inputs, or of a dict by name, as NumPy arrays."""
        with no_grad():
            if isinstance(inputs, dict):
                found = self.module(**inputs)
            else:                        # those with an initialiser come last, if at all
                ports = sorted(self.module.inputs, key=lambda p: not p.needed)
                if len(inputs) > len(ports):
                    raise OnnxError(f"the model takes {len(ports)} inputs, not {len(inputs)}")
                all_inputs = len(inputs) == len(ports)
                names = [p.name for p in (self.module.inputs if all_inputs else ports)]
                found = self.module(**dict(zip(names, inputs)))
        single = len(self.module.outputs) == 1
        return tuple(map(to_numpy, [found] if single else found))


def to_numpy(value: Any) -> Any:
    """A result as an array, or a list of them."""
    if value is None or isinstance(value, np.ndarray | dict):
        return value
    return [to_numpy(x) for x in value] if isinstance(value, list) else as_array(value)


def is_compatible(model: Any, device: str = "CPU", **kwargs: Any) -> bool:
    """Can the model be run?"""
    try:
        load(model)
    except ValueError:
        return False
    return supports_device(device)


def prepare(model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
    """Load a model for runs."""
    if not supports_device(device):
        raise ValueError(f"there is no device {device!r}")
    return Prepared(load(model))


def run_model(model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
    """Load a model and run it once."""
    return prepare(model, device).run(inputs)


def run_node(node: Any, inputs: Any, device: str = "CPU", outputs_info: Any = None,
             **kwargs: Any) -> tuple[Any, ...]:
    """Run one node."""
    helper = onnx_library("onnx.helper")
    names = [n for n in node.input if n]
    arrays = list(inputs.values()) if isinstance(inputs, dict) else list(inputs)
    typed = [helper.make_tensor_value_info(
        n, helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype), None)
        for n, a in zip(names, arrays)]
    results = [helper.make_empty_tensor_value_info(n) for n in node.output if n]
    version = kwargs.get("opset_version", onnx_library("onnx.defs").onnx_opset_version())
    opsets = [helper.make_opsetid("", version)]
    if node.domain:
        opsets.append(helper.make_opsetid(node.domain, kwargs.get("domain_version", 1)))
    graph = helper.make_graph([node], "node", typed, results)
    return run_model(helper.make_model(graph, opset_imports=opsets), arrays, device)


def supports_device(device: str) -> bool:
    """Is this a device of ours?"""
    return device.partition(":")[0] == "CPU"
