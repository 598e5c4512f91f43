"""`whet.cuda`: devices, streams and events under PyTorch's names."""
import os
import subprocess
import sys

import pytest
import whet


def run(code, **env):
    """A program of its own: (what it printed, the last line of its error)."""
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, text=True,
                          capture_output=True)
    return done.stdout.strip(), (done.stderr.strip().splitlines() or [""])[-1]


def test_without_a_gpu_the_error_says_what_is_missing_and_what_helps():
    code = "import whet; print(whet.cuda.is_available(), whet.cuda.device_count());"
    for ask in ("whet.zeros(2, device='cuda')", "whet.ones(2).cuda()", "whet.cuda.Stream()",
                "whet.cuda.current_device()"):
        out, error = run(code + ask, WHET_GPU="off")
        assert out == "False 0"
        assert error.startswith("RuntimeError: device 'cuda' is not available: WHET_GPU=off.")
        assert "WHET_GPU=sim" in error


def test_what_computes_on_the_cpu_loads_nothing_for_gpus():
    code = ("import sys, whet, whet.nn, whet.optim; m = whet.nn.Linear(2, 2)\n"
            "m(whet.randn(3, 2)).sum().backward(); whet.optim.SGD(m.parameters(), 0.1).step()\n"
            "whet.jit.trace(lambda x: x.exp() + 1)(whet.ones(3))\n"
            "print([m for m in sys.modules if m.split('.')[0] in ('triton', 'cuda')\n"
            "       or m.startswith('whet.cuda')])")
    assert run(code)[0] == "[]"


def test_whether_there_is_a_gpu_can_be_asked_without_making_any_ready():
    code = ("import whet; print(whet.cuda.is_available(), whet.cuda.device_count(),"
            "whet.cuda.is_initialized())")
    assert run(code, WHET_GPU="sim")[0] == "True 2 True"
    assert run(code.replace("whet.cuda.device_count()", "2"), WHET_GPU="sim")[0] == "True 2 False"
    assert run(code, WHET_GPU="sam")[1].endswith("WHET_GPU=sam: expected sim, cuda or off")


def test_a_forked_process_is_told_that_it_has_no_devices():
    code = ("import os, whet; whet.cuda.init(); pid = os.fork()\n"
            "if pid: os.waitpid(pid, 0)\nelse: whet.cuda.init()")
    assert "Cannot re-initialize CUDA in forked subprocess" in run(code, WHET_GPU="sim")[1]


def test_devices_have_facts_and_a_thread_works_with_one_of_them(gpus):
    assert whet.cuda.device_count() == 2 and whet.cuda.current_device() == 0
    assert whet.cuda.get_device_capability("cuda:1") == (9, 0)
    assert whet.cuda.get_device_name() == whet.cuda.get_device_properties(0).name
    assert whet.cuda.get_device_properties(0).total_memory == 1 << 27
    with whet.cuda.device(1):
        assert whet.cuda.current_device() == 1
        with whet.cuda.device("cuda:0"):
            assert whet.cuda.current_stream().device == whet.device("cuda:0")
        assert whet.cuda.current_stream().device == whet.device("cuda:1")
    whet.cuda.set_device(whet.device("cuda", 1))
    assert whet.cuda.current_device() == 1
    assert whet.accelerator.current_accelerator() == whet.device("cuda")


@pytest.mark.parametrize("ask", (whet.cuda.set_device, whet.cuda.get_device_name))
def test_a_device_that_is_not_there_is_named(gpus, ask):
    with pytest.raises(RuntimeError, match="invalid device ordinal: cuda:2, there are 2"):
        ask("cuda:2")
    with pytest.raises(ValueError, match="Expected a cuda device, but got: cpu"):
        ask("cpu")


def test_streams_are_chosen_in_with_blocks_and_come_back(gpus):
    default = whet.cuda.default_stream()
    assert whet.cuda.current_stream() == default and default.query()
    mine, other = whet.cuda.Stream(), whet.cuda.Stream("cuda:1")
    assert mine != default and mine.device == whet.device("cuda:0")
    with whet.cuda.stream(mine):
        assert whet.cuda.current_stream() == mine
        with other:
            assert whet.cuda.current_device() == 1 and whet.cuda.current_stream() == other
        with whet.cuda.stream(None):
            assert whet.cuda.current_stream() == mine
    assert whet.cuda.current_stream() == default
    assert whet.cuda.current_stream(1) == whet.cuda.default_stream(1)
    whet.cuda.set_stream(mine)
    assert whet.cuda.current_stream() == mine


