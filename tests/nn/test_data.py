"""Datasets, samplers, collation and loaders."""
import threading
import time
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import whet
from whet.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return whet.tensor(i * i)


class Stream(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        return iter(range(self.n) if info is None else range(info.id, self.n, info.num_workers))


def lists(loader):
    return [b.tolist() for b in loader]


def test_datasets():
    t = TensorDataset(whet.arange(5), whet.arange(5.0) * 2)
    assert len(t) == 5 and [x.item() for x in t[3]] == [3, 6]
    with pytest.raises(AssertionError, match="Size mismatch"):
        TensorDataset(whet.arange(5), whet.arange(4))
    c = Squares(3) + Squares(2)
    assert (isinstance(c, ConcatDataset) and len(c) == 5
            and [c[i].item() for i in (0, 2, 3, 4, -1)] == [0, 4, 0, 1, 1])
    s = Subset(Squares(10), [7, 2])
    assert len(s) == 2 and s[0].item() == 49
    k = StackDataset(x=Squares(3), y=Squares(3))
    assert k[2]["x"].item() == 4 and len(k) == 3 and len(k.__getitems__([0, 1])) == 2
    assert StackDataset(Squares(3), Squares(3))[1][0].item() == 1
    assert (list(Stream(2) + Stream(3)) == [0, 1, 0, 1, 2]
            and isinstance(Stream(2) + Stream(3), ChainDataset))
    with pytest.raises(ValueError, match="Size mismatch"):
        StackDataset(Squares(3), Squares(2))
    with pytest.raises(NotImplementedError):
        Dataset()[0]
    assert Dataset[int] is Dataset


def test_random_split():
    parts = random_split(range(10), [3, 7], generator=whet.Generator().manual_seed(1))
    assert [len(p) for p in parts] == [3, 7] and sorted([*parts[0], *parts[1]]) == list(range(10))
    again = random_split(range(10), [3, 7], generator=whet.Generator().manual_seed(1))
    assert list(again[0]) == list(parts[0])
    assert [len(p) for p in random_split(range(10), [0.3, 0.3, 0.4])] == [3, 3, 4]
    assert [len(p) for p in random_split(range(11), [0.5, 0.5])] == [6, 5]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        random_split(range(10), [3, 3])


def test_samplers():
    whet.manual_seed(3)
    first = list(RandomSampler(range(20)))
    assert (sorted(first) == list(range(20)) and first != list(range(20))
            and list(RandomSampler(range(20))) != first)
    whet.manual_seed(3)
    assert list(RandomSampler(range(20))) == first
    assert len(list(RandomSampler(range(3), num_samples=8))) == 8
    many = list(RandomSampler(range(3), replacement=True, num_samples=5000))
    assert len(many) == 5000 and set(many) == {0, 1, 2}
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    picks = list(WeightedRandomSampler([0.0, 1.0, 3.0], 2000))
    assert 0 not in picks and 1300 < picks.count(2) < 1700
    assert sorted(WeightedRandomSampler([1.0, 1.0, 1.0], 3, replacement=False)) == [0, 1, 2]
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, False)) == 3
    for bad in (lambda: BatchSampler(range(5), 0, False),
                lambda: RandomSampler(range(5), num_samples=0),
                lambda: WeightedRandomSampler([1.0], 0)):
        with pytest.raises(ValueError):
            bad()
    a, b = (DistributedSampler(range(7), 2, r, shuffle=True) for r in (0, 1))
    assert len(a) == len(b) == 4 and set(a) | set(b) == set(range(7))
    order = list(a)
    a.set_epoch(1)
    assert list(a) != order
    assert list(DistributedSampler(range(7), 2, 1, shuffle=False, drop_last=True)) == [1, 3, 5]


