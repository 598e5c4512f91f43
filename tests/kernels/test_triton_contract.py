"""Contractions as Triton source: canonical chains have the bits of the CPU's; tensor cores come
close; and as cubins."""
import itertools
import re

import numpy as np
import pytest
from whet.cpu import gemm
from whet.ir import scalar as S
from whet.passes.lower_triton import contract as lower

from tests.kernels.test_products import BF16, layouts, ours, random
from tests.triton_runs import needs_triton, run_matmul, same

pytestmark = needs_triton
X, Y = S.args(2)


@ours
@pytest.mark.parametrize("dtype", ["f4", "f2", BF16, "f8", "i4", "u1", "i8"], ids=str)
def test_canonical_chains(dtype):
    for m, k, n in ([(3, 0, 5), (4, 7, 17), (66, 3, 65),
                     (16, 16, 16)] + [(5, 270, 17), (2, 515, 3)] * (dtype in ("f4", BF16))):
        a, b = random((m, k), dtype), random((k, n), dtype, 1)
        want = gemm.matmul(a, b)
        for x, y in list(zip(layouts(a), list(layouts(b))[::-1]))[:5 if k == 7 else 1]:
            same(run_matmul(x, y)[0], want)


@ours
def test_steps_of_k_have_the_same_blocks():
    a, b = random((2, 260), "f8"), random((260, 3), "f8", 1)
    same(run_matmul(a, b)[0], gemm.matmul(a, b))


@ours
@pytest.mark.parametrize("dtype", ["f4", "f2", BF16, "f8"], ids=str)
def test_one_row(dtype):
    for k, n in [(0, 3), (1, 1), (31, 66)] + [(2059, 3)] * (dtype == "f4"):
        a, b = random((1, k), dtype), random((k, n), dtype, 1)
        got, want = run_matmul(a, b, lower.OneRow)[0], gemm.matmul(a, b)
        same(got, want)
        same(got.T.copy(), gemm.matmul(b.T, a.T))
        if k < 2000:
            same(run_matmul(a, b.T.copy().T, lower.OneRow)[0], want)


@ours
def test_strides_of_one_are_no_parameters():
    a, b = random((20, 37), "f4"), random((37, 9), "f4", 1)
    got, source = run_matmul(a, b, ones=("a_k", "b_n", "c_n"))
    same(got, gemm.matmul(a, b))
    assert not {"a_k", "b_n", "c_n"} & {name for name, _ in source.parameters}


@ours
def test_batches():
    a, b = random((2, 3, 9, 20), "f4"), random((2, 3, 20, 11), "f4", 1)
    same(run_matmul(a, b)[0], gemm.matmul(a, b))
    same(
        run_matmul(a.swapaxes(0, 1), b.swapaxes(0, 1))[0],
        gemm.matmul(a.swapaxes(0, 1), b.swapaxes(0, 1)))
    same(run_matmul(a, np.broadcast_to(b[:1, :1], b.shape))[0], gemm.matmul(a, b[0, 0]))
    same(run_matmul(a[0], b[0])[0], gemm.matmul(a[0], b[0]))


@ours
@pytest.mark.parametrize("dtype", ["f4", BF16], ids=str)
def test_epilogues(dtype):
    a, b, bias, residual = (random((33, 40), dtype), random(
        (40, 20), dtype, 1), random((20,), dtype, 2), random((33, 20), dtype, 3))
    relu = S.maximum(X + Y, 0) * S.arg(2)
    got, source = run_matmul(a, b, operands=(bias, residual), epilogue=relu)
    same(got, gemm.matmul(a, b, epilogue=relu, operands=(bias, residual)))
    assert source.name == "matmul_add_max_mul_kernel"
    wide = S.cast(X, "f64") * 2
    same(run_matmul(a, b, epilogue=wide)[0], gemm.matmul(a, b).astype("f8") * 2)


