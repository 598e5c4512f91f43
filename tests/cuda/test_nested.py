"""Nested tensors on simulated devices."""
import pytest
import whet
import whet.nn.functional as F
from whet import nested

from tests.nested_parts import nt_of

LONGER = 3, 2, 5, 2


def heads_of(x):
    return x.unflatten(-1, (2, 2)).transpose(1, 2)


FUNCTIONS = {
    "elements": lambda x: x * 2 + x.exp(), "a row for each part": lambda x: x * whet.arange(
        4., device=x.device).reshape(4, 1, 1),
    "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "var": lambda x: x.var(1),
    "amax": lambda x: x.amax(1), "places": lambda x: x.max(1)[1], "softmax": lambda x: x.softmax(1),
    "padded": lambda x: x.to_padded_tensor(0.), "a part": lambda x: x[2],
    "gaps": lambda x: nested.narrow(x.to_padded_tensor(0.), 1, 1, 2).sum(1),
    "attention": lambda x: F.scaled_dot_product_attention(*[heads_of(x)] * 3),
    "causal": lambda x: F.scaled_dot_product_attention(*[heads_of(x)] * 3, is_causal=True)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_on_the_host(gpus, name):
    x = nt_of(lengths=LONGER).float()
    there = x.to("cuda")
    assert there.is_cuda and there.offsets().is_cuda
    want, found = FUNCTIONS[name](x), FUNCTIONS[name](there)
    assert found.is_cuda and found.is_nested == want.is_nested
    if want.is_nested:
        want, found = want.values(), found.values()
    whet.testing.assert_close(found.cpu(), want)


def test_those_that_share_offsets_do_so_on_a_device(gpus):
    x = nt_of().float()
    assert (x.cuda() + (x * 2).cuda()).shape == x.cuda().shape != x.shape
    whet.testing.assert_close((x.cuda() * 3).cpu().values(), x.values() * 3)
