"""Calls that machine code makes are noted by machine code: at little cost, and completely."""
import sys
import threading
import time

import pytest
import whet
from whet import tensor_base
from whet.cpu import repeated_calls
from whet.profiler import native_log, profile

pytestmark = pytest.mark.skipif(tensor_base.native_apply is None,
                                reason="machine code makes no calls here")
L = repeated_calls.L
SMALL = {
    "an operator": lambda a, w: a + a,
    "a method": lambda a, w: a.exp(),
    "a recorded op": lambda a, w: w * a,
    "a write": lambda a, w: a.add_(0.0),
    "a view": lambda a, w: a.t(),
    "several results": lambda a, w: a.max(0),
}


def operands(size=4):
    return whet.ones(3, size), whet.ones(3, size, requires_grad=True)


def python_calls(run):
    """How many Python functions run, beside `run` itself."""
    seen = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, kind, _: kind == "call" and seen.append(frame.f_code))
    try:
        run()
    finally:
        sys.setprofile(before)
    return seen[1:]


@pytest.mark.parametrize("how", ({}, {"record_shapes": True}), ids=("plain", "shapes"))
@pytest.mark.parametrize("name", SMALL)
def test_a_known_call_enters_no_python_while_a_profiler_is_on(name, how):
    call, (a, w) = SMALL[name], operands()

    def several():
        for _ in range(20):
            call(a, w)
    several()
    own = len(python_calls(several)) // 20         # of the lambda, and of a result's class
    with profile(**how) as p:
        several()
        assert len(python_calls(several)) == 20 * own
    assert len(p.events()) == 40


@pytest.mark.parametrize("how", ({}, {"record_shapes": True}), ids=("plain", "shapes"))
def test_a_small_op_takes_less_than_a_microsecond_longer(how):
    a, _ = operands()

    def shortest(rounds=1):
        took = []
        for _ in range(rounds):
            start = time.perf_counter()
            for _ in range(300):
                a + a
            took.append((time.perf_counter() - start) / 300)
        return min(took)
    off, on = [shortest()], []
    for _ in range(30):                     # in turn: the machine's speed changes
        off.append(shortest())
        with profile(**how):
            on.append(shortest(2))
    assert min(on) - min(off) < 1e-6


def test_the_sum_over_small_ops_is_the_better_part_of_their_loop():
    a = whet.randn(2000)
    for _ in range(3):
        a.exp()

    def time_and_share_of_the_ops():
        with profile() as p:
            start = time.perf_counter()
            for _ in range(200):
                a.exp()
            took = (time.perf_counter() - start) * 1e6
        return took, p.self_cpu_time_total / took
    # the loop that others disturbed least
    _, share = min([time_and_share_of_the_ops() for _ in range(30)])
    assert 0.5 < share <= 1.0


@pytest.mark.parametrize("name", [*SMALL, "a number beside it", "a product", "nothing beside it"])
def test_what_is_said_of_a_call_is_the_same_with_and_without_a_recipe(name):
    call = {**SMALL, "a number beside it": lambda a, w: a * 2.5, "a product": lambda a, w: a @ w.mT,
            "nothing beside it": lambda a, w: a.clamp(None, 1)}[name]
    with profile(record_shapes=True, profile_memory=True, with_flops=True) as p:
        for _ in range(5):
            a, w = operands(7)
            with whet.profiler.record_function("call"):
                call(a, w)
    said = [[(e.name, e.kind, e.input_shapes, e.input_types, e.cpu_memory_usage, e.flops, e.stack,
              e.thread) for e in span.cpu_children]
            for span in p.events() if span.name == "call"]
    assert len(said) == 5 and said[0]
    assert said == [said[0]] * 5


@pytest.mark.parametrize("how", (dict(with_stack=True), dict(with_modules=True)))
def test_lines_and_modules_are_the_same_with_and_without_a_recipe(how):
    class Twice(whet.nn.Module):
        def forward(self, a):
            return a + a
    a, module = whet.ones(3), Twice()
    with profile(**how) as p:
        for _ in range(4):
            module(a)
    said = {(*e.stack, e.module) for e in p.events() if e.name == "add"}
    assert len(p.events()) >= 4 and len(said) == 1
    assert "test_native_log.py" in str(said)


def test_nothing_of_the_log_stays():
    a, _ = operands()
    with profile():
        a + a
        assert repeated_calls.ctx[L.CTX["log"] // 8]
    assert not repeated_calls.ctx[L.CTX["log"] // 8]
    assert not repeated_calls.ctx[L.CTX["flags"] // 8] & L.LISTENED


def test_a_log_has_room_for_any_number_of_calls_of_all_threads(monkeypatch):
    monkeypatch.setattr(native_log, "CHUNK", L.ENTRY_BYTES // 8 + 40)
    a, _ = operands()
    a + a

    def work():
        for _ in range(300):
            a + a
            a.exp()
    with profile(record_shapes=True) as p:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        work()
        early = len(p.events())
        for t in threads:
            t.join()
    found = [e.name for e in p.events()]
    assert found.count("add") == found.count("exp") == 1200 and len(found) == 2400 >= early > 0


def test_what_has_no_place_in_the_table_of_objects_is_noted_too(monkeypatch):
    a, _ = operands()
    made = []

    class Small(native_log.NativeLog):
        def __init__(self, *args):
            super().__init__(*args)
            self.words[L.LOG["left"] // 8] = 1
            made.append(self)
    monkeypatch.setattr("whet.profiler.hooks.NativeLog", Small)
    with profile(record_shapes=True) as p:
        for _ in range(5):
            a + a
            a.exp()
    assert [e.name for e in p.events()] == ["add", "exp"] * 5
    assert made[0].words[L.LOG["left"] // 8] == 0
    assert "test_native_log.py" in p.events()[-1].stack[0]


def test_profilers_may_begin_and_end_while_other_threads_work():
    a, _ = operands()
    is_over = threading.Event()

    def work():
        while not is_over.is_set():
            a + a
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    try:
        for i in range(30):
            with profile(record_shapes=i % 2 == 1) as p:
                for _ in range(50):
                    a.exp()
            found = [e.name for e in p.events()]
            assert found.count("exp") == 50 and set(found) <= {"exp", "add"}
    finally:
        is_over.set()
        for t in threads:
            t.join()


def test_an_error_while_a_call_is_noted_is_raised(monkeypatch):
    a, _ = operands()
    a + a

    def interrupted(self, thing):
        raise KeyboardInterrupt
    monkeypatch.setattr(native_log.NativeLog, "seen", interrupted)
    with pytest.raises(KeyboardInterrupt), profile():
        for _ in range(3):
            a + a
    monkeypatch.undo()
    assert (a + a).tolist() == (a * 2).tolist()
