"""Sums of products by index letters: pairs of operands become one product each."""
import functools
import math
from typing import Any, NamedTuple

from .contraction_order import pairs
from .registry import check_one_type, is_tensor
from .surface import function


@functools.lru_cache(1024)
def _parse(equation, ndims):
    """Index lists of the operands, which have so many dimensions, and of the result; letters are
    characters, the ellipsis' dimensions are negative ints."""
    equation = equation.replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise RuntimeError(
            f"einsum(): {'fewer' if len(ndims) < len(terms) else 'more'} operands were "
            f"provided than specified in the equation {equation!r}")
    width = 0
    inputs = []
    for k, (t, ndim) in enumerate(zip(terms, ndims)):
        before, dots, after = t.partition("...")
        if not (before + after).isalpha() and before + after:
            raise RuntimeError(
                f"einsum(): invalid subscript given in {t!r}, subscripts must be in [a-zA-Z]")
        extra = ndim - len(before) - len(after)
        if extra < 0 or (extra and not dots):
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(before + after)}) does "
                f"not match the number of dimensions ({ndim}) for operand {k}")
        width = max(width, extra)
        inputs.append((before, extra, after))
    lists = [[*b, *range(-n, 0), *a] for b, n, a in inputs]
    if arrow:
        before, dots, after = right.partition("...")
        out = [*before, *(range(-width, 0) if dots else ()), *after]
        known = {i for q in lists for i in q}
        for i in out:
            if i not in known:
                raise RuntimeError(
                    f"einsum(): output subscript {i} does not appear in the equation for any "
                    "input operand")
            if out.count(i) > 1:
                raise RuntimeError(
                    f"einsum(): output subscript {i} appears more than once in the output")
    else:
        flat = [i for q in lists for i in q]
        out = [
            *range(-width, 0),
            *sorted(i for i in set(flat) if isinstance(i, str) and flat.count(i) == 1)]
    return lists, out


class _Term(NamedTuple):
    """An operand, and the index of each of its dimensions."""
    x: Any
    indices: list

    def size(self, index):
        return self.x.shape[self.indices.index(index)]

    def summed_to(self, kept):
        """The sums over all indices that are not among these."""
        x, left = self
        for i in self.indices:
            if i not in kept:
                x = x.sum(left.index(i))
                left = [other for other in left if other != i]
        return _Term(x, left)

    def ordered(self, order):
        """The operand with its dimensions in this order, and those of size 1 for indices that it
        lacks."""
        x = _permuted(self.x, [self.indices.index(i) for i in order if i in self.indices])
        if len(self.indices) == len(order):
            return x
        sizes = iter(x.shape)
        return x.reshape([next(sizes) if i in self.indices else 1 for i in order])


def _diagonals(x, indices):
    """Repeated letters within one operand become a diagonal."""
    indices = list(indices)
    k = 0
    while k < len(indices):
        if indices[k] in indices[:k]:
            first = indices.index(indices[k])
            if x.shape[first] != x.shape[k]:
                raise RuntimeError(
                    f"einsum(): subscript {indices[k]} is repeated for one operand but the sizes "
                    f"don't match, {x.shape[k]} != {x.shape[first]}")
            x = x.diagonal(0, first, k)
            if first < x.ndim - 1:
                x = x.movedim(-1, first)
            del indices[k]
        else:
            k += 1
    return _Term(x, indices)


def _contracted(a, b, keep):
    """One term of two, with the indices in `keep`."""
    shared = [i for i in a.indices if i in b.indices]
    sizes = {}                               # of the indices that both have
    for i in shared:
        m, n = a.size(i), b.size(i)
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"einsum(): operands do not broadcast: subscript {i} has sizes {m} and {n}")
        sizes[i] = n if m == 1 else m
    batch = [i for i in shared if i in keep]
    summed = [i for i in shared if i not in keep]
    a, b = a.summed_to({*shared, *keep}), b.summed_to({*shared, *keep})
    only_a, only_b = ([i for i in x.indices if i not in shared] for x in (a, b))
    out = batch + only_a + only_b
    if not summed:
        return _Term(a.ordered(out).mul(b.ordered(out)), out)

    def joined(term, groups):
        """The operand with one dimension for each group of indices."""
        order = [i for group in groups for i in group]
        x = term.ordered(order)
        full = [sizes.get(i, x.shape[k]) for k, i in enumerate(order)]
        if tuple(full) != tuple(x.shape):
            x = x.expand(full)
        if all(len(group) == 1 for group in groups):
            return x
        return x.reshape([math.prod(full[order.index(i)] for i in group) for group in groups])
    batches = (batch,) if batch else ()
    left, right = joined(a, (*batches, only_a, summed)), joined(b, (*batches, summed, only_b))
    r = left.bmm(right) if batch else left.mm(right)
    if not all(len(group) == 1 for group in (*batches, only_a, only_b)):
        r = r.reshape([sizes[i] for i in batch] + [a.size(i) for i in only_a]
                      + [b.size(i) for i in only_b])
    return _Term(r, out)


def _permuted(x, axes):
    return x if all(k == d for k, d in enumerate(axes)) else x.permute(axes)


