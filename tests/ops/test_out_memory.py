"""`out=` of another shape gets it in its own memory, which must not be that of an operand."""
import warnings

import pytest
import whet
import whet.nn.functional as F

CALLS = {
    "pointwise": lambda x, o: whet.add(x, 1, out=o),
    "of two": lambda x, o: whet.mul(whet.ones(6), x, out=o),
    "a function with out=": lambda x, o: whet.index_select(x, 0, whet.arange(6), out=o),
    "a list": lambda x, o: whet.cat([whet.ones(2), x], out=o),
    "several results": lambda x, o: whet.sort(x, out=(o, whet.empty(0, dtype=whet.int64))),
    "gelu": lambda x, o: F.gelu(x, out=o),
    "norm": lambda x, o: whet.linalg.vector_norm(x.view(6, 1), dim=1, out=o),
}
PARTS = {
    "the first": slice(0, 3), "those in the midst": slice(2, 5), "each second": slice(0, 6, 2)}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", CALLS)
def test_out_of_another_shape_over_an_operand_is_an_error(name, part):
    x = whet.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            CALLS[name](x, x[PARTS[part]])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", CALLS)
def test_out_of_another_shape_elsewhere_is_resized(name):
    x, memory = whet.arange(6.0), whet.zeros(12)
    with pytest.warns(UserWarning, match="was resized"):
        CALLS[name](x, o := memory[2:4])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    assert memory[2:2 + len(o)].tolist() == o.tolist() and any(o.tolist())


def test_out_of_the_result_s_shape_may_lie_over_an_operand():
    x = whet.arange(6.0)
    whet.add(x[:5], 1, out=x[1:])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    whet.mul(x, 2, out=x)
    assert x.tolist() == [0, 2, 4, 6, 8, 10]


def test_out_that_repeats_elements_is_not_resized():
    with pytest.raises(RuntimeError, match="more than one element"):
        whet.index_select(whet.ones(3, 6), 1, whet.tensor([0, 1]), out=whet.zeros(1).expand(3, 1))
