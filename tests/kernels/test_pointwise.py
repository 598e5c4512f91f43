"""Pointwise ops on arrays of every shape and stride, against the NumPy reference; and the
collapsing of dimensions."""
import itertools

import numpy as np
import pytest
from whet.cpu import native, pointwise
from whet.cpu.pointwise import Pointwise, copy, fill
from whet.dtypes import SHORT
from whet.ir import kernel as K
from whet.ir import scalar as S

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
X, Y = S.args(2)
ADD = Pointwise("add", [X + Y], 2)
MULADD = Pointwise("muladd", [X * Y + S.arg(2)], 3)


def numbers(shape, t="f32", seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * 50).astype(SHORT[t].np)


def check(f, xs, outs=None):
    """f's results are the reference's, and they come from a kernel."""
    want = [np.array(w) for w in S.evaluate(f.roots, xs, lambda t: SHORT[t].np)]
    got = f(xs, outs)
    assert all(p.addr or not p.total for p in f._plans.values())
    for g, w in zip(got, want, strict=True):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, np.broadcast_to(w, g.shape))
    return got


# ---- collapsing ----------------------------------------------------------------------------------
def test_collapse_merges_what_is_contiguous_in_every_operand():
    assert K.collapse((4, 1, 6), [(24, 99, 4), (24, 0, 4)], 1) == ((24,), [(4,), (4,)])
    assert K.collapse((2, 3, 4), [(48, 16, 4), (0, 16, 4)], 0) == ((2, 12), [(48, 4), (0, 4)])
    assert K.collapse((2, 3), [(12, 4), (4, 8)], 0) == ((2, 3), [(12, 4), (4, 8)])
    assert K.collapse((), [(), ()], 0) == ((), [(), ()])
    assert K.collapse((1, 1), [(4, 4)], 0) == ((), [()])


def test_collapse_follows_the_memory_order_of_one_operand():
    assert K.collapse((3, 2), [(4, 12), (4, 12)], 1) == ((6,), [(4,), (4,)])
    assert K.collapse((3, 2), [(8, 4), (4, 12)], 1) == ((2, 3), [(4, 8), (12, 4)])


def test_collapse_keeps_negative_strides():
    assert K.collapse((3, 4), [(16, -4), (16, 4)], 1) == ((3, 4), [(16, -4), (16, 4)])
    assert K.collapse((3, 4), [(-16, -4), (-16, -4)], 1) == ((12,), [(-4,), (-4,)])


@pytest.mark.parametrize("shape,strides,space,access", [
    ((6, 8), [(32, 4), (32, 4), (32, 4)], "flat", "vvv"),
    ((6, 8), [(32, 4), (0, 0), (32, 4)], "flat", "vsv"),
    ((6, 8), [(32, 4), (0, 4), (32, 4)], "rows", "vvv"),
    ((6, 8), [(32, 4), (4, 0), (32, 4)], "rows", "vsv"),
    ((6, 8), [(64, 8), (64, 8), (32, 4)], "rows", "ggv"),
    ((64, 64), [(4, 256), (256, 4), (256, 4)], "tiles", "tvv"),
    ((64, 3), [(4, 256), (12, 4), (12, 4)], "tiles", "vgg"),
    ((64, 3), [(0, 4), (12, 4), (12, 4)], "tiles", "sgg"),
    ((32, 3), [(0, 4), (12, 4), (12, 4)], "rows", "vvv"),
    ((64, 64), [(256, 4), (256, 4), (512, 8)], "rows", "vvg"),
])
def test_plan(shape, strides, space, access):
    w = K.plan(shape, strides, [4, 4, 4], 2)
    assert (w.space, w.access) == (space, access)


