"""The public surface of ops: functions, methods, in-place methods and aliases by their names.

`FUNCTIONS` (whet.NAME), `METHODS` (Tensor.NAME) are filled here and published once, in
`whet/__init__` and `ops/__init__`.
"""
import functools
import inspect

from . import pointwise_family, registry
from .argument_guards import guard, needs_guard
from .out_arguments import with_out
from .pointwise_family import PointwiseOp
from .public_functions import compile_function

FUNCTIONS: dict = {}
METHODS: dict = {}
# name of a function of single elements -> (op, operands) of its arguments
ELEMENTWISE: dict = {}


def _doc(name, op):
    return op.doc or f"Elementwise {name.replace('_', ' ')}. See also the method of the same name."


def pointwise_function(name, fn, *, alias=(), method=True, inplace=True, **kw):
    """Define a pointwise op and its function, method and in-place method; returns the function."""
    op = PointwiseOp(name, fn, **kw)
    ps = list(inspect.signature(fn).parameters.values())
    head, star = [], False
    for p in ps:
        if p.kind is p.KEYWORD_ONLY and not star:
            head.append("*")
            star = True
        head.append(p.name if p.default is p.empty else f"{p.name}={p.default!r}")
    names = ", ".join(p.name for p in ps)
    sep = "" if star else ", *"
    env = {
        "op": op, "apply": registry.apply, "write_out": pointwise_family.write_out,
        "inplace": pointwise_family.inplace}
    call = compile_function(name, f"def {name}({', '.join(head)}{sep}, out=None):\n"
                            f"    if out is None: return apply(op, ({names},), {{}})\n"
                            f"    return write_out(op, ({names},), out)\n", env)
    call.__doc__ = _doc(name, op)
    call.op = op
    chosen = functools.partial(_operands, op)
    for n in (name, *alias):
        FUNCTIONS[n] = call
        ELEMENTWISE[n] = chosen
    if method:
        rest = ", ".join(["self", *head[1:]])
        m_names = ", ".join(["self", *(p.name for p in ps[1:])])
        m = compile_function(name, f"def {name}({rest}): return apply(op, ({m_names},), {{}})", env)
        m.__doc__ = f"See `whet.{name}`."
        for n in (name, *alias):
            METHODS[n] = m
    if inplace:
        tail = "".join(f"{p.name}, " for p in ps[1:])
        m = compile_function(f"{name}_", f"def {name}_({', '.join(head)}): "
                                         f"return inplace(op, {ps[0].name}, ({tail}))", env)
        m.__doc__ = f"`{name}`, in place."
        for n in (name, *alias):
            (METHODS if method else FUNCTIONS)[f"{n}_"] = m
        FUNCTIONS.setdefault(f"{name}_", m)
    return call


def _operands(op, *args, **kwargs):
    """The op, and its operands of the arguments of a call."""
    found = inspect.Signature(op.params).bind(*args, **kwargs)
    found.apply_defaults()
    return op, tuple(found.arguments.values())


def function(*names, method=True, out=False, out_casts=True):
    """Publish a function under its name (and others) as `whet.NAME` and, where it takes a tensor
    first, as a method.

    `out=True` adds the `out=` form by copying into it. Without `out_casts` that has the result's
    type.
    """
    def publish(fn):
        shown = with_out(fn, casts=out_casts) if out else fn
        fn.__module__ = "whet"
        for n in (fn.__name__.rstrip("_") if fn.__name__.endswith("__") else fn.__name__, *names):
            FUNCTIONS[n] = shown
            if method:
                METHODS[n] = fn
        return shown
    return publish


def method(*names):
    """Publish a function as a Tensor method only."""
    def publish(fn):
        for n in (fn.__name__, *names):
            METHODS[n] = fn
        return fn
    return publish


def guarded_method(name, fn):
    """A method as users call it."""
    in_place = name.endswith("_") and not name.endswith("__")
    return guard(fn, in_place or name in FUNCTIONS) if needs_guard(fn) else fn
