"""Each function of the array API standard in random calls, against array-api-strict.

`python -m tests.fuzz_array_api` makes more of them.
"""
import warnings

import pytest

from .reference import CALLS, OPERATORS, check, ours, strict

pytestmark = pytest.mark.skipif(strict is None, reason="array-api-strict is not installed")
COUNT = 12
# what has no result to compare, is compared elsewhere, or is of a later standard
OTHERS = {
    "isin", "__array_namespace_info__", "empty", "empty_like", "from_dlpack", "finfo", "iinfo",
    "broadcast_shapes"
}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", [*CALLS, *OPERATORS])
def test_random_calls(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [check(name, seed) for seed in range(COUNT)]
    assert [f for f in found if f] == []
    assert None in found, "array-api-strict refuses all of these calls"


def test_no_function_is_left_out():
    names = {n for n in strict.__all__ if callable(getattr(strict, n)) and not n.endswith("_flags")}
    names = {n
             for n in names
             if not isinstance(getattr(strict, n), type) and hasattr(ours, n)} - OTHERS
    types = {n for n in names if "DType" in type(getattr(strict, n)).__name__}
    assert names - types - CALLS.keys() == set()
