"""Gradients of some of the leaves: what is computed for them, and that it is the same."""
import itertools

import pytest
import whet
import whet.nn.functional as F
from whet.ops import convolutions


def test_gradients_that_lead_to_no_target_are_not_computed(monkeypatch):
    """Of a convolution's gradients the one of its image may take longer than all else."""
    def fail(*_, **__):
        raise AssertionError("nobody wants this")
    x, w = whet.randn(2, 3, 8, 7, requires_grad=True), whet.randn(4, 3, 3, 2, requires_grad=True)
    loss = F.conv2d(x.tanh(), w).square().sum()
    want = whet.autograd.grad(loss, w, retain_graph=True)
    monkeypatch.setattr(convolutions.conv_input_grad_op, "forward", fail)
    got = whet.autograd.grad(loss, w, retain_graph=True)
    assert whet.equal(got[0], want[0])
    with pytest.raises(AssertionError, match="nobody"):
        whet.autograd.grad(loss, x)


def test_each_choice_of_targets_has_the_same_gradients():
    leaves = [whet.randn(3, 3, requires_grad=True) for _ in range(4)]

    def loss():
        a, b, c, d = leaves
        h = a * b + c
        return (h @ d).sin().sum() + (h / (2 + b.exp())).lerp(a, c.sigmoid()).sum()
    want = whet.autograd.grad(loss(), leaves)
    for n in range(1, 5):
        for chosen in itertools.combinations(range(4), n):
            for got in (whet.autograd.grad(loss(), [leaves[k] for k in chosen]),
                        whet.autograd.grad(loss(), [leaves[k] for k in chosen], create_graph=True)):
                assert all(whet.equal(g, want[k]) for k, g in zip(chosen, got, strict=True))


def test_zeros_in_place_of_gradients_need_leave_to_be_unused():
    x = whet.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="materialize_grads=True"):
        whet.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


def test_the_target_that_was_not_used_is_named():
    used, other = whet.ones(1, requires_grad=True), whet.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="Tensor at index 1 appears to not have been used"):
        whet.autograd.grad(used * 2, [used, other])