@pytest.mark.parametrize("shape,strides,access", [
    ((64, 3), [(12, 4), (4, 0), (12, 4)], "vov"),
    ((64, 3), [(12, 4), (0, 4), (12, 4)], "vbv"),
    ((64, 8), [(32, 4), (64, 4), (32, 4)], "vpv"),
    ((5, 64, 8), [(4, 0, 0), (8, 0, 4), (2048, 32, 4)], "spv"),
    ((5, 64, 8), [(256, 4, 0), (0, 0, 4), (2048, 32, 4)], "obv"),
    ((64, 3), [(12, 4), (64, 4), (12, 4)], None),              # parts of rows are read as they are
    ((64, 2), [(8, 4), (4, 0), (8, 4)], None),                 # hardly a row
    ((64, 8), [(32, 4), (32, 4), (32, 4)], None),              # one run as it is
    ((64, 8), [(32, 4), (64, 8), (32, 4)], None),              # an operand of no runs
    ((64, 8), [(32, 4), (4, 0), (64, 4)], None),               # gaps in the result
    ((4, 8), [(32, 4), (4, 0), (32, 4)], None),                # few rows
    ((64, 33), [(132, 4), (4, 0), (132, 4)], None),            # long ones
])
def test_short_rows_are_packed(shape, strides, access):
    walk = K.packed(shape, strides, [4, 4, 4], 2)
    assert access == (walk and walk.access)


def test_equal_expressions_share_a_kernel():
    a = numbers((4, 5))
    one, two = Pointwise("one", [X * Y], 2), Pointwise("two", [X * Y], 2)
    one([a, a])
    two([a, a])
    assert {p.addr for p in one._plans.values()} == {p.addr for p in two._plans.values()}


def test_text_names_shared_parts_once():
    e = X * X
    for _ in range(40):
        e = e + e
    assert len(K.text([e])) < 1000


# ---- layouts -------------------------------------------------------------------------------------
@pytest.mark.parametrize("t", ["f32", "f64", "u8", "bf16", "i16"])
def test_every_length_of_tail(t):
    for n in range(71):
        a, b = numbers(n, t), numbers(n, t, 1)
        check(ADD, [a, b])
        check(ADD, [a, numbers((), t)])
        wide = numbers((n, 3), t)
        check(ADD, [wide[:, 0], wide[:, 2]])
        check(ADD, [wide.T, b])


@pytest.mark.parametrize("t", ["f32", "f64", "i32", "u8", "i64"])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_elements_that_lie_close(t, k):
    """Those between them are neither read beyond the last nor written."""
    for n, at in itertools.product((1, 7, 16, 17, 50, 130), (0, k - 1)):
        a, b = (numbers((n - 1) * k + 1 + at, t, seed)[at::k] for seed in (0, 1))
        out = numbers(n * k, t, 2)
        before = out.copy()
        check(ADD, [a, b], [out[at::k]])
        out[at::k] = before[at::k]
        np.testing.assert_array_equal(out, before)
        check(ADD, [numbers((n, k), t), numbers((n, 1), t, 1)], [numbers((n, k), t, 2)])


@pytest.mark.parametrize("t", ["f32", "f64", "i32", "u8", "i16", "bf16", "c64"])
def test_elements_that_lie_backwards(t):
    """They are read and written by vectors, none beside the first or the last."""
    a = numbers((3, 9), t)
    walk = K.plan(a.shape, [a[:, ::-1].strides, a.strides, a.strides], [a.itemsize] * 3, 2)
    assert K.near(walk, [a.itemsize] * 3).access == "rvv"
    for n in (1, 2, 7, 16, 17, 50, 63, 64, 65, 130):
        a, b = numbers((3, n), t), numbers((3, n), t, 1)
        check(ADD, [a[:, ::-1], b])
        check(ADD, [a[:, ::-1], b[::-1, ::-1]])
        out = numbers((3, n + 2), t, 2)
        before = out.copy()
        check(ADD, [a, b[:, ::-1]], [out[:, 1:-1][:, ::-1]])
        out[:, 1:-1] = before[:, 1:-1]
        np.testing.assert_array_equal(out, before)


