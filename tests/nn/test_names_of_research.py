"""Names that libraries of graphs, flows, Gaussian processes and optimizers use, some of them
PyTorch's inner ones."""
from collections import defaultdict

import numpy as np
import pytest
import whet
from whet import nn


# ---- numbers of NumPy's --------------------------------------------------------------------------
@pytest.mark.parametrize("number,want", [
    (np.float64(3), whet.float32), (np.float16(3), whet.float32), (np.int32(3), whet.int64),
    (np.bool_(True), whet.bool), (np.complex64(3), whet.complex64)])
def test_a_number_of_numpys_fills_as_one_of_pythons(number, want):
    assert whet.full((2,), number).dtype is want
    assert whet.where(whet.tensor([True]), number, number).dtype is want
    assert whet.tensor(number).dtype.np == number.dtype            # it is data there
    assert whet.tensor([number]).dtype.np == number.dtype


def test_a_number_of_numpys_has_a_kind_beside_tensors():
    assert whet.result_type(whet.tensor(1), np.float64(3)) is whet.float32
    assert whet.result_type(whet.tensor(1), np.int8(3)) is whet.int64


# ---- powers --------------------------------------------------------------------------------------
@pytest.mark.parametrize("exponent", [-1, -0.5, 0.5])
@pytest.mark.parametrize("name", ["pow", "pow_"])
def test_what_a_power_gives_may_be_written_to(name, exponent):
    x = whet.tensor([1.0, 4.0, 0.25], requires_grad=True)
    y = getattr(x * 1, name)(exponent)
    y.masked_fill_(y > 100, 0.0)
    y.sum().backward()
    assert np.allclose(x.grad.numpy(), exponent * x.detach().numpy() ** (exponent - 1))


@pytest.mark.parametrize("dtype", [whet.float16, whet.bfloat16, whet.float32, whet.float64])
def test_powers_are_roots_to_the_bit(dtype):
    x = whet.linspace(0.1, 50, 300, dtype=whet.float64).to(dtype)
    assert x.pow(0.5).equal(x.sqrt()) and x.pow(-0.5).equal(x.rsqrt())
    assert (x ** -1).equal(x.reciprocal())


# ---- sparse matrices and segments ----------------------------------------------------------------
def test_rows_and_where_they_begin():
    rows, columns = whet.tensor([0, 0, 2, 4, 4, 4]), whet.tensor([5, 3, 2, 1, 0, 2])
    begins = whet._convert_indices_from_coo_to_csr(rows, 6)
    assert begins.tolist() == [0, 2, 2, 3, 3, 6, 6]
    both = whet._convert_indices_from_csr_to_coo(begins, columns)
    assert both.equal(whet.stack([rows, columns]))
    assert whet._convert_indices_from_csr_to_coo(
        begins, columns, transpose=True).equal(both.flip(0))
    assert whet._convert_indices_from_coo_to_csr(rows[:0], 2, out_int32=True).tolist() == [0] * 3
    assert whet._segment_reduce(
        whet.ones(4), "sum", offsets=whet.tensor([0, 1, 4])).tolist() == [1, 3]


def test_products_by_the_names_of_sparse_ones():
    s, d = whet.tensor([[0.0, 2.0], [0.0, 0.0]]), whet.ones(2, 3)
    for product in (whet.spmm, whet.dsmm):
        assert product(s.to_sparse(), d).equal(s @ d) and product(s, d).equal(s @ d)
    assert whet.hsmm(s.to_sparse(), d).to_dense().equal(s @ d)


def test_a_sparse_tensor_makes_others():
    s = whet.eye(2).to_sparse()
    made = s.new(whet.tensor([[0], [1]]), whet.tensor([2.0]), whet.Size([2, 2]))
    assert made.to_dense().tolist() == [[0, 2], [0, 0]]
    assert s.new(2, 3).shape == (2, 3) and s.new().shape == (0,)
    with pytest.raises(TypeError, match="new: expected indices"):
        s.new(whet.tensor([[0], [1]]), whet.tensor([2]), whet.Size([2, 2]))


# ---- tensors -------------------------------------------------------------------------------------
def test_the_type_of_tensors_is_the_default_one():
    assert whet.ones(2, dtype=whet.int32).type(whet.Tensor).dtype is whet.float32


def test_a_norm_of_each_by_its_order():
    for out in (whet._foreach_norm([whet.ones(3)], 1), whet._foreach_norm([whet.ones(3)], ord=1)):
        assert out[0].item() == 3


def test_tensors_are_told_apart():
    x, y = whet.ones(2), whet.ones(2)
    assert x._cdata == x._cdata != y._cdata

    @whet.jit.trace
    def f(t):
        return t + (1 if t._cdata == x._cdata else 2)
    assert [f(t).tolist() for t in (x, y, x, y)] == [[2, 2], [3, 3], [2, 2], [3, 3]]


def test_numbers_as_text():
    from whet._tensor_str import PRINT_OPTS, _tensor_str
    assert _tensor_str(whet.ones(2, 2), 5) == "[[1., 1.],\n      [1., 1.]]"
    assert PRINT_OPTS.threshold == 1000


# ---- modules, optimizers, processes --------------------------------------------------------------
def test_a_module_with_other_parameters_for_a_while():
    layer, x = nn.Linear(2, 1), whet.ones(1, 2)
    own = layer(x)
    with nn.utils.stateless._reparametrize_module(layer, {"weight": whet.zeros(1, 2)}):
        assert layer(x).equal(layer.bias.view(1, 1))
    assert layer(x).equal(own)
    assert nn.modules.module._IncompatibleKeys([], []).missing_keys == []


class Every(whet.optim.Optimizer):
    """One that wraps another, and asks for hooks without the base class."""

    def __init__(self, optimizer):
        self.optimizer, self.state, self.defaults = optimizer, defaultdict(dict), {}
        self._patch_step_function()

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def step(self, closure=None):
        return self.optimizer.step(closure)


def test_an_optimizer_around_another():
    w, seen = whet.ones(1, requires_grad=True), []
    (3 * w).sum().backward()
    outer = Every(whet.optim.SGD([w], lr=1.0))
    outer.register_step_post_hook(lambda *args: seen.append(1))
    outer.step()
    assert w.tolist() == [-2] and seen == [1]


def test_parts_that_are_not_there_can_be_imported():
    from whet.distributed import rpc
    from whet.utils.data.dataloader import _BaseDataLoaderIter, _MultiProcessingDataLoaderIter
    assert issubclass(_MultiProcessingDataLoaderIter, _BaseDataLoaderIter)
    assert not rpc.is_available() and whet._dynamo.is_dynamo_supported()
    for call in lambda: rpc.init_rpc("one"), lambda: rpc.rpc_sync("one", len), rpc.shutdown:
        with pytest.raises(NotImplementedError, match="a group has one process"):
            call()
