"""What tests of traced functions share."""
import math

import pytest
from whet.jit.policy import account, many_sizes, timing


@pytest.fixture
def whatever_it_costs(monkeypatch):
    """Recordings and plans for many sizes are made and used, also where that does not pay."""
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    monkeypatch.setattr(timing, "MARGIN", 0.0)
