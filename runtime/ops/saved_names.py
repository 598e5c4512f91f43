"""What nodes have saved, by PyTorch's names: `grad_fn._saved_self`, `grad_fn._saved_result`.

Operands go by the names that they have in the op's function, the first of which is `self`. Which
of them an op saves is up to its backward here: `relu` saves its operand, where PyTorch saves the
result. The attributes are made when a program first looks at a graph.
"""
import functools
import inspect

from .. import tensor_base
from ..autograd import calls_of_nodes
from ..autograd.node import RELEASED, Node, first_look
from ..op_table import REGISTRY
from .surface import FUNCTIONS

MOST_RESULTS = 8                 # that an op saves
# ops that are made by functions of other names
OPERANDS = {"linear": ("input", "weight", "bias"), "convolution": ("input", "weight", "bias"),
            "layer_norm": ("input", "weight", "bias"), "batch_norm": ("input", "weight", "bias"),
            "gelu": ("self",), "elu": ("self", "alpha", "scale", "input_scale")}


def _parameters(fn):
    """The names of a function's parameters; of those in machine code, what they say of themselves.
    `inspect.signature` takes ten times as long."""
    fn = inspect.unwrap(fn)
    if hasattr(fn, "__code__"):
        return fn.__code__.co_varnames[:fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount]
    return [name.partition("=")[0] for name in fn.__text_signature__[1:-1].split(", ")]


def _of_function(op):
    """The names of the operands of an op, as its function has them, or else as its backward has."""
    if op.name in OPERANDS:
        return OPERANDS[op.name]
    if op.name in FUNCTIONS:
        return ["self" if name in ("input", "tensor") else name
                for name in _parameters(FUNCTIONS[op.name])]
    return [name.lstrip("_") for name in _of_backward(op)] or ["self", "other"]


def _of_backward(op):
    """The names of operands and attributes in the backward of an op, if that is a function."""
    backward = getattr(op, "_vjp", None)
    return _parameters(backward)[2:] if backward else ()


def saved_by(op):
    """Name -> (what it is, which one): what an op saves."""
    is_ours = op.name in REGISTRY and REGISTRY[op.name] is op
    return _saved_by(op) if is_ours else {}              # of a Function of a user's


@functools.cache
def _saved_by(op):
    saves = op.saves
    names = {name: ("input", i) for i, name in enumerate(_of_function(op))
             if saves is None or i in saves}
    if op.saves_output:
        outs = sorted(op.saved_outputs)
        names.update({f"result{i}": ("output", i) for i in outs} or {"result": ("output", 0)})
    return names


class _Saved:
    """One of the attributes."""

    def __init__(self, name):
        self.name = name

    def __get__(self, node, owner=None):
        if node is None:
            return self
        if node.released:
            raise RuntimeError(RELEASED)
        kind, i = saved_by(node.op).get(self.name, (None, None))
        if kind == "output":
            return node.saved_outputs()[i]
        if kind == "input":
            x = node.saved_inputs()[i] if i < len(node.inputs) else None
            return x if isinstance(x, tensor_base.Base | int | float | complex) else None
        if self.name in node.attrs:
            return node.attrs[self.name]
        raise AttributeError(f"'{node.name()}' object has no attribute '_saved_{self.name}'")


def _dir(node):
    """The attributes of a node: those of other nodes' ops are not among them."""
    own = [name for name in object.__dir__(node) if not name.startswith("_saved_")]
    return own + [f"_saved_{name}" for name in (*saved_by(node.op), *(node.attrs or ()))]


def offer():
    """Give nodes the attributes."""
    results = ["result", *(f"result{i}" for i in range(MOST_RESULTS))]
    names = {name for op in REGISTRY.values() if op.differentiable
             for name in (*results, *_of_function(op), *_of_backward(op))}
    for cls in (Node, tensor_base.NativeNode):
        if cls is not None:
            setattr(cls, "__dir__", _dir)  # noqa: B010  (mypy knows no other way)
            for name in names:
                setattr(cls, f"_saved_{name}", _Saved(name))


first_look += [offer, calls_of_nodes.offer]
