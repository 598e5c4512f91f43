"""Limits the threads of NumPy's LAPACK while it works for us.

Its threads busy-wait for each other. For small matrices one thread is quicker: on two cores of
which another process uses one, the singular values of 200 by 200 numbers take 0.8 s with two
threads and 7.5 ms with one. The setting is process-wide, so it is restored as soon as no thread
needs it."""
import functools
import os
import threading

from . import thread_pool

LARGE = 1 << 16                  # numbers of a matrix that several threads may share
# what threadpoolctl sets when it is imported, which is the user's to say
OPENMP = "KMP_DUPLICATE_LIB_OK"
_lock = threading.Lock()
_state = {"inside": 0}
_before: list = []               # (a library, how many threads it had if more than one)


@functools.cache
def _libraries():
    """The libraries that may compute NumPy's linear algebra."""
    before = os.environ.get(OPENMP)
    from threadpoolctl import ThreadpoolController
    if before is None:
        os.environ.pop(OPENMP, None)
    return ThreadpoolController().select(user_api="blas").lib_controllers


class one_thread:
    """A context in which LAPACK uses one thread, if arrays are `small` or the user wants no
    more."""
    __slots__ = ("applies",)

    def __init__(self, small):
        self.applies = small or thread_pool.get_num_threads() == 1

    def __enter__(self):
        if self.applies:
            with _lock:
                _state["inside"] += 1
                if _state["inside"] == 1:
                    had = [(x, x.get_num_threads()) for x in _libraries()]
                    _before[:] = [(x, threads) for x, threads in had if threads != 1]
                    for library, _ in _before:
                        library.set_num_threads(1)

    def __exit__(self, *exc):
        if self.applies:
            with _lock:
                _state["inside"] -= 1
                if not _state["inside"]:
                    for library, threads in _before:
                        library.set_num_threads(threads)


def are_small(arrays):
    """Are the matrices in all of these arrays small?"""
    return all(a.ndim < 2 or a.shape[-1] * a.shape[-2] < LARGE for a in arrays)
