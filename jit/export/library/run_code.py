"""The machine code of a library that runs a call: buffers are checked, then the list of launches
is gone through, each launch alone, by the pool, or by the caller's executor."""

from __future__ import annotations

from typing import Any

from whet.passes.lower_llvm.calls import distribute_units
from whet.passes.lower_llvm.calls import launch_list as L
from whet.passes.lower_llvm.calls.word_records import load, size

from .code_parts import POOL, Facts, chain, field, named, put, until, where
from .layout import FIRST, Buffer, Code, Context, Job, Value


# ---- launches ------------------------------------------------------------------------------------
def launches(m: Any) -> None:
    """`run_list(context)`: goes through the list; the code of the check that ended it, or 0."""
    task(m)
    by_executor(m)
    f: Any = m.fn("run_list", [("ptr", "context")], "i64", "internal")
    (context,) = f.args
    of = load(f, context, Context)
    args = field(f, Context, context, "words")
    settings = field(f, Context, context, "threads")
    pool, slots = f.bytes_at(context, -POOL), f.alloca("i64", L.MOST)
    end = f.at(of.words, of.count, "i64")

    def launch(at: Any) -> list[Any]:
        to, after = L.prepare(f, args, slots, at)

        what = to.kernel, slots, to.total, to.grain

        def alone() -> None:
            f.raw(f"call void {to.kernel.ref}(ptr {slots.ref}, i64 0, i64 {to.total.ref}, i64 0)")

        def shared() -> None:
            f.if_(
                f.cmp("ne", of.run, f.const("ptr", 0)),
                lambda: f.call("by_executor", "void", context, *what),
                lambda: f.call("run_in_pool", "void", pool, settings, *what),
            )

        least = distribute_units.grain(to.grain)
        f.if_(f.cmp("slt", f.sdiv(to.total, 2), least), alone, shared)
        return [after, f.const("i64", 0)]

    def check(at: Any) -> list[Any]:
        """A `Check`: in the place of addresses, where its word is in the room, and the code."""
        _, flag, wanted, code = (f.load("i64", f.at(at, i, "i64")) for i in range(size(L.Check)))
        place = f.bytes_at(f.load("ptr", f.at(args, 2 + 1, "i64")), flag)
        well = f.cmp("eq", f.load("i64", place), wanted)
        f.if_(well, lambda: None, lambda: f.store(f.const("i64", 0), place))
        after = f.sel(well, f.at(at, size(L.Check), "i64"), end)
        return [after, where(f, ~well, code)]

    (_, code) = f.while_(
        lambda at, code: f.cmp("ult", at, end),
        lambda at, code: f.if_(
            f.cmp("ugt", f.load("i64", at), L.CHECK), lambda: launch(at), lambda: check(at)
        ),
        [of.words, f.const("i64", 0)],
    )
    f.ret(code)


def task(m: Any) -> None:
    """`part(job, i)`: what an executor calls: part i of a launch."""
    f: Any = m.fn("part", [("ptr", "job"), ("i64", "i")], "void", "internal")
    at, i = f.args
    job = load(f, at, Job)
    begin, end = (f.udiv(job.total * k, job.parts) for k in (i, i + 1))
    f.raw(
        f"call void {job.kernel.ref}(ptr {job.slots.ref}, i64 {begin.ref}, i64 {end.ref}, "
        f"i64 {i.ref})"
    )


def by_executor(m: Any) -> None:
    """`by_executor(context, kernel, slots, total, grain)`: a launch in parts by the caller's
    executor: as many as it says that run at a time."""
    names = [("ptr", "context"), ("ptr", "kernel"), ("ptr", "slots"), ("i64", "total")]
    f: Any = m.fn("by_executor", [*names, ("i64", "word")], "void", "internal")
    context, kernel, slots, total, word = f.args
    of, job = load(f, context, Context), f.alloca("i64", size(Job))
    width = f.v("i64", f"call i64 {of.width.ref}(ptr {of.executor.ref})")
    room = distribute_units.room(word)
    most = f.sel(f.cmp("eq", room, 0), width, f.imin(width, room))
    least = f.imax(distribute_units.grain(word), 1)
    parts = f.imax(f.imin(most, f.udiv(total, least)), 1)
    put(f, Job, job, kernel=kernel, slots=slots, total=total, parts=parts)
    f.if_(
        f.cmp("eq", parts, 1),
        lambda: f.raw(
            f"call void {kernel.ref}(ptr {slots.ref}, i64 0, i64 {total.ref}, i64 0)"),
        lambda: f.raw(
            f"call void {of.run.ref}(ptr {of.executor.ref}, i64 {parts.ref}, ptr @part, "
            f"ptr {job.ref})"),
    )