class _Plan:
    """What einsum does: `steps` are methods, each with the places of its operands among all that
    there are, and other arguments. There are `count` so far."""

    def __init__(self):
        self.steps, self.count = [], 0


class _Noted:
    """What stands for an operand or a result: it has its shape, and notes what is done with it."""

    def __init__(self, plan, shape):
        self.plan, self.shape, self.ndim = plan, tuple(shape), len(shape)
        self.place, plan.count = plan.count, plan.count + 1

    def then(self, name, shape, *arguments, other=None):
        """What one more step makes."""
        places = [self.place] if other is None else [self.place, other.place]
        self.plan.steps.append((name, places, arguments))
        return _Noted(self.plan, shape)

    def sum(self, dim):
        return self.then("sum", (*self.shape[:dim], *self.shape[dim + 1:]), dim)

    def permute(self, axes):
        return self.then("permute", [self.shape[k] for k in axes], tuple(axes))

    def expand(self, sizes):
        return self.then("expand", sizes, tuple(sizes))

    def reshape(self, sizes):
        return self.then("reshape", sizes, tuple(sizes))

    def diagonal(self, offset, dim1, dim2):
        left = [n for k, n in enumerate(self.shape) if k not in (dim1, dim2)]
        return self.then("diagonal", (*left, self.shape[dim1]), offset, dim1, dim2)

    def movedim(self, source, to):
        *left, n = self.shape
        return self.then("movedim", (*left[:to], n, *left[to:]), source, to)

    def mul(self, other):
        shape = [max(m, n, key=lambda s: (s != 1, s)) for m, n in zip(self.shape, other.shape)]
        return self.then("mul", shape, other=other)

    def mm(self, other):
        return self.then("mm", (self.shape[0], other.shape[1]), other=other)

    def bmm(self, other):
        return self.then("bmm", (*self.shape[:2], other.shape[2]), other=other)


@functools.lru_cache(1024)
def _steps(equation, shapes):
    """The steps for operands of these shapes."""
    lists, out = _parse(equation, tuple(map(len, shapes)))
    plan = _Plan()
    operands = [_Noted(plan, shape) for shape in shapes]
    terms = [_diagonals(x, indices) for x, indices in zip(operands, lists)]
    for i, j in pairs(tuple([frozenset(t.indices) for t in terms]), frozenset(out)):
        b, a = terms.pop(j), terms[i]
        others = [q for k, t in enumerate(terms) if k != i for q in t.indices]
        terms[i] = _contracted(a, b, {*out, *others})
    x, indices = terms[0].summed_to(out)
    order = [indices.index(i) for i in out]
    if x is operands[0]:                     # a new tensor, whatever is done
        x.permute(order)
    else:
        _permuted(x, order)
    return plan.steps


@function(method=False)
def einsum(equation, *operands):
    """Sums of products written with index letters.

    >>> import whet
    >>> whet.einsum("ij,jk->ik", whet.ones(2, 3), whet.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    # einsum(x, [0, 1], y, [1, 2], [0, 2])
    if not isinstance(equation, str):
        args = equation, *operands
        operands, lists = args[0:len(args) - len(args) % 2:2], args[1::2]

        def letters(q):
            return "".join("..." if i is Ellipsis else chr(97 + i) if i < 26 else chr(39 + i)
                           for i in q)

        equation = (",".join(letters(q) for q in lists) +
                    ("->" + letters(args[-1]) if len(args) % 2 else ""))
    elif len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    if not operands:
        raise ValueError("einsum(): must provide at least one operand")
    for x in operands:
        if not is_tensor(x):
            raise TypeError(f"einsum(): operands must be Tensors, got {x.__class__.__name__}")
    there = list(operands)
    for name, places, arguments in _steps(equation, tuple([tuple(x.shape) for x in operands])):
        x, *others = [there[k] for k in places]
        there.append(getattr(x, name)(*others, *arguments))
    return there[-1]


@function(method=False)
def bilinear(input1, input2, weight, bias=None):
    """sum over i, j of input1[i] * weight[k, i, j] * input2[j]

    >>> import whet
    >>> import whet.nn.functional as F
    >>> F.bilinear(whet.ones(1, 2), whet.ones(1, 3), whet.ones(4, 2, 3))
    tensor([[6., 6., 6., 6.]])
    """
    check_one_type("bilinear", input1=input1, input2=input2, weight=weight, bias=bias)
    if input1.ndim != input2.ndim or weight.ndim != 3:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and "
                           f"{input2.ndim}, and a weight of {weight.ndim}")
    for name, x, n in (("input1", input1, weight.shape[1]), ("input2", input2, weight.shape[2])):
        if x.shape[-1:] != (n,):
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got "
                               f"{x.shape[-1] if x.ndim else 'none'} but expected {n}")
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(f"bilinear(): input batch dimensions do not match: got "
                           f"{list(input1.shape[:-1])} and {list(input2.shape[:-1])}")
    if bias is not None and (bias.ndim != 1 or bias.shape[0] != weight.shape[0]):
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got "
                           f"{list(bias.shape)} but expected [{weight.shape[0]}]")
    r = einsum("...i,kij,...j->...k", input1, weight, input2)
    return r if bias is None else r + bias
