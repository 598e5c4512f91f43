"""Batching rules, for `vmap`: an op on operands that have one more dimension in front.

A rule is `op.batch(n, inputs, batched, attrs)`. `batched` says for each input whether it is a
batch: a tensor with an additional first dimension of size `n`. Other inputs are the same for all
examples. The rule computes by ops, and returns the result (or a tuple of results) with that
dimension in front. It returns NotImplemented if the op has to be run for each example in turn.
"""
import numpy as np

from ..op_table import REGISTRY
from .registry import Op, apply, ask, is_tensor
from .sample_inputs import Sample


def example_ndim(x, has_batch):
    """The dimensions of an operand as the op's arguments give them."""
    return x._array.ndim - 1 if has_batch else x._array.ndim


def aligned(x, ndim):
    """A batched tensor whose examples have `ndim` dimensions, by new ones in front of theirs."""
    for _ in range(ndim + 1 - x._array.ndim):
        x = apply(REGISTRY["unsqueeze"], (x,), {"dim": 1})
    return x


def repeated(x, n):
    """A tensor that is the same for each example, with the dimension in front."""
    return apply(REGISTRY["expand"], (x,), {"size": (n, *x._array.shape)})


def all_batched(n, inputs, batched):
    """The inputs with the dimension in front of each tensor."""
    return [repeated(x, n) if is_tensor(x) and not b else x for x, b in zip(inputs, batched)]


def _more(value, by):
    return (value + by if isinstance(value, int) else
            None if value is None else tuple([v + by for v in value]))


def shifted(*dims, sizes=(), least=1, adapt=None):
    """The rule of an op whose attributes `dims` name dimensions (one or several) and whose
    attributes `sizes` are shapes: all operands get the dimension in front. Examples that are
    numbers, where the op wants `least` one dimension, are taken as rows of one; tensors of fewer
    dimensions are left to the loop otherwise. `adapt(attrs)` changes the other attributes."""
    def rule(op, n, inputs, batched, attrs):
        ndims = {example_ndim(x, b) for x, b in zip(inputs, batched) if is_tensor(x)}
        new = {
            k: _more(v, 1) if k in dims else (n, *v) if k in sizes else v for k, v in attrs.items()}
        new = {**new, **adapt(attrs)} if adapt else new
        full = all_batched(n, inputs, batched)
        if least == 1 and ndims == {0}:
            return as_numbers(
                apply(op, tuple([aligned(x, 1) if is_tensor(x) else x for x in full]), new), n)
        return NotImplemented if min(ndims) < least else apply(op, tuple(full), new)
    return rule


def as_numbers(outs, n):
    """Results for rows of one, for examples that are numbers."""
    return tuple([x.reshape((n,)) for x in outs]) if isinstance(outs, tuple) else outs.reshape((n,))


def at_index(within, slices=True):
    """The rule of an op that writes to slices which its last operand, an index, names: the slices
    of all examples are those of one tensor, and an index of each example's own is moved on to its
    part of them. `within(size, dim)` is the question whether that is within bounds, which raises if
    not. `slices`: the second operand is slices; else one number for all of them."""
    def rule(op, n, inputs, batched, attrs):
        (x, source, index), dim = inputs, attrs["dim"] + 1
        number = not example_ndim(x, batched[0])
        x = aligned(x if batched[0] else repeated(x, n), 1)
        if slices:
            source = aligned(source if batched[1] else repeated(source, n), 1)
        if not batched[2]:
            out = apply(op, (x, source, index), {**attrs, "dim": dim})
            return as_numbers(out, n) if number else out
        size = x._array.shape[dim]
        ask(within(size, dim - 1), index)
        index = index.reshape((n, -1)) % max(size, 1) + _places(n).reshape((n, 1)) * size
        x, source = x.movedim(dim, 1), source.movedim(dim, 1) if slices else source
        shape = x._array.shape
        merged = (-1, *shape[2:]) if x._array.size else (n * size, *shape[2:])
        out = apply(op,
                    (x.reshape(merged),
                     source.reshape((index._array.size, *shape[2:])) if slices else source,
                     index.reshape(-1)), {**attrs, "dim": 0})
        return as_numbers(out, n) if number else out.reshape(shape).movedim(1, dim)
    return rule


def _places(n):
    return apply(REGISTRY["constant"], (), {"array": np.arange(n)})


