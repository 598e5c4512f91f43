"""Forward mode: the tangents of an op's results, from those of its operands.

Linear ops apply themselves to the tangent, products follow the product rule, pointwise ops use the
derivative of their expression. Any other op has its backward transposed: that is a linear function
of the gradient it is given, so the gradient of it is the forward product.
"""
from ..autograd import engine, modes
from ..autograd.levels import variable
from ..autograd.node import Node
from ..dtypes import FLOAT
from .registry import apply, is_tensor


class _Local(Node):
    """A node of a call that nothing else refers to: its results are themselves, with whatever
    history they have."""
    __slots__ = ("results",)

    def saved_outputs(self):
        return tuple(self.results)

    def save_call(self, inputs, outs):
        """Keep what the op's backward reads."""
        self.save(inputs, outs, self.op)
        self.results = outs
        self.outlines = tuple((t._array.shape, t.dtype) for t in outs)


def tangents_of(op, inputs, tangents, outs, attrs):
    """The tangents of an op's results: by its own rule, if it has one. None is zero."""
    own = op.jvp(inputs, tangents, outs, attrs)
    if own is not NotImplemented:
        return own
    moving = [i for i, t in enumerate(tangents) if t is not None]
    if all([i in op.linear for i in moving]):
        return linear(op, inputs, tangents, attrs)
    return (product(op, inputs, tangents, attrs) if op.product else transposed(
        op, inputs, tangents, outs, attrs))


def linear(op, inputs, tangents, attrs):
    """The tangent of the result of an op that is linear in all of the operands `op.linear`
    together."""
    return apply(op,
                 tuple([_or_zero(x, t) if i in op.linear else x
                        for i, (x, t) in enumerate(zip(inputs, tangents))]), attrs)


def _or_zero(x, tangent):
    return tangent if tangent is not None or not is_tensor(x) else x.new_zeros(x.shape)


def product(op, inputs, tangents, attrs):
    """The tangent of the result of an op that is linear in each of its first two operands, and adds
    the third, if there is one."""
    (a, b), (ta, tb) = inputs[:2], tangents[:2]
    more = [t for t in tangents[2:] if t is not None]
    total = None
    if ta is not None or tb is None:
        total = apply(op, (_or_zero(a, ta), b, *more), attrs)
        more = []
    if tb is not None:
        part = apply(op, (a, tb, *more), attrs)
        total = part if total is None else total + part
    return total


def forward_product(pairs, cotangents, recorded):
    """The tangents of results, of pairs (gradient of an operand as a function of the results'
    cotangents, tangent of the operand)."""
    if not pairs:
        return [None] * len(cotangents)
    again = (recorded and (engine.depends_on_others([g for g, _ in pairs], cotangents)
                           or any([t.requires_grad for _, t in pairs])))
    return engine.grad([g for g, _ in pairs], cotangents, [t for _, t in pairs], create_graph=again,
                       allow_unused=True)


def transposed(op, inputs, tangents, outs, attrs):
    """The tangents of the results of any op with a backward."""
    many = isinstance(outs, tuple)
    results = outs if many else (outs,)
    live = [i for i, y in enumerate(results)
            if i not in op.nondiff_outputs and y.dtype.category >= FLOAT]
    recorded = bool(modes.state.flags & modes.GRAD) and any([
        is_tensor(x) and x.requires_grad for x in (*inputs, *tangents)])
    with modes.enable_grad():
        node = _Local(op, tuple([None if t is None else True for t in tangents]), attrs,
                      len(results))
        node.save_call(inputs, results)
        cotangents = [
            variable(y.new_zeros(y.shape)) if i in live else None for i, y in enumerate(results)]
        gradients = op.backward(node, list(cotangents) if many else cotangents[0])
        pairs = [(g, t) for g, t in zip(gradients, tangents)
                 if g is not None and t is not None and g.requires_grad]
        found = forward_product(pairs, [cotangents[i] for i in live], recorded)
    parts = [None] * len(results)
    for i, t in zip(live, found):
        parts[i] = t
    return tuple(parts) if many else parts[0]
