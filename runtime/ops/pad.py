"""Padding: by a constant, by reflection, by the edge, around."""

import builtins
import functools
import itertools
import math

import numpy as np

from ..cpu import indexed, memory, pointwise, taped_launches
from ..dtypes import INT
from ..ir.outline import Outline
from ..size_arguments import sizes
from .argument_guards import check_text
from .creation import cast_number
from .onnx import shapes as in_onnx
from .registry import MoveOp, Op, apply, check_tensors, is_tensor
from .sample_inputs import Sample
from .surface import function
from .view_parts import numpy_index


def _padded_sizes(shape, pads):
    """The padded sizes. Ops check them, and not `pad`: so that is repeated wherever a traced call
    of other sizes, or padded by other amounts, is planned."""
    for d, (n, (before, after)) in enumerate(zip(shape, pads)):
        # As much as there is may be cut away at either side.
        cut = min(before, after, before + after)
        if cut < 0 and n + cut < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after}, resulted "
                f"in a negative output size, which is invalid. Check dimension {d} of your input.")
    return tuple([n + before + after for n, (before, after) in zip(shape, pads)])


def _pad_parts(shape, pads):
    """For constant padding that may also cut: (where the old values go, which old values)."""
    to, of = [], []
    for n, (before, after) in zip(shape, pads):
        lo, hi = max(-before, 0), n - max(-after, 0)
        of.append((lo, max(hi, lo), 1))
        to.append((max(before, 0), max(before, 0) + max(hi - lo, 0), 1))
    return tuple(to), tuple(of)


def _pad(out, a, pads, value):
    to, of = _pad_parts(a.shape, pads)
    return [(out, value), (out[numpy_index(to)], a[numpy_index(of)])]


def _pad_vjp(g, _y, _x, pads, value):
    return [apply(pad_op, (g,), {"pads": tuple([(-b, -a) for b, a in pads]), "value": 0})]


def _pad_each(op, n, inputs, batched, attrs):
    attrs = {**attrs, "pads": ((0, 0), *attrs["pads"])}
    if "shape" in attrs:
        attrs["shape"] = (n, *attrs["shape"])
    return apply(op, inputs, attrs)


pad_op = MoveOp(
    "pad",
    lambda a, pads, value: _padded_sizes(a.shape, pads),
    _pad,
    _pad_vjp,
    samples=lambda make: [
        Sample(make(2, 3), pads=((0, 0), (1, 2)), value=0.5),
        Sample(make(3, 4), pads=((1, -1), (-2, 1)), value=0.0),
        Sample(make(0, 2), pads=((1, 1), (0, 0)), value=1.0),
    ],
    batch=_pad_each,
    onnx=in_onnx.padded,
)
pad_op.jvp = lambda inputs, tangents, outs, attrs: apply(pad_op, tangents, {**attrs, "value": 0})
pad_op.onnx_complex = in_onnx.padded_complex
pad_op.any_sizes, pad_op.size_attrs = True, frozenset(("value",))
pad_op.doc = "Constant padding: `pads` has (before, after) for each dimension, negative to cut."


def pad_sources(n, before, after, mode):
    """For each place of a padded dimension, the place of the input that it shows."""
    k = np.arange(-before, n + after)
    if mode == "replicate":
        return k.clip(0, n - 1)
    if mode == "circular":  # of what is left after cutting
        cut = max(-before, 0)
        left = n - cut - max(-after, 0)
        return np.arange(-max(before, 0), left + max(after, 0)) % left + cut
    period = 2 * (n - 1) or 1
    k = np.abs(k) % period
    return np.where(k >= n, period - k, k)


def _shape_by_index(a, pads, mode):
    """The padded sizes, if the mode allows them."""
    padded = _padded_sizes(a.shape, pads)
    for d, (n, (before, after)) in enumerate(zip(a.shape, pads)):
        if before == after == 0:
            continue
        if mode == "reflect" and (before >= n or after >= n):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({before}, {after}) at dimension {d} of input {list(a.shape)}")
        if mode == "circular" and (before > n or after > n):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if not n:
            raise RuntimeError(
                f"pad: Expected a non-empty dimension {d} for mode '{mode}', got input of shape "
                f"{list(a.shape)}")
        if n + before + after < 1:
            raise RuntimeError(
                f"pad: the output of dimension {d} would be empty: input {list(a.shape)}, padding "
                f"({before}, {after})")
    return padded


