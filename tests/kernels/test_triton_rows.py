"""Row programs as Triton source: the bits of the CPU's kernels, whose order of sums they have;
and as cubins."""
import re

import numpy as np
import pytest
from whet.cpu import reduce
from whet.cpu.rows import rows
from whet.dtypes import SHORT
from whet.ir import row_programs
from whet.ir import scalar as S
from whet.ir.rows import BLOCK
from whet.passes.lower_triton import long_rows
from whet.passes.lower_triton import rows as lower

from tests.kernels import cross_entropy_rows
from tests.kernels.test_reductions import PROGRAMS, inputs
from tests.triton_runs import needs_triton, run_parts, run_rows, same

pytestmark = [pytest.mark.filterwarnings("ignore::RuntimeWarning"), needs_triton]
KINDS = ["sum", "prod", "max", "min", "any", "all", "max_index", "min_index"]


def check(program, operands, axes=(-1,), tile=None):
    got, source = run_rows(program, operands, axes, tile)
    for g, w in zip(got, rows(program, operands, axes), strict=True):
        same(np.ascontiguousarray(g), np.ascontiguousarray(w).reshape(g.shape))
    return source


def random(shape, t, seed=0):
    rng = np.random.default_rng(seed)
    if t == "bool":
        return rng.random(shape) < 0.5
    if t[0] in "iu":
        info = np.iinfo(SHORT[t].np)
        return rng.integers(info.min, info.max, shape, SHORT[t].np, endpoint=True)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 8, shape)).astype(SHORT[t].np)


@pytest.mark.parametrize("n", [1, 31, 33, 700, 4096, 12289])
def test_sums_have_the_order_of_the_cpu(n):
    for t in ("f32", "f64", "bf16") if n <= 4096 else ("f32",):
        check(reduce.reduction_program("sum", t), [random((2, n), t)])
    if n < 1000:
        check(reduce.reduction_program("prod", "f32"), [1 + random((3, n), "f32") / 1e4])
        check(reduce.reduction_program("mean", "f32"), [random((3, n), "f32"), float(n)])


def test_rows_without_elements():
    for kind in KINDS:
        t = "bool" if kind in ("any", "all") else "f32"
        for y, w in zip(
                run_rows(reduce.reduction_program(kind, t), [random((3, 0), t)])[0], {
                    "sum": [0], "prod": [1], "any": [0], "all": [1], "max": [-np.inf],
                    "min": [np.inf], "max_index": [-np.inf, 0], "min_index": [np.inf, 0]}[kind],
                strict=True):
            same(y, np.full(3, w, y.dtype))


@pytest.mark.parametrize(
    "tile", [lower.Tile(1, 1, 16, 32), lower.Tile(2, 2, 8, 64), lower.Tile(4, 8, 2, 32)], ids=str)
def test_no_tile_changes_a_bit(tile):
    """Blocks side by side or one after the other, the last chunk full or not."""
    for blocks in (1, 3, 6):
        check(reduce.reduction_program("sum", "f32"), [random((1, 4096 * blocks - 5), "f32")],
              tile=tile)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_type(kind):
    for t in ("bool", "u8", "i8", "i32", "u32", "u64", "i64", "f16", "bf16", "f32", "f64"):
        for shape in ((3, 70), (1, 1), (40, 5)):
            try:
                program = reduce.reduction_program(kind, t)
            except ValueError:                              # not of this type
                continue
            check(program, [random(shape, t)])


def test_extrema_of_zeros_infinities_and_nan():
    x = np.array([[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0], [-np.inf, -np.inf], [np.inf, np.inf],
                  [1, np.nan], [np.nan, -np.inf], [-np.nan, 3]])
    x = np.concatenate([x, np.repeat(x, 20, 1)], 1)
    for kind in ("max", "min", "max_index", "min_index"):
        for t in ("f32", "f64", "bf16"):
            check(reduce.reduction_program(kind, t), [x.astype(SHORT[t].np)])
            check(reduce.reduction_program(kind, t), [x[:, :2].astype(SHORT[t].np)])


def test_positions_are_the_first_and_see_what_is_computed():
    x = np.tile(random((1, 37), "f32"), (4, 9))
    for kind in ("max_index", "min_index"):
        check(reduce.reduction_program(kind, "f32", pre=S.sin(S.arg(0))), [x])


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "make", [*PROGRAMS, row_programs.batch_norm, row_programs.batch_norm_backward],
    ids=lambda p: p.__name__)
def test_programs(make):
    for t in ("f32", "bf16", "f64"):
        program = make(t)
        for shape, axes in (((5, 70), (1,)), ((6, 3, 5), (0, 2))):
            check(program, inputs(program, shape, axes, t), axes)


def test_numbers_have_the_type_of_the_program():
    for t in ("f32", "f64", "bf16"):
        program = row_programs.rms_norm(t, weight=False)
        check(program, [random((3, 40), t), 1e-5, 40.0])


def test_programs_on_rows_of_several_blocks():
    """Walks with sums and extrema together among them."""
    for make in (row_programs.softmax, cross_entropy_rows.cross_entropy,
                 row_programs.batch_norm_backward):
        program = make("f32")
        check(program, inputs(program, (2, 5000), (1,), "f32"), tile=lower.Tile(2, 1, 2, 128))


@pytest.mark.parametrize("make", [*PROGRAMS, row_programs.batch_norm_backward],
                         ids=lambda p: p.__name__)
