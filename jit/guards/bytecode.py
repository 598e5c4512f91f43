"""Reads the instructions of functions, and answers questions about them. What is called, with which
arguments? What is only compared? Of what is an attribute taken?

The instructions are those of `dis`, without what `dis` adds for people to read. A recording reads
all code that it can reach, so reading has to be fast. Most functions here take a list of
instructions and the number of one of them."""
import dis
import functools
import sys
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, TypeAlias

# (name, argument, what the argument stands for)
Instruction: TypeAlias = tuple[str, int, Any]
# by instruction: how many bits of the argument are flags; the others are the number of a name
_BITS = {
    "LOAD_GLOBAL": 1, "LOAD_ATTR": 1 if sys.version_info >= (3, 12) else 0, "LOAD_SUPER_ATTR": 2}
_OPS: list[tuple[str, str | None, int]] = [
    (name, "name" if op in dis.hasname else
     "const" if op in dis.hasconst else "local" if op in (*dis.haslocal, *dis.hasfree) else None,
     _BITS.get(name, 0)) for op, name in enumerate(dis.opname[:256])]
LOADS = frozenset(name for name in dis.opmap if name.startswith(
    ("LOAD_CONST", "LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME")))
# two instructions in one, each with four bits of the argument (from 3.13 on)
_PAIRS = {f"{first}_FAST_{second}_FAST": (f"{first}_FAST", f"{second}_FAST")
          for first, second in (("LOAD", "LOAD"), ("STORE", "LOAD"), ("STORE", "STORE"))}
_CALL_NAMED = "CALL_KW"          # its last operand is the names (from 3.13 on)
# instructions whose result is a constant or a boolean
_PYTHONS_OWN = frozenset(("LOAD_CONST", "UNARY_NOT", "IS_OP", "CONTAINS_OP"))
_NOT_AT_ONCE = 0x20 | 0x80 | 0x200           # flags of the code of generators and coroutines
# Does PUSH_NULL come after what is called? It comes before it up to 3.12.
_NULL_FOLLOWS = sys.version_info >= (3, 13)
_CALL = "PRECALL" if "PRECALL" in dis.opmap else "CALL"
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
ATTRIBUTES = frozenset(("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM",
                        "LOAD_SUPER_ATTR"))
_NAMES_OF_CLASSES = frozenset(("__name__", "__qualname__", "__module__"))
_CACHE, _EXTENDED = dis.opmap.get("CACHE", 0), dis.EXTENDED_ARG


@functools.lru_cache(256)
def jump_targets(code: CodeType) -> frozenset[int]:
    """The numbers of the instructions that are the target of a jump."""
    raw: Any = code.co_code
    labels, n, found = set(dis.findlabels(raw)), 0, []
    for place in range(0, len(raw), 2):
        if (op := raw[place]) != _CACHE:
            found += [n] if place in labels else []
            n += 2 if _OPS[op][0] in _PAIRS else op != _EXTENDED
    return frozenset(found)


def only_attribute_taken(code: CodeType, found: Sequence[Instruction], i: int) -> bool:
    """Instruction i loads a global: does the code only take an attribute of it?

        >>> from whet.jit.guards.bytecode import instructions, only_attribute_taken
        >>> code = (lambda: (np.pi, f(np), (np or re).pi, 1 and os.name)).__code__
        >>> found = list(instructions(code))
        >>> {(x[2], only_attribute_taken(code, found, i))
        ...  for i, x in enumerate(found) if x[2] in ("np", "re", "os")} == {
        ...      ("np", True), ("np", False), ("re", False), ("os", True)}
        True
    """
    if found[i][0] not in ("LOAD_GLOBAL", "LOAD_NAME") or found[i + 1][0] not in ATTRIBUTES:
        return False
    before = found[i - 1][0] if i else ""
    branch_ends = before == "POP_TOP" or before.startswith("JUMP")
    return not branch_ends or i + 1 not in jump_targets(code)


def is_called(found: Sequence[Instruction], i: int) -> bool:
    """Does the code itself call what instruction i loads, rather than pass it on?

        >>> from whet.jit.guards.bytecode import instructions, is_called
        >>> found = list(instructions((lambda f, o: (len(o), o.f(o.f))).__code__))
        >>> [(x[2], is_called(found, i)) for i, x in enumerate(found) if x[2] in ("len", "f")]
        [('len', True), ('f', True), ('f', False)]
    """
    name = found[i][0]
    follows = found[i + 1] if i + 1 < len(found) else ("", 0, None)
    if _NULL_FOLLOWS:
        return _is_marked(found[i]) or follows[0] == "PUSH_NULL"
    if name in ("LOAD_ATTR", "LOAD_METHOD") and _is_marked(found[i]):
        return True
    if _takes_attribute(follows):
        return False
    while i and _takes_attribute(found[i]):       # the mark is before what the names begin with
        i -= 1
    return _is_marked(found[i]) or i > 0 and found[i - 1][0] == "PUSH_NULL"


