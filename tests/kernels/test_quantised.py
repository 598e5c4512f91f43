"""Products and convolutions of bytes, each way that machines have, against sums of integers."""

import os

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cpu import conv_plan, quantised_channels, quantised_weights
from whet.cpu import quantised as Q
from whet.cpu.quantised_weights import Window, pack, pack_window
from whet.ops import quantised as ops
from whet.passes.lower_llvm import compile as compiler
from whet.passes.lower_llvm.modules import new_module
from whet.passes.lower_llvm.quantised import products

RNG = np.random.default_rng(0)
TO_BYTES = Q.Epilogue(-120.0, 127.0, 128, 0.3)
EPILOGUES = [TO_BYTES, Q.Epilogue(-np.inf, np.inf, None, 0.5), Q.Epilogue(0.0, 255.0, 0, 0.7)]
KINDS = ["amx", "vnni", "pairs"]


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """Sums are made in this way, where the machine can."""
    best = Q.kind()
    if best not in KINDS or KINDS.index(request.param) < KINDS.index(best):
        pytest.skip(f"this machine has {best}")
    monkeypatch.setattr(Q, "kind", lambda: request.param)
    monkeypatch.setattr(Q, "known", {})
    for room in (conv_plan, quantised_channels):
        monkeypatch.setattr(room, "known", Q.known)
    return request.param


def parameters(groups, n, large=1):
    room = groups, quantised_weights.padded(n, 32)
    return (
        RNG.integers(-1000, 1000, room).astype("i4"),
        (RNG.random(room) * 1e-3 * large).astype("f4"),
        RNG.standard_normal(room).astype("f4"),
    )


def some_bytes(*shape):
    return RNG.integers(0, 256, shape).astype("u1")


def wanted(total, parameters, residual, epilogue):
    """From the definition, a step at a time."""
    shift, scale, bias = parameters
    total = (total + shift.astype("i8") + 2**31) % 2**32 - 2**31
    v = (total.astype("f4") * scale).astype("f4") + bias
    if residual is not None:
        v = v + (residual.astype("f4") * np.float32(epilogue.residual_scale)).astype("f4")
    v = np.clip(v, np.float32(epilogue.low), np.float32(epilogue.high))
    return v if epilogue.zero is None else (np.round(v) + epilogue.zero).astype("u1")


@pytest.mark.drawn(3)
@pytest.mark.parametrize("epilogue", EPILOGUES, ids=str)
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize(
    "size",
    [
        (1, 64, 32),
        (1, 7, 5),
        (49, 512, 64),
        (33, 147, 100),
        (130, 128, 1000),
        (17, 4, 1),
        (3, 300, 33),
        (0, 8, 8),
    ],
)
def test_linear(kind, size, epilogue, residual):
    m, k, n = size
    x, w, r = (
        some_bytes(m, k),
        RNG.integers(-128, 128, (1, n, k)).astype("i1"),
        some_bytes(m, n) if residual else None,
    )
    p = parameters(1, n, 1 if m % 2 else 100)
    got = Q.linear(x, pack(w), *p, r, n, epilogue)
    total = x.astype("i8") @ w[0].T.astype("i8")
    assert got.tobytes() == wanted(total, [a[0, :n] for a in p], r, epilogue).tobytes()


@pytest.mark.parametrize("epilogue", [EPILOGUES[0], EPILOGUES[2]], ids=str)
def test_results_far_beyond_the_bounds_are_the_lowest_and_highest_bytes(kind, epilogue):
    w = RNG.integers(-128, 128, (1, 64, 32)).astype("i1")
    x = some_bytes(5, 32)
    shift, scale, bias = parameters(1, 64)
    scale[:] = 1e12
    got = Q.linear(x, pack(w), shift, scale, bias, None, 64, epilogue)
    total = x.astype("i8") @ w[0].T.astype("i8")
    given = [a[0] for a in (shift, scale, bias)]
    assert got.tobytes() == wanted(total, given, None, epilogue).tobytes()
    ends = int(epilogue.low) + epilogue.zero, int(epilogue.high) + epilogue.zero
    assert set(got.flat) == set(ends)