def test_events_order_streams_and_measure_time(gpus):
    one, two = whet.cuda.Stream(), whet.cuda.Stream()
    p = gpus.driver.allocate(0, 4)
    start, end = (whet.cuda.Event(enable_timing=True) for _ in range(2))
    assert start.query() and start.cuda_event == 0
    start.record(one)
    gpus.driver.fill(p, 1, 4, one.cuda_stream)
    one.record_event(end)
    two.wait_event(end)
    assert not end.query() or one.query()
    two.synchronize()
    assert end.query() and start.elapsed_time(end) > 0
    two.wait_stream(one)
    whet.cuda.synchronize()
    with pytest.raises(ValueError, match="enable_timing=True"):
        whet.cuda.Event().elapsed_time(end)
    with pytest.raises(RuntimeError, match="does not match recording stream's device cuda:1"):
        end.record(whet.cuda.Stream("cuda:1"))


def test_threads_choose_for_themselves(gpus):
    import threading
    seen = []
    with whet.cuda.device(1):
        t = threading.Thread(target=lambda: seen.append(whet.cuda.current_device()))
        t.start()
        t.join()
    assert seen == [0]


def test_streams_of_any_kind_are_those_of_the_accelerator(gpus):
    stream = whet.Stream()
    assert type(stream) is whet.cuda.Stream and stream.device == whet.device("cuda:0")
    assert (stream.stream_id, stream.device_type) == (stream.cuda_stream, 1)
    with whet.Stream("cuda:1") as other:
        assert whet.cuda.current_stream() == other
    event = whet.Event(enable_timing=True)
    assert isinstance(event, whet.cuda.Event) and event.event_id == 0
    event.record(stream)
    event.synchronize()
    assert event.event_id and event.query() and event.elapsed_time(event) == 0


def test_a_stream_of_others_goes_by_its_number(gpus):
    made = whet.cuda.Stream()
    for same in (whet.cuda.ExternalStream(made.cuda_stream),
                 whet.cuda.get_stream_from_external(made.cuda_stream, "cuda:0")):
        assert same == made and same.query()
        with whet.cuda.StreamContext(same):
            assert whet.cuda.current_stream() == made


def test_kinds_of_storages_of_a_device(gpus):
    made = whet.cuda.FloatStorage(3)
    assert isinstance(made, whet.cuda.FloatStorage) and not isinstance(made, whet.FloatStorage)
    assert len(made) == 3 and made.is_cuda and made.type() == "whet.cuda.FloatStorage"
    x = whet.ones(2, device="cuda")
    assert x.storage_type() is whet.cuda.FloatStorage and isinstance(x.storage(),
                                                                     whet.cuda.FloatStorage)
    x.storage().fill_(3)
    assert x.tolist() == x.storage().tolist() == [3, 3] and x.untyped_storage().nbytes() == 8
    assert made.copy_(whet.LongStorage([1, 2, 3])).clone().tolist() == [1, 2, 3]
    assert whet.empty(0, device="cuda").set_(made).sum() == 6


def test_counts_of_memory_are_nested_and_start_again(gpus):
    kept = whet.zeros(256, device="cuda")
    for _ in range(3):
        whet.zeros(256, device="cuda")
    whet.cuda.synchronize()
    told = whet.cuda.memory_stats_as_nested_dict()["allocation"]["all"]
    flat = whet.cuda.memory_stats()
    assert told == {part: flat[f"allocation.all.{part}"] for part in told}
    assert told["current"] == 1 and told["allocated"] - told["freed"] == 1
    assert told["allocated"] >= 4
    whet.cuda.reset_accumulated_memory_stats()
    told = whet.cuda.memory_stats_as_nested_dict()["allocation"]["all"]
    assert (told["current"], told["allocated"], told["freed"]) == (1, 0, 0)
    del kept
    whet.accelerator.synchronize()
    told = whet.cuda.memory_stats_as_nested_dict()["allocation"]["all"]
    assert (told["current"], told["allocated"], told["freed"]) == (0, 0, 1)


def test_what_the_package_and_a_device_have(gpus):
    assert whet.cuda.is_tf32_supported() and whet.cuda.get_allocator_backend() == "native"
    assert whet.cuda.has_half and not whet.cuda.has_magma