def folded(*sizes, first=None):
    """The rule of an op whose operands (or the first `first` of them) have a dimension of
    independent items in front: the examples are more of them. `sizes`: attributes that are shapes
    which begin with the number of items."""
    def rule(op, n, inputs, batched, attrs):
        inputs = [
            *all_batched(n, inputs[:first], batched), *([] if first is None else inputs[first:])]
        items = inputs[0]._array.shape[1]
        merged = [
            x.reshape((n * items,
                       *x._array.shape[2:])) if is_tensor(x) and (first is None or i < first) else x
            for i, x in enumerate(inputs)]
        attrs = {k: (n * items, *v[1:]) if k in sizes else v for k, v in attrs.items()}
        return unfolded(apply(op, tuple(merged), attrs), n)
    return rule


def unfolded(out, n):
    """What `folded` made, with the dimension in front of that of the items."""
    if isinstance(out, tuple):
        return tuple([unfolded(x, n) for x in out])
    shape = out._array.shape
    return out.reshape((n, shape[0] // n, *shape[1:]))


def native(op, n, inputs, batched, attrs):
    """The rule of an op that takes any dimensions in front by itself, on all of its operands."""
    return apply(op, tuple(all_batched(n, inputs, batched)), attrs)


def broadcast(op, n, inputs, batched, attrs):
    """The rule of an op whose operands are broadcast."""
    ndim = max([example_ndim(x, b) for x, b in zip(inputs, batched) if is_tensor(x)])
    return apply(op, tuple([aligned(x, ndim) if b else x for x, b in zip(inputs, batched)]), attrs)


def looped(op, n, inputs, batched, attrs):
    """The op for each example in turn."""
    rows = [
        apply(op, tuple([x.select(0, i) if b else x for x, b in zip(inputs, batched)]), attrs)
        for i in range(n)]
    if isinstance(rows[0], tuple):
        return tuple([_stacked(op, column) for column in zip(*rows)])
    return _stacked(op, rows)


def _stacked(op, rows):
    check_one_shape(op, {x._array.shape for x in rows})
    return _along_a_new_dimension(rows)


def _along_a_new_dimension(xs):
    """Tensors of one type and shape joined along a new dimension in front."""
    return apply(REGISTRY["stack"], tuple(xs), {"dim": 0})


def check_one_shape(op, shapes):
    """Results for the examples make a batch only if they have one shape."""
    if len(shapes) > 1:
        raise RuntimeError(
            f"vmap: {op.name} gives results of different shapes for the examples "
            f"({sorted(map(list, shapes))[:2]}...): shapes that depend on data cannot be batched")


class HostRows(Op):
    """A call of NumPy's for each example in turn, within one op. `apart` says which operands
    have the dimension of the examples in front."""
    family = "host"
    sized_by_data = property(lambda self: self.one.sized_by_data)

    def __init__(self, op):
        self.one = op
        super().__init__(op.name + "_rows",
                         samples=self._two_rows,
                         doc=f"`{op.name}` for each example of a batch.")

    def forward(self, *arrays, apart, **attrs):
        n = next(len(a) for a, each in zip(arrays, apart) if each)
        rows = [
            self.one.forward(*[a[i, ...] if each else a for a, each in zip(arrays, apart)], **attrs)
            for i in range(n)]
        if isinstance(rows[0], tuple):
            return tuple([self._stacked(column) for column in zip(*rows)])
        return self._stacked(rows)

    def _stacked(self, rows):
        check_one_shape(self.one, {np.shape(x) for x in rows})
        return np.stack(rows)

    def batch(self, n, inputs, batched, attrs):
        """A batch of batches is a longer one."""
        apart = attrs["apart"]
        rows = next(x._array.shape[b] for x, b, each in zip(inputs, batched, apart) if each)
        merged = []
        for x, b, each in zip(inputs, batched, apart):
            if b or each:
                x = x if b else repeated(x, n)
                x = x if each else x.unsqueeze(1).expand((n, rows, *x._array.shape[1:]))
                x = x.reshape((n * rows, *x._array.shape[2:]))
            merged.append(x)
        return unfolded(
            apply(self, tuple(merged),
                  {**attrs, "apart": tuple([b or each for b, each in zip(batched, apart)])}), n)

    def _two_rows(self, make):
        for s in self.one.samples(make):
            apart = tuple([is_tensor(x) for x in s.args])
            yield Sample(
                *[_along_a_new_dimension([x.detach()] * 2) if each else x
                  for x, each in zip(s.args, apart)],
                apart=apart,
                **s.kwargs)


def by_rows(*ops):
    """Give host ops that no gradient flows through, and that NumPy has for one example alone,
    their rule."""
    for op in ops:
        rows = HostRows(op)
        op.batch_rule = lambda op, n, inputs, batched, attrs, rows=rows: apply(
            rows, inputs, {**attrs, "apart": tuple(batched)})
