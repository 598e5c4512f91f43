"""Gradients of ops that have a slow, plain definition in terms of other ops."""
from ..autograd import modes
from ..autograd.engine import grad
from .registry import is_tensor


def by_decomposition(fn):
    """A vjp for an op that equals `fn` over simpler ops: differentiate `fn` instead.

    For a fused op whose gradient is a fused op, too. Second derivatives then come from the simpler
    ops: they are rare, so their speed matters less.
    """
    def vjp(g, _y, *xs, needs, **attrs):
        recording = bool(modes.state.flags & modes.GRAD)
        with modes.enable_grad():
            # fresh names for the inputs: tied to their history when a further derivative may be
            # taken, leaves otherwise
            ins = [(x.view_as(x) if recording and x.requires_grad else x.detach().requires_grad_())
                   if n and is_tensor(x) else (x.detach() if is_tensor(x) and not recording else x)
                   for x, n in zip(xs, needs)]
            out = fn(*ins, **attrs)
            wanted = [x for x, n in zip(ins, needs) if n and is_tensor(x)]
            pairs = [(o, c) for o, c in zip(out if isinstance(out, tuple) else (
                out,), g if isinstance(g, list | tuple) else (g,))
                     if c is not None and o.requires_grad]
            got = iter(
                grad([o for o, _ in pairs], wanted, [c for _, c in pairs], create_graph=recording,
                     allow_unused=True) if pairs else [None] * len(wanted))
        return [next(got) if n and is_tensor(x) else None for x, n in zip(ins, needs)]
    return vjp
