"""Nested tensors of parts, and of values and offsets."""
from __future__ import annotations

import weakref
from typing import Any

from ..autograd.modes import no_grad
from ..dtypes import INT, int64
from ..layouts import jagged, strided
from ..ops.registry import is_tensor
from ..ops.surface import FUNCTIONS as F
from .padding import offsets_of
from .rules import family
from .tensor import NestedTensor, is_nested


def _check_layout(name: str, layout: Any) -> None:
    if layout not in (None, jagged, strided):
        raise RuntimeError(f"{name}: layout must be whet.jagged or whet.strided, but got {layout}")


def _of_parts(name: str, parts: list[Any]) -> NestedTensor:
    """The parts side by side."""
    if not parts:
        raise RuntimeError(f"{name}: cannot make a nested tensor of no tensors")
    for what in ("dtype", "device"):
        kinds = {str(getattr(x, what)): None for x in parts}
        if len(kinds) > 1:
            raise RuntimeError(f"When constructing a nested tensor, all tensors in list must have "
                               f"the same {what}, but got {', '.join(kinds)}")
    if any(not x.ndim or x.shape[1:] != parts[0].shape[1:] for x in parts):
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note "
            "that the jagged layout only represents shapes of the form (B, *, D_0, D_1, ..., D_N), "
            "with only * allowed to be ragged.")
    ends = [0]
    for x in parts:
        ends.append(ends[-1] + x.shape[0])
    offsets = F["tensor"](ends, dtype=int64, device=parts[0].device)
    return NestedTensor(F["cat"](parts), offsets)


def _parts(x: Any, dtype: Any, device: Any) -> list[Any]:
    if is_nested(x):
        x = x.unbind()
    return [F["as_tensor"](y, dtype=dtype, device=device) for y in x]


def nested_tensor(tensor_list: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
                  requires_grad: bool = False, pin_memory: bool = False) -> Any:
    """A nested tensor of copies of the parts, which are tensors or lists and differ in their first
    size alone.

    >>> import whet
    >>> nt = whet.nested.nested_tensor([whet.ones(2, 3), whet.ones(5, 3)])
    >>> nt.values().shape, nt.offsets()
    (whet.Size([7, 3]), tensor([0, 2, 7]))
    """
    _check_layout("nested_tensor", layout)
    with no_grad():
        found = _of_parts("nested_tensor", _parts(tensor_list, dtype, device))
    if pin_memory:
        found = found._with(found._held.pin_memory())
    return found.requires_grad_() if requires_grad else found


def as_nested_tensor(ts: Any, dtype: Any = None, device: Any = None, layout: Any = None) -> Any:
    """A nested tensor of parts, or of the rows of a dense tensor. Gradients flow to these.

    >>> import whet
    >>> a, b = whet.ones(2, requires_grad=True), whet.ones(3, requires_grad=True)
    >>> (whet.nested.as_nested_tensor([a, b]) * 2).sum().backward()
    >>> b.grad
    tensor([2., 2., 2.])
    """
    _check_layout("as_nested_tensor", layout)
    if is_nested(ts):
        return ts.to(device=device, dtype=dtype)
    if not is_tensor(ts):
        return _of_parts("as_nested_tensor", _parts(ts, dtype, device))
    ts = F["as_tensor"](ts, dtype=dtype, device=device)
    if ts.ndim < 2:
        raise RuntimeError("as_nested_tensor: a dense tensor must have at least 2 dimensions, but "
                           f"has {ts.ndim}")
    count, length = ts.shape[:2]
    offsets = F["arange"](count + 1, dtype=int64, device=ts.device) * length
    return NestedTensor(ts.flatten(0, 1), offsets)


def nested_tensor_from_jagged(values: Any, offsets: Any = None, lengths: Any = None,
                              jagged_dim: int | None = None, min_seqlen: int | None = None,
                              max_seqlen: int | None = None) -> Any:
    """A nested tensor over the memory of `values`, in which parts lie side by side.

    `offsets` says where each part begins and the last ends, `lengths` how long they are: one of
    them is enough. With both, parts may end before the next begins. `jagged_dim` is the ragged
    dimension, counted with the batch. `max_seqlen` saves looking for the longest part.

    >>> import whet
    >>> values = whet.arange(6.)
    >>> nt = whet.nested.nested_tensor_from_jagged(values, whet.tensor([0, 2, 6]))
    >>> nt.sum(1)
    tensor([ 1., 14.])
    """
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is "
                           "required.")
    if not is_tensor(values) or not values.ndim:
        raise TypeError("nested_tensor_from_jagged(): values must be a tensor that has dimensions")
    ragged = 1 if jagged_dim is None else jagged_dim
    if not 1 <= ragged <= values.ndim:
        raise RuntimeError(f"nested_tensor_from_jagged(): jagged_dim must be in the range [1, "
                           f"{values.ndim}], but got {ragged}")
    if offsets is None:
        offsets, lengths = offsets_of(_index("lengths", lengths)), None
    offsets = _index("offsets", offsets)
    lengths = None if lengths is None else _index("lengths", lengths)
    if not offsets.shape[0] or lengths is not None and lengths.shape[0] != offsets.shape[0] - 1:
        raise RuntimeError("nested_tensor_from_jagged(): there must be one offset more than parts, "
                           "and one length for each part")
    _check_places(offsets, lengths, values.shape[ragged - 1])
    return NestedTensor(values, offsets, lengths, ragged, min_seqlen, max_seqlen)