def layouts(shape, t, seed=0):
    """Arrays of one shape with all kinds of strides."""
    a = numbers(shape, t, seed)
    yield "contiguous", a
    yield "fortran", np.asfortranarray(a)
    yield "reversed", a[tuple(slice(None, None, -1) for _ in shape)]
    yield "last reversed", a[..., ::-1]
    yield "steps", numbers([2 * n + 1 for n in shape], t,
                           seed)[tuple(slice(1, None, 2) for _ in shape)]
    yield "rotated", np.moveaxis(numbers((shape[-1], *shape[:-1]), t, seed), 0, -1)
    yield "broadcast first", np.broadcast_to(numbers((1, *shape[1:]), t, seed), shape)
    yield "broadcast last", np.broadcast_to(numbers((*shape[:-1], 1), t, seed), shape)
    yield "row", numbers(shape[-1:], t, seed)
    yield "number", numbers((), t, seed)
    raw = np.zeros(a.nbytes + 1, np.uint8)[1:]
    unaligned = raw.view(a.dtype).reshape(shape)
    unaligned[...] = a
    yield "unaligned", unaligned


@pytest.mark.parametrize("t", ["f32", "f64", "i8", "bf16", "bool"])
@pytest.mark.parametrize("shape", [(3,), (5, 7), (33, 18), (2, 9, 11), (2, 3, 2, 3, 5)])
def test_every_pair_of_layouts(shape, t):
    for (_, a), (_, b) in itertools.product(layouts(shape, t), layouts(shape, t, 1)):
        check(ADD, [a, b])


@pytest.mark.parametrize("t", ["f32", "f64", "u8", "f16"])
def test_transposed_operands_of_awkward_sizes(t):
    for m, n in [(8, 8), (16, 64), (31, 65), (33, 63), (64, 64), (70, 130), (9, 200), (200, 9)]:
        a, b = numbers((n, m), t).T, numbers((m, n), t, 1)
        check(ADD, [a, b])
        check(MULADD, [b, a, numbers(n, t)])
        check(MULADD, [b, a[::-1], a])
        batch = np.swapaxes(numbers((3, n, m), t), 1, 2)
        check(ADD, [batch, b])
        assert ADD._plans and any(p.table is not None for p in ADD._plans.values())


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_empty(shape):
    y, = ADD([numbers(shape), numbers(shape)])
    assert y.shape == shape and y.dtype == np.float32
    y, = ADD([numbers(shape), numbers(())])
    assert y.shape == shape


def test_numbers_without_dimensions():
    for a, b in [(np.float32(2), np.float32(3)), (np.array(2, np.float32), np.float32(3)),
                 (np.float64(2), np.float64(3))]:
        y, = check(ADD, [a, b])
        assert isinstance(y, np.ndarray) and y.shape == () and y == 5


def test_the_order_in_memory_of_the_first_input_is_kept():
    a, b = numbers((4, 5, 6)), numbers((4, 5, 6), seed=1)
    t = (2, 0, 1)
    assert check(ADD, [a.transpose(t), b.transpose(t)])[0].strides == a.transpose(t).strides
    assert check(ADD, [a.transpose(t), numbers(())])[0].strides == a.transpose(t).strides
    assert check(ADD, [a.transpose(t), numbers((6, 1, 1))])[0].strides == a.transpose(t).strides
    assert check(ADD, [a.transpose(t), numbers((6, 4, 5))])[0].strides == a.transpose(t).strides
    assert check(ADD, [numbers((6, 4, 5)), a.transpose(t)])[0].flags.c_contiguous
    assert (check(
        ADD, [a[::2].transpose(t), a[::2].transpose(t)])[0].strides == a[:2].transpose(t).strides)
    assert check(ADD, [numbers((4, 1)), numbers((1, 5))])[0].flags.c_contiguous


