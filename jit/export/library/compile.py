"""An exported function becomes a library: its programs are made for all levels, then one object
file of all, then what was asked for."""

from __future__ import annotations

import operator
import os
import re
import tempfile
from collections.abc import Sequence
from typing import Any

from whet.autograd.modes import beyond
from whet.cpu import thread_pool
from whet.passes.lower_llvm.merged_object import Texts, one_object

from ..errors import ExportError
from . import header, layout, linker, model_code, targets, worker
from .code_parts import Facts
from .data import Described, Descriptions, Level, ListText, Weights, extent, together
from .level_parts import LevelProgram
from .programs_within_bounds import all_sizes

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
    if not os.path.isdir(os.path.dirname(path) or "."):
        raise ExportError(f"compile: there is no folder {os.path.dirname(path)}")
    if weights not in (INSIDE, BESIDE):
        raise ExportError(f"compile: weights are {INSIDE!r} or {BESIDE!r}, not {weights!r}")
    prefix = identifier(os.path.basename(stem) if name is None else name)
    system = targets.chosen(target, has_bytes(exported))
    most = thread_pool.get_num_threads() if threads is None else operator.index(threads)
    if not 1 <= most <= layout.MOST_THREADS:
        bounds = f"from 1 to {layout.MOST_THREADS}"
        raise ExportError(f"compile: threads must be {bounds}, not {threads}")
    if exported.sized is not None:
        all_sizes(exported.name, exported.sized.dims)  # are there so many that each has a list?
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


def has_bytes(exported: Any) -> bool:
    """Does a graph compute with bytes?"""
    return any(n.op is not None and n.op.family == "quantised" for n in exported.graph.nodes)


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
        self.dims = [] if exported.sized is None else exported.sized.dims.dims
        self.inputs, self.results = described(exported)
        for d in self.inputs:
            if d.type.span[0] < 0:
                raise ExportError(f"compile: input `{d.name}` has negative strides")
        archive = os.path.join(folder, "model.whet")
        exported.save(archive)
        kinds = [k.target for k in system.kinds]
        self.programs = worker.programs(archive, kinds, threads, folder)
        os.unlink(archive)
        refuse(exported.name, [p for level in self.programs for p in level])
        self.weights = Weights([p for level in self.programs for p in level])

    def object(self, path: str | None) -> bytes:
        """The object file; the weights are written to `path` and put inside, if there is one."""
        if path is not None:
            with open(path, "wb") as f:
                f.write(self.weights.data)
        reasons = [r for level in self.programs for p in level for r in p.reasons]
        descriptions = Descriptions(self.inputs, self.results, reasons, self.dims)
        offsets, texts, levels = iter(self.weights.offsets), list[Texts](), list[Level]()
        for kind, programs in zip(self.system.kinds, self.programs):
            tag = f"{self.prefix}.{kind.name}"
            sources, programs = together(programs)
            texts.append(Texts(tag, kind.cpu, sources))
            lists = [
                ListText(
                    p, f"{tag}.{i}", texts[-1], next(offsets), len(self.inputs), descriptions.codes)
                for i, p in enumerate(programs)
            ]
            arena, room = (max(xs) for xs in zip(*[(p.arena, p.room) for p in programs]))
            levels.append(Level(kind, lists, arena, room))
        main = "\n".join([
            self.weights.text(self.system.machine, path),
            descriptions.text(levels),
            model_code.text(
                self.facts(levels, len(descriptions.messages), path is not None), levels),
        ])
        public = {f"{self.prefix}_{f}" for f in header.functions(bool(self.dims))}
        return one_object(self.system.object, main, texts, public)

    def facts(self, levels: Sequence[Level], messages: int, is_inside: bool) -> Facts:
        """What the code is written for."""
        values = [*self.inputs, *self.results]
        about = layout.About(len(self.dims), [len(d.type.shape) for d in values])
        most = max(len(x.words) for level in levels for x in level.lists)
        return Facts(
            self.prefix, self.system.machine, len(levels), len(self.inputs), len(self.results),
            self.copies(), messages, 0 if is_inside else len(self.weights.data),
            about if self.dims else None,
            [d.type.dtype.itemsize for d in values], most,
        )

    def copies(self) -> list[tuple[int, int, int]]:
        """Results that are there twice: (from, to, bytes)."""
        return [(a, b, extent(self.results[b].type)) for a, b in self.programs[0][0].copies]

    def header(self, beside: str | None) -> str:
        """The header."""
        levels = [k.name for k in self.system.kinds]
        name = beside and os.path.basename(beside)
        return header.text(
            self.prefix, self.title, self.inputs, self.results, levels, name, self.dims)


def described(exported: Any) -> tuple[list[Described], list[Described]]:
    """The inputs and the results; where sizes differ, at the largest ones."""
    sized, g = exported.sized, exported.graph
    if sized is not None:
        g = exported.graph_at(tuple(d.max for d in sized.dims.dims))
    types = [g.types[x.value] for x in g.inputs if x.place != "constant"]
    if sized is None:
        types = [v.type for v in exported.inputs]
    inputs = [Described(v.name, t, v.sizes) for v, t in zip(exported.inputs, types)]
    made = [g.types[v] for v, _ in g.results]
    results = [
        Described(v.name, type(t)(t.dtype, t.shape), v.sizes)
        for v, t in zip(exported.results, made)
    ]
    return inputs, results


def refuse(name: str, programs: Sequence[LevelProgram]) -> None:
    """Raise ExportError for what only Python can do, all of it at once."""
    found = dict.fromkeys(x for p in programs for x in p.refused)
    if found:
        said = "\n".join(f"  {op}, from {line or 'an unknown line'}" for op, line in found)
        raise ExportError(
            f"{name} cannot be a library: these have no machine code, NumPy or Python does "
            f"them:\n{said}"
        )
