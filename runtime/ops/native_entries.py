"""Which ops' functions, methods and operators are entered through machine code.

Every pointwise function whose operands are all positional gets a native method and a native
function; so do the plain forms of a few others. The Python functions stay what they are behind
them: they take every call that the entry does not know.
"""
from .. import tensor_base
from ..cpu import repeated_calls
from . import contract, pointwise, reduce
from .argument_guards import overridable
from .declared_signatures import signature
from .pointwise_family import PointwiseOp
from .public_functions import PUBLIC
from .registry import REGISTRY
from .surface import FUNCTIONS, METHODS

WHOLE = {"dim": None, "keepdim": False}
# the operators of the native type: slot -> (op, dunder)
OPERATORS = {
    "add": (pointwise.add_op, "add"), "subtract": (pointwise.sub_op, "sub"),
    "multiply": (REGISTRY["mul"], "mul"), "true_divide": (pointwise.div_op, "truediv"),
    "matrix_multiply": (contract.matmul_op, "matmul"), "negative": (REGISTRY["neg"], "neg"),
    "absolute": (REGISTRY["abs"], "abs")}
# methods and functions beyond the pointwise ones: name -> (op, attributes, operands)
PLAIN = {
    "sum": (reduce.sum_op, WHOLE, 1), "mean": (reduce.mean_op, WHOLE, 1),
    "add": (pointwise.add_op, None, 2), "sub": (pointwise.sub_op, None, 2),
    "div": (pointwise.div_op, None, 2), "matmul": (contract.matmul_op, None, 2)}

# in-place methods and operators; those of Python's operators are methods under their dunder names
INPLACE = {
    "add_": pointwise.add_op,
    "sub_": pointwise.sub_op,
    "mul_": REGISTRY["mul"],
    "div_": pointwise.div_op,
    "__iadd__": pointwise.add_op,
    "__isub__": pointwise.sub_op,
    "__imul__": REGISTRY["mul"],
    "__itruediv__": pointwise.div_op,
    **{
        f"{n}_": REGISTRY[n]
        for n in ("exp", "neg", "sqrt", "relu", "tanh", "sigmoid", "abs", "square")}
}


def install():
    """Put the native entries in the place of the Python functions."""
    for op in REGISTRY.values():
        op.is_repeatable = op.is_repeatable or op.is_view
    base, at = tensor_base.Base, tensor_base.addresses
    operators = {}
    for slot, (op, name) in OPERATORS.items():
        unary = slot in repeated_calls.L.UNARY
        slow = overridable(METHODS.pop(f"__{name}__"))
        reflected = None if unary else overridable(METHODS.pop(f"__r{name}__"))
        repeated_calls.operator(slot, op, 1 if unary else 2, slow, reflected)
        operators[slow] = op.name
        if reflected is not None:
            PUBLIC[reflected] = getattr(base, f"__r{name}__")
    getitem, reshape = map(overridable, (METHODS.pop("__getitem__"), METHODS["reshape"]))
    repeated_calls.views(getitem, reshape)
    METHODS["reshape"] = PUBLIC[reshape] = repeated_calls.plain_method(
        base, at["reshape"], "reshape", _doc(METHODS["reshape"], "reshape"))
    PUBLIC[getitem] = base.__getitem__
    entered: dict = {}                       # names of one function share its entry
    for name, fn in list(FUNCTIONS.items()):
        op = getattr(fn, "op", None)
        if isinstance(op, PointwiseOp) and all(p.kind is not p.KEYWORD_ONLY for p in op.params):
            _enter(entered, name, op, None, op.nin, fn)
    for name, (op, attrs, count) in PLAIN.items():
        _enter(entered, name, op, attrs, count, FUNCTIONS[name])
    for name, op in INPLACE.items():
        written = METHODS[name]
        slow = overridable(written)
        METHODS[name] = PUBLIC[slow] = repeated_calls.method(
            base, at, op, None, op.nin, slow, name, _doc(written, name), writer=f"{op.name}_")

    # operands are asked what the method is, not the operator (as in PyTorch)
    PUBLIC.update({slow: METHODS[name] for slow, name in operators.items()})


def _doc(fn, name=None):
    """A docstring that carries the signature, as builtins have it; `$self` is left out of that of
    a bound operator."""
    parameters = signature(fn)
    if name and name.startswith("__"):
        parameters = f"($self{parameters[5:]}"
    return f"{name or fn.__name__}{parameters}\n--\n\n{fn.__doc__ or ''}"


def _enter(entered, name, op, attrs, count, fn):
    """A native function and (where there is a method) a native method in front of the Python
    ones."""
    at = tensor_base.addresses
    if fn not in entered:
        slow = overridable(fn)
        entered[fn] = PUBLIC[slow] = repeated_calls.function(
            at, op, attrs, count, slow, _doc(fn))
    FUNCTIONS[name] = entered[fn]
    method = METHODS.get(name)
    if method is not None:
        if method not in entered:
            slow = overridable(method)
            entered[method] = PUBLIC[slow] = repeated_calls.method(
                tensor_base.Base, at, op, attrs, count, slow, method.__name__, _doc(method))
        METHODS[name] = entered[method]
