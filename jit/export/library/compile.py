"""An exported function becomes a library: its programs are made for all levels, then one object
file of all, then what was asked for."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from whet.autograd.modes import beyond
from whet.cpu import pool
from whet.passes.lower_llvm.one_object import Texts, one_object

from ..errors import ExportError
from . import header, layout, linker, model_code, targets, worker
from .code_parts import Facts
from .data import Described, ListText, Told, Weights, extent
from .level_program import LevelProgram

INSIDE, BESIDE = "inside", "beside"


def compile_library(
    exported: Any,
    path: str | os.PathLike[str],
    *,
    target: str | Sequence[str] = targets.HERE,
    weights: str = INSIDE,
    name: str | None = None,
    threads: int | None = None,
) -> list[str]:
    """Write the library of an exported function and what belongs to it; gives the paths."""
    beyond("it writes a library")
    path = os.fspath(path)
    stem, ending = os.path.splitext(path)
    if ending not in (".so", ".o"):
        raise ExportError(f"compile: {path} ends neither in .so nor in .o")
    if weights not in (INSIDE, BESIDE):
        raise ExportError(f"compile: weights are {INSIDE!r} or {BESIDE!r}, not {weights!r}")
    prefix = identifier(os.path.basename(stem) if name is None else name)
    system = targets.chosen(target)
    most = pool.get_num_threads() if threads is None else threads
    if not 1 <= most <= layout.MOST_THREADS:
        bounds = f"from 1 to {layout.MOST_THREADS}"
        raise ExportError(f"compile: threads must be {bounds}, not {threads}")
    refuse_sizes(exported)
    beside = f"{stem}.weights" if weights == BESIDE else None
    with tempfile.TemporaryDirectory() as folder:
        made = Library(exported, system, prefix, most, folder)
        code = made.object(None if beside else os.path.join(folder, "weights"))
        files = {stem + ".h": made.header(beside).encode()}
        if beside:
            files[beside] = made.weights.data
        if ending == ".o":
            files[path] = code
        for name, data in files.items():
            write(name, data)
        if ending == ".so":
            # An object file beside the library may be somebody else's.
            source = os.path.join(folder, "code.o")
            if linker.command(system, source, path) is None:
                source = f"{stem}.o"
            write(source, code)
            linker.link(system, source, path)
    return sorted({*files, path})


def refuse_sizes(exported: Any) -> None:
    """A library is for the sizes of an example."""
    if exported.sized is not None:
        dims = ", ".join(d.name for d in exported.sized.dims.dims)
        raise ExportError(
            f"compile: {exported.name} has sizes that differ ({dims}), which libraries do not "
            "serve yet: export it without dynamic=, once for each size"
        )


def identifier(name: str) -> str:
    """What names in C begin with, of a file's name."""
    made = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower()
    if not made:
        raise ExportError(f"compile: names in C cannot begin as {name!r}: give another `name`")
    return made if not made[0].isdigit() else f"model_{made}"


def write(path: str, data: bytes) -> None:
    """Write a file, all of it or nothing."""
    part = f"{path}.part{os.getpid()}"
    try:
        with open(part, "wb") as f:
            f.write(data)
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise


class Library:
    """An exported function's programs, and what is made of them."""

    def __init__(
        self, exported: Any, system: targets.System, prefix: str, threads: int, folder: str
    ) -> None:
        self.system, self.prefix, self.title = system, prefix, repr(exported)
        self.inputs = [Described(v.name, v.type) for v in exported.inputs]
        dense = [type(v.type)(v.type.dtype, v.type.shape) for v in exported.results]
        self.results = [Described(v.name, t) for v, t in zip(exported.results, dense)]
        for d in self.inputs:
            if d.type.span[0] < 0:
                raise ExportError(f"compile: input `{d.name}` lies backwards in memory")
        archive = os.path.join(folder, "model.whet")
        exported.save(archive)
        kinds = [k.target for k in system.kinds]
        self.programs = worker.programs(archive, kinds, threads, folder)
        os.unlink(archive)
        refuse(exported.name, self.programs)
        self.weights = Weights(self.programs)

    def object(self, path: str | None) -> bytes:
        """The object file; the weights are written to `path` and put inside, if there is one."""
        if path is not None:
            with open(path, "wb") as f:
                f.write(self.weights.data)
        tags = [f"{self.prefix}.{k.name}" for k in self.system.kinds]
        texts = [
            Texts(tag, k.cpu, p.texts)
            for tag, k, p in zip(tags, self.system.kinds, self.programs)
        ]
        told = Told(self.inputs, self.results, [r for p in self.programs for r in p.reasons])
        lists = [
            ListText(p, t, offsets, len(self.inputs), told.codes).text()
            for p, t, offsets in zip(self.programs, texts, self.weights.offsets)
        ]
        facts = Facts(
            self.prefix, self.system.machine, len(texts), len(self.inputs), len(self.results),
            self.copies(), len(told.messages), 0 if path is not None else len(self.weights.data),
        )
        main = "\n".join([
            self.weights.text(self.system.machine, path),
            told.text(self.system.kinds, self.programs, lists, tags),
            model_code.text(facts),
        ])
        public = {f"{self.prefix}_{f}" for f in header.FUNCTIONS}
        return one_object(self.system.object, main, texts, public)

    def copies(self) -> list[tuple[int, int, int]]:
        """Results that are there twice: (from, to, bytes)."""
        return [(a, b, extent(self.results[b].type)) for a, b in self.programs[0].copies]

    def header(self, beside: str | None) -> str:
        """The header."""
        levels = [k.name for k in self.system.kinds]
        name = beside and os.path.basename(beside)
        return header.text(self.prefix, self.title, self.inputs, self.results, levels, name)


def refuse(name: str, programs: Sequence[LevelProgram]) -> None:
    """Raise ExportError for what only Python can do, all of it at once."""
    found = dict.fromkeys(x for p in programs for x in p.refused)
    if found:
        said = "\n".join(f"  {op}, from {line or 'an unknown line'}" for op, line in found)
        raise ExportError(
            f"{name} cannot be a library: these have no machine code, NumPy or Python does "
            f"them:\n{said}"
        )
