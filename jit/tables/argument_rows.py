"""The rows of a table that compare the arguments of a call, and the contents of slots of Python's
state."""
import itertools
import struct
from typing import Any

import numpy as np
from whet import devices, dtypes
from whet.tensor import Tensor
from whet.tensor_base import is_strided

from ..guards.signature import FlatArguments
from ..guards.slots import Slot
from ..machine_code.cpython_layouts import holds
from ..machine_code.native_entry import L
from ..machine_code.table_rows import Leaves, NotInTable, Rows
from ..values import number_paths
from ..values.number_paths import Path
from ..values.tensor_facts import Look, named

MAX_ARRAY_DIMS = 32              # that the machine code for arguments goes through
ALIGNED = 0x100                  # among the flags of an array
WORD_SIZE = 1 << 64


def arguments(t: Rows, r: Any, args: Any, kwargs: Any, flat: FlatArguments,
              leaves: Leaves) -> dict[str, int]:
    """Rows for the arguments, and for the contents of slots; how many there are in each section."""
    looks = [*flat.looks, *(s.look for s in r.world.slots)]
    rows = ArgumentRows(t, r, leaves, looks, len(args) + 1)
    if len(leaves.order) > L.MAX_LEAVES:
        raise NotInTable
    rows.arguments(args, kwargs, flat)
    rows.slots()
    rows.twins()
    rows.all_tensors()
    rows.all_arrays()
    _hashed(t["known"], [*r.world.tensors, *r.world.inputs])
    return dict(opening=rows.opening, rows=rows.count)