def _is_marked(instruction: Instruction) -> bool:
    """Does a flag of the instruction say that a call follows?"""
    name, arg, _ = instruction
    return name == "LOAD_METHOD" or name in _BITS and bool(_BITS[name] and arg & 1)


def _takes_attribute(instruction: Instruction) -> bool:
    """Does the instruction take an attribute that is not called as a method?"""
    return instruction[0] == "LOAD_ATTR" and not _is_marked(instruction)


def call_arguments(found: Sequence[Instruction],
                   i: int) -> dict[int | str, Instruction | None] | None:
    """Instruction i loads a function: the arguments of its call, by position or name. Each is the
    instruction that loads the argument; None if it takes several instructions. The result is None
    if there is no call, or if its arguments are unknown.

        >>> from whet.jit.guards.bytecode import call_arguments, instructions
        >>> found = list(instructions((lambda f, x: f(x, x.y, n=3)).__code__))
        >>> i = next(i for i, (name, _, value) in enumerate(found) if value == "f")
        >>> {k: x and x[2] for k, x in call_arguments(found, i).items()}
        {0: 'x', 1: None, 'n': 3}
    """
    # what is on the stack besides the function
    stack: list[Instruction | None] = []
    names: tuple[str, ...] = ()
    for instruction in found[i + 1:]:
        name, arg, value = instruction
        op, depth = dis.opmap[name], len(stack)
        if _NULL_FOLLOWS and name == "PUSH_NULL" and not stack:
            continue
        if name == "KW_NAMES":
            names = value
        elif name == _CALL_NAMED and arg == depth - 1:
            last = stack.pop()
            return _by_position_and_name(stack, last[2] if last is not None else ())
        elif name == _CALL and arg == depth:
            return _by_position_and_name(stack, names)
        depth += dis.stack_effect(op, arg if op >= dis.HAVE_ARGUMENT else None)
        if op in _JUMPS or depth < 0:
            return None
        if name in LOADS:                   # of what is called, beside a NULL
            stack += [instruction] if depth == len(stack) + 1 else [None, None]
        elif name != "KW_NAMES":
            stack = stack[:max(min(depth, len(stack)) - 1, 0)]
            stack += [None] * (depth - len(stack))
    return None


def _by_position_and_name(stack: list[Instruction | None],
              names: tuple[str, ...]) -> dict[int | str, Instruction | None]:
    """The arguments on the stack, the last of which have names."""
    plain = len(stack) - len(names)
    return {**dict(enumerate(stack[:plain])), **dict(zip(names, stack[plain:]))}


def argument_is_text(found: Sequence[Instruction], i: int, position: int,
                     name: str | None = None) -> bool:
    """Instruction i loads a function: is the argument at `position` of its call a constant text, or
    the variable called `name`? A negative position counts from the end. False if that is
    unknown.

        >>> from whet.jit.guards.bytecode import argument_is_text, instructions
        >>> def asks(f):
        ...     found = list(instructions(f.__code__))
        ...     at = next(i for i, (name, *_) in enumerate(found) if name == "LOAD_GLOBAL")
        ...     return argument_is_text(found, at, 1)
        >>> asks(lambda o: getattr(o.part, "x", o.y)), asks(lambda o, k: getattr(o, f"lr_{k}"))
        (True, False)
    """
    call = call_arguments(found, i) or {}
    x: Instruction | None = call.get(position if position >= 0 else len(call) + position)
    return x is not None and _is_text(x, name)


def _is_text(x: Instruction, name: str | None) -> bool:
    """Does an instruction load a constant text, or the variable called `name`?"""
    return (x[0] == "LOAD_CONST" and type(x[2]) is str
            or name is not None and x[::2] == ("LOAD_FAST", name))


def getattr_parameter(code: CodeType) -> str | None:
    """The parameter of a `__getattr__` method that holds the name of the attribute. None for other
    code, and for a method that assigns to this parameter.

        >>> from whet.jit.guards.bytecode import getattr_parameter
        >>> class Logs:
        ...     def __getattr__(self, name): return self.__dict__["meters"][name]
        ...     def get(self, name): return self.meters[name]
        >>> getattr_parameter(Logs.__getattr__.__code__), getattr_parameter(Logs.get.__code__)
        ('name', None)
    """
    if code.co_name != "__getattr__" or code.co_argcount != 2:
        return None
    name = code.co_varnames[1]
    is_kept = all(x[::2] != ("STORE_FAST", name) for x in instructions(code))
    return name if is_kept and name not in code.co_cellvars else None


