"""Things that cannot be compared, beside what a function reads: it is recorded. One that reads them
is not, whichever way it comes to them."""
import collections
import copy
import dataclasses
import functools
import inspect
import io
import itertools
import json
import logging
import operator
import os
import pickle
import pprint
import queue
import socket
import string
import threading
import types
import typing
import weakref

import numpy as np
import pytest
import whet


class Holder:
    """Something of the user's with a queue."""
    beside = 1.0

    def __init__(self, held):
        self.held = held


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held):
        self.held = held


@dataclasses.dataclass
class Record:
    held: object


class Telling(queue.Queue):
    """A queue that says how much it holds."""

    def __repr__(self):
        return str(self.qsize())

    def __eq__(self, other):
        return self.qsize() == other.qsize()

    def __hash__(self):
        return 1


THINGS = [
    threading.Lock(), threading.Event(), threading.local(), queue.Queue(), iter([1, 2]),
    (x for x in ()), {Holder(1), Holder(2)}, weakref.ref(Holder), socket.socket(),
    np.zeros(1 << 17), itertools.count(), memoryview(b"ab"), np.random.default_rng(0)]
SHARED = THINGS[3]
WAYS = [
    lambda h: h.held.qsize(),
    lambda h: getattr(h, "held").qsize(),                 # noqa: B009
    lambda h: getattr(h, "he" + "ld").qsize(),
    lambda h: vars(h)["held"].qsize(),
    lambda h: h.__dict__["held"].qsize(),
    lambda h: next(iter(vars(h).values())).qsize(),
    lambda h: operator.attrgetter("held")(h).qsize(),
    lambda h: copy.copy(h).held.qsize(),
    lambda h: [h.held][0].qsize(),
    lambda h: {"q": h.held}["q"].qsize(),
    lambda h: SHARED.qsize(),
    lambda h: globals()["SHARED"].qsize(),
    lambda h: int(f"{h.held}"),
    lambda h: int(f"{h.held}"),
    lambda h: with_a_name(h).qsize(),
    lambda h: len(list(map(queue.Queue.qsize, [h.held]))) + h.held.qsize()]


def with_a_name(h):
    match h:
        case Holder(held=found):
            return found


@pytest.fixture(autouse=True)
def emptied():
    SHARED.queue.clear()


def agrees(fn, *args):
    """Is a traced function what it is eagerly, while the queue fills?"""
    f = whet.jit.trace(fn)
    for _ in range(6):
        x = whet.ones(2)
        assert f(x, *args).tolist() == fn(x, *args).tolist()
        next(q for q in (getattr(args[0], "held", None), SHARED)
             if isinstance(q, queue.Queue)).put(1)
    return f


@pytest.mark.parametrize("number", range(len(THINGS)))
@pytest.mark.parametrize("kind", [Holder, Slotted, Record, type("Class", (), {}), whet.nn.Module])
def test_what_is_not_read_is_no_reason_to_run_eagerly(kind, number):
    thing = THINGS[number]
    holder = kind(thing) if kind in (Holder, Slotted, Record) else kind()
    if not hasattr(holder, "held"):
        (type(holder) if kind.__name__ == "Class" else holder).held = thing

    f = whet.jit.trace(lambda x: x * 2 if holder is not None else x)
    for _ in range(4):
        assert f(whet.ones(2)).tolist() == [2.0, 2.0]
    assert f.explain(data=True)["calls"]["replayed"] >= 2


@pytest.mark.parametrize("number", range(len(WAYS)))
def test_what_is_read_is_read_at_each_call(number):
    way, holder = WAYS[number], Holder(Telling() if number not in (10, 11) else SHARED)
    agrees(lambda x, h: x + way(h), holder)


def test_what_other_code_reads_of_an_object():
    """A text of all that it has, its hash, or what it is equal to."""
    record, twin = Record(Telling()), Record(Telling())
    agrees(lambda x, h: x + len(repr(h)) + int(repr(h)[:-1].split("=")[1]), record)
    agrees(lambda x, h: x + (h == twin), Record(Telling()))
    agrees(lambda x, h: x + int(repr(h)[:-1].split("=")[1]), types.SimpleNamespace(held=Telling()))


