"""Names that scripts for PyTorch use: what they give, by other means; and what they refuse."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.signal import windows


# ---- windows -------------------------------------------------------------------------------------
@pytest.mark.drawn(3)
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("name,given", [
    ("bartlett", {}), ("blackman", {}), ("cosine", {}), ("exponential", {"tau": 0.3}),
    ("gaussian", {"std": 0.8}), ("general_cosine", {"a": [0.4, 0.35, 0.25]}),
    ("general_hamming", {"alpha": 0.3}), ("hamming", {}), ("hann", {}), ("kaiser", {"beta": 3.0}),
    ("nuttall", {})])
def test_windows_are_those_of_scipy(name, given, size, sym):
    scipy = pytest.importorskip("scipy.signal.windows")
    parameters = [0.5] if name == "nothing" else list(given.values())
    if name == "exponential":
        parameters = [None, *parameters]
    want = getattr(scipy, name)(size, *parameters, sym=sym)
    got = getattr(windows, name)(size, **given, sym=sym, dtype=whet.float64)
    assert got.dtype is whet.float64
    if size:
        np.testing.assert_allclose(got.numpy(), want, atol=1e-9)
    assert got.shape == (size,)


@pytest.mark.parametrize("call", [
    lambda: windows.hann(-1), lambda: windows.gaussian(3, std=0),
    lambda: windows.exponential(3, tau=0), lambda: windows.exponential(3, center=1.0),
    lambda: windows.kaiser(3, beta=-1), lambda: windows.general_cosine(3, a=[]),
    lambda: windows.hann(3, dtype=whet.int64)])
def test_windows_refuse_what_pytorch_refuses(call):
    with pytest.raises(ValueError):
        call()


# ---- functions -----------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 3])
def test_pools_with_indices(n):
    x = whet.randn(2, 3, *[5] * n)
    for name, size in ((f"max_pool{n}d", 2), (f"adaptive_max_pool{n}d", 3)):
        values, places = getattr(F, f"{name}_with_indices")(x, size)
        want = getattr(F, name)(x, size, return_indices=True)
        assert values.equal(want[0]) and places.equal(want[1])
        assert values.equal(x.flatten(2).gather(2, places.flatten(2)).view_as(values))


def test_products_in_groups():
    rows, matrices = whet.randn(5, 3), whet.randn(2, 3, 4)
    ends = whet.tensor([2, 4], dtype=whet.int32)
    got = F.grouped_mm(rows, matrices, offs=ends)
    want = whet.cat([rows[:2] @ matrices[0], rows[2:4] @ matrices[1], whet.zeros(1, 4)])
    assert got.equal(want)
    columns = F.grouped_mm(rows.mT.contiguous(), rows, offs=ends)
    assert columns.allclose(whet.stack([rows[:2].mT @ rows[:2], rows[2:4].mT @ rows[2:4]]))
    assert F.grouped_mm(matrices, matrices.mT).equal(whet.bmm(matrices, matrices.mT))
    assert whet.autograd.gradcheck(
        lambda a, b: F.grouped_mm(a, b, offs=ends),
        (rows.double().requires_grad_(), matrices.double().requires_grad_()))


def test_traced_products_in_groups_follow_the_offsets():
    f = whet.jit.trace(lambda a, b, o: F.grouped_mm(a, b, offs=o))
    a, b = whet.randn(5, 3), whet.randn(2, 3, 4)
    for ends in ([2, 4], [2, 4], [0, 5], [2, 4], [1, 3]):
        o = whet.tensor(ends, dtype=whet.int32)
        assert f(a, b, o).equal(F.grouped_mm(a, b, offs=o))


@pytest.mark.parametrize("offs", [None, [1, 9], [3, 1], [1, 2, 3]])
def test_products_in_groups_refuse(offs):
    with pytest.raises(RuntimeError):
        F.grouped_mm(whet.ones(5, 3), whet.ones(2, 3, 4),
                     offs=offs if offs is None else whet.tensor(offs, dtype=whet.int32))


@pytest.mark.parametrize("separate", [False, True])
def test_attention_as_a_function_is_the_module(separate):
    wide = {"kdim": 3, "vdim": 5} if separate else {}
    m = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, **wide)
    q, k, v = whet.randn(2, 3, 4), whet.randn(6, 3, 3 if separate else 4), whet.randn(
        6, 3, 5 if separate else 4)
    got = F.multi_head_attention_forward(
        q, k, v, 4, 2, m.in_proj_weight, m.in_proj_bias, m.bias_k, m.bias_v, True, 0.0,
        m.out_proj.weight, m.out_proj.bias, use_separate_proj_weight=separate,
        q_proj_weight=m.q_proj_weight, k_proj_weight=m.k_proj_weight, v_proj_weight=m.v_proj_weight)
    for a, b in zip(got, m(q, k, v)):
        assert a.equal(b)
    with pytest.raises(AssertionError):
        F.multi_head_attention_forward(q, k, v, 4, 3, m.in_proj_weight, None, None, None, False,
                                       0.0, m.out_proj.weight, None)


def test_splits_and_slices():
    x = whet.arange(7.)
    assert [p.tolist() for p in x.unsafe_split(3)] == [p.tolist() for p in x.split(3)]
    assert [p.tolist() for p in x.unsafe_split_with_sizes([3, 4])] == [[0, 1, 2], [3, 4, 5, 6]]
    assert x[1:3].slice_inverse(x, 0, 1, 3).equal(x)


# ---- modules and optimizers ----------------------------------------------------------------------
def test_batch_norms_become_those_of_several_processes():
    m = nn.Sequential(nn.BatchNorm2d(3), nn.Sequential(nn.BatchNorm1d(4), nn.ReLU())).eval()
    weight = m[0].weight
    made = nn.SyncBatchNorm.convert_sync_batchnorm(m)
    assert type(made[0]) is type(made[1][0]) is nn.SyncBatchNorm and made[0].weight is weight
    x = whet.randn(2, 3, 4, 4)
    assert not made[0].training and made[0](x).equal(nn.BatchNorm2d(3).eval()(x))
    with pytest.raises(ValueError):
        made[0](whet.ones(3))


def test_modules_without_first_values_draw_no_numbers():
    whet.manual_seed(3)
    want = whet.rand(2)
    whet.manual_seed(3)
    m = nn.utils.skip_init(nn.Linear, 4, 2, bias=False)
    assert m.weight.shape == (2, 4) and m.bias is None and whet.rand(2).equal(want)
    with pytest.raises(RuntimeError):
        nn.utils.skip_init(nn.ReLU)
    with pytest.raises(RuntimeError):
        nn.utils.skip_init(dict)


def test_batch_norms_without_statistics():
    m = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2))
    assert whet.func.replace_all_batch_norm_modules_(m) is m
    assert m[0].running_mean is None and not list(m.buffers())
    params, buffers = dict(m.named_parameters()), dict(m.named_buffers())
    y = whet.vmap(lambda x: whet.func.functional_call(m, (params, buffers), (x, )))(whet.randn(
        5, 4, 3))
    assert y.shape == (5, 4, 2)


@pytest.mark.parametrize("shape", [(4, 6), (6, 4)])
def test_muon_steps_along_an_orthogonal_matrix(shape):
    w = nn.Parameter(whet.zeros(shape))
    w.grad = whet.randn(shape)
    whet.optim.Muon([w], lr=1.0, weight_decay=0.0, adjust_lr_fn="original").step()
    sizes = whet.linalg.svdvals(w.detach()) / math.sqrt(max(1, shape[0] / shape[1]))
    assert 0.6 < float(sizes.min()) and float(sizes.max()) < 1.3
    u, _, v = whet.linalg.svd(w.grad, full_matrices=False)
    assert float((-w.detach() * (u @ v)).sum()) > 0.8 * min(shape)


def test_muon_refuses():
    with pytest.raises(ValueError):
        whet.optim.Muon([nn.Parameter(whet.ones(3))])
    with pytest.raises(ValueError):
        whet.optim.Muon([nn.Parameter(whet.ones(3, 3))], adjust_lr_fn="other")