def _padded_parts(out, a, pads, mode):
    """What goes where: a box for each run of sources along each dimension."""
    along = []
    for n, (before, after) in zip(a.shape, pads):
        padded = before or after
        along.append(
            _source_runs_of(n, before, after, mode)
            if padded else [(builtins.slice(None), builtins.slice(None))])
    boxes = list(itertools.product(*along))
    return [(out[tuple([to for to, _ in box])], a[tuple([source for _, source in box])])
            for box in boxes]


@functools.lru_cache(1024)
def _source_runs_of(n, before, after, mode):
    return source_runs(pad_sources(n, before, after, mode))


def source_runs(sources):
    """Runs of places that are neighbours, the same, or neighbours backwards, as slices: (where
    they go, where they come from)."""
    found, i, n = [], 0, len(sources)
    while i < n:
        step = int(sources[i + 1] - sources[i]) if i + 1 < n else 1
        step = step if step in (-1, 0, 1) else 1
        j = i + 1
        while j < n and sources[j] - sources[j - 1] == step:
            j += 1
        first, last = int(sources[i]), int(sources[j - 1])
        if step < 0:
            source = builtins.slice(first, last - 1 if last else None, -1)
        else:
            source = builtins.slice(first, last + 1)
        found.append((builtins.slice(i, j), source))
        i = j
    return found


@functools.lru_cache(1024)
def _shown_places(n, before, after, mode):
    """Runs of places of a padded dimension as slices, each with the places of the input that it
    shows: first those of the input itself, then its edges, where no place comes twice in a run."""
    sources, lo = pad_sources(n, before, after, mode), max(before, 0)
    cut = max(-before, 0)
    own = max(n - cut - max(-after, 0), 0)
    found = [(builtins.slice(lo, lo + own), builtins.slice(cut, cut + own))]
    for begin, part in ((0, sources[:lo]), (lo + own, sources[lo + own:])):
        for to, source in source_runs(part):
            once = source.step or source.stop - source.start == to.stop - to.start
            for first in [to.start] if once else range(to.start, to.stop):
                last = to.stop if once else first + 1
                found.append((builtins.slice(begin + first, begin + last), source))
    return found


def _unpad_by_index(g, shape, pads, mode):
    for d in range(len(shape) - 1, -1, -1):
        before, after = pads[d]
        if before or after:
            g = _unpadded_along(g, d, shape[d], _shown_places(shape[d], before, after, mode))
    return g


def _unpadded_along(g, d, n, runs):
    """A dimension of n without its padding: at each place the sum of all that show it."""
    with_kernels = indexed.suit(g)
    out = taped_launches.partial(memory.empty((*g.shape[:d], n, *g.shape[d + 1:]), g.dtype))
    move, add = ((pointwise.move, pointwise.add_onto) if with_kernels else
                 (np.copyto, lambda target, part: np.add(target, part, target)))
    at = (builtins.slice(None),) * d
    (to, own), *edges = runs
    if own.start or own.stop < n:
        zero = taped_launches.table(np.zeros(1, g.dtype))
        move(out, np.broadcast_to(zero.reshape(()), out.shape))
    if own.stop > own.start:
        move(out[(*at, own)], g[(*at, to)])
    for to, source in edges:
        add(out[(*at, source)], g[(*at, to)])
    return out


def _pad_by_index_vjp(g, _y, _x, pads, mode):
    return [apply(unpad_by_index_op, (g,), {"shape": tuple(_x.shape), "pads": pads, "mode": mode})]


def _mode_samples(make, inner):
    for mode in ("reflect", "replicate", "circular"):
        for shape, pads in (
            ((2, 4), ((0, 0), (2, 3))),
            ((3, 4), ((1, 2), (3, 0))),
            ((2, 5), ((0, 0), (-1, 2))),
        ):
            if inner:
                yield Sample(
                    make(*[n + b + a for n, (b, a) in zip(shape, pads)]),
                    shape=shape,
                    pads=pads,
                    mode=mode,
                )
            else:
                yield Sample(make(*shape), pads=pads, mode=mode)


