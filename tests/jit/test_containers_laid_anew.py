"""Lists and dicts of tensors in attributes, which calls replace by others: what they hold is any,
as if it lay in attributes of its own. Who changes one, or hands one on, knows it by its identity.
"""

import pytest
import whet

from .ledgers import served

CALLS = 18


def a_list(a, b):
    return [a, b]


def a_dict(a, b):
    return {"a": a, "b": b}


NAMES = {a_list: (0, 1), a_dict: ("a", "b")}


class State:
    """What calls go on with. `before`: what one of them may have had."""

    def __init__(self, kind):
        self.kind, (self.first, self.second) = kind, NAMES[kind]
        self.held = kind(whet.ones(2), whet.ones(2) * 2)
        self.before = None

    def parts(self):
        return self.held[self.first], self.held[self.second]


def go_on(o, x):
    """Lay another container of the same kind."""
    a, b = o.parts()
    o.held = o.kind(a * 0.5 + x, b + x)


def plainly(o, x):
    go_on(o, x)
    return o.held


def read_alone(o, x):
    return [part + x for part in o.parts()]


def twice(o, x):
    go_on(o, x)
    o.before = o.held
    return x * 2


def written_within(o, x):
    o.parts()[0].add_(x)
    go_on(o, x)
    return x * 2


def given_back(o, x):
    before = o.held
    go_on(o, x)
    return before


def handed_on(o, x):
    o.before = o.held
    go_on(o, x)
    return x * 2


def changed_before(o, x):
    o.held[o.first] = x
    go_on(o, x)
    return x * 2


def changed_after(o, x):
    before = o.held
    go_on(o, x)
    before[o.first] = x
    return x * 2


def changed_alone(o, x):
    o.held[o.second] = x * 2
    return o.parts()[0] + x


def asked_whether_it_is_the_same(o, x):
    if o.before is o.held:
        go_on(o, x)
        return x * 2
    go_on(o, x)
    o.before = o.held
    return x * 3


def exchanged_by_others(o, k):
    if k % 3 == 0:
        go_on(o, whet.zeros(2))


def exchanged_for_one_with_a_tensor_twice(o, k):
    if k > 6 and k % 4 == 0:
        o.held = o.kind(o.held[o.first], o.held[o.first])


def known_by_another_name(o, k):
    if k > 6 and k % 4 == 0:
        o.before = o.held


def in_another_order(o, k):
    if k > 6 and k % 5 == 0:
        o.held = (dict(reversed(o.held.items())) if type(o.held) is dict else o.held[::-1])


def plain(x):
    if type(x) is dict:
        return [(key, plain(part)) for key, part in x.items()]
    return [plain(part) for part in x] if type(x) is list else x if x is None else x.tolist()


def seen(o, out, earlier):
    """All that a user can see: what there is, and what is the same object."""
    there = [o.held, o.before, out, *earlier]
    return list(map(plain, there)), [[a is b for b in there] for a in there]


REPLAYED = {plainly, read_alone, twice, written_within}
OTHERS = [given_back, handed_on, changed_before, changed_after, changed_alone,
          asked_whether_it_is_the_same]
MEDDLERS = [None, exchanged_by_others, exchanged_for_one_with_a_tensor_twice,
            known_by_another_name, in_another_order]


@pytest.mark.filterwarnings("ignore::whet.jit.TraceWarning")
@pytest.mark.parametrize("meddle", MEDDLERS)
@pytest.mark.parametrize("step", [*sorted(REPLAYED, key=lambda f: f.__name__), *OTHERS])
@pytest.mark.parametrize("kind", [a_list, a_dict])
def test_containers_are_laid_as_eager_lays_them(kind, step, meddle):
    a, b = State(kind), State(kind)
    traced = whet.jit.trace(lambda x: step(a, x))
    earlier = [], []
    for k in range(CALLS):
        x = whet.tensor([1.0 + k, 0.5 * k])
        for o in (a, b) if meddle else ():
            meddle(o, k)
        out = traced(x.clone()), step(b, x.clone())
        assert seen(a, out[0], earlier[0]) == seen(b, out[1], earlier[1])
        for o, held in zip((a, b), earlier):
            held[:] = [*held, o.held][-3:]
    if step in REPLAYED and meddle in (None, exchanged_by_others):
        assert served(traced) >= CALLS - 4


class Logged:
    """What was logged, whose last two may lie where calls go on from."""

    def __init__(self):
        self.held, self.log = [whet.ones(2), whet.ones(2) * 2], []

    def step(self, x):
        self.log.append(x * 2)
        y = self.held[-1] + 1
        self.held = [self.held[0] + x, y]
        return y


def test_a_list_that_grows_may_lie_there():
    a, b = Logged(), Logged()
    traced = whet.jit.trace(lambda x: a.step(x))
    for k in range(CALLS):
        for o in (a, b) if k in (12, 16) else ():
            o.log[:] = o.held
            o.held = o.log
        x = whet.tensor([1.0 + k, 0.5 * k])
        assert plain([traced(x), a.held, a.log]) == plain([b.step(x), b.held, b.log])
