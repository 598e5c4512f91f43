"""Helpers for modules."""
import copy

import numpy as np
import pytest
import whet
from whet import nn, optim
from whet.nn import utils
from whet.nn.utils import parametrizations, parametrize, prune, rnn, stateless


def N(t):
    return t.detach().numpy()


def with_grads(*arrays):
    out = []
    for a in arrays:
        p = nn.Parameter(whet.zeros(len(a)))
        p.grad = whet.tensor(a)
        out.append(p)
    return out


def test_clip_grad_norm():
    ps = with_grads([3.0, 0.0], [0.0, 4.0])
    assert float(utils.clip_grad_norm_(ps, 1.0)) == 5.0
    assert np.allclose(N(ps[0].grad), [0.6, 0]) and np.allclose(N(ps[1].grad), [0, 0.8])
    assert float(utils.clip_grad_norm_(ps, 10.0)) == pytest.approx(1.0, rel=1e-5)
    assert np.allclose(N(ps[1].grad), [0, 0.8])
    ps = with_grads([3.0, -5.0])
    assert float(utils.clip_grad_norm_(ps, 1.0, norm_type=float("inf"))) == 5.0
    assert float(utils.get_total_norm([p.grad for p in with_grads([1.0, 1.0], [1.0])], 1.0)) == 3.0
    with pytest.raises(RuntimeError, match="non-finite"):
        utils.clip_grad_norm_(with_grads([float("nan")]), 1.0, error_if_nonfinite=True)


def test_clip_grad_value():
    p, = with_grads([3.0, -5.0, 0.5])
    utils.clip_grad_value_([p], 1)
    assert N(p.grad).tolist() == [1, -1, 0.5]


def test_parameters_as_a_vector():
    m = nn.Linear(2, 3)
    v = utils.parameters_to_vector(m.parameters())
    assert v.shape == (9,)
    utils.vector_to_parameters(whet.arange(9.0), m.parameters())
    assert N(m.weight).ravel().tolist() == [0, 1, 2, 3, 4, 5] and N(m.bias).tolist() == [6, 7, 8]


def test_functional_call():
    m = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    w = whet.zeros(2, 2, requires_grad=True)
    before = m[0].weight
    out = stateless.functional_call(m, {"0.weight": w, "0.bias": whet.ones(2)}, (whet.randn(4, 2),))
    assert m[0].weight is before and np.allclose(N(out), 0, atol=1e-3)
    out.sum().backward()
    assert w.grad is not None and before.grad is None
    with pytest.raises(RuntimeError, match="Missing"):
        stateless.functional_call(m, {"0.weight": w}, (whet.randn(4, 2),), strict=True)
    with pytest.raises(ValueError, match="multiple dictionaries"):
        stateless.functional_call(m, ({"0.weight": w}, {"0.weight": w}), (whet.randn(4, 2),))
    tied = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    tied[1].weight = tied[0].weight
    assert (not N(
        stateless.functional_call(tied, {"0.weight": whet.zeros(2, 2), "1.bias": whet.zeros(2)},
                                  whet.ones(1, 2))).any())


def test_weight_norm():
    m = parametrizations.weight_norm(nn.Linear(3, 4))
    plain = N(m.weight).copy()
    names = dict(m.named_parameters())
    assert (set(names) == {
        "bias", "parametrizations.weight.original0", "parametrizations.weight.original1"})
    with whet.no_grad():
        m.parametrizations.weight.original0.mul_(2)
    assert np.allclose(N(m.weight), 2 * plain, rtol=1e-5)
    m(whet.ones(1, 3)).sum().backward()
    assert names["parametrizations.weight.original0"].grad is not None
    twin = parametrizations.weight_norm(nn.Linear(3, 4))
    twin.load_state_dict(m.state_dict())
    assert np.allclose(N(twin.weight), N(m.weight))
    assert np.allclose(N(copy.deepcopy(m).weight), N(m.weight))
    parametrize.remove_parametrizations(m, "weight")
    assert (type(m) is nn.Linear and isinstance(m.weight, nn.Parameter)
            and np.allclose(N(m.weight), 2 * plain, rtol=1e-5))


