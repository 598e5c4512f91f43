"""Names that programs of earlier years ask for, and modules by PyTorch's names for them."""
import contextlib

import pytest
import whet
from whet import nn
from whet.utils import checkpoint


def test_the_profiler_by_its_older_door():
    with whet.autograd.profiler.profile(record_shapes=True) as p:
        with whet.autograd.profiler.record_function("step"):
            whet.ones(2, 3) + 1
    assert {"add", "step"} <= {e.name for e in p.events()}
    with whet.autograd.profiler.profile(enabled=False) as p:
        whet.ones(2) + 1
    assert not p.events()


def test_modes_by_their_module():
    with whet.autograd.grad_mode.no_grad():
        assert not whet.is_grad_enabled()
    assert not whet.is_anomaly_enabled()
    with whet.autograd.detect_anomaly(check_nan=False):
        assert whet.is_anomaly_enabled() and not whet.is_anomaly_check_nan_enabled()


def test_older_names_of_types():
    assert whet.typename(whet.ones(1)) == "whet.FloatTensor"
    assert whet.typename(nn.Linear(1, 1)).endswith("Linear") and whet.typename(int) == "int"
    whet.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert whet.ones(1).dtype is whet.float64
    finally:
        whet.set_default_tensor_type(whet.FloatTensor)
    with pytest.raises(TypeError, match="floating-point"):
        whet.set_default_tensor_type(whet.LongTensor)
    with pytest.raises(TypeError, match="no type of tensors"):
        whet.set_default_tensor_type("torch.NoSuchTensor")


def test_the_older_comparison_ignores_types():
    whet.testing.assert_allclose(whet.ones(2), whet.ones(2, dtype=whet.float64))
    whet.testing.assert_allclose(whet.tensor([float("nan")]), [float("nan")])
    with pytest.raises(AssertionError):
        whet.testing.assert_allclose([1.0], [1.1])


def test_clipping_by_its_older_name_warns():
    p = nn.Parameter(whet.ones(4))
    p.grad = whet.full((4,), 2.0)
    with pytest.warns(FutureWarning, match="deprecated"):
        assert nn.utils.clip_grad_norm([p], 1.0) == 4
    whet.testing.assert_close(p.grad.norm(), whet.tensor(1.0))


@pytest.mark.parametrize("layer, convert, laid", [
    (nn.Conv2d(4, 2, 3), nn.utils.convert_conv2d_weight_memory_format, whet.channels_last),
    (nn.ConvTranspose3d(4, 2, 3), nn.utils.convert_conv3d_weight_memory_format,
     whet.channels_last_3d)])
def test_weights_of_convolutions_are_laid_otherwise(layer, convert, laid):
    before, whole = layer.weight.detach().clone(), nn.Sequential(layer, nn.ReLU())
    assert convert(whole, laid) is whole
    assert layer.weight.is_contiguous(memory_format=laid) and (layer.weight == before).all()


def test_one_generator_has_the_states_of_all_devices():
    state = whet.cuda.get_rng_state()
    first = whet.rand(3)
    whet.cuda.set_rng_state(state)
    assert (whet.rand(3) == first).all()
    assert len(whet.cuda.get_rng_state_all()) == whet.cuda.device_count()
    assert whet.cuda.initial_seed() == whet.initial_seed()


def test_checkpoints_run_in_contexts():
    ran = []

    @contextlib.contextmanager
    def noted(name):
        ran.append(name)
        yield

    x = whet.ones(3, requires_grad=True)
    y = checkpoint.checkpoint(lambda x: x.exp().sin(), x,
                              context_fn=lambda: (noted("first"), noted("again")))
    assert ran == ["first"]
    y.sum().backward()
    assert ran == ["first", "again"]
    whet.testing.assert_close(x.grad, x.detach().exp().cos() * x.detach().exp())


def test_checkpoints_that_do_another_thing_raise():
    x, calls = whet.ones(3, requires_grad=True), []

    def changing(x):
        calls.append(1)
        return x.exp().sin() if len(calls) == 1 else x * 1
    y = checkpoint.checkpoint(changing, x)
    with pytest.raises(checkpoint.CheckpointError, match="must do the same both times"):
        y.sum().backward()
