"""Reductions and row programs on the CPU: the stated order to the bit, every layout and thread
count alike, NumPy as the oracle."""
import itertools

import numpy as np
import pytest
from whet.cpu import thread_pool
from whet.cpu.reduce import BF16, DTYPES, NAMES, reduce, reduction_program, reference
from whet.cpu.rows import rows
from whet.ir import row_programs
from whet.ir import rows as R
from whet.ir import scalar as sc

from tests.kernels import cross_entropy_rows

rng = np.random.default_rng(7)


def model(row, op=np.add):
    """The order of `ir.rows`, written slowly: lanes, folds, pairs."""
    identity = row.dtype.type(0 if op is np.add else 1)
    parts = []
    for b in range(0, len(row), R.BLOCK):
        lanes = np.full(R.LANES, identity)
        for i in range(b, min(b + R.BLOCK, len(row)), R.LANES):
            group = row[i:min(i + R.LANES, b + R.BLOCK, len(row))]
            lanes[:len(group)] = op(lanes[:len(group)], group)
        while len(lanes) > 1:
            lanes = op(lanes[:len(lanes) // 2], lanes[len(lanes) // 2:])
        parts.append(lanes[0])
    while len(parts) > 1:
        parts = [
            op(*parts[i:i + 2]) if i + 1 < len(parts) else parts[i]
            for i in range(0, len(parts), 2)]
    return parts[0] if parts else identity


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def several(r):
    return r if isinstance(r, list | tuple) else [r]


def layouts(flat):
    """The rows of a 2-d array in other places: what to reduce, and over which axes."""
    k, n = flat.shape
    yield flat, (1,)
    yield np.ascontiguousarray(flat.T), (0,)
    wide = np.zeros((k, 2 * n), flat.dtype)
    wide[:, ::2] = flat
    yield wide[:, ::2], (1,)
    yield np.ascontiguousarray(flat[:, ::-1])[:, ::-1], (1,)
    yield np.ascontiguousarray(flat[::-1])[::-1], (1,)
    yield np.ascontiguousarray(flat.T)[:, None, :], (0, 1)
    yield np.asfortranarray(flat), (1,)
    many = np.zeros((n, k + 40), flat.dtype)
    many[:, 3:k + 3] = flat.T
    yield many[:, 3:k + 3], (0,)
    for d in (2, 5):
        if n and n % d == 0:
            cut = flat.reshape(k, d, n // d)
            yield np.ascontiguousarray(cut.transpose(1, 0, 2)), (0, 2)      # as batch norm has it
            yield np.ascontiguousarray(cut.transpose(2, 0, 1)).transpose(2, 1, 0), (0, 2)


@pytest.mark.parametrize("n", [0, 1, 5, 31, 32, 33, 100, 1000, 4095, 4096, 4097, 12289, 20485])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_have_the_stated_order_in_every_layout(n, dtype):
    flat = rng.standard_normal((3, n)).astype(dtype)
    want = np.array([model(r) for r in flat], dtype)
    for x, axes in layouts(flat):
        assert same(reduce("sum", x, axes), want), (x.shape, x.strides)


def test_products_have_the_stated_order():
    flat = rng.uniform(0.98, 1.02, (3, 9001)).astype("f4")
    want = np.array([model(r, np.multiply) for r in flat])
    for x, axes in layouts(flat):
        assert same(reduce("prod", x, axes), want)


@pytest.mark.parametrize("dtype", ["f2", BF16])
def test_halves_are_summed_in_f32_and_rounded_once(dtype):
    x = rng.standard_normal((4, 5000)).astype(dtype)
    want = np.array([model(r.astype("f4")) for r in x]).astype(dtype)
    assert same(reduce("sum", x, (1,)), want)
    assert same(reduce("sum", np.ascontiguousarray(x.T), (0,)), want)
    assert same(reduce("mean", x, (1,)),
                (np.array([model(r.astype("f4")) for r in x]) / np.float32(5000)).astype(dtype))


@pytest.fixture
def threads():
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("shape,axes",
                         [((1 << 19,), (0,)), ((3, 1 << 18), (1,)), ((1 << 18, 5), (0,)),
                          ((30000, 20), (0,)), ((300, 700), (1,)), ((300, 700), (0,)),
                          ((2, 200000, 3), (1,))])
def test_thread_count_changes_nothing(threads, shape, axes):
    x = rng.standard_normal(shape).astype("f4")
    ops = [
        lambda: reduce("sum", x, axes), lambda: reduce("max_index", x, axes),
        lambda: reduce("min", x, axes), lambda: rows(row_programs.softmax("f32"), [x], axes),
        lambda: rows(row_programs.var_mean("f32"), [x, 10.0, 9.0], axes)]
    for op in ops:
        threads(1)
        one = op()
        threads(2)
        assert all(same(a, b) for a, b in zip(several(one), several(op()), strict=True))
    first = x.transpose([a for a in range(x.ndim) if a not in axes] + list(axes)).reshape(
        -1, np.prod([shape[a] for a in axes]))[0]
    assert same(reduce("sum", x, axes).reshape(-1)[0], model(first))


def samples(shape):
    """Arrays of every type in two dimensions, of a few in the rest."""
    for name, d in DTYPES.items():
        if len(shape) != 2 and name not in ("bool", "i32", "bf16", "f32"):
            continue
        if name[0] == "c":
            yield (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(d)
        elif name in ("f16", "bf16", "f32", "f64"):
            yield np.asarray(rng.standard_normal(shape)).astype(d)
        else:
            yield np.asarray(
                rng.integers(0 if name[0] in "bu" else -100, 2 if name == "bool" else 100,
                             shape)).astype(d)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0), (0, 3), (33, 30), (4, 33, 17),
                                   (2, 3, 5, 9)])
def test_every_kind_type_and_axis_agrees_with_numpy(shape):
    for x in samples(shape):
        main = NAMES[x.dtype] in ("f32", "i32", "bf16")
        kinds = ["sum", "prod", "any", "all"] if main else ["sum"]
        kinds += ["mean"] if NAMES[x.dtype][0] in "fc" or x.dtype == BF16 else []
        kinds += (["max", "min", "argmax", "min_index"]
                  if main else ["max", "min_index"] if NAMES[x.dtype][0] != "c" else [])
        views = [x, x.T, x[::-1], x[..., ::2]] if x.ndim else [x]
        for v, kind in itertools.product(views, kinds):
            for axes in [
                    None, *(c for r in range(v.ndim + 1)
                            for c in itertools.combinations(range(v.ndim), r))][:6]:
                try:
                    want = reference(kind, v, axes, len(shape) == 3)
                except ValueError:
                    with pytest.raises(ValueError, match="no elements"):
                        reduce(kind, v, axes)
                    continue
                got = reduce(kind, v, axes, len(shape) == 3)
                for a, b in zip(several(want), several(got), strict=True):
                    assert a.shape == b.shape and a.dtype == b.dtype and b.flags.c_contiguous
                    if (kind in ("sum", "prod", "mean")
                            and (NAMES[a.dtype][0] in "fc" or a.dtype == BF16)):
                        tol = {2: 2e-2, 4: 1e-4}.get(a.dtype.itemsize,
                                                     1e-4 if a.dtype == np.complex64 else 1e-11)
                        np.testing.assert_allclose(*(z.astype("c16") for z in (b, a)), rtol=tol,
                                                   atol=tol)
                    else:
                        np.testing.assert_array_equal(b, a)


def test_types_of_sums():
    assert (reduce("sum", np.ones(3, "?")).dtype == np.int64
            and reduce("sum", np.full(300, 255, "u1")) == 255 * 300)
    assert reduce("sum", np.full(9, 2**31 - 1, "i4")) == 9 * (2**31 - 1)
    assert same(reduce("sum", np.full(3, 70000.0, "f4"), out_dtype="i4"), np.array(210000, "i4"))
    x = rng.standard_normal(1000).astype("f4")
    assert same(reduce("sum", x, out_dtype="f8"), model(x.astype("f8")))
    assert same(reduce("mean", np.arange(5, dtype="i4"), out_dtype="f4"), np.array(2, "f4"))


@pytest.mark.parametrize("n", [1, 3, 33, 200, 9000])
def test_extrema_of_special_values(n):
    for where, special in itertools.product({0, n // 2, n - 1}, (np.nan, np.inf, -np.inf)):
        x = rng.standard_normal((2, n)).astype("f4")
        x[0, where] = special
        for v, axes in ((x, (1,)), (np.ascontiguousarray(x.T), (0,))):
            for kind in ("max", "min", "argmax", "argmin", "max_index"):
                for a, b in zip(several(reference(kind, v, axes)), several(reduce(kind, v, axes)),
                                strict=True):
                    np.testing.assert_array_equal(a, b)


def test_extrema_tell_the_zeros_apart():
    for n, axes in itertools.product((2, 40, 5000), ((1,), (0,))):
        x = np.full((3, n), -0.0, "f4")
        x[1, n // 2] = 0.0
        x[2] = 0.0
        x[2, n - 1] = -0.0
        x = x if axes == (1,) else np.ascontiguousarray(x.T)
        assert np.signbit(reduce("max", x, axes)).tolist() == [True, False, False]
        assert np.signbit(reduce("min", x, axes)).tolist() == [True, True, True]
        assert reduce("argmax", x, axes).tolist() == [0, 0, 0]


def test_nan_that_comes_first_is_found_and_stays():
    x = np.array([[1, np.nan, 3, np.nan], [np.inf, 1, 2, 3]], "f4")
    for v, axes in ((x, (1,)), (np.ascontiguousarray(x.T), (0,))):
        assert (reduce("argmax", v, axes).tolist() == [1, 0]
                and reduce("argmin", v, axes).tolist() == [1, 1])
        assert np.isnan(reduce("max", v, axes)[0]) and np.isnan(reduce("min", v, axes)[0])


@pytest.mark.parametrize("kind,nothing", [("sum", 0), ("prod", 1), ("any", False), ("all", True),
                                          ("mean", np.nan)])
@pytest.mark.parametrize("shape,axis", [((200, 0), 1), ((0, 200), 0), ((1, 130, 0), 2),
                                        ((3, 0, 70), 1)])
def test_many_reductions_of_nothing(kind, nothing, shape, axis):
    for dtype in ("f4", "f8", BF16):
        junk = [np.full(200, 7, dtype) for _ in range(3)]
        del junk
        got = reduce(kind, np.zeros(shape, dtype), (axis,))
        np.testing.assert_array_equal(got.astype("f8"), np.full(got.shape, float(nothing)))


def test_choosing_from_nothing_is_an_error():
    for kind in ("max", "argmin", "max_index"):
        with pytest.raises(ValueError,
                           match=r"no elements to choose from in shape \(3, 0\) over axes \(1,\)"):
            reduce(kind, np.ones((3, 0), "f4"), (1,))
    assert reduce("max", np.ones((0, 3), "f4"), (1,)).shape == (0,)


def test_an_expression_before_the_reduction():
    x = rng.standard_normal((5, 300)).astype("f4")
    x[2, 7] = np.nan
    a = sc.arg(0)
    assert same(reduce("sum", x, (1,), pre=a * a), np.array([model(r * r) for r in x]))
    assert same(reduce("sum", x, (1,), pre=sc.where(sc.isnan(a), 0, a)),
                np.array([model(np.nan_to_num(r)) for r in x]))
    assert same(reduce("sum", x, (0,), pre=sc.ne(a, 0)), np.full(300, 5))
    np.testing.assert_array_equal(reduce("max", x, (1,), pre=sc.absolute(a)), np.abs(x).max(1))


# ---- whole-row programs --------------------------------------------------------------------------
def inputs(program, shape, axes, dtype):
    n = float(np.prod([shape[a] for a in axes]))
    inner = tuple(shape[a] for a in axes)
    outer = tuple(s for a, s in enumerate(shape) if a not in axes)
    out = []
    for o in program.operands:
        size = {R.Extent.FULL: shape, R.Extent.ROW: outer, R.Extent.COLUMN: inner}.get(o.extent)
        if o.is_scalar:
            out.append(n)
        elif o.is_position:
            out.append(None)
        elif o.dtype == "i64":
            out.append(np.asarray(rng.integers(0, max(1, int(n)), size)))
        else:
            out.append(np.asarray(rng.standard_normal(size) * 0.5 + 0.1).astype(DTYPES[o.dtype]))
    return out


PROGRAMS = [
    row_programs.softmax, row_programs.softmax_backward, row_programs.log_softmax,
    row_programs.log_softmax_backward, row_programs.logsumexp, row_programs.logsumexp_backward,
    cross_entropy_rows.cross_entropy, cross_entropy_rows.cross_entropy_backward,
    row_programs.layer_norm, row_programs.layer_norm_backward,
    row_programs.layer_norm_backward_weight, row_programs.rms_norm,
    row_programs.rms_norm_backward, row_programs.var_mean, row_programs.normalize]


def wide(program, operands):
    """The program's outputs in f64, from the reference."""
    home = cross_entropy_rows if "cross" in program.name else row_programs
    twin = getattr(home, program.name)("f64")
    return (twin, [
        x.astype("f8") if isinstance(x, np.ndarray) and x.dtype != np.int64 else x
        for x in operands])


@pytest.mark.drawn(2)
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16"])
def test_row_programs_agree_with_f64(make, dtype):
    for shape, axes in (((5, 70), (1,)), ((3, 33, 20), (1,)), ((2, 3, 40), (1, 2)), ((3, 1), (1,)),
                        ((4, 0), (1,)), ((40, 5), (1,))):
        program = make(dtype)
        xs = inputs(program, shape, axes, dtype)
        twin, ys = wide(program, xs)
        n = int(np.prod([shape[a] for a in axes]))
        order = [a for a in range(len(shape)) if a not in axes] + list(axes)

        def two(x, o):
            if o.is_full:
                return x.transpose(order).reshape(-1, n) if n else x.reshape(shape[0], 0)
            if o.is_row or o.is_column:
                return x.reshape(-1, 1) if o.is_row else x.reshape(1, n)
            return None if o.is_position else np.float64(x)

        want = R.run(twin, [two(y, o) for y, o in zip(ys, twin.operands, strict=True)], n,
                     DTYPES.__getitem__)
        got = rows(program, xs, axes)
        tol = {"f32": 2e-5, "f64": 1e-12, "f16": 4e-3, "bf16": 3e-2}[dtype]
        for w, g, (k, t) in zip(want, got, program.outputs, strict=True):
            assert g.dtype == DTYPES[t]
            flat = g.transpose(order) if isinstance(program.stages[k], R.Store) else g
            np.testing.assert_allclose(flat.astype("f8").reshape(w.shape), w, rtol=tol, atol=tol)


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda p: p.__name__)
def test_row_programs_have_the_same_bits_in_every_layout(make):
    program = make("f32")
    for n in (7, 100, 4500, 9000):
        xs = inputs(program, (3, n), (1,), "f32")
        want = rows(program, xs, (1,))
        flip = [np.ascontiguousarray(x.T) if o.is_full else x
                for x, o in zip(xs, program.operands, strict=True)]
        far = [np.repeat(x, 2, 1)[:, ::2] if o.is_full else x
               for x, o in zip(xs, program.operands, strict=True)]
        # rows in pieces, as batch norm has them
        cut = next(d for d in (7, 5, 3) if n % d == 0)
        apart = [
            np.ascontiguousarray(x.reshape(3, cut, n // cut).transpose(1, 0, 2))
            if o.is_full else x.reshape(cut, n // cut) if o.is_column else x
            for x, o in zip(xs, program.operands, strict=True)]
        got = rows(program, apart, (0, 2))
        for a, b in zip(want, got, strict=True):
            assert same(
                a, np.ascontiguousarray(b.transpose(1, 0, 2)).reshape(3, n) if b.ndim == 3 else b)
        cube = [
            x.reshape(3, 1, n).transpose(2, 1, 0)
            if o.is_full else x[:, None].T if o.is_row else x
            for x, o in zip(xs, program.operands, strict=True)]
        for got in (rows(program, flip, (0,)), rows(program, far, (1,)), rows(program, cube, (0,))):
            for a, b in zip(want, got, strict=True):
                assert same(a,
                            b.reshape(n, 3).T.copy() if a.ndim == 2 and b.shape != a.shape
                            else b.reshape(a.shape))


def test_long_rows_are_shared_out_without_changing_a_bit():
    x = rng.standard_normal((2, 300000)).astype("f4")
    many = np.concatenate([x] * 20)
    for make in (row_programs.softmax, row_programs.layer_norm, row_programs.log_softmax,
                 row_programs.logsumexp, row_programs.var_mean):
        program = make("f32")
        xs = inputs(program, x.shape, (1,), "f32")
        few = rows(program, [x, *xs[1:]], (1,))
        all_ = rows(program, [many, *xs[1:]], (1,))
        cols = rows(program, [np.ascontiguousarray(x.T), *xs[1:]], (0,))
        for a, b, c in zip(few, all_, cols, strict=True):
            assert same(a, b[:2]) and same(a, np.ascontiguousarray(c.T) if c.ndim == 2 else c)


def test_softmax_of_infinite_rows():
    x = np.array([[-np.inf, 0, 1], [-np.inf, -np.inf, -np.inf], [np.inf, 0, 1], [np.nan, 0, 0]],
                 "f4")
    y = rows(row_programs.softmax("f32"), [x])[0]
    assert y[0, 0] == 0 and abs(y[0].sum() - 1) < 1e-6 and np.isnan(y[1:]).all()
    z = rows(row_programs.logsumexp("f32"), [x])[0]
    assert z[1] == -np.inf and z[2] == np.inf and np.isnan(z[3])


def test_row_operands_are_broadcast_and_copied_as_needed():
    x = rng.standard_normal((4, 6)).astype("f4")
    program = row_programs.normalize("f32")
    row = np.repeat(rng.standard_normal(4).astype("f4"), 2)[::2]
    want = rows(program, [x, *[np.ascontiguousarray(row)] * 4])[0]
    assert same(rows(program, [x, *[row] * 4])[0], want)
    assert same(rows(program, [x, *[row[:, None]] * 4])[0], want)


def test_a_program_that_makes_no_sense_is_refused():
    a = sc.arg(0)
    with pytest.raises(TypeError, match="softmax: operand 0 is f32, not int32"):
        rows(row_programs.softmax("f32"), [np.ones((2, 3), "i4")])
    with pytest.raises(ValueError, match="arg.1. is not defined"):
        R.Program("p", (R.Operand("f32"),), (R.Store(a + sc.arg(1)),))
    with pytest.raises(ValueError, match="computed in f32, f64 or i64, not f16"):
        R.Program("p", (R.Operand("f16"),), (R.Reduce("sum", a),))
    with pytest.raises(ValueError, match="row output is made of row scalars"):
        R.Program("p", (R.Operand("f32"),), (R.StoreRow(a),))
    assert str(row_programs.softmax("f32")).splitlines()[1:] == [
        "  x1 = max x0", "  x2 = keep exp(sub(x0, x1))", "  x3 = sum x2", "  store div(x2, x3)"]
    assert [len(p.stages) for p in reduction_program("sum", "f32").passes] == [1]


def test_a_kept_value_is_not_overwritten_while_it_is_needed():
    x = sc.arg(0)
    program = R.Program("kept", (R.Operand("f32"),),
                        (R.Keep(sc.exp(x)),
                         R.Keep(sc.arg(1) * 2),
                         R.Reduce("sum", sc.arg(1)),
                         R.Store(sc.arg(1) / sc.arg(3)),
                         R.Reduce("sum", sc.arg(2) / sc.arg(3)),
                         R.Store(sc.arg(2) / sc.arg(4))))
    a = rng.standard_normal((5, 60)).astype("f4")
    e = np.exp(a.astype("f8"))
    s = e.sum(1, keepdims=True)
    for y, axes in (((a, (1,)), (np.ascontiguousarray(a.T), (0,)),
                     (np.ascontiguousarray(a[:, :6]), (1,)))):
        if y.size < a.size:
            e, s = e[:, :6], e[:, :6].sum(1, keepdims=True)
        first, second = rows(program, [y], axes)
        first, second = (first.T, second.T) if axes == (0,) else (first, second)
        np.testing.assert_allclose(first, e / s, rtol=1e-5)
        np.testing.assert_allclose(second, e * 2 / (e * 2 / s).sum(1, keepdims=True), rtol=1e-5)


def scattered(shape, dtype):
    """Random numbers in a random layout: axes in any order, gaps, steps backwards, sometimes one
    axis repeated without memory."""
    order = rng.permutation(len(shape))
    gaps = [int(rng.choice([1, 1, 1, 2])) for _ in order]
    x = (rng.standard_normal([shape[a] * g
                              for a, g in zip(order, gaps, strict=True)]) * 9).astype(dtype)
    x = x[tuple(slice(None, None, g if rng.random() < 0.8 else -g)
                for g in gaps)].transpose(np.argsort(order))
    if shape and rng.random() < 0.1:
        a = int(rng.integers(len(shape)))
        x = np.broadcast_to(np.take(x, [0], a), shape)
    return x


@pytest.mark.parametrize("split", [False, True])
def test_any_layout_gives_the_bits_of_plain_rows(split, threads, monkeypatch):
    from whet.cpu import rows as module
    plain = module.Plan
    for trial in range(150):
        shape = [int(s) for s in rng.choice([1, 2, 3, 5, 7, 13, 17, 33], int(rng.integers(1, 5)))]
        if trial % 3 == 0:
            shape[int(rng.integers(len(shape)))] = int(rng.choice([300, 4097, 9001]))
        while np.prod(shape) > 100_000:
            shape[int(np.argmax(shape))] //= 4
        axes = tuple(sorted(rng.choice(len(shape), int(rng.integers(1, len(shape) + 1)),
                                       replace=False).tolist()))
        rest = [a for a in range(len(shape)) if a not in axes]
        n = int(np.prod([shape[a] for a in axes]))
        dtype = ("f4", "f4", "i4")[trial % 3]
        x = scattered(shape, dtype)

        def flat(v):
            return np.ascontiguousarray(v.transpose(rest + list(axes))).reshape(-1, n)
        kind = ("sum", "max", "min_index", "any")[trial % 4]
        want = plain(reduction_program(kind, NAMES[x.dtype]), (flat(x),), (1,))(flat(x))
        program = PROGRAMS[trial % len(PROGRAMS)]("f32")
        xs = [
            scattered(shape, "f4") if o.is_full else x for x, o in zip(
                inputs(program, tuple(shape), axes, "f32"), program.operands, strict=True)]
        plain_xs = [
            x if not isinstance(x, np.ndarray) else flat(x) if o.is_full else x.reshape(-1)
            for x, o in zip(xs, program.operands, strict=True)]
        want_rows = plain(program, plain_xs, (1,))(*plain_xs)
        with monkeypatch.context() as patch:
            if split:                          # as if everything were long, a block at a time
                patch.setattr(module, "LONG", 256)
                patch.setattr(module, "span_of", lambda columns: R.BLOCK)
            threads(1 + trial % 2)
            got = plain(reduction_program(kind, NAMES[x.dtype]), (x,), axes)(x)
            got_rows = plain(program, xs, axes)(*xs)
        for a, b in zip(want, got, strict=True):
            assert same(a, b.reshape(-1)), (kind, shape, x.strides, axes)
        for a, b, (k, _) in zip(want_rows, got_rows, program.outputs, strict=True):
            assert same(a, flat(b) if isinstance(program.stages[k], R.Store) else
                        b.reshape(-1)), (program.name, shape, axes)


def special(x):
    """Some of the numbers replaced by those that are different from all others."""
    if x.dtype.kind in "fV":
        at = rng.random(x.shape)
        for low, value in ((0.0, np.nan), (0.02, np.inf), (0.03, -np.inf), (0.04, -0.0),
                           (0.1, 0.0)):
            x = np.where((at >= low) & (at < low + (0.06 if value == 0 else 0.01)),
                         np.array(value).astype(x.dtype),
                         x)
    return x


def short_programs():
    """(program, dtype of its arrays): whole-row programs, and every reduction of types of all
    kinds."""
    yield from ((make(t), t) for make, t in zip(PROGRAMS, itertools.cycle(("f32", "f64", "bf16"))))
    for t in ("bool", "i16", "f16", "f32", "f64"):
        kinds = [
            "any", "all", "sum", "max", "min", "max_index", "min_index",
            *(["prod", "mean"] if t[0] in "fb" and t != "bool" else [])]
        yield from ((reduction_program(kind, t), t) for kind in kinds)
    x, y, row, col, i, best, at, again = sc.args(8)
    yield R.Program("mixed", (R.Operand("f32"), R.Operand("f32"), R.Operand("f32", R.Extent.ROW),
                              R.Operand("f32", R.Extent.COLUMN),
                              R.Operand("i64", R.Extent.POSITION)),
                    (R.Reduce("max_index",
                              sc.exp(x - y) * row + col),
                     R.Reduce("sum",
                              sc.cast(x * best, "f64") + sc.cast(i, "f64")),
                     R.Store(again * sc.cast(row, "f64")), R.StoreRow(at), R.StoreRow(best))), "f32"


def test_short_rows_taken_together_have_the_bits_of_rows_taken_alone(threads, monkeypatch):
    from whet.cpu import rows as module
    taken = []
    kernel = module.short_kernel
    monkeypatch.setattr(module,
                        "short_kernel", lambda *about: taken.append(about) or kernel(*about))
    # threads begin anywhere
    monkeypatch.setattr(module, "per_grain", lambda program: 60)
    monkeypatch.setattr(module, "NARROW", 0)
    for trial, (program, dtype) in enumerate(short_programs()):
        for n in rng.choice([1, 2, 3, 7, 8, 15, 16, 17, 24, 31, 32, 33, 47, 48, 64, 100, 128],
                            2,
                            replace=False).tolist():
            count = int(rng.choice([4, 5, 16, 17, 31, 40, 77]))
            shape = ((count, n), (7, count, n), (count, 3, n))[int(rng.integers(3))]
            axes = (len(shape) - 1,)
            xs = []
            for x, o in zip(inputs(program, shape, axes, dtype), program.operands, strict=True):
                if o.is_full and len(shape) == 3:
                    x = (np.broadcast_to(special(x)[:1], shape) if rng.random() < 0.3 else
                         np.concatenate([special(x)] * 2, 1)[:, 1:shape[1] + 1])
                xs.append(special(x)[:, :n] if o.is_full and len(shape) == 2 else x)
            with monkeypatch.context() as patch:
                patch.setattr(module, "FEW", 1 << 60)
                patch.setattr(module, "SHORT", 0)
                want = module.Plan(program, xs, axes)(*xs)
            before = len(taken)
            threads(1 + trial % 3)
            got = module.Plan(program, xs, axes)(*xs)
            for a, b in zip(want, got, strict=True):
                a, b = (np.where(y != y,
                                 np.array(np.nan).astype(y.dtype), y) if y.dtype.kind in "fV" else y
                        for y in (a, b))
                # which NaN is the machine's choice
                assert same(a, b), (str(program), shape, dtype)
            assert len(taken) > before or n <= 12 or module.short_rows(program, n) is None
    assert len(taken) > 50


def placed(x, how, axes):
    """An array of these numbers in which rows lie otherwise: next to each other, with something
    between them, all the same, or apart."""
    if how == "same":
        return np.broadcast_to(
            np.take(x, [0], next(a for a in reversed(range(x.ndim)) if a not in axes)), x.shape)
    if how == "gaps":
        wide = np.full((*x.shape[:-1], x.shape[-1] + int(rng.integers(1, 4))), 7).astype(x.dtype)
        at = int(rng.integers(wide.shape[-1] - x.shape[-1] + 1))
        wide[..., at:at + x.shape[-1]] = x
        return wide[..., at:at + x.shape[-1]]
    return (x if how == "plain" else np.ascontiguousarray(np.moveaxis(x, -1, 0)).transpose(
        *range(1, x.ndim), 0))


def test_narrow_rows_have_the_bits_of_rows_taken_alone(threads, monkeypatch):
    from whet.cpu import rows as module
    taken = []
    kernel = module.narrow_kernel
    monkeypatch.setattr(module,
                        "narrow_kernel", lambda *about: taken.append(about[1:]) or kernel(*about))
    # threads begin anywhere
    monkeypatch.setattr(module, "per_grain", lambda program: 60)
    for trial, (program, dtype) in enumerate(short_programs()):
        for n in rng.choice(np.arange(2, 17), 3, replace=False).tolist():
            count = int(rng.choice([16, 17, 33, 70]))
            pieces = int(rng.integers(2, 4))
            shape, axes = (((count, n), (1,)), ((5, count, n), (2,)),
                           ((3, pieces, count, n), (1, 3)))[int(rng.integers(3))]
            xs = []
            for x, o in zip(inputs(program, shape, axes, dtype), program.operands, strict=True):
                if o.is_full:
                    x = placed(special(x),
                               ("plain", "plain", "same", "gaps", "turned")[int(rng.integers(5))],
                               axes)
                elif o.is_row and rng.random() < 0.5:
                    x = np.repeat(np.expand_dims(x, axes), 3,
                                  -1)[..., int(rng.integers(3))][..., None]
                xs.append(x)
            with monkeypatch.context() as patch:
                patch.setattr(module, "NARROW", 0)
                patch.setattr(module, "FEW", 1 << 60)
                patch.setattr(module, "SHORT", 0)
                want = module.Plan(program, xs, axes)(*xs)
            threads(1 + trial % 3)
            got = module.Plan(program, xs, axes)(*xs)
            for a, b in zip(want, got, strict=True):
                a, b = (np.where(y != y,
                                 np.array(np.nan).astype(y.dtype), y) if y.dtype.kind in "fV" else y
                        for y in (a, b))
                assert same(a, b), (str(program), shape, dtype)
    assert (len(taken) > 25
            and {how for *_, places in taken for how in places} >= {-1, 0, 3, 4, 5, 6, 8}
            and {p for _, p, _ in taken} >= {1, 2, 3})