# ---- a call --------------------------------------------------------------------------------------
def buffers(m: Any) -> None:
    """`buffers(context, values, count, given, first)`: the buffers of inputs or of results, of
    which the first is number `first` of all, are as they should be, and become bases."""
    names = [("ptr", "context"), ("ptr", "values"), ("i64", "count"), ("ptr", "given")]
    f: Any = m.fn("buffers", [*names, ("i64", "first")], "i64", "internal")
    context, values, count, array, first = f.args
    bases = f.at(context, size(Context) + FIRST, "i64")

    def one(i: Any) -> Any:
        v = load(f, f.at(values, i * size(Value), "i64"), Value)
        b = load(f, f.at(array, i * size(Buffer), "i64"), Buffer)
        number = f.binary("shl", first + i + 1, 8)
        data = f.v("i64", f"ptrtoint ptr {b.data.ref} to i64")
        f.store(data, f.at(bases, first + i, "i64"))
        some = f.cmp("ne", v.bytes, 0)
        return chain(
            f,
            lambda: where(f, f.cmp("eq", data, 0) & some, number | int(Code.NULL_POINTER)),
            lambda: where(f, f.cmp("ne", b.bytes, v.bytes), number | int(Code.WRONG_SIZE)),
            lambda: where(
                f, f.cmp("ne", data & (v.alignment - 1), 0), number | int(Code.MISALIGNED)),
        )

    f.ret(until(f, count, one))


def apart(m: Any, inputs: int, results: int) -> None:
    """`apart(context, bytes)`: no result is in an input's memory, or in another result's."""
    f: Any = m.fn("apart", [("ptr", "context"), ("ptr", "bytes")], "i64", "internal")
    context, sizes = f.args
    bases = f.at(context, size(Context) + FIRST, "i64")

    def memory(i: Any) -> tuple[Any, Any]:
        low = f.load("i64", f.at(bases, i, "i64"))
        return low, low + f.load("i64", f.at(sizes, i, "i64"))

    def result(i: Any) -> Any:
        low, high = memory(i + inputs)

        def other(j: Any) -> Any:
            begin, end = memory(j)
            shared = f.cmp("ult", low, end) & f.cmp("ult", begin, high)
            return where(f, shared, f.binary("shl", i + (inputs + 1), 8) | int(Code.OVERLAP))

        return until(f, i + inputs, other)

    f.ret(until(f, f.const("i64", results), result))


def enter(f: Any, context: Any) -> Any:
    """The code for a context that is in use; otherwise it is from now on."""
    busy = field(f, Context, context, "busy")
    was = f.v("i64", f"atomicrmw xchg ptr {busy.ref}, i64 1 acquire")
    return where(f, f.cmp("ne", was, 0), int(Code.BUSY))


def leave(f: Any, context: Any) -> None:
    """The context is no more in use."""
    f.raw(f"store atomic i64 0, ptr {field(f, Context, context, 'busy').ref} release, align 8")


def tables_of_values(f: Any, facts: Facts, bases: Any) -> list[Any]:
    """What is known of inputs, of results, and how many bytes each has: in the context where sizes
    differ, behind the bases, and constants elsewhere."""
    about = facts.about
    if not about:
        return [named(f, x) for x in ("inputs", "results", "bytes")]
    known = f.at(bases, facts.inputs + facts.results, "i64")
    places = about.values, about.values + facts.inputs * size(Value), about.bytes
    return [f.at(known, x, "i64") for x in places]


def run(m: Any, facts: Facts) -> None:
    """The function `run`. `copies` are results that are there twice. Where sizes differ, they are
    an argument, and the context has the descriptions of values."""
    buffers(m)
    apart(m, facts.inputs, facts.results)
    inputs, results, about = facts.inputs, facts.results, facts.about
    names = [("ptr", "context"), *([("ptr", "sizes")] if about else []), ("ptr", "inputs"),
             ("i64", "given"), ("ptr", "results"), ("i64", "wanted")]
    f: Any = m.fn(f"{facts.prefix}_run", names, "i32")
    context, *sizes, inputs_at, n, wanted, k = f.args
    null = f.const("ptr", 0)
    count = [f.const("i64", x) for x in (inputs, results)]
    bases = f.at(context, size(Context) + FIRST, "i64")
    tables = tables_of_values(f, facts, bases)

    def duplicates() -> Any:
        for a, b, nbytes in facts.copies:
            x, y = (f.load("ptr", f.at(bases, inputs + i, "i64")) for i in (a, b))
            f.call("memcpy", "ptr", y, x, f.const("i64", nbytes))
        return f.const("i64", 0)

    def inside() -> Any:
        zero, first = f.const("i64", 0), f.const("i64", inputs)
        code = chain(
            f,
            *[lambda: f.call("plan", "i64", context, *sizes) for _ in sizes],
            lambda: f.call("buffers", "i64", context, tables[0], count[0], inputs_at, zero),
            lambda: f.call("buffers", "i64", context, tables[1], count[1], wanted, first),
            lambda: f.call("apart", "i64", context, tables[2]),
            lambda: f.call("run_list", "i64", context),
            duplicates,
        )
        leave(f, context)
        return code

    missing = f.cmp("eq", context, null)
    for pointer, some in (*[(x, 1) for x in sizes], (inputs_at, inputs), (wanted, results)):
        missing = missing | f.cmp("eq", pointer, null) if some else missing
    code = chain(
        f,
        lambda: where(f, missing, int(Code.NULL_POINTER)),
        lambda: where(
            f, f.cmp("ne", n, count[0]) | f.cmp("ne", k, count[1]), int(Code.WRONG_COUNT)),
        lambda: enter(f, context),
        inside,
    )
    f.ret(f.conv("trunc", code, "i32"))