class ArgumentRows:
    """The rows for a recording.

    A tensor is compared with what the call's key, or the slot, says of it, not with what it is now:
    other threads may have exchanged its memory. Machine code numbers the objects of a call:
    positional arguments, then the dict of the others, then the parts of containers in the order in
    which it opens them. It opens all of them before it compares anything else (`opening`: how many
    there are)."""

    def __init__(self, t: Rows, r: Any, leaves: Leaves, looks: list[Any], free: int) -> None:
        self.table, self.recording, self.leaves, self.looks = t, r, leaves, looks
        self.count = self.opening = 0
        self.free = free                     # the number of the next object
        self.todo: list[tuple[int, Any, Path]] = []
        self.opened: set[int] = set()        # containers and NumPy numbers, by id
        # the spot of a container -> the object that the first of its parts is
        self.containers: dict[Any, int] = {}
        # the tensors, and the NumPy arrays with their leaves, whose rows come last
        self.tensors: list[tuple[int, Any]] = []
        self.arrays: list[tuple[int, np.ndarray, int]] = []

    def row(self, kind: int, i: int, *words: int) -> None:
        """One row, for the object of this number."""
        self.count += 1
        self.table["rows"].extend([kind, i, len(words) + 3, *words])

    def opens(self, kind: int, i: int, *words: int) -> None:
        """A row for a container, whose parts become objects."""
        self.opening += 1
        self.table["opening"].extend([kind, i, len(words) + 3, *words])

    def parts(self, x: Any, path: Path) -> int:
        """The parts of a container become objects; the number of the first."""
        numbers = self.objects(len(x))
        if id(x) in self.opened:
            raise NotInTable             # a table does not tell two equal ones from one twice
        self.opened.add(id(x))
        self.todo.extend([(i, y, (*path, step))
                          for i, (step, y) in zip(numbers, number_paths.parts(x), strict=True)])
        return numbers.start

    def any_number(self, i: int, x: Any, leaf: Any) -> None:
        """A number that may be any."""
        kind = L.ANY_FLOAT if type(x) is float else L.ANY_INT
        self.row(kind, i, self.leaves.place[id(leaf)])

    def scalar(self, i: int, x: np.generic, leaf: int) -> None:
        """A NumPy number, which may be any."""
        if id(x) in self.opened or x.dtype.itemsize > 8 or x.dtype == np.float16:
            raise NotInTable
        self.opened.add(id(x))
        place = self.leaves.order.index(leaf)
        self.row(L.ANY_SCALAR, i, place, x.itemsize * (x.dtype.kind == "f"),
                 self.table.id(type(x)))

    def arguments(self, args: Any, kwargs: Any, flat: FlatArguments) -> None:
        """The arguments; of numbers those that may be any, and those that are sizes, are known."""
        if kwargs:                           # their values are the first parts
            self.todo.append((len(args), kwargs, ()))
        self.todo.extend([(i, x, (i,)) for i, x in enumerate(args)])
        # Where the leaves are given, Python has found the containers in the state.
        for c in self.recording.world.containers if flat.hidden else ():
            name, x = flat.hidden[c.spot.key]
            i, = self.objects(1)
            self.table["slots"].extend([*c.spot.read_row(self.table), i])
            self.todo.append((i, x, (name,)))
        for i, x, path in self.todo:         # the loop adds to it
            if is_strided(x):
                self.tensors.append((i, x))
            elif flat.arrays and id(x) in flat.arrays:
                if type(x) is np.ndarray:
                    self.arrays.append((i, x, flat.met[id(x)]))
                else:
                    self.scalar(i, x, flat.met[id(x)])
            elif path in flat.numbers:
                self.any_number(i, x, flat.numbers[path])
            else:
                if path in flat.lengths:
                    self.leaves.lengths[flat.lengths[path]] = len(self.table["rows"])
                self.constant(i, x, path)
        self.distinct_containers(flat.boxes)

    def distinct_containers(self, boxes: list[Any]) -> None:
        """Rows for containers that are two, where they could be one."""
        ids = {id(x) for x in boxes}
        there = [(i, x) for i, x, _ in self.todo if id(x) in ids]
        for (i, x), (k, y) in itertools.combinations(there, 2):
            if like(x, y):
                self.row(L.DISTINCT, i, k)

    def constant(self, i: int, x: Any, path: Path) -> None:
        """An object that must be as it was, the numbers in it that vary aside."""
        t, kind = self.table, type(x)
        if kind is float and x == x:
            self.row(L.FLOAT, i, *struct.unpack("<q", struct.pack("<d", x)))
        elif kind is int and -1 << 63 <= x < 1 << 63:
            self.row(L.INT, i, x)
        elif kind in (str, bytes):
            self.row(L.EQUAL, i, t.id(x))
        elif kind is tuple and not x:
            self.row(L.SAME, i, t.id(x))
        elif kind is tuple:
            self.opens(L.TUPLE, i, len(x), self.parts(x, path))
        elif issubclass(kind, tuple) and hasattr(kind, "_fields") and not kind.__dictoffset__:
            self.opens(L.NAMED_TUPLE, i, len(x), self.parts(x, path), t.id(kind))
        elif kind is list:
            self.opens(L.LIST, i, len(x), self.parts(x, path))
        elif kind is dict and all(type(key) is str for key in x):
            start = self.parts(x, path)
            self.opens(L.DICT, i, len(x), start, *[t.id(key) for key in x])
        elif x is None or x is True or x is False or x is ... or kind is float \
                or issubclass(kind, dtypes.dtype) \
                or id(x) in self.recording.world.seen:
            self.row(L.SAME, i, t.id(x))
        else:
            raise NotInTable

    def slots(self) -> None:
        """The contents of slots of Python's state."""
        world = self.recording.world
        if any(s.is_array and s.type is not np.ndarray
               or world.growing and s.container is list for s in world.taken):
            raise NotInTable             # A table does not tell a list that grows from others.
        for s, leaf in zip(world.slots, self.leaves.slots):
            i = self.object_in(s)
            if s.is_number:
                self.any_number(i, s.current(), leaf)
            elif s.is_array:
                self.arrays.append((i, s.current(), self.leaves.leaf[id(leaf)]))
            else:
                self.tensors.append((i, leaf))

    def twins(self) -> None:
        """The contents of slots that are arguments as well."""
        for twin in self.recording.world.twins:
            self.tensors.append((self.object_in(twin.slot), twin.slot.current()))

    def object_in(self, s: Slot) -> int:
        """The contents of a slot become an object: its number."""
        if s.item is None:
            return self.loaded(s)
        if s.spot.key not in self.containers:
            self.containers[s.spot.key] = self.container_in(s)
        return self.containers[s.spot.key] + s.items.index(s.item)

    def loaded(self, s: Slot) -> int:
        """The contents of a slot's spot become an object: its number."""
        i, = self.objects(1)
        self.table["slots"].extend([*s.spot.read_row(self.table), i])
        return i

    def container_in(self, s: Slot) -> int:
        """A container whose parts are in slots, of which one is given: the number of the first."""
        i, n = self.loaded(s), len(s.items)
        start = self.objects(n).start
        if s.container is dict:
            self.opens(L.DICT, i, n, start, *map(self.table.id, s.items))
        else:
            self.opens(L.LIST if s.container is list else L.TUPLE, i, n, start)
        return start

    def objects(self, n: int) -> range:
        """The numbers of so many objects."""
        start, self.free = self.free, self.free + n
        if self.free > L.MAX_OBJECTS:
            raise NotInTable
        return range(start, self.free)

    def all_tensors(self) -> None:
        """The tensors among all of these."""
        first: dict[int, int] = {}
        for i, x in self.tensors:
            place = self.leaves.place[id(x)]
            if first.setdefault(id(x), i) == i:
                self.row(L.TENSOR, i, place, *self.tensor(x, self.leaves.leaf[id(x)]))
            else:
                self.row(L.AGAIN, i, place)
        if len(first) + len({id(x) for _, x, _ in self.arrays}) != self.leaves.tensors:
            raise NotInTable

    def all_arrays(self) -> None:
        """The NumPy arrays among all of these."""
        first: dict[int, int] = {}
        for i, x, leaf in self.arrays:
            place = self.leaves.order.index(leaf)
            if first.setdefault(id(x), i) == i:
                self.row(L.ARRAY, i, place, *self.array(leaf))
            else:
                self.row(L.AGAIN, i, place)

    def array(self, leaf: int) -> list[int]:
        """The words that a NumPy array is compared with."""
        seen, t = self.looks[leaf], self.table
        if len(seen.shape) > MAX_ARRAY_DIMS or not seen.array_flags & ALIGNED:
            raise NotInTable
        arrays = self.recording.guards.leaf_arrays           # of the arguments
        own = arrays[leaf] if leaf < len(arrays) else None
        return [0, t.id(seen.dtype), len(seen.shape), 0, seen.array_flags, 0,
                0 if own is None else t.id(own), *sizes(seen)]

    def tensor(self, x: Any, leaf: int) -> list[int]:
        """The words that a tensor is compared with."""
        seen, t = self.looks[leaf], self.table
        is_there = devices.is_elsewhere(x._array)
        if (seen.kind is not Tensor or seen.has_hooks or named(x)
                or not is_there and type(x._array) is not np.ndarray
                or len(seen.shape) > MAX_ARRAY_DIMS or not seen.array_flags & ALIGNED):
            raise NotInTable
        own = self.recording.guards.leaf_tensors[leaf]
        there = ((not seen.has_no_grad) | (not seen.has_no_node) << 1 | (not seen.has_no_base) << 2)
        mine = 0 if own is None else t.id(own)
        if is_there:
            like = x._array.kind
            return [t.id(seen.kind), t.id(like), 0, seen.flags, seen.array_flags, there, mine,
                    t.id(type(x._array)), place_of_kind(x._array, like)]
        return [t.id(seen.kind), t.id(seen.dtype), len(seen.shape), seen.flags, seen.array_flags,
                there, mine, *sizes(seen)]


def place_of_kind(a: Any, like: int) -> int:
    """Where an array on a device has the number that stands for what it is like."""
    at = holds(a, like)
    if at is None:
        raise NotInTable
    return at


def sizes(seen: Look) -> list[int]:
    """The words of a tensor's row that its sizes and strides make up."""
    return [w for pair in zip(seen.shape, seen.strides) for w in pair]


def like(x: Any, y: Any) -> bool:
    """Could a container be where another is, without a difference that the table sees?"""
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return (list(map(type, x)) == list(map(type, y))
                and list(map(type, x.values())) == list(map(type, y.values())))
    return not isinstance(x, list | tuple) or list(map(type, x)) == list(map(type, y))


def _hashed(table: list[int], addresses: Any) -> None:
    """Lay addresses into a table in which machine code finds them."""
    size = 1 << (2 * len(addresses)).bit_length()
    table.extend([0] * size)
    for x in addresses:
        at = ((x >> 4) * L.GOLDEN % WORD_SIZE) >> 40
        while table[at % size]:
            at += 1
        table[at % size] = x
