"""Places in the arena of a program, and in the memory of its results until those are made."""
import random

import pytest
import whet
from whet import jit
from whet.cpu import memory, native
from whet.jit.program.arena import ALIGN, Piece, Ranges, plan
from whet.jit.program.arena_in_results import LentResults


def pieces(*lives):
    made = []
    for size, *steps in lives:
        made.append(Piece(size))
        for step in steps:
            made[-1].touch(step)
    return made


@pytest.mark.parametrize("seed", range(20))
def test_pieces_that_live_at_once_lie_apart(seed):
    rng = random.Random(seed)
    starts = [rng.randrange(200) for _ in range(100)]
    ps = pieces(*((rng.randrange(1, 5000), first, first + rng.choice((0, 1, 2, 5, 50)))
                  for first in starts))
    size = plan(ps)
    for i, a in enumerate(ps):
        assert a.offset % ALIGN == 0 and a.offset + a.size <= size
        for b in ps[:i]:
            if a.first <= b.last and b.first <= a.last:
                assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset
    least = max(sum(p.size for p in ps if p.first <= t <= p.last) for t in range(260))
    assert least <= size < 1.5 * least


@pytest.mark.parametrize("seed", range(20))
def test_lodgers_of_results_lie_apart_and_are_gone_in_time(seed):
    rng = random.Random(seed)
    unit = memory.SMALLEST
    ps = pieces(*((unit * rng.randrange(1, 9), first, first + rng.choice((0, 1, 2, 5, 50)))
                  for first in (rng.randrange(200) for _ in range(100))))
    sizes = {k: unit * rng.randrange(1, 9) for k in range(12)}
    first = {k: rng.randrange(100, 260) for k in sizes}
    kept = {k: rng.randrange(100) for k in range(6)}
    lent = LentResults(sizes, first, kept, [])
    alone, size = plan(pieces(*((p.size, p.first, p.last) for p in ps))), plan(ps, (), lent.place)
    assert size < alone
    assert any(p.room is not None for p in ps)
    for i, a in enumerate(ps):
        if a.room is not None:
            assert kept.get(a.room, -1) < a.first and a.last < first[a.room]
            assert a.offset + a.size <= sizes[a.room]
        for b in ps[:i]:
            if a.room == b.room and a.first <= b.last and b.first <= a.last:
                assert a.offset + a.size <= b.offset or b.offset + b.size <= a.offset


def test_a_result_is_put_over_the_piece_that_its_step_is_the_last_to_need():
    size = memory.SMALLEST
    a, b = pieces((size, 0, 3), (size, 0, 3))
    lent = LentResults({0: size}, {0: 3}, {}, [(b, 0)])
    assert plan([a, b], (), lent.place) == size
    assert (a.room, b.room, b.offset) == (None, 0, 0)


def test_results_lend_their_memory_until_they_are_made(one_thread):
    x, w = whet.randn(512, 512), whet.randn(512, 512) / 16
    f = jit.trace(lambda x: ((x @ w).tanh().sum(0) + (x @ x).tanh().sum(1)) * (w @ x))
    for _ in range(3):
        assert f(x)._array.tobytes() == f.fn(x)._array.tobytes()
    if native.enabled():
        assert f.explain(data=True)["paths"][0]["memory"]["arena"] < x.nbytes


def test_numbers_that_fill_a_large_tensor_are_not_kept():
    index, source = whet.randint(512, (512, 512)), whet.randn(512, 512)
    f = jit.trace(lambda x: whet.zeros(512, 512).scatter_add(0, index, x) * 2)
    for k in range(3):
        assert f(source * k)._array.tobytes() == f.fn(source * k)._array.tobytes()
    if native.enabled():
        assert f.explain(data=True)["paths"][0]["memory"]["kept"] < source.nbytes


def test_what_dies_makes_room():
    ps = pieces((1000, 0, 1), (1000, 1, 2), (1000, 2, 3), (1000, 3, 4))
    assert plan(ps) == 2048 and [p.offset for p in ps] == [0, 1024, 0, 1024]


def test_a_piece_takes_the_place_of_one_that_its_step_is_the_last_to_need():
    a, b, c = pieces((1000, 0, 1), (1000, 1, 2), (1000, 2, 3))
    assert plan([a, b, c], [(a, b), (b, c)]) == 1024
    a, b, c = pieces((1000, 0, 2), (1000, 1, 2), (1000, 2, 3))
    assert plan([a, b, c], [(a, b)]) == 3072          # a is needed later
    a, b, c = pieces((1000, 0, 1), (1000, 1, 2), (1000, 1, 3))
    assert plan([a, b, c], [(a, b), (a, c)]) == 2048  # one of them does


def test_what_is_never_touched_takes_no_room():
    a, b = Piece(1000), *pieces((64, 0))
    assert plan([a, b], [(a, b)]) == 64 and a.offset is None


def test_the_latest_word_on_an_address_holds():
    r = Ranges()
    r.put(100, 200, "a"), r.put(300, 400, "b"), r.put(100, 200, "c")
    assert ([r.at(x)
             for x in (99, 100, 199, 200, 350)] == [None, (100, "c"), (100, "c"), None, (300, "b")])
