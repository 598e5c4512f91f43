"""Python's errors of missing and unknown arguments name the function that was called."""
import pytest
import whet
import whet.nn.functional as F

X = whet.ones(2)


@pytest.mark.parametrize("name", [
    "index_add", "index_copy", "index_fill", "index_reduce", "scatter_add", "scatter_reduce",
    "softmax", "log_softmax", "sort", "scalar_tensor"])
def test_functions_are_named_as_they_were_called(name):
    for owner in (whet, whet.Tensor):
        if hasattr(owner, name):
            with pytest.raises(TypeError, match=rf"^{name}\(\)"):
                getattr(owner, name)(X, no_such=1)


@pytest.mark.parametrize("name", [
    "cumsum_", "cumprod_", "tril_", "flip", "permute", "reshape", "tile", "type", "sum_to_size"])
def test_methods_are_named_as_they_were_called(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        getattr(X, name)(no_such=1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "dropout1d", "dropout2d", "dropout3d"])
def test_functions_of_nn_are_named_as_they_were_called(name):
    with pytest.raises(TypeError, match=rf"^{name}\(\)"):
        getattr(F, name)(X, no_such=1)


@pytest.mark.parametrize("name", ["MaxPool1d", "AvgPool2d", "LPPool2d", "AdaptiveAvgPool3d"])
def test_layers_are_named_as_they_were_called(name):
    with pytest.raises(TypeError, match=rf"^{name}.__init__\(\)"):
        getattr(whet.nn, name)(2, no_such=1)
