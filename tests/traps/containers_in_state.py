"""Containers and objects of data in Python's state, of which another comes now and then: a
recording takes such a one as an argument that no caller passes."""
import gc
import weakref

import whet

from tests.traps.harness import Box, ramp, trap


class Cache:
    """Keys and values, and how many there are."""
    def __init__(self, k=1): self.k, self.v, self.seen = ramp(k, 3), ramp(k, 3) * 2, k
    def update(self, x):
        self.k, self.v = whet.cat([self.k, x]), whet.cat([self.v, x * self.seen])
        self.seen += 1
        return self.k.sum() + self.v.sum() * self.seen


def texts(o, f, begin, held, n=4, steps=5):
    """Calls for some texts. Before each, another container is laid; the old ones are held."""
    for i in range(n):
        begin(i)
        for k in range(steps):
            yield f(ramp(1, 3) * (i + k)), held(o)


@trap
def a_list_of_tensors_is_set_item_by_item():
    """Another list for each text; who holds the first sees what was done to it."""
    o, lists = Box(state=None), []
    def f(x):
        for i in range(len(o.state)):
            o.state[i] = whet.cat([o.state[i], x * i])
        return sum([part.sum() for part in o.state])
    def begin(i):
        o.state = [ramp(1, 3), ramp(2, 3)]
        lists.append(o.state)
    return f, lambda f: texts(o, f, begin, lambda o: (lists, lists[-1] is o.state))


@trap
def a_dict_of_lists_is_filled():
    """By the first call of a text, and appended to by others."""
    o, dicts = Box(state=None), []
    def f(x):
        o.state.setdefault("rows", []).append(x * 2)
        o.state["sum"] = o.state.get("sum", 0) + x.sum()
        return whet.cat(o.state["rows"]).sum(0) + o.state["sum"]
    def begin(i):
        o.state = {}
        dicts.append(o.state)
    return f, lambda f: texts(o, f, begin, lambda o: (dicts, dicts[-1] is o.state))


@trap
def an_object_of_data_counts():
    """It is another for each text, and a number in it is another at each call."""
    o, caches = Box(cache=None), []
    def f(x): return o.cache.update(x)
    def begin(i):
        o.cache = Cache(1 + i % 2)
        caches.append(o.cache)
    return f, lambda f: texts(o, f, begin, lambda o: [vars(c) for c in caches], 5)


@trap
def a_list_of_pairs_is_replaced_at_each_call():
    """By a list of pairs with others, of which some are the same tensors."""
    o = Box(state=None)
    def f(x):
        o.state = [(whet.cat([a, x]), b if i else b + 1) for i, (a, b) in enumerate(o.state)]
        return sum([a.sum() * b.sum() for a, b in o.state])
    def begin(i): o.state = [(ramp(1, 3), ramp(3)), (ramp(2, 3), ramp(3) * 2)]
    return f, lambda f: texts(o, f, begin, lambda o: o.state)


@trap
def a_tuple_of_a_tensor_and_nested_numbers():
    """They are computed with."""
    o = Box(state=None)
    def f(x):
        rows, (n, scale) = o.state
        o.state = whet.cat([rows, x * scale]), (n + 1, scale * 1.5)
        return rows.sum(0) * n
    def begin(i): o.state = ramp(1 + i, 3), (i, 1.0 + i)
    return f, lambda f: texts(o, f, begin, lambda o: o.state)


@trap
def python_decides_by_a_number_in_another_object():
    """A text is cut when it is long, as the object's counter says."""
    o = Box(cache=None)
    def f(x):
        out = o.cache.update(x)
        if o.cache.seen > 4:
            o.cache.k, o.cache.seen = o.cache.k[-1:], 2
        return out
    def begin(i): o.cache = Cache(1 + i)
    return f, lambda f: texts(o, f, begin, lambda o: vars(o.cache), 4, 7)


@trap
def one_object_is_in_two_attributes():
    """Of some texts both caches are one."""
    o = Box(a=None, b=None)
    def f(x): return o.a.update(x) - o.b.update(x * 2) * 0.5
    def begin(i):
        o.a = Cache()
        o.b = o.a if i % 2 else Cache(2)
    return f, lambda f: texts(o, f, begin, lambda o: (vars(o.a), vars(o.b), o.a is o.b), 6)


@trap
def one_object_is_in_two_attributes_from_the_start():
    """And later they are two."""
    o = Box(a=None, b=None)
    def f(x): return o.a.update(x) - o.b.update(x * 2) * 0.5
    def begin(i):
        o.a = Cache()
        o.b = Cache(2) if i > 2 else o.a
    return f, lambda f: texts(o, f, begin, lambda o: (vars(o.a), vars(o.b), o.a is o.b), 5)


@trap
def the_object_is_an_argument_too():
    """Some calls are given the very cache that is in the attribute."""
    o = Box(cache=None)
    def f(cache, x): return cache.update(x) + o.cache.update(x)
    def calls(f):
        for i in range(6):
            o.cache, mine = Cache(), Cache(2)
            for k in range(4):
                given = o.cache if i % 2 else mine
                yield f(given, ramp(1, 3) * k), vars(o.cache), vars(given)
    return f, calls


@trap
def identity_of_the_object_is_asked():
    """Against one that another attribute holds, and against one that was there before."""
    o = Box(cache=None, first=None)
    def f(x):
        out = o.cache.update(x)
        return out * (2 if o.cache is o.first else 3)
    def begin(i):
        o.cache = o.first if i % 3 == 2 else Cache()
        o.first = o.first or o.cache
    return f, lambda f: texts(o, f, begin, lambda o: vars(o.cache), 7, 4)


