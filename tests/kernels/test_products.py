"""Matrix multiplication: one order of sums for every path, whatever the layout, the cut, the
epilogue and the vector width."""
import ctypes as C
import itertools
import os
import re
import subprocess
import sys
import threading
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from whet.cpu import gemm, guarded_memory, native, small_products, thread_pool
from whet.ir import scalar
from whet.passes.lower_llvm import targets
from whet.passes.lower_llvm.modules import new_module
from whet.passes.lower_llvm.products import gemm as kernels

BF16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(t) for t in ("f4", "f8", "f2")] + [BF16]
ours = pytest.mark.skipif(not kernels.supported("f32"),
                          reason="no fused multiply-add: NumPy computes floats")


# The order, slowly

def fma32(a, b, c):
    """a * b + c in float32, rounded once: the sum in float64 is rounded to odd, from where
    rounding again is exact."""
    p, c = a.astype("f8") * b.astype("f8"), c.astype("f8")
    s = p + c
    back = s - p
    error = (p - (s - back)) + (c - back)
    even = (s.view("u8") & 1) == 0
    nudged = np.nextafter(s, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & even, nudged, s).astype("f4")


def fma64(a, b, c):
    exact = np.vectorize(lambda x, y, z: float(Fraction(x) * Fraction(y) + Fraction(z)),
                         otypes=["f8"])
    return exact(*np.broadcast_arrays(a, b, c))


def model(a, b):
    """The canonical order on every element. Blocks of 256 (of 4096 for one row or column), in each
    one chain of fma from +0 (16, over every 16th step); the blocks are added left to right, and
    then the chains by halves."""
    dtype = a.dtype
    fma, wide = (fma64, "f8") if dtype == "f8" else (fma32, "f4")
    a, b = a.astype(wide), b.astype(wide)
    count = 16 if 1 in (a.shape[0], b.shape[1]) else 1
    total = None
    for start in range(0, max(1, a.shape[1]), 256 * count):
        chains = np.zeros((count, a.shape[0], b.shape[1]), wide)
        for k in range(start, min(start + 256 * count, a.shape[1])):
            chains[(k - start) % count] = fma(a[:, k:k + 1], b[k:k + 1],
                                              chains[(k - start) % count])
        total = chains if total is None else total + chains
    while len(total) > 1:
        total = total[:len(total) // 2] + total[len(total) // 2:]
    return total[0].astype(dtype)


def random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)
    return ((x + 1j * rng.standard_normal(shape)).astype(dtype)
            if dtype.kind == "c" else x.astype(dtype))


def same(x, y):
    return (x.shape == y.shape and x.dtype == y.dtype
            and x.tobytes() == np.ascontiguousarray(y).tobytes())


def layouts(x):
    """The same matrix in other strides: its transpose's order, every second element, backwards,
    rows of a wider matrix."""
    yield x
    yield x.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    yield np.repeat(x, 2, -1)[..., ::2]
    yield x[..., ::-1, ::-1].copy()[..., ::-1, ::-1]
    yield np.concatenate([x, x], -1)[..., :x.shape[-1]]


SIZES = [(1, 1, 1), (4, 8, 4), (3, 0, 5), (16, 16, 16), (15, 300, 17), (13, 7, 33), (1, 513, 100),
         (100, 513, 1), (1, 20, 5), (29, 257, 16), (30, 64, 49), (9, 256, 65), (2, 600, 31)]
ONE_ROW = [(1, 1, 1), (1, 0, 3), (1, 2048, 1), (1, 8192, 1), (1, 16389, 1), (1, 5000, 3),
           (2, 9000, 1), (3, 17, 1), (1, 31, 33), (1, 2100, 70), (6, 40, 1), (1, 64, 600)]


@pytest.mark.drawn(3)
@ours
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("m, k, n", SIZES + ONE_ROW)
def test_every_element_has_the_canonical_order(m, k, n, dtype):
    if dtype == "f8":
        m, n, k = min(m, 5), min(n, 18), min(k, 2100)             # the model is slow
    a, b = random((m, k), dtype), random((k, n), dtype, 1)
    want = model(a, b)
    for x, y in itertools.product(layouts(a), layouts(b)):
        assert same(gemm.matmul(x, y), want)


