"""The machine code of a library: all of its functions, and here those that make models."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from whet.cpu.thread_pool_code import several_pools
from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls.word_records import load, size

from . import plan_code, processor, run_code
from .code_parts import ID_BYTES, PRIVATE, READ, Facts, chain, discard, give, named, put, where
from .context_code import create_context, destroy_context
from .data import Level as ListsOfLevel
from .layout import MOST_THREADS, Code, Level, Model
from .query_code import query_functions

SEEK_END = 2  # as Linux has it


def text(facts: Facts, levels: Sequence[ListsOfLevel]) -> str:
    """The IR text of a library's functions, but for its data. `levels`: where sizes differ, their
    lists are made ready by functions."""
    m = Module()
    if facts.machine == "x86_64":
        processor.emit(m)
    run_code.launches(m)
    run_code.run(m, facts)
    if facts.about is not None:
        plan_code.emit(m, facts, levels)
    choose(m, facts)
    weights(m, facts)
    create_model(m, facts)
    destroy_model(m, facts)
    create_context(m, facts)
    destroy_context(m, facts)
    query_functions(m, facts)
    pools = several_pools(facts.machine, MOST_THREADS, detach=False)
    return without_repeats(f"{pools}\n{m.text()}")


def without_repeats(text: str) -> str:
    """IR text in which nothing is declared twice, nor what is defined."""
    declared: dict[str, str] = {}
    rest = []
    for line in text.splitlines():
        if line.startswith("declare "):
            declared.setdefault(line.split("@")[1].split("(")[0], line)
        else:
            rest.append(line)
    body = "\n".join(rest)
    defined = {line.split("@")[1].split("(")[0] for line in rest if line.startswith("define ")}
    return "\n".join([*(d for name, d in declared.items() if name not in defined), body])


# ---- models --------------------------------------------------------------------------------------
def choose(m: Module, facts: Facts) -> None:
    """`choose(name, where to put the level)`: the best level that the processor has; by a name the
    one of that name."""
    f: Any = m.fn("choose", [("ptr", "name"), ("ptr", "out")], "i64", "internal")
    name, out = f.args
    x86 = facts.machine == "x86_64"
    have = f.call("processor", "i64") if x86 else f.const("i64", 1)
    null, levels = f.const("ptr", 0), named(f, "levels")
    f.store(null, out)

    def one(i: Any, known: Any) -> list[Any]:
        at = f.at(levels, i * size(Level), "i64")
        level = load(f, at, Level)
        (fits,) = f.if_(
            f.cmp("eq", name, null),
            lambda: [f.const("i1", 1)],
            lambda: [f.cmp("eq", f.call("strcmp", "i32", name, level.name), 0)],
        )
        found = f.load("ptr", out)
        first = fits & f.cmp("sle", level.need, have) & f.cmp("eq", found, null)
        f.store(f.sel(first, at, found), out)
        return [known | fits]

    (known,) = f.loop(0, facts.levels, 1, one, [f.const("i1", 0)])
    none = f.cmp("eq", f.load("ptr", out), null)
    code = f.sel(known, f.const("i64", int(Code.PROCESSOR)), int(Code.UNKNOWN_LEVEL))
    f.ret(where(f, none, code))


def weights(m: Module, facts: Facts) -> None:
    """`weights(path, where to put their address)`: maps the file, where they are in one."""
    f: Any = m.fn("weights", [("ptr", "path"), ("ptr", "out")], "i64", "internal")
    path, out = f.args
    if not facts.mapped:
        f.store(f.at(named(f, "weights.data"), ID_BYTES, "i8"), out)
        f.ret(f.const("i64", 0))
        return
    mine, i32 = named(f, "weights.id"), functools.partial(f.const, "i32")
    total = f.const("i64", facts.mapped)
    m.declare("open", "i32", ["ptr", "i32", "..."])
    bad = int(Code.WEIGHTS)

    def mapped() -> Any:
        fd = f.v("i32", f"call i32 (ptr, i32, ...) @open(ptr {path.ref}, i32 0)")

        def read() -> Any:
            length = f.call("lseek", "i64", fd, f.const("i64", 0), i32(SEEK_END))
            return chain(f, lambda: where(f, f.cmp("ne", length, total), bad), lay)

        def lay() -> Any:
            zero = f.const("i64", 0)
            at = f.call(
                "mmap", "ptr", f.const("ptr", 0), total, i32(READ), i32(PRIVATE), fd, zero)
            f.store(f.at(at, ID_BYTES, "i8"), out)
            failed = f.v("i64", f"ptrtoint ptr {at.ref} to i64")
            return chain(
                f, lambda: where(f, f.cmp("eq", failed, -1), bad), lambda: same(at))

        def same(at: Any) -> Any:
            differs = f.call("memcmp", "i32", at, mine, f.const("i64", ID_BYTES))
            wrong = f.cmp("ne", differs, 0)
            f.if_(wrong, lambda: discard(f.call("munmap", "i32", at, total)))
            return where(f, wrong, bad)

        code = chain(f, lambda: where(f, f.cmp("slt", fd, 0), bad), read)
        f.if_(f.cmp("sge", fd, 0), lambda: discard(f.call("close", "i32", fd)))
        return code

    f.ret(chain(f, lambda: where(f, f.cmp("eq", path, f.const("ptr", 0)), bad), mapped))


def create_model(m: Module, facts: Facts) -> None:
    """`model_create(out, path of the weights, name of the level)`"""
    names = [("ptr", "out"), ("ptr", "path"), ("ptr", "level")]
    f: Any = m.fn(f"{facts.prefix}_model_create", names, "i32")
    out, path, name = f.args
    null, places = f.const("ptr", 0), f.alloca("i64", 2)
    level_at, weights_at = places, f.at(places, 1, "i64")

    def make() -> Any:
        model = f.call("malloc", "ptr", f.const("i64", 8 * size(Model)))

        def fill() -> Any:
            zero = f.const("i64", 0)
            put(f, Model, model, level=f.load("i64", level_at), weights=f.load("i64", weights_at),
                mapped=f.const("i64", facts.mapped), contexts=zero)
            f.store(model, out)
            return zero

        return chain(f, lambda: where(f, f.cmp("eq", model, null), int(Code.NO_MEMORY)), fill)

    give(f, chain(
        f,
        lambda: where(f, f.cmp("eq", out, null), int(Code.NULL_POINTER)),
        lambda: f.call("choose", "i64", name, level_at),
        lambda: f.call("weights", "i64", path, weights_at),
        make,
    ))


def destroy_model(m: Module, facts: Facts) -> None:
    """`model_destroy(model)`: refused while there are contexts."""
    f: Any = m.fn(f"{facts.prefix}_model_destroy", [("ptr", "model")], "i32")
    (model,) = f.args

    def free() -> Any:
        of = load(f, model, Model)
        busy = f.cmp("ne", of.contexts, 0)

        def really() -> Any:
            if facts.mapped:
                f.call("munmap", "i32", f.at(of.weights, -ID_BYTES, "i8"), of.mapped)
            f.call("free", "void", model)
            return f.const("i64", 0)

        return chain(f, lambda: where(f, busy, int(Code.BUSY)), really)

    null = f.cmp("eq", model, f.const("ptr", 0))
    give(f, f.if_(null, lambda: [f.const("i64", 0)], lambda: [free()])[0])
