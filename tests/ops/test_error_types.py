"""What PyTorch refuses is refused here, with an error of the same type."""
import pytest
import whet
import whet.distributions as D
import whet.nn.functional as F
from whet import nn
from whet.utils import data

X, SQUARE, LEAF = whet.ones(2, 3), whet.ones(2, 2), whet.ones(2, requires_grad=True)
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
    "gradients for no inputs": (RuntimeError, lambda: whet.autograd.grad(LEAF.sum(), [])),
    "a Jacobian by a strategy that there is not": (
        AssertionError,
        lambda: whet.autograd.functional.jacobian(whet.sin, X, vectorize=True, strategy="up")),
    "vjp of a function that gives a number": (
        RuntimeError, lambda: whet.func.vjp(lambda x: (x, 3), X)),
    "vjp by a number": (ValueError, lambda: whet.func.vjp(lambda x, n: x * n, X, 3)),
    "jvp of a function that gives nothing beside": (
        RuntimeError, lambda: whet.func.jvp(lambda x: (x, None), (X,), (X,))),
    "jvp by a number": (
        RuntimeError, lambda: whet.func.jvp(lambda x, n: x * n, (X, 3), (X, 3))),
    "a group of parameters without parameters": (
        KeyError, lambda: whet.optim.SGD([{"param": [LEAF]}])),
    "a random order of nothing": (ValueError, lambda: data.RandomSampler([])),
    "a context of processes that is none": (
        TypeError, lambda: data.DataLoader([1], num_workers=1, multiprocessing_context=3)),
    "another batch size of a loader": (
        ValueError, lambda: setattr(data.DataLoader([1]), "batch_size", 2)),
    "a negative output padding": (
        RuntimeError,
        lambda: F.conv_transpose1d(whet.ones(1, 2, 5), whet.ones(2, 3, 3), stride=3,
                                   output_padding=-1)),
    "a padding layer with one amount": (
        RuntimeError, lambda: nn.ZeroPad2d((2,))(whet.ones(1, 1, 3, 3))),
    "a mirror of two amounts in four dimensions": (
        NotImplementedError, lambda: nn.ReflectionPad2d((1, 2))(whet.ones(1, 1, 3, 3))),
    "a length of slices along no dimension": (
        IndexError, lambda: nn.utils.weight_norm(nn.Linear(2, 2), dim=3)),
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