def test_rows_that_are_cut_into_parts(make):
    """Each walk by programs of its own, and what they found joined, last parts short or empty."""
    for shape in ((2, 5), (2, BLOCK * 2 + 7), (1, BLOCK * 2)):
        program = make("f32")
        operands = inputs(program, shape, (1,), "f32")
        for y, w in zip(run_parts(program, operands), rows(program, operands, (1,)), strict=True):
            same(y, np.ascontiguousarray(w).reshape(y.shape))


@pytest.mark.parametrize("kind", KINDS)
def test_reductions_that_are_cut_into_parts(kind):
    for t in ("bool", "i64", "u32", "bf16", "f32", "f64"):
        try:
            program = reduce.reduction_program(kind, t)
        except ValueError:                                  # not of this type
            continue
        x = random((2, BLOCK + 100), t)
        if t == "f32":
            x[0, BLOCK + 9], x[1, :] = np.nan, 0.5
        for y, w in zip(run_parts(program, [x]), rows(program, [x], (1,)), strict=True):
            same(y, np.ascontiguousarray(w).reshape(y.shape))


def test_how_rows_are_cut():
    """Every part is a whole number of blocks, a power of two of them, so that joining parts in
    pairs is the order of all blocks."""
    for n in (1, 16384, 16385, 10 ** 8, 1 << 40):
        for adjacent in (True, False):
            tile, parts = long_rows.cut(n, adjacent)
            span = tile.blocks * tile.chunks * BLOCK
            assert span & (span - 1) == 0 and (parts - 1) * span < n <= parts * span
            assert parts <= long_rows.MOST


def test_layouts_of_rows():
    """Rows counted through two dimensions, elements apart, rows of several pieces: strides
    change no bit."""
    from whet.passes.lower_triton import simulate
    program = row_programs.batch_norm("f32")
    # a row is a channel: 6 rows of 4 pieces of 35
    x = random((4, 6, 5, 7), "f32")
    operands = inputs(program, x.shape, (0, 2, 3), "f32")
    operands[0] = x
    want = rows(program, operands, (0, 2, 3))
    for apart in (1, 2):
        memory, out = (np.zeros((4, 6, 35 * apart), np.float32)[..., ::apart] for _ in range(2))
        memory[...] = x.reshape(4, 6, 35)
        source = lower.lower(program,
                             lower.Layout(adjacent=apart == 1, pieces=True),
                             lower.tile(6, 140))
        outs = [out, *(np.zeros(6, np.float32) for _ in want[1:])]
        numbers = {"n": 140, "rows": 6, "piece": 35, "x3": operands[3], "x4": operands[4]}
        for name in ("x0", "y0"):
            numbers |= {f"{name}_r": 35 * apart, f"{name}_i": apart, f"{name}_p": 210 * apart}
        simulate.run(source, [memory, operands[1], operands[2], *outs], numbers)
        same(np.ascontiguousarray(out).reshape(x.shape), want[0])
        for y, w in zip(outs[1:], want[1:]):
            same(y, w)
    # the middle one of three dimensions, in a part of a larger array
    program = reduce.reduction_program("sum", "f32")
    x = random((4, 50, 12), "f32")[::2, :, 3:10]
    source, out = (lower.lower(program, lower.Layout(rank=2, adjacent=False),
                               lower.tile(14, 50)), np.zeros((2, 7), np.float32))
    simulate.run(source, [x, out],
                 {"n": 50, "rows": 14, "inner": 7, "x0_o": 2 * 600, "x0_r": 1, "x0_i": 12})
    same(out, rows(program, [np.ascontiguousarray(x)], (1,))[0])


def test_the_text():
    text = lower.lower(row_programs.softmax("f32"), lower.Layout(), lower.tile(1000, 1000)).text
    assert text.endswith('''    for start in range(0, n, 256):
        i = start + tl.arange(0, 256)[None, None, :]
        here = live & (i < n)
        a0 = tl.load(x0_row + i, here)
        v7 = a0 - v4
        v8 = exp_f32(v7)
        v9 = tl.div_rn(v8, r3_sum)
        tl.store(y0_row + i, v9, here)
''')
    assert "r3_sum = tl.sum(tl.reshape(r3, [4, 1, 2, 16]), 2)\n" in text


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    "make", [*PROGRAMS, row_programs.batch_norm, row_programs.batch_norm_backward],
    ids=lambda p: p.__name__)
def test_programs_compile(make):
    compiles(lower.lower(make("f32"), lower.Layout(), lower.tile(1000, 700)))


@pytest.mark.drawn(3)
@pytest.mark.parametrize("kind", KINDS)
def test_reductions_compile(kind):
    t = "bool" if kind in ("any", "all") else "f32"
    compiles(
        lower.lower(reduce.reduction_program(kind, t),
                    lower.Layout(2, False),
                    lower.tile(100, 5000, False)))


def test_long_rows_and_pieces_compile():
    compiles(lower.lower(reduce.reduction_program("max_index", "u64"), lower.Layout(),
                         lower.tile(1, 10**6), wide=True))
    compiles(lower.lower(reduce.reduction_program("sum", "bf16"), lower.Layout(),
                         lower.tile(2, 10**7), wide=True))
    program = cross_entropy_rows.cross_entropy("f32")
    compiles(lower.lower(program, lower.Layout(), lower.tile(3, 50000)))
    compiles(
        lower.lower(row_programs.layer_norm("bf16"), lower.Layout(pieces=True),
                    lower.tile(64, 20000)))


def compiles(source):
    from whet.passes.lower_triton import compile
    found = compile.compile(source)
    assert (found.registers and not found.stack
            and not re.findall(r"\S*(?:approx|\.ftz|div\.full)\S*", found.ptx))
