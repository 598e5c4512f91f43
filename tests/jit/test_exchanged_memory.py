"""Memory that a tensor is given while a traced function is called with it: by other threads, and
by finalizers that the collector runs."""
import gc
import threading
import time

import whet
from whet import jit
from whet.jit.replay.recording import Recording


def traced(fn, x):
    """A traced function that has been called a few times with an argument."""
    f = jit.trace(fn)
    for _ in range(8):
        f(x)
    return f


def same(a, b):
    if not isinstance(a, whet.Tensor):
        return a == b
    return a.shape == b.shape and a.requires_grad == b.requires_grad and whet.equal(a, b)


def test_a_table_is_made_for_what_the_calls_key_says(monkeypatch):
    """Another thread gives the argument a smaller array just before the table of a recording is
    made: it is for calls like the recorded one all the same."""
    x, small = whet.arange(4000.0).reshape(40, 100), whet.arange(4.0).reshape(2, 2)
    large, make = x.data, Recording.prepare
    w = whet.ones(1, requires_grad=True)

    def exchanged(self, *what):
        was = x.data
        x.data = small
        try:
            return make(self, *what)
        finally:
            x.data = was
    monkeypatch.setattr(Recording, "prepare", exchanged)
    for fn in (lambda x: (x + 1, x[30:]), lambda x: (x * w, x.shape[0])):
        f = traced(fn, x)
        for array in small, large:
            x.data = array
            assert all(map(same, f(x), fn(x)))
            assert all(map(same, f(x), fn(x)))


def test_a_view_shows_the_memory_that_was_compared():
    """Others give the argument another array while the call is made."""
    x, small = whet.ones(400, 1000), whet.ones(2, 2)
    large = x.data

    class Late:
        def __init__(self):
            self.me = self

        def __del__(self):
            x.data = small

    def whole(v):
        return v._array.nbytes <= v._array.base.nbytes and v.sum().item() == v.numel()
    f = traced(lambda x: ([x[300:]], [x[301:]]), x)
    for n in range(60):
        x.data = large
        gc.disable()
        gc.collect()
        Late()
        gc.set_threshold(1 + gc.get_count()[0] + n % 6)
        gc.enable()
        try:
            out = f(x)
        finally:
            gc.disable()
            gc.set_threshold(700)
        assert all(whole(v) for v, in out)
        gc.enable()
    x.data = large
    a, stop = whet.ones(300, 300), threading.Event()
    g = traced(lambda x: (a @ a @ a, x[300:]), x)

    def change():
        while not stop.is_set():
            for array in small, large:
                x.data = array
                time.sleep(0.0005)
    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(150):
            assert whole(g(x)[1])
    finally:
        stop.set()
        other.join()
