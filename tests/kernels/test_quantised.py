"""Products and convolutions of bytes, each way that machines have, against sums of integers."""

import os

import numpy as np
import pytest
import whet
from whet.cpu import conv_plan
from whet.cpu import quantised as Q
from whet.passes.lower_llvm import compile as compiler
from whet.passes.lower_llvm.modules import new_module
from whet.passes.lower_llvm.quantised import products

RNG = np.random.default_rng(0)
TO_BYTES = Q.Tail(-120.0, 127.0, 128, 0.3)
TAILS = [TO_BYTES, Q.Tail(-np.inf, np.inf, None, 0.5), Q.Tail(0.0, 255.0, 0, 0.7)]
KINDS = ["amx", "vnni", "pairs"]


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    """Sums are made in this way, where the machine can."""
    best = Q.kind()
    if best not in KINDS or KINDS.index(request.param) < KINDS.index(best):
        pytest.skip(f"this machine has {best}")
    monkeypatch.setattr(Q, "kind", lambda: request.param)
    monkeypatch.setattr(Q, "known", {})
    monkeypatch.setattr(conv_plan, "known", Q.known)
    return request.param


def parameters(groups, n, large=1):
    room = groups, Q.padded(n, 32)
    return (
        RNG.integers(-1000, 1000, room).astype("i4"),
        (RNG.random(room) * 1e-3 * large).astype("f4"),
        RNG.standard_normal(room).astype("f4"),
    )


def some_bytes(*shape):
    return RNG.integers(0, 256, shape).astype("u1")


def wanted(total, parameters, residual, tail):
    """From the definition, a step at a time."""
    shift, scale, bias = parameters
    total = (total + shift.astype("i8") + 2**31) % 2**32 - 2**31
    v = (total.astype("f4") * scale).astype("f4") + bias
    if residual is not None:
        v = v + (residual.astype("f4") * np.float32(tail.residual_scale)).astype("f4")
    v = np.clip(v, np.float32(tail.low), np.float32(tail.high))
    return v if tail.zero is None else (np.round(v) + tail.zero).astype("u1")


@pytest.mark.parametrize("tail", TAILS, ids=str)
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
def test_linear(kind, size, tail, residual):
    m, k, n = size
    x, w, r = (
        some_bytes(m, k),
        RNG.integers(-128, 128, (1, n, k)).astype("i1"),
        some_bytes(m, n) if residual else None,
    )
    p = parameters(1, n, 1 if m % 2 else 100)
    got = Q.linear(x, Q.pack(w), *p, r, n, tail)
    total = x.astype("i8") @ w[0].T.astype("i8")
    assert got.tobytes() == wanted(total, [a[0, :n] for a in p], r, tail).tobytes()


# items, channels, height, width, features, taps, stride, padding, dilation, groups
CONVOLUTIONS = [
    (1, 64, 14, 14, 64, 3, 1, 1, 1, 1),
    (2, 3, 17, 19, 40, 7, 2, 3, 1, 1),
    (1, 32, 9, 9, 64, 1, 1, 0, 1, 1),
    (1, 32, 9, 9, 64, 1, 2, 0, 1, 1),
    (1, 64, 8, 8, 96, 3, 1, 2, 2, 4),
    (3, 24, 5, 6, 16, 3, 2, 1, 1, 1),
    (1, 8, 7, 7, 8, 3, 1, 1, 1, 8),
    (1, 64, 7, 7, 64, 1, 1, 1, 1, 1),
]


@pytest.mark.parametrize("tail", TAILS[:2], ids=str)
@pytest.mark.parametrize("residual", [False, True])
@pytest.mark.parametrize("plan", CONVOLUTIONS, ids=str)
def test_convolution(kind, plan, tail, residual):
    n, c, h, w, o, k, s, p, d, g = plan
    x = some_bytes(n, h, w, c).transpose(0, 3, 1, 2)
    weights = RNG.integers(-128, 128, (o, c // g, k, k)).astype("i1")
    packed = Q.pack(weights.transpose(0, 2, 3, 1).reshape(g, o // g, -1))
    window = Q.Window((k, k), (s, s), (p, p), (d, d), g, 77)
    given = parameters(g, o // g)
    size = Q.out_size((h, w), window)
    r = some_bytes(n, o, *size) if residual else None
    got = Q.conv(x, packed, *given, r, o, window, tail)
    # the padding is the byte that stands for zero: convolve what it stands for
    image = np.pad(x.astype("f8"), ((0, 0), (0, 0), (p, p), (p, p)), constant_values=77)
    total = whet.nn.functional.conv2d(
        whet.from_numpy(image),
        whet.from_numpy(weights.astype("f8")),
        stride=s,
        dilation=d,
        groups=g,
    )
    columns = [a[:, : o // g].reshape(-1, 1, 1) for a in given]
    assert got.shape == (n, o, *size)
    assert np.array_equal(got, wanted(total.numpy().astype("i8"), columns, r, tail))


def test_sums_go_around_at_32_bits(kind):
    k = 1 << 17
    x, w = np.full((1, k), 255, "u1"), np.full((1, 1, k), 127, "i1")
    zero = np.zeros((1, 32), "i4"), np.ones((1, 32), "f4"), np.zeros((1, 32), "f4")
    got = Q.linear(x, Q.pack(w), *zero, None, 1, TAILS[1])
    assert got.item() == np.float32((255 * 127 * k + 2**31) % 2**32 - 2**31)


def test_ties_go_to_even(kind):
    n = 64
    x, w = np.ones((1, 4), "u1"), np.zeros((1, n, 4), "i1")
    w[0, :, 0] = np.arange(n) - 32
    room = np.zeros((1, n), "i4"), np.full((1, n), 0.5, "f4"), np.zeros((1, n), "f4")
    got = Q.linear(x, Q.pack(w), *room, None, n, Q.Tail(-128.0, 127.0, 128, 0.0))
    assert np.array_equal(got[0].astype(int) - 128, np.rint((np.arange(n) - 32) / 2).astype(int))


def test_operands_that_do_not_fit():
    x, w = some_bytes(2, 8), Q.pack(RNG.integers(-128, 128, (1, 5, 8)).astype("i1"))
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
