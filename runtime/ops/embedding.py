"""Rows of a table by index, and sums of them."""
import numpy as np

from .. import devices
from ..autograd import modes
from ..dtypes import FLOAT, INT, float32, float64, int64
from ..ir import scalar
from ..size_arguments import as_int
from .convert import cast
from .index_slices import index_select_op
from .number_questions import all_below, fixed_number, has_negative
from .pad import pad
from .pointwise_family import PointwiseOp
from .question_kernels import asked
from .registry import Op, about_numbers, apply, ask, check_one_type, check_tensors, sizes_of
from .sample_inputs import reals
from .sparse_products import equal_sums, pointed_sums
from .surface import FUNCTIONS as F
from .surface import function
from .vector_norm import vector_norm

# x itself, whose gradient is multiplied by a factor; by a zero, whatever it is, it is none
scale_gradient_op = PointwiseOp("scale_gradient", lambda input, factor: input,
                                samples=(reals(-3, 3), reals(1, 1, grad=False)),
                                vjp=lambda g, y, x, k: [
                                    scalar.where(scalar.eq(k, 0), 0, g * k), None])


def _sparsely_vjp(g, _y, _weight, index, dim, padding):
    """The gradient of a table as a sparse tensor: of the rows that were read."""
    from ..sparse.tensor import CooTensor
    if padding is not None:
        kept = (index != padding).nonzero().reshape(-1)
        index, g = index.index_select(0, kept), g.index_select(0, kept)
    return [CooTensor(index.unsqueeze(0), g, tuple(_weight.shape)), None]


sparsely_op = Op("index_select_sparsely",
                 lambda a, index, dim, padding: index_select_op.forward(a, index, dim),
                 _sparsely_vjp, inner=True)
sparsely_op.any_sizes = sparsely_op.is_repeatable = True


def _indices(name, input):
    check_tensors(name, input=input)
    if input.dtype.category != INT:
        raise RuntimeError(
            f"{name}: expected indices of an integer type (int32 or int64), but got {input.dtype}")


def _check_rows(name, input, n):
    """Raise an error for indices out of range. On a device the kernel that reads the rows finds
    these, without a wait."""
    if devices.is_elsewhere(input._array):
        return

    @asked(lambda x, _: (x < 0) | (x >= n))
    def check(a):
        if type(n) is int and a.dtype == np.int64 and a.size and all_below(a, n):
            return
        if a.size and ((a < 0).any() or (a >= n).any()):
            bad = int(a[(a < 0) | (a >= n)].flat[0])
            raise IndexError(f"{name}: index {bad} is out of range for a table of {n} rows")
    ask(check, input)


