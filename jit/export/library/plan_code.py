"""The machine code of a library whose sizes differ that makes a context ready for some sizes: the
list that is for them is copied into the context, and what depends on sizes is put into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls.word_records import load, size

from .code_parts import Facts, chain, field, give, named, until, where
from .data import Level
from .layout import FIRST, Code, Context, Model, Size, Value, Way
from .layout import Level as LevelRecord
from .run_code import enter, leave
from .size_code import Filling, fits


def about_at(f: Any, facts: Facts, context: Any) -> Any:
    """Where a context has what it knows of sizes: behind the bases."""
    return f.at(context, size(Context) + FIRST + facts.inputs + facts.results, "i64")


def emit(m: Module, facts: Facts, levels: Sequence[Level]) -> None:
    """All functions."""
    assert facts.about is not None
    for level in levels:
        for x in level.lists:
            assert x.program.case is not None
            fits(m, x.tag, x.program.case)
            filling = Filling(m, x.tag, x.program.case)
            for at, offset in x.links:
                filling.link(at, offset)
            for at, what in x.holes:
                filling.hole(at, what)
            for at, name, offset_ in x.sums:
                filling.sum(at, name, offset_)
            for at, columns in x.columns:
                filling.columns(at, columns)
            filling.shapes(facts.about, facts.itemsizes)
    within(m, facts)
    plan(m, facts)
    prepare(m, facts)
    of_context(m, facts)
    tell_size(m, facts)


def within(m: Module, facts: Facts) -> None:
    """`within(sizes)`: are all sizes within their bounds?"""
    f: Any = m.fn("within", [("ptr", "sizes")], "i64", "internal")
    (sizes,) = f.args
    table = named(f, "sizes")

    def one(i: Any) -> Any:
        bounds = load(f, f.at(table, i * size(Size), "i64"), Size)
        n = f.load("i64", f.at(sizes, i, "i64"))
        out = f.cmp("slt", n, bounds.least) | f.cmp("sgt", n, bounds.most)
        out = out | f.cmp("ne", f.srem(n, bounds.multiple), 0)
        return where(f, out, f.binary("shl", i + 1, 8) | int(Code.OUT_OF_BOUNDS))

    f.ret(until(f, f.const("i64", facts.about.sizes if facts.about else 0), one))


def plan(m: Module, facts: Facts) -> None:
    """`plan(context, sizes)`: makes the list, if it is not that of these sizes already."""
    assert facts.about is not None
    f: Any = m.fn("plan", [("ptr", "context"), ("ptr", "sizes")], "i64", "internal")
    context, sizes = f.args
    about = about_at(f, facts, context)
    nbytes = f.const("i64", 8 * facts.about.sizes)
    of = load(f, context, Context)
    same = f.cmp("eq", f.call("memcmp", "i32", about, sizes, nbytes), 0) & f.cmp("ne", of.count, 0)

    def make() -> Any:
        level = load(f, load(f, of.model, Model).level, LevelRecord)
        count = field(f, Context, context, "count")
        f.store(f.const("i64", 0), count)

        def one(i: Any) -> Any:
            way = load(f, f.at(level.words, i * size(Way), "i64"), Way)
            fit = f.cmp("ne", f.v("i64", f"call i64 {way.fits.ref}(ptr {sizes.ref})"), 0)

            def take() -> None:
                words, n = of.words, way.count * 8
                f.call("memcpy", "ptr", words, way.template, n)
                f.raw(f"call void {way.fill.ref}(ptr {sizes.ref}, ptr {words.ref}, "
                      f"ptr {about.ref})")
                f.call("memcpy", "ptr", about, sizes, nbytes)
                f.store(way.listed, count)

            f.if_(fit, take)
            return f.conv("zext", fit, "i64")

        found = until(f, level.count, one)
        return where(f, f.cmp("eq", found, 0), int(Code.OUT_OF_BOUNDS))

    f.ret(f.if_(same, lambda: [f.const("i64", 0)], lambda: [chain(
        f, lambda: f.call("within", "i64", sizes), make)])[0])


def prepare(m: Module, facts: Facts) -> None:
    """`prepare(context, sizes)`: plans, and tells of the values of these sizes."""
    names = [("ptr", "context"), ("ptr", "sizes")]
    f: Any = m.fn(f"{facts.prefix}_prepare", names, "i32")
    context, sizes = f.args
    null = f.const("ptr", 0)

    def inside() -> Any:
        code = f.call("plan", "i64", context, sizes)
        leave(f, context)
        return code

    give(f, chain(
        f,
        lambda: where(
            f, f.cmp("eq", context, null) | f.cmp("eq", sizes, null), int(Code.NULL_POINTER)),
        lambda: enter(f, context),
        inside,
    ))


def of_context(m: Module, facts: Facts) -> None:
    """`context_input(context, i)` and `context_result(context, i)`: of the sizes that it was made
    ready for last."""
    assert facts.about is not None
    for name, first, count in (("input", 0, facts.inputs), ("result", facts.inputs, facts.results)):
        names = [("ptr", "context"), ("i64", "i")]
        f: Any = m.fn(f"{facts.prefix}_context_{name}", names, "ptr")
        context, i = f.args
        place = facts.about.values + first * size(Value)
        at = f.at(about_at(f, facts, context), i * size(Value) + place, "i64")
        f.ret(f.sel(f.cmp("ult", i, count), at, f.const("ptr", 0)))


def tell_size(m: Module, facts: Facts) -> None:
    """`size(i)`"""
    assert facts.about is not None
    f: Any = m.fn(f"{facts.prefix}_size", [("i64", "i")], "ptr")
    (i,) = f.args
    at = f.at(named(f, "sizes"), i * size(Size), "i64")
    f.ret(f.sel(f.cmp("ult", i, facts.about.sizes), at, f.const("ptr", 0)))
