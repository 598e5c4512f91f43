"""The data of a library as IR text: lists of launches, descriptions of inputs and results,
messages, and the constants of all levels."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from whet.ir.values import Type, short
from whet.passes.lower_llvm.calls import launch_list as L
from whet.passes.lower_llvm.merged_object import Texts

from ...guards.sizes import Dim
from ..dims import bounds
from . import layout
from .code_parts import ID_BYTES
from .level_parts import (
    ALIGN,
    ArenaBase,
    Column,
    Columns,
    ConstantBase,
    Formula,
    InputBase,
    Kernel,
    LevelProgram,
    LookedUpConstantBase,
    Place,
    ResultBase,
    RoomBase,
    Step,
    Stop,
    TableBase,
    TailBase,
    words_of,
)
from .targets import Kind

MAGIC = b"whet weights 1\n"


class Described(NamedTuple):
    """An input or a result: what the user calls it, its layout, where sizes differ at the largest
    ones, and its sizes in words."""

    name: str
    type: Type
    sizes: Sequence[str]

    @property
    def shape(self) -> list[int]:
        """The sizes of the value, with -1 for those that differ between calls."""
        return [int(n) if n.isdecimal() else -1 for n in self.sizes]

    @property
    def varies(self) -> bool:
        """Do some of its sizes differ?"""
        return -1 in self.shape

    @property
    def type_text(self) -> str:
        """The type of the value as users read it."""
        if not self.varies:
            return str(self.type)
        return f"{short(self.type.dtype)}[{','.join(self.sizes)}]"


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
    """The list of a program, whose symbols begin with `tag`; kernels are those of `texts`. Where
    sizes differ the list is a template: `holes` are the places of words that depend on sizes,
    `links` of addresses of other words, `sums` of what is looked up and an offset, `columns` of
    words of which there are as many as sizes say."""

    def __init__(self, p: LevelProgram, tag: str, texts: Texts, offsets: list[int], inputs: int,
                 reasons: dict[str, int]) -> None:
        self.program, self.tag, self.texts, self.offsets = p, tag, texts, offsets
        self.inputs, self.reasons = inputs, reasons
        self.holes: list[tuple[int, Formula]] = []
        self.links: list[tuple[int, int]] = []
        self.sums: list[tuple[int, str, int | Formula]] = []
        self.words: list[int | str] = []
        for step in p.steps:
            if isinstance(step, Step):
                self.launch(step)
            else:
                self.stop(step)
        self.listed = len(self.words)
        self.links = [(at, offset + 8 * self.listed) for at, offset in self.links]
        self.columns: list[tuple[int, list[Column]]] = []
        for w in p.tail:
            if isinstance(w, Columns):
                self.columns.append((len(self.words), w.columns))
                self.words += [0] * words_of(w)
            else:
                self.put(w)

    def text(self) -> str:
        """The IR text of the words and of tables."""
        tables = [
            words(self.table(i), [self.word(w) for w in t])
            for i, t in enumerate(self.program.tables)
        ]
        if self.program.case is not None:
            tables += [
                words(f"{self.tag}.{name}", [self.word(w) for w in look.words])
                for name, look in self.program.case.lookups.items()
            ]
        return "\n".join([words(f"{self.tag}.words", self.words), *tables])

    def kernels(self) -> list[str]:
        """The functions that it calls."""
        return [self.texts.name(*k) for k in self.program.kernels]

    def put(self, w: int | str | Formula) -> None:
        """The next word."""
        if isinstance(w, Formula):
            self.holes.append((len(self.words), w))
            w = 0
        self.words.append(w)

    def launch(self, step: Step) -> None:
        """The words of a launch."""
        kernel = step.kernel if isinstance(step.kernel, Formula) else self.kernel(step.kernel)
        head: Any = (kernel, step.total, step.grain, len(step.arguments))
        for w in L.Launch(*head):
            self.put(w)
        for a in step.arguments:
            if isinstance(a, Place):
                self.place(a)
            else:
                self.put(L.VALUE)
                self.put(a)

    def stop(self, stop: Stop) -> None:
        """The words of a check."""
        reason = self.reasons[self.program.reasons[stop.reason]]
        for w in L.Check(L.CHECK, stop.at.offset, stop.wanted, reason):
            self.put(w)

    def place(self, a: Place) -> None:
        """The words of an address."""
        base, offset = a
        match base:
            case TableBase(number):
                self.put(L.VALUE)
                self.put(address(self.table(number), int(offset)))  # type: ignore[arg-type]
            case TailBase():
                self.put(L.VALUE)
                self.links.append((len(self.words), offset))  # type: ignore[arg-type]
                self.put(0)
            case ConstantBase():
                self.put(layout.CONSTANTS)
                self.put(self.in_weights(base, offset))
            case LookedUpConstantBase(lookup):
                self.put(layout.CONSTANTS)
                self.sums.append((len(self.words), lookup, offset))
                self.put(0)
            case ArenaBase():
                self.put(layout.ARENA)
                self.put(offset)
            case RoomBase():
                self.put(layout.ROOM)
                self.put(offset)
            case InputBase(number):
                self.put(layout.FIRST + number)
                self.put(offset)
            case ResultBase(number):
                self.put(layout.FIRST + self.inputs + number)
                self.put(offset)

    def in_weights(self, constant: ConstantBase, offset: int | Formula) -> int:
        """The place among the weights that is so many bytes into a constant."""
        return self.offsets[constant.number] + offset  # type: ignore[operator]

    def word(self, w: int | Kernel | Place) -> int | str:
        """A word of a table."""
        if isinstance(w, Kernel):
            return self.kernel(w.number)
        return self.in_weights(*w) if isinstance(w, Place) else w  # type: ignore[arg-type]

    def kernel(self, number: int) -> str:
        """A kernel's address."""
        return address(self.texts.name(*self.program.kernels[number]))

    def table(self, number: int) -> str:
        """What a table is called."""
        return f"{self.tag}.table.{number}"