# items, channels, height, width, features, taps, stride, padding, dilation, groups
CONVOLUTIONS = [
    (1, 64, 14, 14, 64, 3, 1, 1, 1, 1),
    (2, 3, 17, 19, 40, 7, 2, 3, 1, 1),
    (1, 32, 9, 9, 64, 1, 1, 0, 1, 1),
    (1, 32, 9, 9, 64, 1, 2, 0, 1, 1),
    (1, 64, 8, 8, 96, 3, 1, 2, 2, 4),
    (3, 24, 5, 6, 16, 3, 2, 1, 1, 1),
    (1, 8, 7, 7, 8, 3, 1, 1, 1, 8),
    (2, 144, 9, 8, 144, 3, 2, 1, 1, 144),
    (1, 37, 12, 11, 37, 5, 1, 2, 1, 37),
    (1, 64, 7, 7, 64, 3, 1, 2, 2, 64),
    (1, 36, 4, 140, 36, 3, 1, 1, 1, 36),
    (2, 33, 9, 133, 33, 5, 2, 2, 1, 33),
    (1, 6, 7, 7, 6, 3, 1, 1, 1, 3),
    (1, 64, 7, 7, 64, 1, 1, 1, 1, 1),
]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("epilogue", EPILOGUES[:2], ids=str)
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("plan", CONVOLUTIONS, ids=str)
def test_convolution(kind, plan, epilogue, residual):
    n, c, h, w, o, k, s, p, d, g = plan
    x = some_bytes(n, h, w, c).transpose(0, 3, 1, 2)
    weights = RNG.integers(-128, 128, (o, c // g, k, k)).astype("i1")
    window = Window((k, k), (s, s), (p, p), (d, d), g, 77)
    packed = pack_window(weights, window)
    given = parameters(len(packed), o // len(packed))
    size = window.out_size((h, w))
    r = some_bytes(n, o, *size) if residual else None
    got = Q.conv(x, packed, *given, r, o, window, epilogue)
    # the padding is the byte that stands for zero: convolve what it stands for
    image = np.pad(x.astype("f8"), ((0, 0), (0, 0), (p, p), (p, p)), constant_values=77)
    total = whet.nn.functional.conv2d(
        whet.from_numpy(image),
        whet.from_numpy(weights.astype("f8")),
        stride=s,
        dilation=d,
        groups=g,
    )
    columns = [quantised_weights.of_features(a, o).reshape(-1, 1, 1) for a in given]
    assert got.shape == (n, o, *size)
    assert np.array_equal(got, wanted(total.numpy().astype("i8"), columns, r, epilogue))


def test_sums_go_around_at_32_bits(kind):
    k = 1 << 17
    x, w = np.full((1, k), 255, "u1"), np.full((1, 1, k), 127, "i1")
    zero = np.zeros((1, 32), "i4"), np.ones((1, 32), "f4"), np.zeros((1, 32), "f4")
    got = Q.linear(x, pack(w), *zero, None, 1, EPILOGUES[1])
    assert got.item() == np.float32((255 * 127 * k + 2**31) % 2**32 - 2**31)


def test_ties_go_to_even(kind):
    n = 64
    x, w = np.ones((1, 4), "u1"), np.zeros((1, n, 4), "i1")
    w[0, :, 0] = np.arange(n) - 32
    room = np.zeros((1, n), "i4"), np.full((1, n), 0.5, "f4"), np.zeros((1, n), "f4")
    got = Q.linear(x, pack(w), *room, None, n, Q.Epilogue(-128.0, 127.0, 128, 0.0))
    assert np.array_equal(got[0].astype(int) - 128, np.rint((np.arange(n) - 32) / 2).astype(int))


def test_operands_that_do_not_fit():
    x, w = some_bytes(2, 8), pack(RNG.integers(-128, 128, (1, 5, 8)).astype("i1"))
    p = parameters(1, 5)
    for bad in (
        lambda: Q.linear(x, w, *p, None, 40, TO_BYTES),
        lambda: Q.linear(x.astype("i1"), w, *p, None, 5, TO_BYTES),
        lambda: Q.linear(x, w.astype("u1"), *p, None, 5, TO_BYTES),
        lambda: Q.linear(x, w, p[0][:, :5], *p[1:], None, 5, TO_BYTES),
        lambda: Q.linear(x, w, *p, some_bytes(2, 4), 5, TO_BYTES),
        lambda: Q.linear(x, w, *p, None, 5, TO_BYTES._replace(high=300.0)),
        lambda: Q.linear(x, w, *p, None, 5, TO_BYTES._replace(low=1.0, high=0.0)),
    ):
        with pytest.raises(RuntimeError, match="quantised_linear"):
            bad()


@pytest.mark.skipif(
    Q.kind() not in ("amx", "vnni") or os.environ.get("WHET_CHECK") == "2",
    reason="machine code of VNNI",
)
def test_the_inner_loop_is_dot_products_and_keeps_its_sums():
    m = new_module()
    products.kernel(m, "k", products.Form("vnni", False, True, False))
    text = compiler._machine(2).emit_assembly(compiler._llvm().parse_assembly(m.text()))
    body = text.partition("\nk_rows12:")[2].partition(".Lfunc_end")[0]
    loop = max(body.split(".LBB"), key=lambda part: part.count("vpdpbusd"))
    assert loop.count("vpdpbusd") == 24 and "(%rsp)" not in loop


@pytest.mark.parametrize("channels", [1, 3, 8, 16, 37, 64, 130])
@pytest.mark.parametrize("plan", [(3, 2, 1, 1), (2, 2, 0, 1), (3, 1, 1, 2)], ids=str)
def test_the_largest_of_bytes(channels, plan):
    k, s, p, d = plan
    x = some_bytes(2, 9, 11, channels).transpose(0, 3, 1, 2)
    found = whet.nn.functional.max_pool2d(whet.from_numpy(x), k, s, p, d)
    real = whet.nn.functional.max_pool2d(whet.from_numpy(x.astype("f4")), k, s, p, d)
    assert found.dtype is whet.uint8 and (found.numpy() == real.numpy()).all()
    best = Q.kind() == "numpy"
    assert best or found.numpy().transpose(0, 2, 3, 1).flags.c_contiguous


def test_traced_ops_have_the_same_bits():
    w = RNG.integers(-128, 128, (24, 8, 3, 3)).astype("i1")
    window = Window((3, 3), (1, 1), (1, 1), (1, 1), 1, 3)
    packed = pack_window(w, window)
    given = [whet.from_numpy(a) for a in (packed, *parameters(1, 24))]
    at = window._asdict() | TO_BYTES._asdict()

    def f(x):
        q = whet.quantize.quantize_linear(x, 0.05, 3)
        q = ops.conv_op(q, *given, features=24, **at)
        return whet.quantize.dequantize_linear(F.max_pool2d(q, 2), 0.1, 128)

    x, traced = whet.randn(2, 8, 9, 9), whet.jit.trace(f)
    wanted = f(x).numpy().tobytes()
    for _ in range(4):
        assert traced(x).numpy().tobytes() == wanted
    assert traced.graph is not None