@ours
def test_prologues():
    """What comes before the product is computed as it is read; what is beyond K takes no part."""
    from whet.cpu.pointwise import Pointwise
    a, b = random((20, 37), "f4"), random((37, 9), "f4", 1)
    before, = Pointwise("before", [S.cos(X) / X], 1)([a])
    same(run_matmul(a, b, a=S.cos(X) / X)[0], gemm.matmul(before, b))
    a, b = a.astype(BF16), b.astype(BF16)
    before, = Pointwise("before", [S.exp(X)], 1)([b])
    same(run_matmul(a, b, b=S.exp(X))[0], gemm.matmul(a, before))


def test_tensor_cores_compute_the_same_up_to_their_order():
    for dtype in ("f2", BF16):
        a, b = random((40, 300), dtype), random((300, 50), dtype, 1)
        got, source = run_matmul(a, b, lower.Halves)
        assert 'input_precision' not in source.text
        np.testing.assert_allclose(got.astype("f8"),
                                   a.astype("f8") @ b.astype("f8"), rtol=1e-2, atol=1)
    with pytest.raises(lower.scalar.Unsupported):
        lower.lower(lower.Contract("f32"), lower.Halves)
    with pytest.raises(lower.scalar.Unsupported):
        lower.lower(lower.Contract("c64"))


# ---- as cubins -----------------------------------------------------------------------------------
ONES = "a_k", "b_n", "c_n"
ALIGNED = ("a", "b", "c", "m", "n", "k", "a_m", "b_k", "c_m",
           *(f"{x}_{d}" for x in "abc" for d in "oi"))


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f64", "i32"])
def test_chains_compile(dtype):
    from whet.passes.lower_triton import compile
    tile = {"f32": lower.FLOATS[0], "bf16": lower.FLOATS[1]}.get(dtype, lower.STEPS)
    found = compile.compile(lower.lower(lower.Contract(dtype), ones=ONES, tile=tile),
                            aligned=ALIGNED)
    assert not found.stack and "mma" not in found.ptx
    if dtype[0] != "i":
        assert "tf32" not in found.ptx and not re.search(r"\bmul(\.rn)?\.f32", found.ptx)
        found_chains = chains(found.ptx)
        each = tile.m * tile.n // (32 * tile.warps)
        assert [len(c) for c in found_chains] == [tile.k] * each
    if dtype == "f32":
        in_the_order_of_k(found.ptx, found_chains)


def chains(ptx):
    """For each accumulator the registers of B that its fused multiply-adds take, one after the
    other."""
    found, at = [], {}
    for out, b, acc in re.findall(r"fma\.rn\.f\d\d\s+(%\w+), %\w+, (%\w+), (%\w+);", ptx):
        chain = at.pop(acc, None)
        if chain is None:
            found.append(chain := [])
        chain.append(b)
        at[out] = chain
    return found


def in_the_order_of_k(ptx, found):
    """In shared memory a row of B, 64 numbers, lies behind the other: that far apart are the
    addresses that a chain reads."""
    place = {}
    for registers, base, offset in re.findall(
            r"ld\.shared\.(?:v\d\.)?b32\s+\{?([^}\[]*)\}?, \[(%\w+)\+?(\d*)\]", ptx):
        for i, r in enumerate(re.findall(r"%\w+", registers)):
            place[r] = base, int(offset or 0) + 4 * i
    for chain in found:
        bases, offsets = zip(*(place[r] for r in chain))
        assert len(set(bases)) == 1 and set(np.diff(offsets)) == {64 * 4}


def test_one_row_compiles():
    from whet.passes.lower_triton import compile
    assert (not compile.compile(lower.lower(lower.Contract("f32"), lower.OneRow, ONES),
                                aligned=ALIGNED).stack)


def test_tensor_cores_compile():
    from whet.passes.lower_triton import compile
    contract = lower.Contract("bf16", epilogue=S.maximum(X + Y, 0), operands=("bf16",))
    found = compile.compile(lower.lower(contract, lower.Halves, (*ONES, "e0_n")),
                            aligned=(*ALIGNED, "e0", "e0_o", "e0_i"))
    assert "wgmma.mma_async" in found.ptx and "cp.async" in found.ptx and not found.stack