def test_what_lies_where_no_name_leads():
    """In a list, as a default, in a variable of an enclosing function, and as a part of a call."""
    q = Telling()

    def by_default(x, h, q=q):
        return x + q.qsize()
    get = functools.partial(getattr, Holder(q), "held")
    size = q.qsize
    for fn in (by_default, lambda x, h: x + q.qsize(), lambda x, h: x + get().qsize(),
               lambda x, h: x + size()):
        agrees(fn, Holder(q))
    listed = whet.jit.trace(lambda x, h: x * len(h.held))
    with pytest.warns(whet.jit.TraceWarning, match="held"):
        for _ in range(3):
            listed(whet.ones(2), Holder([threading.Event()]))


class Shown(Holder):
    def __repr__(self):
        return f"{sorted(vars(self).items(), key=str)}"


@dataclasses.dataclass
class Pair:
    first: object
    held: object


class Matched(Holder):
    __match_args__ = ("held",)


def only_of(matched):
    match matched:
        case Matched(held):
            return held


TEMPLATE, FORMATTER = "{0.held}", string.Formatter()


def second_of(pair):
    match pair:
        case Pair(_, second):
            return second


NAMES, NAMED = ["held"], operator.attrgetter("held")

# how one comes to what an object has without a name for it
UNNAMED = [
    lambda h: len(pickle.dumps(h)),
    lambda h: len(pickle.dumps(copy.copy(h))),
    lambda h: len(pickle.dumps(copy.deepcopy(h))),
    lambda h: len(str(h.__reduce_ex__(2)[2])),
    lambda h: len(str(h.__getstate__())),
    lambda h: len(str([x for name, x in inspect.getmembers(h) if name[0] != "_"])),
    lambda h: len(json.dumps(h, default=vars)),
    lambda h: len(json.dumps(h, default=lambda x: x.__dict__)),
    lambda h: len(str([getattr(h, k) for k in dir(h) if not k.startswith("_")])),
    lambda h: len(str(operator.methodcaller("__getstate__")(h))),
    lambda h: len(f"{types.SimpleNamespace(a=h)}"),
    lambda h: len(pprint.pformat(h)),
    lambda h: len(TEMPLATE.format(h)),
    lambda h: len("{x.held}".format_map({"x": h})),
    lambda h: len(str.format(TEMPLATE, h)),
    lambda h: len(FORMATTER.format(TEMPLATE, h)),
    lambda h: len(FORMATTER.vformat(TEMPLATE, [h], {})),
    lambda h: len(only_of(h)),
    lambda h: len(NAMED(h)),
    lambda h: len(functools.reduce(getattr, NAMES, h)),
    lambda h: len(inspect.getattr_static(h, NAMES[0])),
    lambda h: len([*map(getattr, [h], NAMES)][0]),
    lambda h: len(eval(f"h.{NAMES[0]}"))]
OF_PAIRS = [
    lambda p: len(second_of(p)),
    lambda p: len(str(dataclasses.asdict(p))),
    lambda p: len(str(dataclasses.astuple(p))),
    lambda p: len(str(dataclasses.replace(p))),
    lambda p: len(repr(p)),
    lambda p: p == Pair(1, [1, 1]),
    lambda p: len(pprint.pformat(p)),
    lambda p: len(str([getattr(p, f.name) for f in dataclasses.fields(p)]))]


@pytest.mark.parametrize("way, make", [
    *((way, lambda: Matched([])) for way in UNNAMED),
    *((way, lambda: Pair(1, [])) for way in OF_PAIRS),
    (lambda h: len(repr(h)), lambda: Shown([]))])