def test_collate():
    Point = namedtuple("Point", "x y")
    sample = {
        "a": 1, "b": (2.0, "s"), "c": Point(whet.ones(2), np.float32(3)), "d": np.ones(2, np.int16),
        "e": [True]}
    batch = default_collate([sample] * 2)
    assert batch["a"].tolist() == [1, 1] and batch["a"].dtype is whet.int64
    assert batch["b"][0].dtype is whet.float64 and list(batch["b"][1]) == ["s", "s"]
    assert (isinstance(batch["c"], Point) and batch["c"].x.shape == (2, 2)
            and batch["c"].y.dtype is whet.float32)
    assert (batch["d"].dtype is whet.int16 and batch["d"].shape == (2, 2)
            and batch["e"][0].dtype is whet.bool)
    assert isinstance(default_collate([OrderedDict(a=1)] * 2), OrderedDict)
    assert default_collate([np.float64(1), np.float64(2)]).dtype is whet.float64
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="batch must contain"):
        default_collate([object()])
    with pytest.raises(TypeError, match="batch must contain"):
        default_collate([np.array(["text"])])
    out = default_convert({"a": np.ones(2), "b": "text", "c": [np.float32(1), None]})
    assert (isinstance(out["a"], whet.Tensor) and out["b"] == "text"
            and out["c"][0].dtype is whet.float32 and out["c"][1] is None)


@pytest.mark.parametrize("workers", [{}, {"num_workers": 2},
                                     {"num_workers": 2, "multiprocessing_context": "thread"}])
def test_loader(workers):
    def load(dataset, **k):
        return DataLoader(dataset, **workers, **k)
    assert lists(load(Squares(5), batch_size=2)) == [[0, 1], [4, 9], [16]]
    assert lists(load(Squares(5), batch_size=2, drop_last=True)) == [[0, 1], [4, 9]]
    assert len(load(Squares(5), batch_size=2)) == 3
    assert lists(load(Squares(4), batch_sampler=[[3, 0], [1]])) == [[9, 0], [1]]
    assert lists(load(Squares(4), sampler=[2, 1])) == [[4], [1]]
    assert [b.item() for b in load(Squares(3), batch_size=None)] == [0, 1, 4]
    assert (list(load(Squares(4), batch_size=2,
                      collate_fn=lambda rows: sum(int(r) for r in rows))) == [1, 13])
    loader = load(Squares(50), batch_size=7, shuffle=True)
    first, second = lists(loader), lists(loader)
    assert sorted(sum(first, [])) == [i * i for i in range(50)] and first != second
    assert sorted(sum(lists(load(Stream(10), batch_size=3)), [])) == list(range(10))
    assert lists(load(Squares(0), batch_size=2)) == []
    with pytest.raises(IndexError):
        lists(load(Squares(3), sampler=[1, 9]))


def test_the_order_is_that_of_the_seed_however_it_is_loaded():
    def orders(**k):
        data = TensorDataset(whet.arange(23))
        g = whet.Generator().manual_seed(5)
        return [
            b[0].tolist() for b in DataLoader(data, batch_size=4, shuffle=True, generator=g, **k)]
    class Plain(TensorDataset):
        pass
    fast = orders()
    assert orders() == fast
    g = whet.Generator().manual_seed(5)
    rows = [
        b[0].tolist()
        for b in DataLoader(Plain(whet.arange(23)), batch_size=4, shuffle=True, generator=g)]
    assert rows == fast and [len(b) for b in fast] == [4, 4, 4, 4, 4, 3]
    g = whet.Generator().manual_seed(5)
    in_order = DataLoader(TensorDataset(whet.arange(23)), 4, generator=g, drop_last=True)
    assert [b[0].tolist() for b in in_order][-1] == [16, 17, 18, 19]


def test_batches_of_a_tensor_dataset_do_not_share_its_memory():
    t = whet.arange(4.0)
    for b, in DataLoader(TensorDataset(t), batch_size=2):
        b.zero_()
    assert t.tolist() == [0, 1, 2, 3]


