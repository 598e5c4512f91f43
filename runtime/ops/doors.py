"""Which ops' functions, methods and operators are entered through machine code.

Every pointwise function whose operands are all positional gets a native method and a native function; so do the plain forms of a few
others. The Python functions stay what they are behind them: they take every call that the entry does not know.
"""
from .. import tensor_base
from ..cpu import entries, native
from . import contract, pointwise, reduce
from .pointwise_family import PointwiseOp
from .registry import REGISTRY
from .surface import FUNCTIONS, METHODS, signature

WHOLE = {"dim": None, "keepdim": False}
# the operators of the native type: slot -> (op, dunder)
OPERATORS = {"add": (pointwise.add_op, "add"), "subtract": (pointwise.sub_op, "sub"), "multiply": (REGISTRY["mul"], "mul"),
             "true_divide": (pointwise.div_op, "truediv"), "matrix_multiply": (contract.matmul_op, "matmul"),
             "negative": (REGISTRY["neg"], "neg"), "absolute": (REGISTRY["abs"], "abs")}
# methods and functions beyond the pointwise ones: name -> (op, attributes, operands)
PLAIN = {"sum": (reduce.sum_op, WHOLE, 1), "mean": (reduce.mean_op, WHOLE, 1), "add": (pointwise.add_op, None, 2),
         "sub": (pointwise.sub_op, None, 2), "div": (pointwise.div_op, None, 2), "mm": (contract.matmul_op, None, 2)}

# in-place methods and operators; those of Python's operators are methods under their dunder names
INPLACE = {"add_": pointwise.add_op, "sub_": pointwise.sub_op, "mul_": REGISTRY["mul"], "div_": pointwise.div_op,
           "__iadd__": pointwise.add_op, "__isub__": pointwise.sub_op, "__imul__": REGISTRY["mul"], "__itruediv__": pointwise.div_op,
           **{f"{n}_": REGISTRY[n] for n in ("exp", "neg", "sqrt", "relu", "tanh", "sigmoid", "clamp_min", "clamp_max", "abs", "square")}}


def install():
    """Put the native entries in the place of the Python functions."""
    for op in REGISTRY.values():
        op.memo = op.memo or op.is_view
    layout = entries.L
    entries.reserve(len(layout.SLOTS))
    for k, slot in enumerate(layout.SLOTS):
        op, name = OPERATORS[slot]
        binary = slot not in layout.UNARY
        entries.door(op, None, 2 if binary else 1, METHODS.pop(f"__{name}__"), METHODS.pop(f"__r{name}__") if binary else None, number=k)
    entries.views(METHODS.pop("__getitem__"), METHODS["reshape"])
    METHODS["reshape"] = entries.method(tensor_base.Base, tensor_base.addresses["reshape"], "reshape", METHODS["reshape"].__doc__)
    for name, fn in list(FUNCTIONS.items()):
        op = getattr(fn, "op", None)
        if isinstance(op, PointwiseOp) and all(p.kind is not p.KEYWORD_ONLY for p in op.params):
            _enter(name, op, None, op.nin, fn)
    for name, (op, attrs, count) in PLAIN.items():
        _enter(name, op, attrs, count, FUNCTIONS[name])
    for name in INPLACE:
        slow = METHODS[name]
        k = entries.door(INPLACE[name], None, INPLACE[name].nin, slow, writer=name)
        METHODS[name] = entries.method(tensor_base.Base, tensor_base.addresses[f"method{k}"], name,
                                       f"{name}{signature(slow)}\n--\n\n{slow.__doc__ or ''}")


_numbers: dict = {}


def _enter(name, op, attrs, count, fn):
    """A native function and (where there is a method) a native method in front of the Python ones."""
    if (fn, "f") not in _numbers:
        if len(entries._doors) >= entries.L.THUNKS - 1:
            return
        k = entries.door(op, attrs, count, fn)
        doc = f"{fn.__name__}{signature(fn)}\n--\n\n{fn.__doc__ or ''}"
        made = native.function(tensor_base.addresses[f"function{k}"], fn.__name__, doc, native.METH_FASTCALL | native.METH_KEYWORDS)
        _numbers[fn, "f"] = made
    FUNCTIONS[name] = _numbers[fn, "f"]
    method = METHODS.get(name)
    if method is not None:
        if (method, "m") not in _numbers:
            if len(entries._doors) >= entries.L.THUNKS - 1:
                return
            k = entries.door(op, attrs, count, method)
            _numbers[method, "m"] = entries.method(tensor_base.Base, tensor_base.addresses[f"method{k}"], method.__name__,
                                                   f"{method.__name__}{signature(method)}\n--\n\n{method.__doc__ or ''}")
        METHODS[name] = _numbers[method, "m"]
