"""An archive becomes an exported function."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from whet.autograd.modes import beyond
from whet.ir.graph import Graph
from whet.ir.parse import parse
from whet.ir.values import Array

from ..capture.control_nodes import Control
from ..values.same_bits import copy_with_layout
from . import checks, tensor_file
from .archive_format import BODY, EXTRA, FORMAT, GRAPH, MANIFEST, SAMPLES, SIGNATURE, WEIGHTS
from .compiled import Compiled
from .control_graphs import NAMED, Linker
from .dims import Values
from .errors import ArchiveError
from .exported import Exported, Samples
from .graph_values import inputs as inputs_of
from .graph_values import results as results_of
from .question_facts import give_facts
from .sized_graph import TooLarge
from .sizes_text import read_sizes
from .tree_text import read_signature
from .zip_file import Members, name_of

# What hostile bytes may raise where they are read.
DAMAGE = ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError, LookupError

T = TypeVar("T")


class Loaded(Exported):
    """An exported function from an archive, which is at `path`. `manifest` says what made it.
    `extra_files` are the user's texts in it, as bytes by name. `written` is the graph as the file
    has it: ops of control flow are without their bodies there, `control` has them with these."""

    _unwatched = Exported._unwatched | {
        "path", "manifest", "extra_files", "_most", "_written", "_control"}

    def __init__(
        self, path: str, manifest: Mapping[str, Any], most: int, written: Graph,
        control: Sequence[Control], extra_files: Mapping[str, bytes], *parts: Any
    ) -> None:
        super().__init__(*parts)
        self.path, self.manifest, self.extra_files = path, dict(manifest), dict(extra_files)
        self._most, self._written, self._control = most, written, list(control)

    def graph_at(self, values: Values) -> Graph:
        """Sizes come to no values that take too much memory."""
        try:
            return self.graph if self.sized is None else self.sized.at(values, self._most)
        except (TooLarge, MemoryError) as e:
            raise ArchiveError(self.path, GRAPH, str(e)) from None

    def program_of(self, g: Graph) -> Compiled:
        """Nothing is compiled of a graph that is not sound throughout."""
        try:
            checks.check_whole(self._written if g is self.graph else g, self._most)
            while self._control:
                self._control.pop(0).join()
            return super().program_of(g)
        except Exception as e:  # code that plans may raise anything for such a graph
            raise ArchiveError(self.path, GRAPH, str(e) or repr(e)) from None


class Archive:
    """A file that is read."""

    def __init__(self, path: Any, check: bool) -> None:
        self.path = name_of(path)
        self.members = Members(path, check)
        self.control: list[Control] = []

    def take(self, member: str, read: Callable[[], T]) -> T:
        """What is read of a member; any damage is an ArchiveError."""
        try:
            return read()
        except ArchiveError:
            raise
        except DAMAGE as e:
            raise ArchiveError(self.path, member, str(e) or repr(e)) from None

    def json(self, member: str) -> Any:
        """A member that is JSON."""
        raw = self.members[member]
        return self.take(member, lambda: json.loads(bytes(raw).decode()))

    def arrays(self, member: str) -> dict[str, Array]:
        """A member that holds arrays."""
        raw = self.members[member]
        return self.take(member, lambda: tensor_file.arrays(raw))

    def manifest(self) -> dict[str, Any]:
        """What the file says of itself."""
        found = self.json(MANIFEST)
        version = found.get("format") if isinstance(found, dict) else None
        if type(version) is not int or version < 1:
            raise ArchiveError(
                self.path, MANIFEST, "it tells no format: this is no archive of whet's"
            )
        if version > FORMAT:
            raise ArchiveError(
                self.path,
                MANIFEST,
                f"format {version} is of a newer whet ({found.get('whet')}); this one reads "
                f"up to {FORMAT}.\n  Upgrade: pip install -U whet",
            )
        if (
            not isinstance(found.get("name"), str)
            or not isinstance(found.get("rewrites"), list)
            or not all(isinstance(x, str) for x in found["rewrites"])
        ):
            raise ArchiveError(self.path, MANIFEST, "the name or the rewrites are damaged")
        return dict(found)

    def graph(self, weights: Mapping[str, Array], member: str = GRAPH) -> Graph:
        """A graph as it is written; its large arrays are among the weights."""
        raw = self.members[member]

        def read() -> Graph:
            table: list[Array] = []
            while f"@{len(table)}" in weights:
                table.append(weights[f"@{len(table)}"])
            g = parse(bytes(raw).decode(), table, NAMED)
            checks.check(g, {x.name: shaped(g, x, weights) for x in g.inputs if x.name in weights})
            return g

        return self.take(member, read)

    def linked(self, g: Graph, weights: Mapping[str, Array], most: int) -> Graph:
        """The graph with the bodies of its control flow."""
        names = [BODY.format(i) for i in range(len(self.members.parts))]
        bodies = [self.graph(weights, name) for name in names if name in self.members.parts]
        if not bodies and not any(n.op in NAMED.values() for n in g.nodes):
            return g
        linker = Linker(bodies, most)
        made = self.take(GRAPH, lambda: linker.graph(g))
        self.control = linker.ops
        return made

    def load(self, most: int) -> Loaded:
        """All of it."""
        manifest, weights = self.manifest(), self.arrays(WEIGHTS)
        written = self.graph(weights)
        g = self.linked(written, weights, most)
        self.take(MANIFEST, lambda: give_facts(g, manifest.get("facts")))
        sized: Any = None
        words: Any = [None] * len(g.results)
        if "sizes" in manifest:
            sized, words = self.take(MANIFEST, lambda: read_sizes(manifest["sizes"], g))
        inputs = inputs_of(g, None if sized is None else sized.dims)
        results = results_of(g, words)
        plain = self.json(SIGNATURE)
        signature = self.take(SIGNATURE, lambda: read_signature(plain, inputs, results))
        kept = self.arrays(SAMPLES)
        samples = self.take(
            SAMPLES,
            lambda: Samples(
                [typed(kept[f"input.{v.name}"], v.type) for v in inputs],
                [typed(kept[f"result.{v.name}"], v.type) for v in results],
            ),
        )
        constants = {
            x.name: laid_out(shaped(g, x, weights), g.types[x.value])
            for x in g.inputs
            if x.place == "constant"
        }
        return Loaded(
            self.path,
            manifest,
            most,
            written,
            self.control,
            {name.removeprefix(EXTRA): bytes(raw) for name, raw in self.members.parts.items()
             if name.startswith(EXTRA)},
            manifest["name"],
            g,
            constants,
            signature,
            manifest["rewrites"],
            samples,
            sized,
        )


def shaped(g: Graph, x: Any, weights: Mapping[str, Array]) -> Array:
    """An input's array as the graph's type has it: complex numbers are stored as pairs."""
    return complex_of(weights[x.name], g.types[x.value].dtype)


def complex_of(a: Array, dtype: Any) -> Array:
    """An array of pairs as one of complex numbers, where that is wanted."""
    if dtype == np.complex128 and a.dtype == np.float64 and a.ndim and a.shape[-1] == 2:
        return a.view(np.complex128).reshape(a.shape[:-1])
    return a


def typed(a: Array, t: Any) -> Array:
    """An array of a sample, which must be of a type."""
    a = complex_of(a, t.dtype)
    if a.dtype != t.dtype or a.shape != t.shape:
        raise ValueError(f"a sample is of another type than {t}")
    return a


def laid_out(a: Array, t: Any) -> Array:
    """A constant in the graph's layout: without a copy if the file has that layout."""
    return a if a.strides == t.strides or t.contiguous else copy_with_layout(a, t)


def load(path: Any, check: bool = True, most: int | None = None) -> Loaded:
    """The exported function in an archive: a path or a binary file."""
    beyond("it loads something")
    return Archive(path, check).load(half_of_memory() if most is None else most)


def half_of_memory() -> int:
    """Half of the bytes that the machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
