"""Faults that are planted to see that tests notice them (`make planted`, `make planted-gpu`) change
a text that stands where they say."""
import pytest

from tests import planted
from tests.cuda import faults


@pytest.mark.parametrize("fault", [*planted.FAULTS, *faults.FAULTS], ids=lambda f: f.what)
def test_the_text_of_a_fault_is_there_once(fault):
    at, = [path for folder in (planted.ROOT, planted.ROOT / "runtime")
           if (path := folder / fault.file).exists()]
    assert at.read_text().count(fault.right) == 1
