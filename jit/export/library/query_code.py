"""The machine code of a library that tells of it: inputs, results, levels and codes."""

from __future__ import annotations

from typing import Any

from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls.word_records import load, size

from .code_parts import Facts, named, until
from .layout import Level, Model, Value


def query_functions(m: Module, facts: Facts) -> None:
    """The functions that describe inputs, results, levels and codes."""
    value(m, f"{facts.prefix}_input", "inputs", facts.inputs)
    value(m, f"{facts.prefix}_result", "results", facts.results)
    level(m, facts)
    model_level(m, facts)
    message(m, facts)


def value(m: Module, name: str, table: str, count: int) -> None:
    """`input(i)` or `result(i)`"""
    f: Any = m.fn(name, [("i64", "i")], "ptr")
    (i,) = f.args
    at = f.at(named(f, table), i * size(Value), "i64")
    f.ret(f.sel(f.cmp("ult", i, count), at, f.const("ptr", 0)))


def level(m: Module, facts: Facts) -> None:
    """`level(i)`"""
    f: Any = m.fn(f"{facts.prefix}_level", [("i64", "i")], "ptr")
    (i,) = f.args
    levels = named(f, "levels")
    (found,) = f.if_(
        f.cmp("ult", i, facts.levels),
        lambda: [load(f, f.at(levels, i * size(Level), "i64"), Level).name],
        lambda: [f.const("ptr", 0)],
    )
    f.ret(found)


def model_level(m: Module, facts: Facts) -> None:
    """`model_level(model)`"""
    f: Any = m.fn(f"{facts.prefix}_model_level", [("ptr", "model")], "ptr")
    (model,) = f.args
    null = f.const("ptr", 0)
    (found,) = f.if_(
        f.cmp("eq", model, null),
        lambda: [null],
        lambda: [load(f, load(f, model, Model).level, Level).name],
    )
    f.ret(found)


def message(m: Module, facts: Facts) -> None:
    """`message(code)`: from a table of codes and texts, the last for codes that are in none."""
    f: Any = m.fn(f"{facts.prefix}_message", [("i32", "code")], "ptr")
    code = f.conv("sext", f.args[0], "i64")
    table = named(f, "messages")
    found = f.alloca("i64", 1)
    f.store(f.load("ptr", f.at(table, 2 * facts.messages - 1, "i64")), found)

    def one(i: Any) -> Any:
        at = f.at(table, i * 2, "i64")
        this = f.cmp("eq", f.load("i64", at), code)
        text = f.load("ptr", f.at(at, 1, "i64"))
        f.store(f.sel(this, text, f.load("ptr", found)), found)
        return f.conv("zext", this, "i64")

    until(f, f.const("i64", facts.messages - 1), one)
    f.ret(f.load("ptr", found))
