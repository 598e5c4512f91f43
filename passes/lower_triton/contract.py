"""Products of matrices as Triton source: C[m, n] = sum over k of A[m, k] * B[k, n], of any strides,
in batches of two dimensions.

Four kernels, each a subclass of `ContractionKernel`, which also chooses its tiles:

`Chains`   the canonical order of `lower_llvm/products/gemm.py`: K in blocks of 256, in each one
           chain of fused multiply-adds from +0, the blocks added left to right. Bits are the CPU's.
           f32 goes through `tl.dot` with full precision, which Triton's compiler makes a chain in
           the order of k on the cores that are not tensor cores. The last block is padded with
           -0 * +0, which changes no sum. f64 and integers take a step of k at a time.
`OneRow`   the canonical order of `lower_llvm/products/one_row.py`, for a product of one row (or,
           transposed, of one column): 16 chains.
`Halves`   f16 and bf16 on tensor cores: the order of sums, and where they round, is the
           machine's.
`Tf32`     f32 on tensor cores, which read 10 bits of each fraction: where the program allows it.

Where there is little to do for each program, K is cut into parts. Their sums are stored in the type
that they are formed in, one array for each part, and added later, first to last (`lower_added`). A
part of `Chains` is a block, so no bit changes.

The parameters are a, b, c, the epilogue's operands e0, e1 ...; m, n, k, the size of the inner batch
dimension; then strides in elements: of a along m and k, of b along k and n, of c along m and n and
of each operand of the epilogue along m and n, each followed by those of the outer and the inner
batch dimension. Operands of the epilogue that stand still along m or n have strides of 0. With
parts there are `part`, the steps of K in one, `parts`, and the stride of c from one to the next.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from whet.ir import scalar as S
from whet.passes.lower_llvm.builder import Val
from whet.passes.lower_llvm.products.gemm import KC
from whet.passes.lower_llvm.products.one_row import BLOCK, CHAINS

from . import scalar
from .builder import TYPE, Code, Module
from .source import source

if TYPE_CHECKING:
    from .source import Source

HALVES = ("f16", "bf16")
GROUP = 8                                   # rows of tiles that are computed together
PLUS_ONE = S.arg(0) + S.arg(1)              # an epilogue
BUSY = 0.9                                  # of the units have a program
ADDED = 256                                 # elements of a program that adds parts


@dataclass(frozen=True)
class Contract:
    """What is computed: elements of A and B are of type `dtype`, seen through `a` and `b`
    (expressions of argument 0), and what is stored is the `epilogue`, an expression of the product
    (argument 0, rounded to dtype unless it is `of_sum`) and of the operands (arguments 1 ...)."""
    dtype: str
    a: S.Expr = S.arg(0)
    b: S.Expr = S.arg(0)
    epilogue: S.Expr = S.arg(0)
    operands: tuple[str, ...] = ()          # dtypes
    of_sum: bool = False

    @property
    def product(self) -> str:
        """The type of the product that the epilogue reads."""
        return "f32" if self.of_sum and self.dtype in HALVES else self.dtype

    @property
    def result(self) -> str:
        dtype: str = S.typeof(self.epilogue, (self.product, *self.operands))
        return dtype


@dataclass(frozen=True)
class Tile:
    """What a program computes: rows and columns, so many steps of K at a time."""
    m: int
    n: int
    k: int
    warps: int = 8
    stages: int = 2

    def programs(self, m: int, n: int, batches: int) -> int:
        """How many of them cover so many results of m rows and n columns."""
        return -(-m // self.m) * -(-n // self.n) * batches


class Table(NamedTuple):
    """The offset of each index of a dimension, instead of a stride: `run` offsets at a time are
    consecutive, the first of them a multiple of `whole`."""
    name: str
    run: int = 1
    whole: int = 1


class Cut(NamedTuple):
    """How a contraction is cut into programs: tiles, and steps of K for each part; 0 for one."""
    tile: Tile
    part: int = 0

    def parts(self, k: int) -> int:
        """The number of parts."""
        return -(-k // self.part) if self.part else 1


ONE = Tile(1, 64, CHAINS, warps=4)
STEPS = Tile(64, 64, 1)                     # a step of K at a time
# largest first
FLOATS = (Tile(64, 64, 32, warps=4, stages=3), Tile(32, 32, 16, warps=4))
TENSORS = (Tile(128, 256, 64, stages=3), Tile(128, 128, 64, stages=3),
           Tile(64, 256, 64, stages=3), Tile(64, 128, 64, warps=4, stages=4),
           Tile(64, 64, 64, warps=4, stages=4), Tile(16, 64, 128, warps=4, stages=4))
ROUNDED = (Tile(128, 256, 32, stages=3), Tile(128, 128, 32, stages=3),
           Tile(64, 256, 32, stages=3), Tile(64, 128, 32, warps=4, stages=4),
           Tile(64, 64, 32, warps=4, stages=4), Tile(16, 64, 64, warps=4, stages=4))
# in place of the first where B's columns lie in memory: its products would wait for one another
# else, as the assembler moves sums between them
TALL = Tile(256, 128, 64, stages=3)
MOST_PARTS = 128                            # of K, on tensor cores
MOST_ROOM = 1 << 28                         # bytes for the sums of parts
LONG = 64                                   # more steps of K are better shared by largest tiles


def lower_added(contract: Contract, wide: bool) -> Source:
    """The Source of the sums of parts: x[p, at] over p, seen through the epilogue, whose operands
    have an element for each of `count` groups of `each` elements, one group after the other."""
    f, c = Code(Module()), contract
    f.line(f"program = tl.program_id(0){'.to(tl.int64)' if wide else ''}")
    f.line(f"at = program * {ADDED} + tl.arange(0, {ADDED})")
    f.line("here = at < n")
    f.line("total = tl.load(x + at, here)")
    f.line("for p in tl.range(1, parts, loop_unroll_factor=8):")
    f.line("    total += tl.load(x + p * n + at, here)")
    x = Val(f, "total", "float")
    x = scalar.rounded(f, x, c.product) if c.product in HALVES else x
    values = [x, *(scalar.load(f, t, f"tl.load(e{q} + at // each % count, here)", f"x{q}")
                   for q, t in enumerate(c.operands))]
    y, = scalar.results(f, [c.epilogue], values, (c.product, *c.operands))
    f.line(f"tl.store(y + at, {y}, here)")
    number = "i64" if wide else "i32"
    parameters = [("x", "*fp32"), ("y", scalar.POINTER[c.result]),
                  *((f"e{q}", scalar.POINTER[t]) for q, t in enumerate(c.operands)),
                  ("n", number), ("parts", number)]
    if c.operands:
        parameters += [("each", number), ("count", number)]
    return source("added_kernel", f.mod, parameters, f.lines, f"cdiv(n, {ADDED})")


class ContractionKernel:
    """Source of a contraction. A subclass is a way to form the sums: it writes the loop over K, and
    chooses the tiles that it is given.

    `ones` names strides that are known to be 1: they are no parameters, and the compiler knows
    that such rows of memory are contiguous. `tables` replace some strides: windows of an image are
    gathered that way. `wide`: offsets need 64 bits. `in_parts`: store the sums of parts of K."""
    tiles: tuple[Tile, ...]                 # to choose from, largest first
    on_tensor_cores = False
    # which factors are read much more quickly from rows, or columns, that are contiguous
    reads_rows_of_a = reads_rows_of_b = reads_columns_of_b = False

    def __init__(self, contract: Contract, ones: Sequence[str] = (), wide: bool = False,
                 tables: Sequence[Table] = (), tile: Tile | None = None,
                 in_parts: bool = False) -> None:
        for t in (contract.dtype, *contract.operands):
            if t not in scalar.COMPUTE or t == "bool":
                raise scalar.Unsupported(t)
        self.check_type(contract.dtype)
        tile = self.cut(contract, (64, 64, 1), 1, 1).tile if tile is None else tile
        self.contract, self.ones = contract, ones
        self.tables = {table.name: table for table in tables}
        self.tile, self.in_parts = tile, in_parts
        self.number = "i64" if wide else "i32"
        self.ty = scalar.COMPUTE[contract.dtype]
        self.f = Code(Module())
        self.m, self.n, self.k = tile.m, tile.n, tile.k

    @classmethod
    def check_type(cls, dtype: str) -> None:
        """Raise Unsupported where there is no such kernel for factors of this type."""

    @classmethod
    def cut(cls, contract: Contract, shape: tuple[int, int, int], batches: int, units: int,
            by_columns: bool = False) -> Cut:
        """How to cut (m, n, k) for so many multiprocessors: the largest tiles that leave few of
        them idle, in parts where there are none such, or where K is long. `by_columns`: each of
        B's columns is contiguous."""
        if scalar.COMPUTE[contract.dtype] != "float":
            return Cut(STEPS)
        m, n, k = shape
        # no tile is more than twice as tall or wide as the result
        fitting = [t for t in cls.tiles if t.m < 2 * max(m, 16) and t.n < 2 * max(n, 32)]
        return cls.choose(fitting or [cls.tiles[-1]], contract, shape, batches, units, by_columns)

    @classmethod
    def choose(cls, fitting: list[Tile], contract: Contract, shape: tuple[int, int, int],
               batches: int, units: int, by_columns: bool) -> Cut:
        """Choose among the tiles that fit, and the number of parts."""
        raise NotImplementedError

    def sums(self) -> None:
        """Write the loop over K, which leaves `total`."""
        raise NotImplementedError

    def source(self) -> Source:
        f, c = self.f, self.contract
        named = [("a", "mk"), ("b", "kn"), ("c", "mn"),
                 *((f"e{i}", "mn") for i in range(len(c.operands)))]
        types = [c.dtype, c.dtype, "f32" if self.in_parts else c.result, *c.operands]
        parameters = [(name, scalar.POINTER[t]) for (name, _), t in zip(named, types)]
        strides = [f"{name}_{d}" for name, dims in named for d in dims + "oi"]
        shares = ["part", "parts", "c_p"] if self.in_parts else []
        parameters += [(s, f"*{self.number}" if s in self.tables else self.number)
                       for s in ("m", "n", "k", "inner", *shares, *strides) if s not in self.ones]
        f.line(f"program = tl.program_id(0){'.to(tl.int64)' if self.number == 'i64' else ''}")
        f.line(f"across = tl.cdiv(n, {self.n})")
        f.line(f"down = tl.cdiv(m, {self.m})")
        f.line("batch = program // (across * down)")
        self.in_groups()
        f.line(f"i = (row * {self.m} + tl.arange(0, {self.m}))[:, None]")
        f.line(f"j = (column * {self.n} + tl.arange(0, {self.n}))[None, :]")
        if self.in_parts:
            f.line("first = batch % parts * part")
            f.line("c += batch % parts * c_p")
            f.line("batch = batch // parts")
        for name, _ in named:
            f.line(f"{name}_at = {name} + batch // inner * {name}_o + batch % inner * {name}_i")
        self.sums()
        f.line("here = (i < m) & (j < n)")
        if self.in_parts:
            f.line(f"tl.store(c_at + {self.place('c', m='i', n='j')}, total, here)")
        else:
            self.finish()
        whole = [e for e in (c.a, c.b) if e.op != "arg"]
        title = (scalar.title(*whole, c.epilogue).replace("copy_", "")
                 if whole or c.epilogue.op != "arg" else "kernel")
        return source(f"matmul_{title}", f.mod, parameters, f.lines,
                      f"cdiv(m, {self.m}) * cdiv(n, {self.n}) * batches"
                      + (" * parts" if self.in_parts else ""),
                      warps=self.tile.warps, stages=self.tile.stages)

    def in_groups(self) -> None:
        """Which tile a program computes: those that run at a time lie beside each other, some rows
        of them, so that they read the same memory."""
        f = self.f
        f.line("tile = program % (across * down)")
        f.line(f"above = tile // ({GROUP} * across) * {GROUP}")
        f.line(f"rows = tl.minimum(down - above, {GROUP})")
        f.line(f"row = above + tile % ({GROUP} * across) % rows")
        f.line(f"column = tile % ({GROUP} * across) // rows")

    def finish(self) -> None:
        """Round the sum, see it through the epilogue and store it."""
        f, c = self.f, self.contract
        x = Val(f, "total", self.ty)
        x = scalar.rounded(f, x, c.product) if c.product in HALVES else x
        values = ([x] + [
            scalar.load(f, t, f"tl.load(e{q}_at + {self.place(f'e{q}', m='i', n='j')}, here)",
                        f"x{q}") for q, t in enumerate(c.operands)])
        y, = scalar.results(f, [c.epilogue], values, (c.product, *c.operands))
        f.line(f"tl.store(c_at + {self.place('c', m='i', n='j')}, {y}, here)")

    def place(self, which: str, **indices: str) -> str:
        """The offset of an element, given its indices along dimensions."""
        return " + ".join(self.step(f"{which}_{d}", d, i) for d, i in indices.items())

    def step(self, name: str, d: str, i: str) -> str:
        """The offset of index i along a dimension."""
        if name in self.tables:
            places = f"tl.load({name} + {i}, {i} < {d}, other=0)"
            return places if self.tile == STEPS else self.listed(self.tables[name], places)
        return i if name in self.ones else f"{i} * {name}"

    def listed(self, table: Table, places: str) -> str:
        """Offsets from a table, with hints for the compiler about runs and multiples: with these
        it loads several numbers at a time."""
        # blocks are (m, k), (k, n) and (m, n)
        first = table.name[-1] == "m" or table.name == "b_k"

        def along(n: int, across: int) -> str:
            return f"[{n}, {across}]" if first else f"[{across}, {n}]"
        if table.whole > 1:
            across = table.whole if table.run == 1 else 1
            places = f"tl.multiple_of({places}, {along(table.whole, across)})"
        return f"tl.max_contiguous({places}, {along(table.run, 1)})" if table.run > 1 else places

    def element(self, which: str, at: str, mask: str) -> Val:
        """Elements of a or b, seen through their expression, in the form to compute in: `at` is
        counted from one of the pointers that the operand has."""
        f, c = self.f, self.contract
        x = scalar.load(f, c.dtype, f"tl.load({which}_{at}, {mask})")
        e = getattr(c, which)
        x, = scalar.compute(f, [e], [x], [c.dtype])[0]
        return (scalar.rounded(f, x, c.dtype)
                if c.dtype in HALVES and e.op not in ("arg", "cast") else x)

    @property
    def half(self) -> str | None:
        """Triton's name of the type to which factors are rounded; None for float32."""
        return None

    def factor(self, which: str, at: str, mask: str, none: float) -> str:
        """Text of a block of a or b as `tl.dot` takes it: `none` where there is no element."""
        c, half = self.contract, self.half
        # nothing is between memory and the product: it can be copied ahead
        if getattr(c, which).op == "arg":
            load = f"tl.load({which}_{at}, {mask}, other={none})"
            return load if half or c.dtype == "f32" else f"{load}.to(tl.float32)"
        text = f"tl.where({mask}, {self.element(which, at, mask).ref}, {none})"
        return f"{text}.to({half})" if half else text

    def lines(self) -> None:
        """Pointers to the first element of each row of A and each column of B."""
        self.f.line(f"a_line = a_at + {self.place('a', m='i')}")
        self.f.line(f"b_line = b_at + {self.place('b', n='j')}")

    def factors(self, none: float) -> None:
        """Some steps of both operands, from k1 on."""
        f = self.f
        f.line(f"p = k1 + tl.arange(0, {self.k})")
        x_at = f"line + {self.place('a', k='p[None, :]')}"
        y_at = f"line + {self.place('b', k='p[:, None]')}"
        f.line(f"x = {self.factor('a', x_at, '(i < m) & (p[None, :] < k)', none)}")
        f.line(f"y = {self.factor('b', y_at, '(p[:, None] < k) & (j < n)', 0.0)}")

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return f"tl.fma({a}, {b}, {c})" if self.ty in ("float", "double") else f"{a} * {b} + {c}"


