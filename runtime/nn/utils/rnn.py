"""Sequences of different lengths in one tensor."""
from collections import namedtuple
from collections.abc import Iterable

import whet

from ...ops.number_questions import has_positive as _has_positive
from ...ops.registry import ask as _ask
from ...tensor import Tensor


class PackedSequence(
        namedtuple("PackedSequence",
                   ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])):
    """The steps of several sequences, longest first: step 0 of all, step 1 of those that have
    one, ...

    >>> import whet
    >>> from whet.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([whet.tensor([1, 2, 3]), whet.tensor([4, 5])])
    >>> packed.data.tolist()
    [1, 4, 2, 5, 3]
    >>> packed.batch_sizes.tolist()
    [2, 2, 1]
    """
    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The data moved or converted; the indices follow its device. Itself where nothing
        changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        move = {"device": data.device}
        order, back = (i if i is None else i.to(**move)
                       for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, order, back)

    def cpu(self):
        """On the CPU."""
        return self.to(device="cpu")

    def cuda(self, device=None):
        """On a GPU."""
        return self.to(device="cuda" if device is None else device)

    def pin_memory(self):
        """With its data and indices in memory that GPUs read from by themselves."""
        order, back = (i if i is None else i.pin_memory()
                       for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(self.data.pin_memory(), self.batch_sizes, order, back)

    def is_pinned(self):
        """Is the data in memory that GPUs read from by themselves?"""
        return self.data.is_pinned()

    @property
    def is_cuda(self):
        """Is the data on a GPU?"""
        return self.data.is_cuda

    def double(self):
        """As float64."""
        return self.to(dtype=whet.float64)

    def float(self):
        """As float32."""
        return self.to(dtype=whet.float32)

    def half(self):
        """As float16."""
        return self.to(dtype=whet.float16)

    def bfloat16(self):
        """As bfloat16."""
        return self.to(dtype=whet.bfloat16)

    def long(self):
        """As int64."""
        return self.to(dtype=whet.int64)

    def int(self):
        """As int32."""
        return self.to(dtype=whet.int32)

    def short(self):
        """As int16."""
        return self.to(dtype=whet.int16)

    def char(self):
        """As int8."""
        return self.to(dtype=whet.int8)

    def byte(self):
        """As uint8."""
        return self.to(dtype=whet.uint8)


def invert_permutation(permutation):
    """The permutation that undoes another; None stays None.

    >>> import whet
    >>> whet.nn.utils.rnn.invert_permutation(whet.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    out = whet.empty_like(permutation)
    out[permutation] = whet.arange(permutation.numel(), device=permutation.device,
                                   dtype=permutation.dtype)
    return out


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Pack a padded batch of shape (T, N, *) (or (N, T, *)) with the given lengths.

    >>> import whet
    >>> packed = whet.nn.utils.rnn.pack_padded_sequence(whet.ones(3, 2, 4), whet.tensor([3, 1]))
    >>> packed.data.shape, packed.batch_sizes
    (whet.Size([4, 4]), tensor([2, 1, 1]))
    """
    lengths = whet.as_tensor(lengths, dtype=whet.int64, device="cpu")
    if batch_first:
        input = input.transpose(0, 1)
    batch = input.shape[1]
    if len(lengths) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
            f"(batch_size={batch})")
    if not batch:
        raise RuntimeError("Cannot pack empty tensors.")
    order = None
    if enforce_sorted:
        if _ask(_has_positive, lengths.diff()):
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is "
                "True. You can pass `enforce_sorted=False` to pack_padded_sequence and/or "
                "pack_sequence to sidestep this requirement if you do not need ONNX exportability.")
    else:
        lengths, order = lengths.sort(descending=True, stable=True)
        order = order.to(input.device)
        input = input.index_select(1, order)
    if _ask(_has_positive, 1 - lengths):
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0")
    there = whet.arange(input.shape[0]).unsqueeze(1) < lengths
    if _ask(_has_positive, lengths - there.sum(0)):
        raise RuntimeError(
            f"Expected lengths of at most {input.shape[0]} (the padded size), but got "
            f"{int(lengths[0])}")
    sizes = there.sum(1)
    return PackedSequence(input[there.to(input.device)], sizes[sizes > 0], order)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The padded batch and the lengths of a PackedSequence.

    >>> import whet
    >>> packed = whet.nn.utils.rnn.pack_sequence([whet.ones(3), whet.ones(1)])
    >>> whet.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1., 1., 1.],
            [1., 0., 0.]]), tensor([3, 1]))
    """
    data, sizes, _, back = sequence
    sequences = whet.arange(int(sizes[0]) if back is None else back.shape[0])
    there = sequences < sizes.unsqueeze(1)
    lengths = there.sum(0)
    if total_length is not None:
        there = whet.arange(total_length).unsqueeze(1) < lengths
        if _ask(_has_positive, lengths - there.sum(0)):
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{len(sizes)}")
        sizes = there.sum(1)
    row = (sizes.cumsum(0) - sizes).unsqueeze(1) + sequences
    out = data[row.masked_fill(~there, 0).to(data.device)]
    gone = ~there.to(data.device).reshape(*there.shape, *[1] * (data.ndim - 1))
    out = out.masked_fill(gone, padding_value)
    if back is not None:
        out, lengths = out.index_select(1, back), lengths[back.to(lengths.device)]
    return (out.transpose(0, 1) if batch_first else out), lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of shape (L_i, *) as one padded tensor (T, N, *) or (N, T, *).

    >>> import whet
    >>> whet.nn.utils.rnn.pad_sequence([whet.ones(2), whet.ones(3)], batch_first=True)
    tensor([[1., 1., 0.],
            [1., 1., 1.]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}.")
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Iterable):
        raise RuntimeError("pad_sequence: Expected iterable for input sequences, but got arg of "
                           f"type: {type(sequences)}")
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    most = max(s.shape[0] for s in sequences)
    rows = []
    for s in sequences:
        if s.shape[0] < most:
            pad = s.new_full((most - s.shape[0], *s.shape[1:]), padding_value)
            s = whet.cat([s, pad] if padding_side == "right" else [pad, s])
        rows.append(s)
    return whet.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The list of sequences that `pad_sequence` joined.

    >>> import whet
    >>> padded = whet.tensor([[1., 0.], [2., 3.]])
    >>> whet.nn.utils.rnn.unpad_sequence(padded, whet.tensor([1, 2]), batch_first=True)
    [tensor([1.]), tensor([2., 3.])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else lengths
    return [s[:n].contiguous() for s, n in zip(padded_sequences.unbind(0), lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Pack a list of sequences.

    >>> import whet
    >>> whet.nn.utils.rnn.pack_sequence([whet.tensor([1, 2]), whet.tensor([3])]).data
    tensor([1, 3, 2])
    """
    return pack_padded_sequence(pad_sequence(sequences), [s.shape[0] for s in sequences],
                                enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The list of sequences of a PackedSequence.

    >>> import whet
    >>> packed = whet.nn.utils.rnn.pack_sequence([whet.tensor([1, 2]), whet.tensor([3])])
    >>> whet.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