def _index(name: str, x: Any) -> Any:
    if not is_tensor(x) or x.ndim != 1 or x.dtype.category != INT:
        raise RuntimeError(f"nested_tensor_from_jagged(): {name} must be a tensor of whole numbers "
                           "with one dimension")
    return x


def _check_places(offsets: Any, lengths: Any, count: int) -> None:
    """Raise where parts do not lie within the values, or do not fill them where they have to."""
    begins = offsets[:-1]
    ends = offsets[1:] if lengths is None else begins + lengths
    inside = (begins >= 0) & (ends >= begins) & (ends <= count)
    if not bool(inside.all()):
        raise RuntimeError(f"parts must be within the {count} rows of the values, but begin at "
                           f"{begins.tolist()} and end at {ends.tolist()}")
    if lengths is None and not bool((offsets[0] == 0) & (offsets[-1] == count)):
        raise RuntimeError(f"offsets must begin with 0 and end with the {count} rows of the values,"
                           f" but are {offsets.tolist()}; parts that do not fill the values need "
                           "lengths, too")


def narrow(tensor: Any, dim: int, start: Any, length: Any, layout: Any = jagged) -> Any:
    """From each row of a dense tensor the elements from `start` on, so many of them: each a number
    or a tensor with one for each row. The memory is the tensor's.

    >>> import whet
    >>> nt = whet.nested.narrow(whet.arange(8.).reshape(2, 4), 1, whet.tensor([0, 1]),
    ...                         whet.tensor([2, 3]))
    >>> [x.tolist() for x in nt]
    [[0.0, 1.0], [5.0, 6.0, 7.0]]
    """
    _check_layout("narrow", layout)
    if tensor.ndim < 2 or dim != 1:
        raise RuntimeError("narrow: only dimension 1 of a tensor with two or more can be made "
                           f"ragged, but got dim={dim} of {tensor.ndim} dimensions")
    count, size = tensor.shape[:2]

    def for_each(x: Any) -> Any:
        if is_tensor(x):
            return x.to(int64).expand(count)
        return F["full"]((count,), x, dtype=int64, device=tensor.device)
    lengths, begins = for_each(length).contiguous(), for_each(start)
    inside = (begins >= 0) & (lengths >= 0) & (begins + lengths <= size)
    if not bool(inside.all()):
        raise RuntimeError(f"narrow: start ({begins.tolist()}) + length ({lengths.tolist()}) "
                           f"exceeds dimension size ({size}).")
    begins = begins + F["arange"](count, device=tensor.device) * size
    offsets = F["cat"]([begins, begins[-1:] + lengths[-1:]]) if count else F["zeros"](
        1, dtype=int64)
    return NestedTensor(tensor.flatten(0, 1), offsets, lengths)


def masked_select(tensor: Any, mask: Any) -> Any:
    """The elements of a dense tensor at which `mask` is true: those of each row are a part.

    >>> import whet
    >>> x = whet.arange(6).reshape(2, 3)
    >>> [r.tolist() for r in whet.nested.masked_select(x, x % 3 != 1)]
    [[0, 2], [3, 5]]
    """
    if is_nested(tensor) or is_nested(mask):
        raise RuntimeError("masked_select: expected tensors of layout whet.strided")
    lengths = mask.expand(tensor.shape).sum(-1).reshape(-1)
    return NestedTensor(F["masked_select"](tensor, mask), offsets_of(lengths))


# ---- like others ---------------------------------------------------------------------------------
@family("zeros_like", "ones_like", "full_like", "empty_like", "rand_like", "randn_like",
        "randint_like")
def like(func: Any, input: Any, *args: Any, layout: Any = None, **kwargs: Any) -> Any:
    """Other values in the same structure."""
    if layout is strided:
        raise RuntimeError(f"{func.__name__}: values in the structure of a nested tensor have the "
                           "layout whet.jagged")
    return _on_device_of(input, func(input._held, *args, **kwargs))


_moved: dict[tuple[int, str], Any] = {}  # id of offsets, device -> references to both


def _on(x: Any, device: Any) -> Any:
    """Offsets on a device: the same tensor for all that share them."""
    if x is None or x.device == device:
        return x
    key = id(x), str(device)
    found = _moved.get(key)
    there = found[1]() if found is not None and found[0]() is x else None
    if there is None:
        there = x.to(device)
        _moved[key] = (weakref.ref(x, lambda _: _moved.pop(key, None)), weakref.ref(there))
    return there


def _on_device_of(x: NestedTensor, values: Any) -> NestedTensor:
    """The same structure with other values, where these are."""
    if values.device == x._held.device:
        return x._with(values)
    return NestedTensor(values, _on(x._offsets, values.device), _on(x._lengths, values.device),
                        x._ragged, x._shortest, x._longest)


@family("to", "cuda", "cpu", "pin_memory", "float", "double", "half", "bfloat16", "int", "long",
        "short", "char", "byte", "bool", "cfloat", "cdouble", "type_as")
def to(func: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """The same parts in another type, or on another device."""
    args = tuple(x._held if is_nested(x) else x for x in args)
    if not is_nested(self):
        return func(self, *args, **kwargs)
    held = func(self._held, *args, **kwargs)
    return self if held is self._held else _on_device_of(self, held)


def restored(fields: dict[str, Any]) -> Any:
    """A nested tensor of what a file has of it, which is looked at as what anybody gives."""
    return nested_tensor_from_jagged(
        fields["_held"], fields["_offsets"], fields["_lengths"], fields["_ragged"],
        fields["_shortest"], fields["_longest"])
