"""What `help()` and `inspect.signature` say of the public functions is what they take."""
import importlib
import inspect
import pydoc

import pytest
import whet
import whet.nn.functional as F
from whet.ops.declared_signatures import Declared

MODULES = (("whet", "whet.nn.functional", "whet.linalg", "whet.fft", "whet.special", "whet.random",
            "whet.nn.init"))
# these take any number of tensors or sizes, and say so
VARIADIC = {
    "Tensor", "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_arrays",
    "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "chain_matmul", "einsum", "empty",
    "export", "load", "meshgrid", "ones", "rand", "randn", "sum_to_size", "summary", "zeros"}


def functions(module):
    """The public functions of a module, by name."""
    for name in dir(module):
        fn = getattr(module, name, None) if not name.startswith("_") else None
        if (callable(fn) and not isinstance(fn, type)
                and str(getattr(fn, "__module__", "")).startswith("whet")):
            yield name, fn


@pytest.mark.parametrize("module", MODULES)
def test_every_function_has_a_signature_with_its_parameters(module):
    for name, fn in functions(importlib.import_module(module)):
        kinds = {p.kind for p in inspect.signature(fn).parameters.values()}
        assert (name in VARIADIC or
                not kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}), name


def test_every_method_has_a_signature():
    for name in dir(whet.Tensor):
        fn = inspect.getattr_static(whet.Tensor, name)
        if not name.startswith("_") and callable(fn):
            assert next(iter(inspect.signature(fn).parameters)), name


def test_help_shows_the_signature_with_out():
    for name in ("bmm", "cumsum", "svd", "topk", "mean"):
        shown = pydoc.plain(pydoc.render_doc(getattr(whet, name)))
        # a long signature has a line for each argument from CPython 3.13 on
        said = f"{name}{inspect.signature(getattr(whet, name))}".replace(" ", "")
        assert said in "".join(shown.split()) and "out=None" in said


def test_functions_that_show_out_take_it():
    x, out = whet.ones(2, 2), whet.empty(0)
    for name, fn in functions(whet):
        parameters = inspect.signature(fn).parameters
        needed = [p for p in parameters.values() if p.default is p.empty]
        if "out" in parameters and len(needed) == 1 and needed[0].name in ("input", "A"):
            try:
                result = fn(x)
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                continue
            if isinstance(result, whet.Tensor):
                out = whet.empty(0, dtype=result.dtype)
                assert fn(x, out=out) is out, name
                assert whet.equal(out, result) or result.dtype.is_floating_point, name


def test_a_native_function_shows_what_the_python_function_behind_it_takes():
    assert str(inspect.signature(whet.exp)) == "(input, *, out=None)"
    assert str(inspect.signature(whet.Tensor.reshape)) == "(self, *sizes, shape=None)"
    assert str(inspect.signature(whet.Tensor.exp_)) == "(input)"
    assert str(inspect.signature(whet.Tensor.sum)).startswith("(input, dim=None, keepdim=False")


def test_parameters_go_by_the_names_that_pytorch_gives_them_elsewhere():
    x, i = whet.eye(3), whet.tensor([0])
    assert whet.det(input=x).item() == 1 and whet.matrix_power(input=x, n=2).equal(x)
    assert whet.index_add(input=x, dim=0, index=i, source=x[:1]).sum() == 4
    assert whet.special.i0e(input=whet.zeros(1)).tolist() == [1.0]
    assert whet.relu_(input=x) is x
    assert len(x.hsplit(sections=3)) == len(whet.tensor_split(x, sections=3)) == 3
    assert x.split(split_size=2)[0].equal(x[:2])
    assert x.cholesky_solve(input2=x).equal(x)


def test_a_copy_of_a_slice_or_of_other_types():
    x = whet.arange(6.0).view(2, 3)
    assert whet.slice_copy(x, 1, 0, -1).equal(x[:, :-1])
    assert whet.slice_copy(x, step=2).shape == (1, 3)
    assert whet.view_copy(x, dtype=whet.int32).equal(x.view(whet.int32))
    with pytest.raises(RuntimeError, match="pin_memory"):
        whet.zeros_like(x, pin_memory=True)


def test_an_in_place_form_has_no_inplace():
    assert str(inspect.signature(F.elu_)) == "(input, alpha=1.0)"
    assert str(inspect.signature(whet.dropout_)) == "(input, p, train)"


def test_draws_in_place_name_their_parameters():
    assert (str(inspect.signature(
        whet.Tensor.cauchy_)) == "(self, median=0, sigma=1, *, generator=None)")
    assert str(inspect.signature(
        whet.kaiser_window)).startswith("(window_length, periodic=True, beta=12.0, *, dtype=None")
    with pytest.raises(TypeError):
        whet.hann_window(4, beta=1.0)


def test_a_signature_is_made_when_it_is_asked_for():
    assert (isinstance(whet.bmm.__wrapped__, Declared)
            and "__signature__" not in vars(whet.bmm))


def test_star_import_of_functional_has_every_function():
    assert {"relu", "conv2d", "max_pool2d", "silu", "tanh", "elu_"} <= set(F.__all__)


def test_functions_of_networks_stand_at_the_top_in_their_own_order():
    x, w, b = whet.randn(2, 3, 4), whet.randn(3), whet.randn(3)
    assert whet.equal(whet.batch_norm(x, w, b, None, None, True, 0.1, 1e-5),
                      F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5))
    assert whet.equal(whet.instance_norm(x, w, b, None, None, True, 0.1, 1e-5),
                      F.instance_norm(x, None, None, w, b, True, 0.1, 1e-5))
    assert whet.equal(whet.layer_norm(x, (4,)), F.layer_norm(x, (4,)))
    table, index = whet.randn(5, 2), whet.tensor([3, 1])
    assert whet.equal(whet.embedding(table, index), F.embedding(index, table))
    y = x.clone()
    assert whet.selu_(y) is y and whet.equal(y, F.selu(x))
    assert whet.equal(whet.arccos_(whet.ones(2)), whet.zeros(2))
