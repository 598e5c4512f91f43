"""Scans on devices, of lines that are shared by many programs, and of lines that are not: the CPU's
bits."""
import numpy as np
import pytest
import whet
from whet.cuda import scans

from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]
CALLS = {"cumsum": lambda x, d: [x.cumsum(d)], "cumprod": lambda x, d: [x.cumprod(d)],
         "cummax": lambda x, d: list(x.cummax(d)), "cummin": lambda x, d: list(x.cummin(d)),
         "logcumsumexp": lambda x, d: [x.logcumsumexp(d)]}


@pytest.mark.parametrize("shape,dim", [((63,), 0), ((64,), 0), ((2, 4100), 1), ((130, 3), 0),
                                       ((2, 70, 5), 1)])
@pytest.mark.parametrize("call", CALLS)
def test_lines_that_are_shared(gpus, call, shape, dim):
    x = whet.tensor(np.random.default_rng(0).standard_normal(shape).astype("f4"))
    for got, want in zip(CALLS[call](x.cuda(), dim), CALLS[call](x, dim), strict=True):
        same(got, want)


def test_lines_of_three_blocks_that_are_not_shared(gpus, monkeypatch):
    monkeypatch.setattr(scans, "LINES", 0)
    test_lines_that_are_shared(gpus, "cumsum", (1, 8200), 1)
    assert not any(s.name.endswith("carries") for _, s, _ in gpus.kernels)


@pytest.mark.parametrize("dtype", [whet.float64, whet.float16, whet.int32, whet.bool], ids=str)
def test_types(gpus, dtype):
    x = whet.tensor(np.random.default_rng(0).standard_normal((2, 300)) * 3).to(dtype)
    for call in ("cumsum", "cummax"):
        if call == "cumsum" or dtype is not whet.bool:
            for got, want in zip(CALLS[call](x.cuda(), 1), CALLS[call](x, 1), strict=True):
                same(got, want)


def test_masks_of_many_elements(gpus):
    x = whet.tensor(np.random.default_rng(0).standard_normal(5000).astype("f4"))
    same(x.cuda()[x.cuda() > 0.5], x[x > 0.5])
