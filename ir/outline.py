"""Outlines: arrays without memory, whose sizes may be symbolic. Ops and plans run on them to find
out what they do at other sizes.

An `Outline` knows its type, its sizes, its strides, and where in which `Room` it begins. It does
what NumPy's views do, in terms of symbolic sizes. What asks for its elements, or is a function of
NumPy's that is not written here, ends with `Unsized`.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeAlias, overload

import numpy as np

from .symbolic_size import SYMBOLIC, Size, Symbolic, SymbolicSize, Unsized, sized

if TYPE_CHECKING:
    from .symbolic_size import Quantity

Array: TypeAlias = np.ndarray[Any, Any]


class Room:
    """The memory of outlines, which is never allocated. `size`: in bytes, or None where it does not
    matter. `owner`: the array that it represents."""
    __slots__ = ("size", "owner")

    def __init__(self, size: Size | None, owner: Any = None) -> None:
        self.size, self.owner = size, owner


class Series(NamedTuple):
    """Words of a table, as many as a size says: `word`, an expression, with 0, 1, 2, ... in the
    place of `place`. All that follows it in a table is a series, too."""
    length: Size
    place: SymbolicSize | None
    word: Any


class Table(list[Any]):
    """An array of numbers for a kernel, some of which may be symbolic sizes; series come last."""
    __slots__ = ()
    dtype, ndim, size, shape = (
        np.dtype(np.int64),
        1,
        property(len),
        property(lambda self: (len(self),)),
    )

    def tolist(self) -> list[Any]:
        """The numbers."""
        return list(self)


def table(numbers: Sequence[Size]) -> Array | Table:
    """Numbers for a kernel: a NumPy array if all are known, else a `Table`."""
    return Table(numbers) if sized(numbers) else np.array(numbers, np.int64)


class Numeral:
    """Stands for the memory of a number."""
    __slots__ = ("number", "dtype")

    def __init__(self, number: Symbolic, dtype: np.dtype[Any]) -> None:
        self.number, self.dtype = number, dtype


def numeral(x: Quantity, dtype: type[Any] | np.dtype[Any]) -> Array | Outline:
    """A number for a kernel: an array of no dimensions if it is known, else a `Table`."""
    if not isinstance(x, SYMBOLIC):
        return np.asarray(x, dtype)
    kind = np.dtype(dtype)
    if kind.kind not in "iuf":
        raise Unsized("a number of sizes has another kind of type")
    return Outline((), kind, (), Room(kind.itemsize, Numeral(x, kind)))


def dense(shape: Sequence[Size], itemsize: int) -> tuple[Size, ...]:
    """The row-major strides of a shape."""
    out: list[Size] = []
    step: Size = itemsize
    for n in reversed(shape):
        out.append(step)
        step = step * (n if type(n) is SymbolicSize else max(n, 1))
    return tuple(out[::-1])


class _Flags:
    __slots__ = ("array",)

    def __init__(self, array: Outline) -> None:
        self.array = array

    aligned, owndata = True, False
    writeable = property(lambda self: True, lambda self, _: None)

    @property
    def c_contiguous(self) -> bool:
        """Is it row-major? Strides of dimensions of size 1 do not matter."""
        a, step = self.array, self.array.itemsize
        if any(type(n) is int and n == 0 for n in a.shape):
            return True
        for n, s in zip(reversed(a.shape), reversed(a.strides)):
            if type(n) is int and n == 1:
                continue
            if s != step:
                return False
            step = step * n
        return True

    @property
    def f_contiguous(self) -> bool:
        """Is it column-major? Strides of dimensions of size 1 do not matter."""
        turned: _Flags = self.array.T.flags
        return turned.c_contiguous


def reach(shape: Sequence[Any], strides: Sequence[Any]) -> tuple[int, int]:
    """The lowest and the highest offset at which an element begins, in bytes from the first
    element."""
    steps = [(n - 1) * s for n, s in zip(shape, strides)]
    return sum(s for s in steps if s < 0), sum(s for s in steps if s > 0)


class Outline:
    """See above. `room` is the memory, `offset` the bytes in it before the first element."""
    __slots__ = ("shape", "strides", "dtype", "room", "offset", "base", "__weakref__")

    def __init__(self, shape: Sequence[Size], dtype: type[Any] | np.dtype[Any],
                 strides: Sequence[Size] | None = None, room: Room | None = None,
                 offset: Size = 0, base: Outline | None = None) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)
        self.strides = dense(self.shape, self.dtype.itemsize) if strides is None else tuple(strides)
        if room is None:
            reach = [(n - 1) * s for n, s in zip(self.shape, self.strides)]
            room = Room(
                sum(reach, self.dtype.itemsize)
                if strides is not None
                else math.prod(self.shape) * self.dtype.itemsize
            )
        self.room, self.offset, self.base = room, offset, base

    __class__ = property(lambda self: np.ndarray)
    ndim = property(lambda self: len(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    size = property(lambda self: math.prod(self.shape))
    nbytes = property(lambda self: self.size * self.dtype.itemsize)
    flags = property(_Flags)
    T = property(lambda self: self.transpose())

    @property
    def mT(self) -> Outline:
        """The last two dimensions exchanged."""
        return self.swapaxes(-1, -2)

    def __len__(self) -> NoReturn:
        raise Unsized("a plan needs a length")

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise Unsized("a plan needs the elements")

    def __array_ufunc__(self, *_: object, **__: object) -> NoReturn:
        raise Unsized("a plan computes with elements")

    def __array_function__(self, func: Callable[..., Any], types: object, args: Sequence[Any],
                           kwargs: dict[str, Any]) -> Any:
        if func not in FUNCTIONS:
            raise Unsized(f"a plan calls {func.__name__}")
        return FUNCTIONS[func](*args, **kwargs)

    @property
    def __array_interface__(self) -> NoReturn:
        raise Unsized("a plan needs an address")

    # ---- views
    def seen(self, shape: Sequence[Size], strides: Sequence[Size],
             offset: Size = 0) -> Outline:
        """A view."""
        return Outline(shape, self.dtype, strides, self.room, self.offset + offset, self)

    def inside(self, shape: Sequence[Size], strides: Sequence[Size], offset: Size) -> Outline:
        """A view by its strides, between the first element and the last one."""
        known = (*shape, *strides, offset, *self.shape, *self.strides)
        if any(type(n) is SymbolicSize for n in known) or 0 in (*shape, *self.shape):
            raise Unsized("a plan takes parts of memory that depend on sizes")
        low, high = reach(self.shape, self.strides)
        first, last = reach(shape, strides)
        if offset + first < low or offset + last > high:
            raise Unsized("a plan takes a part of memory beyond a view")
        return self.seen(shape, strides, offset)

    def transpose(self, *axes: int | Sequence[int] | None) -> Outline:
        """The dimensions in another order."""
        named: Any = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order: list[int] = (
            list(range(self.ndim))[::-1]
            if not named or named[0] is None
            else [a % self.ndim for a in named]
        )
        return self.seen([self.shape[a] for a in order], [self.strides[a] for a in order])

    def swapaxes(self, a: int, b: int) -> Outline:
        """Two dimensions exchanged."""
        order = list(range(self.ndim))
        order[a], order[b] = order[b], order[a]
        return self.transpose(order)

    def view(self, dtype: type[Any] | np.dtype[Any] | None = None,
             *_: object) -> Outline:
        """The same bytes as elements of another type. Where these are longer or shorter, as many in
        each row, which has to be dense and of known size."""
        kind = self.dtype if dtype is None or dtype is np.ndarray else np.dtype(dtype)
        if kind.itemsize == self.itemsize:
            return Outline(self.shape, kind, self.strides, self.room, self.offset, self)
        n, step = (self.shape[-1], self.strides[-1]) if self.ndim else (0, 0)
        if (type(n) is SymbolicSize or n != 1 and step != self.itemsize
                or n * self.itemsize % kind.itemsize):
            raise Unsized("a plan takes elements for others of another size")
        return Outline((*self.shape[:-1], n * self.itemsize // kind.itemsize), kind,
                       (*self.strides[:-1], kind.itemsize), self.room, self.offset, self)

    @property
    def real(self) -> Outline:
        """The real parts."""
        return self._part(0)

    @property
    def imag(self) -> Outline:
        """The imaginary parts."""
        return self._part(1)

    def _part(self, which: int) -> Outline:
        if self.dtype.kind != "c":
            raise Unsized("a plan takes a part of numbers that have none")
        kind = np.dtype(f"f{self.itemsize // 2}")
        return Outline(self.shape, kind, self.strides, self.room,
                       self.offset + which * kind.itemsize, self)

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Outline:
        """Without dimensions of one element."""
        axes = (
            range(self.ndim)
            if axis is None
            else [a % self.ndim for a in ((axis,) if isinstance(axis, int) else axis)]
        )
        gone = [a for a in axes if axis is not None or self.shape[a] == 1]
        return self.seen(
            [n for a, n in enumerate(self.shape) if a not in gone],
            [s for a, s in enumerate(self.strides) if a not in gone],
        )

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Outline:
        """The diagonal of two dimensions, behind the others."""
        rest = [d for d in range(self.ndim) if d not in (axis1, axis2)]
        rows, columns, down, right = (x[axis] for x in (self.shape, self.strides)
                                      for axis in (axis1, axis2))
        rows, columns = (rows + offset, columns) if offset < 0 else (rows, columns - offset)
        count = rows if rows < columns else columns
        return self.seen(
            [*[self.shape[d] for d in rest], count if count > 0 else 0],
            [*[self.strides[d] for d in rest], down + right],
            right * offset if offset > 0 else down * -offset)

    def ravel(self) -> Outline:
        """In one dimension."""
        return self.reshape(-1)

    def reshape(self, *shape: Size | Sequence[Size], order: str = "C",
                copy: bool | None = None) -> Outline:
        """A view of other sizes; where NumPy would copy, the planning ends."""
        wanted: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        sizes: list[Size] = list(wanted)
        for i, n in enumerate(sizes):
            if type(n) is int and n == -1:
                sizes[i] = self.size // math.prod([m for k, m in enumerate(sizes) if k != i])
        if not math.prod(sizes) == self.size:
            raise ValueError("cannot reshape an array into sizes of another product")
        strides = _reshaped(self, sizes)
        if strides is None:
            if copy is False:
                raise ValueError("it would be a copy")
            raise Unsized("a plan copies elements to reshape them")
        return self.seen(sizes, strides)

    def __getitem__(self, entries: Any) -> Outline:
        index: tuple[Any, ...] = entries if type(entries) is tuple else (entries,)
        missing = self.ndim - sum(x is not None and x is not Ellipsis for x in index)
        at = next((i for i, x in enumerate(index) if x is Ellipsis), None)
        index = (
            (*index, *[slice(None)] * missing)
            if at is None
            else (*index[:at], *[slice(None)] * missing, *index[at + 1 :])
        )
        shape: list[Size] = []
        strides: list[Size] = []
        offset: Size = 0
        d = 0
        for x in index:
            if x is None:
                shape.append(1)
                strides.append(0)
                continue
            n, s = self.shape[d], self.strides[d]
            d += 1
            if type(x) is slice:
                first, count, step = _sliced(x, n)
                shape.append(count)
                strides.append(s * step)
                offset = offset + first * s
            elif isinstance(x, int) and type(x) is not bool:
                if not -n <= x < n:
                    raise IndexError("index out of bounds")
                offset = offset + (x + n if x < 0 else x) * s
            else:
                raise Unsized("a plan picks elements")
        return self.seen(shape, strides, offset)

    def max(self, *_: object) -> NoReturn:
        """What asks for the largest of some places looks whether they are within bounds."""
        raise IndexError("places that are not known may be out of bounds")

    min = max

    def __setitem__(self, *_: object) -> NoReturn:
        raise Unsized("a plan writes elements")

    def __iter__(self) -> NoReturn:
        raise Unsized("a plan goes over elements")

    def __bool__(self) -> NoReturn:
        raise Unsized("a plan asks an element")


def _sliced(x: slice, n: Size) -> tuple[Size, Size, int]:
    """(first, count, step) of a slice of n elements."""
    step = 1 if x.step is None else x.step
    if type(step) is int and step == -1 and x.start is x.stop is None and n > 0:
        return n - 1, n, step
    if not isinstance(step, int) or step < 1:
        raise Unsized("a plan goes backwards")

    def place(i: Size | None, default: Size) -> Size:
        if i is None:
            return default
        i = i + n if i < 0 else i
        return 0 if i < 0 else n if i > n else i
    first, end = place(x.start, 0), place(x.stop, n)
    room = end - first
    return first, (room if step == 1 else -(-room // step)) if room > 0 else 0, step


def _reshaped(a: Outline, shape: Sequence[Size]) -> Sequence[Size] | None:
    """The strides of a view of another shape, by NumPy's rules; None if there is no such view."""
    olds = [(n, s) for n, s in zip(a.shape, a.strides) if not (type(n) is int and n == 1)]
    strides: list[Size | None] = [None] * len(shape)
    i = k = 0
    if any(type(n) is int and n == 0 for n, _ in olds):
        return dense(shape, a.itemsize)
    while k < len(shape):
        if type(shape[k]) is int and shape[k] == 1:
            k += 1
            continue
        if i == len(olds):
            return None
        first, j = k, i + 1
        new, old = shape[k], olds[i][0]
        k += 1
        while not new == old:
            if new < old:
                if k == len(shape):
                    return None
                new = new * shape[k]
                k += 1
            else:
                if j == len(olds) or not olds[j - 1][1] == olds[j][0] * olds[j][1]:
                    return None
                old = old * olds[j][0]
                j += 1
        step = olds[j - 1][1]
        for d in range(k - 1, first - 1, -1):
            strides[d] = step
            step = step * shape[d]
        i = j
    last: Size = a.itemsize
    out: list[Size] = []
    for known, n in zip(reversed(strides), reversed(shape)):
        # Of one element: as if it were dense.
        out.append(last if known is None else known)
        last = out[-1] * n
    return out[::-1]