def test_what_is_read_without_a_name_for_it(way, make):
    """As what it is in is an argument, or lies in a variable."""
    thing = make()
    f, g = whet.jit.trace(lambda x, h: x + way(h)), whet.jit.trace(lambda x: x + way(thing))
    for _ in range(6):
        thing.held.append(1)
        wanted = (whet.ones(2) + way(thing)).tolist()
        assert f(whet.ones(2), thing).tolist() == g(whet.ones(2)).tolist() == wanted


def test_what_lies_beside_a_step():
    """What no code of a step names may be as large as it likes, and change."""
    class Trainer:
        def __init__(self):
            self.model, self.memory = whet.nn.Linear(2, 2), collections.deque(maxlen=30000)
            self.memory.extend((np.zeros(2), n) for n in range(30000))
            self.log = [io.StringIO(), threading.Lock(), open(os.devnull, "w")]

        @whet.jit.trace
        def step(self, x):
            return self.model(x).sum()
    trainer = Trainer()
    for n in range(8):
        trainer.memory.append((np.ones(2), n))
        trainer.log.append(threading.Lock())
        trainer.step(whet.ones(3, 2))
    assert Trainer.step.explain(data=True)["calls"]["replayed"] == 7
    trainer.log[2].close()


def test_another_thing_in_its_place():
    """What lies there is compared by who it is."""
    h = Holder(queue.Queue())
    f = whet.jit.trace(lambda x, h: x * (2 if h.beside else 3))
    for held in (h.held, h.held, h.held, queue.Queue(), threading.Lock(), 3.0):
        h.held = held
        assert f(whet.ones(2), h).tolist() == [2.0, 2.0]
    Holder.beside = 0.0
    try:
        assert f(whet.ones(2), h).tolist() == [3.0, 3.0]
    finally:
        Holder.beside = 1.0


def _asks_its_type(x):
    return type(x) is logging.Logger


LOG = logging.getLogger("tests.unread")
Kind: typing.TypeAlias = type[whet.Tensor] | typing.Type[int]      # noqa: UP006


def test_code_that_asks_for_types_beside_a_logger():
    """A stand-in for a logger is told from it by its type, so it has none there."""
    def quiet(x, kind: Kind = None):
        if x.shape[0] > 9:
            LOG.warning("large")
        return x * 2 if not isinstance(kind, type) else x
    f = whet.jit.trace(quiet)
    for _ in range(4):
        assert f(whet.ones(2)).tolist() == [2.0, 2.0]
    assert f.explain(data=True)["calls"]["replayed"] >= 2
    agrees(lambda x, h: x + _asks_its_type(LOG), Holder(Telling()))
    agrees(lambda x, h: x + (LOG.__class__ is logging.Logger), Holder(Telling()))


@pytest.mark.parametrize("ask", [
    lambda n: LOG.level,
    lambda n: LOG.isEnabledFor(logging.INFO),
    lambda n: len(LOG.handlers),
    lambda n: LOG.warning("n is %d", n) or 0,
    lambda n: getattr(LOG, ("lev", "el")[0] + "el"),
    lambda n: vars(LOG)["level"],
])
def test_a_logger_of_code_that_asks_for_types(ask, caplog):
    """It is there itself. What it is set to is compared, and to log makes the call eager."""
    def step(x, n):
        return x * ask(n) if n > 2 and type(n) is int else x - n
    f, x, handler = whet.jit.trace(step), whet.ones(2), logging.NullHandler()
    try:
        for n, level in [*3 * [(1, 0)], (1, 10), *3 * [(3, 10)], *2 * [(3, 30)], (1, 30),
                         *2 * [(3, 10)]]:
            LOG.setLevel(level)
            (LOG.addHandler if n > 2 else LOG.removeHandler)(handler)
            caplog.clear()
            found, said = f(x, n).tolist(), caplog.messages[:]
            caplog.clear()
            assert (found, said) == (step(x, n).tolist(), caplog.messages)
    finally:
        LOG.setLevel(0)
        LOG.removeHandler(handler)
    assert f.explain(data=True)["calls"]["replayed"] >= 2
