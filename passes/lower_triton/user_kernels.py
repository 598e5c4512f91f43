"""Kernels that users wrote (`@triton.jit`), as Sources: for arguments of some types, with values
that are known when they are compiled.

    source = given(kernel, {"x": "*fp32", "n": "i32"}, {"BLOCK": 1024}, {"num_warps": 8})
    written(source)          # the pointers that it writes to
"""
from __future__ import annotations

import functools
import hashlib
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .compile import ast_source, nvidia
from .source import Source

# ops of Triton that take pointers and write to none
HARMLESS = frozenset(("tt.assert", "tt.print", "tt.return", "llvm.intr.assume"))
# those whose results do not depend on where an operand points
READS = frozenset(("tt.load", "tt.descriptor_load", "tt.descriptor_gather"))
CHANGES = frozenset(("tt.atomic_rmw", "tt.atomic_cas"))
# those that may write wherever they are given a pointer to
CALLS = frozenset(("tt.call", "tt.elementwise_inline_asm"))


@dataclass(frozen=True, eq=False)
class Given(Source):
    """A kernel of a user's. `text` names all that its code is made of; `jit` is what Triton made of
    the function. Each is there once, so it is compared by what it is."""
    jit: Any = None
    known: tuple[tuple[str, Any], ...] = ()
    compile_options: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """Names all that decides about it."""
        facts = self.text, self.parameters, self.compile_options
        return f"{self.name}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"

    def function(self) -> Any:
        return self.jit

    def constants(self) -> dict[str, Any]:
        return dict(self.known)

    def options(self) -> dict[str, Any]:
        # Triton's default, which a later version changes
        return {"enable_fp_fusion": True, **dict(self.compile_options)}


def kernel_of(x: Any) -> tuple[str, Any]:
    """The decorator of Triton's by which something was made, the last of several, and what that
    gives where nothing is interpreted."""
    if "triton" in sys.modules:              # or none can have been made
        from triton.runtime.autotuner import Autotuner, Heuristics
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
        if isinstance(x, InterpretedFunction):       # of TRITON_INTERPRET=1
            return "jit", JITFunction(x.fn)
        for kind, t in (("jit", JITFunction), ("autotune", Autotuner), ("heuristics", Heuristics)):
            if isinstance(x, t):
                return kind, x
    raise RuntimeError(
        "wrap_triton only works on functions annotated with triton.jit or triton.autotune")


def given(jit: Any, kinds: Mapping[str, str], constants: Mapping[str, Any],
          options: Mapping[str, Any]) -> Given:
    """The Source of a kernel for arguments of these kinds, in the order of its parameters."""
    text = f"{jit.cache_key} {sorted((k, named(v)) for k, v in constants.items())}"
    return Given(jit.__name__, text, tuple(kinds.items()), "", jit=jit,
                 known=tuple(constants.items()), compile_options=tuple(options.items()))


def named(value: Any) -> str:
    """A constant as text, a Triton function by its code."""
    return str(getattr(value, "cache_key", None) or f"{type(value).__name__} {value!r}")


# ---- what a kernel writes to ---------------------------------------------------------------------
@functools.lru_cache(1024)
def written(source: Given) -> tuple[str, ...]:
    """The pointers that a kernel may write to, by name. They are read off what Triton makes of it
    first, where each store has the pointer that it goes to."""
    pointers = [(k, name) for k, (name, kind) in enumerate(source.parameters) if kind[0] == "*"]
    flow = _Flow()
    _inlined(source).walk(flow.see)
    found = flow.parameters_of(flow.targets)
    return tuple(name for k, name in pointers if k in found)


def _inlined(source: Given) -> Any:
    """The kernel in Triton's own language, with the functions that it calls in their places."""
    from triton._C.libtriton import ir, passes
    from triton.compiler.compiler import make_backend
    target = nvidia(90)
    backend, context = make_backend(target), ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options(source.options())
    made = ast_source(source, ()).make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(),
        context)
    manager = ir.pass_manager(context)
    passes.common.add_inliner(manager)
    manager.run(made, "inlined")
    made.context = context                   # which owns its memory
    return made


