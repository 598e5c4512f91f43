# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import NamedTuple
from whet.tensor import Tensor


def invert_permutation(permutation: Tensor) -> Tensor | None: """The permutation that undoes another; None stays None."""
def pack_padded_sequence(input: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence: """Pack a padded batch of shape (T, N, *) (or (N, T, *)) with the given lengths."""
def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence: """Pack a list of sequences."""
def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None) -> tuple[Tensor, Tensor]: """The padded batch and the lengths of a PackedSequence."""
def pad_sequence(sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = 'right') -> Tensor: """Sequences of shape (L_i, *) as one padded tensor (T, N, *) or (N, T, *)."""
def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]: """The list of sequences of a PackedSequence."""
def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]: """The list of sequences that `pad_sequence` joined."""

class PackedSequence(NamedTuple):
    """The steps of several sequences, longest first: step 0 of all, step 1 of those that have one, ..."""
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor
    unsorted_indices: Tensor
