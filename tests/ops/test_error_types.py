"""What PyTorch refuses is refused here, with an error of the same type."""
import pytest
import whet
import whet.distributions as D
import whet.nn.functional as F

X, SQUARE = whet.ones(2, 3), whet.ones(2, 2)
REFUSED = {
    "einsum with a subscript that is no letter": (RuntimeError, lambda: whet.einsum("i1", X)),
    "einsum with four dots": (RuntimeError, lambda: whet.einsum("....ij", X)),
    "einsum of two types": (
        RuntimeError, lambda: whet.einsum("ij,jk->ik", X, whet.ones(3, 2, dtype=whet.float64))),
    "index_put of values that do not fit": (
        RuntimeError, lambda: whet.index_put(X, (whet.tensor([0, 1]),), whet.ones(2))),
    "vector_norm of nothing": (
        RuntimeError, lambda: whet.linalg.vector_norm(whet.ones(0, 2), float("inf"), dim=0)),
    "multi_margin_loss with too few weights": (
        RuntimeError,
        lambda: F.multi_margin_loss(X, whet.tensor([0, 1]), weight=whet.ones(2))),
    "group_norm of one value in each group": (
        ValueError, lambda: F.group_norm(whet.ones(1, 6), 6)),
    "attention with a mask of integers": (
        RuntimeError, lambda: F.scaled_dot_product_attention(
            SQUARE, SQUARE, SQUARE, attn_mask=whet.ones(2, 2, dtype=whet.int64))),
    "pad_sequence on no side": (
        RuntimeError, lambda: whet.nn.utils.rnn.pad_sequence([X], padding_side="up")),
    "a distribution transformed by a number": (
        ValueError, lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), 3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_error_of_pytorch_s_type(name):
    kind, call = REFUSED[name]
    with pytest.raises(Exception) as e:
        call()
    assert e.type is kind


def test_condition_of_singular_matrices_is_infinite():
    matrices = whet.stack([whet.zeros(2, 2), whet.eye(2)])
    assert whet.linalg.cond(matrices, 1).tolist() == [float("inf"), 1]


def test_einsum_of_two_types_without_a_product_promotes():
    y = whet.einsum("i,i->i", whet.ones(3), whet.ones(3, dtype=whet.float64))
    assert y.dtype is whet.float64
