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


def pytest_configure(config):
    """A run of the whole suite takes a part of what `tests/drawn.py` tells of."""
    from tests import drawn
    config.addinivalue_line("markers", "drawn(of): the whole suite has one in so many cases a day")
    if not config.getoption("file_or_dir"):
        drawn.decide()


def pytest_terminal_summary(terminalreporter):
    """Which part it was, so that it can be run again."""
    from tests import drawn
    if drawn.draw() is not None:
        terminalreporter.write_line(f"a part of the cases was drawn by WHET_DRAW={drawn.draw()}")


def pytest_collection_modifyitems(config, items):
    from tests import drawn
    before, items[:] = list(items), drawn.chosen(items)
    config.hook.pytest_deselected(items=set(before) - set(items))


def pytest_collection_finish():
    """Take the tests and what they import out of garbage collection: they stay until the end, and
    many tests collect, or look for all that refers to an object."""
    gc.collect()
    gc.freeze()


# ---- what is otherwise in every test than for users ----------------------------------------------
@pytest.fixture(autouse=True)
def little_to_look_through():
    """What earlier tests left is out of garbage collection, too, so that a test takes as long as it
    does alone."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def unlimited(monkeypatch):
    """What is recorded depends on no clock: there is no limit on the time that recordings take.
    `jit/test_policy.py` tests the limit."""
    from whet.jit.policy import account
    monkeypatch.setattr(account, "GRACE", float("inf"))


@pytest.fixture(autouse=True)
def machine_code_repeats_calls_at_once(request, monkeypatch):
    """The first call of a kind makes a recipe, by which machine code makes the next one. For users
    the second call does, but most tests make no third. Tests in `native/` have it as users do."""
    from whet.cpu import repeated_calls
    if request.path.parent.name != "native":
        monkeypatch.setattr(repeated_calls, "came_before", lambda op, layout: True)


@pytest.fixture(autouse=True)
def faults_are_raised(monkeypatch):
    """An internal error while a call is recorded fails the test. For users the call goes on
    eagerly."""
    from whet.jit.capture.internal_errors import faults
    monkeypatch.setattr(faults, "are_raised", True)


@pytest.fixture(autouse=True)
def seeded():
    """A test begins with one seed, and leaves modes and defaults as they were."""
    import whet
    whet.manual_seed(0)
    yield
    assert whet.is_grad_enabled(), "a test left gradient recording off"
    assert whet.get_default_dtype() is whet.float32, "a test left another default dtype"


# ---- what a test asks for ------------------------------------------------------------------------
@pytest.fixture
def nothing_compiled_meanwhile():
    """The background thread has compiled all that was waiting. It would take memory meanwhile."""
    from whet.cpu import tiered_compilation
    tiered_compilation.compile_well()


@pytest.fixture
def one_thread():
    """Products take scratch memory for each thread, so a test of memory has one."""
    yield from with_threads(1)


@pytest.fixture
def two_threads():
    """Work is shared out, also on a machine with one processor."""
    yield from with_threads(2)


def with_threads(count):
    """Compute with this many threads meanwhile."""
    import whet
    threads = whet.get_num_threads()
    whet.set_num_threads(count)
    yield
    whet.set_num_threads(threads)