class Chains(ContractionKernel):
    """The canonical order: one chain for each block of K."""
    tiles = FLOATS
    reads_rows_of_b = True

    @classmethod
    def choose(cls, fitting: list[Tile], contract: Contract, shape: tuple[int, int, int],
               batches: int, units: int, by_columns: bool) -> Cut:
        """The largest tiles that leave few units idle, in parts where there are none such."""
        m, n, k = shape
        blocks = -(-k // KC)
        if blocks * m * n * batches * 4 > MOST_ROOM:
            blocks = 1
        for t in fitting:
            if t.programs(m, n, batches) >= units * BUSY and (t is not FLOATS[-1] or blocks == 1):
                return Cut(t)
        t = next((t for t in fitting if t.programs(m, n, batches) * blocks >= units), fitting[-1])
        return Cut(t, KC if blocks > 1 else 0)

    def sums(self) -> None:
        """One chain for each block of K."""
        f, ty = self.f, TYPE[self.ty]
        self.lines()
        f.line(f"total = tl.zeros([{self.m}, {self.n}], {ty})")
        if self.in_parts:
            f.line(f"for k0 in range(first, tl.minimum(first + part, k), {KC}):")
        else:
            f.line(f"for k0 in range(0, k, {KC}):")
        f.depth += 1
        f.line(f"chain = tl.zeros([{self.m}, {self.n}], {ty})")
        f.line(f"for k1 in range(k0, tl.minimum(k0 + {KC}, k), {self.k}):")
        f.depth += 1
        if self.tile == STEPS:
            a = self.element("a", f"line + {self.place('a', k='k1')}", "i < m")
            b = self.element("b", f"line + {self.place('b', k='k1')}", "j < n")
            f.line(f"chain = {self.multiply_add(a.ref, b.ref, 'chain')}")
        else:
            self.factors(-0.0)
            f.line('chain = tl.dot(x, y, chain, input_precision="ieee")')
        f.depth -= 1
        f.line(f"total = tl.where(k0 == {'first' if self.in_parts else '0'}, chain, total + chain)")
        f.depth -= 1


class OneRow(ContractionKernel):
    """The canonical order of a product of one row."""

    @classmethod
    def cut(cls, contract: Contract, shape: tuple[int, int, int], batches: int, units: int,
            by_columns: bool = False) -> Cut:
        return Cut(ONE)

    def sums(self) -> None:
        """16 chains, over every 16th step of blocks of 4096."""
        f, ty, shape = self.f, TYPE[self.ty], f"[{self.n}, {CHAINS}]"
        f.line(f"q = tl.reshape(tl.arange(0, {CHAINS}), [1, {CHAINS}])")
        f.line(f"r = tl.reshape(j, [{self.n}, 1])")
        f.line(f"chains = tl.zeros({shape}, {ty})")
        f.line(f"for k0 in range(0, k, {BLOCK}):")
        f.depth += 1
        f.line(f"chain = tl.zeros({shape}, {ty})")
        f.line(f"for k1 in range(k0, tl.minimum(k0 + {BLOCK}, k), {CHAINS}):")
        f.depth += 1
        f.line("p = k1 + q")
        a = self.element("a", f"at + {self.place('a', k='p')}", "p < k")
        b = self.element("b", f"at + {self.place('b', k='p', n='r')}", "(p < k) & (r < n)")
        f.line(f"chain = tl.where(p < k, {self.multiply_add(a.ref, b.ref, 'chain')}, chain)")
        f.depth -= 1
        f.line("chains = tl.where(k0 == 0, chain, chains + chain)")
        f.depth -= 1
        h = CHAINS // 2
        name = "chains"
        while h:
            f.line(f"sums = tl.sum(tl.reshape({name}, [{self.n}, 2, {h}]), 1)")
            name, h = "sums", h // 2
        f.line(f"total = tl.reshape(sums, [1, {self.n}])")


class TensorCores(ContractionKernel):
    """One sum, in the machine's order. Parts decide about bits, so the number of parts does not
    depend on the epilogue."""
    on_tensor_cores = True
    precision = ""                          # an argument of `tl.dot`

    @classmethod
    def choose(cls, fitting: list[Tile], contract: Contract, shape: tuple[int, int, int],
               batches: int, units: int, by_columns: bool) -> Cut:
        m, n, k = shape
        smaller = fitting[min(1, len(fitting) - 1)]         # than the largest

        def in_parts(t: Tile) -> Cut:
            steps = -(-k // t.k)
            parts = min(MOST_PARTS, units // t.programs(m, n, batches) or 1, max(1, steps // 4))
            return Cut(t, -(-steps // parts) * t.k if parts > 1 else 0)

        def is_busy(t: Tile) -> bool:
            return t.programs(m, n, batches) >= units * BUSY
        if k > LONG * fitting[0].k and in_parts(fitting[0]).part:
            return in_parts(fitting[0])
        if not any(map(is_busy, fitting)) and in_parts(smaller).part:
            return in_parts(smaller)
        fitting = cls.with_epilogue(fitting, contract.epilogue)
        t = next(filter(is_busy, fitting), smaller)
        return Cut(TALL if by_columns and t is TENSORS[0] else t)

    @classmethod
    def with_epilogue(cls, fitting: list[Tile], epilogue: S.Expr) -> list[Tile]:
        """The tiles whose registers have room for an epilogue beside the sums."""
        return fitting

    def sums(self) -> None:
        """One sum, in the machine's order."""
        f = self.f
        self.lines()
        f.line(f"total = tl.zeros([{self.m}, {self.n}], tl.float32)")
        f.line(f"for k1 in range(first, tl.minimum(first + part, k), {self.k}):" if self.in_parts
               else f"for k1 in range(0, k, {self.k}):")
        f.depth += 1
        self.factors(0.0)
        f.line(f"total = tl.dot(x, y, total{self.precision})")
        f.depth -= 1


class Halves(TensorCores):
    """f16 and bf16 on tensor cores."""
    tiles = TENSORS

    @classmethod
    def check_type(cls, dtype: str) -> None:
        if dtype not in HALVES:
            raise scalar.Unsupported(f"tensor cores with full precision of {dtype}")

    @property
    def half(self) -> str | None:
        return TYPE[scalar.MEMORY[self.contract.dtype]]


class Tf32(TensorCores):
    """f32 on tensor cores, rounded to TF32."""
    tiles = ROUNDED
    precision = ', input_precision="tf32"'
    reads_rows_of_a = reads_columns_of_b = True

    @classmethod
    def check_type(cls, dtype: str) -> None:
        if dtype != "f32":
            raise scalar.Unsupported(f"numbers rounded to TF32 from {dtype}")

    @classmethod
    def with_epilogue(cls, fitting: list[Tile], epilogue: S.Expr) -> list[Tile]:
        return (fitting if epilogue in (S.arg(0), PLUS_ONE)
                else [t for t in fitting if t is not ROUNDED[0]])


def lower(contract: Contract, kernel: type[ContractionKernel] = Chains, ones: Sequence[str] = (),
          wide: bool = False, tables: Sequence[Table] = (), tile: Tile | None = None,
          in_parts: bool = False) -> Source:
    """The Source of a contraction by a kind of kernel."""
    return kernel(contract, ones, wide, tables, tile, in_parts).source()


def numbers(shape: Sequence[int], strides: Sequence[list[int]],
            batch: Sequence[int] = (1, 1)) -> dict[str, int]:
    """The integer parameters: shape (m, n, k); strides in elements of a, b, c and the epilogue's
    operands, each (two of the matrix, outer batch, inner batch); the batch's two sizes."""
    out = dict(zip("mnk", shape, strict=True)) | {"inner": batch[1], "batches": batch[0] * batch[1]}
    named = [("a", "mk"), ("b", "kn"), ("c", "mn"),
             *((f"e{i}", "mn") for i in range(len(strides) - 3))]
    for (name, dims), s in zip(named, strides, strict=True):
        out |= dict(zip((f"{name}_{d}" for d in dims + "oi"), s, strict=True))
    return out