def same_type(a: Outline, b: Outline) -> bool:
    """Are the types of two outlines equal, whatever the sizes are?"""
    return a.dtype == b.dtype and same_sizes(a.shape, b.shape) and same_sizes(a.strides, b.strides)


def same_sizes(a: Sequence[Size], b: Sequence[Size]) -> bool:
    """Are two lists of sizes equal, whatever the symbols are? No question is asked for it."""
    return [*map(_terms, a)] == [*map(_terms, b)]


def _terms(n: Size) -> object:
    """A canonical form of an expression or a number."""
    return n.terms if type(n) is SymbolicSize else n


def like_first(a: Outline, *_: object, **__: object) -> Outline:
    """Results like the first operand, without gaps between elements."""
    return Outline(a.shape, a.dtype)


def broadcast_to(x: Outline | Array, shape: Size | Sequence[Size], subok: bool = False) -> Any:
    """As NumPy's."""
    wanted: Any = shape if not isinstance(shape, int) else (shape,)
    shape = tuple(wanted)
    if type(x) is not Outline:
        if not sized(shape):
            return np.broadcast_to(x, wanted)
        known = np.asarray(x)
        if known.size == 1:
            return Outline(shape, known.dtype, [0] * len(shape), Room(known.itemsize, known))
        raise Unsized("a plan broadcasts an array")
    lead = len(shape) - x.ndim
    strides: list[Size] = [0] * lead
    if lead < 0:
        raise ValueError("input operand has more dimensions than allowed")
    for n, s, m in zip(x.shape, x.strides, shape[lead:]):
        if type(n) is int and n == 1 and not (type(m) is int and m == 1):
            strides.append(0)
        elif n == m:
            strides.append(s)
        else:
            raise ValueError("operands could not be broadcast together")
    return x.seen(shape, strides)