def test_results_go_where_they_are_wanted():
    a, b = numbers((33, 20)), numbers((33, 20), seed=1)
    for _, out in layouts((33, 20), "f32", 2):
        if out.shape == (33, 20) and out.flags.writeable and 0 not in out.strides:
            assert check(ADD, [a, b], [out])[0] is out
            check(ADD, [a.T.copy().T, b[0]], [out])
    big = np.zeros((70, 70), np.float32)
    ADD([a, b], [big[2:68:2, 5:45:2]])
    want = np.zeros_like(big)
    want[2:68:2, 5:45:2] = a + b
    np.testing.assert_array_equal(big, want)


def test_in_place():
    for _, a in layouts((19, 23), "f32"):
        if a.shape == (19, 23) and a.flags.writeable and 0 not in a.strides:
            want = a + a
            ADD([a, a], [a])
            np.testing.assert_array_equal(a, want)
    a, b = numbers((64, 64)), numbers((64, 64), seed=1)
    want = a + b.T
    ADD([a, b.T], [a])
    np.testing.assert_array_equal(a, want)


def test_a_result_is_cast_to_the_type_of_its_place():
    a, b = numbers(50), numbers(50, seed=1)
    out = np.empty(50, np.int32)
    ADD([a, b], [out])
    np.testing.assert_array_equal(out, (a + b).astype(np.int32))


def test_many_results():
    f = Pointwise("many", [X + Y, X * Y, X < Y, S.cast(X, "i32")], 2)
    for (_, a), (_, b) in itertools.product(layouts((9, 21), "f32"), layouts((9, 21), "f32", 1)):
        check(f, [a, b])
    a = numbers((40, 50))
    outs = [
        np.empty((50, 40), np.float32).T,
        np.empty((40, 50), np.float32),
        np.empty((40, 100), bool)[:, ::2],
        np.empty((40, 50), np.int32)]
    check(f, [a, a[::-1]], outs)


