"""Doubters' programs: memory that is written to, assigned and held."""

import whet

from tests.traps.harness import leaf, outcome, ramp, shares, trap


@trap
def in_place_on_what_the_graph_has_saved():
    """A write to a saved tensor raises in backward, eagerly and traced, with the same words."""
    w = leaf(2)
    def f(x, how):
        y = (x * w).exp()
        if how == 1:
            y.add_(1)
        if how == 2:
            with whet.no_grad():
                w.add_(1)
        z = (y * w).sum()
        if how == 3:
            x.mul_(2)
        return z
    def calls(f):
        for how in (0, 0, 0, 1, 2, 3, 1, 0):
            x = ramp(2)
            z = f(x, how)
            yield z, outcome(lambda: z.backward()), w.grad, x
    return f, calls


@trap
def memory_that_is_held_beyond_the_call():
    """Results are kept for many calls while their memory could be used again; views of them are
    kept."""
    def f(x):
        y = x * 2
        z = (y + 1).relu()
        return y[::2], z.view(-1)[1:], (y * z).sum()
    def calls(f):
        kept = [f(ramp(4) * k) for k in range(12)]
        yield kept[:6]
        del kept[::2]
        more = [f(ramp(4) * k) for k in range(20, 26)]
        yield kept, more
        kept[0][0].fill_(7)
        yield kept, more, f(ramp(4))
    return f, calls


@trap
def data_of_tensors_is_assigned():
    """w.data = ..., w.data.add_, .data of a result, an exchange of two datas, of another size."""
    w, v = leaf(2), leaf(2)
    def f(x, how):
        if how == 0:
            w.data = w.data * 0.5 + x
        elif how == 1:
            w.data.add_(x)
        elif how == 2:
            w.data, v.data = v.data, w.data
        else:
            w.data = x.clone()
        return (w * v).sum().detach()
    def calls(f):
        for how in (0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 0, 1, 2):
            kept = w.data
            yield f(ramp(2), how), w, v, kept, shares(kept, w), w._version > 0
    return f, calls
