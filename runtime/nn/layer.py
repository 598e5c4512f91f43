"""`@layer`: a Module that is one function with remembered arguments, written as its fields.

    @layer("elu")
    class ELU(Module):
        alpha: float = 1.0
        inplace: bool = False

gets `__init__(self, alpha=1.0, inplace=False)`, a forward that is `F.elu(input, alpha=self.alpha,
inplace=self.inplace)`, and a repr that shows the fields. What the class defines itself is left as
it is; `prepare(self)`, if there, runs at the end of `__init__`. A field annotated `Buffer` is
registered as one. `shown` names the fields to print, `unpassed` those that the function does not
take, `keyword_only` the first field that can only be given by name.
"""
import inspect
import sys

from .. import declared_for_tracing
from .module import Module

_MISSING = object()


def layer(function=None, inputs="input"):
    """Write `__init__`, `forward` and `extra_repr` of a Module class from its annotated fields."""
    def write(cls):
        fields = inspect.get_annotations(cls)
        defaults = {name: cls.__dict__.get(name, _MISSING) for name in fields}
        for name in fields:
            if defaults[name] is not _MISSING:
                delattr(cls, name)
        names = list(fields)
        shown = cls.__dict__.get("shown", getattr(cls, "shown", None))
        cls.shown = (tuple(names) if shown is None else
                     tuple(shown.split()) if isinstance(shown, str) else tuple(shown))
        scope = {"Module": Module, "_defaults": defaults}
        if "__init__" not in cls.__dict__:
            args = ["self"]
            for name in names:
                if name == getattr(cls, "keyword_only", None):
                    args.append("*")
                args.append(name if defaults[name] is _MISSING else f"{name}=_defaults[{name!r}]")
            lines = [f"def __init__({', '.join(args)}):", " Module.__init__(self)"]
            for name, kind in fields.items():
                buffer = getattr(kind, "__name__", kind) == "Buffer"
                lines.append(f" self.register_buffer({name!r}, {name})"
                             if buffer else f" self.{name} = {name}")
            if hasattr(cls, "prepare"):
                lines.append(" self.prepare()")
            _define(cls, "\n".join(lines), scope, fields)
        if function is not None and "forward" not in cls.__dict__:
            passed = [f"{n}=self.{n}" for n in names if n not in getattr(cls, "unpassed", ())]
            _define(cls, f"def forward(self, {inputs}):\n return "
                         f"F.{function}({', '.join([inputs, *passed])})", None, {})
        return cls
    return write


def _define(cls, source, scope, annotations):
    code = compile(source, f"<layer {cls.__name__}>", "exec")
    if scope is None:                        # the class's own module knows the names
        made: dict = {}
        exec(code, sys.modules[cls.__module__].__dict__, made)
    else:
        before = set(scope)
        made = {k: v for k, v in declared_for_tracing.run(code, scope).items()
                if k not in before and k != "__builtins__"}
    (name, method), = made.items()
    method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
    method.__annotations__ = dict(annotations)
    setattr(cls, name, method)


def fields_repr(self):
    """`name=value` for the shown fields; `inplace` only where it is true."""
    return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.shown
                     if name != "inplace" or self.inplace)


class Layer(Module):
    """A Module written with `@layer`."""
    shown: str | tuple | None = None
    unpassed: tuple = ()

    def extra_repr(self):
        return fields_repr(self)
