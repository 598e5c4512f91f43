"""The instructions that recordings read are those that Python's own disassembler shows."""
import argparse
import ast
import dis
import inspect
import textwrap
import types

import pytest
from whet.jit.guards.bytecode import argument_is_text, instructions
from whet.jit.guards.handled_errors import sees_handled_error


def codes(code):
    """Some code and all that lies in it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


def halves(i):
    """An instruction of dis as one or two: a pair of them may share one, and one argument."""
    if "_FAST_" not in i.opname or i.opname.count("_FAST") != 2:
        return [(i.opname, i.arg or 0, i.argval)]
    first, second, _ = i.opname.split("_FAST")
    return [(f"{first}_FAST", i.arg >> 4, i.argval[0]),
            (f"{second[1:]}_FAST", i.arg & 15, i.argval[1])]


def same(code):
    theirs = [half for i in dis.get_instructions(code) if i.opname != "EXTENDED_ARG"
              for half in halves(i)]
    ours = list(instructions(code))
    assert ([(name, arg) for name, arg, _ in ours if arg] == [
        (name, arg) for name, arg, _ in theirs if arg])
    assert [name for name, *_ in ours] == [name for name, *_ in theirs]
    op = dis.opmap
    for (name, _, value), (_, _, theirs_) in zip(ours, theirs):
        if (name != "KW_NAMES" and op[name] in (*dis.hasname, *dis.hasconst)
                or type(theirs_) is str and op[name] in (*dis.haslocal, *dis.hasfree)):
            assert value is theirs_ or value == theirs_, (name, value, theirs_)
    return len(ours)


def test_whole_modules_read_as_dis_reads_them():
    total = 0
    for module in (argparse, ast, dis, inspect, textwrap, types):
        with open(module.__file__) as f:
            total += sum(map(same, codes(compile(f.read(), module.__file__, "exec"))))
    assert total > 20_000


def test_long_arguments_names_in_cells_and_classes():
    names = [f"name_{i}" for i in range(700)]
    text = "def f(a):\n    b = 1\n    def g():\n        return a, b, __class__\n    return g\n"
    text += "".join(f"x{i} = {n}.attribute_{i}\n" for i, n in enumerate(names))
    assert sum(map(same, codes(compile(text, "<long>", "exec")))) > 2000
    values = [
        value for name, _, value in instructions(compile(text, "<long>", "exec"))
        if name == "LOAD_ATTR"]
    assert values == [f"attribute_{i}" for i in range(700)]


CONSTANT = [
    lambda o: getattr(o.part, "x", o.y), lambda o: getattr(o, "x"), lambda o: hasattr(o[2].a, "z"),
    lambda o, v: setattr(o, "q", v + 1), lambda o: getattr(o, "x", len(o)),
    lambda o: getattr(o(1, 2), "x", None), lambda o: getattr(o["k"], "x", o.f(3, k=4))]
OTHERS = [
    lambda o, k: getattr(o, k), lambda o, k: getattr(o, f"lr_{k}"),
    lambda o, k: getattr(o, "a" + k), lambda o, k: getattr(o, "a%s" % k),
    lambda o, k: getattr(o, "a".join(k)), lambda o, k: getattr(o, "a" if k else "b"),
    lambda o, k: map(getattr, o, k), lambda o, k: getattr, lambda o, k: getattr(o, f"{k}_x", None),
    lambda o, k: getattr(*o), lambda o, k: getattr(o, "a"[k]), lambda o, k: getattr(o, f"a{k}c", 1),
    lambda o, k: setattr(o, "a" + str(k), 1), lambda o, k: getattr(k or o, "x")]


def test_a_second_argument_is_a_constant():
    def told(f):
        found = list(instructions(f.__code__))
        i = next(i for i, (name, _, value) in enumerate(found)
                 if name == "LOAD_GLOBAL" and value in ("getattr", "hasattr", "setattr"))
        return argument_is_text(found, i, 1)
    assert all(map(told, CONSTANT)) and not any(map(told, OTHERS))


def _reraised(f):
    try:
        f()
    except ValueError:
        for _ in range(2):
            with f:
                raise


def _reraised_elsewhere(f):
    try:
        f()
    except ValueError:
        pass
    else:
        raise


def _reraised_in_a_block(f):
    with f:
        raise


def _chained(f):
    try:
        f()
    except ValueError as e:
        return e.__context__


@pytest.mark.parametrize("f, sees", [
    (_reraised, False), (_reraised_elsewhere, True), (_reraised_in_a_block, True),
    (_chained, True)])
def test_code_that_could_see_which_error_its_caller_handles(f, sees):
    assert sees_handled_error(f.__code__) == sees
