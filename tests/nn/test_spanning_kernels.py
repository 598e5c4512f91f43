"""Convolutions whose kernel has one place along some dimensions of the image: what they are made
of, and that it is the same."""
import itertools
import random
import re

import pytest
import whet
import whet.nn.functional as F
from whet.ops.convolutions import conv_op
from whet.ops.registry import apply

KINDS = F.conv1d, F.conv2d, F.conv3d


def drawn(r):
    """(sizes of an image, of a weight, attributes) of a convolution that often spans the image."""
    n, groups, each = r.randint(1, 3), r.choice([1, 1, 2]), r.randint(1, 3)
    kernel = [r.randint(1, 4) for _ in range(n)]
    image = [k + r.choice([0, 0, 2, 3]) for k in kernel]
    at = dict(stride=tuple([r.randint(1, 2) for _ in kernel]),
              padding=tuple([r.choice([0, 0, 1]) for _ in kernel]),
              dilation=(1,) * n, groups=groups)
    return ((r.randint(1, 3), groups * each, *image), (groups * r.randint(1, 3), each, *kernel), at)


@pytest.mark.parametrize("seed", range(60))
def test_they_are_the_op(seed):
    r = random.Random(seed)
    image, weight, at = drawn(r)
    x, w, b = (whet.randn(*s, dtype=whet.float64, requires_grad=True)
               for s in (image, weight, weight[:1]))
    given = (x, w, b) if seed % 2 else (x, w)
    made = KINDS[len(image) - 3](*given, **at)
    wanted = apply(conv_op, given, at)
    g = whet.randn_like(wanted)
    for a, c in zip((made, *whet.autograd.grad(made, given, g)),
                    (wanted, *whet.autograd.grad(wanted, given, g)), strict=True):
        assert a.shape == c.shape and whet.allclose(a, c, 1e-9, 1e-11)


@pytest.mark.parametrize("kernel, stride", [*itertools.product([(2, 3), (4, 4), (1, 5)], [1, 2])])
def test_a_transposed_one_of_one_place(kernel, stride):
    x, w = whet.randn(3, 5, 1, 1, dtype=whet.float64), whet.randn(5, 4, *kernel, dtype=whet.float64)
    b = whet.randn(4, dtype=whet.float64)
    wide = F.conv_transpose2d(F.pad(x, (0, 1, 0, 1)), w, b, stride)
    made = F.conv_transpose2d(x, w, b, stride)
    whet.testing.assert_close(made, wide[..., :kernel[0], :kernel[1]])


def test_nothing_is_padded_by_their_size():
    """A sentence's words are as many channels: a step costs no more than its products."""
    def step(x, w, v):
        y = F.conv2d(F.conv2d(x, w).relu(), v)
        return whet.autograd.grad(y.square().sum(), [x, w, v])
    words, taps, last = (whet.randn(*s, requires_grad=True) for s in (
        (2, 1, 9, 30), (4, 1, 3, 30), (5, 4, 7, 1)))
    traced = whet.jit.trace(step)
    traced(words, taps, last)
    text = str(traced.explain(full=True))
    found = re.findall(r"= conv_input_grad.* : (f32\S*)", text)
    assert found == ["f32[2,30,9]"]
    assert " 0 steps in Python" in text


@pytest.mark.parametrize("lies", [
    lambda t: t.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), lambda t: t[..., ::2],
    lambda t: t[:1, :1, :1, :1].expand(t.shape), lambda t: t.flip(3)])
def test_pixels_that_lie_apart_are_copied(lies):
    x, w = lies(whet.randn(2, 3, 8, 8)), whet.randn(4, 3, 3, 3)
    y = F.conv2d(x, w)
    assert whet.equal(y, F.conv2d(x.contiguous(), w))
    g = lies(whet.randn(2, 4, 6, 12 if y.shape[-1] == 2 else 6))[..., :y.shape[-1]]
    g = g if g.shape == y.shape else g.expand(y.shape)
    for got, wanted in (
            (whet.nn.grad.conv2d_input(x.shape, w, g), whet.nn.grad.conv2d_input(
                x.shape, w, g.contiguous())),
            (whet.nn.grad.conv2d_weight(x, w.shape, g), whet.nn.grad.conv2d_weight(
                x.contiguous(), w.shape, g.contiguous()))):
        assert whet.equal(got, wanted)
