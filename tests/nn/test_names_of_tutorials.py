"""Names that PyTorch's examples and tutorials use: gradients of convolutions, functions of lists,
methods of pruning, and where classes are found."""
import importlib
import itertools

import pytest
import whet
import whet.nn.functional as F
from whet import nn
from whet.nn.utils import prune


@pytest.mark.parametrize("n,stride,padding,dilation,groups", list(itertools.product(
    (1, 2, 3), (1, 2), (0, 1), (1, 2), (1, 2))))
def test_gradients_of_a_convolution_are_those_of_backward(n, stride, padding, dilation, groups):
    at = (stride, padding, dilation, groups)
    x = whet.randn(2, 4, *[8] * n, requires_grad=True)
    w = whet.randn(6, 4 // groups, *[3] * n, requires_grad=True)
    y = getattr(F, f"conv{n}d")(x, w, None, *at)
    g = whet.randn(y.shape)
    y.backward(g)
    assert getattr(nn.grad, f"conv{n}d_input")(x.shape, w, g, *at).equal(x.grad)
    assert getattr(nn.grad, f"conv{n}d_weight")(x, w.shape, g, *at).equal(w.grad)


@pytest.mark.parametrize("call", [
    lambda x, w, g: nn.grad.conv2d_input((1, 2, 9, 9), w, g),
    lambda x, w, g: nn.grad.conv2d_input((1, 3, 5, 5), w, g),
    lambda x, w, g: nn.grad.conv2d_input((1, 2, 5), w, g),
    lambda x, w, g: nn.grad.conv2d_input(x.shape, w, g.double()),
    lambda x, w, g: nn.grad.conv2d_input(x.shape, w, g, stride=0),
    lambda x, w, g: nn.grad.conv2d_weight(x, (3, 2, 2, 2), g),
    lambda x, w, g: nn.grad.conv2d_weight(x, w.shape, g, groups=2)])
def test_sizes_that_do_not_fit_are_refused(call):
    with pytest.raises(RuntimeError, match="conv2d_"):
        call(whet.ones(1, 2, 5, 5), whet.ones(3, 2, 3, 3), whet.ones(1, 3, 3, 3))


def tensors():
    return [whet.tensor([1.0, 4.0]), whet.tensor([[9.0]])]


@pytest.mark.parametrize("name,args,want", [
    ("_foreach_add", (1,), lambda t, i: t + 1),
    ("_foreach_add", (tensors(),), lambda t, i: t + t),
    ("_foreach_mul", ([2.0, 3.0],), lambda t, i: t * (2 + i)),
    ("_foreach_sub", (tensors(),), lambda t, i: t - t),
    ("_foreach_sqrt", (), lambda t, i: t.sqrt()),
    ("_foreach_maximum", (4.0,), lambda t, i: t.clamp_min(4.0)),
    ("_foreach_minimum", (tensors(),), lambda t, i: t),
    ("_foreach_addcdiv", (tensors(), tensors(), 3.0), lambda t, i: t + 3.0),
    ("_foreach_addcmul", (tensors(), tensors(), [1.0, 2.0]), lambda t, i: t + (1 + i) * t * t),
    ("_foreach_addcmul", (tensors(), tensors(), whet.tensor([1.0, 2.0])),
     lambda t, i: t + (1 + i) * t * t),
    ("_foreach_lerp", ([whet.zeros(2), whet.zeros(1, 1)], 0.5), lambda t, i: t * 0.5),
    ("_foreach_norm", (), lambda t, i: t.norm()),
    ("_foreach_pow", (2.0,), lambda t, i: t * t)])
def test_functions_of_lists_do_the_same_to_each(name, args, want):
    out = getattr(whet, name)(tensors(), *args)
    assert all(y.equal(want(t, i)) for i, (y, t) in enumerate(zip(out, tensors(), strict=True)))
    if name != "_foreach_norm":
        changed = tensors()
        assert getattr(whet, f"{name}_")(changed, *args) is changed and type(out) is tuple
        assert all(a.equal(b) for a, b in zip(changed, out, strict=True))


def test_functions_of_lists_want_lists_of_one_length_and_methods_that_there_are():
    with pytest.raises(RuntimeError, match="as many entries"):
        whet._foreach_add(tensors(), [1.0])
    with pytest.raises(AttributeError):
        _ = whet._foreach_frobnicate
    assert whet._foreach_pow(2.0, tensors())[1].item() == 512


def test_functions_of_lists_are_replayed():
    @whet.jit.trace
    def average(kept, now):
        whet._foreach_lerp_(kept, now, 0.1)
        return whet._foreach_norm(kept)

    traced, eager = tensors(), tensors()
    for step in range(5):
        now = [t * step for t in tensors()]
        got = average(traced, now)
        whet._foreach_lerp_(eager, now, 0.1)
        want = whet._foreach_norm(eager)
        assert all(a.equal(b) for a, b in zip(got, want, strict=True))
    assert all(a.equal(b) for a, b in zip(traced, eager, strict=True))
    assert "4 of 5 calls replayed" in str(average)


class EverySecond(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


def test_a_method_of_pruning_sees_what_is_left():
    layer = nn.Linear(8, 1, bias=False)
    EverySecond.apply(layer, "weight")
    assert layer.weight_mask.tolist() == [[0, 1] * 4]
    EverySecond.apply(layer, "weight")
    assert layer.weight_mask.tolist() == [[0, 0, 0, 1] * 2]
    assert prune.is_pruned(layer) and not (layer.weight[layer.weight_mask == 0]).any()


def test_methods_are_what_the_functions_apply():
    for method, function, given in (
            (prune.L1Unstructured, prune.l1_unstructured, dict(amount=0.5)),
            (prune.LnStructured, prune.ln_structured, dict(amount=2, n=2, dim=0))):
        a, b = nn.Linear(6, 4), nn.Linear(6, 4)
        b.load_state_dict(a.state_dict())
        method.apply(a, "weight", **given)
        function(b, "weight", **given)
        assert a.weight_mask.equal(b.weight_mask) and a.weight_mask.sum() == 12
    a, b = nn.Linear(3, 2), nn.Linear(3, 2)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=5)
    assert a.weight_mask.sum() + b.weight_mask.sum() == 7
    with pytest.raises(TypeError, match="Only \"unstructured\""):
        prune.global_unstructured([(a, "weight")], prune.RandomStructured, amount=1)


@pytest.mark.parametrize("place,name", [
    ("optim.sgd", "SGD"), ("optim.adamw", "AdamW"), ("optim.rmsprop", "RMSprop"),
    ("nn.modules.activation", "MultiheadAttention"), ("nn.modules.loss", "_WeightedLoss"),
    ("nn.modules.batchnorm", "_NormBase"), ("nn.modules.conv", "_ConvTransposeNd"),
    ("nn.modules.dropout", "_DropoutNd"), ("nn.modules.pooling", "_MaxPoolNd")])
def test_classes_are_found_where_pytorch_has_them(place, name):
    found = getattr(importlib.import_module(f"whet.{place}"), name)
    assert name.startswith("_") or found is getattr(whet.optim, name, None) or getattr(nn, name)


def test_kinds_of_layers_have_their_base():
    pooling, modules = nn.modules.pooling, nn.modules
    assert isinstance(nn.Dropout2d(), modules.dropout._DropoutNd)
    assert isinstance(nn.BatchNorm1d(2), modules.batchnorm._NormBase)
    assert isinstance(nn.AdaptiveAvgPool2d(1), pooling._AdaptiveAvgPoolNd)
    assert isinstance(nn.CrossEntropyLoss(), modules.loss._WeightedLoss)
    assert not isinstance(nn.MSELoss(), modules.loss._WeightedLoss)


def test_initialisers_have_their_old_names_and_say_so():
    w = whet.zeros(3, 4)
    with pytest.warns(FutureWarning, match="in favor of `nn.init.xavier_uniform_`"):
        assert nn.init.xavier_uniform(w) is w
    assert w.any()


def test_gradcheck_is_a_function_whose_module_has_its_name():
    from whet.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
    assert whet.autograd.gradcheck is gradcheck
    assert whet.autograd.gradgradcheck is gradgradcheck
    x = whet.ones(2, dtype=whet.float64, requires_grad=True)
    assert gradcheck(lambda x: x * x, (x,))
    with pytest.raises(GradcheckError):
        gradcheck(lambda x: x.detach() * x, (x,))
