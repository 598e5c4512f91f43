"""The data of a library as IR text: lists of launches, what is told of inputs and results,
messages, and the constants of all levels."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from whet.ir.values import Type
from whet.passes.lower_llvm.calls import launch_list as L
from whet.passes.lower_llvm.one_object import Texts

from . import layout
from .code_parts import ID_BYTES
from .level_program import ALIGN, Kernel, LevelProgram, Place, Step, Stop
from .targets import Kind

MAGIC = b"whet weights 1\n"


class Described(NamedTuple):
    """An input or a result: what the user calls it, and how it lies."""

    name: str
    type: Type


# ---- constants -----------------------------------------------------------------------------------
class Weights:
    """The constants of all levels, each once. `data` begins with what tells them from others."""

    def __init__(self, programs: Sequence[LevelProgram]) -> None:
        found: dict[bytes, int] = {}
        parts: list[bytes] = []
        size = 0
        self.offsets: list[list[int]] = []
        for p in programs:
            self.offsets.append([])
            for c in p.constants:
                key = hashlib.blake2b(c, digest_size=32).digest()
                if key not in found:
                    found[key] = size
                    parts += [c, bytes(-len(c) % ALIGN)]
                    size += len(c) + -len(c) % ALIGN
                self.offsets[-1].append(found[key])
        whole = hashlib.blake2b(b"".join(found), digest_size=32).digest()
        self.id = (MAGIC + whole).ljust(ID_BYTES, b"\0")
        self.data = b"".join([self.id, *parts])

    def text(self, machine: str, path: str | None) -> str:
        """The IR text that has them: by way of the file at `path` where LLVM can read it for this
        machine, else word for word. None: there is only what tells them from others."""
        if path is None:
            return array("weights.id", self.id)
        if machine == platform.machine():
            lines = (
                '.section .rodata.weights,\\22a\\22,@progbits',
                f".balign {ALIGN}",
                ".hidden weights.data",
                "weights.data:",
                f'.incbin \\22{path}\\22',
                ".text",
            )
            body = "\n".join(f'module asm "{line}"' for line in lines)
            return f"{body}\n@weights.data = external hidden global i8"
        return array("weights.data", self.data)


def array(name: str, data: bytes) -> str:
    """Bytes as a constant."""
    said = "".join(f"\\{b:02x}" for b in data)
    return f'@{name} = internal constant [{len(data)} x i8] c"{said}", align {ALIGN}'


# ---- words ---------------------------------------------------------------------------------------
def address(symbol: str, offset: int = 0) -> str:
    """An address as a word."""
    at = f"@{symbol}" if not offset else f"getelementptr (i8, ptr @{symbol}, i64 {offset})"
    return f"ptrtoint (ptr {at} to i64)"


def words(name: str, values: Iterable[int | str], linkage: str = "internal") -> str:
    """Words as a constant: numbers, and addresses as text. There is one at least."""
    said = [f"i64 {signed(v) if isinstance(v, int) else v}" for v in values] or ["i64 0"]
    return f"@{name} = {linkage} constant [{len(said)} x i64] [{', '.join(said)}], align 64"


def signed(w: int) -> int:
    """A word as a number with a sign."""
    return (w + (1 << 63)) % (1 << 64) - (1 << 63)


class ListText:
    """The list of a level."""

    def __init__(self, p: LevelProgram, texts: Texts, offsets: list[int], inputs: int,
                 reasons: dict[str, int]) -> None:
        self.program, self.texts, self.offsets = p, texts, offsets
        self.inputs, self.reasons = inputs, reasons

    def text(self) -> tuple[str, int]:
        """The IR text of the words and of tables; how many words there are."""
        found: list[int | str] = []
        for step in self.program.steps:
            found += self.launch(step) if isinstance(step, Step) else self.stop(step)
        tables = [
            words(self.table(i), [self.word(w) for w in t])
            for i, t in enumerate(self.program.tables)
        ]
        kernels = dict.fromkeys(self.texts.name(*k) for k in self.program.kernels)
        heads = [f"declare void @{k}(ptr, i64, i64, i64)" for k in kernels]
        return "\n".join([*heads, words(f"{self.texts.tag}.words", found), *tables]), len(found)

    def launch(self, step: Step) -> list[int | str]:
        """The words of a launch."""
        head = L.Launch(0, step.total, step.grain, len(step.arguments))
        out: list[int | str] = [self.kernel(step.kernel), *head[1:]]
        for a in step.arguments:
            out += self.place(a) if isinstance(a, Place) else (L.VALUE, a)
        return out

    def stop(self, stop: Stop) -> list[int | str]:
        """The words of a check."""
        reason = self.reasons[self.program.reasons[stop.reason]]
        return [*L.Check(L.CHECK, stop.at.offset, stop.wanted, reason)]

    def place(self, a: Place) -> tuple[int | str, int | str]:
        """The words of an address."""
        kind, number = a.base
        if kind == "tables":
            return L.VALUE, address(self.table(number), a.offset)
        if kind == "constants":
            return layout.CONSTANTS, self.offsets[number] + a.offset
        first = {"arena": layout.ARENA, "room": layout.ROOM, "input": layout.FIRST,
                 "output": layout.FIRST + self.inputs}[kind]
        return first + (number if kind in ("input", "output") else 0), a.offset

    def word(self, w: int | Kernel) -> int | str:
        """A word of a table."""
        return self.kernel(w.number) if isinstance(w, Kernel) else w

    def kernel(self, number: int) -> str:
        """A kernel's address."""
        return address(self.texts.name(*self.program.kernels[number]))

    def table(self, number: int) -> str:
        """What a table is called."""
        return f"{self.texts.tag}.table.{number}"