def test_whole_batches_may_be_fetched_at_once():
    class Bulk(Squares):
        def __getitems__(self, indices):
            return [whet.tensor(-i) for i in indices]
    assert lists(DataLoader(Bulk(3), batch_size=2)) == [[0, -1], [-2]]
    assert lists(DataLoader(Subset(Bulk(9), [4, 5]), batch_size=2)) == [[-4, -5]]


def test_threads():
    seen = set()

    class Slow(Squares):
        def __getitem__(self, i):
            info = get_worker_info()
            seen.add((info.id, info.num_workers, threading.current_thread().name))
            time.sleep(0.003 if i % 2 else 0)
            return super().__getitem__(i)
    began = []
    assert get_worker_info() is None
    loader = DataLoader(Slow(12), batch_size=1, num_workers=3, multiprocessing_context="thread",
                        worker_init_fn=began.append)
    assert lists(loader) == [[i * i] for i in range(12)]
    assert (sorted(began) == [0, 1, 2] and {s[0] for s in seen} == {0, 1, 2}
            and {s[1] for s in seen} == {3})
    loose = DataLoader(Slow(12), num_workers=3, multiprocessing_context="thread", in_order=False)
    assert sorted(lists(loose)) == [[i * i] for i in range(12)]
    keep = DataLoader(Slow(6), num_workers=2, multiprocessing_context="thread",
                      persistent_workers=True, worker_init_fn=began.append)
    began.clear()
    assert lists(keep) == lists(keep) and sorted(began) == [0, 1]


def test_problems_in_workers_come_here():
    class Broken(Squares):
        def __getitem__(self, i):
            if i == 3:
                raise KeyError("three")
            return super().__getitem__(i)
    got = []
    with pytest.raises(KeyError, match="three") as e:
        for b in DataLoader(Broken(6), num_workers=2):
            got.append(b.item())
    assert got == [0, 1, 4] and "DataLoader worker" in "".join(e.value.__notes__)

    def refuse(_):
        raise OSError("no start")
    with pytest.raises(OSError, match="no start"):
        lists(DataLoader(Squares(3), num_workers=2, worker_init_fn=refuse))

    class Stuck(Squares):
        def __getitem__(self, i):
            time.sleep(0.5)
            return 0
    with pytest.raises(RuntimeError, match="timed out after 0.05"):
        lists(DataLoader(Stuck(2), num_workers=1, timeout=0.05))


def test_threads_end_when_nobody_reads_any_more():
    before = set(threading.enumerate())
    it = iter(DataLoader(Squares(100), num_workers=3, multiprocessing_context="thread"))
    next(it)
    workers = set(threading.enumerate()) - before
    assert len(workers) == 3
    del it
    for t in workers:
        t.join(30)
    assert not any(t.is_alive() for t in workers)


def test_not_too_much_is_fetched_ahead():
    fetched = []

    class Noted(Squares):
        def __getitem__(self, i):
            fetched.append(i)
            return super().__getitem__(i)
    it = iter(DataLoader(Noted(100), num_workers=2, multiprocessing_context="thread",
                         prefetch_factor=3))
    next(it)
    time.sleep(0.1)
    assert len(fetched) <= 2 * 3 + 1


def test_options_are_checked():
    for options, text in ((dict(num_workers=-1), "num_workers"),
                          (dict(prefetch_factor=2), "prefetch_factor"),
                          (dict(persistent_workers=True), "persistent_workers"),
                          (dict(sampler=[1], shuffle=True), "mutually exclusive"),
                          (dict(batch_sampler=[[1]], batch_size=2), "mutually exclusive"),
                          (dict(timeout=-1), "timeout"),
                          (dict(batch_size=None, drop_last=True), "auto-batching"),
                          (dict(batch_size=0), "batch_size")):
        with pytest.raises(ValueError, match=text):
            DataLoader(Squares(3), **options)
    with pytest.raises(ValueError, match="IterableDataset"):
        DataLoader(Stream(3), shuffle=True)
