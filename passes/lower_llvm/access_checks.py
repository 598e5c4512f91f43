"""Kernels that check each access to memory whose bounds they know: memory that they reserve
themselves, and pieces of it that are passed to them.

`WHET_CHECK=2` has every kernel written so. `Fn.alloca` and `Fn.within` say where memory begins and
ends; pointers made from these know it too, through selections, loops and the kernel's own helpers.
A wrong access ends the process, and says which kernel, where it was written, and how far outside.
Where a pointer goes to code that does not know (the shared parts of products), memory has a rim
that is looked at when the kernel is done. What is in fresh memory is all ones, NaN as a float, so
that a result shows what was read before it was written.
"""
from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .builder import BITS, Fn, Module, Number, Val, parts

SHOWN = 160  # characters of a kernel's key in a message
RIM = 64  # bytes before and after what a kernel reserves
_OURS = tuple(
    os.path.join(os.path.dirname(__file__), name) for name in ("builder.py", "access_checks.py")
)

# Says what is wrong, on stderr, with the distances of three pointers from the first, and ends the
# process.
WRONG = (
    """ declare i32 @dprintf(i32, ptr, ...) declare void @abort() define internal void @wrong(ptr
    %text, ptr %low, ptr %start, ptr %end, ptr %high) noinline noreturn cold nounwind { """
    + " %from = ptrtoint ptr %low to i64\n"
    + "".join(
        f" %{x}0 = ptrtoint ptr %{x} to i64\n %{x}1 = sub i64 %{x}0, %from\n"
        for x in ("start", "end", "high")
    )
    + """
 %n = call i32 (i32, ptr, ...) @dprintf(i32 2, ptr %text, i64 %start1, i64 %end1, i64 %high1)
 call void @abort()
 unreachable
}
"""
)


def _size(ty: str) -> int:
    """The bytes of a value in memory."""
    n, e = parts(ty)
    return ((n or 1) * BITS[e] + 7) // 8