@ours
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_large_products_have_the_bits_of_small_ones(dtype):
    m, k, n = 700, 600, 150
    a, b = random((m, k), dtype), random((k, n), dtype, 1)
    whole = gemm.matmul(a, b)
    assert np.allclose(whole.astype("f8"),
                       a.astype("f8") @ b.astype("f8"),
                       rtol=0.05,
                       atol=0.5 if dtype.itemsize == 2 else 1e-3)
    for i, j in ((0, 0), (333, 64), (690, 140)):
        assert same(gemm.matmul(a[i:i + 10], b[:, j:j + 10]), whole[i:i + 10, j:j + 10])
    for x, y in itertools.product(list(layouts(a))[:2], list(layouts(b))[:2]):
        assert same(gemm.matmul(x, y), whole)


@ours
def test_strides_of_a_page_change_nothing():
    a, b = random((60, 1024), "f4"), random((1024, 1024), "f4", 1)
    want = gemm.matmul(
        np.concatenate([a, a], 1)[:, :1024].copy(), np.concatenate([b, b[:, :16]], 1)[:, :1024])
    for x, y in itertools.product(list(layouts(a))[:2], list(layouts(b))[:2]):
        assert same(gemm.matmul(x, y), want)


@pytest.fixture
def threads():
    before = thread_pool.get_num_threads()
    yield thread_pool.set_num_threads
    thread_pool.set_num_threads(before)


@pytest.mark.drawn(2)
@ours
@pytest.mark.parametrize("dtype", ["f4", "f8", BF16], ids=str)
@pytest.mark.parametrize("sizes",
                         [(700, 300, 90), (1, 700, 900), (20, 600, 1500), (900, 800, 1),
                          (5, 64, 64, 64)])
def test_threads_change_nothing(sizes, dtype, threads):
    *batch, m, k, n = sizes
    a, b = random((*batch, m, k), dtype), random((*batch, k, n), dtype, 1)
    threads(1)
    want = gemm.matmul(a, b)
    for t in (2, 3, 7):
        threads(t)
        assert same(gemm.matmul(a, b), want)
        assert same(gemm.matmul(a, b.swapaxes(-1, -2).copy().swapaxes(-1, -2)), want)


@ours
def test_python_threads_do_not_share_scratch_memory():
    a, b = random((400, 1024), "f2"), random((1024, 300), "f2", 1)
    want, wrong = gemm.matmul(a, b), []

    def work():
        wrong.extend(1 for _ in range(5) if not same(gemm.matmul(a, b), want))
    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


DIGEST = """
import hashlib, sys
sys.path.insert(0, {here!r})
from test_products import BF16, random
from whet.cpu import gemm
h = hashlib.sha256()
for dtype in ("f4", "f8", "f2", BF16, "i4"):
    for m, k, n in ((3, 5, 7), (1, 300, 40), (31, 300, 37), (40, 300, 1)):
        a, b = random((m, k), dtype), random((k, n), dtype, 1)
        h.update(gemm.matmul(a, b).tobytes())
        h.update(gemm.matmul(a, b.T.copy().T).tobytes())
print(h.hexdigest())
"""


@ours
@pytest.mark.skipif(targets.current().name == "neon", reason="one width")
def test_the_vector_width_changes_nothing():
    here = os.path.dirname(os.path.abspath(__file__))
    found = {
        subprocess.run([sys.executable, "-c", DIGEST.format(here=here)],
                       env={**os.environ, "WHET_CPU": cpu}, check=True, capture_output=True,
                       text=True).stdout for cpu in {"avx2", targets.current().name}}
    assert len(found) == 1


def test_a_machine_without_fma_multiplies_too():
    if targets.current().name == "neon":
        pytest.skip("has it")
    code = (
        "import numpy as np; from whet.cpu import gemm; a = np.ones((3, 5), 'f4'); "
        "print(gemm.linear(a, a).sum())")
    out = subprocess.run([sys.executable, "-c", code],
                         env={**os.environ, "WHET_CPU": "baseline"},
                         check=True,
                         capture_output=True)
    assert out.stdout == b"45.0\n"


