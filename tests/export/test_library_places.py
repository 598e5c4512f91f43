"""Elements at places that data name are machine code in libraries: they are put, added, combined,
counted and looked for there with the bits of eager mode."""

import platform

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.jit.export.library import linker, targets

from tests.export.test_library import CALL
from tests.export.test_library_orders import run

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or linker.command(targets.X86, "a.o", "a.so") is None,
    reason="libraries are linked and run on x86-64 with a linker",
)
PLACES = whet.tensor([[0, 2, 2, 1], [2, 0, 2, 0]])
KINDS = whet.float32, whet.bfloat16, whet.int32


def odd(x):
    """Numbers many of which are equal, some of them NaN, and zeros of both signs."""
    return (x * 2).round().masked_fill(x > 1.5, float("nan"))


def combined(x, src, at):
    """All ways to combine elements into places, of many types."""
    at, made = at % 3, [odd(x).scatter_reduce(0, at % 3, odd(src), "amax")]
    for kind in KINDS:
        a, b = x.to(kind), src.to(kind)
        for how in ("sum", "prod", "mean", "amax", "amin"):
            made += [a.scatter_reduce(0, at, b, how, include_self=k) for k in (True, False)]
        made += [a.index_reduce(1, at[0], b[:1].expand(3, 4).contiguous(), "amax"),
                 a.scatter(0, at[:, :3], b), a.scatter_add(0, at[:, :3], b)]
    return made


def test_elements_are_combined_into_places(tmp_path):
    run(combined, [whet.randn(3, 5) * 3, whet.randn(2, 4) * 3, PLACES], tmp_path)


def written(x, at, mask):
    """Indices of several dimensions, which are no neighbours, and masks."""
    at, mask = at % 3, mask > 0
    y, z, w = x.clone(), x.clone(), x.mT.clone()
    y[at, :, at] = 7.0
    z.index_put_((at, None, at), whet.arange(5.0), accumulate=True)
    w[:, at[0]] += x[at[0], :3, :1]
    return (y, z, w, x[at, :, at], x.index_fill(1, at[0], -1.0), x[:1].gather(2, at[None, :1, :3]),
            x.masked_scatter(mask, x.flip(0)), whet.nonzero_static(mask, size=5))


def test_elements_are_written_where_indices_and_masks_say(tmp_path):
    x, mask = whet.randn(3, 5, 3), whet.randn(3, 5, 3)
    run(written, [x, whet.tensor([[0, 2, 1], [1, 1, 0]]), mask], tmp_path)


def counted(x, whole):
    """What goes by how often numbers occur."""
    x, whole = odd(x), whole % 8
    return (*x.mode(1), *whole.mode(0), whet.bincount(whole[0], minlength=9),
            whet.bincount(whole[0], x[0], minlength=9), whet.isin(whole, whole[0, :2]),
            whet.isin(x, x[1], invert=True), x.histc(6, -2.0, 2.0))


def test_numbers_are_counted(tmp_path):
    run(counted, [whet.randn(4, 6), whet.randint(0, 8, (4, 6))], tmp_path)


def test_pools_are_undone(tmp_path):
    def fn(x):
        y, at = F.max_pool2d(x, 3, stride=2, return_indices=True)
        return F.max_unpool2d(y, at, 3, stride=2, output_size=x.shape[2:])

    run(fn, [whet.randn(2, 3, 7, 8)], tmp_path)


def test_a_place_that_is_not_there_is_an_error(tmp_path):
    def fn(at):
        return whet.bincount(at, minlength=4), whet.zeros(5).index_fill(0, at, 1.0)

    exported = whet.export(fn, whet.tensor([1, 3, 0]))
    exported.compile(tmp_path / "model.so")
    model = CALL.Model(tmp_path / "model.so")
    with pytest.raises(ValueError, match=r"test_library_places\.py:\d+"):
        model(np.array([1, 4, 0]))
    assert model(np.array([3, 3, 0]))[0].tolist() == [1, 0, 0, 2]
    model.close()


def test_counts_that_data_decide_are_refused(tmp_path):
    exported = whet.export(lambda at: whet.bincount(at), whet.tensor([1, 3]))
    with pytest.raises(whet.jit.export.ExportError, match="bincount, from .*places.py"):
        exported.compile(tmp_path / "model.so")
