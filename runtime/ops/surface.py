"""The public surface of ops: functions, methods, in-place methods and aliases by their names.

`FUNCTIONS` (whet.NAME), `METHODS` (Tensor.NAME) are filled here and published once, in
`whet/__init__` and `ops/__init__`.
"""
import functools
import inspect

from . import docstrings, pointwise_family, registry
from .argument_guards import guard, needs_guard
from .out_arguments import with_out
from .out_types import OutType
from .pointwise_family import PointwiseOp
from .public_functions import compile_function

FUNCTIONS: dict = {}
METHODS: dict = {}
# name of a function of single elements -> (op, operands) of its arguments
ELEMENTWISE: dict = {}


def pointwise_function(name, fn, *, alias=(), method=True, inplace=True, **kw):
    """Define a pointwise op and its function, method and in-place method; returns the function.

    `doc` and `example` among `kw` give all of them docstrings (see `PointwiseOp`).
    """
    op = PointwiseOp(name, fn, **kw)
    forms = Forms(name, fn, op, docstrings.of_elementwise(
        name, op.doc or f"Elementwise {name}.", op.example, method))
    names = name, *alias
    call, chosen = forms.function(), functools.partial(_operands, op)
    for n in names:
        FUNCTIONS[n] = call
        ELEMENTWISE[n] = chosen
    if method:
        METHODS.update(dict.fromkeys(names, forms.method()))
    if inplace:
        written = forms.in_place()
        (METHODS if method else FUNCTIONS).update({f"{n}_": written for n in names})
        FUNCTIONS.setdefault(f"{name}_", written)
    return call


class Forms:
    """The forms in which a pointwise op is called, each with the parameters of its formula. They
    are compiled from source, so that a call costs no look at `*args`."""

    def __init__(self, name, fn, op, docs):
        self.name, self.op, self.docs = name, op, docs
        self.parameters = list(inspect.signature(fn).parameters.values())
        # what stands between the brackets of the definition
        self.head, self.has_star = [], False
        for p in self.parameters:
            if p.kind is p.KEYWORD_ONLY and not self.has_star:
                self.head.append("*")
                self.has_star = True
            self.head.append(p.name if p.default is p.empty else f"{p.name}={p.default!r}")

    def compiled(self, name, source, doc):
        """A function of its source."""
        made = compile_function(name, source, {
            "op": self.op, "apply": registry.apply, "write_out": pointwise_family.write_out,
            "inplace": pointwise_family.inplace})
        made.__doc__ = doc
        return made

    def function(self):
        """`whet.NAME(input, ..., *, out=None)`"""
        names = ", ".join(p.name for p in self.parameters)
        head = ", ".join(self.head if self.has_star else [*self.head, "*"])
        made = self.compiled(
            self.name,
            f"def {self.name}({head}, out=None):\n"
            f"    if out is None: return apply(op, ({names},), {{}})\n"
            f"    return write_out(op, ({names},), out)\n", self.docs[0])
        made.op = self.op
        return made

    def method(self):
        """`Tensor.NAME(self, ...)`"""
        head = ", ".join(["self", *self.head[1:]])
        names = ", ".join(["self", *(p.name for p in self.parameters[1:])])
        return self.compiled(
            self.name, f"def {self.name}({head}): return apply(op, ({names},), {{}})",
            self.docs[1])

    def in_place(self):
        """`NAME_(input, ...)`"""
        first, *others = [p.name for p in self.parameters]
        rest = "".join(f"{other}, " for other in others)
        return self.compiled(
            f"{self.name}_", f"def {self.name}_({', '.join(self.head)}): "
            f"return inplace(op, {first}, ({rest}))", self.docs[2])


def _operands(op, *args, **kwargs):
    """The op, and its operands of the arguments of a call."""
    found = inspect.Signature(op.params).bind(*args, **kwargs)
    found.apply_defaults()
    return op, tuple(found.arguments.values())


def function(*names, method=True, out=False, out_type=OutType.RESULT):
    """Publish a function under its name (and others) as `whet.NAME` and, where it takes a tensor
    first, as a method.

    `out=True` adds the `out=` form by copying into it, which has one of the types of `out_type`.
    """
    def publish(fn):
        shown = with_out(fn, types=out_type) if out else fn
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
