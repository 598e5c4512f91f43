"""Every test starts from the same default state."""
import gc
import os
import sys
import tempfile

import pytest

# every graph is verified after every pass
os.environ.setdefault("WHET_CHECK", "1")
os.environ.setdefault("WHET_CACHE_DIR",
                      os.path.join(os.path.dirname(__file__), "..", ".whet-cache"))
# Compiled Python is kept, also where the environment says that it should not be: by the processes
# that tests start, and by this one. To compile the tests' asserts takes a third of collecting them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ.setdefault("PYTHONPYCACHEPREFIX", os.path.join(tempfile.gettempdir(), "whet-pycache"))
sys.dont_write_bytecode = False
sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"]


def pytest_collection_finish():
    """The tests themselves and what they import stay: looking for garbage among them, or for what
    refers to something, would take most of the time of many tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def little_to_look_through():
    """What earlier tests left is nobody's garbage: looking for what refers to something, and
    collecting, take as long as in a process of its own."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    """Recordings cost nothing: what is recorded depends on no clock. (What may be spent on them
    is the matter of `test_policy.py`.)"""
    from whet.jit.policy import account
    monkeypatch.setattr(account, "GRACE", float("inf"))


@pytest.fixture(autouse=True)
def machine_code_repeats_calls_at_once(request, monkeypatch):
    """Most tests make a call twice at most; recipes are made of the second only, as a rule."""
    from whet.cpu import repeated_calls
    if request.path.parent.name != "native":
        monkeypatch.setattr(repeated_calls, "came_before", lambda op, layout: True)


@pytest.fixture(autouse=True)
def faults_are_raised(monkeypatch):
    """What goes wrong in making a recording is no reason to go on eagerly."""
    from whet.jit.capture.internal_errors import faults
    monkeypatch.setattr(faults, "are_raised", True)


@pytest.fixture(autouse=True)
def seeded():
    import whet
    whet.manual_seed(0)
    yield
    assert whet.is_grad_enabled(), "a test left gradient recording off"
    assert whet.get_default_dtype() is whet.float32, "a test left another default dtype"


@pytest.fixture
def nothing_compiled_meanwhile():
    """What is compiled behind a test's back takes memory of Python's."""
    from whet.cpu import tiered_compilation
    tiered_compilation.compile_well()


@pytest.fixture
def one_thread():
    """Each thread has scratch memory of its own in a product."""
    import whet
    threads = whet.get_num_threads()
    whet.set_num_threads(1)
    yield
    whet.set_num_threads(threads)
