"""Names that programs of earlier years ask for, and modules by PyTorch's names for them."""
import contextlib
import warnings

import numpy as np
import pytest
import whet
from whet import nn
from whet.ops import legacy_argument_orders
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


def test_a_checkpoint_that_saves_tensors_of_other_shapes_is_an_error():
    calls = []

    def rows(x):
        calls.append(x)
        return x[:len(calls)].exp().sum()
    x = whet.ones(3, requires_grad=True)
    with pytest.raises(checkpoint.CheckpointError, match=r"saved whet.float32 \[1\]"):
        checkpoint.checkpoint(rows, x).backward()


# ---- old orders of arguments ---------------------------------------------------------------------
@pytest.mark.parametrize("name, factors, named", [
    ("add", (3,), {"alpha": 3}), ("sub", (3,), {"alpha": 3}), ("addcmul", (3,), {"value": 3}),
    ("addcdiv", (0.5,), {"value": 0.5}), ("addmm", (2, 3), {"beta": 2, "alpha": 3}),
    ("addmm", (2,), {"beta": 2}), ("baddbmm", (2, 3), {"beta": 2, "alpha": 3}),
    ("addbmm", (2, 3), {"beta": 2, "alpha": 3}), ("addmv", (2, 3), {"beta": 2, "alpha": 3}),
    ("addr", (2, 3), {"beta": 2, "alpha": 3}),
])
@pytest.mark.filterwarnings("ignore:.*numbers before the tensors")
def test_factors_before_the_tensors_that_they_multiply(name, factors, named):
    shapes = {"addmv": [(3,), (3, 3), (3,)], "addr": [(3, 3), (3,), (3,)],
              "baddbmm": [(2, 3, 3)] * 3, "addbmm": [(3, 3), (2, 3, 3), (2, 3, 3)]}
    few = 2 if name in ("add", "sub") else 3
    first, *others = [whet.arange(1.0, 1 + whet.Size(s).numel()).reshape(s)
                      for s in shapes.get(name, [(3, 3)] * few)]
    want = getattr(whet, name)(first, *others, **named)
    assert getattr(first, name)(*factors, *others).equal(want)
    assert getattr(first.clone(), f"{name}_")(*factors, *others).equal(want)
    front = (factors[0], first, *factors[1:]) if "beta" in named else (first, *factors)
    assert getattr(whet, name)(*front, *others).equal(want)


def test_traced_functions_that_know_old_orders():
    def f(x):
        y = whet.addcmul(x, x, x, value=2) + whet.add(x, x, alpha=2) + whet.addmm(x, x, x)
        return y.addcdiv(x, x) - whet.addr(x, x[0], x[1])
    traced, x = whet.jit.trace(f, strict=True), whet.rand(3, 3) + 1
    for _ in range(4):
        assert traced(x).equal(f(x))
    assert traced.explain(data=True)["calls"]["replayed"] >= 2


def test_other_orders_are_errors():
    x = whet.ones(3)
    for args in ((2, 3, x), (x, 2, 3), (x, 2), (x, x, x)):
        with pytest.raises(TypeError):
            x.add_(*args)
    with pytest.warns(UserWarning, match="add_: numbers before"):
        legacy_argument_orders._told.clear()
        x.add_(2, x)


def test_a_traced_step_in_the_old_order():
    p, grad = whet.ones(3), whet.ones(3)
    step = whet.jit.trace(lambda: p.add_(-0.5, grad).clone())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [step()[0].item() for _ in range(5)] == [0.5, 0.0, -0.5, -1.0, -1.5]


def test_arithmetic_of_two_numbers():
    assert whet.div(7, 2).item() == 3.5 and whet.add(1, 2).dtype is whet.int64
    assert whet.div(7, -2, rounding_mode="trunc").item() == -3
    assert whet.floor_divide(7, -2).item() == -4 and whet.sub(1, 2, alpha=3).item() == -5
    assert whet.true_divide(1, 2).dtype is whet.float32
    with pytest.raises(TypeError):
        whet.remainder(7, 2)


def test_repeats_and_arrays():
    a = whet.arange(24).reshape(2, 3, 4).permute(2, 0, 1)
    for repeats in ((1, 1, 1), (1, 1, 1, 1), (2, 1, 1), (1, 3, 2)):
        made = a.repeat(*repeats)
        assert made.is_contiguous() and made.equal(whet.from_numpy(np.tile(a.numpy(), repeats)))
    p = nn.Parameter(whet.ones(2))
    with pytest.raises(RuntimeError, match="requires grad"):
        p.numpy()
    with whet.no_grad():
        assert p.numpy().tolist() == [1, 1]
    assert whet.randint_like(p, high=2).shape == (2,)


# ---- what programs switch on for a while ---------------------------------------------------------
def test_a_device_for_new_tensors():
    with whet.device("cpu") as cpu:
        assert whet.zeros(2).device == cpu
        with whet.device("cpu"):
            pass
        assert whet.get_default_device() == cpu


def test_flags_of_a_library():
    cudnn = whet.backends.cudnn
    before = cudnn.enabled, cudnn.benchmark, cudnn.allow_tf32
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.allow_tf32) == (False, True, before[2])
        with cudnn.flags(allow_tf32=True):
            assert cudnn.allow_tf32 and not cudnn.benchmark
    assert (cudnn.enabled, cudnn.benchmark, cudnn.allow_tf32) == before
