"""What NumPy does in eager mode is machine code in libraries: order statistics, searches, and
elements that go to other places."""

import platform

import pytest
import whet
import whet.nn.functional as F
from whet.jit.export.library import linker, targets

from tests.export.test_library import compare

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or linker.command(targets.X86, "a.o", "a.so") is None,
    reason="libraries are linked and run on x86-64 with a linker",
)
ODD = (float("nan"), 0.0, -0.0, float("inf"))


def numbers():
    """Rows with equal elements, NaNs and zeros of both signs."""
    whet.manual_seed(0)
    x = (whet.randn(3, 7, 5) * 3).round()
    for i, value in enumerate(ODD):
        x[i % 3, i : i + 3, 2] = value
    return x


def orders(x, kind):
    """Order statistics along each dimension of numbers of a type."""
    x, made = x.to(kind), []
    for dim in range(3):
        made += [*x.sort(dim), *x.sort(dim, descending=True), *x.topk(2, dim), *x.median(dim),
                 *x.topk(3, dim, largest=False), *x.kthvalue(2, dim), *x.mode(dim)]
    return made + ([*x.nanmedian(1)] if kind.is_floating_point else [])


KINDS = whet.float32, whet.float64, whet.bfloat16, whet.float16, whet.int64, whet.int8


@pytest.mark.parametrize("kinds", [KINDS[:3], KINDS[3:]])
def test_order_statistics(kinds, tmp_path):
    def fn(x):
        return [y for kind in kinds for y in orders(x.nan_to_num() if not kind.is_floating_point
                                                    else x, kind)]

    run(fn, [numbers()], tmp_path)


def test_long_rows(tmp_path):
    run(lambda x: (*x.sort(1), *x.topk(9, 1), *x.sort(0), *x.double().sort(1)),
        [whet.randn(40, 300)], tmp_path)


def searched(x, s):
    rows, s = x.sort(-1).values, s.sort().values
    return (whet.searchsorted(s, x), whet.searchsorted(s, x, right=True), whet.bucketize(x, s),
            whet.searchsorted(rows, x), whet.searchsorted(s.double(), x.double()),
            whet.isin(x, s[:3]), whet.isin(x, s.double(), invert=True),
            x.nan_to_num().clamp(-9, 9).histc(5), x.histc(4, -2, 3))


def test_searches(tmp_path):
    run(searched, [numbers(), whet.arange(-4.0, 5.0)], tmp_path)


def places(x):
    return (x.tril(), x.triu(1), x.mT.tril(-1), (x > 0).tril(), x.to(whet.bfloat16).triu(),
            x.repeat_interleave(2, 1), x.repeat_interleave(whet.tensor([1, 0, 3]), 0))


def windows(x):
    columns = F.unfold(x, (2, 3), dilation=2, padding=(1, 2), stride=(2, 1))
    padded = [F.pad(x, (2, 1, 1, 3), mode=mode) for mode in ("reflect", "replicate", "circular")]
    cut = F.pad(x, (-1, 2, 1, -1), mode="replicate")
    return columns, F.fold(columns, x.shape[2:], (2, 3), 2, (1, 2), (2, 1)), *padded, cut


@pytest.mark.parametrize("fn, x", [(places, numbers()), (windows, whet.randn(2, 3, 8, 9))])
def test_elements_in_other_places(fn, x, tmp_path):
    run(fn, [x], tmp_path)
    # traces do it without NumPy, too
    assert not whet.export(fn, x).compiled.program.called


def run(fn, args, folder):
    """Does a library give the bits at each level?"""
    exported = whet.export(fn, *args)
    exported.compile(folder / "model.so", threads=2)
    compare(folder / "model.so", exported, args, calls=1)
