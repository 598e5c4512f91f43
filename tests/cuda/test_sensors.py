"""What devices tell of themselves, and pinned memory that is given back."""
import numpy as np
import pytest
import whet


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
