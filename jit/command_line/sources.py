"""Where the command's models come from: archives, ONNX files, and names in Python modules; and
what they are written as."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import whet

from ..export.errors import ExportError, PreconditionError
from .arrays import in_order

# A size that a file names, in the example call that is drawn, and how much larger each further one
# is. A network that halves images a few times takes multiples alone: these are tried then.
EXAMPLES = (4, 1), (32, 32)


def opened(path: str) -> Any:
    """The exported function of an archive or an ONNX file."""
    return of_onnx(path, []) if path.endswith(".onnx") else whet.load(path)


def exported(
    source: str, files: Sequence[str], dynamic: Sequence[str], rewrites: Sequence[str]
) -> Any:
    """What a source is as an exported function: an archive or ONNX file, or `package.module:name`
    of a function or module. `files` have the example's arrays, `dynamic` says which sizes
    differ."""
    sizes = declared(dynamic)
    if source.endswith(".onnx"):
        return of_onnx(source, files, sizes, rewrites)
    if not os.path.exists(source) and ":" in source:
        fn = imported(source)
        args = [whet.from_numpy(np.load(f, allow_pickle=False)) for f in files]
        if hasattr(fn, "eval"):
            fn.eval()
        return whet.export(fn, *args, dynamic=sizes or None, rewrites=rewrites)
    if files or sizes or rewrites:
        raise ValueError(f"{source} is exported already: no inputs, sizes or rewrites are taken")
    return whet.load(source)


def imported(source: str) -> Any:
    """A function or module by its name, `package.module:name`; the folder of the call is looked
    into first."""
    where, _, name = source.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(where)
    finally:
        sys.path.pop(0)
    for part in name.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{source}: {where} has no {name}")
        found = getattr(found, part)
    return found


def declared(dynamic: Sequence[str]) -> dict[str, dict[int, Any]]:
    """The sizes that differ, of texts like `x:0=batch` and `x:0=batch:64`."""
    out: dict[str, dict[int, Any]] = {}
    for said in dynamic:
        place, _, size = said.partition("=")
        name, _, axis = place.rpartition(":")
        dim, _, most = size.partition(":")
        if not name or not axis.isdecimal() or not dim or (most and not most.isdecimal()):
            raise ValueError(f"--dynamic: expected x:0=batch or x:0=batch:64, got {said!r}")
        out.setdefault(name, {})[int(axis)] = whet.jit.Dim(dim, max=int(most) if most else None)
    return out


# ---- ONNX files ----------------------------------------------------------------------------------
def of_onnx(
    path: str,
    files: Sequence[str],
    sizes: dict[str, dict[int, Any]] | None = None,
    rewrites: Sequence[str] = (),
) -> Any:
    """An ONNX model as an exported function, for the sizes that the file leaves open. The example
    is drawn where no arrays are given."""
    import whet.onnx

    model: Any = whet.onnx.load(path).eval()
    ports = [p for p in model.inputs if p.needed]
    if files:
        example = in_order([p.name for p in ports], list(files))
        return of_example(path, model, ports, example, sizes, rewrites)
    refused: list[Exception] = []
    for least, step in EXAMPLES:
        try:
            return of_example(path, model, ports, drawn(ports, least, step), sizes, rewrites)
        except (RuntimeError, IndexError, whet.onnx.OnnxError) as e:
            refused.append(e)
    first = str(refused[0]).splitlines()[0]
    raise ValueError(f"{path}: the model takes no arrays that were drawn: {first}; export it with "
                     "arrays of an example first")


def of_example(
    path: str, model: Any, ports: Sequence[Any], example: Sequence[Any],
    sizes: dict[str, dict[int, Any]] | None, rewrites: Sequence[str]
) -> Any:
    """An ONNX model as an exported function, by the arrays of an example."""
    args = [whet.from_numpy(a) for a in example]
    open_ = left_open(ports, names_in_python(model, ports)) if sizes is None or not sizes else sizes
    try:
        return whet.export(model, *args, dynamic=open_ or None, rewrites=rewrites)
    except (ExportError, PreconditionError) as e:
        if sizes or not open_:
            raise
        said = str(e).splitlines()[0]
        print(f"{path}: sizes are those of the example alone: {said}", file=sys.stderr)
        return whet.export(model, *args, rewrites=rewrites)


def names_in_python(model: Any, ports: Sequence[Any]) -> list[str]:
    """What an exported function calls these inputs: the file's names where they are names in
    Python."""
    named = inspect.signature(model).parameters
    return [p.name if p.name in named else f"args.{i}" for i, p in enumerate(ports)]


def left_open(ports: Sequence[Any], names: Sequence[str]) -> dict[str, dict[int, Any]]:
    """The sizes that a file leaves open, by the names that it has for them; `names` are those of
    the inputs."""
    out: dict[str, dict[int, Any]] = {}
    for name_of_input, p in zip(names, ports):
        for axis, n in enumerate(p.sizes or ()):
            if type(n) is not int:
                name = n if isinstance(n, str) and n.isidentifier() else f"{p.name}_{axis}"
                name = "".join(c if c.isalnum() else "_" for c in name)
                out.setdefault(name_of_input, {})[axis] = whet.jit.Dim(name)
    return out


def drawn(ports: Sequence[Any], least: int, step: int) -> list[Any]:
    """Arrays of an example, as a file describes its inputs. `least` is the first size that the file
    leaves open, and each further one is larger by `step`."""
    random, known, out = np.random.default_rng(0), dict[Any, int](), []
    for p in ports:
        if p.sizes is None or p.element is None:
            raise ValueError(f"the file does not say what input {p.name!r} is: give its array")
        shape = [
            n if type(n) is int else known.setdefault(n or (p.name, k), least + step * len(known))
            for k, n in enumerate(p.sizes)
        ]
        dtype = np.dtype(p.element.numpy)
        some = random.integers(0, 2, shape) if dtype.kind in "iub" else random.normal(size=shape)
        out.append(some.astype(dtype))
    return out


# ---- what comes of them --------------------------------------------------------------------------
def write(model: Any, path: str) -> None:
    """Write an exported function as what the path ends in, and say what was written."""
    ending = os.path.splitext(path)[1]
    made = [path]
    if ending == ".whet":
        model.save(path)
    elif ending == ".onnx":
        model.to_onnx(path)
    elif ending in (".so", ".o"):
        made = model.compile(path)
    else:
        raise ValueError(f"the output ends in .whet, .onnx, .so or .o, not {path!r}")
    for file in made:
        print(f"{file}: {os.path.getsize(file):,} bytes")
