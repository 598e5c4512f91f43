"""What devices tell of themselves, pinned memory that is given back, and how much there may be."""
import types

import numpy as np
import pytest
import whet
from whet.cuda import sensors


@pytest.mark.parametrize("question", [
    "utilization", "memory_usage", "temperature", "power_draw", "clock_rate", "device_memory_used",
    "list_gpu_processes"])
def test_sensors_are_read_or_it_is_said_why_not(question):
    ask = getattr(whet.cuda, question)
    if whet.cuda.is_available():
        told = ask()
        assert told.startswith("GPU:0\n") if question == "list_gpu_processes" else told >= 0
        assert question not in ("utilization", "memory_usage") or told <= 100
    else:
        with pytest.raises(RuntimeError, match="no sensors can be read: "):
            ask()


def test_pinned_memory_that_nothing_uses_is_given_back(gpus):
    freed = []
    free, pinned = gpus.driver.free_pinned, gpus.pinned
    gpus.driver.free_pinned = lambda address: (freed.append(address), free(address))
    held = pinned.array((100,), np.dtype(np.uint8))
    dropped = pinned.array((5000,), np.dtype(np.uint8))
    address = dropped.__array_interface__["data"][0]
    del dropped
    whet.accelerator.empty_host_cache()
    assert freed == [address]
    held[:] = 1
    del held
    whet.cuda.empty_host_cache()
    assert len(freed) == 2 and not pinned.unused


def test_each_sensor_is_asked_by_its_name_and_number(monkeypatch):
    asked = []

    def answers(name, fields):
        def ask(handle, *rest):
            *numbers, answer = rest
            asked.append((name, handle, *numbers))
            for field, number in fields.items():
                setattr(answer._obj, field, number)
            return 0
        return ask

    def processes(handle, count, found):
        if count._obj.value < 100:
            count._obj.value = 100
            return sensors.INSUFFICIENT_SIZE
        count._obj.value = 2
        found[0].pid, found[0].used = 7, 3 << 20
        found[1].pid, found[1].used = 8, sensors.NOT_AVAILABLE
        return 0
    nvml = types.SimpleNamespace(
        nvmlDeviceGetUtilizationRates=answers("rates", {"gpu": 60, "memory": 20}),
        nvmlDeviceGetTemperature=answers("temperature", {"value": 41}),
        nvmlDeviceGetPowerUsage=answers("power", {"value": 70000}),
        nvmlDeviceGetClockInfo=answers("clock", {"value": 1200}),
        nvmlDeviceGetMemoryInfo=answers("memory", {"used": 1 << 33}),
        nvmlDeviceGetComputeRunningProcesses_v3=processes)
    monkeypatch.setattr(sensors, "_library", lambda: nvml)
    monkeypatch.setattr(sensors, "_handle", lambda index: f"handle {index}")
    monkeypatch.setattr(sensors._streams, "index_of", lambda device: device)
    cuda = whet.cuda
    assert [cuda.utilization(1), cuda.memory_usage(1), cuda.temperature(1), cuda.power_draw(1),
            cuda.clock_rate(1), cuda.device_memory_used(1)] == [60, 20, 41, 70000, 1200, 1 << 33]
    assert asked == [("rates", "handle 1")] * 2 + [
        ("temperature", "handle 1", 0), ("power", "handle 1"), ("clock", "handle 1", 1),
        ("memory", "handle 1")]
    assert cuda.list_gpu_processes(1).splitlines() == [
        "GPU:1", "process          7 uses        3.000 MB GPU memory",
        "process          8 uses memory not available"]


def test_pinned_memory_is_counted(gpus):
    cuda = whet.cuda
    held = gpus.pinned.array((600,), np.dtype(np.uint8))
    del held
    again = gpus.pinned.array((700,), np.dtype(np.uint8))
    counts = cuda.host_memory_stats_as_nested_dict()
    assert counts["allocations"] == {"current": 1, "peak": 1, "allocated": 1, "freed": 0}
    assert counts["active_bytes"] == {"current": 1024, "peak": 1024, "allocated": 2048,
                                      "freed": 1024}
    del again
    cuda.empty_host_cache()
    cuda.reset_peak_host_memory_stats()
    cuda.reset_accumulated_host_memory_stats()
    assert set(cuda.host_memory_stats().values()) == {0}


def test_a_process_may_have_a_part_of_the_memory(gpus):
    cuda = whet.cuda
    assert cuda.get_per_process_memory_fraction() == 1
    total = gpus.driver.memory_info(0)[1]
    cuda.set_per_process_memory_fraction(0.5)
    half = whet.empty(total // 2, dtype=whet.uint8, device="cuda")
    with pytest.raises(cuda.OutOfMemoryError, match="50% of the memory"):
        whet.empty(total // 4, dtype=whet.uint8, device="cuda")
    del half
    whet.empty(total // 4, dtype=whet.uint8, device="cuda")
    with pytest.raises(ValueError, match="0~1"):
        cuda.set_per_process_memory_fraction(1.5)
    with pytest.raises(TypeError):
        cuda.set_per_process_memory_fraction(1)
