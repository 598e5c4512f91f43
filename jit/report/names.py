"""What users call things: the arguments of a traced function, what it reaches from outside, and the lines where their code names it."""
import dis
import functools
import inspect
import os
import re
import types

import numpy as np
from whet import dtypes
from whet.ir.graph import Type
from whet.tensor_base import Base

from ..capture.varying_numbers import DTYPES
from ..effects.python_state import named
from ..guards.outside_state import PLAIN, ours, standard
from .reasons import thing


def arguments(fn, key):
    """What a key says of the arguments: (path as the user writes it, its description), tensors and values in order."""
    try:
        parameters = list(inspect.signature(getattr(fn, "forward", fn)).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    out = []
    for i, d in enumerate(key[0]):
        _leaves(d, plain[i] if i < len(plain) else f"{rest}[{i - len(plain)}]", out)
    for name, d in key[1] or ():
        _leaves(d, name, out)
    return out


def _leaves(d, path, out):
    if type(d) is tuple and type(d[0]) is type and len(d) == 2 and type(d[1]) is tuple and not issubclass(d[0], Base):
        for i, x in enumerate(d[1]):
            if issubclass(d[0], dict):
                _leaves(x[1], f"{path}[{x[0][1]!r}]", out)
            elif hasattr(d[0], "_fields"):
                _leaves(x, f"{path}.{(*d[0]._fields, '__dict__')[i]}", out)
            elif issubclass(d[0], list | tuple | slice):
                _leaves(x, f"{path}.{('start', 'stop', 'step')[i]}" if d[0] is slice else f"{path}[{i}]", out)
            else:
                _leaves(x[1], f"{path}.{x[0]}", out)
        return
    out.append((path, d))


def is_tensor(d):
    """Is it the description of a tensor, or of an array of NumPy's that is an input as tensors are?"""
    return type(d) is tuple and len(d) > 2 and type(d[0]) is type and issubclass(d[0], Base | np.ndarray)


def varies(d):
    """Is it the description of a number that may be any?"""
    return type(d) is tuple and len(d) == 2 and d[0] in DTYPES and d[1] is DTYPES[d[0]]


def said(d):
    """A description in words."""
    if varies(d):
        return f"any {d[0].__name__}"
    if type(d) is int:
        return f"the same tensor as number {d}"
    if is_tensor(d):
        _, dtype, shape, strides, flags, bare, leaf, own, *_ = d
        facts = [dtypes.FROM_NUMPY[dtype].short + f"[{','.join(map(str, shape))}]"]
        facts += [f"strides {strides}"] * (not Type(dtype, shape, strides).contiguous)
        facts += ["requires_grad"] * (flags & 1) + ["with a gradient"] * (not bare) + ["with a history"] * (not leaf) + ["a view"] * (not own)
        return ", ".join(facts)
    if d[0] is range:
        return repr(range(*d[1:]))
    if d[0] in (float, complex):             # (a key has their text)
        return d[1]
    if by_identity(d):
        return thing(d[0])
    return repr(d[1]) if len(d) == 2 else repr(np.frombuffer(d[2], d[1])[0])


def by_identity(d):
    """Does a description say no more of an object than which it is?"""
    return type(d) is tuple and len(d) == 2 and d[0] not in PLAIN and type(d[1]) is int


NEAR = 32                                # earlier kinds of arguments that one is compared with: of a thousand not all
MODES = "the grad mode is another", "the default dtype is another", "the number of threads is another"      # the rest of a key


def differing(fn, keys):
    """For each key but the first: how its arguments differ from those of the key that is most like it, of the last ones before it."""
    out, before = [], []
    for key in keys:
        facts = dict(arguments(fn, key))
        best = None
        for other in before[-NEAR:]:
            names = [k for k in {**facts, **other[0]} if facts.get(k) != other[0].get(k)]
            now, then = ([said(x[k]) if k in x else "left out" for k in names] for x in (facts, other[0]))
            found = [f"{k} is another {facts[k][0].__qualname__}" if k in facts and by_identity(facts[k]) and a == b else f"{k} is {a}, not {b}"
                     for k, a, b in zip(names, now, then)]
            found += [what for what, a, b in zip(MODES, key[2:], other[1]) if a != b]
            if best is None or len(found) < len(best):
                best = found
        out.append(best)
        before.append((facts, key[2:]))
    return out


def names_of(world, fn, key):
    """How the function reaches what is outside: (id -> `model.weight` or `table['w']`, of several ways the plainest; id of a cell -> its
    variable; id of an instance's dict -> that of the instance)."""
    names = {d[1]: path for path, d in arguments(fn, key) if type(d) is tuple and len(d) == 2 and d[0] not in PLAIN}
    names[id(fn)] = "self" if hasattr(fn, "forward") else ""
    if getattr(fn, "__self__", None) is not None:
        names[id(fn.__self__)] = "self"
    cells = {id(c): name for x in (getattr(fn, "__func__", fn), *world.seen.values()) if isinstance(x, types.FunctionType)
             for name, c in zip(x.__code__.co_freevars, x.__closure__ or ())}
    held = [x for x in world.seen.values() if type(x) is not type and (named(x) if isinstance(x, Base) else hasattr(x, "__dict__"))]
    attributes = {id(vars(x)): id(x) for x in held if type(vars(x)) is dict}
    plain = lambda name: (name.count("[") + name.count("'s "), len(name))
    for _ in range(4):                       # (a plainer name of an owner gives what is in it a plainer one)
        before = dict(names)
        for place in world.places:
            for name, x in inside(place, names, cells, attributes):
                if type(x) not in PLAIN and (id(x) not in names or plain(name) < plain(names[id(x)])):
                    names[id(x)] = name
        if names == before:
            break
    return names, cells, attributes


def inside(place, names, cells, attributes):
    """(name, object) of what a place of a World holds."""
    kind, owner, what, objects = place
    if kind == "function":
        defaults = [*(objects[1] or ()), *(objects[2] or {}).values()]
        return [(f"{owner.__name__}'s default", x) for x in defaults]
    if kind == "global":
        return [(what, x) for x in objects]
    if kind == "cell":
        return [(cells.get(id(owner), "a closed-over variable"), x) for x in objects]
    if kind in ("dict", "some"):
        base = names.get(attributes.get(id(owner), id(owner)), "")
        said = lambda k: repr(k) if type(k) in PLAIN else names.get(id(k)) or type(k).__name__
        return [(f"{base}.{k}" if id(owner) in attributes else f"{base}[{said(k)}]", x) for k, x in zip(what[1] if kind == "some" else what, objects)]
    base = names.get(id(owner), "")
    if kind == "items":
        return [(f"{base}[{i}]", x) for i, x in enumerate(objects)]
    if kind == "slot":
        return [(f"{base}.{what}", x) for x in objects]
    return [(f"{base}.{k}", x) for k, x in zip(what, objects)] if kind == "vars" else []


def slot_name(s, names, traced, r):
    """What the user calls a place where anything may lie."""
    cells, attributes = names_of(r.world, traced.fn, ((), None))[1:]
    place = s.kind, s.owner, s.name if s.kind in ("global", "slot") else [s.name], [s]
    if s.kind == "some":
        place = "dict", *place[1:]
    found = inside(place, names, cells, attributes)
    name = found[0][0] if found else str(s.name)
    return name if s.item is None else f"{name}[{s.item}]"


def described(place, paths, names):
    """(where a tensor comes from, what the user calls it)."""
    kind, what = place
    if kind == "argument":
        return f"argument {what}", paths[what]
    if kind == "grad":
        where, name = described(what, paths, names)
        return f"gradient of {where}", f"{name}.grad" if name else ""
    return "outside", names.get(id(what)) or names.get(id(what._array), "")


def type_of(t):
    """A tensor's type."""
    return f"{dtypes.FROM_NUMPY[t._array.dtype].short}[{','.join(map(str, t._array.shape))}]" + (", requires_grad" if t._rg & 1 else "")


# ---- values and lines --------------------------------------------------------------------------------------------------
METHODS = types.MethodType, types.BuiltinFunctionType
WRAPPED = types.MethodType, staticmethod, classmethod        # what has its function as `__func__`
SHORT = 40                               # letters of a value that a sentence holds


def value(x):
    """A value in a few words, without an address."""
    if isinstance(x, Base):
        return type_of(x)
    if isinstance(x, np.ndarray):
        return f"{x.dtype}{list(x.shape)} of NumPy"
    if type(x) in PLAIN:
        text = repr(x)
        return text if len(text) <= SHORT else text[:SHORT - 3] + "..."
    return thing(type(x))


@functools.lru_cache(4096)
def _lines(code):
    """What some code names: [(name, does it set it?, line)]."""
    out, line = [], code.co_firstlineno
    for op in dis.get_instructions(code):
        if op.starts_line:
            line = getattr(op, "line_number", None) or (op.starts_line if type(op.starts_line) is int else line)
        if type(op.argval) is str and op.opname.startswith(("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_METHOD", "LOAD_NAME", "STORE_GLOBAL",
                                                            "STORE_DEREF", "STORE_ATTR", "DELETE_ATTR", "DELETE_GLOBAL", "DELETE_DEREF")):
            out.append((op.argval, not op.opname.startswith("LOAD"), f"{os.path.basename(code.co_filename)}:{line}"))
    return out


def line_of(codes, name, reads=True):
    """The first line of the user's code that reads (or else sets) a name, or that reads it where none does."""
    found = [(sets, line) for code in codes if not ours(code) for n, sets, line in _lines(code) if n == name]
    return next((line for sets, line in found if sets != reads), found[0][1] if found else "")


def codes_of(world, fn):
    """The code of what a World has met, also where its walk has not come to it yet; the function's own first."""
    out: dict = {}
    for x in (fn, getattr(fn, "forward", None), *world.seen.values(), *(world.stack or ())):
        for f in vars(x).values() if isinstance(x, type) and not standard(x.__module__) else (x,):
            code = _code_of(f)
            if code is not None and not ours(code):
                _nested(code, out)
    return list(out)


def _code_of(f):
    """The code of a function or method, None of anything else: asking that for an attribute would run code of its own."""
    f = f.__func__ if type(f) in WRAPPED else f
    return f.__code__ if type(f) is types.FunctionType else None


def _nested(code, out):
    if code not in out:
        out[code] = None
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                _nested(c, out)


def last_word(name):
    """Of `self.parts[3]` the name that code has to say: parts."""
    words = re.findall(r"[^\W\d]\w*", re.sub(r"\[[^]]*\]|'s default", "", name))
    return words[-1] if words else ""


def place_of(world, fn, key, x):
    """What the user calls an object that a World has met, and the line that reads it; where only a method of it has a name, that of the method."""
    names = names_of(world, fn, key)[0]
    methods = [m for m in world.seen.values() if type(m) in METHODS and m.__self__ is x]
    name = next((names[id(m)] for m in (x, *methods) if names.get(id(m))), "").lstrip(".")
    return name, line_of(codes_of(world, fn), last_word(name))


def of_change(world, fn, key, kind, owner, what, reads):
    """What the user calls a place that holds something else, and the line that reads it, or the one that sets it."""
    names, cells, attributes = names_of(world, fn, key)
    place = next((p for p in world.places if p[0] == kind and p[1] is owner and
                  (what is None or kind not in ("global", "slot") or p[2] == what)), None)
    name = names.get(attributes.get(id(owner), id(owner)), "")
    if place is not None and what is not None:
        found = inside(place, names, cells, attributes)
        keys = list(place[2][1] if kind == "some" else place[2] if kind in ("dict", "vars") else range(len(found)) if kind == "items" else [what])
        name = next((n for k, (n, _) in zip(keys, found) if k == what), name)
    elif place is not None and kind in ("global", "cell"):
        name = place[2] if kind == "global" else cells.get(id(owner), "")
    name = name.lstrip(".")
    if not name or kind in ("function", "patched", "setting", "said", "abstract", "holder", "absent", "bare"):
        return world.said(kind, owner), ""
    return f"`{name}`", line_of(codes_of(world, fn), last_word(name), reads)
