"""`core`: makes an op's call by its recipe, in machine code.

It looks up the operands, allocates the results, runs the kernel and records the autograd node."""
from __future__ import annotations

from ..builder import Module, Val
from .attribute_values import emit_same_attributes
from .object_access import Glue, address_of
from .op_history import History
from .op_launch import Launch, Write
from .op_layouts import CORE_ARGUMENTS, CTX, R
from .op_log import emit_listening
from .op_on_device import Elsewhere
from .op_operands import Call, Operands, RecipeSearch
from .op_replay import Replay


def emit_record(m: Module) -> None:
    """whet_record(op, inputs, attrs, results): the Python side records a node."""
    f = m.fn(
        "whet_record",
        [("ptr", "op"), ("ptr", "args"), ("ptr", "attrs"), ("ptr", "answer")],
        "ptr",
        "internal",
    )
    g = Glue(f)
    box = f.alloca("i64", 4)
    for i, a in enumerate(f.args):
        f.store(a, f.at(box, i, "i64"), 8)
    f.ret(
        f.call(
            "PyObject_Vectorcall",
            "ptr",
            g.ctx("record"),
            box,
            f.as_val(4, "i64"),
            Val(f, "null", "ptr"),
        )
    )


def emit_core(m: Module) -> None:
    """core(op, inputs, n, attrs, writer) -> a new reference, null with an error set, or MISS.

    The writer is the name of an in-place op, or null. With a writer, the result goes into the first
    operand's memory, and that operand is returned. While a call is in progress it may cause other
    calls. So a recipe whose words were computed for this call is reserved until the call is
    done."""
    f = m.fn("core", CORE_ARGUMENTS, "ptr", "internal")
    emit_listening(m)
    emit_same_attributes(m)
    _make(m)
    g, used = Glue(f), f.alloca("ptr", 1)
    f.store(Val(f, "null", "ptr"), used)
    _count(g, 1)
    r = f.call("make", "ptr", *f.args, used)
    recipe = f.load("ptr", used)
    f.if_(g.null(recipe), lambda: [], lambda: g.st(f.as_val(0, "i64"), recipe, R["busy"]))
    _count(g, -1)
    f.ret(r)


def _count(g: Glue, step: int) -> None:
    """Change the number of calls that use recipes by one. Recipes of these calls are kept, even if
    other threads, or Python code entered by the call, drop all recipes."""
    g.st(g.ctx("inside", "i64") + step, address_of(g.f, "whet_ctx"), CTX["inside"])


def _make(m: Module) -> None:
    """make(..., used): the body of `core`. A recipe for many sizes that is used is stored in
    `used`, and is busy from then on."""
    f = m.fn("make", [*CORE_ARGUMENTS, ("ptr", "used")], "ptr", "internal")
    call = Call(f)
    call.modes()
    recipe = RecipeSearch(call, Operands(call).hash()).find()
    replay = Replay(call, recipe)
    replay.leave_products_to_casts()
    write = Write(replay)
    write.check()
    replay.begin()
    f.if_(replay.is_planned, Elsewhere(replay).emit, lambda: _run(replay, write))
    replay.find_source()
    f.cbr(call.writing, "written", "around")
    f.label("written")
    replay.finish_write()
    f.label("around")
    replay.tensors()
    History(replay).emit()
    replay.ways_out()
    call.way_to_log()


def _run(replay: Replay, write: Write) -> None:
    """Run the kernels, on the host's memory."""
    f = replay.f
    write.check_memory()
    replay.results()
    Launch(replay).emit()
    # an index is out of range: Python finds the words
    f.bail(f.cmp("ne", f.load("i64", replay.call.verdict), 0), "refused")
