"""Loaders whose workers are processes: the same batches, errors that come here, nothing left."""
import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
import whet
from whet.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info


class Drawn(Dataset):
    """Samples of several kinds with random numbers of three generators."""

    def __len__(self):
        return 22

    def __getitem__(self, i):
        return {"x": whet.full((3, i % 1 + 2), float(i)), "noise": whet.rand(2),
                "numpy": np.random.rand(1), "python": random.random(), "name": f"sample {i}"}


class Grown(Dataset):
    """Samples that become larger and smaller again."""
    sizes = [1, 5000, 70000, 3, 200000, 10, 0, 999]

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, i):
        return whet.full((self.sizes[i],), i)


class Counted(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter(range(info.id, 20, info.num_workers))


def plain(batches):
    return [{k: v if isinstance(v, list) else v.tolist() for k, v in b.items()} for b in batches]


def same_everywhere(**options):
    whet.manual_seed(3)
    return plain(DataLoader(Drawn(), batch_size=4, shuffle=True, **options))


def test_batches_and_their_random_numbers_do_not_depend_on_the_workers():
    one = same_everywhere(num_workers=1)
    assert same_everywhere(num_workers=3) == one
    assert same_everywhere(num_workers=2, multiprocessing_context="forkserver") == one
    noise = sum((b["noise"] for b in one), [])
    assert len({tuple(n) for n in noise}) == 22
    whet.manual_seed(3)
    here = DataLoader(Drawn(), batch_size=4, shuffle=True)
    assert [b["name"] for b in here] == [b["name"] for b in one]


def test_each_epoch_draws_anew():
    loader = DataLoader(Drawn(), batch_size=22, num_workers=1, persistent_workers=True)
    first, second = plain(loader), plain(loader)
    assert first[0]["noise"] != second[0]["noise"] and first[0]["numpy"] != second[0]["numpy"]


def test_who_seeds_at_a_workers_start_is_left_alone():
    def begin(i):
        random.seed(7)
        np.random.seed(whet.initial_seed() % 2**32)
    loader = DataLoader(Drawn(), batch_size=2, num_workers=1, worker_init_fn=begin)
    random.seed(7)
    wanted = [random.random() for _ in range(22)]
    assert sum((b["python"] for b in plain(loader)), []) == wanted


def test_batches_of_any_size_come_whole():
    for _ in range(2):
        for i, batch in enumerate(DataLoader(Grown(), batch_size=None, num_workers=1)):
            assert batch.shape == (Grown.sizes[i],) and (batch == i).all()


def test_batches_that_are_kept_keep_their_numbers():
    kept = list(DataLoader(range(400), batch_size=4, num_workers=2))
    assert [b.tolist() for b in kept] == [list(range(i, i + 4)) for i in range(0, 400, 4)]
    kept[0].add_(1)
    assert kept[1].tolist() == [4, 5, 6, 7]


def test_a_worker_may_keep_what_it_collated():
    earlier = []

    def collate(rows):
        earlier.append(whet.utils.data.default_collate(rows))
        return earlier[-1], earlier[0]
    loader = DataLoader(range(60), batch_size=2, num_workers=1, collate_fn=collate)
    for i, (batch, first) in enumerate(loader):
        assert batch.tolist() == [2 * i, 2 * i + 1] and first.tolist() == [0, 1]


def test_a_stream_is_split_by_the_workers():
    loader = DataLoader(Counted(), batch_size=3, num_workers=2)
    assert sorted(sum((b.tolist() for b in loader), [])) == list(range(20))


class Failing(Drawn):
    def __init__(self, what):
        self.what = what

    def __getitem__(self, i):
        if i == 9:
            self.what()
        return super().__getitem__(i)


class Unpicklable(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def test_an_error_comes_here_with_its_traceback():
    def what():
        raise KeyError("nine")
    loader = DataLoader(Failing(what), batch_size=4, num_workers=2)
    with pytest.raises(KeyError, match="nine") as e:
        list(loader)
    notes = "".join(e.value.__notes__)
    assert "samples [8, 9, 10, 11]" in notes and 'raise KeyError("nine")' in notes

    def odd():
        raise Unpicklable(1, 2)
    with pytest.raises(RuntimeError, match="Unpicklable: 1 and 2"):
        list(DataLoader(Failing(odd), batch_size=4, num_workers=2))

    def with_history(rows):
        return whet.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="history"):
        list(DataLoader(Drawn(), num_workers=1, collate_fn=with_history))


@pytest.mark.parametrize("end, words", [
    (lambda: os.kill(os.getpid(), signal.SIGKILL), "SIGKILL .*memory"),
    (lambda: os._exit(3), "exited with code 3")])
def test_a_worker_that_dies_is_an_error_at_once(end, words):
    def seconds():
        began, loader = time.monotonic(), DataLoader(Failing(end), batch_size=4, num_workers=2)
        told = rf"worker 0 \(pid \d+\) .*{words}.* \[8, 9, 10, 11\]"
        with pytest.raises(RuntimeError, match=told):
            list(loader)
        return time.monotonic() - began

    # others may take the processor meanwhile: one of some
    assert any(seconds() < 5 for _ in range(4))


def test_a_worker_that_hangs_is_an_error_after_the_timeout():
    loader = DataLoader(Failing(lambda: time.sleep(60)), batch_size=4, num_workers=1, timeout=0.4)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.4"):
        list(loader)
    assert time.monotonic() - began < 40


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def gone(pids):
    end = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(alive, pids))


