"""What some code does with names, read from its instructions. Which globals, attributes and modules
does it name? Could it notice that something stands for a number, a list or a type?"""
from __future__ import annotations

import builtins
import enum
import functools
import re
import types
from dataclasses import dataclass, fields, replace
from typing import Any

from ..values.varying_numbers import TELLTALE
from .allowed_calls import COMPUTE
from .bytecode import (
    ATTRIBUTES,
    Instruction,
    argument_is_text,
    call_arguments,
    class_is_only_named,
    getattr_parameter,
    instructions,
    is_called,
    is_isinstance_class,
    is_one_entry_used,
    is_super_attribute,
    isinstance_classes,
    only_attribute_taken,
    operands_of_is,
    returns_a_hash,
    returns_pythons_constant,
)
from .bytecode_calls import is_first_alone, reaches_its_call
from .handled_errors import sees_handled_error
from .made_names import LOOKING_UP_ONE, MadeName, made_names
from .probed_functions import (
    changes_names,
    lists_names,
    looks_up_names,
    methods_that_give_numbers,
    module_attributes_that,
    reads_names,
)

# Python's own functions that look up a name which they get as their second argument, or all names
LOOKING_UP = frozenset(name for name, f in vars(builtins).items()
                       if f in COMPUTE and looks_up_names(f))
# attributes that set something by a name, and those that read it
CHANGING = module_attributes_that(changes_names)
READING = module_attributes_that(reads_names) - CHANGING
# what gives all names in a namespace
LISTING = frozenset(name for name in LOOKING_UP if lists_names(vars(builtins)[name])) \
    | module_attributes_that(lists_names)
