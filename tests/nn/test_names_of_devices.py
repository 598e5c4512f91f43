"""Names by which programs ask for any device, for the CPU as for others, and for the types of
products."""
import copy
import pickle

import pytest
import whet
from whet import nn


def test_the_cpu_is_asked_as_other_devices_are():
    stream = whet.cpu.Stream()
    with whet.cpu.stream(stream):
        assert whet.cpu.current_stream() is stream
        event = whet.cpu.Event()
        event.record(stream)
        stream.wait_event(event)
    assert whet.cpu.current_stream() is not stream and event.query()
    assert whet.cpu.synchronize() is None and whet.cpu.current_device() == "cpu"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(whet.cpu, "nothing")  # noqa: B009


def test_the_accelerator_is_that_of_cuda():
    assert whet.accelerator.is_available() == whet.cuda.is_available()
    assert whet.accelerator.memory_allocated is whet.cuda.memory_allocated
    assert whet.accelerator.current_device_index is whet.cuda.current_device


def test_what_autocast_does_is_asked_for_each_kind_of_device():
    with whet.autocast("cpu"):
        assert not whet.is_autocast_enabled() and whet.is_autocast_enabled("cpu")
        assert whet.is_autocast_cpu_enabled()
    # what checkpoints of older programs keep
    kept = {"enabled": whet.is_autocast_enabled(), "dtype": whet.get_autocast_gpu_dtype(),
            "cache_enabled": whet.is_autocast_cache_enabled()}
    with whet.cuda.amp.autocast(**kept):
        assert (whet.ones(1, 1) @ whet.ones(1, 1)).dtype is whet.float32
    assert whet.get_autocast_cpu_dtype() is whet.bfloat16
    with pytest.warns(FutureWarning, match="amp.autocast"), whet.cpu.amp.autocast():
        assert (whet.ones(1, 1) @ whet.ones(1, 1)).dtype is whet.bfloat16


def test_modules_of_amp_are_where_they_are_looked_for():
    from whet.amp.autocast_mode import autocast
    from whet.amp.grad_scaler import GradScaler
    assert autocast is whet.autocast and GradScaler is whet.GradScaler


def test_a_compiled_module_is_itself_and_so_is_its_copy():
    model = nn.Sequential(nn.Linear(2, 2))
    keys, expected = list(model.state_dict()), model(whet.ones(1, 2))
    model.compile()
    for _ in range(4):
        assert whet.equal(model(whet.ones(1, 2)), expected)
    assert list(model.state_dict()) == keys
    other = copy.deepcopy(model)
    with whet.no_grad():
        for p in other.parameters():
            p.zero_()
    assert other(whet.ones(1, 2)).tolist() == [[0, 0]]
    assert whet.equal(pickle.loads(pickle.dumps(model))(whet.ones(1, 2)), expected)


def test_arguments_have_pytorchs_names():
    model = nn.Sequential(layer := nn.Linear(1, 1), layer)
    assert len(list(model.modules())) == 2 and len(list(model.modules(remove_duplicate=False))) == 3
    p = whet.ones(1, requires_grad=True)
    with pytest.warns(FutureWarning, match="grad_variables"):
        whet.autograd.backward(p * 2, grad_variables=whet.ones(1))
    assert p.grad.tolist() == [2]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="both passed"):
        whet.autograd.backward(p * 2, whet.ones(1), grad_variables=whet.ones(1))
    assert nn.SyncBatchNorm(2, bias=False).bias is None
    nn.PoissonNLLLoss()(log_input=whet.ones(1), target=whet.ones(1))
    with whet.random.fork_rng(devices=[], device_type="cpu"):
        pass
    whet.func.functional_call(layer, parameter_and_buffer_dicts={}, args=(whet.ones(1),))
    whet.compile(lambda x: x, name="f", recompile_limit=8)(whet.ones(1))