# ---- what is told --------------------------------------------------------------------------------
class Told:
    """Names, shapes and messages. `codes` are the codes of preconditions, by what they say."""

    def __init__(self, inputs: Sequence[Described], results: Sequence[Described],
                 reasons: Iterable[str]) -> None:
        self.inputs, self.results = list(inputs), list(results)
        self.strings: dict[str, int] = {}
        distinct = dict.fromkeys(reasons)
        self.codes = {r: (i + 1) << 8 | layout.Code.PRECONDITION for i, r in enumerate(distinct)}
        self.messages = self.all_messages()

    def all_messages(self) -> list[tuple[int, str]]:
        """(code, what it says), the one for unknown codes last."""
        out = [(int(code), text) for code, text in layout.SAID.items()]
        for i, d in enumerate([*self.inputs, *self.results]):
            what = f"{'input' if i < len(self.inputs) else 'result'} `{d.name}`"
            size = f"{d.type}, {extent(d.type)} bytes"
            align = d.type.dtype.itemsize
            said = {
                layout.Code.NULL_POINTER: f"{what} is a null pointer; it is {size}",
                layout.Code.WRONG_SIZE: f"{what} has another number of bytes; it is {size}",
                layout.Code.MISALIGNED: f"{what} does not begin at a multiple of {align} bytes",
                layout.Code.OVERLAP: f"{what} shares memory with an input or another result",
            }
            out += [((i + 1) << 8 | code, text) for code, text in said.items()]
        out += [(code, f"these data go another way: {r}") for r, code in self.codes.items()]
        return [*out, (-1, "no code of this library")]

    def string(self, s: str) -> str:
        """The word that is the address of a text."""
        return address(f"text.{self.strings.setdefault(s, len(self.strings))}")

    def text(self, kinds: Sequence[Kind], programs: Sequence[LevelProgram],
             lists: Sequence[tuple[str, int]], tags: Sequence[str]) -> str:
        """The IR text of all tables."""
        out: list[str] = [text for text, _ in lists]
        levels: list[int | str] = []
        for kind, p, (_, count), tag in zip(kinds, programs, lists, tags, strict=True):
            levels += [kind.need, self.string(kind.name), address(f"{tag}.words"), count,
                       p.arena, p.room]
        out.append(words("levels", levels))
        for name, values in (("inputs", self.inputs), ("results", self.results)):
            rows: list[int | str] = []
            for i, d in enumerate(values):
                out += [words(f"{name}.{i}.shape", d.type.shape),
                        words(f"{name}.{i}.strides", d.type.strides)]
                rows += [
                    self.string(d.name), self.string(str(d.type.dtype)), len(d.type.shape),
                    address(f"{name}.{i}.shape"), address(f"{name}.{i}.strides"),
                    extent(d.type), d.type.dtype.itemsize]
            out.append(words(name, rows))
        out.append(words("bytes", [extent(d.type) for d in (*self.inputs, *self.results)]))
        rows = []
        for code, said in self.messages:
            rows += [code, self.string(said)]
        out.append(words("messages", rows))
        out += [array(f"text.{i}", s.encode() + b"\0") for s, i in self.strings.items()]
        return "\n".join(out)


def extent(t: Any) -> int:
    """The bytes of a value's memory, from its first element on."""
    return int(t.span[1]) if all(t.shape) else 0