def _renorm(weight, rows, max_norm, norm_type):
    """Scale the rows that are about to be read down to max_norm, in place."""
    with modes.no_grad():
        used = rows.unique()
        picked = F["index_select"](weight, 0, used)
        norms = vector_norm(picked, norm_type, 1, True)
        weight.index_copy_(
            0, used, F["where"](norms > max_norm, picked * (max_norm / (norms + 1e-7)), picked))


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0,
              scale_grad_by_freq=False, sparse=False):
    """Rows of `weight` at the indices.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.embedding(whet.tensor([1, 0]), whet.tensor([[1., 2.], [3., 4.]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    _indices("embedding", input)
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {tuple(weight.shape)}")
    _check_rows("embedding", input, weight.shape[0])
    if padding_idx is not None:
        padding_idx = as_int(padding_idx, "embedding", "padding_idx", 3)
        count = sizes_of(weight)[0]      # asked again by a trace that meets another table
        if not -count <= padding_idx < count:
            raise AssertionError("Padding_idx must be within num_embeddings")
        if padding_idx < 0:
            padding_idx = padding_idx + count
    flat = cast(input.reshape(-1), int64)
    if max_norm is not None:
        _renorm(weight, flat, max_norm, norm_type)
    if sparse:
        if scale_grad_by_freq and weight.requires_grad and modes.is_grad_enabled():
            raise RuntimeError(
                "embedding_backward: scale_grad_by_freq not supported with sparse gradients")
        rows = apply(sparsely_op, (weight, flat), {"dim": 0, "padding": padding_idx})
        return rows.reshape(*input.shape, weight.shape[1])
    rows = F["index_select"](weight, 0, flat)
    # what a transform shows need not know of a history beneath it
    recorded = rows.requires_grad or weight.requires_grad and modes.is_grad_enabled()
    if recorded and (padding_idx is not None or scale_grad_by_freq):
        factor = F["ones"](flat.shape[0], 1, dtype=rows.dtype, device=rows.device)
        if scale_grad_by_freq and flat.numel():
            factor = (
                1.0
                / F["bincount"](flat, minlength=weight.shape[0])[flat].to(rows.dtype).unsqueeze(1))
        if padding_idx is not None:
            factor = F["where"]((flat == padding_idx).unsqueeze(1), 0.0, factor)
        rows = scale_gradient_op(rows, factor)
    return rows.reshape(*input.shape, weight.shape[1])


def _check_padding_row(padding_idx, weight):
    if padding_idx is None:
        return
    count = sizes_of(weight)[0]          # asked again by a trace that meets another table
    if not -count <= as_int(padding_idx, "embedding_bag", "padding_idx", 11) < count:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-count} through {count - 1}, "
            f"but got {padding_idx}")


def _added(count, owner, rows):
    """The sums of the rows that each owner has, one row after the other."""
    return F["zeros"](count, *rows.shape[1:], dtype=rows.dtype,
                      device=rows.device).index_add(0, owner, rows)


class EqualBags:
    """The rows of a matrix of indices: bags of one length, whose rows lie one after the other."""

    def __init__(self, bags, width):
        self.count, self.width = bags, width

    def _apart(self, rows):
        return rows.reshape(self.count, self.width, *rows.shape[1:])

    def sum(self, rows):
        return self._apart(rows).sum(1)

    def sum_in_order(self, rows):
        """The sums, one row after the other, as `sum_of` adds them."""
        owner = F["arange"](self.count, device=rows.device).unsqueeze(1)
        return _added(self.count, owner.expand(self.count, self.width).reshape(-1), rows)

    def sum_of(self, table, index, weights=None):
        """The sums of bags of rows of a table, times their weights, one row after the other: none
        is copied before."""
        if not self.width:
            return self.sum(F["index_select"](table, 0, index))
        return equal_sums(weights, index, table, self.width)

    def largest(self, rows):
        return self._apart(rows).amax(1)

    def lengths(self, like):
        return max(self.width, 1)


class UnequalBags:
    """Bags of `n` rows that lie one after the other: where each begins and the last ends, which are
    numbers of a tensor that Python does not go on from."""

    def __init__(self, pointers, n):
        self.pointers, self.n, self.count = pointers, n, pointers.shape[0] - 1
        self._lengths = pointers.diff()
        if ask(has_negative, self._lengths):
            raise about_numbers(RuntimeError("embedding_bag: offsets must not decrease, nor be "
                                             "beyond the end of the input"))

    def owner(self):
        """The bag of each row."""
        # how many bags have begun at each place
        starts = self.pointers[:-1]
        ones = F["ones"](self.count, dtype=int64, device=starts.device)
        begun = F["zeros"](self.n + 1, dtype=int64, device=starts.device).index_add(0, starts, ones)
        return begun.cumsum(0)[:self.n] - 1

    def sum(self, rows):
        """The sums of bags of rows, one row after the other."""
        if not _has_kernel(rows):
            return _added(self.count, self.owner(), rows)
        return self.sum_of(rows, F["arange"](self.n))

    sum_in_order = sum

    def sum_of(self, table, index, weights=None):
        """The sums of bags of a table's rows, times their weights: a product of a sparse matrix,
        whose values are these, or ones."""
        if weights is None:
            weights = F["ones"](index.shape[0], dtype=table.dtype)
        return pointed_sums(weights, self.pointers, index, table)

    def largest(self, rows):
        index = self.owner().unsqueeze(1).expand(rows.shape)
        return F["full"]((self.count, rows.shape[1]), float("-inf"), dtype=rows.dtype,
                         device=rows.device).scatter_reduce(0, index, rows, "amax")

    def lengths(self, like):
        return self._lengths.clamp_min(1).to(like.dtype).unsqueeze(1)


def _has_kernel(rows):
    """Is there a kernel for sums of such rows?"""
    return rows.device.type == "cpu" and rows.dtype in (float32, float64)


def _needs_order(rows):
    """Are there kernels for such rows on the CPU, in whose order a GPU is to add?"""
    return rows.is_cuda and rows.dtype in (float32, float64)


@asked(lambda x, _: ~scalar.eq(x, 0))
def _has_another_than_zero(a):
    return bool((a != 0).any())


def _bags(input, offsets, include_last_offset):
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                f"of fixed length sequences. However, found offsets of type {type(offsets)}")
        return EqualBags(*input.shape)
    if input.ndim != 1:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    _indices("embedding_bag", offsets)
    n, offsets = input.shape[0], offsets.to(int64)
    if ask(_has_another_than_zero, offsets[:1]):
        raise about_numbers(RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
            f"from position 0. However, got {offsets[0].item()}"))
    if not include_last_offset:
        offsets = pad(offsets, (0, 1), value=n)
    elif ask(_has_another_than_zero, offsets[-1:] - n):
        raise about_numbers(RuntimeError(
            f"embedding_bag: the last offset has to be the number of indices, {n}"))
    return UnequalBags(offsets, n)


def _largest_of_bags(bags, rows, keep):
    if keep is not None:
        rows = F["where"](keep, rows, float("-inf"))
    if not rows.shape[0]:
        return F["zeros"](bags.count, rows.shape[1], dtype=rows.dtype, device=rows.device)
    r = bags.largest(rows)
    return F["where"](r == float("-inf"), 0.0, r)


def _check_weights_of_samples(weights, input, mode):
    if mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            "for mode='sum' "
            f"(got mode='{mode}'). Please open a feature request on GitHub.")
    if tuple(weights.shape) != tuple(input.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})")


def embedding_bag(input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False,
                  mode="mean", sparse=False, per_sample_weights=None, include_last_offset=False,
                  padding_idx=None):
    """The sum, mean or maximum of rows of `weight`, bag by bag.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> table = whet.tensor([[1., 2.], [3., 4.]])
    >>> F.embedding_bag(whet.tensor([[0, 1]]), table, mode="sum")
    tensor([[4., 6.]])
    """
    _indices("embedding_bag", input)
    if weight.dtype.category != FLOAT:
        raise RuntimeError("Expected tensor for argument #1 'weight' to be of a floating point "
                           f"type; but got {weight.dtype.letter} instead")
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    _check_padding_row(padding_idx, weight)
    if per_sample_weights is not None:
        _check_weights_of_samples(per_sample_weights, input, mode)
    check_one_type("embedding_bag", weight=weight, per_sample_weights=per_sample_weights)
    bags = _bags(input, offsets, include_last_offset)
    flat = input.reshape(-1)
    plain = not (sparse or scale_grad_by_freq or max_norm is not None or padding_idx is not None)
    if mode != "max" and plain and _has_kernel(weight):
        _check_rows("embedding", flat, weight.shape[0])
        factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
        r = bags.sum_of(weight, cast(flat, int64), factors)
        return r / bags.lengths(r) if mode == "mean" else r
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    keep = None if padding_idx is None else (flat != padding_idx % weight.shape[0]).unsqueeze(1)
    if mode == "max":
        return _largest_of_bags(bags, rows, keep)
    if keep is not None:                     # not multiplied: what padding holds may be infinite
        rows = F["where"](keep, rows, 0.0)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    r = bags.sum_in_order(rows) if plain and _needs_order(rows) else bags.sum(rows)
    if mode == "sum":
        return r
    return r / (bags.lengths(rows) if keep is None else bags.sum(keep.to(rows.dtype)).clamp_min(1))


@function(method=False)
def one_hot(tensor, num_classes=-1):
    """Each class number as a vector that is one at that place and zero elsewhere.

    >>> import whet
    >>> whet.nn.functional.one_hot(whet.tensor([0, 2]))
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    if tensor.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if num_classes < 1 and tensor.numel() == 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if num_classes < 1 and num_classes != -1:
        raise RuntimeError("num_classes should be positive")

    num_classes = fixed_number(num_classes)

    @asked(lambda x, _: (x < 0) | (x >= num_classes))
    def check(a):
        if a.size and a.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        if a.size and a.max() >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")

    def count(a):
        if a.min() < 0:
            raise RuntimeError("Class values must be non-negative.")
        return int(a.max()) + 1
    if num_classes == -1:
        num_classes = ask(count, tensor)
    else:
        ask(check, tensor)
    return (tensor.unsqueeze(-1) == F["arange"](num_classes, device=tensor.device)).to(int64)
