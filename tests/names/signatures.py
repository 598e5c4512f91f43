"""What a PyTorch function takes, and whether one of whet's takes the same."""
import inspect
import re
from dataclasses import dataclass, replace
from typing import Any

from whet.ops.argument_guards import OTHER_NAMES

UNKNOWN = object()                       # a default that nobody tells
P = inspect.Parameter


@dataclass
class Parameter:
    """A parameter as PyTorch tells it. `star` is one that takes any number."""
    name: str
    default: Any = P.empty
    by_name_alone: bool = False
    star: bool = False
    by_place_alone: bool = False


def statements(torch, x, name, prefix):
    """What PyTorch says of the ways in which a function of it may be called: lists of forms, each
    a list of parameters. A function of Python has one statement, its signature. One of C++ has
    two: schemas, under a name that begins with `prefix`, and documentation. They do not agree
    everywhere, and whet is the same where it is as one of them says."""
    try:
        return [[of_signature(inspect.signature(x))]]
    except (TypeError, ValueError):
        pass
    begins = re.finditer(rf"^(?:\.\. \w+:: )?(?:\w+\.)*{re.escape(name)}\((?=.*\))",
                         x.__doc__ or "", re.MULTILINE)
    texts = [_inside(x.__doc__[m.end():]) for m in begins]
    told = [form for form in map(of_text, texts) if form is not None]
    schemas = [of_schema(s) for s in torch._C._jit_get_schemas_for_operator(f"aten::{prefix}{name}")
               if is_public(s)]
    return [forms for forms in (told, schemas) if forms]


def is_public(schema):
    """A schema that can be called from Python: it is of tensors, has no names of dimensions, which
    nobody uses, and is not the form of another with `out`."""
    kinds = [str(a.type) for a in (*schema.arguments, *schema.returns)]
    return not any("Dimname" in kind for kind in kinds) and any(
        "Tensor" in kind for kind in kinds) and not any(a.is_out for a in schema.arguments) and (
        schema.overload_name not in ("t", "Scalar_Tensor_scalar"))


def of_schema(schema):
    """The parameters of a schema. What it calls `self` goes by `input` in functions, and None is
    what it says where the function itself chooses."""
    return [Parameter("input" if a.name == "self" else a.name,
                      a.default_value if a.has_default_value() else P.empty, a.kwarg_only)
            for a in schema.arguments]


def of_method(form):
    """The parameters that remain where the tensor stands before the dot."""
    names = [p.name for p in form]
    at = next((names.index(n) for n in ("self", "input") if n in names), None)
    return [p for i, p in enumerate(form) if i != at]


def of_signature(signature):
    """The parameters of a Python signature."""
    return [Parameter(p.name, p.default, p.kind is P.KEYWORD_ONLY,
                      p.kind in (P.VAR_POSITIONAL, P.VAR_KEYWORD), p.kind is P.POSITIONAL_ONLY)
            for p in signature.parameters.values()]


def of_text(text):
    """The parameters of `input, dim=None, *, out=None`; None where it is no such list."""
    found, by_name_alone = [], False
    for part in _parts(text):
        if part in ("*", "/"):
            by_name_alone |= part == "*"
            continue
        name, equals, default = (s.strip() for s in part.partition("="))
        name = name.split(":")[0].split(" ")[-1]
        star = name.startswith("*")
        if not name.lstrip("*").isidentifier():
            return None
        found.append(Parameter(name.lstrip("*"), _value(default) if equals else P.empty,
                               by_name_alone, star))
    return found


def _inside(text):
    """What stands before the bracket that closes one that is open."""
    depth = 1
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[:i]
    return text


def _parts(text):
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def _value(text):
    text = text.strip("'\" ")
    named = {"None": None, "True": True, "False": False}
    if text in named:
        return named[text]
    number = re.fullmatch(r"(-?[\d.]+(?:e-?\d+)?)(?:/(\d+))?", text)
    return float(number[1]) / float(number[2] or 1) if number else text


def difference(forms, x, skip=0):
    """How a whet function, `x`, takes other arguments than the forms, in words; "" where it
    takes them all. `skip` is the number of leading parameters of `x` that are bound."""
    try:
        ours = list(inspect.signature(x).parameters.values())[skip:]
    except (TypeError, ValueError):
        return ""
    return max((_difference(form, ours, forms) for form in forms), key=len, default="")


def _difference(wanted, ours, forms):
    by_name = {p.name: p for p in ours if p.kind not in (P.VAR_POSITIONAL, P.VAR_KEYWORD)}
    wanted = [replace(p, name=our_name(p.name, by_name)) for p in wanted]
    forms = [[replace(p, name=our_name(p.name, by_name)) for p in form] for form in forms]
    any_number = any(p.kind is P.VAR_POSITIONAL for p in ours)
    any_name = any(p.kind is P.VAR_KEYWORD for p in ours)
    places = [p.name for p in ours if p.kind in (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)]
    said = []
    ordered = [p for p in wanted if not p.by_name_alone and not p.star]
    for i, p in enumerate(ordered):
        here = {form[i].name for form in forms if i < len(form)}
        if p.by_place_alone and i < len(places):
            continue
        if p.name not in by_name and not any_name and not any_number:
            said.append(f"no `{p.name}`")
        elif any_number or places[i:i + 1] and places[i] in here:
            continue
        elif p.name in places:
            said.append(f"`{p.name}` is argument {places.index(p.name) + 1}, not {i + 1}")
        elif p.name in by_name:
            said.append(f"`{p.name}` by name alone")
    for p in wanted:
        if p.by_name_alone and not p.star and p.name not in by_name and not any_name:
            said.append(f"no `{p.name}`")
        elif p.name in by_name and not any(
                same_default(q.default, by_name[p.name].default)
                for form in forms for q in form if q.name == p.name):
            said.append(f"`{p.name}` is {shown(by_name[p.name].default)} where it is not given, "
                        f"not {shown(p.default)}")
    known = {p.name for form in forms for p in form}
    if not any(p.star for p in wanted):
        said += [f"needs `{p.name}`" for p in ours if p.default is P.empty
                 and p.name in by_name and p.name not in known]
    return ", ".join(said)


def our_name(name, names):
    """What a parameter is called in one of whet's functions, which take some other names, too."""
    return name if name in names else next(
        (n for n in OTHER_NAMES.get(name, ()) if n in names), name)


def same_default(theirs, ours):
    """Two defaults that mean the same. None is what is written where the function chooses."""
    if theirs in (P.empty, None) or ours is None or _is_marker(theirs) or _is_marker(ours):
        return True
    if ours is P.empty:
        return False
    return shown(theirs) == shown(ours)


def _is_marker(x):
    """An object that only says that nothing was given."""
    return type(x) is object or (callable(x) and not isinstance(x, type))


def shown(x):
    """A default as it is written, without the name of the package, and sequences of one as it."""
    if isinstance(x, list | tuple) and len(set(x)) == 1:
        x = x[0]
    if x is P.empty:
        return "needed"
    if isinstance(x, bool) or x is None:
        return str(x)
    if isinstance(x, int | float):
        return f"{float(x):g}"
    return re.sub(r"\b(torch|whet)\.", "", str(x)).strip("'\"").replace("[", "(").replace("]", ")")