def is_one_entry_used(found: Sequence[Instruction], i: int, name: str | None) -> bool:
    """Instruction i loads a dict: does the code only read or set one entry of it, whose key is a
    constant text or the variable called `name`?

        >>> from whet.jit.guards.bytecode import instructions, is_one_entry_used
        >>> def f(self, name, other):
        ...     return name in self.__dict__ and self.__dict__[name], self.__dict__[other]
        >>> found = list(instructions(f.__code__))
        >>> at = [i for i, x in enumerate(found) if x[2] == "__dict__"]
        >>> [is_one_entry_used(found, i, "name") for i in at]
        [True, True, False]
    """
    after = [*found[i + 1:i + 3], *[("", 0, None)] * 2]
    if after[0][0] == "CONTAINS_OP":
        return i >= 2 and _is_text(found[i - 2], name)
    return _is_text(after[0], name) and after[1][0] in ("BINARY_SUBSCR", "STORE_SUBSCR")


def is_isinstance_class(found: Sequence[Instruction], i: int) -> bool:
    """Does instruction i load the class in `isinstance(variable, class)`?

        >>> from whet.jit.guards.bytecode import instructions, is_isinstance_class
        >>> found = list(instructions((lambda x: isinstance(x, type) or type(x)).__code__))
        >>> [is_isinstance_class(found, i) for i, x in enumerate(found) if x[2] == "type"]
        [True, False]
    """
    return (i >= 2 and found[i - 2][0] == "LOAD_GLOBAL" and found[i - 2][2] == "isinstance"
            and found[i - 1][0].startswith(("LOAD_FAST", "LOAD_DEREF"))
            and found[i + 1][0] in (_CALL, "CALL") and found[i + 1][1] == 2)


@functools.lru_cache(1024)
def names_only_in_isinstance(code: CodeType) -> frozenset[str]:
    """The names that some code uses only for classes in `isinstance(variable, class)` or
    `isinstance(variable, (class, ...))`.

        >>> from whet.jit.guards.bytecode import names_only_in_isinstance
        >>> f = lambda x: isinstance(x, (A, m.B)) or isinstance(x, C) and C(x)
        >>> sorted(names_only_in_isinstance(f.__code__))
        ['A', 'B', 'm']
    """
    found = list(instructions(code))
    asked = isinstance_classes(found)
    said = {x for i, (_, _, x) in enumerate(found) if i not in asked and type(x) is str}
    return frozenset(found[i][2] for i in asked) - said


def isinstance_classes(found: Sequence[Instruction]) -> set[int]:
    """The numbers of the instructions that load the classes in calls of `isinstance`.

        >>> from whet.jit.guards.bytecode import isinstance_classes, instructions
        >>> found = list(instructions((lambda x: isinstance(x, (int, float)) and int(x)).__code__))
        >>> [found[i][2] for i in sorted(isinstance_classes(found))]
        ['int', 'float']
    """
    asked: set[int] = set()
    for i in range(len(found) - 2):
        if found[i][::2] == ("LOAD_GLOBAL", "isinstance") \
                and found[i + 1][0].startswith(("LOAD_FAST", "LOAD_DEREF")):
            end = i + 2
            while found[end][0] in ("LOAD_GLOBAL", "LOAD_ATTR"):
                end += 1
            call = found[end + (found[end][0] == "BUILD_TUPLE")]
            if call[0] in (_CALL, "CALL") and call[1] == 2:
                asked.update(range(i + 2, end))
    return asked


def is_super_attribute(found: Sequence[Instruction], i: int) -> bool:
    """Does instruction i take an attribute of `super()`, or of `super(Class, self)`?

        >>> from whet.jit.guards.bytecode import instructions, is_super_attribute
        >>> class Own:
        ...     def __init__(self): super(Own, self).__init__()
        ...     def __setattr__(self, name, value): super().__setattr__(name, self.value)
        >>> def asks(f, *names):
        ...     found = list(instructions(f.__code__))
        ...     return [is_super_attribute(found, i) for i, x in enumerate(found) if x[2] in names]
        >>> asks(Own.__init__, "__init__"), asks(Own.__setattr__, "__setattr__", "value")
        ([True], [True, False])
    """
    if found[i][0] == "LOAD_SUPER_ATTR":
        return True
    if [name for name, _, _ in found[max(i - 2, 0):i]] != ["PRECALL", "CALL"]:
        return False
    at = i - 3 - found[i - 1][1]             # before a load for each argument
    return found[i - 1][1] in (0, 2) and at >= 0 and found[at][::2] == ("LOAD_GLOBAL", "super") \
        and all(x[0] in LOADS for x in found[at + 1:i - 2])


