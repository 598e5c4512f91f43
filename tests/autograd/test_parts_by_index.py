"""Gradients of writes to parts are cut by an index, where one shows the same memory."""
import math
import random

import whet
from whet.op_table import REGISTRY
from whet.ops.registry import apply
from whet.strided_memory import index_of_part

ENDS = None, 0, 1, 2, 3, -1, -2


def parts(seed, count):
    """Tensors that lie row by row, and parts of them that an index shows; some are turned."""
    rng = random.Random(seed)
    for _ in range(count):
        shape = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
        x = whet.arange(math.prod(shape)).reshape(shape)
        part = x[tuple([
            rng.choice((rng.randrange(-n, n), slice(None), slice(
                rng.choice(ENDS), rng.choice(ENDS), rng.randint(1, 3)))) for n in shape])]
        turned = part.ndim > 1 and rng.random() < 0.2
        yield x, part.transpose(0, 1) if turned else part


def test_a_part_is_found_by_its_place_in_memory():
    found = 0
    for x, part in parts(0, 3000):
        index = index_of_part(
            x.shape, x.stride(), part.shape, part.stride(), part.storage_offset())
        if index is not None:
            found += 1
            same = apply(REGISTRY["slice"], (x,), {"index": index})
            assert (same.shape, same.stride()) == (part.shape, part.stride()), (x.shape, index)
            assert same.storage_offset() == part.storage_offset(), (x.shape, index)
    assert found > 1500


def test_the_index_is_the_same_where_there_are_more_rows():
    def index(n, get):
        x = whet.zeros(n, 4)
        part = get(x)
        return index_of_part(x.shape, x.stride(), part.shape, part.stride(), part.storage_offset())
    whole = None, None, None
    for get, wanted in ((lambda x: x[:, -1], (whole, -1)), (lambda x: x[-1], (-1, whole)),
                        (lambda x: x[1:], ((1, None, None), whole)),
                        (lambda x: x[:-1], ((None, -1, None), whole)),
                        (lambda x: x[::2, 1], ((None, None, 2), 1))):
        assert {index(n, get) for n in (7, 8, 100)} == {wanted}
    assert index(7, lambda x: x.T[1:]) is None
