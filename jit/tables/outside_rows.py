"""The rows of a table that compare what a recording reaches from outside."""
import ctypes as C
from collections.abc import Callable
from typing import Any

from whet import devices, dtypes, tf32
from whet.cpu import thread_pool
from whet.cpu.object_layouts import field
from whet.passes.lower_llvm.calls.python_layouts import DICT_LENGTH, DICT_VERSION, TYPE

from ..guards.object_places import Setting
from ..guards.places import Place, Single
from ..machine_code.cpython_layouts import layouts, namespace
from ..machine_code.native_entry import MISSED, L
from ..machine_code.table_rows import ANY, NotInTable, Rows
from ..values.containers import elements, values
from ..values.immutable_types import equal

_nothing = C.c_int64()
_zero = C.addressof(_nothing)


class OutsideRows:
    """The rows for a recording, while its places write them."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.id = rows, rows.id
        self.words: list[int] = []           # addresses, each with the word that must be there
        self.names: dict[int, Any] = {}      # of dicts that are not compared as a whole
        self.number = dict(always=0, dicts=0, lists=0)
        self.rest: list[Place] = []          # what Python compares

    def word(self, address: int, value: int) -> None:
        """A word in memory."""
        self.words += [address, value]

    def name(self, d: Any, name: Any, x: Any) -> None:
        """An entry of a dict; MISSED where there must be none."""
        d = d if type(d) is dict else namespace(d)
        if d is None or d.get(name, MISSED) is not x:
            raise NotInTable
        self.names.setdefault(id(d), (d, []))[1].append((name, x))

    def whole(self, d: Any, names: tuple[Any, ...], objects: list[Any]) -> None:
        """All entries of a dict. It is compared once more after its version was read."""
        tag = field(d, DICT_VERSION) if layouts.tags else 0
        pairs = list(zip(names, objects))
        held = zip(elements(d), values(d))
        if dict.__len__(d) != len(names) or not all(
                k is n and (x is ANY or v is x) for (k, v), (n, x) in zip(held, pairs)):
            raise NotInTable
        if not pairs:
            self.word(self.id(d) + DICT_LENGTH, 0)
            return
        self.dictionary(d, tag, pairs, whole=True)

    def dictionary(self, d: Any, tag: int, pairs: list[Any], *, whole: bool) -> None:
        """Entries of a dict. Globals, and dicts with slots, change often."""
        often = not (layouts.tags and whole) or any(v is ANY for _, v in pairs)
        kind = "always" if often else "dicts"
        self.number[kind] += 1
        self.rows[kind].extend([self.id(d), tag, whole, len(pairs)])
        for k, v in pairs:
            self.rows[kind].extend([self.id(k), self.object(v)])
        if not often:
            self.rows["soft"].extend([id(d) + DICT_VERSION, tag])

    def object(self, x: Any) -> int:
        """The word for an object, or for none, or for any."""
        return 0 if x is MISSED else L.ANY if x is ANY else self.id(x)

    def list(self, x: Any, objects: list[Any]) -> None:
        """The elements of a list."""
        self.number["lists"] += 1
        self.rows["lists"].extend([self.id(x), len(objects), *map(self.object, objects)])

    def place(self, place: Place, loose: set[tuple[int, int]]) -> None:
        """A place; `loose`: those of its objects that may be any."""
        free = [(id(place), i) in loose for i in range(len(place.objects))]
        if free and all(free) and isinstance(place, Single):
            return                           # that there is something is seen where it is fetched
        objects = [ANY if any_ else x for x, any_ in zip(place.objects, free)]
        if place.table(self, objects):
            return
        if any(free):
            raise NotInTable
        self.rest.append(place)

    def tensor(self, x: Any, a: Any, flags: int) -> None:
        """A tensor: its class, its array, whether it requires a gradient, hooks and attributes."""
        self.words += [self.id(x) + TYPE, self.id(type(x)), id(x) + L.T["array"], self.id(a),
                       id(x) + L.T["rg"], flags]
        held = field(x, L.T["dict"])     # attributes that it has are a place
        self.word(id(x) + L.T["dict"], held)
        if held:
            self.word(self.id(vars(x)) + DICT_LENGTH, len(vars(x)))
        self.word(id(x) + L.T["extra"], field(x, L.T["extra"]))

    def part(self, x: Any, name: str, is_absent: bool) -> None:
        """Is a part of a tensor there: its gradient, the node of its history?"""
        at = id(x) + L.T[name]
        self.rows["bare" if is_absent else "held"].append(at)
        if is_absent:
            self.rows["soft"].extend([at, field(x, L.T[name])])

    def history(self, x: Any) -> None:
        """A view: a write to the base gives it another history."""
        cell = x._cell
        self.words += [id(x) + L.T["cell"], self.id(cell), id(x) + L.T["hist"], x._hist,
                       id(cell) + L.C["h"], x._hist]

    def header(self) -> dict[str, int]:
        """The numbers of rows; the words are laid in pairs, four at a time."""
        rows, pairs = self.rows, list(zip(self.words[::2], self.words[1::2]))
        rows["zeros"].extend(a for a, w in pairs if not w)
        rows["words"].extend(w for pair in pairs if pair[1] for w in pair)
        for name, one in (("zeros", [_zero]), ("words", [_zero, 0]), ("soft", [_zero, 0])):
            while len(rows[name]) % (4 * len(one)):
                rows[name].extend(one)
        check = self.id(_checker(self.rest)) if self.rest else 0
        return dict(zeros=len(rows["zeros"]), words=len(rows["words"]) // 2,
                    soft=len(rows["soft"]) // 2, held=len(rows["held"]), bare=len(rows["bare"]),
                    check=check, **self.number)


def outside(rows: Rows, r: Any) -> dict[str, int]:
    """Rows for what the recording reaches from outside."""
    t = OutsideRows(rows)
    loose = r.world.loose_cells
    for place in r.world.places:
        t.place(place, loose)
    t.name(vars(thread_pool), "_threads", r.settings.threads)
    t.name(vars(dtypes), "_default", r.settings.dtype)
    t.name(vars(devices), "_default", r.settings.device)
    t.name(vars(tf32), "allowed", r.settings.rounded)
    for d, pairs in t.names.values():
        t.dictionary(d, field(d, DICT_VERSION) if layouts.tags else 0, pairs, whole=False)
    g = r.guards
    for x, a, rg, extra in zip(g.tensors, g.arrays, g.flags, g.extras):
        if extra is not None:
            raise NotInTable
        t.tensor(x, a, rg)
    for name, absent in (
            ("grad", g.has_no_grad), ("node", g.is_leaf)):
        for x, is_absent in zip(g.tensors, absent):
            if is_absent is not None:
                if (getattr(x, f"_{name}") is None) != is_absent:
                    raise NotInTable
                t.part(x, name, is_absent)
    for x in g.views:
        t.history(x)
    return t.header()


def _checker(places: list[Place]) -> Callable[[], bool | None]:
    """A function that says whether places hold the objects they held: True, or None."""
    settings = [(p.owner, p.objects[0]) for p in places if type(p) is Setting]
    others = [p for p in places if type(p) is not Setting]
    if len(settings) == 1 and not others:    # code that names NumPy, mostly
        (of, was), = settings
        return lambda: True if of() is was else None

    def check() -> bool | None:
        if any(of() is not was for of, was in settings):
            return None
        return True if all(p.same(_alike) for p in others) else None
    return check


def _alike(a: Any, b: Any) -> bool:
    return a is b or equal(a, b)
