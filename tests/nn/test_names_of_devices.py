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


def test_names_for_nvidias_profiler_are_shown_by_ours():
    nvtx = whet.cuda.nvtx

    @nvtx.range("step {}", 1)
    def step():
        return whet.ones(2)
    with whet.profiler.profile() as p:
        step()
        assert (nvtx.range_push("a"), nvtx.range_push("b")) == (0, 1)
        assert (nvtx.range_pop(), nvtx.range_pop(), nvtx.range_pop()) == (1, 0, -1)
        nvtx.range_end(nvtx.range_start("c"))
        nvtx.mark("d")
    assert {e.name for e in p.events()} >= {"step 1", "a", "b", "c", "d"}


def test_a_tensor_is_what_older_programs_call_a_variable():
    from whet.autograd.anomaly_mode import detect_anomaly
    from whet.autograd.variable import Variable
    x = Variable(whet.ones(2), requires_grad=True)
    assert isinstance(x, Variable) and isinstance(whet.ones(1), whet.autograd.Variable)
    assert not isinstance(3, Variable) and type(x) is whet.Tensor and x.requires_grad
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        Variable(3)
    with detect_anomaly(), whet.autograd.set_multithreading_enabled(False):
        (x * 2).sum().backward()
    assert not (x.is_mkldnn or x.is_mtia or x.is_vulkan)


def test_memory_of_devices_is_told_in_words():
    from whet.cuda.memory import memory_summary
    from whet.cuda.random import manual_seed
    assert memory_summary is whet.cuda.memory_summary and manual_seed is whet.cuda.manual_seed
    assert not whet.cuda.is_current_stream_capturing()
    assert not isinstance(whet.ones(2), whet.cuda.CUDAGraph)
    for refused in (whet.cuda.CUDAGraph, lambda: whet.cuda.graph(None)):
        with pytest.raises(RuntimeError, match="Trace the function"):
            refused()


def test_libraries_that_are_not_used_are_asked_for():
    from whet.backends import cuda, mha, nnpack, opt_einsum, quantized
    assert whet.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
    assert not (nnpack.is_available() or opt_einsum.is_available() or opt_einsum.enabled)
    assert quantized.engine in quantized.supported_engines
    assert not cuda.is_flash_attention_available() and not cuda.can_use_flash_attention(None)
    assert cuda.preferred_linalg_library("magma") == cuda.preferred_linalg_library() == "magma"
    mha.set_fastpath_enabled(False)
    assert not mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(True)