@trap
def the_address_of_the_list_is_asked():
    """By `id`, as a key of a table."""
    o, known = Box(state=None), {}
    def f(x):
        o.state[0] = whet.cat([o.state[0], x])
        return o.state[0].sum() * known[id(o.state)]
    def begin(i):
        o.state = [ramp(1, 3)]
        known[id(o.state)] = i + 1
        o.__dict__.setdefault("all", []).append(o.state)
    return f, lambda f: texts(o, f, begin, lambda o: o.state)


@trap
def a_method_of_the_objects_class_is_patched():
    """Between two texts, and in the midst of one."""
    class Cached(Cache):
        pass
    o = Box(cache=None)
    def f(x): return o.cache.update(x)
    def doubled(self, x): return Cache.update(self, x * 2)
    def calls(f):
        for i in range(5):
            o.cache = Cached()
            for k in range(5):
                if (i, k) in ((2, 0), (3, 3)):
                    Cached.update = doubled
                elif (i, k) in ((3, 0), (4, 1)):
                    del Cached.update
                yield f(ramp(1, 3) * k), vars(o.cache)
    return f, calls


@trap
def an_object_of_another_class_comes():
    """One that overrides the method, then one that is no data, then none."""
    class Other(Cache):
        def update(self, x): return super().update(x) * 10
    class Noisy(Cache):
        def __setattr__(self, name, value): object.__setattr__(self, name, value)
        def __hash__(self): return 7
    o = Box(cache=None)
    def f(x): return x.sum() if o.cache is None else o.cache.update(x)
    kinds = Cache, Cache, Other, Cache, Noisy, lambda: None, Other, Cache, Noisy
    def begin(i): o.cache = kinds[i]()
    return f, lambda f: texts(o, f, begin, lambda o: o.cache and vars(o.cache), len(kinds), 4)


@trap
def a_part_of_the_container_is_known_by_another_name():
    """A tensor in it is an attribute of its own, which is written to."""
    o = Box(state=None, rows=ramp(2, 3))
    def f(x):
        o.rows.add_(1)
        o.state[1] = o.state[1] + x
        return o.state[0].sum() + o.state[1].sum()
    def begin(i): o.state = [o.rows if i % 2 else ramp(2, 3), ramp(1, 3)]
    return f, lambda f: texts(o, f, begin, lambda o: (o.state, o.rows), 6, 4)


@trap
def a_list_in_the_container_is_known_by_another_name():
    """It is appended to by that name."""
    o, rows = Box(state=None), []
    def f(x):
        rows.append(x)
        o.state["n"] = o.state["n"] + x
        return whet.stack([t.sum() for t in o.state["rows"]]).sum() + o.state["n"].sum()
    def begin(i):
        rows.clear()
        o.state = {"rows": rows if i % 2 else [ramp(3)], "n": ramp(1, 3)}
    return f, lambda f: texts(o, f, begin, lambda o: (o.state, rows), 6, 4)


@trap
def the_call_fails_midway():
    """After it has set an item."""
    o = Box(state=None)
    def f(x):
        o.state[0] = whet.cat([o.state[0], x])
        y = o.state[0] @ ramp(3, 2)
        o.state[1] = o.state[1] + y.sum(0)
        return o.state[1]
    def outcome(x, f):
        try:
            return f(x)
        except (RuntimeError, ValueError) as e:
            return type(e).__name__
    def calls(f):
        for i in range(5):
            o.state = [ramp(1, 3), ramp(2)]
            for k in range(5):
                if i > 2 and k == 3:
                    o.state[1] = ramp(5)
                yield outcome(ramp(1, 3) * k, f), o.state
    return f, calls


@trap
def numpy_arrays_in_the_container():
    """Which are written to, and replaced."""
    o = Box(state=None)
    def f(x):
        o.state["n"] += 1
        o.state["sum"] = o.state["sum"] + x.numpy().sum()
        return x * o.state["sum"].mean() + whet.from_numpy(o.state["n"])
    def begin(i):
        import numpy as np
        o.state = {"n": np.zeros(3, np.float32), "sum": np.ones(2, np.float32) * i}
    return f, lambda f: texts(o, f, begin, lambda o: o.state)


@trap
def a_global_and_a_variable_hold_the_container():
    """The function rebinds the variable."""
    rows, state = [ramp(1, 3)], {"at": ramp(1, 3)}
    def f(x):
        nonlocal rows
        rows = [*rows[-2:], x]
        state["at"] = whet.cat([state["at"], x])
        return sum([t.sum() for t in rows]) + state["at"].sum()
    def calls(f):
        nonlocal rows, state
        for i in range(5):
            rows, state = [ramp(1, 3)] * (1 + i % 2), {"at": ramp(1 + i, 3)}
            for k in range(5):
                yield f(ramp(1, 3) * k), rows, state
    return f, calls


@trap
def old_containers_are_let_go():
    """As eagerly, once another is in their place and some calls were made."""
    o, gone = Box(cache=None), []
    def f(x): return o.cache.update(x)
    def calls(f):
        for _ in range(6):
            o.cache = Cache()
            gone.append(weakref.ref(o.cache))
            for k in range(5):
                yield f(ramp(1, 3) * k), vars(o.cache)
        o.cache = None
        gc.collect()
        yield f is not None
    return f, calls


@trap
def the_container_requires_gradients():
    """From some text on, and their gradients flow."""
    o = Box(state=None)
    def f(x):
        o.state[0] = whet.cat([o.state[0], x])
        return (o.state[0] * o.state[1]).sum()
    def calls(f):
        for i in range(6):
            w = ramp(3)
            if i > 2:
                w.requires_grad_()
            o.state = [ramp(1, 3), w]
            for k in range(4):
                out = f(ramp(1, 3) * k)
                if out.requires_grad and k == 3:
                    out.backward()
                yield out.detach(), o.state[0].detach(), w.grad
    return f, calls