def test_any_part_of_the_work_gives_the_same_bits():
    """Cut at odd places, as threads would cut it."""
    f = Pointwise("heavy", [S.exp(X) * Y + X], 2)
    for a, b in [(numbers(1000), numbers(1000, seed=1)),
                 (numbers((70, 40)).T, numbers((40, 70)) / 50),
                 (numbers((31, 40))[:, ::2], numbers(20))]:
        whole, = f([a, b])
        plan = list(f._plans.values())[-1]
        part = np.zeros_like(whole)
        cuts = sorted({0, 1, 3, plan.total // 3, plan.total // 2 + 1, plan.total})
        call = native._SIG(plan.addr)
        operands = ([np.asarray(x) for x in (a, b)] + [part] +
                    ([plan.table] if plan.table is not None else []))
        slots = np.array([o.__array_interface__["data"][0] for o in operands], np.int64)
        for lo, hi in itertools.pairwise(c for c in cuts if c <= plan.total):
            call(slots.ctypes.data, lo, hi, 0)
        np.testing.assert_array_equal(part, whole)


def test_broadcasting_is_numpys():
    with pytest.raises(ValueError):
        ADD([numbers((3, 4)), numbers((3, 5))])
    with pytest.raises(TypeError, match="muladd takes 3 inputs"):
        MULADD([numbers(3)])


def test_the_reference_on_request(monkeypatch):
    monkeypatch.setenv("WHET_CPU", "numpy")
    f = Pointwise("add", [X + Y], 2)
    for (_, a), (_, b) in itertools.product(layouts((5, 7), "f32"), layouts((5, 7), "f32", 1)):
        np.testing.assert_array_equal(f([a, b])[0], a + b)
    assert not any(p.addr for p in f._plans.values())


def test_the_table_of_plans_is_bounded(monkeypatch):
    monkeypatch.setattr(pointwise, "PLANS", 10)
    f = Pointwise("add", [X + Y], 2)
    for n in range(50):
        f([numbers(n), numbers(n)])
    assert len(f._plans) <= 10


# ---- copy and fill -------------------------------------------------------------------------------
@pytest.mark.parametrize("t", ["f32", "c64", "c128", "bool", "bf16", "i64"])
def test_copy(t):
    for shape in [(5,), (33, 70), (3, 17, 9)]:
        for _, src in layouts(shape, t):
            for order in "CF":
                dst = np.empty(shape, SHORT[t].np, order)
                assert copy(dst, src) is dst
                np.testing.assert_array_equal(dst, np.broadcast_to(src, shape))
    copy(np.empty((), SHORT[t].np), numbers((), t))
    copy(np.empty((0, 3), SHORT[t].np), numbers((0, 3), t))


def test_copy_casts():
    for a, b in itertools.product(["f32", "i8", "bool", "c64", "bf16", "f64"], repeat=2):
        src = numbers((12, 34), a).T
        dst = np.empty((34, 12), SHORT[b].np)
        copy(dst, src)
        np.testing.assert_array_equal(dst, src.astype(dst.dtype))


def test_copy_between_overlapping_parts():
    a = np.arange(100.0)
    copy(a[1:], a[:-1])
    np.testing.assert_array_equal(a, np.concatenate([[0], np.arange(99.0)]))
    b = numbers((64, 64))
    want = b.T.copy()
    copy(b, b.T)
    np.testing.assert_array_equal(b, want)


def test_fill():
    for t in ("f32", "bool", "c128", "i8", "bf16"):
        a = np.zeros((20, 30), SHORT[t].np)
        fill(a[::2, ::3], 1)
        want = np.zeros_like(a)
        want[::2, ::3] = 1
        np.testing.assert_array_equal(a, want)


def test_results_written_past_the_cache(monkeypatch):
    monkeypatch.setattr(pointwise, "_cache_bytes", lambda: 8192)
    for t in ("f32", "i8", "f64"):
        f = Pointwise("add", [X + Y], 2)
        for n in (8192, 10007):
            raw = np.empty(n * 8 + 64, np.uint8)
            for shift in (0, 4, 8, 60, 3):
                size = SHORT[t].itemsize
                check(f, [numbers(n, t), numbers(n, t, 1)],
                      [raw[shift:shift + n * size].view(SHORT[t].np)])
        a = numbers(20000, t)
        want = a + a
        f([a, a], [a])
        np.testing.assert_array_equal(a, want)
        check(f, [numbers((20, 5001), t), numbers(5001, t)])
        check(f, [numbers((20, 5001), t), numbers(5001, t)],
              [np.empty((20, 5003), SHORT[t].np)[:, 1:-1]])
        assert any("stream" in key for key in native._found)
    f = Pointwise("less", [X < Y], 2)
    check(f, [numbers(10001), numbers(10001, seed=1)])


def test_long_inner_dimensions_are_cut_into_pieces():
    n, add = 3 * K.CHUNK + 5, Pointwise("add", ADD.roots, 2)      # with no plans but these
    for t in ("f32", "u8"):
        strided = numbers(2 * n, t)[::2]
        check(add, [strided, numbers(n, t)])
        check(add, [strided, strided], [np.empty(n * 3, SHORT[t].np)[::3]])
        tall = numbers((n, 70), t).T
        check(add, [tall, numbers((70, n), t)])
        check(add, [numbers((2, n), t)[:, ::-1], numbers(n, t)])
        check(add, [numbers((n, 3, 20), t).transpose(1, 2, 0), numbers((3, 20, n), t)])
        check(add, [numbers((3, 2 * n), t)[:, ::2], numbers(n, t)])
    assert {p.total for p in add._plans.values()} >= {4, 8, 12}


def test_numbers_among_arrays_at_every_place():
    for shapes in itertools.product([(), (3, 5)], repeat=3):
        # the first call finds the kernel, the second takes the short way
        for _ in range(2):
            check(MULADD, [numbers(s, seed=k) for k, s in enumerate(shapes)])
            check(ADD, [numbers(s, seed=k) for k, s in enumerate(shapes[:2])])
            check(MULADD,
                  [np.float32(2) if s == () else numbers(s, seed=k) for k, s in enumerate(shapes)])
            check(ADD, [
                np.float32(2) if s == () else numbers(s, seed=k) for k, s in enumerate(shapes[:2])])