class Pids(Drawn):
    def __getitem__(self, i):
        return os.getpid()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="asks Linux who is alive")
def test_workers_end_with_their_reader_however_it_ends():
    it = iter(DataLoader(Pids(), batch_size=1, num_workers=2))
    pids = [next(it).item(), next(it).item()]
    assert len(set(pids)) == 2 and all(map(alive, pids))
    del it
    assert gone(pids)
    script = textwrap.dedent("""
        import os, signal, sys, time
        from whet.utils.data import DataLoader
        class Pids:
            def __len__(self):
                return 1000
            def __getitem__(self, i):
                if i > 20:
                    time.sleep(0.01)
                return os.getpid()
        # who starts the tests in the background has interrupts ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        it = iter(DataLoader(Pids(), batch_size=1, num_workers=2))
        print(next(it).item(), next(it).item(), flush=True)
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        time.sleep(60)
    """)
    for way in ("SIGKILL", "SIGINT", "SIGTERM"):
        done = subprocess.run([sys.executable, "-c", script, way], capture_output=True, text=True)
        assert done.returncode, done
        assert gone([int(p) for p in done.stdout.split()]), way


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("own", [False, True])
def test_an_epoch_goes_on_where_it_was(workers, own):
    def loader():
        g = whet.Generator().manual_seed(11) if own else None
        return DataLoader(Drawn(), batch_size=4, shuffle=True, num_workers=workers, generator=g)
    whet.manual_seed(5)
    whole = loader()
    names = [b["name"] for b in whole] + [b["name"] for b in whole]
    whet.manual_seed(5)
    some = loader()
    got = [b["name"] for b in some]
    batches = iter(some)
    got += [next(batches)["name"] for _ in range(2)]
    state = some.state_dict()
    whet.manual_seed(99)
    other = loader()
    other.load_state_dict(state)
    if not own:
        before = whet.get_rng_state()
        iter(other)
        assert (whet.get_rng_state() == before).all()
        other.load_state_dict(state)
    rest = list(other)
    assert got + [b["name"] for b in rest] == names
    again = loader()
    again.load_state_dict(state)
    if workers:
        assert plain(rest) == plain(again)


def test_a_stream_goes_on_where_it_was():
    class Numbers(IterableDataset):
        def __iter__(self):
            return iter(range(10))
    loader = DataLoader(Numbers(), batch_size=3)
    it = iter(loader)
    assert [next(it).tolist(), next(it).tolist()] == [[0, 1, 2], [3, 4, 5]]
    other = DataLoader(Numbers(), batch_size=3)
    other.load_state_dict(loader.state_dict())
    assert [b.tolist() for b in other] == [[6, 7, 8], [9]]


def test_persistent_workers_serve_several_readers():
    loader = DataLoader(Pids(), batch_size=1, num_workers=2, persistent_workers=True)
    first, second = ({b.item() for b in loader} for _ in range(2))
    assert first == second
    a = iter(loader)
    next(a)
    third = {b.item() for b in loader}
    assert third.isdisjoint(first) and {b.item() for b in a} <= first


def test_descriptors_are_given_back():
    def held():
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in DataLoader(Drawn(), batch_size=4, num_workers=2):
        pass
    before = held()
    for _ in range(3):
        for _ in DataLoader(Drawn(), batch_size=4, num_workers=2):
            pass
    assert held() <= before
