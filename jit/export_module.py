"""The module `whet.export`, which is called: `whet.export(fn, *example_args)` gives a function or
module as a graph of its own. PyTorch's names for that are here, too: `whet.export.export(module,
args)`, `save`, `load` and `Dim`."""
from __future__ import annotations

import inspect
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import load_archive
from .export import Exported as ExportedProgram
from .export import export as _export
from .export.dims import AUTO
from .guards.sizes import Dim as _Dim

__all__ = ["Dim", "ExportedProgram", "dims", "export", "load", "save"]


class Dim(_Dim):
    """A size that may differ between calls, by its name.

    >>> import whet
    >>> whet.export.Dim("batch", max=64)
    Dim('batch', min=0, max=64)
    """
    # a size that differs where it can; one that must; and one that is the same in all calls
    AUTO: Any = AUTO
    DYNAMIC: Any = object()
    STATIC: Any = None


def dims(
    *names: str, min: int = 0, max: int | None = None, multiple: int = 1
) -> tuple[Dim, ...]:
    """A `Dim` for each name, with the same bounds.

    >>> import whet
    >>> rows, columns = whet.export.dims("rows", "columns", min=2, max=64)
    >>> program = whet.export.export(whet.nn.ReLU(), (whet.ones(3, 4),),
    ...                              dynamic_shapes={"input": {0: rows, 1: columns}})
    >>> program.module()(whet.ones(7, 5)).shape
    whet.Size([7, 5])
    """
    return tuple([Dim(name, min=min, max=max, multiple=multiple) for name in names])


def export(mod: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any] | None = None, *,
           dynamic_shapes: Any = None, strict: bool = False,
           preserve_module_call_signature: Sequence[str] = (),
           prefer_deferred_runtime_asserts_over_guards: bool = False) -> ExportedProgram:
    """`whet.export(mod, *args, **kwargs)` by PyTorch's arguments. `dynamic_shapes`: for each
    argument, in order or by name, the dimensions that may differ, each with its `Dim`.

    >>> import whet
    >>> program = whet.export.export(whet.nn.Linear(2, 3).eval(), (whet.ones(4, 2),),
    ...                              dynamic_shapes={"input": {0: whet.export.Dim("batch")}})
    >>> program.module()(whet.ones(7, 2)).shape
    whet.Size([7, 3])
    """
    kwargs = kwargs or {}
    return _export(mod, *args, dynamic=_dynamic(mod, args, kwargs, dynamic_shapes), **kwargs)


def _dynamic(mod: Any, args: Sequence[Any], kwargs: Mapping[str, Any], shapes: Any) -> Any:
    """The dimensions that may differ, by the names of arguments."""
    if not shapes:
        return None
    if not isinstance(shapes, dict):
        called = mod.forward if hasattr(mod, "forward") else mod
        names = [*inspect.signature(called).bind(*args, **kwargs).arguments]
        shapes = dict(zip(names, shapes))
    found = {name: _dimensions(name, sizes) for name, sizes in shapes.items()}
    return {name: dims for name, dims in found.items() if dims}


def _dimensions(name: str, sizes: Any) -> dict[int, Any]:
    """{dimension: its Dim} of one argument."""
    numbered = sizes.items() if isinstance(sizes, dict) else enumerate(sizes or ())
    return {i: Dim(f"{name}_{i}") if d is Dim.DYNAMIC else d for i, d in numbered if d is not None}


def save(ep: ExportedProgram, f: str | os.PathLike[str], *, extra_files: Any = None,
         opset_version: Any = None) -> None:
    """Write an exported function into an archive, as its method `save` does.

    >>> import os
    >>> import tempfile
    >>> import whet
    >>> path = os.path.join(tempfile.mkdtemp(), "double.pt2")
    >>> program = whet.export.export(whet.nn.ReLU(), (whet.ones(2),))
    >>> whet.export.save(program, path)
    >>> whet.export.load(path).module()(whet.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    ep.save(f)


def load(f: str | os.PathLike[str], *, extra_files: Any = None,
         expected_opset_version: Any = None) -> ExportedProgram:
    """The exported function in an archive, as `whet.load` gives it.

    >>> import whet
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "doubled.whet")
    >>> whet.export(lambda x: x * 2, whet.ones(2)).save(path)
    >>> whet.export.load(path)(whet.tensor([1., 3.]))
    tensor([2., 6.])
    """
    return load_archive(f)


class _CallableModule(types.ModuleType):
    """A module that is called as the function that it is about."""

    __call__ = staticmethod(_export)
    __doc__ = _export.__doc__



sys.modules[__name__].__class__ = _CallableModule