@ours
@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_one_row_has_one_order_however_it_is_asked_for(dtype):
    a, b, w = random(3000, dtype), random((3000, 20), dtype, 1), random((20, 3000), dtype, 2)
    want, dot = model(a[None], b), model(a[None], b[:, :1])
    assert (same(gemm.matmul(a, b), want[0]) and same(gemm.matmul(b.T, a), want[0])
            and same(gemm.matmul(a[None, None], b), want[None]))
    assert (same(gemm.linear(a[None], b.T), want)
            and same(gemm.matmul_packed(a[None], gemm.pack(b)), want))
    assert (same(gemm.matmul(a, b[:, 0]), dot[0, 0, ...])
            and same(gemm.matmul(a[None], b[:, :1].copy()), dot))
    many = np.broadcast_to(b, (3, *b.shape))
    assert (same(gemm.matmul(a[None], many), np.stack([want] * 3))
            and same(gemm.matmul(many.swapaxes(1, 2), a[:, None])[1], want.T))
    after = gemm.matmul(w,
                        a[:, None],
                        epilogue=scalar.arg(0) + scalar.arg(1),
                        operands=(b[:20, :1],))
    assert same(after, model(w, a[:, None]) + b[:20, :1])


# Shapes

@pytest.mark.drawn(2)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "c8"])
@pytest.mark.parametrize("sa, sb",
                         [((2, 3, 4), (4, 5)), ((3, 4), (6, 4, 5)), ((2, 3, 4), (2, 4, 5)),
                          ((3, 1, 2, 9, 33), (4, 1, 33, 5)), ((5, 2, 3, 17, 20), (5, 2, 1, 20, 31)),
                          ((7,), (7,)), ((7,), (7, 3)), ((3, 7), (7,)), ((7,), (2, 7, 3)),
                          ((2, 3, 7), (7,)), ((0, 3), (3, 4)), ((3, 4), (4, 0)),
                          ((2, 0, 3), (3, 4)), ((0, 2, 3), (3, 4)), ((0, 3), (3, 1)),
                          ((0, 3), (3,)), ((5, 0), (0, 1)), ((2, 0, 3), (3,)),
                          ((6, 4, 8, 16), (6, 4, 16, 8)),
                          ((4, 1, 8), (8, 5)), ((4, 8, 1), (4, 1, 5)),
                          ((2, 3, 1, 70), (2, 3, 70, 40)), ((2, 3, 40, 70), (2, 3, 70, 1))])
def test_batches_and_vectors_as_in_numpy(sa, sb, dtype):
    a, b = random(sa, dtype), random(sb, dtype, 1)
    kind = a.dtype.kind
    want = (a @ b if kind in "iu" else a.astype("c16" if kind == "c" else "f8")
            @ b.astype("c16" if kind == "c" else "f8"))
    for x, y in itertools.product(
            layouts(a) if a.ndim > 1 else [a, a[::-1].copy()[::-1]],
            layouts(b) if b.ndim > 1 else [b]):
        got = gemm.matmul(x, y)
        assert got.shape == want.shape and got.dtype == a.dtype
        if kind in "iu":
            assert np.array_equal(got, want)
        else:
            assert np.allclose(got,
                               want,
                               rtol=1e-2 if dtype == "f2" else 1e-4,
                               atol=0.5 if dtype == "f2" else 1e-3)


def special(rng, dtype, *shape):
    """Numbers among which are zeros of both signs, tiny products, infinities and NaNs."""
    if np.dtype(dtype).kind == "i":
        return rng.integers(-2**31, 2**31 - 1, shape).astype(dtype)
    x = rng.standard_normal(shape).astype(dtype)
    flat, kind = x.reshape(-1), rng.random(x.size)
    for k, value in enumerate((-0.0, 0.0, np.inf, np.nan)):
        flat[np.abs(kind - 0.1 * k) < (0.05 if value == 0 else 0.01)] = value
    flat[kind > 0.8] *= np.finfo(dtype).tiny
    return x


def same_numbers(x, y):
    """Are all numbers the same, with their signs?"""
    same = np.array_equal(x, y, equal_nan=x.dtype.kind == "f")
    return same and np.array_equal(np.signbit(x) & (x == x), np.signbit(y) & (y == y))


@pytest.mark.drawn(3)
@ours
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8"])
@pytest.mark.parametrize("m, k, n", [
    (2, 2, 2), (3, 3, 3), (4, 4, 4), (1, 3, 3), (3, 3, 1), (1, 11, 1), (2, 5, 3), (4, 1, 2)])