def declared(lists: Iterable[ListText]) -> str:
    """The heads of all kernels that lists call."""
    names = dict.fromkeys(k for one in lists for k in one.kernels())
    return "\n".join(f"declare void @{k}(ptr, i64, i64, i64)" for k in names)


def together(programs: Sequence[LevelProgram]) -> tuple[list[str], list[LevelProgram]]:
    """The texts of several programs of a level, each once, and the programs with kernels in
    these."""
    texts = list(dict.fromkeys(t for p in programs for t in p.texts))
    places = {t: i for i, t in enumerate(texts)}
    return texts, [
        p._replace(kernels=[(places[p.texts[i]], symbol) for i, symbol in p.kernels])
        for p in programs
    ]


# ---- descriptions --------------------------------------------------------------------------------
class Level(NamedTuple):
    """A level: its kind, its lists, and the bytes of its arenas and rooms."""

    kind: Kind
    lists: Sequence[ListText]
    arena: int
    room: int


class Descriptions:
    """Names, shapes and messages. `codes` are the codes of preconditions, by what they say; `sizes`
    are the sizes that differ."""

    def __init__(self, inputs: Sequence[Described], results: Sequence[Described],
                 reasons: Iterable[str], sizes: Sequence[Dim] = ()) -> None:
        self.inputs, self.results, self.sizes = list(inputs), list(results), list(sizes)
        self.strings: dict[str, int] = {}
        distinct = dict.fromkeys(reasons)
        self.codes = {r: (i + 1) << 8 | layout.Code.PRECONDITION for i, r in enumerate(distinct)}
        self.messages = self.all_messages()

    def all_messages(self) -> list[tuple[int, str]]:
        """(code, what it says), the one for unknown codes last."""
        out = [(int(code), text) for code, text in layout.SAID.items()]
        for i, d in enumerate([*self.inputs, *self.results]):
            what = f"{'input' if i < len(self.inputs) else 'result'} `{d.name}`"
            size = d.type_text if d.varies else f"{d.type_text}, {extent(d.type)} bytes"
            align = d.type.dtype.itemsize
            said = {
                layout.Code.NULL_POINTER: f"{what} is a null pointer; it is {size}",
                layout.Code.WRONG_SIZE: f"{what} has another number of bytes; it is {size}",
                layout.Code.MISALIGNED: f"{what} does not begin at a multiple of {align} bytes",
                layout.Code.OVERLAP: f"{what} shares memory with an input or another result",
            }
            out += [((i + 1) << 8 | code, text) for code, text in said.items()]
        for i, dim in enumerate(self.sizes):
            text = f"the size `{dim.name}` is out of its bounds: it is {bounds(dim)}"
            out.append(((i + 1) << 8 | layout.Code.OUT_OF_BOUNDS, text))
        out += [(code, f"these data go another way: {r}") for r, code in self.codes.items()]
        return [*out, (-1, "no code of this library")]

    def string(self, s: str) -> str:
        """The word that is the address of a text."""
        return address(f"text.{self.strings.setdefault(s, len(self.strings))}")

    def text(self, levels: Sequence[Level]) -> str:
        """The IR text of all tables."""
        lists = [x for level in levels for x in level.lists]
        out: list[str] = [declared(lists), *[x.text() for x in lists]]
        rows: list[int | str] = []
        for level in levels:
            kind, first = level.kind, level.lists[0]
            code: list[int | str] = [address(f"{first.tag}.words"), first.listed]
            if self.sizes:
                code = [address(f"{kind.name}.ways"), len(level.lists)]
                out.append(words(f"{kind.name}.ways", ways(level.lists)))
            rows += [kind.need, self.string(kind.name), *code, level.arena, level.room]
        out.append(words("levels", rows))
        for name, values in (("inputs", self.inputs), ("results", self.results)):
            rows = []
            for i, d in enumerate(values):
                out += [words(f"{name}.{i}.shape", d.shape),
                        words(f"{name}.{i}.strides", d.type.strides)]
                rows += self.value(d, address(f"{name}.{i}.shape"), address(f"{name}.{i}.strides"))
            out.append(words(name, rows))
        out.append(words("bytes", [extent(d.type) for d in (*self.inputs, *self.results)]))
        out += self.of_sizes()
        rows = []
        for code_, said in self.messages:
            rows += [code_, self.string(said)]
        out.append(words("messages", rows))
        out += [array(f"text.{i}", s.encode() + b"\0") for s, i in self.strings.items()]
        return "\n".join(out)

    def value(self, d: Described, shape: int | str, strides: int | str) -> list[int | str]:
        """The description of an input or a result."""
        return [
            self.string(d.name), self.string(str(d.type.dtype)), len(d.type.shape), shape, strides,
            extent(d.type), d.type.dtype.itemsize]

    def of_sizes(self) -> list[str]:
        """The descriptions of sizes that differ, and what a context knows of values at first."""
        if not self.sizes:
            return []
        values, rows = [*self.inputs, *self.results], list[int | str]()
        for dim in self.sizes:
            rows += [self.string(dim.name), dim.min, dim.max or 0, dim.multiple]
        about = layout.About(len(self.sizes), [len(d.type.shape) for d in values])
        start: list[int | str] = [0] * about.values
        for d in values:
            start += self.value(d, 0, 0)
        start += [0] * (about.count - len(start))
        return [words("sizes", rows), words("about", start)]


def ways(lists: Sequence[ListText]) -> list[int | str]:
    """The table of the lists of a level whose sizes differ."""
    out: list[int | str] = []
    for x in lists:
        symbols = [address(f"{x.tag}.{name}") for name in ("fits", "fill", "words")]
        out += [*symbols, len(x.words), x.listed]
    return out


def extent(t: Any) -> int:
    """The bytes of a value's memory, from its first element on."""
    return int(t.span[1]) if all(t.shape) else 0
