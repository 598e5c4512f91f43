"""Doubters' programs: memory that is written to, assigned and held."""

import whet
from whet import optim

from tests.traps.harness import leaf, mlp, outcome, ramp, shares, state, trap


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


@trap
def weights_go_back_to_where_they_were():
    """Sharpness-aware steps: what was set aside becomes the weights' memory again, and is read
    by who holds it; a weight that shares another's memory sees its writes."""
    model, held = mlp(), {}
    opt = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    def f(x):
        with whet.no_grad():
            for p in model.parameters():
                held[p] = p.data.clone()
                p.add_(0.25)
        loss = model(x).square().mean()
        opt.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data = held[p]
        opt.step()
        return loss
    def calls(f):
        for k in range(8):
            yield f(ramp(2, 3)), state(model, opt), [h.clone() for h in held.values()]
            yield [shares(p, h) for p, h in held.items()], [p._version for p in held]
            if k == 4:
                held[model[0].weight].mul_(2)
    return f, calls


@trap
def memory_is_that_of_something_from_outside():
    """Of another weight, of an argument, of a view of its own; written to by both names."""
    w, v = leaf(3), leaf(3)
    def f(x, how):
        with whet.no_grad():
            w.mul_(0.5)
            if how == "other":
                w.data = v.data
            elif how == "argument":
                w.data = x
            elif how == "view":
                w.data = x[1:]
            elif how == "exchange":
                w.data, v.data = v.data, w.data
            elif how == "turned":
                w.data = w.data.flip(0)
            w.add_(1)
        return w * 2 + v.sum()
    def calls(f):
        for how in ("turned", "other", "exchange", "argument", "exchange", "turned", "view",
                    "other", "none", "turned"):
            for k in range(4):
                x = ramp(4 if how == "view" else 3) * (k + 1)
                yield f(x, how), w, v, x, shares(w, v), shares(w, x), w._version, v._version
                if k == 2:
                    with whet.no_grad():
                        x.add_(1), v.sub_(1)
                    yield w, v, x
    return f, calls
