"""Simulated devices for tests: each test has its own, which nobody used before."""
import pytest
from whet.cuda import device_state
from whet.cuda.simulated.driver import SimulatedDriver


@pytest.fixture
def gpus():
    """Two simulated devices; the machine that has them."""
    with device_state.use(SimulatedDriver(seed=0, memory=1 << 27)) as made:
        yield made


@pytest.fixture
def gpus_of():
    """A function that makes the devices of a seed, and of so much memory, the current ones."""
    import contextlib
    with contextlib.ExitStack() as stack:
        yield lambda seed=0, memory=1 << 27: stack.enter_context(
            device_state.use(SimulatedDriver(seed=seed, memory=memory)))


@pytest.fixture
def no_host():
    """The CPU computes nothing in this test."""
    from tests.cuda.sweep import by_the_cpu
    with by_the_cpu() as told:
        yield
    assert not told