BEFORE_LAST = -2                 # o.__setattr__(name, value), object.__setattr__(o, name, value)
TEXTS = frozenset("str repr ascii format print __str__ __repr__ __format__".split())
# Names for methods that must give exactly a Python number, or a NumPy array. A class
# that is there is asked what it has by these names, whatever that is called itself; one that the
# function makes is read as code.
EXACT = methods_that_give_numbers() | {"__array__"}
GLOBALS = frozenset(("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"))
NAMING = GLOBALS | ATTRIBUTES | {"IMPORT_NAME"}
# by which an attribute could be read: a variable of the same name is another thing
READING_NAMES = (ATTRIBUTES | {"IMPORT_NAME", "IMPORT_FROM", "LOAD_CONST"}) - {"STORE_ATTR"}
TAKING = frozenset(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"))


def _declines(number: float, name: str) -> bool:
    """Does a method of a number give NotImplemented for what it does not know?"""
    method = getattr(number, name)
    if type(method) is not types.MethodWrapperType:
        return False
    try:
        return method("") is NotImplemented
    except (TypeError, AttributeError):
        return False


# Methods that decline where an operator would ask the other side. A Number declines other things
# than a Python number does, so code may not call them by name.
DECLINING = frozenset(name for number in (1, 1.0) for name in dir(number)
                      if _declines(number, name))
# what a method, or the absence of one, is made by in the body of a class
DEFINING = frozenset(("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE", "LOAD_CONST"))
SAVED = "_saved_"                # begins the names by which nodes show operands, numbers too
FORMATTING = frozenset(("format", "__format__", "format_map", "vformat", "format_field"))
WITH_SPEC = 4                    # a flag of FORMAT_VALUE: the form is on the stack
DIRECTIVE = re.compile("%[^a-zA-Z]*[a-zA-Z]").search
# `%*d` wants its width, and `%.*f` its digits, from exactly a Python int
STARRED = re.compile(r"%[-+ #0-9.]*\*").search
# of statements, which look these up among the builtins
IMPLYING = {"IMPORT_NAME": "__import__", "LOAD_BUILD_CLASS": "__build_class__"}
MATCHING = frozenset(("MATCH_SEQUENCE", "MATCH_MAPPING"))
FORMATS = frozenset(("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC"))


@dataclass(slots=True)
class CodeFacts:
    """What some code could notice, or reach past all names: it is False only where that is
    sure."""
    notices_numbers: bool = False    # a Number in the place of a Python number
    notices_truths: bool = False     # what stands for True or False: it asks by `is`
    notices_types: bool = False      # what stands for something, by its type
    notices_lists: bool = False      # a list with methods of its own: it calls those of `list`
    makes_texts: bool = False        # what becomes text says more of itself than its names
    looks_up_names: bool = False     # names that are made at run time
    lists_names: bool = False        # all names that something has
    takes_classes: bool = False      # the class of something, for more than its name
    reads_dicts: bool = False        # single attributes, by an object's `__dict__`
    sees_handled_error: bool = False     # the one that was handled when it was called
    makes_generators: bool = False       # of random numbers, unseen (see made_generators.py)

    def copy(self) -> CodeFacts:
        """A copy, to be added to."""
        return replace(self)

    def add(self, other: CodeFacts) -> None:
        """Let what other code does count, too."""
        for fact in fields(self):
            setattr(self, fact.name, getattr(self, fact.name) or getattr(other, fact.name))


class NamesInCode:
    """The names in some code, without the code that is nested in it, and what it does with them."""
    __slots__ = ("facts", "asks_types", "asks_type_of_first", "attributes", "entered",
                 "entered_of", "named_of", "asked", "passed_on", "never_taken", "globals",
                 "imports", "identities", "taken", "taken_of", "formats", "are_set", "only_set",
                 "implied", "matches", "made_names")

    def __init__(self, code: types.CodeType) -> None:
        texts = [x for x in code.co_consts if type(x) is str]
        said = {*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.facts = CodeFacts(
            notices_numbers=not TELLTALE.isdisjoint(code.co_names)
            or not TELLTALE.isdisjoint(texts) or not EXACT.isdisjoint(texts)
            or not DECLINING.isdisjoint(texts) or any(map(STARRED, texts))
            or any(x.startswith(SAVED) for x in (*code.co_names, *texts))
            or code.co_name in EXACT and could_give_a_number(code),
            makes_texts=not TEXTS.isdisjoint(said) or not TEXTS.isdisjoint(texts),
            takes_classes=any("__class__" in x for x in texts),
            sees_handled_error=sees_handled_error(code))
        # does it call type(x): of what may be anything, of its first argument?
        self.asks_types = self.asks_type_of_first = False
        # may it make text by a form that dates give a meaning to?
        self.formats = not FORMATTING.isdisjoint(said) or not FORMATTING.isdisjoint(texts)
        # Attributes: all, those that it sets, those of which it asks more than what they contain,
        # and those that it does not only call. `..._of` are the same as (global, attribute).
        self.attributes: set[str] = set()
        self.are_set: set[str] = set()
        self.entered: set[str] = set()
        self.taken: set[str] = set()
        self.named_of: set[tuple[str, str]] = set()
        self.entered_of: set[tuple[str, str]] = set()
        self.taken_of: set[tuple[str, str]] = set()
        # (a global, or None for any object; a text by which it is asked for an attribute)
        self.asked: set[tuple[str | None, str]] = set()
        self.globals: dict[tuple[str, bool], None] = {}  # (name, is it not only called?)
        self.passed_on: set[str] = set()     # globals of which more is taken than an attribute
        self.imports: dict[tuple[str, int], None] = {}   # (module, level)
        self.implied: set[str] = set()       # builtins that statements call
        self.matches = False                 # Does it match sequences or mappings?
        self.made_names: set[MadeName] = set()       # of attributes, made at run time
        # of each `is` of a number: the globals compared; is the first argument compared?
        self.identities = _identities_of_numbers(code)
        self.facts.notices_truths = any(map(_asks_for_truth, operands_of_is([*instructions(code)])))
        self._read(code)
        # attributes that it sets, and names for nothing else
        self.only_set = self.are_set - {x for name, _, x in instructions(code)
                                        if name in READING_NAMES and type(x) is str}

    def _read(self, code: types.CodeType) -> None:
        facts = self.facts
        constants: tuple[Any, ...] = None, None  # the last two: of an import, its level and names
        last, before = None, None
        found, asked = list(instructions(code)), getattr_parameter(code)
        for i, (name, arg, value) in enumerate(found):
            self._notice(name, value, last, before, i > 0 and is_called(found, i - 1))
            if last == "type" and i > 0 and is_called(found, i - 1):
                if is_first_alone(code, found, i):
                    self.asks_type_of_first = True
                else:
                    self.asks_types = True
            if name in FORMATS:
                self._note_format(found, i)
            elif name in IMPLYING:
                self.implied.add(IMPLYING[name])
            self.matches |= name in MATCHING
            if _looks_up(found, i, asked):
                made = made_names(code, found, i) if value in LOOKING_UP_ONE else []
                self.made_names |= {*made}
                facts.looks_up_names |= not made
            if name == "IMPORT_FROM":
                self.asked.add((None, value))
            elif name in GLOBALS and value in LOOKING_UP:
                self.asked |= _asked_by_text(found, i)
            facts.lists_names |= name in NAMING and value in LISTING and not (
                value == "__dict__" and is_one_entry_used(found, i, asked))
            if name == "MATCH_CLASS" and arg > 0:
                # A class says itself which attributes a pattern without names is for.
                facts.looks_up_names = True
                self.attributes.add("__match_args__")
            facts.takes_classes |= _takes_a_class(found, i)
            # the methods of NumPy's arrays, past an array: they take arrays alone
            facts.notices_numbers |= name in TAKING and i > 0 and found[i - 1][2] == "ndarray"
            last, before = value if name == "LOAD_GLOBAL" else None, name
            if last == "type" and is_isinstance_class(found, i):
                last = None
            if name in NAMING:
                self._note_names(code, found, i, constants[0], asked)
            elif name == "LOAD_CONST":
                constants = constants[-1], value
        facts.notices_numbers |= not EXACT.isdisjoint(self.attributes)
        by_isinstance = isinstance_classes(found)
        # globals that are only called, or asked for by `isinstance`
        self.never_taken = {name for name, _ in self.globals} - {
            x for i, (name, _, x) in enumerate(found)
            if name in GLOBALS and i not in by_isinstance
            and not (is_called(found, i) and reaches_its_call(found, i))}

    def _note_format(self, found: list[Instruction], i: int) -> None:
        """Note where an instruction makes text by a form."""
        name, arg, _ = found[i]
        self.facts.makes_texts = True
        if name == "FORMAT_WITH_SPEC" or arg & WITH_SPEC:
            loaded, _, spec = found[i - 1]
            self.formats |= loaded != "LOAD_CONST" or bool(DIRECTIVE(str(spec)))

    def _note_names(self, code: types.CodeType, found: list[Instruction], i: int, level: Any,
                    asked: str | None) -> None:
        """Note the names of an instruction: of a global, a module or an attribute. `level`: of the
        import, if it is one; `asked`: see `_looks_up`."""
        name, _, value = found[i]
        of_a_global = bool(i) and only_attribute_taken(code, found, i - 1)
        if name in TAKING and not is_called(found, i):
            if of_a_global:
                self.taken_of.add((found[i - 1][2], value))
            else:
                self.taken.add(value)
        if name in GLOBALS:
            is_taken = name in ("LOAD_GLOBAL", "LOAD_NAME") and not is_called(found, i)
            self.globals[value, is_taken] = None
            if not only_attribute_taken(code, found, i):
                self.passed_on.add(value)
        elif name == "IMPORT_NAME":
            self.imports[value, level] = None
            self.attributes.add(value)
            self.entered.add(value)
        elif value == "__init__" == code.co_name and is_super_attribute(found, i):
            pass                             # of a class that is met, and whose bases are
        elif name in ATTRIBUTES:
            if of_a_global:
                self.named_of.add((found[i - 1][2], value))
            if value == "__dict__" and is_one_entry_used(found, i, asked):
                self.facts.reads_dicts = True
                return                       # What is there has a name that is read elsewhere.
            self.attributes.add(value)
            if name == "STORE_ATTR":
                self.are_set.add(value)
            if name == "LOAD_ATTR" and found[i + 1][0] == "CONTAINS_OP":
                return                       # is something in it?
            if of_a_global:
                self.entered_of.add((found[i - 1][2], value))
            else:
                self.entered.add(value)

    def _notice(self, name: str, value: Any, last: str | None, before: str | None,
                is_called: bool) -> None:
        """Note what an instruction could tell; `last`: the global that was just loaded, and whether
        that `is_called`."""
        facts = self.facts
        if name in ("LOAD_ATTR", "LOAD_METHOD"):     # methods of numbers or lists take just those
            facts.notices_numbers |= last in ("int", "float") or value in DECLINING
            facts.notices_lists |= last == "list"
        if last == "type" and not is_called:
            facts.notices_numbers = facts.notices_types = True
        facts.notices_numbers |= name == "STORE_NAME" and value in EXACT and before not in DEFINING

    def tells_numbers_apart(self, names_of: dict[str, Any], variables: dict[str, Any],
                            is_method: bool) -> bool:
        """Could one of its `is` be asked of a number, with these globals and variables of enclosing
        functions? The first argument of a method is none, unless it is compared with one."""
        def found(name: str, attributes: tuple[str, ...], is_global: bool) -> Any:
            x = (names_of.get(name, vars(builtins).get(name, 0)) if is_global
                 else variables.get(name, 0))
            return functools.reduce(named_part, attributes, x)
        return any(
            all(could_be_number(found(*of)) for of in few)
            for few, is_of_first in self.identities if few or not (is_of_first and is_method))


@functools.lru_cache(4096)
def names_in(code: types.CodeType) -> NamesInCode:
    """What some code does with names."""
    return NamesInCode(code)


def named_part(x: Any, name: str) -> Any:
    """What a module or a class has by a name; 0 where that is not sure, or where it has none."""
    if type(x) is types.ModuleType:
        return vars(x).get(name, 0)
    if isinstance(x, enum.EnumMeta):
        return x._member_map_.get(name, 0)
    if type(x) is not type:
        return 0
    held = next((vars(c)[name] for c in x.__mro__ if name in vars(c)), 0)
    return 0 if hasattr(type(held), "__get__") else held


def could_be_number(x: object) -> bool:
    """Is this a number, or what may be one in a recording? A member of an enum is none."""
    return isinstance(x, int | float | complex) and not isinstance(x, enum.Enum)


# what an operand of an `is` is called by: a name, those of attributes, and whether the first is a
# global
Called = tuple[str, tuple[str, ...], bool]


def _asks_for_truth(loads: tuple[Instruction | None, ...]) -> bool:
    """Does an `is` with these operands ask whether something is True, or False?"""
    return any(x is not None and x[0] == "LOAD_CONST" and type(x[2]) is bool for x in loads)


def _identities_of_numbers(code: types.CodeType) -> list[tuple[set[Called], bool]]:
    """For each `is` of some code: the names that it compares, and whether it compares the first
    argument. Names begin with a global, or with a variable of an enclosing function that is not set
    here. Comparisons with a class, a constant that is no number, True or False are left out: a
    stand-in of a number gives the same answer there."""
    found, out = list(instructions(code)), []
    first = code.co_varnames[0] if code.co_argcount else None
    if any(name in ("STORE_FAST", "DELETE_FAST") and x == first for name, _, x in found):
        first = None
    lasting = {*code.co_freevars} - {x for name, _, x in found if name == "STORE_DEREF"}
    for loads in operands_of_is(found):
        if not _asks_for_truth(loads) and not any(
                x is not None and (x[0] == "LOAD_CONST" and not could_be_number(x[2])
                                   or x[0] == "LOAD_ATTR" and x[2] == "__class__")
                for x in loads):
            made = [x for x in loads if x is not None]
            named: set[Called] = {
                (x[2], (), x[0] == "LOAD_GLOBAL") for x in made
                if x[0] == "LOAD_GLOBAL" or x[0] == "LOAD_DEREF" and x[2] in lasting}
            named |= {(x[2][0], x[2][1:], True) for x in made if x[0] == "LOAD_CHAIN"}
            out.append((named,
                        any(x[0] == "LOAD_FAST" and x[2] == first for x in made)))
    return out


def _looks_up(found: list[Instruction], i: int, asked: str | None) -> bool:
    """Does an instruction load what could look up a name that is made at run time? Of what
    `super()` is an instance of, all that is set is compared. The variable `asked` has a name that
    other code asks for, which is read for such names, too."""
    name, _, value = found[i]
    if name in GLOBALS:
        return value in LOOKING_UP and not argument_is_text(found, i, 1, asked)
    if name not in ATTRIBUTES:
        return False
    if value in READING:
        return not (is_one_entry_used(found, i, asked) if value == "__dict__" else
                    asked is not None and argument_is_text(found, i, -1, asked))
    return value in CHANGING and not (
        is_super_attribute(found, i) or argument_is_text(found, i, BEFORE_LAST))


def _asked_by_text(found: list[Instruction], i: int) -> set[tuple[str | None, str]]:
    """Instruction i loads a function that looks up names: the global that it asks, or None, and the
    constant text by which it asks."""
    call = call_arguments(found, i) or {}
    of, name = call.get(0), call.get(1)
    if name is None or name[0] != "LOAD_CONST" or type(name[2]) is not str:
        return set()
    return {(of[2] if of is not None and of[0] == "LOAD_GLOBAL" else None, name[2])}


def _takes_a_class(found: list[Instruction], i: int) -> bool:
    """Does an instruction ask something for its class, for more than its name?"""
    name, _, value = found[i]
    if name in GLOBALS and value == "type":  # type(x), of a variable
        at = next((k for k, x in enumerate(found[i:i + 4], i) if x[:2] == ("CALL", 1)), None)
        return at is None or not found[i + 1][0].startswith("LOAD_FAST") \
            or not is_called(found, i) or not class_is_only_named(found, at)
    return name in ATTRIBUTES and value == "__class__" and not class_is_only_named(found, i)


def could_give_a_number(code: types.CodeType) -> bool:
    """Could some code return a Number, where Python wants its own?"""
    return not (returns_pythons_constant(code) or returns_a_hash(code))


def absolute(name: str, level: int, names_of: dict[str, Any]) -> str:
    """The module that an import names, relative ones from their package."""
    if not level:
        return name
    parts = (names_of.get("__package__") or "").split(".")
    return ".".join([*parts[:len(parts) - level + 1], *([name] if name else [])])