pad_by_index_op = MoveOp(
    "pad_by_index",
    _shape_by_index,
    _padded_parts,
    _pad_by_index_vjp,
    samples=lambda make: _mode_samples(make, inner=False),
    linear=(0,),
    batch=_pad_each,
    onnx=lambda b, x, pads, mode: in_onnx.padded_by_index(b, x, pads, mode, pad_sources),
)
unpad_by_index_op = Op(
    "unpad_by_index",
    _unpad_by_index,
    lambda g, _y, _x, shape, pads, mode: [
        apply(pad_by_index_op, (g,), {"pads": pads, "mode": mode})
    ],
    samples=lambda make: _mode_samples(make, inner=True),
    linear=(0,),
    batch=_pad_each,
    onnx=lambda b, g, shape, pads, mode: b.summed(
        g, pad_by_index_op.forward(in_onnx.numbered(b, shape), pads=pads, mode=mode), shape
    ),
)


pad_by_index_op.any_sizes = unpad_by_index_op.any_sizes = unpad_by_index_op.launches = True
unpad_by_index_op.makes = lambda g, *, shape, **_: (Outline(shape, g.dtype),)
unpad_by_index_op.size_attrs = frozenset(("shape",))


def _pads(amounts, n):
    """(before, after) for each of n dimensions, in order."""
    k = len(amounts) // 2
    if len(amounts) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if k > n:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but "
            f"got padding length {len(amounts)} and input of dimension {n}")
    return ((0, 0),) * (n - k) + tuple(
        [(amounts[2 * i], amounts[2 * i + 1]) for i in range(k - 1, -1, -1)]
    )


def pad(input, pad, mode="constant", value=None):
    """Dimensions lengthened (or, by negative amounts, cut), given from the last one backwards:
    (before, after, before, ...).

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.pad(whet.tensor([[1., 2., 3.]]), (2, 0), mode="reflect")
    tensor([[3., 2., 1., 2., 3.]])
    """
    check_tensors("pad", input=input)
    if isinstance(pad, int):
        raise TypeError("pad(): argument 'pad' must be tuple of ints, not int")
    amounts = sizes((pad,), "pad", "pad")
    n, k = input._array.ndim, len(amounts) // 2
    pads = _pads(amounts, n)
    if mode == "constant":
        if input.dtype.category == INT:
            _check_value(input, value)
        return apply(pad_op, (input,), {"pads": pads, "value": _told_apart(value)})
    if mode not in ("reflect", "replicate", "circular"):
        check_text("pad", "mode", mode)
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if not (k == 1 and n in (2, 3) or k == 2 and n in (3, 4) or k == 3 and n in (4, 5)):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now"
        )
    return apply(pad_by_index_op, (input,), {"pads": pads, "mode": mode})


class _NegativeZero(float):
    """-0.0, which is equal to no other zero: calls that were made are found again by what is equal
    to their attributes."""
    __slots__ = ()

    def __eq__(self, other):
        return type(other) is _NegativeZero

    def __hash__(self):
        return hash(_NegativeZero)


def _told_apart(value):
    """What is padded with, as an attribute; zeros for None."""
    if type(value) is float and value == 0 and math.copysign(1, value) < 0:
        return _NegativeZero(value)
    return 0 if value is None else value.item() if isinstance(value, np.ndarray) else value


def _check_value(input, value):
    """Raise RuntimeError where the type of what is padded cannot hold a number."""
    if not (value is None or is_tensor(value) or hasattr(value, "__whet_tensor__")):
        cast_number(value, input.dtype)


def pad_to(x, shape):
    """Zeros appended to each dimension up to `shape`."""
    return apply(
        pad_op, (x,), {"pads": tuple([(0, n - m) for n, m in zip(shape, x.shape)]), "value": 0}
    )


_pad = pad


@function(method=False)
def constant_pad_nd(input, pad, value=0):
    """`nn.functional.pad` with a constant.

    >>> import whet
    >>> whet.constant_pad_nd(whet.tensor([1., 2.]), (1, 0), 9.)
    tensor([9., 1., 2.])
    """
    if value is None:
        raise TypeError("constant_pad_nd(): argument 'value' must be Number, not NoneType")
    check_tensors("constant_pad_nd", input=input)
    _check_value(input, value)
    return _pad(input, pad, "constant", value)
