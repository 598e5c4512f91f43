"""The arguments of a call, flattened, and the key by which its recordings are looked up."""
from __future__ import annotations

import collections
from collections.abc import Hashable, Iterable, Set
from typing import Any, TypeAlias

import numpy as np
from whet.tensor import Size, Tensor, wants_gradient, wrap
from whet.tensor_base import is_strided

from ..values import numbers_as_sizes
from ..values.array_facts import is_number, takes
from ..values.immutable_types import PLAIN, number_key
from ..values.instance_state import attributes
from ..values.number_paths import Branch, Path, is_record, parts
from ..values.tensor_facts import Look, look, named
from ..values.varying_numbers import tensor_of, varies

Key: TypeAlias = tuple[Any, ...]     # of a call: its arguments described, and its settings
MOST = 256                       # numbers of a call that vary: each is an input of its own


class FlatArguments:
    """The arguments of a call in flat lists: tensors (`leaves`), objects that are known by identity
    only (`others`), and containers (`boxes`), each in the order in which they are met.

    `looks` says what each leaf was when it was met: another thread may exchange its memory later.
    It is None for a leaf that stands for a number."""
    __slots__ = ("leaves", "looks", "others", "boxes", "numbers", "lengths", "sizes", "met",
                 "arrays", "records", "numpys_vary", "objects", "hidden")

    def __init__(self, sizes: bool = True, arrays: bool = True,
                 records: Set[type] = frozenset(), numpys_vary: bool = False) -> None:
        self.sizes = sizes                   # Are sizes among what describes a tensor?
        # classes of objects that are distinguished by their parts
        self.records = records
        self.numpys_vary = numpys_vary       # Are NumPy numbers inputs as arrays are?
        self.leaves: list[Any] = []
        self.looks: list[Look | None] = []
        self.others: list[Any] = []
        self.boxes: list[Any] = []
        self.numbers: dict[Path, Any] = {}   # that vary, as tensors, by where they are
        # which leaves stand for numbers that become sizes, by where these are
        self.lengths: dict[Path, int] = {}
        # id of a NumPy array -> it, of those that are inputs as tensors are
        self.arrays: dict[int, Any] | None = {} if arrays else None
        # id of a leaf or a box -> which it is (they are kept alive by being so)
        self.met: dict[int, int] = {}
        # ids of `others`; by the keys of their spots, the names of hidden arguments and what these
        # are (see `hidden_arguments.py`)
        self.objects: tuple[int, ...] = ()
        self.hidden: dict[tuple[int, Any], tuple[Any, Any]] = {}

    def flatten(self, x: Any, branch: Branch | None = None, path: Path = ()) -> Hashable:
        """A hashable description of an argument, or of a part of one. `branch`: what of it varies,
        None where nothing does, `path`: where it is."""
        t = type(x)
        if is_strided(x):
            i = self.met.get(id(x))
            if i is not None:
                return i
            if x._base is not None:
                wants_gradient(x)            # asking brings a view up to date
            self.met[id(x)] = len(self.leaves)
            seen = self.leaf(x)
            own: tuple[int, ...] = ()
            d = None
            if t is not Tensor:
                self.others.append(t)
            if named(x):
                d = self.flatten(vars(x))
            if x._extra:                     # hooks
                self.others.append(x._extra)
                own = id(x._extra),
            return (*seen, d, *own)
        if t is np.ndarray and self.arrays is not None and takes(x):
            return self.array(x, self.arrays)
        if t in PLAIN:
            if branch is not None and branch.is_number and varies(x) and len(self.numbers) < MOST:
                return self.number(path, x, branch.is_length)
            return t, number_key(x) if t in (float, complex) else x
        if t in (list, tuple, dict, collections.OrderedDict):
            i = self.box(x) if t is not tuple or x else None         # there is one empty tuple
            if i is not None:
                return t, i
            if t in (list, tuple):
                return t, self.parts(x, branch, path)
            keys = [self.flatten(k) for k in x]
            return t, tuple(zip(keys, self.parts(x, branch, path, x.values())))
        if issubclass(t, tuple) and (hasattr(t, "_fields") or t is Size):
            if t is Size:                    # each look at a shape makes one
                return t, tuple([self.flatten(y) for y in x])
            self.others.append(t)
            i = self.box(x)
            if i is not None:
                return t, i
            # A subclass may have attributes beside the fields.
            more = getattr(x, "__dict__", None)
            held = self.parts(x, branch, path, tuple(x))
            return t, (*held, self.flatten(more)) if more else held
        return self.flatten_rare(x, branch, path)

    def flatten_rare(self, x: Any, branch: Branch | None, path: Path) -> Hashable:
        """`flatten` for what is no tensor, array, number, list, tuple or dict."""
        t = type(x)
        if t is slice:
            return t, tuple([self.flatten(y) for y in (x.start, x.stop, x.step)])
        if t is range:
            return t, x.start, x.stop, x.step
        if issubclass(t, np.generic):
            if self.arrays is not None and self.numpys_vary and is_number(x):
                return self.array(x, self.arrays)
            return t, x.dtype, number_key(x)
        if is_record(x, self.records):
            self.others.append(t)
            i = self.box(x)
            if i is not None:
                return i
            names, held = zip(*attributes(x)) if attributes(x) else ((), ())
            return t, tuple(zip(names, self.parts(x, branch, path, held)))
        self.others.append(x)
        return t, id(x)

    def parts(self, x: Any, branch: Branch | None, path: Path,
              held: Iterable[Any] | None = None) -> tuple[Hashable, ...]:
        """The descriptions of what is in a container; `held`: that, where it is not what going
        through the container gives."""
        if branch is None:
            return tuple([self.flatten(y) for y in (x if held is None else held)])
        return tuple([self.flatten(y, branch.part(step), (*path, step))
                      for step, y in parts(x, self.records)])

    def array(self, x: Any, arrays: dict[int, Any]) -> tuple[Any, ...]:
        """A NumPy array, or a NumPy number: a leaf is a tensor around it, or has it."""
        i = self.met.get(id(x))
        if i is not None:
            return np.ndarray, i
        self.met[id(x)], arrays[id(x)] = len(self.leaves), x
        if type(x) is np.ndarray:
            return np.ndarray, *self.leaf(wrap(x))[1:], x.flags.writeable
        return np.ndarray, *self.leaf(wrap(np.array(x)))[1:], type(x)

    def leaf(self, t: Any) -> tuple[Any, ...]:
        """Take in a tensor; gives what describes it."""
        seen = look(t)
        self.leaves.append(t)
        self.looks.append(seen)
        return seen if self.sizes else apart_from_sizes(seen)

    def number(self, path: Path, x: float, is_length: bool) -> tuple[Any, ...]:
        """A number that varies: a tensor stands for it. One that becomes a size elsewhere, and is
        none here, is as it is."""
        if is_length:
            return (self.length(path, int(x)) if numbers_as_sizes.is_one(x)
                    else (type(x), number_key(x) if type(x) is float else x))
        t = self.numbers[path] = tensor_of(x)
        self.leaves.append(t)
        self.looks.append(None)
        return type(x), t._array.dtype

    def length(self, path: Path, x: int) -> tuple[Any, ...]:
        """A number that becomes a size: the size of a tensor stands for it."""
        self.lengths[path] = len(self.leaves)
        self.leaves.append(numbers_as_sizes.tensor_of_length(x))
        self.looks.append(None)
        return numbers_as_sizes.described(x, self.sizes)

    def become_length(self, path: Path, length: Any, leaves: list[Any]) -> None:
        """A number that varies was found to become a size. `length` stands for it from now on,
        among the leaves and in `leaves`, which begins with them."""
        t = self.numbers.pop(path)
        self.lengths[path] = i = next(i for i, x in enumerate(self.leaves) if x is t)
        self.leaves[i] = leaves[i] = length

    def by_leaves(self) -> tuple[tuple[Any, ...], FlatArguments]:
        """The arguments, and these lists, of the same call as if each leaf were an argument of its
        own."""
        flat, numbers = FlatArguments(), set(map(id, self.numbers.values()))
        flat.leaves, flat.looks = self.leaves, self.looks
        flat.numbers = {(i,): t for i, t in enumerate(self.leaves) if id(t) in numbers}
        flat.lengths = {(i,): i for i in self.lengths.values()}
        args = list(self.leaves)
        for (i,), t in flat.numbers.items():
            args[i] = t._array.item()
        for i in self.lengths.values():
            args[i] = numbers_as_sizes.length_of(args[i])
        return tuple(args), flat

    def box(self, x: Any) -> int | None:
        """Which of the containers this is; None where it was not met before."""
        i = self.met.setdefault(id(x), len(self.boxes))
        if i < len(self.boxes):
            return i
        self.boxes.append(x)
        return None


def apart_from_sizes(seen: Look) -> tuple[Any, ...]:
    """What a tensor is, its numbers and sizes aside."""
    return seen.kind, seen.dtype, len(seen.shape), *seen[4:]