def operands_of_is(found: Sequence[Instruction]) -> Iterator[tuple[Instruction | None, ...]]:
    """For each `is`: the instruction that loads its first operand, and the one that loads its
    second. None for an operand that is made in another way. A second operand such as
    `module.Class.attribute` is given as `("LOAD_CHAIN", 0, ("module", "Class", "attribute"))`.

        >>> from whet.jit.guards.bytecode import instructions, operands_of_is
        >>> found = list(instructions((lambda x, y: (x is len, x.y is y, x is x.y)).__code__))
        >>> [tuple(load and load[0] for load in loads) for loads in operands_of_is(found)][0]
        ('LOAD_FAST', 'LOAD_GLOBAL')
    """
    for i, (name, _, _) in enumerate(found):
        if name == "IS_OP":
            last, before = found[i - 1], found[i - 2]
            first = before if last[0] in LOADS and before[0] in LOADS else None
            chain = _chain(found, i - 1)
            yield first, (("LOAD_CHAIN", 0, chain) if chain else
                          last if last[0] in LOADS or last[0] == "LOAD_ATTR" else None)


def _chain(found: Sequence[Instruction], i: int) -> tuple[str, ...]:
    """The names in a lookup such as `inspect.Parameter.empty` that ends with instruction i; () if
    none ends there."""
    names: list[str] = []
    while i >= 0 and found[i][0] == "LOAD_ATTR":
        names.append(found[i][2])
        i -= 1
    return (found[i][2], *reversed(names)) if names and found[i][0] == "LOAD_GLOBAL" else ()


def class_is_only_named(found: Sequence[Instruction], i: int) -> bool:
    """Instruction i loads a class: does the code only compare it by `is`, or ask for its name?

        >>> from whet.jit.guards.bytecode import class_is_only_named, instructions
        >>> def asks(f):
        ...     found = list(instructions(f.__code__))
        ...     at = (i for i, x in enumerate(found) if x[2] == "__class__")
        ...     return [class_is_only_named(found, i) for i in at]
        >>> asks(lambda self, other: other.__class__ is self.__class__)
        [True, True]
        >>> asks(lambda self: (self.__class__.__qualname__, self.__class__(1), self.__class__.make))
        [True, False, False]
    """
    after = [*found[i + 1:i + 4], *[("", 0, None)] * 3]
    if after[0][0] == "LOAD_ATTR":
        return after[0][2] in _NAMES_OF_CLASSES and not _is_marked(after[0])
    if after[0][0] in LOADS:                # the other side
        after = after[2 if after[1][0] == "LOAD_ATTR" and not _is_marked(after[1]) else 1:]
    return after[0][0] == "IS_OP"


def instructions(code: CodeType) -> Iterator[Instruction]:
    """The instructions of some code. What an argument stands for is a name, a constant, a variable
    or None.

        >>> from whet.jit.guards.bytecode import instructions
        >>> code = (lambda x: len(x.shape)).__code__
        >>> [value for name, _, value in instructions(code) if name in ("LOAD_GLOBAL", "LOAD_ATTR")]
        ['len', 'shape']
    """
    raw, operand = code.co_code, 0
    cells = [n for n in code.co_cellvars if n not in code.co_varnames]
    values = {
        "name": code.co_names, "const": code.co_consts,
        "local": (*code.co_varnames, *cells, *code.co_freevars)}
    for op, arg in zip(raw[::2], raw[1::2]):
        if op == _CACHE:
            continue
        operand = operand << 8 | arg
        if op != _EXTENDED:
            name, kind, bits = _OPS[op]
            found: tuple[Any, ...] = values[kind] if kind else ()
            if name in _PAIRS:
                for half, place in zip(_PAIRS[name], (operand >> 4, operand & 15)):
                    yield half, place, found[place]
                operand = 0
                continue
            yield name, operand, found[operand >> bits] if operand >> bits < len(found) else None
            operand = 0


def returns_pythons_constant(code: CodeType) -> bool:
    """Does some code return only constants, or booleans of Python's own?

        >>> from whet.jit.guards.bytecode import returns_pythons_constant
        >>> def full(self): return not self.n or self.n
        >>> def known(self): return self.n in self.names
        >>> returns_pythons_constant(full.__code__), returns_pythons_constant(known.__code__)
        (False, True)
    """
    found = list(dis.get_instructions(code))
    ends = [(before.opname, i) for before, i in zip(found, found[1:]) if i.opname == "RETURN_VALUE"]
    return not code.co_flags & _NOT_AT_ONCE and all(
        before in _PYTHONS_OWN and not i.is_jump_target for before, i in ends)


def returns_a_hash(code: CodeType) -> bool:
    """Is some code just `return hash(...)` without branches, as the methods are that dataclasses
    write?

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