@ours
@pytest.mark.parametrize("tile", [*lower.FLOATS, lower.Tile(32, 64, 32)], ids=str)
def test_no_tile_of_floats_changes_a_bit(tile):
    a, b = random((150, 300), "f4"), random((300, 140), "f4", 1)
    same(run_matmul(a, b, tile=tile)[0], gemm.matmul(a, b))


@ours
@pytest.mark.parametrize("dtype", ["f4", BF16], ids=str)
def test_parts_of_k_are_the_blocks_whose_sums_are_added(dtype):
    """Cut along K, the sums of the parts are there, first to last: of f32 the CPU's blocks."""
    from whet.passes.lower_triton import simulate
    kernel = lower.Chains if dtype == "f4" else lower.Halves
    a, b = random((5, 600), dtype), random((600, 40), dtype, 1)
    contract = lower.Contract("f32" if dtype == "f4" else "bf16")
    tile = lower.FLOATS[-1] if dtype == "f4" else lower.TENSORS[-1]
    part, parts, sums = 256, 3, np.full((3, 5, 40), np.nan, np.float32)
    source = lower.lower(contract, kernel, tile=tile, in_parts=True)
    strides = [[0, 0, *(s // x.itemsize for s in x.strides)] for x in (a, b, sums[0])]
    numbers = lower.numbers((5, 40, 600), [s[2:] + s[:2] for s in strides])
    simulate.run(source, [a, b, sums], numbers | {"part": part, "parts": parts, "c_p": 200})
    total = sums[0] + sums[1] + sums[2]
    if dtype == "f4":
        same(total, gemm.matmul(a, b))
    np.testing.assert_allclose(total, a.astype("f8") @ b.astype("f8"), rtol=1e-4, atol=1e-4)


def test_parts_do_not_depend_on_the_epilogue():
    """They decide about bits: traced functions have epilogues where eager ones have none."""
    double = S.exp(S.arg(0))
    for m, n, k in itertools.product((16, 100, 256, 768, 4096), (64, 512, 4096), (64, 1024, 20000)):
        for kernel, dtype in ((lower.Tf32, "f32"), (lower.Halves, "bf16"), (lower.Chains, "f32")):
            plain, more = (kernel.cut(lower.Contract(dtype, epilogue=e), (m, n, k), 1, 132)
                           for e in (S.arg(0), double))
            assert plain.part == more.part


def test_how_products_are_cut():
    """Large tiles where there are enough of them for all units, parts where there are few."""
    halves, floats = lower.Contract("bf16"), lower.Contract("f32")
    assert lower.Halves.cut(halves, (8192, 8192, 8192), 1, 132) == (lower.TENSORS[0], 0)
    assert lower.Chains.cut(floats, (4096, 4096, 64), 1, 132) == (lower.FLOATS[0], 0)
    small = lower.Chains.cut(floats, (64, 4096, 4096), 1, 132)
    assert small.part == lower.KC and small.parts(4096) == 16
    tall = lower.Halves.cut(halves, (64, 256, 8192), 1, 132)
    assert 1 < tall.parts(8192) <= lower.MOST_PARTS and tall.part % tall.tile.k == 0
    assert lower.Halves.cut(halves, (64, 64, 32), 1, 132).part == 0
    by_columns = lower.Halves.cut(halves, (8192, 8192, 64), 1, 132, True)
    assert by_columns.tile == lower.TALL
    large = 4096, 4096, 64
    assert lower.Tf32.cut(floats, large, 1, 132).tile == lower.ROUNDED[0]
    biased = lower.Contract("f32", epilogue=lower.S.arg(0) + lower.S.arg(1), operands=("f32",))
    assert lower.Tf32.cut(biased, large, 1, 132).tile == lower.ROUNDED[0]
    more = lower.Contract("f32", epilogue=lower.S.exp(lower.S.arg(0)))
    assert lower.Tf32.cut(more, large, 1, 132).tile == lower.ROUNDED[1]
