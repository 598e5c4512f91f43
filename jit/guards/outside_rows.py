"""The rows of a table that compare what a recording reaches from outside."""
import ctypes as C
import types

from whet import dtypes
from whet.cpu import native, pool

from ..capture.containers import elements
from . import class_state, outside_state
from .cpython_layouts import holds, layouts, namespace, word
from .native_entry import MISSED, L
from .table_rows import ANY, No

READ = ("__iter__", "__len__", "items", "values")        # what a dict that is compared as one does as dicts do (not so OrderedDict)
_nothing = C.c_int64()
_zero = C.addressof(_nothing)


def outside(t, r):
    """Rows for what the recording reaches from outside."""
    words, number, rest, named = [], dict(always=0, dicts=0, lists=0), [], {}
    loose = {(id(objects), i) for s in r.world.slots for objects, i in s.cells}          # what is not compared: slots

    def dictionary(d, whole, pairs):
        tag = word(id(d) + L.TAG) if layouts.tags else 0
        if whole:                            # (as it is now, after the version was read: it must still be what was found)
            names, objects = pairs
            if len(d) != len(names) or not all(k is n and (x is ANY or v is x) for (k, v), n, x in zip(d.items(), names, objects)):
                raise No
            pairs = list(zip(names, objects))
        elif any(d.get(k, MISSED) is not v for k, v in pairs):
            raise No
        if whole and not pairs and type(d) is dict:
            words.extend([t.id(d) + native.HEAD, 0])
            return
        often = not (layouts.tags and whole) or any(v is ANY for _, v in pairs)         # (globals, and dicts with slots, change often)
        number["always" if often else "dicts"] += 1
        t["always" if often else "dicts"].extend([
            t.id(d), tag, whole, len(pairs), *[w for k, v in pairs for w in (t.id(k), 0 if v is MISSED else L.ANY if v is ANY else t.id(v))]])
        if not often:
            t["soft"].extend([id(d) + L.TAG, tag])
    for place in r.world.places:
        kind, owner, names, objects = place
        free = [(id(objects), i) in loose for i in range(len(objects))]
        objects = [ANY if any_ else x for x, any_ in zip(objects, free)]
        if all(free) and objects and kind in ("global", "cell", "slot"):
            continue                         # (that there is something is seen where it is fetched)
        if kind == "dict" and isinstance(owner, dict) and all(getattr(type(owner), m) is getattr(dict, m) for m in READ):
            dictionary(owner, 1, (names, objects))
        elif kind == "some":                 # (attributes of ours, of which those named first may be any)
            mine = iter(objects)
            dictionary(owner, 1, (tuple(owner), [ANY if k in names[0] else next(mine, MISSED) for k in owner]))
        elif kind == "global":
            d = owner if type(owner) is dict else namespace(owner)
            if d.get(names, MISSED) is not (objects[0] if objects else MISSED):
                raise No
            named.setdefault(id(d), (d, []))[1].append((names, objects[0] if objects else MISSED))
        elif kind == "cell" and layouts.cell is not None:
            words += [t.id(owner) + layouts.cell, t.id(objects[0]) if objects else 0]
        elif kind == "class":
            words += [t.id(owner) + 8, t.id(objects[0])]
        elif kind == "partial" and None not in (at := [holds(owner, x) for x in objects]):
            for offset, x in zip(at, objects):
                words += [t.id(owner) + offset, t.id(x)]
        elif kind == "function" and layouts.function:
            for offset, x in zip(layouts.function, objects):
                words += [t.id(owner) + offset, 0 if x is None else t.id(x)]
        elif kind == "items" and isinstance(owner, tuple) or kind == "set" and type(owner) is frozenset:
            pass                             # nobody can change it
        elif kind == "items" and isinstance(owner, list) and layouts.list:
            number["lists"] += 1
            there = elements(owner)
            t["lists"].extend([t.id(owner), len(there), *[L.ANY if any_ else t.id(x) for x, any_ in zip(there, free, strict=True)]])
        elif kind == "set" and not objects and layouts.set is not None:
            words += [t.id(owner) + layouts.set, 0]
        elif kind == "slot" and isinstance(owner, type) and objects and (d := namespace(owner)).get(names, MISSED) is objects[0]:
            named.setdefault(id(d), (d, []))[1].append((names, objects[0]))
        elif kind == "slot" and not isinstance(owner, type) and (offset := layouts.slot(owner, names)) is not None:
            words += [t.id(owner) + offset, t.id(objects[0]) if objects else 0]
        elif kind == "patched" and isinstance(owner, types.ModuleType) and class_state.state(owner) is objects[0]:
            (names, values), = objects[0].held
            named.setdefault(id(vars(owner)), (vars(owner), []))[1].extend(zip(names, values))
        elif kind == "patched" and (now := class_state.tag(owner)) and class_state.state(owner) is objects[0]:
            words += [t.id(owner) + class_state.OFFSET, now]
        elif kind == "vars" and (d := namespace(owner)) and word(id(d) + native.HEAD) == len(d) and (at := holds(owner, owner.__bases__)):
            named.setdefault(id(d), (d, []))[1].extend((k, x) for k, x, any_ in zip(names, objects, free) if not any_)
            words += [t.id(d) + native.HEAD, len(d), t.id(owner) + at, t.id(owner.__bases__)]
        elif any(free):
            raise No
        elif kind == "said" and (more := _said(owner, names, objects)) is not None:
            words += [w for offset, x in more for w in (t.id(owner) + offset, t.id(x))]
            if isinstance(owner, type):
                named.setdefault(id(d := namespace(owner)), (d, []))[1].extend(
                    (n, MISSED if x is None and n not in d else x) for n, x in zip(names, objects) if n not in outside_state.SAID[:2])
        else:
            rest.append(place)
    for x, d in zip(r.world.holders, r.world.held):
        at = holds(x, d)
        if at is None:
            raise No
        words += [t.id(x) + at, t.id(d)]
    for d, names in r.world.absent:
        named.setdefault(id(d), (d, []))[1].extend((k, MISSED) for k in names)
    for d, pairs in named.values():
        dictionary(d, 0, pairs)
    dictionary(vars(pool), 0, [("_threads", r.settings[2])])
    dictionary(vars(dtypes), 0, [("_default", r.settings[1])])
    for x, a, rg, extra, bare in zip(r.tensors, r.arrays, r.flags, r.extras, r.bare):
        words += [t.id(x) + L.T["array"], t.id(a), id(x) + L.T["rg"], rg]
        if extra is not None or (x._grad is None) != bare:
            raise No
        held = word(id(x) + L.T["dict"])    # (attributes that it has are a place)
        words += [id(x) + L.T["dict"], held] if not held else [id(x) + L.T["dict"], held, t.id(vars(x)) + native.HEAD, len(vars(x))]
        words += [id(x) + L.T["extra"], word(id(x) + L.T["extra"])]
        t["bare" if bare else "held"].append(id(x) + L.T["grad"])
        if bare:
            t["soft"].extend([id(x) + L.T["grad"], word(id(x) + L.T["grad"])])
    for x in r.views:                        # a write to the base gave it another history
        cell = x._cell
        words += [id(x) + L.T["cell"], t.id(cell), id(x) + L.T["hist"], x._hist, id(cell) + L.C["h"], x._hist]
    pairs = list(zip(words[::2], words[1::2]))
    t["zeros"].extend(a for a, w in pairs if not w)
    t["words"].extend(w for pair in pairs if pair[1] for w in pair)
    for name, one in (("zeros", [_zero]), ("words", [_zero, 0]), ("soft", [_zero, 0])):
        while len(t[name]) % (4 * len(one)):                # (they are read four at a time)
            t[name].extend(one)
    return dict(zeros=len(t["zeros"]), words=len(t["words"]) // 2, soft=len(t["soft"]) // 2, held=len(t["held"]), bare=len(t["bare"]),
                check=t.id(_checker(rest)) if rest else 0, **number)


def _said(owner, names, objects):
    """Where a function or class holds what it says of itself: (offset, object) for each; None where that is not plain. (Of equal names all places
    are compared.)"""
    out = []
    for n, x in zip(names, objects):
        if not isinstance(owner, type) or n in outside_state.SAID[:2]:
            if n == "__dataclass_fields__" or n == "__match_args__":         # (functions have none)
                continue
            at = [o for o in range(native.HEAD, min(type(owner).__basicsize__, 1024), 8) if word(id(owner) + o) == id(x)]
            if not at:
                return None
            out += [(o, x) for o in at]
    return out


def _checker(places):
    """A function that says whether places hold the objects they held: True, or None."""
    settings = [(owner, objects[0]) for kind, owner, _, objects in places if kind == "setting"]
    others = [place for place in places if place[0] != "setting"]
    if len(settings) == 1 and not others:    # (code that names NumPy, mostly)
        (of, was), = settings
        return lambda: True if of() is was else None

    def check():
        if any(of() is not was for of, was in settings):
            return None
        for kind, owner, names, objects in others:
            now = outside_state._look(kind, owner, names)
            if now is None or len(now) != len(objects) or not all(a is b or outside_state._equal(a, b) for a, b in zip(now, objects)):
                return None
        return True
    return check
