"""A small builder of LLVM IR text: typed values with operators, structured loops, and nothing that
optimises.

A generator written with it reads as the loop nest it emits. Values are `Val`s (an SSA name and its
LLVM type); plain Python numbers are accepted wherever a value is, and integer arithmetic on two
Python ints stays in Python.

    m = Module()
    f = m.fn("axpy", [("ptr", "x"), ("ptr", "y"), ("float", "a"), ("i64", "n")])
    x, y, a, n = f.args
    with_lanes = f.splat(a, 8)
    f.loop(0, n, 8, lambda i: f.store(f.load("<8 x float>", f.at(x, i)) * with_lanes, f.at(y, i)))
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

from . import fused_multiply_add, targets
from .literals import FLOATS, literal

if TYPE_CHECKING:
    from .operations import Operations

BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "i128": 128, "half": 16,
        "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
BYTES = {t: max(1, b // 8) for t, b in BITS.items()}
_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}


@functools.lru_cache(None)
def parts(ty: str) -> tuple[int, str]:
    """`<16 x float>` -> (16, "float"); a scalar has 0 lanes."""
    m = re.fullmatch(r"<(\d+) x (\w+)>", ty)
    return (int(m[1]), m[2]) if m else (0, ty)


def vec(elem: str, lanes: int) -> str:
    """The type of `lanes` elements; 0 lanes is the scalar type."""
    return f"<{lanes} x {elem}>" if lanes else elem


def suffix(ty: str) -> str:
    """The type as intrinsic names spell it: `<16 x float>` -> `v16f32`."""
    n, e = parts(ty)
    return (f"v{n}" if n else "") + _SUFFIX.get(e, e)


Number: TypeAlias = "float | Val"            # what an operand may be


class Val:
    """An SSA value. Arithmetic picks the float or the integer instruction by type; `>>` is
    arithmetic, `f.lshr` is not."""
    __slots__ = ("f", "ref", "ty")

    def __init__(self, f: Operations, ref: str, ty: str) -> None:
        self.f, self.ref, self.ty = f, ref, ty

    def __repr__(self) -> str:
        return f"{self.ty} {self.ref}"

    @property
    def lanes(self) -> int:
        return parts(self.ty)[0]

    @property
    def elem(self) -> str:
        return parts(self.ty)[1]

    @property
    def is_float(self) -> bool:
        return parts(self.ty)[1] in FLOATS

    def __add__(self, o: Number) -> Val: return self.f.binary("add", self, o)
    def __radd__(self, o: float) -> Val: return self.f.binary("add", o, self)
    def __sub__(self, o: Number) -> Val: return self.f.binary("sub", self, o)
    def __rsub__(self, o: float) -> Val: return self.f.binary("sub", o, self)
    def __mul__(self, o: Number) -> Val: return self.f.binary("mul", self, o)
    def __rmul__(self, o: float) -> Val: return self.f.binary("mul", o, self)
    def __truediv__(self, o: Number) -> Val: return self.f.binary("fdiv", self, o)
    def __rtruediv__(self, o: float) -> Val: return self.f.binary("fdiv", o, self)
    def __and__(self, o: int | Val) -> Val: return self.f.binary("and", self, o)
    def __or__(self, o: int | Val) -> Val: return self.f.binary("or", self, o)
    def __xor__(self, o: int | Val) -> Val: return self.f.binary("xor", self, o)
    def __lshift__(self, o: int | Val) -> Val: return self.f.binary("shl", self, o)
    def __rshift__(self, o: int | Val) -> Val: return self.f.binary("ashr", self, o)
    def __neg__(self) -> Val: return self.f.neg(self)
    def __invert__(self) -> Val: return self.f.binary("xor", self, 1 if self.elem == "i1" else -1)


_FOLD = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b}
_ZERO_CHANGES_NOTHING = "add", "sub", "or", "xor", "shl", "ashr", "lshr"


class Module:
    """Functions, declarations and read-only tables that become one object file.

    `brief`: little code is wanted rather than fast code. `writing`: what is being written, for
    messages of a module whose accesses to memory are tested, see `access_checks.py`."""

    def __init__(self, brief: bool = False) -> None:
        self.decls: dict[str, str] = {}
        self.tables: dict[str, str] = {}
        self.fns: list[Fn] = []
        self.once: set[object] = set()
        self.brief = brief
        self.writing = ""

    def new_fn(self, name: str, args: Sequence[tuple[str, str]], ret: str, linkage: str,
               attrs: str) -> Fn:
        """A function of this kind of module."""
        return Fn(self, name, args, ret, linkage, attrs)

    def declare(self, name: str, ret: str, args: Sequence[str], attrs: str = "") -> None:
        self.decls.setdefault(name, f"declare {ret} @{name}({', '.join(args)}) {attrs}")

    def table(self, name: str, elem: str, values: Sequence[Any]) -> Val:
        """A constant array; its address is the Val `@name`. Alignment 64."""
        body = ", ".join(f"{elem} {literal(elem, v) if elem in BITS else v}" for v in values)
        constant = f"internal unnamed_addr constant [{len(values)} x {elem}] [{body}], align 64"
        self.tables.setdefault(name, f"@{name} = {constant}")
        return Val(cast("Operations", None), f"@{name}", "ptr")  # nothing is computed with it

    def raw(self, name: str, text: str) -> None:
        """A helper written as IR text, kept once."""
        self.tables.setdefault(name, text)

    def fn(self, name: str, args: Sequence[tuple[str, str]], ret: str = "void", linkage: str = "",
           attrs: str = "") -> Fn:
        f = self.new_fn(name, args, ret, linkage, attrs)
        self.fns.append(f)
        return f

    def kernel(self, name: str) -> Fn:
        """A function that the thread pool calls: it does the work units begin..end of a call whose
        arguments `args` leads to."""
        return self.fn(name, [("ptr", "args"), ("i64", "begin"), ("i64", "end"), ("i64", "worker")])

    def text(self) -> str:
        fns = [f.text() for f in self.fns]      # an ending may need more declarations
        return "\n".join([*self.decls.values(), *self.tables.values(), *fns]) + "\n"


class Fn:
    """One function under construction."""

    def __init__(self, mod: Module, name: str, args: Sequence[tuple[str, str]], ret: str,
                 linkage: str, attrs: str) -> None:
        self.mod, self.name, self.n, self.block = mod, name, 0, "entry"
        self.lines: list[str] = []
        self.head = (f"define {linkage} {ret} @{name}({', '.join(f'{t} %{a}' for t, a in args)}) "
                     f'nounwind "no-builtins" "prefer-vector-width"="512" {attrs} {{')
        self.args = [Val(self, f"%{a}", t.split()[0]) for t, a in args]
        self.entry: list[str] = []
        self.closed = False
        self.first: dict[str, Val] = {}         # masks of the first lanes -> how many
        self.numbers: dict[str, float] = {}        # constants, by what they are called

    def text(self) -> str:
        end = [] if self.closed else [" ret void"]
        return "\n".join([self.head, "entry:", *self.entry, *self.lines, *end, "}"])

    # values
    def new(self) -> str:
        self.n += 1
        return f"%v{self.n}"

    def v(self, ty: str, expr: str) -> Val:
        self.n += 1
        self.lines.append(f" %v{self.n} = {expr}")
        return Val(self, f"%v{self.n}", ty)

    def raw(self, line: str) -> None:
        self.lines.append(" " + line)

    def const(self, ty: str, x: float) -> Val:
        n, e = parts(ty)
        made = Val(self, f"splat ({e} {literal(e, x)})" if n else literal(e, x), ty)
        self.numbers[made.ref] = x
        return made

    def number_of(self, x: Val) -> float | None:
        """The number that a constant is; None of other values."""
        return self.numbers.get(x.ref)

    def as_val(self, x: Number, ty: str) -> Val:
        """A Python number as a constant of `ty`; a scalar Val of the element type is splatted to a
        vector type."""
        if not isinstance(x, Val):
            return self.const(ty, x)
        if x.ty != ty and parts(ty)[0] and not x.lanes:
            return self.splat(x, parts(ty)[0])
        return x

    def splat(self, x: Val, lanes: int) -> Val:
        if not lanes or x.lanes:
            return x
        t = vec(x.ty, lanes)
        a = self.v(t, f"insertelement {t} poison, {x.ty} {x.ref}, i64 0")
        return self.v(t, f"shufflevector {t} {a.ref}, {t} poison, <{lanes} x i32> zeroinitializer")

    def vector(self, elem: str, numbers: Any) -> Val:
        """A constant vector."""
        elements = ", ".join(f"{elem} {literal(elem, x)}" for x in numbers)
        return Val(self, f"<{elements}>", vec(elem, len(numbers)))

    def iota(self, elem: str, lanes: int) -> Val:
        """<0, 1, 2, ...>"""
        return self.vector(elem, range(lanes))

    def pair(self, a: Number, b: Number) -> tuple[Val, Val]:
        """Both as Vals of one type."""
        if isinstance(a, Val):
            if not isinstance(b, Val) or a.lanes or not b.lanes:
                return a, self.as_val(b, a.ty)
            return self.splat(a, b.lanes), b
        assert isinstance(b, Val)
        return self.as_val(a, b.ty), b

    # arithmetic
    def folded(self, number: Any) -> Val:
        """A Python number: it takes the place of a value wherever one is wanted."""
        value: Val = number
        return value

    def binary(self, op: str, a: Number, b: Number) -> Val:
        if not isinstance(a, Val):
            if not isinstance(b, Val):
                return self.folded(_FOLD[op](a, b))
            if not b.is_float and ((a == 0 and op == "add") or (a == 1 and op == "mul")):
                return b
        elif not isinstance(b, Val) and not a.is_float:
            if b == 0 and op in _ZERO_CHANGES_NOTHING or b == 1 and op == "mul":
                return a
        x, y = self.pair(a, b)
        if x.is_float and op in ("add", "sub", "mul"):
            op = "f" + op
        return self.v(x.ty, f"{op} {x.ty} {x.ref}, {y.ref}")

    def add(self, a: Number, b: Number) -> Val: return self.binary("add", a, b)
    def sub(self, a: Number, b: Number) -> Val: return self.binary("sub", a, b)
    def mul(self, a: Number, b: Number) -> Val: return self.binary("mul", a, b)
    def lshr(self, a: Val, b: int | Val) -> Val: return self.binary("lshr", a, b)
    def udiv(self, a: Val, b: int | Val) -> Val: return self.binary("udiv", a, b)
    def sdiv(self, a: Val, b: int | Val) -> Val: return self.binary("sdiv", a, b)
    def urem(self, a: Val, b: int | Val) -> Val: return self.binary("urem", a, b)
    def srem(self, a: Val, b: int | Val) -> Val: return self.binary("srem", a, b)
    def neg(self, a: Val) -> Val:
        return self.v(a.ty, f"fneg {a.ty} {a.ref}") if a.is_float else self.binary("sub", 0, a)

    def cmp(self, pred: str, a: Val, b: Number) -> Val:
        """`pred` as LLVM spells it: slt, eq, ult ... for integers; olt, une, uno ... for floats."""
        a, b = self.pair(a, b)
        compare = "fcmp" if a.is_float else "icmp"
        return self.v(vec("i1", a.lanes), f"{compare} {pred} {a.ty} {a.ref}, {b.ref}")

    def sel(self, c: Val, a: Number, b: Number) -> Val:
        """c ? a : b, lane by lane."""
        a, b = self.pair(a, b)
        if isinstance(c, Val) and c.lanes and not a.lanes:
            a, b = self.splat(a, c.lanes), self.splat(b, c.lanes)
        return self.v(a.ty, f"select {c.ty} {c.ref}, {a.ty} {a.ref}, {b.ty} {b.ref}")

    # "void" is the one text among all that gives nothing
    @overload
    def call(self, name: str, ret: Literal["void"],  # type: ignore[overload-overlap]
             *args: Val, attrs: str = "") -> None: ...
    @overload
    def call(self, name: str, ret: str, *args: Val, attrs: str = "") -> Val: ...
    def call(self, name: str, ret: str, *args: Val, attrs: str = "") -> Val | None:
        """Call a function by name, declaring it where this module does not define it. None where it
        gives nothing."""
        own = name in {f.name for f in self.mod.fns}
        if not own and f"@{name}(" not in "".join(self.mod.tables.values()):
            self.mod.declare(name, ret, [a.ty for a in args])
        text = f"call {attrs} {ret} @{name}({', '.join(f'{a.ty} {a.ref}' for a in args)})"
        if ret == "void":
            self.raw(text)
            return None
        return self.v(ret, text)

    def call_helper(self, address: Val, *args: Val) -> None:
        """Call one of this module's own functions, which returns nothing, by its address."""
        self.raw(f"call void {address.ref}({', '.join(map(repr, args))})")

    def intr(self, name: str, *args: Number) -> Val:
        """An LLVM intrinsic overloaded on its first operand's type: `f.intr("fma", a, b, c)`."""
        first = next(a for a in args if isinstance(a, Val))
        values = [self.as_val(a, first.ty) for a in args]
        full = f"llvm.{name}.{suffix(first.ty)}"
        self.mod.declare(full, first.ty, [a.ty for a in values])
        said = ", ".join(f"{a.ty} {a.ref}" for a in values)
        return self.v(first.ty, f"call {first.ty} @{full}({said})")

    def fma(self, a: Val, b: Number, c: Number) -> Val:
        return cast(Val, fused_multiply_add.emit(self, *self._same(a, b, c)))
    def sqrt(self, a: Val) -> Val: return self.intr("sqrt", a)
    def fabs(self, a: Val) -> Val: return self.intr("fabs", a)
    def rint(self, a: Val) -> Val: return self.intr("roundeven", a)
    def copysign(self, a: Number, b: Val) -> Val:
        return self.intr("copysign", *self._same(a, b))

    def reduce_far(self, x: Val, r: Val, lo: Val, u: Val) -> None:
        """There is no way of this target's own: `vmath.trig` goes over the lanes."""

    def from_memory(self, x: Val) -> Val:
        """A vector constant as an operand that an instruction takes from memory, where registers
        are few: code generation would load it into one of them on its own. The memory might change,
        as far as code generation knows, for else it hoists the load and spills what it loaded; but
        nothing writes to this section."""
        if not x.ref.startswith("splat") or targets.current().name != "avx2":
            return x
        name = f"at.{x.elem}.{x.lanes}." + x.ref.split()[-1].rstrip(")")
        self.mod.raw(
            name, f'@{name} = internal global {x.ty} {x.ref}, section ".operands", align 64')
        return self.load(x.ty, Val(self, f"@{name}", "ptr"), 32)

    def _same(self, *xs: Number) -> list[Val]:
        like = max((x for x in xs if isinstance(x, Val)), key=lambda x: x.lanes)
        return [self.as_val(x, like.ty) for x in xs]

    def imin(self, a: int | Val, b: int | Val) -> Val:
        if not isinstance(a, Val) and not isinstance(b, Val):
            return self.folded(min(a, b))
        return self.intr("smin", *self._same(a, b))

    def imax(self, a: int | Val, b: int | Val) -> Val:
        if not isinstance(a, Val) and not isinstance(b, Val):
            return self.folded(max(a, b))
        return self.intr("smax", *self._same(a, b))

    def conv(self, op: str, a: Val, elem: str) -> Val:
        """fpext, fptrunc, sitofp, fptosi, bitcast (same width), sext, zext, trunc ... to another
        element type."""
        t = vec(elem, a.lanes)
        return a if t == a.ty else self.v(t, f"{op} {a.ty} {a.ref} to {t}")

    def bitcast(self, a: Val, ty: str) -> Val:
        return self.v(ty, f"bitcast {a.ty} {a.ref} to {ty}")

    def shuffle(self, a: Val, b: Val | None, index: Any) -> Val:
        t = vec(a.elem, len(index))
        b = a if b is None else b
        order = f"<{len(index)} x i32> <{', '.join(f'i32 {i}' for i in index)}>"
        return self.v(t, f"shufflevector {a.ty} {a.ref}, {b.ty} {b.ref}, {order}")

    def extract(self, a: Val, i: int | Val) -> Val:
        return self.v(a.elem, f"extractelement {a.ty} {a.ref}, i64 {self.as_val(i, 'i64').ref}")

    def insert(self, a: Val, x: Number, i: int | Val) -> Val:
        at, new = self.as_val(i, "i64"), self.as_val(x, a.elem)
        return self.v(a.ty, f"insertelement {a.ty} {a.ref}, {new.ty} {new.ref}, i64 {at.ref}")

    def any(self, mask: Val) -> Val:
        """Does any lane of an i1 vector hold?"""
        return self.reduced("or", mask)

    def reduced(self, op: str, mask: Val) -> Val:
        """The lanes of an i1 vector by `or` or `and`."""
        if not mask.lanes:
            return mask
        name = f"llvm.vector.reduce.{op}.v{mask.lanes}i1"
        self.mod.declare(name, "i1", [mask.ty])
        return self.v("i1", f"call i1 @{name}({mask.ty} {mask.ref})")

    # memory
    def at(self, p: Val, i: int | Val, elem: str = "float") -> Val:
        """p + i elements."""
        if not isinstance(i, Val) and i == 0:
            return p
        i = self.as_val(i, "i64")
        return self.v("ptr", f"getelementptr {elem}, ptr {p.ref}, i64 {i.ref}")

    def bytes_at(self, p: Val, i: int | Val) -> Val: return self.at(p, i, "i8")

    def within(self, p: Val, size: Callable[..., Any] | Val) -> Val:
        """State that the memory of a pointer ends `size` bytes after it. `size` may be a function
        that emits this number."""
        return p

    def load(self, ty: str, p: Val, align: int | None = None) -> Val:
        return self.v(ty, f"load {ty}, ptr {p.ref}, align {align or BYTES[parts(ty)[1]]}")

    def store(self, x: Val, p: Val, align: int | None = None, nontemporal: bool = False) -> None:
        tag = ", !nontemporal !{i32 1}" if nontemporal else ""
        self.raw(f"store {x.ty} {x.ref}, ptr {p.ref}, align {align or BYTES[x.elem]}{tag}")

    def mload(self, ty: str, p: Val, mask: Val, align: int | None = None,
              other: Val | None = None) -> Val:
        """Load the lanes of `mask`; the rest are `other` (zero)."""
        n, e = parts(ty)
        name = f"llvm.masked.load.{suffix(ty)}.p0"
        self.mod.declare(name, ty, ["ptr", mask.ty, ty])
        rest = other.ref if other is not None else "zeroinitializer"
        place = f"ptr align {align or BYTES[e]} {p.ref}"
        return self.v(ty, f"call {ty} @{name}({place}, {mask.ty} {mask.ref}, {ty} {rest})")

    def mstore(self, x: Val, p: Val, mask: Val, align: int | None = None) -> None:
        """Store the lanes of `mask`."""
        name = f"llvm.masked.store.{suffix(x.ty)}.p0"
        self.mod.declare(name, "void", [x.ty, "ptr", mask.ty])
        place = f"ptr align {align or BYTES[x.elem]} {p.ref}"
        self.raw(f"call void @{name}({x.ty} {x.ref}, {place}, {mask.ty} {mask.ref})")

    def put(self, mask: Val, *places: tuple[Val, Val]) -> None:
        """Store x at p under the mask, for each (x, p). Where a masked store may take tens of
        cycles, whole vectors are stored without, and of others the first lanes in powers of two."""
        short = self.mod.brief and all(BYTES[x.elem] >= 4 for x, _ in places)
        if short or targets.current().name != "avx2":
            for x, p in places:
                self.mstore(x, p, mask)
            return
        n = self.first.get(mask.ref)

        def whole() -> None:
            for x, p in places:
                self.store(x, p)

        def some() -> None:
            for x, p in places:
                self.mstore(x, p, mask) if n is None else self.store_first(x, p, n)
        full = self.reduced("and", mask) if n is None else self.cmp("sge", n, mask.lanes)
        self.if_(full, whole, some)

    def store_first(self, x: Val, p: Val, n: Val) -> None:
        """Store the first n lanes, fewer than all: half of the vector, a quarter of it, and so on,
        as the bits of n say."""
        half = x.lanes // 2
        low = self.extract(x, 0) if half == 1 else self.shuffle(x, None, range(half))

        def some() -> list[Val]:
            self.store(low, p)
            if half == 1:
                return []
            return [self.shuffle(x, None, range(half, 2 * half)), self.at(p, half, x.elem)]
        has_half = self.cmp("ne", self.binary("and", n, half), 0)
        rest = self.if_(has_half, some, lambda: [] if half == 1 else [low, p])
        if rest:
            x, p = rest
            self.store_first(x, p, n)

    def gather(self, ty: str, addresses: Val, mask: Val | None = None,
               align: int | None = None) -> Val:
        """Load a lane from each address of a vector of `ptr`; where the mask does not hold, 0."""
        n, e = parts(ty)
        mask = self.const(vec("i1", n), True) if mask is None else mask
        name = f"llvm.masked.gather.{suffix(ty)}.v{n}p0"
        self.mod.declare(name, ty, [addresses.ty, mask.ty, ty])
        at = f"{addresses.ty} align {align or BYTES[e]} {addresses.ref}"
        return self.v(ty, f"call {ty} @{name}({at}, {mask.ty} {mask.ref}, {ty} zeroinitializer)")

    def scatter(self, x: Val, addresses: Val, mask: Val | None = None,
                align: int | None = None) -> None:
        """Store each lane to its address, in lane order."""
        mask = self.const(vec("i1", x.lanes), True) if mask is None else mask
        name = f"llvm.masked.scatter.{suffix(x.ty)}.v{x.lanes}p0"
        self.mod.declare(name, "void", [x.ty, addresses.ty, mask.ty])
        at = f"{addresses.ty} align {align or BYTES[x.elem]} {addresses.ref}"
        self.raw(f"call void @{name}({x.ty} {x.ref}, {at}, {mask.ty} {mask.ref})")

    def prefetch(self, p: Val, rw: int = 0, locality: int = 3) -> None:
        self.mod.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        self.raw(f"call void @llvm.prefetch.p0(ptr {p.ref}, i32 {rw}, i32 {locality}, i32 1)")

    def lanes_below(self, n: int | Val, lanes: int) -> Val:
        """Mask: lane index < n (n may be negative or large)."""
        if not isinstance(n, Val):
            return self.cmp("sgt", self.const(vec("i64", lanes), n), self.iota("i64", lanes))
        if targets.current().name != "avx2":
            return self.cmp("sgt", self.splat(n, lanes), self.iota("i64", lanes))
        few = self.imax(self.imin(n, lanes), 0)
        elem = "i32" if lanes > 4 else "i64"               # lanes as wide as what is masked
        count = self.conv("trunc", few, elem) if elem == "i32" else few
        mask = self.cmp("sgt", self.splat(count, lanes), self.iota(elem, lanes))
        self.first[mask.ref] = few
        return mask

    def alloca(self, elem: str, count: int, align: int = 64) -> Val:
        """Stack memory, reserved once in the entry block."""
        name = self.new()
        self.entry.append(f" {name} = alloca [{count} x {elem}], align {align}")
        return Val(self, name, "ptr")

    # control
    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def br(self, name: str) -> None: self.raw(f"br label %{name}")

    def cbr(self, c: Val, a: str, b: str) -> None:
        self.raw(f"br i1 {c.ref}, label %{a}, label %{b}")

    def bail(self, c: Val, label: str) -> None:
        """Leave for `label` where `c` holds; go on in a new block."""
        self.n += 1
        self.cbr(c, label, f"ok{self.n}")
        self.label(f"ok{self.n}")

    def ret(self, x: Val | None = None) -> None:
        """End the function here (the last block falls into `ret void` by itself)."""
        self.raw(f"ret {x.ty} {x.ref}" if x is not None else "ret void")
        self.closed = True

    def _loop_head(self) -> tuple[str, str, str, str]:
        """Begin the head of a loop: (the block before it, the labels of its head, of its body, and
        of the block after it)."""
        self.n += 1
        before, head = self.block, f"h{self.n}"
        self.br(head)
        self.label(head)
        return before, head, f"b{self.n}", f"e{self.n}"

    def loop(self, lo: int | Val, hi: int | Val, step: int | Val, body: Callable[..., Any],
             carry: Sequence[Val] = ()) -> list[Val]:
        """for i in range(lo, hi, step): body(i, *carried) -> new carried values; the last ones.

        LLVM does not learn how i goes on: to choose other induction variables takes a quarter of
        the time of the whole code generation, and where addresses may have an index it gains
        nothing but registers for a few."""
        lo, hi, step = (self.as_val(x, "i64") for x in (lo, hi, step))
        carry = list(carry)
        before, head, inside, done = self._loop_head()
        at = len(self.lines)
        names = [self.new() for _ in range(len(carry) + 1)]
        self.lines += [""] * len(names)
        i = Val(self, names[0], "i64")
        vals = [Val(self, nm, c.ty) for nm, c in zip(names[1:], carry)]
        self.cbr(self.cmp("slt", i, hi), inside, done)
        self.label(inside)
        new = body(i, *vals)
        new = [] if new is None else [new] if isinstance(new, Val) else list(new)
        assert len(new) == len(carry), f"{self.name}: carries {len(new)} values, not {len(carry)}"
        nxt = self.v("i64", f"add nsw i64 {i.ref}, {step.ref}")
        nxt = self.v("i64", f'call i64 asm "", "=r,0"(i64 {nxt.ref})')           # no instruction
        self.lines[at] = f" {names[0]} = phi i64 [{lo.ref}, %{before}], [{nxt.ref}, %{self.block}]"
        for k, c in enumerate(carry):
            first, last = f"[{c.ref}, %{before}]", f"[{new[k].ref}, %{self.block}]"
            self.lines[at + 1 + k] = f" {names[1 + k]} = phi {c.ty} {first}, {last}"
        self.br(head)
        self.label(done)
        return vals

    def steps(self, count: Val, together: int, body: Callable[..., Any],
              carry: Sequence[Val]) -> list[Val]:
        """for k in range(count): carried = body(k - u, u, *carried), in rounds of `together`
        without a branch, u being 0, 1, ... in each.

        What a loop adds to a dozen multiply-adds for counting and addresses may be a third of all
        instructions, and they are what is scarce where two threads share a core. An address for
        k - u is one for k with a constant."""
        def round_(k: Val, *acc: Val) -> Sequence[Val]:
            for u in range(together):
                acc = body(k, u, *acc)
            return acc
        whole: int | Val = 0
        if together > 1:
            whole = self.as_val(count, "i64") & -together
            carry = self.loop(0, whole, together, round_, carry)
        return self.loop(whole, count, 1, lambda k, *acc: body(k, 0, *acc), carry)

    def while_(self, test: Callable[..., Any], body: Callable[..., Any],
               carry: Sequence[Val]) -> list[Val]:
        """while test(*carried): carried = body(*carried). Returns the last ones."""
        carry = list(carry)
        before, head, inside, done = self._loop_head()
        at = len(self.lines)
        vals = [Val(self, self.new(), c.ty) for c in carry]
        self.lines += [""] * len(vals)
        self.cbr(test(*vals), inside, done)
        self.label(inside)
        new = list(body(*vals))
        for k, c in enumerate(carry):
            first, last = f"[{c.ref}, %{before}]", f"[{new[k].ref}, %{self.block}]"
            self.lines[at + k] = f" {vals[k].ref} = phi {c.ty} {first}, {last}"
        self.br(head)
        self.label(done)
        return vals

    def if_(self, cond: Val, then: Callable[..., Any],
            other: Callable[..., Any] | None = None) -> list[Val]:
        """then() and other() return lists of values (or nothing); the result is the merged list."""
        self.n += 1
        a, b, e = f"t{self.n}", f"f{self.n}", f"m{self.n}"
        self.cbr(cond, a, b)
        self.label(a)
        x = then() or []
        x_end = self.block
        self.br(e)
        self.label(b)
        y = (other() if other else None) or []
        y_end = self.block
        self.br(e)
        self.label(e)
        assert len(x) == len(y), f"{self.name}: if_ gives {len(x)} or else {len(y)} values"
        return [self.v(p.ty, f"phi {p.ty} [{p.ref}, %{x_end}], [{q.ref}, %{y_end}]")
                for p, q in zip(x, y)]