@overload
def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]: ...


@overload
def broadcast_shapes(*shapes: Sequence[Size]) -> tuple[Size, ...]: ...


def broadcast_shapes(*shapes: Sequence[Any]) -> tuple[Size, ...]:
    """As NumPy's."""
    if not any([sized(s) for s in shapes]):
        return np.broadcast_shapes(*shapes)
    out: list[Size] = []
    for d in range(1, max(map(len, shapes), default=0) + 1):
        n: Size = 1
        for s in shapes:
            if len(s) >= d and not (type(s[-d]) is int and s[-d] == 1):
                if type(n) is int and n == 1:
                    n = s[-d]
                elif not n == s[-d]:
                    raise ValueError(
                        "shape mismatch: objects cannot be broadcast to a single shape"
                    )
        out.append(n)
    return tuple(out[::-1])


def shares(a: object, b: object, *_: object) -> bool:
    """May two arrays share memory? For parts of one memory the answer is that for the current
    sizes, and is noted."""
    if type(a) is not Outline or type(b) is not Outline:
        return False
    if a.room is not b.room:
        return False
    (low, high), (first, end) = span(a), span(b)
    return bool(low < end) and bool(first < high)


def span(a: Outline) -> tuple[Size, Size]:
    """The range of bytes of its room that an outline's elements occupy."""
    low = high = a.offset
    for n, s in zip(a.shape, a.strides):
        far = (n - 1) * s
        if far < 0:
            low = low + far
        else:
            high = high + far
    return low, high + a.itemsize


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.broadcast_to: broadcast_to,
    np.may_share_memory: shares,
    np.shares_memory: shares,
    np.expand_dims: lambda a, axis: a[
        tuple(
            None
            if d
            in {
                x % (a.ndim + (1 if isinstance(axis, int) else len(axis)))
                for x in ((axis,) if isinstance(axis, int) else axis)
            }
            else slice(None)
            for d in range(a.ndim + (1 if isinstance(axis, int) else len(axis)))
        )
    ],
    np.swapaxes: lambda a, i, j: a.swapaxes(i, j),
    np.transpose: lambda a, axes=None: a.transpose(axes),
    np.squeeze: lambda a, axis=None: a.squeeze(axis),
    np.reshape: lambda a, shape, **_: a.reshape(shape),
    np.concatenate: lambda arrays, axis=0, out=None, **_: out,
    np.ndim: lambda a: a.ndim,
    np.shape: lambda a: a.shape,
    np.size: lambda a: a.size,
    np.moveaxis: lambda a, source, to: a.transpose(_moved(a.ndim, source, to)),
}


def _moved(ndim: int, source: int | Sequence[int], to: int | Sequence[int]) -> list[int]:
    froms, goals = (
        [x % ndim for x in ((y,) if isinstance(y, int) else y)] for y in (source, to))
    order = [d for d in range(ndim) if d not in froms]
    for t, s in sorted(zip(goals, froms)):
        order.insert(t, s)
    return order
