"""What users call things: the arguments of a traced function, what it reaches from outside, and the lines where their code names it."""
import inspect
import types

import numpy as np
from whet import dtypes
from whet.ir.graph import Type
from whet.tensor_base import Base

from .effects import named
from .numbers import DTYPES
from .world import PLAIN


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
    """Is it the description of a tensor?"""
    return type(d) is tuple and type(d[0]) is type and issubclass(d[0], Base)


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
    return repr(d[1]) if len(d) == 2 else repr(np.frombuffer(d[2], d[1])[0])


def differing(fn, keys):
    """For each key but the first: how its arguments differ from those of the earlier key that is most like it."""
    out, before = [], []
    for key in keys:
        facts = dict(arguments(fn, key))
        best = None
        for other in before:
            names = [k for k in {**facts, **other[0]} if facts.get(k) != other[0].get(k)]
            now, then = ([said(x[k]) if k in x else "left out" for k in names] for x in (facts, other[0]))
            found = [f"{k} is {a}, not {b}" for k, a, b in zip(names, now, then)]
            modes = zip(("the grad mode", "the default dtype", "the number of threads"), key[2:], other[1])
            found += [f"{what} is another" for what, a, b in modes if a != b]
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
    return "outside", names.get(id(what), "")


def type_of(t):
    """A tensor's type."""
    return f"{dtypes.FROM_NUMPY[t._array.dtype].short}[{','.join(map(str, t._array.shape))}]" + (", requires_grad" if t._rg & 1 else "")