def test_spectral_norm():
    m = parametrizations.spectral_norm(nn.Linear(6, 4), n_power_iterations=5)
    for _ in range(5):
        m.weight  # noqa: B018  (each use is an iteration)
    assert np.linalg.norm(N(m.weight), 2) == pytest.approx(1, abs=1e-2)
    m.eval()
    assert bool((m.weight == m.weight).all())
    m(whet.ones(1, 6)).sum().backward()
    assert m.parametrizations.weight.original.grad is not None


@pytest.mark.parametrize("split, names, undo", [
    (utils.weight_norm, ["bias", "weight_g", "weight_v"], utils.remove_weight_norm),
    (utils.spectral_norm, ["bias", "weight_orig", "weight_u", "weight_v"],
     utils.remove_spectral_norm)])
def test_weights_that_a_hook_makes(split, names, undo):
    """They have the names that files of other frameworks have, and follow their parameters."""
    m = nn.Linear(6, 4)
    plain = N(m.weight).copy()
    m = split(m)
    assert sorted(m.state_dict()) == names and not isinstance(m.weight, nn.Parameter)
    assert np.allclose(N(m.weight), plain, rtol=1e-5)
    with pytest.raises(RuntimeError, match="Cannot register two"):
        split(m)
    twin, x = split(nn.Linear(6, 4)), whet.randn(3, 6)
    for _ in range(60):
        out = m(x)
    twin.load_state_dict(m.state_dict())
    m.eval(), twin.eval()
    assert np.allclose(N(twin(x)), N(m(x)), rtol=1e-6)
    with whet.no_grad():
        first = m.get_parameter(names[1])
        first.mul_(2)
    y = m(x)
    if split is utils.weight_norm:
        assert np.allclose(N(y - m.bias), N(2 * (out - m.bias)), atol=1e-5)
    else:                                    # a length of its own has no effect; sigma doubles, too
        m.train()
        for _ in range(60):
            y = m(x)
        assert np.linalg.norm(N(m.weight), 2) == pytest.approx(1, abs=1e-3)
    y.sum().backward()
    assert all(p.grad is not None for p in m.parameters())
    m.eval()
    before = N(m(x)).copy()
    undo(m)
    assert sorted(m.state_dict()) == ["bias", "weight"] and isinstance(m.weight, nn.Parameter)
    assert np.allclose(N(m(x)), before, rtol=1e-5)
    with pytest.raises(ValueError, match="not found"):
        undo(m)


