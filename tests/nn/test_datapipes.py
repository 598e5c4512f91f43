"""Datapipes: streams and sequences made of each other, alone and in loaders."""
import pickle

import pytest
import whet
from whet.utils import data
from whet.utils.data.datapipes.iter import FileLister, IterableWrapper
from whet.utils.data.datapipes.map import SequenceWrapper


def odd(i):
    return i % 2


SIX, PAIRS = IterableWrapper(range(6)), IterableWrapper([(1, 2), (3, 4)])


@pytest.mark.parametrize("made, wanted", [
    (lambda: SIX.map(lambda i: i * 2), [0, 2, 4, 6, 8, 10]),
    (lambda: PAIRS.map(lambda i: i * 10, input_col=0), [(10, 2), (30, 4)]),
    (lambda: PAIRS.map(lambda a, b: a + b, input_col=[0, 1]), [(3,), (7,)]),
    (lambda: PAIRS.map(lambda i: i * 10, input_col=0, output_col=-1), [(1, 2, 10), (3, 4, 30)]),
    (lambda: PAIRS.filter(lambda i: i > 1, input_col=0), [(3, 4)]),
    (lambda: SIX.batch(4), [[0, 1, 2, 3], [4, 5]]),
    (lambda: SIX.batch(4, drop_last=True), [[0, 1, 2, 3]]),
    (lambda: SIX.batch(2).batch(2).unbatch(-1), [0, 1, 2, 3, 4, 5]),
    (lambda: SIX.batch(2).batch(2).unbatch(), [[0, 1], [2, 3], [4, 5]]),
    (lambda: SIX.concat(PAIRS), [0, 1, 2, 3, 4, 5, (1, 2), (3, 4)]),
    (lambda: SIX.mux(IterableWrapper("ab")), [0, "a", 1, "b"]),
    (lambda: SIX.zip(IterableWrapper("ab")), [(0, "a"), (1, "b")]),
    (lambda: SIX.groupby(odd), [[0, 2, 4], [1, 3, 5]]),
    (lambda: SIX.groupby(odd, group_size=2, keep_key=True),
     [(0, [0, 2]), (1, [1, 3]), (0, [4]), (1, [5])]),
    (lambda: SIX.groupby(lambda i: i, buffer_size=2), [[0], [1], [2], [3], [4], [5]]),
    (lambda: SIX.shuffle().set_seed(3), [1, 5, 2, 3, 4, 0]),
    (lambda: SIX.shuffle(buffer_size=2).set_seed(3), [0, 2, 1, 4, 3, 5]),
    (lambda: SIX.shuffle().set_shuffle(False), [0, 1, 2, 3, 4, 5]),
    (lambda: SIX.demux(2, odd)[1], [1, 3, 5]),
    (lambda: SIX.demux(2, lambda i: None if i > 2 else i % 2, drop_none=True)[0], [0, 2]),
    (lambda: SIX.fork(2)[1], [0, 1, 2, 3, 4, 5]),
    (lambda: SequenceWrapper("abc").concat(SequenceWrapper("de")).map(str.upper),
     ["A", "B", "C", "D", "E"]),
    (lambda: SequenceWrapper("abc").zip(SequenceWrapper("de")), [("a", "d"), ("b", "e")]),
    (lambda: SequenceWrapper("abcde").batch(2), [["a", "b"], ["c", "d"], ["e"]]),
    (lambda: SequenceWrapper("abcdef").shuffle().set_seed(2), ["c", "d", "b", "e", "f", "a"]),
    (lambda: SequenceWrapper("abcdef").shuffle().set_seed(2).batch(4),
     [["c", "d", "b", "e"], ["f", "a"]]),
    (lambda: SequenceWrapper("abc").shuffle(indices=[2, 0]).set_shuffle(False).map(str.upper),
     ["C", "A"]),
])
def test_datapipes_give(made, wanted):
    assert list(made()) == wanted
    assert list(pickle.loads(pickle.dumps(SIX.batch(4)))) == [[0, 1, 2, 3], [4, 5]]


@pytest.mark.parametrize("wrong, error", [
    (lambda: list(SIX.zip(SIX)), RuntimeError), (lambda: list(SIX.demux(2, abs)[0]), ValueError),
    (lambda: SIX.zip([1]), TypeError), (lambda: SIX.batch(0), AssertionError),
    (lambda: list(SIX.fork(2, buffer_size=2)[0]), BufferError), (lambda: SIX.none, AttributeError),
    (lambda: len(SIX.filter(odd)), TypeError), (lambda: list(SIX.unbatch()), IndexError),
    (lambda: SequenceWrapper("ab").batch(2)[1], IndexError),
    (lambda: SIX.groupby(odd, group_size=2, guaranteed_group_size=3), AssertionError),
    (lambda: SIX.groupby(odd, guaranteed_group_size=3), AssertionError),
    (lambda: len(SIX.demux(2, odd)[0]), TypeError)])
def test_datapipes_refuse(wrong, error):
    with pytest.raises(error):
        wrong()


