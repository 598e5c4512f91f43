"""The instructions of a function, as `dis` has them, without what it adds for people to read: a
recording looks at all code that it can reach."""
import dis
import sys
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, TypeAlias

# its name, its argument, and what that stands for
Instruction: TypeAlias = tuple[str, int, Any]
# flags beside the number of a name
_BITS = {
    "LOAD_GLOBAL": 1, "LOAD_ATTR": 1 if sys.version_info >= (3, 12) else 0, "LOAD_SUPER_ATTR": 2}
_OPS: list[tuple[str, str | None, int]] = [
    (name, "name" if op in dis.hasname else
     "const" if op in dis.hasconst else "local" if op in (*dis.haslocal, *dis.hasfree) else None,
     _BITS.get(name, 0)) for op, name in enumerate(dis.opname[:256])]
_CALL = "PRECALL" if "PRECALL" in dis.opmap else "CALL"
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_CACHE, _EXTENDED = dis.opmap.get("CACHE", 0), dis.EXTENDED_ARG


def second_is_constant(found: Sequence[Instruction], i: int) -> bool:
    """Is the second argument of the call of what instruction i of a list loads a constant text?
    False also where that is hard to say.

        >>> from whet.jit.guards.bytecode import instructions, second_is_constant
        >>> def asks(f):
        ...     found = list(instructions(f.__code__))
        ...     return second_is_constant(found, next(i for i, (name, *_) in enumerate(found) if name == "LOAD_GLOBAL"))
        >>> asks(lambda o: getattr(o.part, "x", o.y)), asks(lambda o, k: getattr(o.part, k)), asks(lambda o, k: getattr(o, f"lr_{k}"))
        (True, False, False)
    """
    # of what lies on the stack besides the function; is the second thing there a constant?
    depth, constant = 0, False
    for name, arg, value in found[i + 1:]:
        op, before = dis.opmap[name], depth
        if name == _CALL and arg == depth:
            return constant
        depth += dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None)
        if op in _JUMPS or depth < 0:
            return False
        if depth <= 2 and name != "KW_NAMES":
            constant = before == 1 and depth == 2 and name == "LOAD_CONST" and type(value) is str
    return False


def instructions(code: CodeType) -> Iterator[Instruction]:
    """(name, argument as a number, what that stands for: a name, a constant, a variable, or None)
    of each instruction.

        >>> from whet.jit.guards.bytecode import instructions
        >>> [value for name, _, value in instructions((lambda x: len(x.shape)).__code__) if name in ("LOAD_GLOBAL", "LOAD_ATTR")]
        ['len', 'shape']
    """
    raw, given = code.co_code, 0
    cells = [n for n in code.co_cellvars if n not in code.co_varnames]
    values = {
        "name": code.co_names, "const": code.co_consts,
        "local": (*code.co_varnames, *cells, *code.co_freevars)}
    for op, arg in zip(raw[::2], raw[1::2]):
        if op == _CACHE:
            continue
        given = given << 8 | arg
        if op != _EXTENDED:
            name, kind, bits = _OPS[op]
            found: tuple[Any, ...] = values[kind] if kind else ()
            yield name, given, found[given >> bits] if given >> bits < len(found) else None
            given = 0


def returns_a_hash(code: CodeType) -> bool:
    """Does some code, without branches, give what one call of `hash` gives, as the methods do that
    dataclasses write?

        >>> from whet.jit.guards.bytecode import returns_a_hash
        >>> def own(self): return hash((self.a, self.b))
        >>> def other(self): return self.a + hash(self.b)
        >>> returns_a_hash(own.__code__), returns_a_hash(other.__code__)
        (True, False)
    """
    found = [x for x in instructions(code) if x[0] != "RESUME"]
    names = [name for name, _, _ in found]
    depth = 0
    for name, arg, _ in found[:-2]:
        op = dis.opmap[name]
        depth += dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None)
        if op in _JUMPS or depth < 1:
            return False
    return found[0][0] == "LOAD_GLOBAL" and found[0][2] == "hash" \
        and names[-2:] == ["CALL", "RETURN_VALUE"] and "RETURN_VALUE" not in names[:-1]