def test_many_small_matrices_have_the_bits_of_each(m, k, n, dtype, threads, monkeypatch):
    rng, met, launch = np.random.default_rng(m + 3 * n), [], small_products.launch

    def seen(*args):
        met.append(launch(*args))
        return met[-1]
    monkeypatch.setattr(small_products, "launch", seen)
    gemm._plans.clear()
    threads(2)
    a, b = special(rng, dtype, 5003, m, k), special(rng, dtype, 5003, k, n)
    turned = np.ascontiguousarray(b.swapaxes(1, 2)).swapaxes(1, 2)
    pairs = [(a, b), (a, turned), (a[::2], b[::-2]), (a[:1], b)]
    for x, y in (*pairs, (a, b[:1])) if m > 1 else pairs:   # else it is a product of many rows
        for epilogue in (None, scalar.arg(0) * 2):
            made, count = gemm.matmul(x, y, epilogue=epilogue), len(x) if len(x) > 1 else len(y)
            for i in (0, 1, count // 2, count - 2, count - 1):
                one = gemm.matmul(x[min(i, len(x) - 1)], y[min(i, len(y) - 1)], epilogue=epilogue)
                assert same_numbers(made[i], one)
    assert sum(x is not None for x in met) >= 6


@ours
@pytest.mark.parametrize("m, k, n", [(2, 2, 2), (3, 3, 3), (5, 2, 3), (3, 3, 1), (1, 3, 4)])
@pytest.mark.parametrize("of", ["each", "column", "matrix", "row", "number", "same"])
def test_an_epilogue_of_small_products_reads_its_operand_as_it_lies(of, m, k, n, monkeypatch):
    rng, count, met, launch = np.random.default_rng(m + n), 103, [], small_products.launch
    sizes = {"each": (count, 1, 1), "column": (count, m, 1), "matrix": (m, n), "row": (n,),
             "number": (), "same": (count, m, n)}[of]
    monkeypatch.setattr(small_products, "launch", lambda *x: met.append(launch(*x)) or met[-1])
    gemm._plans.clear()
    a, b = special(rng, "f4", count, m, k), special(rng, "f4", count, k, n)
    given = np.broadcast_to(special(rng, "f4", *sizes), (count, m, n))
    for some in (slice(None), slice(0, 40)):
        x, y, z = a[some], b[some], given[some]
        made = gemm.matmul(x, y, epilogue=scalar.arg(0) * scalar.arg(1), operands=(z,))
        with np.errstate(all="ignore"):
            assert same_numbers(made, gemm.matmul(x, y) * z)
    assert len(met) >= 2 and None not in met


@ours
@pytest.mark.parametrize("repeated", [(0, 1, 2), (1,), (2,), (1, 2), (0, 2), (0,)])
def test_small_matrices_of_repeated_elements_have_kernels_too(repeated, monkeypatch):
    rng, met, launch = np.random.default_rng(0), [], small_products.launch
    monkeypatch.setattr(small_products, "launch", lambda *x: met.append(launch(*x)) or met[-1])
    gemm._plans.clear()
    for dtype in ("f4", "f8", "i8"):
        a = special(rng, dtype, 103, 3, 2)
        part = special(rng, dtype, *[1 if d in repeated else n for d, n in enumerate((103, 2, 4))])
        b = np.broadcast_to(part, (103, 2, 4))
        assert same_numbers(gemm.matmul(a, b), gemm.matmul(a, b.copy()))
        assert same_numbers(gemm.matmul(b.mT, a.mT), gemm.matmul(b.mT.copy(), a.mT))
    assert met and None not in met


@ours
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("k, n", [(3, 3), (2, 4), (8, 8), (5, 7), (7, 1)])
def test_many_rows_times_a_small_matrix_have_the_bits_of_few(k, n, dtype):
    rng = np.random.default_rng(k)
    a, b, bias = special(rng, dtype, 307, k), special(rng, dtype, k, n), special(rng, dtype, n)
    for w in (b, np.ascontiguousarray(b.T).T):
        many = gemm.matmul(a, w), gemm.linear(a, w.T, bias)
        for i in range(0, 300, 30):
            rows = a[i:i + 30]
            for x, y in zip(many, (gemm.matmul(rows, w), gemm.linear(rows, w.T, bias)),
                            strict=True):
                assert same_numbers(x[i:i + 30], y)


@ours
def test_a_batch_with_permuted_strides_is_a_loop():
    x, y = random((3, 9, 4, 16), "f4"), random((3, 7, 4, 16), "f4", 1)
    q, k = x.transpose(0, 2, 1, 3), y.transpose(0, 2, 3, 1)
    got = gemm.matmul(q, k)
    for i, j in np.ndindex(3, 4):
        assert same(gemm.matmul(q[i, j], k[i, j]), got[i, j])


@ours
@pytest.mark.parametrize("dtype", ["f4", "f8", BF16], ids=str)
def test_one_matrix_for_a_batch_is_one_product(dtype):
    a, w = random((3, 5, 20, 40), dtype), random((30, 40), dtype, 1)
    got = gemm.linear(a, w)
    assert same(got.reshape(300, 30), gemm.matmul(a.reshape(300, 40), w.T))
    assert same(gemm.linear(a[:, :, ::2], w), got[:, :, ::2])


@ours
@pytest.mark.parametrize("dtype", [np.dtype("f4"), np.dtype("f8"), BF16, np.dtype("i4")], ids=str)
@pytest.mark.parametrize("m, k", [(300, 300), (128, 1500), (257, 301), (700, 40)])
def test_a_matrix_times_its_own_transpose_is_computed_by_half(m, k, dtype, threads, monkeypatch):
    values = np.random.default_rng(m).standard_normal((k + 3, m + 5)) * 5
    third, launched = scalar.arg(0) / scalar.arg(1), []
    for x in ((values.astype(dtype)[3:, 5:], values.T.astype(dtype)[5:, 3:].T,
               values.astype(dtype)[3:, 5:][::-1])):
        for n in (1, 3):
            threads(n)
            for a in (x.T, x) if m == k else (x.T,):
                other, rest = (a.T.copy(), ((third,
                                             (np.array(3, dtype),)) if dtype.kind == "f" else
                                            (None, ())))
                with monkeypatch.context() as patch:
                    patch.setattr(gemm, "move",
                                  lambda dst, src, move=gemm.move: launched.append(dst.shape)
                                  or move(dst, src))
                    mine = [gemm.matmul(a, a.T),
                            gemm.matmul(a, a.T, epilogue=rest[0], operands=rest[1])]
                assert (launched and
                        m * m > 2 * sum(map(np.prod, launched[:len(launched) // 2])) > m * m // 2)
                launched.clear()
                wanted = [
                    gemm.matmul(a, other),
                    gemm.matmul(a, other, epilogue=rest[0], operands=rest[1])]
                assert not launched
                for p, q in zip(mine, wanted, strict=True):
                    assert (p.dtype == q.dtype and p.flags.c_contiguous
                            and p.tobytes() == q.tobytes())


def test_only_its_own_transpose_is_mirrored():
    x = np.random.default_rng(0).standard_normal((400, 400)).astype("f4")
    bias = np.arange(400, dtype="f4")
    for a, b, *rest in (((x[:, :300], x[:, 100:].T), (x[:300], x[100:].T), (x, x), (x[::-1], x.T),
                         (x, x.T, gemm.PLUS_BIAS, (bias,)))):
        how = dict(zip(("epilogue", "operands"), rest))
        assert (gemm.matmul(a, b, **how).tobytes()
                == gemm.matmul(a.copy(), b.copy(), **how).tobytes())


def test_integers_wrap():
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"):
        a, b = random((17, 300), dtype), random((300, 40), dtype, 1)
        assert same(gemm.matmul(a, b), a @ b)


# Values

@ours
def test_special_values():
    inf, nan = np.inf, np.nan
    a = np.array([[-0.0, -0.0], [inf, 1], [inf, -inf], [0, nan], [1e-45, 0]], "f4")
    b = np.array([[1, 0, -0.0], [1, 1, 1]], "f4")
    with np.errstate(invalid="ignore"):
        want = np.array(
            [[0, 0, 0], [inf, nan, nan], [nan, nan, nan], [nan, nan, nan], [1e-45, 0, 0]], "f4")
    got = gemm.matmul(a, b)
    assert np.array_equal(got, want, equal_nan=True) and not np.signbit(got[0]).any()
    assert same(gemm.matmul(np.empty((2, 0), "f4"), np.empty((0, 3), "f4")), np.zeros((2, 3), "f4"))


@ours
def test_infinities_stay_in_their_rows_and_columns():
    a, b = random((40, 300), "f4"), random((300, 50), "f4", 1)
    a[7, 3], b[5, 33] = np.nan, np.inf
    clean = gemm.matmul(np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0))
    for y in (b, b.T.copy().T):
        got = gemm.matmul(a, y)
        touched = np.zeros(got.shape, bool)
        touched[7], touched[:, 33] = True, True
        assert same(got[~touched], clean[~touched]) and not np.isfinite(got[touched]).any()


@ours
def test_bfloat16_keeps_subnormals_and_rounds_once():
    tiny = np.array([[2.0**-130]], BF16)
    assert same(gemm.matmul(tiny, np.ones((1, 1), BF16)), tiny)
    a = np.ones((1, 257), BF16)
    # 256 + 1 in float32, then rounded
    assert gemm.matmul(a, a.T)[0, 0] == BF16.type(257)
    assert gemm.matmul(np.ones((1, 3), "f2"), np.array([[2048], [1], [1]], "f2"))[0, 0] == 2050


# Out, bias, epilogues, packed weights

@ours
def test_out_may_overlap_the_operands():
    a, b = random((20, 20), "f4"), random((20, 20), "f4", 1)
    want = gemm.matmul(a, b)
    out = a.copy()
    assert gemm.matmul(out, b, out=out) is out and same(out, want)
    out = np.zeros((20, 40), "f4")[:, ::2]
    gemm.matmul(a, b, out=out)
    assert same(out, want)


@pytest.mark.drawn(2)
@ours
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("m, k, n",
                         [(4, 8, 4), (1, 300, 50), (37, 300, 50), (64, 32, 32), (50, 20, 1),
                          (1, 300, 200), (7, 300, 200), (300, 200, 1)])
def test_linear_is_a_product_and_an_addition(m, k, n, dtype):
    x, w, bias = random((m, k), dtype), random((n, k), dtype, 1), random(n, dtype, 2)
    want = gemm.matmul(x, w.T)
    wide = np.result_type(dtype, np.float32)             # halves are rounded once
    want_sum = (gemm.matmul(x.astype(wide), w.astype(wide).T) + bias).astype(dtype)
    for _ in range(2):                   # the second time by the short way
        assert same(gemm.linear(x, w), want)
        assert same(gemm.linear(x, w, bias), want_sum)
    packed = gemm.pack(w.T)
    assert same(gemm.matmul_packed(x, packed), want)
    assert same(gemm.matmul_packed(x, gemm.pack(w.T.copy()), bias=bias), want_sum)


@ours
@pytest.mark.parametrize("sa, sb",
                         [((37, 300), (300, 50)), ((2, 3, 9, 33), (2, 3, 33, 20)),
                          ((6, 5, 7), (7, 40)), ((3, 0), (0, 4)), ((1, 300), (300, 200)),
                          ((5, 300), (300, 200)), ((200, 300), (300, 1)), ((4, 50, 30), (30, 1)),
                          ((2, 3, 5, 1, 40), (40, 100))])
def test_an_epilogue_is_applied_to_the_rounded_product(sa, sb):
    x, bias, residual, gain = scalar.args(4)
    a, b = random(sa, "f4"), random(sb, "f4", 1)
    product = gemm.matmul(a, b)
    operands = (random(product.shape[-1], "f4",
                       2), random(product.shape, "f4", 3), random((product.shape[-2], 1), "f4", 4))
    e = scalar.maximum((x + bias) * gain + residual, 0)
    want = np.maximum((product + operands[0]) * operands[2] + operands[1], np.float32(0))
    assert same(gemm.matmul(a, b, epilogue=e, operands=operands), want)
    assert same(gemm.matmul(a, b, epilogue=scalar.cast(x, "f64")), product.astype("f8"))
    assert same(gemm.matmul(a, b, epilogue=x < 0), product < 0)


def test_errors_say_what_does_not_fit():
    a = np.zeros((3, 4), "f4")
    with pytest.raises(ValueError, match="inner sizes differ"):
        gemm.matmul(a, a)
    with pytest.raises(ValueError, match="batch sizes"):
        gemm.matmul(np.zeros((2, 3, 4), "f4"), np.zeros((3, 4, 5), "f4"))
    with pytest.raises(TypeError, match="different dtypes"):
        gemm.matmul(a, np.zeros((4, 3), "f8"))
    with pytest.raises(TypeError, match="not supported"):
        gemm.matmul(a.astype(bool), a.T.astype(bool))
    with pytest.raises(ValueError, match="at least one dimension"):
        gemm.matmul(a, np.float32(1) * np.ones((), "f4"))


# The code itself

@ours
@pytest.mark.skipif(sys.platform != "linux", reason="mprotect")
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1"])
def test_nothing_is_read_or_written_past_the_arrays(dtype):
    """Each array ends where a page begins that nobody may touch."""
    def fenced(x):
        y = guarded_memory.fenced(x.nbytes).view(x.dtype).reshape(x.shape)
        y[...] = x
        return y

    for m, k, n in (((1, 1, 1), (3, 5, 7), (15, 17, 33), (1, 33, 50), (1, 50, 17), (40, 70, 1),
                     (29, 40, 47))):
        a, b = random((m, k), dtype), random((k, n), dtype, 1)
        want = gemm.matmul(a, b)
        for x, y in itertools.product((fenced(a), fenced(a.T.copy()).T),
                                      (fenced(b), fenced(b.T.copy()).T)):
            assert same(gemm.matmul(x, y), want)


@ours
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_no_register_tile_spills(dtype):
    import llvmlite.binding as llvm
    from whet.passes.lower_llvm.builder import Module
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module, t = Module(), targets.current()
    kernels.emit_part(module, "tiles", dtype)
    machine = (llvm.Target.from_default_triple().create_target_machine(
        cpu=t.cpu, features=t.features, opt=2, reloc="pic"))
    text = machine.emit_assembly(llvm.parse_assembly(module.text()))
    blocks = [
        b for b in re.split(r"^\.L\w+:", text, flags=re.M) if len(re.findall(r"fmadd|fmla", b)) > 8]
    assert blocks
    for block in blocks:
        assert (not re.findall(
            r".*(?:(?:\(%[re]sp\)|\[sp).*(?:[xyz]mm|\bq\d)|(?:[xyz]mm|\bq\d).*(?:\(%[re]sp\)|\[sp)).*",
            block)), block


@ours
@pytest.mark.skipif(targets.current().name != "avx512", reason="masks cost something")
@pytest.mark.parametrize("m, k, n", [(13, 17, 11), (24, 24, 24), (49, 30, 50), (9, 300, 20)])
def test_columns_of_small_matrices_are_read_and_written_where_they_are(m, k, n):
    a, b = random((3, m, k), "f4"), random((3, k, n), "f4", 1)
    wide = np.concatenate([b, random((3, k, 64 - n), "f4", 2)], -1)
    assert same(gemm.matmul(a, b), gemm.matmul(a, wide)[..., :n])
    assert (gemm._make_plan(a, b, None, ()).kernel == native.kernel("gemm/f32/place/place/", None))


@ours
@pytest.mark.parametrize("adjacent", [False, True])
@pytest.mark.parametrize("outer", [1, 3, 16, 17])
def test_what_is_packed_beside_the_elements_is_written(outer, adjacent):
    """It is computed with: what memory happens to hold may take a hundred times as long."""
    inner, lanes = 40, kernels.shape("f32").lanes
    room = -(-outer // lanes) * lanes
    src, dst = random((outer, inner), "f4"), np.full((inner, room), np.nan, np.float32)
    if not adjacent:
        src = np.asfortranarray(src)
    module = new_module()
    kernels.emit_part(module, "transposed", "f32")
    name, = kernels.part_names("transposed", "f32")
    at = native.image(f"tested/{name}", module.text, [name])[name]
    C.CFUNCTYPE(None, *[C.c_uint64] * 7)(at)(src.ctypes.data, *src.strides, outer, inner,
                                             dst.ctypes.data, dst.strides[0])
    assert same(dst.T[:outer], src) and np.isfinite(dst).all()
