"""Batching rules: what an op does with a dimension more.

A rule is `op.batch(n, inputs, batched, attrs)`: inputs where `batched` says so are tensors with a dimension of size `n` in front of what the
op is told of, the others are as the op is told. It gives the result (or a tuple of results) with that dimension in front, made by ops;
or NotImplemented, where the op is run for each example in turn.
"""
from .registry import apply, is_tensor


def example_ndim(x, has_batch):
    """The dimensions of an operand as the op is told them."""
    return x._array.ndim - 1 if has_batch else x._array.ndim


def aligned(x, ndim):
    """A batched tensor whose examples have `ndim` dimensions, by new ones in front of theirs."""
    from .view import unsqueeze_op
    for _ in range(ndim + 1 - x._array.ndim):
        x = apply(unsqueeze_op, (x,), {"dim": 1})
    return x


def repeated(x, n):
    """A tensor that is the same for each example, with the dimension in front."""
    from .view import expand_op
    return apply(expand_op, (x,), {"size": (n, *x._array.shape)})


def all_batched(n, inputs, batched):
    """The inputs with the dimension in front of each tensor."""
    return [repeated(x, n) if is_tensor(x) and not b else x for x, b in zip(inputs, batched)]


def _more(value, by):
    return value + by if isinstance(value, int) else None if value is None else tuple([v + by for v in value])


def shifted(*dims, sizes=(), least=1, adapt=None):
    """The rule of an op whose attributes `dims` name dimensions (one or several) and whose attributes `sizes` are shapes: all operands get the
    dimension in front. Tensors of fewer than `least` dimensions are left to the loop. `adapt(attrs)` changes the other attributes."""
    def rule(op, n, inputs, batched, attrs):
        if any(is_tensor(x) and example_ndim(x, b) < least for x, b in zip(inputs, batched)):
            return NotImplemented
        new = {k: _more(v, 1) if k in dims else (n, *v) if k in sizes else v for k, v in attrs.items()}
        return apply(op, tuple(all_batched(n, inputs, batched)), {**new, **adapt(attrs)} if adapt else new)
    return rule


def at_one_index(op, n, inputs, batched, attrs):
    """The rule of an op that writes to slices which its last operand, an index, names, if that is the same for all examples."""
    *others, index = inputs
    if batched[-1] or any(is_tensor(x) and not example_ndim(x, b) and (b or i == 0) for i, (x, b) in enumerate(zip(others, batched))):
        return NotImplemented
    full = [repeated(x, n) if is_tensor(x) and not b and x._array.ndim else x for x, b in zip(others, batched)]
    return apply(op, (*full, index), {**attrs, "dim": attrs["dim"] + 1})


def folded(*sizes, first=None):
    """The rule of an op whose operands (or the `first` so many) have a dimension of independent items in front: the examples are more of them.
    `sizes`: attributes that are shapes which begin with the number of items."""
    def rule(op, n, inputs, batched, attrs):
        inputs = [*all_batched(n, inputs[:first], batched), *([] if first is None else inputs[first:])]
        items = inputs[0]._array.shape[1]
        merged = [x.reshape((n * items, *x._array.shape[2:])) if is_tensor(x) and (first is None or i < first) else x
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
    rows = [apply(op, tuple([x.select(0, i) if b else x for x, b in zip(inputs, batched)]), attrs) for i in range(n)]
    if isinstance(rows[0], tuple):
        return tuple([_stacked(op, column) for column in zip(*rows)])
    return _stacked(op, rows)


def _stacked(op, rows):
    from .movement import stack
    shapes = {x._array.shape for x in rows}
    if len(shapes) > 1:
        raise RuntimeError(f"vmap: {op.name} gives results of different shapes for the examples ({sorted(map(list, shapes))[:2]}...): shapes that "
                           "depend on data cannot be batched")
    return stack(rows)
