"""The machine code of a library that makes and ends contexts: memory for a call, and threads."""

from __future__ import annotations

import functools
from typing import Any

from whet.cpu.thread_pool_layout import LINE, LINES, THREAD, WORKERS
from whet.passes.lower_llvm.builder import Module
from whet.passes.lower_llvm.calls.word_records import load, size

from .code_parts import (
    ANONYMOUS,
    POOL,
    PRIVATE,
    READ_WRITE,
    Facts,
    chain,
    field,
    give,
    named,
    put,
    where,
)
from .layout import (
    ARENA,
    CONSTANTS,
    FIRST,
    MOST_THREADS,
    PAGE,
    ROOM,
    Code,
    Context,
    Level,
    Model,
    Threads,
    Value,
)

HUGE_PAGES, WIPE_ON_FORK = 14, 18  # as Linux has them
MASK = 1024  # bytes: of a set of processors


def head(facts: Facts) -> int:
    """The bytes of a context with its bases, and where sizes differ with what it knows of them and
    the list that it has made."""
    words = size(Context) + FIRST + facts.inputs + facts.results
    if facts.about is not None:
        words += facts.about.count + facts.most
    return -(-8 * words // PAGE) * PAGE


def total(facts: Facts, level: Any) -> Any:
    """The bytes of a context with its pool, its room and its arena."""
    return level.room + level.arena + (POOL + head(facts))


def processors(m: Module) -> None:
    """`processors()`: how many this thread may run on."""
    f: Any = m.fn("processors", [], "i64", "internal")
    cpus = f.alloca("i64", MASK // 8)
    f.call("memset", "ptr", cpus, f.const("i32", 0), f.const("i64", MASK))
    f.call("sched_getaffinity", "i32", f.const("i32", 0), f.const("i64", MASK), cpus)
    (n,) = f.loop(
        0, MASK // 8, 1,
        lambda i, n: [n + f.intr("ctpop", f.load("i64", f.at(cpus, i, "i64")))],
        [f.const("i64", 0)])
    f.ret(f.imax(n, 1))


def create_context(m: Module, facts: Facts) -> None:
    """`context_create(out, model, threads)`"""
    processors(m)
    names = [("ptr", "out"), ("ptr", "model"), ("ptr", "threads")]
    f: Any = m.fn(f"{facts.prefix}_context_create", names, "i32")
    out, model, options = f.args
    null, zero = f.const("ptr", 0), f.const("i64", 0)
    asked = f.alloca("i64", size(Threads))
    put(f, Threads, asked, threads=f.const("i64", 1), executor=zero, width=zero, run=zero)

    def copy() -> None:
        f.call("memcpy", "ptr", asked, options, f.const("i64", 8 * size(Threads)))

    f.if_(f.cmp("ne", options, null), copy)
    wish = load(f, asked, Threads)
    one_only = f.cmp("ne", f.cmp("eq", wish.width, null), f.cmp("eq", wish.run, null))
    odd = f.cmp("slt", wish.threads, 0) | f.cmp("sgt", wish.threads, MOST_THREADS) | one_only

    def make() -> Any:
        level = load(f, load(f, model, Model).level, Level)
        i32 = functools.partial(f.const, "i32")
        memory = f.call(
            "mmap", "ptr", null, total(facts, level), i32(READ_WRITE),
            i32(PRIVATE | ANONYMOUS), i32(-1), zero)
        failed = f.cmp("eq", f.v("i64", f"ptrtoint ptr {memory.ref} to i64"), -1)
        return chain(
            f,
            lambda: where(f, failed, int(Code.NO_MEMORY)),
            lambda: fill(f, facts, model, level, wish, memory, out),
        )

    give(f, chain(
        f,
        lambda: where(
            f, f.cmp("eq", out, null) | f.cmp("eq", model, null), int(Code.NULL_POINTER)),
        lambda: where(f, odd, int(Code.THREADS)),
        make,
    ))


def fill(f: Any, facts: Facts, model: Any, level: Any, wish: Any, memory: Any, out: Any) -> Any:
    """Make a context of fresh memory."""
    f.call("madvise", "i32", memory, f.const("i64", POOL), f.const("i32", WIPE_ON_FORK))
    context = f.bytes_at(memory, POOL)
    room = f.bytes_at(context, head(facts))
    arena = f.bytes_at(room, level.room)
    f.call("madvise", "i32", room, level.room + level.arena, f.const("i32", HUGE_PAGES))
    cpus = f.call("processors", "i64")
    few = f.imin(cpus, MOST_THREADS)
    threads = f.sel(f.cmp("eq", wish.threads, 0), few, wish.threads)
    words, listed = level.words, level.count
    if facts.about is not None:
        words, listed = room_for_sizes(f, facts, context), f.const("i64", 0)
    put(f, Context, context, model=model, busy=f.const("i64", 0), threads=threads, cpus=cpus,
        executor=wish.executor, width=wish.width, run=wish.run, words=words, count=listed)
    bases = {ARENA: arena, ROOM: room, CONSTANTS: load(f, model, Model).weights}
    for i, x in bases.items():
        f.store(x, f.at(context, size(Context) + i, "i64"))
    count = field(f, Model, model, "contexts")
    f.v("i64", f"atomicrmw add ptr {count.ref}, i64 1 acq_rel")
    f.store(context, out)
    return f.const("i64", 0)


def room_for_sizes(f: Any, facts: Facts, context: Any) -> Any:
    """Write into a context what is known of values before their sizes are; returns where the list
    of launches will be."""
    about = facts.about
    assert about is not None
    at = f.at(context, size(Context) + FIRST + facts.inputs + facts.results, "i64")
    f.call("memcpy", "ptr", at, named(f, "about"), f.const("i64", 8 * about.count))
    for i, (place, ndim) in enumerate(zip(about.shapes, about.ndims)):
        row = f.at(at, about.values + i * size(Value), "i64")
        f.store(f.at(at, place, "i64"), field(f, Value, row, "shape"))
        f.store(f.at(at, place + ndim, "i64"), field(f, Value, row, "strides"))
    return f.at(at, about.count, "i64")


def destroy_context(m: Module, facts: Facts) -> None:
    """`context_destroy(context)`: its threads have ended when it comes back."""
    end_threads(m)
    f: Any = m.fn(f"{facts.prefix}_context_destroy", [("ptr", "context")], "i32")
    (context,) = f.args

    def free() -> Any:
        busy = field(f, Context, context, "busy")
        was = f.v("i64", f"atomicrmw xchg ptr {busy.ref}, i64 1 acquire")

        def really() -> Any:
            model = load(f, context, Context).model
            level = load(f, load(f, model, Model).level, Level)
            memory = f.bytes_at(context, -POOL)
            f.call("end_threads", "void", memory)
            f.call("munmap", "i32", memory, total(facts, level))
            count = field(f, Model, model, "contexts")
            f.v("i64", f"atomicrmw sub ptr {count.ref}, i64 1 acq_rel")
            return f.const("i64", 0)

        return chain(f, lambda: where(f, f.cmp("ne", was, 0), int(Code.BUSY)), really)

    null = f.cmp("eq", context, f.const("ptr", 0))
    give(f, f.if_(null, lambda: [f.const("i64", 0)], lambda: [free()])[0])


def end_threads(m: Module) -> None:
    """`end_threads(pool)`: sends the workers home, and waits until they are there."""
    f: Any = m.fn("end_threads", [("ptr", "pool")], "void", "internal")
    (pool,) = f.args
    ids = f.alloca("i64", MOST_THREADS)
    count = f.conv("zext", f.load("i32", f.bytes_at(pool, WORKERS)), "i64")
    f.loop(0, count, 1, lambda i: f.store(
        f.load("i64", f.bytes_at(pool, i * LINE + (LINES + THREAD))), f.at(ids, i, "i64")))

    def again(left: Any) -> list[Any]:
        f.call("sched_yield", "i32")
        return [f.call("stop_pool", "i64", pool)]

    f.while_(lambda left: f.cmp("ne", left, 0), again, [f.call("stop_pool", "i64", pool)])
    null = f.const("ptr", 0)

    def join(i: Any) -> None:
        f.call("pthread_join", "i32", f.load("i64", f.at(ids, i, "i64")), null)

    f.loop(0, count, 1, join)
