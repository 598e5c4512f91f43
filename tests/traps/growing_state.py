"""Tensors in Python's state that have other sizes from call to call, which a recording takes as
arguments that no caller passes."""
import whet

from tests.traps.harness import Box, ramp, trap


def grown(o, call, names, n=8, at=()):
    """The results of calls, with what attributes hold after each. `at`: (call, what is done before
    it), in pairs."""
    before = dict(at)
    for i in range(n):
        if i in before:
            before[i]()
        yield call(ramp(1, 3) * (i + 1)), [getattr(o, name) for name in names]


def joined(o, name, x):
    setattr(o, name, whet.cat([getattr(o, name), x]))
    return getattr(o, name)


@trap
def a_cache_begins_anew():
    """It is one row long again, and then of no row."""
    o = Box(rows=ramp(1, 3))
    def f(x): return joined(o, "rows", x).sum(0)
    def calls(f):
        yield from grown(o, f, ["rows"], 12, [(6, lambda: setattr(o, "rows", ramp(1, 3))),
                                              (9, lambda: setattr(o, "rows", whet.zeros(0, 3)))])
    return f, calls


@trap
def a_growing_cache_is_the_argument_too():
    """It is passed once it is of some length."""
    o = Box(rows=ramp(1, 3))
    def f(x): return joined(o, "rows", x) * 2
    def calls(f):
        yield from grown(o, f, ["rows"])
        for _ in range(3):
            yield f(o.rows), o.rows
    return f, calls


@trap
def two_growing_caches_become_one():
    """Both names hold the same tensor, which is written to by one of them."""
    o = Box(a=ramp(1, 3), b=ramp(1, 3) * 2)
    def f(x):
        joined(o, "a", x)
        joined(o, "b", x)
        o.a.mul_(2)
        return o.a.sum() + o.b.sum()
    def calls(f):
        yield from grown(o, f, ["a", "b"], 10, [(7, lambda: setattr(o, "b", o.a))])
    return f, calls


@trap
def a_written_cache_is_a_view_of_another():
    """A write to one shows in the other from some call on."""
    o = Box(a=ramp(1, 3), b=ramp(1, 3) * 2)
    def f(x):
        o.a = whet.cat([o.a, x])
        o.b.add_(1)
        return o.a.sum() + o.b.sum()
    def calls(f):
        for i in range(12):
            if i > 6:
                o.b = o.a[:i % 3 + 1]
            elif i:
                o.b = ramp(i % 3 + 1, 3)
            yield f(ramp(1, 3) * i), o.a, o.b
    return f, calls


@trap
def python_decides_by_the_length_of_a_cache():
    """It is cut once it is long."""
    o = Box(rows=ramp(1, 3))
    def f(x):
        joined(o, "rows", x)
        if o.rows.shape[0] > 5:
            o.rows = o.rows[-3:]
        return o.rows.mean(0)
    return f, lambda f: grown(o, f, ["rows"], 16)


@trap
def python_decides_by_what_a_cache_holds():
    """The sum of a growing tensor chooses the way."""
    o = Box(rows=ramp(1, 3))
    def f(x):
        joined(o, "rows", x)
        return o.rows.sum(0) if o.rows.sum() < 60 else -o.rows.mean(0)
    return f, lambda f: grown(o, f, ["rows"], 12)


@trap
def a_growing_cache_gets_another_type():
    """Then another number of dimensions, then it is no tensor, then one again."""
    o = Box(rows=ramp(1, 3))
    def f(x):
        o.rows = x if o.rows is None else whet.cat([o.rows, x.to(o.rows.dtype).reshape(
            1, *o.rows.shape[1:])])
        return o.rows.sum()
    return f, lambda f: grown(o, f, ["rows"], 16, [
        (5, lambda: setattr(o, "rows", o.rows.double())),
        (8, lambda: setattr(o, "rows", ramp(2, 3, 1))),
        (11, lambda: setattr(o, "rows", None)), (14, lambda: setattr(o, "rows", ramp(2, 3)))])


@trap
def a_growing_cache_requires_a_gradient():
    """From some call on gradients flow into what it was."""
    o, held = Box(rows=ramp(1, 3)), []
    def f(x): return (joined(o, "rows", x) * 3).sum()
    def calls(f):
        for i in range(10):
            if i == 5:
                o.rows = o.rows.detach().requires_grad_()
                held.append(o.rows)
            out = f(ramp(1, 3) * i)
            if i == 8:
                out.backward()
            yield out.detach(), out.requires_grad, [t.grad for t in held]
    return f, calls