class _Flow:
    """Which values come of which: `see` gets each operation, those inside of another one
    first. Where it is not known what an operation does, all comes of all."""

    def __init__(self) -> None:
        self.sources: dict[int, set[int]] = defaultdict(set)     # of each value: where it comes of
        self.targets: set[int] = set()                           # the pointers of stores
        self.ends: dict[int, list[Sequence[int]]] = defaultdict(list)     # of each region
        self.conditions: dict[int, Sequence[int]] = {}
        self.blocks: dict[int, dict[int, list[int]]] = defaultdict(dict)  # region -> block -> args
        self.parameters: dict[int, int] = {}

    def comes(self, to: Sequence[int], of: Sequence[int]) -> None:
        """Values come of others, each of one."""
        for a, b in zip(to, of, strict=False):
            self.sources[a].add(b)

    def see(self, op: Any) -> None:
        """One operation."""
        name = op.get_name()
        ins = [op.get_operand(i).id() for i in range(op.get_num_operands())]
        outs = [op.get_result(i).id() for i in range(op.get_num_results())]
        regions = [op.get_region(i).id() for i in range(op.get_num_regions())]
        block = op.get_block()
        within = None
        if block is not None and block.get_parent() is not None:
            within = block.get_parent().id()
            self.blocks[within].setdefault(block.id(), [
                block.get_argument(i).id() for i in range(block.get_num_arguments())])
        if name == "tt.func":
            self._function(op, regions)
        elif name in ("scf.yield", "scf.condition"):
            if name == "scf.condition":
                self.conditions[within or 0] = ins[1:]
            else:
                self.ends[within or 0].append(ins)
        elif regions:
            self._nested(name, ins, outs, regions)
        elif name.startswith("cf."):         # which block it goes to is not known
            for arguments in self.blocks[within or 0].values():
                for a in arguments:
                    self.sources[a].update(ins)
        elif name in CALLS:
            self.targets.update(ins)
            for o in outs:
                self.sources[o].update(ins)
        elif name in CHANGES or not outs and name not in HARMLESS:
            self.targets.update(ins[:1] if name.startswith("tt.") else ins)
        elif name not in READS and name not in HARMLESS:
            for o in outs:
                self.sources[o].update(ins)

    def _nested(self, name: str, ins: list[int], outs: list[int], regions: list[int]) -> None:
        """An operation that has others inside."""
        first = [next(iter(self.blocks[r].values()), []) for r in regions]
        ends = [e for r in regions for e in self.ends[r]]
        if name == "scf.for":
            carried = first[0][1:]
            for values in (ins[3:], *ends):
                self.comes(carried, values)
                self.comes(outs, values)
        elif name == "scf.while":
            self.comes(first[0], ins)
            for values in ends:
                self.comes(first[0], values)
            passed = self.conditions[regions[0]]
            self.comes(first[1], passed)
            self.comes(outs, passed)
        elif name == "scf.if":
            for values in ends:
                self.comes(outs, values)
        else:
            inside = [a for r in regions for args in self.blocks[r].values() for a in args]
            for o in (*outs, *inside):
                self.sources[o].update(ins, *ends)

    def _function(self, op: Any, regions: list[int]) -> None:
        """A function's parameters are those of its first block."""
        if op.get_str_attr("sym_visibility") in (None, "public"):
            blocks = self.blocks[regions[0]]
            # the walk comes to the first block's operations first
            for k, a in enumerate(next(iter(blocks.values()), [])):
                self.parameters[a] = k

    def parameters_of(self, values: set[int]) -> set[int]:
        """The parameters that values come of, by number."""
        seen, left = set(values), list(values)
        while left:
            new = self.sources[left.pop()] - seen
            seen |= new
            left += new
        return {self.parameters[v] for v in seen if v in self.parameters}
