"""How many threads NumPy's LAPACK has while it works for us, and afterwards."""
import threading

import numpy as np
import pytest
import whet
from whet.cpu import lapack_threads


class Library:
    """One that says how many threads it would use."""

    def __init__(self, threads):
        self.threads = threads

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, threads):
        self.threads = threads


@pytest.fixture
def library(monkeypatch):
    """In place of the process's own."""
    made = Library(4)
    monkeypatch.setattr(lapack_threads, "_libraries", lambda: [made])
    return made


def threads_within(library, monkeypatch, n):
    """The library's threads while it decomposes a matrix of n by n."""
    seen, eig = [], np.linalg.eig

    def watched(*args):
        seen.append(library.threads)
        return eig(*args)
    monkeypatch.setattr(np.linalg, "eig", watched)
    whet.linalg.eig(whet.randn(n, n))
    monkeypatch.undo()
    return seen


@pytest.mark.parametrize("n, ours, wanted", [(8, 2, 1), (200, 2, 1), (256, 2, 4), (256, 1, 1)])
def test_small_matrices_are_one_threads(library, monkeypatch, n, ours, wanted):
    monkeypatch.setattr(lapack_threads.thread_pool, "get_num_threads", lambda: ours)
    with monkeypatch.context() as patched:
        assert threads_within(library, patched, n) == [wanted]
    assert library.threads == 4


def test_it_is_put_back_after_an_error(library):
    with pytest.raises(whet.linalg.LinAlgError):
        whet.linalg.cholesky(-whet.eye(3, dtype=whet.complex64))
    with pytest.raises(RuntimeError), lapack_threads.one_thread(True):
        raise RuntimeError
    assert library.threads == 4


def test_threads_that_overlap_put_it_back_once(library):
    first, second = lapack_threads.one_thread(True), lapack_threads.one_thread(True)
    first.__enter__()
    other = threading.Thread(target=second.__enter__)
    other.start()
    other.join()
    first.__exit__()
    assert library.threads == 1
    second.__exit__()
    assert library.threads == 4