@pytest.mark.parametrize("split", [utils.weight_norm, utils.spectral_norm])
def test_traced_steps_with_weights_that_a_hook_makes(split):
    def trained(trace):
        whet.manual_seed(0)
        m = split(nn.Linear(6, 4))
        optimizer = whet.optim.SGD(m.parameters(), lr=0.1)

        @trace
        def step(x):
            optimizer.zero_grad()
            loss = m(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss
        losses = [step(whet.randn(3, 6)).item() for _ in range(8)]
        return losses, N(m.weight).tolist(), step
    traced = trained(whet.jit.trace)
    assert trained(lambda f: f)[:2] == traced[:2] and traced[2]._policy.summary().replayed >= 5


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("how", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("trivial", [True, False])
def test_orthogonal(shape, how, trivial):
    m = nn.Linear(shape[1], shape[0])
    nn.init.orthogonal_(m.weight)
    given = N(m.weight)
    parametrizations.orthogonal(m, orthogonal_map=how, use_trivialization=trivial)
    keys = {"bias", "parametrizations.weight.original"}
    assert {*m.state_dict()} == keys | ({"parametrizations.weight.0.base"} if trivial else set())
    assert np.allclose(N(m.weight), given, atol=1e-5) or not trivial
    opt = optim.SGD(m.parameters(), 0.1)
    for _ in range(3):
        loss = m(whet.randn(6, shape[1])).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    w = N(m.weight)
    w = w if shape[0] <= shape[1] else w.T
    assert np.allclose(w @ w.T, np.eye(len(w)), atol=1e-5)
    reflects = how == "householder" or how is None and shape[0] != shape[1]
    if not trivial and not reflects:
        with pytest.raises(NotImplementedError, match="use_trivialization=False"):
            m.weight = whet.tensor(given)
    else:
        m.weight = whet.tensor(given)
        assert np.allclose(N(m.weight), given, atol=1e-5)


def test_orthogonal_errors():
    with pytest.raises(ValueError, match="orthogonal_map has to be one of"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="givens")
    with pytest.raises(ValueError, match="does not support complex"):
        m = nn.Module()
        m.weight = nn.Parameter(whet.eye(2) * 1j)
        parametrizations.orthogonal(m, orthogonal_map="householder")


def test_parametrize():
    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).T

        def right_inverse(self, x):
            return x.triu()

    class Double(nn.Module):
        def forward(self, x):
            return x * 2

    m = nn.Linear(3, 3)
    kept = m.weight
    parametrize.register_parametrization(m, "weight", Symmetric())
    assert parametrize.is_parametrized(m, "weight") and bool((m.weight == m.weight.T).all())
    assert (m.parametrizations.weight.original is kept
            and parametrize.type_before_parametrizations(m) is nn.Linear)
    once = N(m.weight).copy()
    parametrize.register_parametrization(m, "weight", Double())
    assert np.allclose(N(m.weight), 2 * once) and repr(m).startswith("ParametrizedLinear(")
    with parametrize.cached():
        assert m.weight is m.weight
    assert m.weight is not m.weight
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and m.weight is kept and np.allclose(N(kept), 2 * once)
    with pytest.raises(ValueError, match="does not have a parameter"):
        parametrize.register_parametrization(m, "nothing", Double())

    class Cut(nn.Module):
        def forward(self, x):
            return x[:1]
    with pytest.raises(ValueError, match="shape"):
        parametrize.register_parametrization(m, "weight", Cut())
    assert type(m) is nn.Linear and m.weight is kept


def test_assigning_a_parametrised_tensor_goes_back_to_the_original():
    class Exp(nn.Module):
        def forward(self, x):
            return x.exp()

        def right_inverse(self, y):
            return y.log()
    m = nn.Linear(2, 2)
    with whet.no_grad():
        m.weight.abs_().add_(0.1)
    parametrize.register_parametrization(m, "weight", Exp())
    m.weight = whet.full((2, 2), 3.0)
    assert np.allclose(N(m.weight), 3)


def test_a_parametrization_upon_another_starts_from_what_that_one_computes():
    class Double(nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, y):
            return y / 2
    m = nn.Linear(2, 2)
    before = N(m.weight).copy()
    parametrize.register_parametrization(m, "weight", Double())
    assert np.allclose(N(m.weight), before)
    parametrize.register_parametrization(m, "weight", Double())
    assert np.allclose(N(m.weight), 2 * before)
    m.weight = whet.ones(2, 2)
    assert np.allclose(N(m.weight), 1)


@pytest.mark.parametrize("inverse, named", [
    (lambda self, w: w.bool(), "dtype"), (lambda self, w: w.to("meta"), "device"),
    (lambda self, w: None, "Tensor or a Sequence of"),
    (lambda self, w: (None, w), "of the sequence with type")])
def test_an_inverse_that_cannot_be_the_original_leaves_the_module_as_it_was(inverse, named):
    made = type("Made", (nn.Module,), {
        "forward": lambda self, x, *_: x.float(), "right_inverse": inverse})
    m = nn.Linear(2, 2)
    kept = m.weight
    with pytest.raises(ValueError, match=named):
        parametrize.register_parametrization(m, "weight", made())
    assert type(m) is nn.Linear and m.weight is kept


@pytest.mark.parametrize("inverse, named", [
    (lambda self, w: (w, w), "must return a tensor"),
    (lambda self, w: w.bool(), "must have the same dtype"),
    (lambda self, w: w[:1], "must have the same shape")])
def test_an_inverse_upon_another_parametrization_is_checked(inverse, named):
    made = type("Made", (nn.Module,), {"forward": lambda self, x: x, "right_inverse": inverse})
    m = parametrize.register_parametrization(nn.Linear(2, 2), "weight", nn.Tanh())
    with pytest.raises(ValueError, match=named):
        parametrize.register_parametrization(m, "weight", made())
    assert len(m.parametrizations.weight) == 1


def test_the_original_of_a_parametrization_can_be_parametrized():
    m = nn.Linear(2, 2)
    w = N(m.weight).copy()
    parametrize.register_parametrization(m, "weight", nn.ReLU())
    chain = m.parametrizations.weight
    parametrize.register_parametrization(chain, "original", nn.Tanh())
    assert np.allclose(N(chain.original), np.tanh(w), atol=1e-6)
    assert np.allclose(N(m.weight), np.maximum(np.tanh(w), 0), atol=1e-6)
    parametrize.remove_parametrizations(chain, "original", leave_parametrized=False)
    assert type(chain) is parametrize.ParametrizationList
    assert np.allclose(N(m.weight), np.maximum(w, 0))


def test_a_parametrized_module_that_copies_itself_goes_on_doing_so():
    class Marked(nn.Linear):
        def __deepcopy__(self, memo):
            made = type(self).__new__(type(self))
            made.__dict__ = copy.deepcopy(self.__dict__, memo)
            made.is_a_copy = True
            return made
    m = parametrize.register_parametrization(Marked(2, 2), "weight", nn.Tanh())
    assert copy.deepcopy(m).is_a_copy and np.allclose(N(copy.deepcopy(m).weight), N(m.weight))


def test_prune():
    m = nn.Linear(4, 5)
    w = N(m.weight).copy()
    prune.l1_unstructured(m, "weight", amount=0.3)
    assert {n for n, _ in m.named_parameters()} == {"bias", "weight_orig"} and prune.is_pruned(m)
    mask = N(m.weight_mask)
    assert (mask.sum() == 14 and np.abs(w[mask == 0]).max() <= np.abs(w[mask == 1]).min()
            and (N(m.weight) == w * mask).all())
    m(whet.ones(1, 4)).sum().backward()
    assert not N(m.weight_orig.grad)[mask == 0].any()
    prune.random_unstructured(m, "weight", amount=4)
    assert N(m.weight_mask).sum() == 10 and not N(m.weight_mask)[mask == 0].any()
    prune.remove(m, "weight")
    assert (isinstance(m.weight, nn.Parameter) and not prune.is_pruned(m)
            and (N(m.weight) == 0).sum() == 10)
    n = nn.Linear(4, 5)
    prune.ln_structured(n, "weight", amount=2, n=2, dim=0)
    assert sorted(N(n.weight_mask).sum(1)) == [0, 0, 4, 4, 4]
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.l1_unstructured, amount=6)
    assert N(a.weight_mask).sum() + N(b.weight_mask).sum() == 12
    with pytest.raises(ValueError, match="has to be pruned"):
        prune.remove(b, "bias")
    with pytest.raises(ValueError, match="smaller than"):
        prune.l1_unstructured(nn.Linear(1, 1), "weight", amount=2)


