"""What layers and their functions refuse, and what they take beside it, as in PyTorch."""
import warnings

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn


@pytest.mark.parametrize("make, error, text", [
    (lambda: nn.TripletMarginLoss(margin=-1), ValueError, "margin"),
    (lambda: nn.TripletMarginWithDistanceLoss(margin=0), ValueError, "margin"),
    (lambda: nn.MultiMarginLoss(p=3), ValueError, "p == 1"),
    (lambda: nn.MultiMarginLoss(weight=whet.ones(1, 2)), ValueError, "1D"),
    (lambda: nn.Hardtanh(2, 1), AssertionError, "max_val"),
    (lambda: F.pad(whet.ones(1, 4), (1, 1), "reflect", value=3), RuntimeError, "value"),
    (lambda: F.bilinear(whet.ones(2, 1, 4), whet.ones(2, 1, 4), whet.ones(2, 1, 4)),
     RuntimeError, "input1"),
    (lambda: F.bilinear(whet.ones(2, 4), whet.ones(1, 4), whet.ones(3, 4, 4)),
     RuntimeError, "batch")])
def test_wrong_arguments_of_layers(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize("old, wanted", [
    ((0,), "sum"), ((1,), "mean"), ((None, 0), "none"), ((False, True), "sum")])
def test_older_arguments_of_losses_go_by_their_truth(old, wanted):
    x, y = whet.tensor([1.0, 2.0]), whet.tensor([3.0, 5.0])
    with pytest.warns(UserWarning, match=wanted):
        made = F.mse_loss(x, y, *old)
    assert made.equal(F.mse_loss(x, y, reduction=wanted))
    with pytest.warns(UserWarning, match=wanted):
        assert nn.MSELoss(*old).reduction == wanted


def test_layers_show_what_they_hold_as_in_pytorch():
    shown = "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))"
    assert repr(nn.MaxUnpool2d(2)) == shown
    assert "[whet.FloatTensor of size 2]" in repr(nn.ParameterDict({"a": whet.ones(2)}))
    assert "[whet.float32 of size 2]" in repr(nn.ParameterList([whet.ones(2)]))


@pytest.mark.parametrize("layer, shape, kept, text", [
    (nn.Dropout1d, (40, 4), (40, 1), None), (nn.Dropout1d, (5, 40, 4), (5, 40, 1), None),
    (nn.Dropout2d, (8, 9), (8, 9), "2-D"), (nn.Dropout2d, (8, 9, 4), (8, 9, 1), "3D"),
    (nn.Dropout2d, (8, 9, 4, 2), (8, 9, 1, 1), None),
    (nn.Dropout2d, (8, 9, 2, 2, 2), (8, 9, 1, 1, 1), "5-D"),
    (nn.Dropout3d, (40, 2, 2, 2), (40, 1, 1, 1), None),
    (nn.Dropout3d, (8, 9, 2, 2, 2), (8, 9, 1, 1, 1), None)])
def test_dropout_of_channels_takes_whole_ones(layer, shape, kept, text):
    whet.manual_seed(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = layer()(whet.ones(shape))
    first = made[tuple(slice(0, n) for n in kept)]
    assert made.equal(first.expand(shape)) and sorted(set(first.flatten().tolist())) == [0, 2]
    assert 1 < len({tuple(row) for row in first.reshape(kept[0], -1).tolist()})
    assert [text in str(w.message) for w in said] == ([True] if text else [])
    with pytest.raises(RuntimeError, match="2 dimensions"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        F.dropout2d(whet.ones(3))


def test_modules_are_called_with_tensors_that_they_do_not_have():
    m = nn.Linear(2, 1)
    weight = whet.ones(1, 2)
    bias = whet.zeros(1)
    made = whet.func.functional_call(m, {"weight": weight, "bias": bias, "other": bias},
                                     (whet.ones(2),))
    assert made.item() == 2 and not hasattr(m, "other")
    with pytest.raises(RuntimeError, match="other"):
        whet.func.functional_call(m, {"weight": weight, "bias": bias, "other": bias},
                                  (whet.ones(2),), strict=True)


def test_shapes_of_normals_that_do_not_fit_are_refused_as_in_pytorch():
    with pytest.raises(RuntimeError):
        whet.distributions.MultivariateNormal(whet.zeros(7, 3), whet.eye(3).expand(2, 3, 3))


def test_layers_that_pad_take_the_amounts_of_any_number_of_dimensions():
    x = whet.ones(1, 1, 3, 3)
    assert nn.ZeroPad2d([2, 2])(x).equal(F.pad(x, (2, 2)))
    assert nn.ConstantPad1d((1, 0, 0, 1, 1, 0), 2.0)(x).shape == (1, 2, 4, 4)
    assert nn.ZeroPad2d(np.int64(1)).padding == (1, 1, 1, 1)


def test_a_linear_layer_without_inputs_gives_zeros():
    assert nn.Linear(0, 3)(whet.ones(2, 0)).tolist() == [[0, 0, 0]] * 2


def test_attention_gives_rows_that_lie_in_the_order_of_the_query_s():
    attention, x = nn.MultiheadAttention(4, 2), whet.randn(3, 2, 4)
    for need_weights in (True, False):
        y, _ = attention(x, x, x, need_weights=need_weights)
        assert y.is_contiguous() and y.view(6, 4).shape == (6, 4)


@pytest.mark.parametrize(("batch_first", "shape", "at"), [
    (False, (3, 2), 0), (False, (2, 4), 1), (True, (2, 3), 0), (True, (3, 1), 1)])
def test_a_padding_mask_of_attention_has_an_entry_for_each_key(batch_first, shape, at):
    attention = nn.MultiheadAttention(4, 2, batch_first=batch_first)
    x, mask = whet.ones(3, 2, 4), whet.zeros(shape, dtype=whet.bool)
    with pytest.raises(AssertionError, match=rf"shape\[{at}\] to be .*, but got {shape[at]}"):
        attention(x, x, x, key_padding_mask=mask)
    single = x[:, 0]
    with pytest.raises(AssertionError, match="to be 3, but got 1"):
        attention(single, single, single, key_padding_mask=mask.new_zeros(1))
    with pytest.raises(AssertionError, match="unbatched .* 1-D but found 2-D"):
        attention(single, single, single, key_padding_mask=mask)


def test_the_older_norm_over_channels_is_one_of_images():
    with pytest.raises(ValueError, match="4D"):
        nn.CrossMapLRN2d(2)(whet.ones(3, 2, 2))


@pytest.mark.parametrize("pool", [
    lambda x: F.avg_pool2d(x, 2), lambda x: F.max_pool2d(x, 2),
    lambda x: F.fractional_max_pool2d(x, 2, output_size=2)])
def test_a_pool_takes_no_images_but_not_images_without_channels(pool):
    assert pool(whet.ones(0, 3, 6, 6)).shape[:2] == (0, 3)
    with pytest.raises(RuntimeError, match="optional 0 dim batch size"):
        pool(whet.ones(2, 0, 6, 6))


def test_bags_refuse_padding_beyond_the_table_and_sparse_gradients_of_the_largest():
    table, bag = whet.ones(3, 2, requires_grad=True), whet.tensor([[0, 2]])
    for outside in (3, -4):
        with pytest.raises(RuntimeError, match="-3 through 2, but got"):
            F.embedding_bag(bag, table, padding_idx=outside)
    assert F.embedding_bag(bag, table, padding_idx=-1, mode="sum").tolist() == [[1, 1]]
    with pytest.raises(ValueError, match="max mode does not support sparse"):
        F.embedding_bag(bag, table, mode="max", sparse=True)
    with pytest.raises(ValueError, match="sum, mean or max"):
        F.embedding_bag(bag, table, mode="least")
