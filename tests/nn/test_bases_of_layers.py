"""What programs ask of layers by `isinstance`, and pruning in turns."""
import pytest
import whet
from whet import nn
from whet.nn.utils import prune, rnn

BASES = {
    nn.modules.padding._ConstantPadNd: ("ConstantPad1d ZeroPad3d", "ReflectionPad1d"),
    nn.modules.padding._ReflectionPadNd: ("ReflectionPad1d ReflectionPad3d", "ZeroPad2d"),
    nn.modules.padding._ReplicationPadNd: ("ReplicationPad2d", "CircularPad2d"),
    nn.modules.padding._CircularPadNd: ("CircularPad1d", "ConstantPad1d"),
    nn.modules.conv._ConvNd: ("Conv1d ConvTranspose2d LazyConv2d", "Linear"),
    nn.modules.batchnorm._BatchNorm: ("BatchNorm2d SyncBatchNorm", "InstanceNorm1d"),
    nn.modules.batchnorm._NormBase: ("BatchNorm1d InstanceNorm3d", "LayerNorm"),
    nn.modules.pooling._MaxPoolNd: ("MaxPool2d", "AvgPool2d"),
    nn.modules.pooling._AdaptiveAvgPoolNd: ("AdaptiveAvgPool3d", "AdaptiveMaxPool3d"),
    nn.modules.dropout._DropoutNd: ("Dropout AlphaDropout", "Identity"),
    nn.modules.loss._Loss: ("L1Loss NLLLoss", "Linear"),
    nn.modules.loss._WeightedLoss: ("CrossEntropyLoss LinearCrossEntropyLoss", "MSELoss"),
    nn.modules.rnn.RNNBase: ("LSTM GRU RNN", "LSTMCell"),
    nn.modules.rnn.RNNCellBase: ("LSTMCell GRUCell RNNCell", "LSTM"),
    nn.modules.channelshuffle.ChannelShuffle: ("ChannelShuffle", "PixelShuffle")}


@pytest.mark.parametrize("base", BASES)
def test_bases(base):
    yes, no = BASES[base]
    assert all(issubclass(getattr(nn, name), base) for name in yes.split())
    assert not issubclass(getattr(nn, no), base)


def pruned(*steps):
    layer = nn.Linear(3, 4)
    with whet.no_grad():
        layer.weight.copy_(whet.arange(12.0).view(4, 3))
    for step in steps:
        step(layer)
    return layer, list(layer._forward_pre_hooks.values())


def lowest(layer):
    prune.l1_unstructured(layer, "weight", 0.25)


def rows(layer):
    prune.ln_structured(layer, "weight", 0.5, 2, 0)


def test_a_parameter_that_is_pruned_again_has_a_container():
    layer, (hook,) = pruned(lowest)
    assert type(hook) is prune.L1Unstructured and hook._tensor_name == "weight"
    layer, (hook,) = pruned(lowest, rows)
    assert type(hook) is prune.PruningContainer and hook._tensor_name == "weight"
    assert [type(m) for m in hook] == [prune.L1Unstructured, prune.LnStructured] and len(hook) == 2
    assert layer.weight_mask.sum(1).tolist() == [0, 0, 0, 3]
    assert whet.equal(hook.apply_mask(layer), layer.weight)
    prune.remove(layer, "weight")
    assert not layer._forward_pre_hooks and not prune.is_pruned(layer)
    assert layer.weight.detach()[:3].abs().sum() == 0 and isinstance(layer.weight, nn.Parameter)


def test_a_container_holds_methods_for_one_parameter():
    first, second = prune.L1Unstructured(2), prune.LnStructured(1, 2, -1)
    first._tensor_name = second._tensor_name = "weight"
    container = prune.PruningContainer(first, second)
    t = whet.arange(12.0).view(4, 3)
    assert container.compute_mask(t, whet.ones(4, 3)).sum(0).tolist() == [0, 4, 4]
    other = prune.Identity()
    other._tensor_name = "bias"
    with pytest.raises(ValueError, match="bias"):
        container.add_pruning_method(other)
    with pytest.raises(TypeError):
        container.add_pruning_method(5)


def test_parameters_pruned_together_have_masks_of_their_own():
    a, b = nn.Linear(3, 2), nn.Linear(2, 3)
    for _ in range(2):
        prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
    hooks = [h for layer in (a, b) for h in layer._forward_pre_hooks.values()]
    assert all(type(m) is prune.CustomFromMask for h in hooks for m in h) and len(hooks) == 2
    assert sum((layer.weight_mask == 0).sum().item() for layer in (a, b)) == 6


def test_packed_sequences_are_converted():
    packed = rnn.pack_sequence([whet.ones(3), whet.ones(2)], enforce_sorted=False)
    for name, dtype in dict(half="float16", bfloat16="bfloat16", double="float64", int="int32",
                            long="int64", short="int16", char="int8", byte="uint8").items():
        assert getattr(packed, name)().data.dtype is getattr(whet, dtype)
    assert packed.float() is packed.to("cpu") is packed and packed.is_pinned() is False