def test_the_hook_of_a_pruned_tensor_tells_its_methods():
    m = nn.Linear(4, 3)
    prune.l1_unstructured(m, "weight", amount=0.3)
    prune.ln_structured(m, "weight", amount=1, n=2, dim=0)
    prune.random_unstructured(m, "bias", amount=1)
    hooks = {h._tensor_name: h for h in m._forward_pre_hooks.values()}
    assert [type(x) for x in hooks["weight"]] == [prune.L1Unstructured, prune.LnStructured]
    assert type(hooks["bias"]) is prune.RandomUnstructured


def test_fusion():
    conv, bn = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)
    for _ in range(3):
        bn(conv(whet.randn(4, 2, 6, 6)))
    conv.eval()
    bn.eval()
    x = whet.randn(2, 2, 6, 6)
    assert np.allclose(N(utils.fuse_conv_bn_eval(conv, bn)(x)), N(bn(conv(x))), atol=1e-5)
    lin, bn = nn.Linear(4, 3, bias=False).eval(), nn.BatchNorm1d(3)
    bn(whet.randn(8, 3) * 3)
    bn.eval()
    x = whet.randn(5, 4)
    assert np.allclose(N(utils.fuse_linear_bn_eval(lin, bn)(x)), N(bn(lin(x))), atol=1e-5)
    with pytest.raises(AssertionError, match="eval"):
        utils.fuse_conv_bn_eval(conv.train(), nn.BatchNorm2d(3))


