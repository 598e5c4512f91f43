"""Products of matrices as Triton source: C[m, n] = sum over k of A[m, k] * B[k, n], of any strides,
in batches of two dimensions.

Three kernels:

`chains`   the canonical order of `lower_llvm/products/gemm.py`: K in blocks of 256, in each one
           chain of fused multiply-adds from +0, the blocks added left to right. Bits are the CPU's.
           f32 goes through `tl.dot` with full precision, which Triton's compiler makes a chain in
           the order of k on the cores that are not tensor cores. What K lacks is -0 * +0, which
           changes no sum. f64 and integers take a step of k at a time.
`one`      the canonical order of `lower_llvm/products/one_row.py`, for a product of one row (or,
           transposed, of one column): 16 chains.
`tensor`   f16 and bf16 on tensor cores: the same blocks. The order within them, and where it
           rounds, is the machine's.

The parameters are a, b, c, the epilogue's operands e0, e1 ...; m, n, k, the size of the inner batch
dimension; then strides in elements: of a along m and k, of b along k and n, of c along m and n and
of each operand of the epilogue along m and n, each followed by those of the outer and the inner
batch dimension. Operands of the epilogue that stand still along m or n have strides of 0.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

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


@dataclass(frozen=True)
class Contract:
    """What is computed: elements of A and B are of type `dtype`, seen through `a` and `b`
    (expressions of argument 0), and what is stored is the `epilogue`, an expression of the product
    (argument 0, rounded to dtype) and of the operands (arguments 1 ...)."""
    dtype: str
    a: S.Expr = S.arg(0)
    b: S.Expr = S.arg(0)
    epilogue: S.Expr = S.arg(0)
    operands: tuple[str, ...] = ()          # dtypes

    @property
    def result(self) -> str:
        dtype: str = S.typeof(self.epilogue, (self.dtype, *self.operands))
        return dtype


def lower(contract: Contract, kind: str = "chains", ones: Sequence[str] = (),
          wide: bool = False, tables: Sequence[str] = ()) -> Source:
    """The Source of a contraction: kind "chains", "one" or "tensor". `ones` names strides that are
    known to be 1, which makes rows of memory known to be rows: they are no parameters. `tables`
    names strides in whose place there is a table of where each index lies: windows of an image are
    gathered that way."""
    for t in (contract.dtype, *contract.operands):
        if t not in scalar.COMPUTE or t == "bool":
            raise scalar.Unsupported(t)
    if kind == "tensor" and contract.dtype not in HALVES:
        raise scalar.Unsupported(f"tensor cores with full precision of {contract.dtype}")
    return _Contract(contract, kind, ones, wide, tables).source()


class _Contract:
    def __init__(self, contract: Contract, kind: str, ones: Sequence[str], wide: bool,
                 tables: Sequence[str]) -> None:
        self.contract, self.kind, self.ones, self.tables = contract, kind, ones, tables
        self.number = "i64" if wide else "i32"
        self.ty = scalar.COMPUTE[contract.dtype]
        self.f = Code(Module())
        self.steps = kind == "chains" and self.ty != "float"        # a step of k at a time
        self.m, self.n, self.k = ((1, 64, CHAINS) if kind == "one" else
                                  (64, 64, 16 if self.ty == "float" else 1))
        if kind == "tensor":
            self.m, self.n, self.k = 128, 128, 64

    def source(self) -> Source:
        f, c = self.f, self.contract
        named = [("a", "mk"), ("b", "kn"), ("c", "mn"),
                 *((f"e{i}", "mn") for i in range(len(c.operands)))]
        types = [c.dtype, c.dtype, c.result, *c.operands]
        parameters = [(name, scalar.POINTER[t]) for (name, _), t in zip(named, types)]
        strides = [f"{name}_{d}" for name, dims in named for d in dims + "oi"]
        parameters += [(s, "*i64" if s in self.tables else self.number)
                       for s in ("m", "n", "k", "inner", *strides) if s not in self.ones]
        f.line(f"program = tl.program_id(0){'.to(tl.int64)' if self.number == 'i64' else ''}")
        f.line(f"across = tl.cdiv(n, {self.n})")
        f.line(f"down = tl.cdiv(m, {self.m})")
        f.line("batch = program // (across * down)")
        f.line(f"i = (program // across % down * {self.m} + tl.arange(0, {self.m}))[:, None]")
        f.line(f"j = (program % across * {self.n} + tl.arange(0, {self.n}))[None, :]")
        for name, _ in named:
            f.line(f"{name}_at = {name} + batch // inner * {name}_o + batch % inner * {name}_i")
        {"chains": self.chains, "one": self.one, "tensor": self.chains}[self.kind]()
        f.line("here = (i < m) & (j < n)")
        x = Val(f, "total", self.ty)
        x = scalar.rounded(f, x, c.dtype) if c.dtype in HALVES else x
        values = ([x] + [
            scalar.load(f, t, f"tl.load(e{q}_at + {self.place(f'e{q}', m='i', n='j')}, here)",
                        f"x{q}") for q, t in enumerate(c.operands)])
        y, = scalar.results(f, [c.epilogue], values, (c.dtype, *c.operands))
        f.line(f"tl.store(c_at + {self.place('c', m='i', n='j')}, {y}, here)")
        whole = [e for e in (c.a, c.b) if e.op != "arg"]
        title = (scalar.title(*whole, c.epilogue).replace("copy_", "")
                 if whole or c.epilogue.op != "arg" else "kernel")
        return source(f"matmul_{title}", f.mod, parameters, f.lines,
                      f"cdiv(m, {self.m}) * cdiv(n, {self.n}) * batches",
                      warps=4 if self.kind == "one" else 8,
                      stages=3 if self.kind == "tensor" else 2)

    def place(self, which: str, **indices: str) -> str:
        """Where an element is, given its indices along dimensions."""
        return " + ".join(self.step(f"{which}_{d}", d, i) for d, i in indices.items())

    def step(self, name: str, d: str, i: str) -> str:
        """How far index i along a dimension is."""
        if name in self.tables:
            return f"tl.load({name} + {i}, {i} < {d}, other=0)"
        return i if name in self.ones else f"{i} * {name}"

    def element(self, which: str, at: str, mask: str) -> Val:
        """Elements of a or b, seen through their expression, in the form to compute in."""
        f, c = self.f, self.contract
        x = scalar.load(f, c.dtype, f"tl.load({which}_at + {at}, {mask})")
        e = getattr(c, which)
        x, = scalar.compute(f, [e], [x], [c.dtype])[0]
        return (scalar.rounded(f, x, c.dtype)
                if c.dtype in HALVES and e.op not in ("arg", "cast") else x)

    def factor(self, which: str, at: str, mask: str, none: float) -> str:
        """Text of a block of a or b as `tl.dot` takes it: `none` where there is no element."""
        c = self.contract
        half = TYPE[scalar.MEMORY[c.dtype]] if self.kind == "tensor" else None
        # nothing lies between memory and the product: it can be copied ahead
        if getattr(c, which).op == "arg":
            load = f"tl.load({which}_at + {at}, {mask}, other={none})"
            return load if half or c.dtype == "f32" else f"{load}.to(tl.float32)"
        text = f"tl.where({mask}, {self.element(which, at, mask).ref}, {none})"
        return f"{text}.to({half})" if half else text

    def chains(self) -> None:
        """One chain for each block of K."""
        f, ty = self.f, TYPE[self.ty]
        f.line(f"total = tl.zeros([{self.m}, {self.n}], {ty})")
        f.line(f"for k0 in range(0, k, {KC}):")
        f.depth += 1
        f.line(f"chain = tl.zeros([{self.m}, {self.n}], {ty})")
        f.line(f"for k1 in range(k0, tl.minimum(k0 + {KC}, k), {self.k}):")
        f.depth += 1
        if self.steps:
            a, b = self.element("a", self.place("a", m="i", k="k1"),
                                "i < m"), self.element("b", self.place("b", k="k1", n="j"), "j < n")
            f.line(f"chain = {self.multiply_add(a.ref, b.ref, 'chain')}")
        else:
            f.line(f"p = k1 + tl.arange(0, {self.k})")
            none = 0.0 if self.kind == "tensor" else -0.0
            x_at = self.place("a", m="i", k="p[None, :]")
            y_at = self.place("b", k="p[:, None]", n="j")
            f.line(f"x = {self.factor('a', x_at, '(i < m) & (p[None, :] < k)', none)}")
            f.line(f"y = {self.factor('b', y_at, '(p[:, None] < k) & (j < n)', 0.0)}")
            f.line("chain = tl.dot(x, y, chain)" if self.kind == "tensor"
                   else 'chain = tl.dot(x, y, chain, input_precision="ieee")')
        f.depth -= 1
        f.line("total = tl.where(k0 == 0, chain, total + chain)")
        f.depth -= 1

    def multiply_add(self, a: str, b: str, c: str) -> str:
        return f"tl.fma({a}, {b}, {c})" if self.ty in ("float", "double") else f"{a} * {b} + {c}"

    def one(self) -> None:
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
        a = self.element("a", self.place("a", k="p"), "p < k")
        b = self.element("b", self.place("b", k="p", n="r"), "(p < k) & (r < n)")
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
