"""What tests of traced functions share."""
import pytest
from whet.jit.policy import many_sizes, timing


@pytest.fixture
def never_sounded(monkeypatch):
    """No call of a new size is eager only to see how long that takes."""
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)


@pytest.fixture
def replays_count_as_faster(monkeypatch):
    """No recording is left alone because eager calls are shorter."""
    monkeypatch.setattr(timing, "MARGIN", 0.0)


@pytest.fixture
def whatever_it_costs(never_sounded, replays_count_as_faster):
    """Recordings and plans for many sizes are made and used, also where that does not pay."""