def test_padding_and_packing():
    seqs = [whet.arange(3.0), whet.arange(1.0) + 5, whet.arange(2.0) + 7]
    padded = rnn.pad_sequence(seqs, batch_first=True, padding_value=-1)
    assert N(padded).tolist() == [[0, 1, 2], [5, -1, -1], [7, 8, -1]]
    assert N(rnn.pad_sequence(seqs, batch_first=True, padding_side="left"))[1].tolist() == [0, 0, 5]
    assert ([
        N(s).tolist() for s in rnn.unpad_sequence(padded, whet.tensor([3, 1, 2]), batch_first=True)
    ] == [[0, 1, 2], [5], [7, 8]])
    packed = rnn.pack_padded_sequence(padded, whet.tensor([3, 1, 2]), batch_first=True,
                                      enforce_sorted=False)
    assert packed.batch_sizes.tolist() == [3, 2, 1] and packed.sorted_indices.tolist() == [0, 2, 1]
    assert N(packed.data).tolist() == [0, 7, 5, 1, 8, 2]
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1,
                                            total_length=4)
    assert (N(back).tolist() == [[0, 1, 2, -1], [5, -1, -1, -1], [7, 8, -1, -1]]
            and lengths.tolist() == [3, 1, 2])
    assert [N(s).tolist() for s in rnn.unpack_sequence(packed)] == [[0, 1, 2], [5], [7, 8]]
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_sequence(seqs)
    with pytest.raises(RuntimeError, match="greater than 0"):
        rnn.pack_padded_sequence(padded, [3, 2, 0], batch_first=True)
    with pytest.raises(ValueError, match="total_length"):
        rnn.pad_packed_sequence(packed, total_length=2)
    assert packed.double().data.dtype is whet.float64
    assert rnn.pack_padded_sequence(padded, whet.tensor([3.0, 2.0, 1.0]),
                                    batch_first=True).batch_sizes.tolist() == [3, 2, 1]


def test_sequences_that_were_unpadded_have_memory_of_their_own():
    padded = whet.zeros(3, 2)
    rnn.unpad_sequence(padded, whet.tensor([3, 2]))[1].fill_(1)
    assert not padded.any()


@pytest.mark.parametrize("dim, lengths", [(-2, (3, 1)), (0, (3, 1)), (1, (1, 2)), (None, ()),
                                          (-1, ())])
def test_lengths_of_a_weight_lie_along_the_dimension_that_is_named(dim, lengths):
    layers = nn.Linear(2, 3), nn.Linear(2, 3)
    wanted = [layer.weight.detach().clone() for layer in layers]
    old, new = utils.weight_norm(layers[0], dim=dim), parametrizations.weight_norm(layers[1],
                                                                                   dim=dim)
    assert old.weight_g.shape == new.parametrizations.weight.original0.shape == lengths
    for layer, weight in zip((old, new), wanted):
        whet.testing.assert_close(layer.weight, weight)


def test_methods_of_pruning_refuse_what_pytorch_refuses():
    prune = nn.utils.prune
    layer = nn.Linear(2, 2)
    for error, words, call in (
            (IndexError, "Invalid index 5", lambda: prune.ln_structured(layer, "weight", 1, 2, 5)),
            (AssertionError, "must match self.mask shape",
             lambda: prune.custom_from_mask(layer, "weight", whet.ones(3))),
            (TypeError, "not an Iterable", lambda: prune.global_unstructured(3, amount=0.5)),
            (RuntimeError, "Expected iterable", lambda: nn.utils.rnn.pad_sequence(3)),
            (RuntimeError, "one of left or right",
             lambda: nn.utils.rnn.pad_sequence([whet.ones(2)], padding_side="x"))):
        with pytest.raises(error, match=words):
            call()