@trap
def a_growing_tuple_gets_another_part():
    """Then its parts are exchanged, then both are the same tensor."""
    o = Box(state=(ramp(1, 3), ramp(1, 3) * 2))
    def f(x):
        o.state = tuple([whet.cat([part, x * i]) for i, part in enumerate(o.state, 1)])
        return sum([part.sum() for part in o.state])
    def calls(f):
        for i in range(16):
            if i == 6:
                o.state = (*o.state, ramp(2, 3))
            elif i == 9:
                o.state = o.state[::-1]
            elif i == 12:
                o.state = (o.state[0], o.state[0])
            yield f(ramp(1, 3) * i), o.state
    return f, calls


@trap
def a_growing_dict_gets_other_keys():
    """In another order, then with one more."""
    o = Box(state={"k": ramp(1, 3), "v": ramp(1, 3) * 2})
    def f(x):
        o.state = {key: whet.cat([part, x]) for key, part in o.state.items()}
        return [key for key in o.state], sum([part.sum() for part in o.state.values()])
    def calls(f):
        for i in range(14):
            if i == 6:
                o.state = dict(reversed(o.state.items()))
            elif i == 10:
                o.state["w"] = ramp(1, 3)
            yield f(ramp(1, 3) * i), o.state
    return f, calls


@trap
def the_old_list_of_a_growing_one_is_looked_at():
    """A call lays a new list; the old one, which somebody holds, stays as it was."""
    o, held = Box(state=[ramp(1, 3), ramp(1, 3) * 2]), []
    def f(x):
        o.state = [whet.cat([part, x]) for part in o.state]
        return sum([part.sum() for part in o.state])
    def calls(f):
        for i in range(10):
            held.append(o.state)
            yield f(ramp(1, 3) * i), held, held[-1] is o.state
    return f, calls


@trap
def a_growing_list_is_written_to_by_a_later_call():
    """Its first item is set in place, so its identity counts."""
    o, held = Box(state=[ramp(1, 3), ramp(1, 3) * 2]), []
    def f(x, in_place):
        if in_place:
            o.state[0] = whet.cat([o.state[0], x])
        else:
            o.state = [whet.cat([part, x]) for part in o.state]
        return sum([part.sum() for part in o.state])
    def calls(f):
        for i in range(14):
            held.append(o.state)
            yield f(ramp(1, 3) * i, i > 6), held, held[-1] is o.state
    return f, calls


@trap
def an_old_cache_is_given_back():
    """What was there before the call, and what is there now."""
    o = Box(rows=ramp(1, 3))
    def f(x):
        before = o.rows
        joined(o, "rows", x)
        return before, o.rows
    def calls(f):
        for i in range(8):
            was = o.rows
            out = f(ramp(1, 3) * i)
            yield out, out[0] is was, out[1] is o.rows
    return f, calls


@trap
def a_growing_cache_has_hooks_or_attributes():
    """Then it is known for them."""
    o, seen = Box(rows=ramp(1, 3)), []
    def f(x):
        mark = getattr(o.rows, "mark", 1)
        return joined(o, "rows", x).sum() * mark
    def calls(f):
        for i in range(12):
            if i == 6:
                o.rows.mark = 5
            if i == 9:
                o.rows.requires_grad_().register_hook(seen.append)
            out = f(ramp(1, 3) * i)
            if out.requires_grad:
                out.backward()
            yield out.detach(), list(seen)
    return f, calls


@trap
def models_with_growing_caches_take_turns():
    """Two of one class are the first argument by turns, each with a cache of its own."""
    class Model:
        def __init__(self, k): self.rows, self.k = ramp(k, 3), k
    models = Model(1), Model(2)
    def f(model, x):
        joined(model, "rows", x)
        return model.rows.sum(0) * model.k
    def calls(f):
        for i in range(14):
            model = models[i // 2 % 2]
            yield f(model, ramp(1, 3) * i), model.rows
    return f, calls


@trap
def a_cache_that_grows_by_any_number_of_rows():
    """Of the argument's rows, which are none at some calls."""
    o = Box(rows=ramp(1, 3))
    def f(x): return joined(o, "rows", x).sum(0), o.rows.shape
    def calls(f):
        for n in (1, 2, 3, 1, 0, 4, 2, 0, 7, 5, 1, 3):
            yield f(ramp(n, 3)), o.rows
    return f, calls
