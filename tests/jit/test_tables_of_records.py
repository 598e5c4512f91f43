"""Calls through tables whose arguments are named tuples, or containers alike, and whose results are
named tuples, shapes, objects or tensors of inference mode."""
import collections
import dataclasses
import types
import weakref

import pytest
import whet

from tests.jit.table_calls import compiled, equal, never_slow, replays_by_table

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")


class WithMore(Pair):
    """Its instances may have attributes beside the fields."""


@dataclasses.dataclass
class Outputs:
    logits: whet.Tensor
    loss: float = 0.0


class Result(dict):
    pass


@pytest.fixture(autouse=True)
def untimed(monkeypatch):
    never_slow(monkeypatch)


def x(k):
    return whet.arange(4.0) + k


RESULTS = {
    "named tuple": lambda x: Pair(x * 2, Other(x + 1, 3)),
    "one of ours": lambda x: (x * 2).topk(2),
    "largest": lambda x: x.max(0),
    "shape": lambda x: ((x * 2).shape, x + 1),
    "dataclass": lambda x: Outputs(x * 2, (x + 1).sum().item()),
    "namespace": lambda x: types.SimpleNamespace(a=x * 2, b=[x + 1]),
    "dict of a class": lambda x: Result(a=x * 2, b=x.sum().item()),
    "in a list": lambda x: [Pair(x * 2, x), {"o": Outputs(x + 1)}],
    "inference": whet.inference_mode()(lambda x: (x * 2, [x + 1])),
    "view in inference": whet.inference_mode()(lambda x: (x * 2)[1:]),
}


@compiled
@pytest.mark.parametrize("name", RESULTS)
def test_results(name):
    replays_by_table(RESULTS[name], lambda k: [x(k)])


@compiled
def test_named_tuples_among_arguments():
    def fn(p):
        return p.a * 2 + p.b
    f = replays_by_table(fn, lambda k: [Pair(x(k), x(k + 1))])
    more = WithMore(x(1), x(2))
    more.c = x(3)
    for p in (Other(x(3), x(4)), WithMore(x(1), x(2)), more, Pair(x(1), 2.0), Pair(x(5), x(6))):
        for _ in range(4):
            assert equal(f(p), fn(p))


@compiled
def test_a_named_tuple_within_others():
    replays_by_table(lambda p: p["k"].a[0] + p["k"].b, lambda k: [{"k": Pair([x(k)], x(k + 1))}])


@compiled
def test_two_lists_are_no_list_twice():
    def fn(a, b):
        return [p + q for p, q in zip(a, b)], a is b
    f = replays_by_table(fn, lambda k: [[x(k), x(k + 1)], [x(k + 2), x(k + 3)]])
    same = [x(1), x(2)]
    for _ in range(4):
        assert equal(f(same, same), fn(same, same))
        assert equal(f([x(1), x(2)], same), fn([x(1), x(2)], same))


@compiled
def test_nothing_holds_what_was_given_and_made():
    f = replays_by_table(RESULTS["in a list"], lambda k: [x(k)])
    given = x(1)
    held = [weakref.ref(given), *(weakref.ref(t) for t in (f(given)[0].a, f(given)[1]["o"].logits))]
    del given
    assert [r() for r in held] == [None] * 3


@compiled
def test_a_class_that_changes_is_seen(monkeypatch):
    f = replays_by_table(RESULTS["named tuple"], lambda k: [x(k)])
    monkeypatch.setattr(Pair, "_make", classmethod(lambda cls, fields: "other"))
    assert equal(f(x(1)), RESULTS["named tuple"](x(1)))