def _place() -> str:
    """The current line of the generator."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in _OURS and frame.f_back is not None:
        frame = frame.f_back
    return (
        f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} in {frame.f_code.co_name}"
    )


class CheckedFn(Fn):
    """A function under construction whose accesses are tested."""

    def __init__(self, mod: Module, name: str, args: Sequence[tuple[str, str]], ret: str,
                 linkage: str, attrs: str) -> None:
        self.internal, pointers = (
            linkage == "internal",
            [a for t, a in args if t.split()[0] == "ptr"],
        )
        hidden = (
            [("ptr", f"{a}.{side}") for a in pointers for side in ("low", "high")]
            if self.internal
            else []
        )
        super().__init__(mod, name, [*args, *hidden], ret, linkage, attrs)
        # pointers -> where their memory begins, and where it ends
        self.bounds: dict[str, tuple[Val, Val]] = {}
        # what is beside reserved memory, and the line that reserved it
        self.rims: list[tuple[Any, ...]] = []
        self.sealed = False
        self.args, bounds = self.args[: len(args)], self.args[len(args) :]
        if self.internal:
            with_bounds = [x for x in self.args if x.ty == "ptr"]
            self.bounds.update(
                (x.ref, (bounds[2 * k], bounds[2 * k + 1])) for k, x in enumerate(with_bounds)
            )

    def text(self) -> str:
        if not self.closed and not self.sealed:
            self.seal()
        return super().text()

    # ---- what is known of pointers ---------------------------------------------------------------
    def bounds_of(self, p: Val) -> tuple[Val, Val]:
        """The beginning and the end of a pointer's memory; the whole address space if it is
        unknown."""
        return self.bounds.get(p.ref) or (self.const("ptr", 0), self.const("ptr", -1))

    def within(self, p: Val, size: Callable[..., Any] | Val) -> Val:
        size = size() if callable(size) else size
        self.bounds[p.ref] = p, super().at(p, size, "i8")
        return p

    def at(self, p: Val, i: int | Val, elem: str = "float") -> Val:
        q = super().at(p, i, elem)
        if p.ref in self.bounds:
            self.bounds[q.ref] = self.bounds[p.ref]
        return q

    def sel(self, c: Val, a: Number, b: Number) -> Val:
        r = super().sel(c, a, b)
        if r.ty != "ptr" or not isinstance(a, Val) or not isinstance(b, Val):
            return r
        if a.ref in self.bounds or b.ref in self.bounds:
            (low, high), (start, end) = self.bounds_of(a), self.bounds_of(b)
            self.bounds[r.ref] = super().sel(c, low, start), super().sel(c, high, end)
        return r

    def with_bounds(self, values: Sequence[Val]) -> list[Val]:
        """Values, followed by the bounds of the pointers among them."""
        return [*values, *[x for p in values if p.ty == "ptr" for x in self.bounds_of(p)]]

    def without_bounds(self, values: Sequence[Val], count: int) -> list[Val]:
        """The first `count` of these values; the bounds that follow them are noted."""
        first, more = list(values[:count]), iter(values[count:])
        for p in first:
            if p.ty == "ptr":
                self.bounds[p.ref] = next(more), next(more)
        return first

    def loop(self, lo: int | Val, hi: int | Val, step: int | Val, body: Callable[..., Any],
             carry: Sequence[Val] = ()) -> list[Val]:
        n = len(carry)

        def inside(i: Val, *values: Val) -> list[Val]:
            new = body(i, *self.without_bounds(values, n))
            return self.with_bounds(
                [] if new is None else [new] if isinstance(new, Val) else list(new)
            )

        return self.without_bounds(super().loop(lo, hi, step, inside, self.with_bounds(carry)), n)

    def while_(
        self, test: Callable[..., Any], body: Callable[..., Any], carry: Sequence[Val]
    ) -> list[Val]:
        n = len(carry)
        return self.without_bounds(
            super().while_(
                lambda *values: test(*self.without_bounds(values, n)),
                lambda *values: self.with_bounds(list(body(*values[:n]))),
                self.with_bounds(carry),
            ),
            n,
        )

    def if_(
        self, cond: Val, then: Callable[..., Any], other: Callable[..., Any] | None = None
    ) -> list[Val]:
        count = []

        def side(make: Callable[..., Any] | None) -> list[Val]:
            made = list((None if make is None else make()) or [])
            count.append(len(made))
            return self.with_bounds(made)

        merged = super().if_(cond, lambda: side(then), lambda: side(other))
        return self.without_bounds(merged, count[0])

    def call(self, name: str, ret: str, *args: Val, attrs: str = "") -> Any:
        if any(g.name == name and isinstance(g, CheckedFn) and g.internal for g in self.mod.fns):
            args = tuple(self.with_bounds(args))
        return super().call(name, ret, *args, attrs=attrs)

    def call_helper(self, address: Val, *args: Val) -> None:
        super().call_helper(address, *self.with_bounds(args))

    # ---- memory ----------------------------------------------------------------------------------
    def alloca(self, elem: str, count: int, align: int = 64) -> Val:
        size, whole = _size(elem) * count, self.new()
        self.mod.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
        p, end = self.new(), self.new()
        self.entry += [
            f" {whole} = alloca [{size + 2 * RIM} x i8], align {max(align, RIM)}",
            f" call void @llvm.memset.p0.i64(ptr {whole}, i8 -1, i64 {size + 2 * RIM}, i1 false)",
            f" {p} = getelementptr i8, ptr {whole}, i64 {RIM}",
            f" {end} = getelementptr i8, ptr {p}, i64 {size}",
        ]
        found, high = Val(self, p, "ptr"), Val(self, end, "ptr")
        self.bounds[p] = found, high
        self.rims += [(Val(self, whole, "ptr"), _place()), (high, _place())]
        return found

    def load(self, ty: str, p: Val, align: int | None = None) -> Val:
        self.check(p, _size(ty), "reads")
        return super().load(ty, p, align)

    def store(self, x: Val, p: Val, align: int | None = None, nontemporal: bool = False) -> None:
        self.check(p, _size(x.ty), "writes")
        super().store(x, p, align, nontemporal)

    def mload(self, ty: str, p: Val, mask: Val, align: int | None = None,
              other: Val | None = None) -> Val:
        self.check(p, _size(ty), "reads", mask)
        return super().mload(ty, p, mask, align, other)

    def mstore(self, x: Val, p: Val, mask: Val, align: int | None = None) -> None:
        self.check(p, _size(x.ty), "writes", mask)
        super().mstore(x, p, mask, align)

    def ret(self, x: Val | None = None) -> None:
        self.seal()
        super().ret(x)

    # ---- tests -----------------------------------------------------------------------------------
    def check(self, p: Val, size: int, does: str, mask: Val | None = None) -> None:
        """Test an access of `size` bytes at `p`. Under a mask, the bytes from its first lane to its
        last are tested."""
        if p.ref not in self.bounds:
            return
        low, high = self.bounds[p.ref]
        start, end, none = p, super().at(p, size, "i8"), None
        if mask is not None:
            first, last, none = self.reach(mask)
            start, end = (
                super(CheckedFn, self).at(p, i * (size // mask.lanes), "i8") for i in (first, last)
            )
        fine = self.cmp("uge", start, low) & self.cmp("ule", end, high)
        fine = fine if none is None else fine | none
        self.unless(fine, f"{does} bytes %ld to %ld of %ld", low, start, end, high)

    def reach(self, mask: Val) -> tuple[Val, Val, Val]:
        """The first lane of a mask, the end of its last lane, and whether it is empty."""
        w = max(64, mask.lanes)
        bits = self.conv("zext", self.bitcast(mask, f"i{mask.lanes}"), f"i{w}")
        for name in ("cttz", "ctlz"):
            self.mod.declare(f"llvm.{name}.i{w}", f"i{w}", [f"i{w}", "i1"])
        first, left = (
            self.v(f"i{w}", f"call i{w} @llvm.{name}.i{w}(i{w} {bits.ref}, i1 false)")
            for name in ("cttz", "ctlz")
        )
        start, end = (self.conv("trunc", x, "i64") for x in (first, w - left))
        return start, end, self.cmp("eq", bits, 0)

    def unless(self, fine: Val, what: str, *pointers: Val, place: str | None = None) -> None:
        """End the process with a message unless `fine` holds. The message may show the distance of
        each further pointer from the first."""
        self.n += 1
        pointers = pointers or (self.const("ptr", 0),) * 4
        key, place = self.mod.writing[:SHOWN].replace("%", "%%"), place or _place()
        text = f"whet: kernel {key}: {self.name} {what} ({place})\n".encode()
        data, name = "\\" + text.hex("\\") + "\\00", f"message.{self.name}.{self.n}"
        self.mod.raw(name, f'@{name} = internal constant [{len(text) + 1} x i8] c"{data}"')
        self.mod.raw("wrong", WRONG)
        wrong, right = f"wrong{self.n}", f"right{self.n}"
        self.cbr(fine, right, wrong)
        self.label(wrong)
        self.raw(f"call void @wrong(ptr @{name}, {', '.join(map(repr, pointers))})")
        self.raw("unreachable")
        self.label(right)

    def seal(self) -> None:
        """Test the rims of the reserved memory."""
        self.sealed = True
        for p, place in self.rims:
            same = self.cmp(
                "eq", super().load(f"<{RIM} x i8>", p, 1), self.const(f"<{RIM} x i8>", -1)
            )
            self.unless(
                self.reduced("and", same), "wrote beside memory that it reserved", place=place
            )


class CheckedModule(Module):
    """A module whose functions test their accesses to memory."""

    def new_fn(self, name: str, args: Sequence[tuple[str, str]], ret: str, linkage: str,
               attrs: str) -> Fn:
        return CheckedFn(self, name, args, ret, linkage, attrs)
