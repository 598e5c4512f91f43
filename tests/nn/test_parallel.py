"""`whet.nn.parallel`: parts of batches and copies of modules."""
from typing import NamedTuple

import pytest
import whet
from whet import nn
from whet.nn.parallel import gather, parallel_apply, replicate, scatter, scatter_kwargs


class Pair(NamedTuple):
    a: object
    b: object


@pytest.mark.parametrize("given, parts", [
    (3, [3, 3]), ([], [[], []]), ((), [(), ()]), (Pair(1, [2]), [Pair(1, [2]), Pair(1, [2])]),
    ({"a": 1, "b": (2,)}, [{"a": 1, "b": (2,)}] * 2), ([1, (2, 3)], [[1, (2, 3)]] * 2)])
def test_what_is_no_tensor_goes_to_all(given, parts):
    assert scatter(given, ["cpu", "cpu"]) == parts


def test_tensors_are_cut_and_put_together_with_their_gradients():
    x = whet.arange(6.0).reshape(3, 2).requires_grad_()
    first, second = scatter(x, ["cpu", "cpu"])
    assert first.shape == (2, 2) and second.shape == (1, 2)
    y = gather([{"y": (first * 2, None)}, {"y": (second * 3, None)}], "cpu")["y"][0]
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2], [2, 2], [3, 3]]
    assert [part.shape for part in scatter(x, ["cpu", "cpu"], 1)] == [(3, 1), (3, 1)]
    assert scatter_kwargs((), {"k": 1}, ["cpu", "cpu"]) == (((), ()), ({"k": 1}, {"k": 1}))


def test_scalars_become_a_vector_with_a_warning():
    with pytest.warns(UserWarning, match="will instead unsqueeze and return a vector"):
        assert gather([whet.tensor(1.0), whet.tensor(2.0)], "cpu").tolist() == [1, 2]
    with pytest.raises(ValueError, match="same number of keys"):
        gather([{}, {"a": whet.ones(1)}], "cpu")


def test_copies_of_a_module_lead_their_gradients_back_and_have_no_parameters():
    tied = nn.Linear(2, 2)
    model = nn.Sequential(tied, nn.BatchNorm1d(2), tied)
    copies = replicate(model, ["cpu", "cpu"])
    assert copies[0][0] is copies[0][2] and copies[0][0] is not copies[1][0]
    assert not list(copies[0].parameters()) and len(list(model.parameters())) == 4
    x = whet.randn(4, 2)
    parts = parallel_apply(copies, [*scatter(x, ["cpu", "cpu"])])
    gather(parts, "cpu").square().sum().backward()
    got = tied.weight.grad
    tied.weight.grad = None
    (model(x[:2]).square().sum() + model(x[2:]).square().sum()).backward()
    assert whet.allclose(got, tied.weight.grad)
    assert not replicate(model, ["cpu"], detach=True)[0](x).requires_grad


def test_as_many_arguments_as_modules():
    with pytest.raises(AssertionError, match="The number of modules 1 is not equal"):
        parallel_apply([nn.ReLU()], [])
