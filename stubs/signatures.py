"""One function as lines of a stub: its live signature with types, or its overloads."""
import ast
import inspect
import math
import re
from dataclasses import dataclass

from .exceptions import EXACT
from .overloads import OVERLOADS, OVERRIDES
from .results import RESULTS
from .vocabulary import NAMED

TENSOR_MODULES = frozenset(
    ("", "nn.functional", "linalg", "fft", "special", "nn.init", "array_api"))
# what has no type yet, collected so that one run names all of it
UNKNOWN: list = []


@dataclass
class Parameter:
    """A parameter as it is written: stars and defaults included."""
    name: str
    kind: inspect._ParameterKind
    annotation: str | None
    default: str | None = None

    def text(self, spell):
        star = {inspect.Parameter.VAR_POSITIONAL: "*",
                inspect.Parameter.VAR_KEYWORD: "**"}.get(self.kind, "")
        head = star + self.name + (f": {spell(self.annotation)}" if self.annotation else "")
        return (head if self.default is None else
                f"{head}{' = ' if self.annotation else '='}{self.default}")


def listed(parameters, spell):
    """The text between the parentheses."""
    out, keyword_only, positional = [], False, False
    for p in parameters:
        if positional and p.kind is not p_kind.POSITIONAL_ONLY:
            out.append("/")
        positional = p.kind is p_kind.POSITIONAL_ONLY
        if p.kind is p_kind.KEYWORD_ONLY and not keyword_only:
            out.append("*")
        keyword_only = keyword_only or p.kind in (p_kind.KEYWORD_ONLY, p_kind.VAR_POSITIONAL)
        out.append(p.text(spell))
    return ", ".join(out + ["/"] * positional)


p_kind = inspect.Parameter


def default_text(x):
    """A default that reads as it is written, or `...`."""
    if x is None or isinstance(x, bool | int | str) or isinstance(x, float) and math.isfinite(x):
        return repr(x)
    if type(x) is tuple and all(default_text(y) != "..." for y in x):
        return repr(x)
    return "..."


def keys(room, owner, name, *parameter):
    """Where the tables may speak of it, most special first."""
    tail = (name, *parameter)
    if owner:
        own = (owner, *parameter) if name == "__init__" else (owner, *tail)
        return ((f"{room.short}.{'.'.join(own)}", ".".join(own),
                 *([] if name == "__init__" else [".".join(tail)])))
    return ".".join((room.short, *tail)).lstrip("."), ".".join(tail)


def lookup(table, places):
    return next((table[k] for k in places if k in table), None)


def type_of(room, owner, name, p):
    """The type of a parameter, from the tables or its default."""
    kind = lookup(EXACT, keys(room, owner, name, p.name))
    if kind is None and isinstance(p.default, bool):
        return "bool"
    if kind is None:
        kind = NAMED.get(p.name)
    if kind is None and type(p.default) in (int, float, str):
        kind = type(p.default).__name__
    if kind is None:
        UNKNOWN.append(f"{keys(room, owner, name, p.name)[-1]}: {p}")
        return "Any"
    return (f"{kind} | None"
            if p.default is None and kind != "Any" and not kind.endswith("None") else kind)


def result_of(room, owner, name, fn):
    """The type of a result, from the table, or a Tensor where nothing else is to be expected."""
    if name == "__init__":
        return "None"
    found = lookup(RESULTS, keys(room, owner, name))
    if found is not None:
        return found
    if owner == "Tensor":
        return "Self" if name.endswith("_") else "Tensor"
    if room.short in TENSOR_MODULES and not owner or room.short == "array_api" or name == "forward":
        return "Tensor"
    UNKNOWN.append(f"{keys(room, owner, name)[-1]} -> ?")
    return "Any"


def parameters_of(room, owner, name, fn):
    """The live parameters with their types; the first one of a method is `self`."""
    own = list(inspect.signature(fn).parameters.values())
    out = []
    for i, p in enumerate(own):
        first = owner and i == 0 and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        if first:
            out.append(
                Parameter("cls" if p.name == "cls" and name != "__init__" else "self",
                          p.POSITIONAL_OR_KEYWORD, None))
        else:
            out.append(
                Parameter(p.name, p.kind, type_of(room, owner, name, p),
                          None if p.default is p.empty else default_text(p.default)))
    return out


def parsed(text):
    """The parameters and the result of an overload, from `(a: int, *, b: str = ...) -> Tensor`."""
    node = ast.parse(f"def f{text}: ...").body[0]
    a, out = node.args, []
    plain = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(plain) - len(a.defaults)) + a.defaults

    def add(arg, kind, default=None):
        out.append(Parameter(arg.arg, kind, ast.unparse(arg.annotation) if arg.annotation else None,
                             None if default is None else ast.unparse(default)))
    for i, (arg, default) in enumerate(zip(plain, defaults)):
        add(arg,
            p_kind.POSITIONAL_ONLY if i < len(a.posonlyargs) else p_kind.POSITIONAL_OR_KEYWORD,
            default)
    if a.vararg:
        add(a.vararg, p_kind.VAR_POSITIONAL)
    for arg, default in zip(a.kwonlyargs, a.kw_defaults):
        add(arg, p_kind.KEYWORD_ONLY, default)
    if a.kwarg:
        add(a.kwarg, p_kind.VAR_KEYWORD)
    return out, ast.unparse(node.returns)


def check_overload(where, own, live):
    """An overload has no parameter that the function does not have."""
    names = {p.name for p in live}
    if any(p.kind is p.VAR_POSITIONAL for p in live):
        names |= {p.name for p in own if p.kind is p_kind.POSITIONAL_ONLY}
    if any(p.kind is p.VAR_KEYWORD for p in live):
        names |= {p.name for p in own}
    extra = ({p.name
              for p in own if p.name != "self" and p.kind is not p_kind.VAR_POSITIONAL} - names)
    if extra:
        raise ValueError(
            f"an overload of {where} has parameters that it does not take: {sorted(extra)}")


def summary(x):
    """The first paragraph of a docstring, or its first sentence, where that is a short line."""
    doc = inspect.getdoc(x) if not isinstance(x, type) else x.__doc__
    paragraph = " ".join((doc or "").strip().partition("\n\n")[0].split())
    line = paragraph if len(paragraph) <= 100 else re.split(r"(?<=\.)\s", paragraph, maxsplit=1)[0]
    plain = not line.startswith("See `") and "\\" not in line and '"""' not in line
    return line if plain and 0 < len(line) <= 100 else ""


def function_lines(room, owner, name, fn, spell, kind=None):
    """The lines of `def name(...) -> ...: ...`, its overloads one after another."""
    places = keys(room, owner, name)
    overloads = lookup(OVERLOADS, places[:2])          # a method is no function of that name
    doc = "" if name == "__init__" else summary(fn)
    body = "..." if not doc else f'"""{doc}"""'.replace('""""', '" """')
    lines = []
    if overloads is None:
        variants = [(parameters_of(room, owner, name, fn), result_of(room, owner, name, fn))]
    else:
        variants = [parsed(text) for text in overloads]
        for own, _ in variants:
            check_overload(places[0], own, list(inspect.signature(fn).parameters.values()))
    for own, result in variants:
        if len(variants) > 1:
            lines.append(f"@{spell('overload')}")
        if kind:
            lines.append(f"@{kind}")
        ignored = "  # type: ignore[override]" if f"{owner}.{name}" in OVERRIDES else ""
        lines.append(f"def {name}({listed(own, spell)}) -> {spell(result)}: {body}{ignored}")
    return lines


WORD = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*(?![\w'\"])")