def test_lengths():
    assert [len(pipe) for pipe in (SIX.map(str), SIX.batch(4), SIX.concat(SIX), SIX.mux(SIX),
                                   SIX.sharding_filter(), SequenceWrapper("abc").batch(2),
                                   SIX.fork(2)[1], SequenceWrapper("abc").shuffle())
            ] == [6, 2, 12, 12, 6, 2, 6, 3]


def test_a_second_iterator_ends_the_first():
    first, second = iter(SIX), iter(SIX)
    assert next(second) == 0
    with pytest.raises(RuntimeError, match="invalidated"):
        next(first)


def test_copies_of_a_stream_are_read_at_different_paces():
    left, right = SIX.fork(2)
    a, b = iter(left), iter(right)
    assert [next(a), next(a), next(b), list(a), list(b)] == [0, 1, 0, [2, 3, 4, 5],
                                                             [1, 2, 3, 4, 5]]
    assert list(left) == list(right) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_of_a_loader_share_a_stream(workers):
    pipe = SIX.shuffle().sharding_filter()
    assert sorted(data.DataLoader(pipe, batch_size=None, num_workers=workers)) == list(range(6))
    assert list(data.DataLoader(pipe, batch_size=None, shuffle=False)) == list(range(6))


def test_a_loader_takes_a_shuffled_sequence_as_a_stream():
    pipe = SequenceWrapper("abcdef").shuffle()
    assert isinstance(pipe, data.IterDataPipe)
    assert sorted(sum(data.DataLoader(pipe, batch_size=4), [])) == list("abcdef")
    assert list(data.DataLoader(pipe, batch_size=None, shuffle=False)) == list("abcdef")


def test_functions_are_seen_among_the_names_of_a_datapipe():
    assert {"shuffle", "fork"} <= set(dir(SIX)) and "fork" not in dir(SequenceWrapper("a"))


def test_a_loader_that_shuffles_adds_what_is_missing():
    whet.manual_seed(0)
    with pytest.warns(UserWarning, match="Shuffler"):
        loader = data.DataLoader(IterableWrapper(range(50)), shuffle=True, batch_size=None)
    orders = [list(loader), list(loader)]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]) == list(range(50))


def test_workers_that_go_on_shuffle_anew():
    pipe = IterableWrapper(range(50)).shuffle().sharding_filter()
    loader = data.DataLoader(pipe, batch_size=None, num_workers=2, persistent_workers=True)
    first, second = list(loader), list(loader)
    assert first != second and sorted(first) == sorted(second) == list(range(50))


def test_a_share_is_told():
    pipe = SIX.sharding_filter()
    pipe.apply_sharding(4, 1)
    assert list(pipe) == [1, 5] and len(pipe) == 2
    with pytest.raises(ValueError):
        pipe.apply_sharding(4, 4)


def test_files(tmp_path):
    for name, text in (("b.txt", "two"), ("a.txt", "one"), ("c.csv", "x")):
        (tmp_path / name).write_text(text)
    found = FileLister(str(tmp_path), "*.txt").open_files().read_from_stream()
    assert [(path[-5:], text) for path, text in found] == [("a.txt", "one"), ("b.txt", "two")]
    pieces = FileLister(str(tmp_path), "*.csv").open_files(mode="b").read_from_stream(chunk=1)
    assert [piece for _, piece in pieces] == [b"x"]


def test_types_of_items_are_checked_where_they_are_asked_for():
    class Numbers(data.IterDataPipe[int | tuple[int, str]]):
        def __init__(self, items):
            self.items = items

        @data.runtime_validation
        def __iter__(self):
            yield from self.items
    assert list(Numbers([1, (2, "a")])) == [1, (2, "a")]
    wrong = Numbers([1, ("a", 2)])
    with pytest.raises(RuntimeError, match="Expected an instance"):
        list(wrong)
    with data.runtime_validation_disabled():
        assert len(list(wrong)) == 2

    @data.argument_validation
    def count(pipe: data.IterDataPipe, by: int) -> int:
        return sum(1 for _ in pipe) // by
    assert count(SIX, by=2) == 3
    with pytest.raises(TypeError, match="argument 'pipe'"):
        count([1], by=1)


def test_datapipes_without_an_order_are_refused_where_one_is_asked_for():
    @data.non_deterministic
    class Any(data.IterDataPipe):
        pass

    @data.non_deterministic(lambda shuffled: shuffled)
    class Some(data.IterDataPipe):
        def __init__(self, shuffled):
            pass
    with data.guaranteed_datapipes_determinism():
        Some(False)
        for made in (Any, lambda: Some(True)):
            with pytest.raises(TypeError, match="non-deterministic"):
                made()
    Any(), Some(True)


def test_functions_are_registered_once():
    with pytest.raises(Exception, match="already taken"):
        data.functional_datapipe("map")(type("Other", (data.IterDataPipe,), {}))
    with pytest.raises(TypeError):
        data.functional_datapipe("other")(list)
    assert data.DataChunk([1, 2]).as_str("> ") == "> [1, 2]"
