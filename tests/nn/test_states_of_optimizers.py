"""What optimizers keep beside parameters."""
import numpy as np
import pytest
import whet
from whet import nn, optim


@pytest.mark.parametrize("kind", [optim.NAdam, optim.ASGD])
def test_scalar_states_of_all_parameters_are_written_once_a_step(kind):
    ps = [whet.ones(2, requires_grad=True) for _ in range(2)]
    opt = kind(ps)
    for _ in range(3):
        for p in ps:
            p.grad = whet.ones(2)
        opt.step()
    one, other = ({k: t._version for k, t in opt.state[p].items()} for p in ps)
    assert one == other


@pytest.mark.parametrize("kind, numbers", [
    ("SGD", {"lr": 0.1}), ("SGD", {"lr": 0.1, "maximize": True}), ("Adagrad", {"lr": 0.1}),
    ("SparseAdam", {"lr": 0.1})])
def test_gradients_of_which_each_dimension_is_sparse_move_the_elements_that_they_have(kind,
                                                                                    numbers):
    at, values = [[0, 2, 0], [1, 3, 1]], [1.0, 2.0, 3.0]
    gradient = whet.sparse_coo_tensor(at, values, (3, 4))
    start = whet.arange(12.0).reshape(3, 4)

    def moved(gradient):
        p = whet.nn.Parameter(start.clone())
        opt = getattr(optim, kind)([p], **numbers)
        for _ in range(3):
            p.grad = gradient
            opt.step()
        return p.detach()
    by_elements, untouched = moved(gradient), gradient.to_dense() == 0
    assert whet.equal(by_elements[untouched], start[untouched])
    if kind == "SparseAdam":                        # as Adam with the touched elements alone
        np.testing.assert_allclose(by_elements[[0, 2], [1, 3]], [0.7, 10.7], rtol=1e-6)
    else:
        assert whet.equal(by_elements, moved(gradient.to_dense()))


def test_fused_steps_are_not_differentiable():
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.Adam([whet.ones(2, requires_grad=True)], fused=True, differentiable=True)


@pytest.mark.parametrize("kind", [
    name for name in optim.__all__ if name[0].isupper() and name != "Optimizer"])
def test_a_rate_is_a_number(kind):
    with pytest.raises(TypeError):
        getattr(optim, kind)([whet.ones(2, 2, requires_grad=True)], lr="0.1")


def test_lbfgs_keeps_what_pytorch_keeps():
    p = whet.ones(2, requires_grad=True)
    opt = optim.LBFGS([p], max_iter=3, history_size=5)

    def closure():
        opt.zero_grad()
        loss = ((p - whet.tensor([3.0, 4.0])) ** 4).sum()
        loss.backward()
        return loss
    opt.step(closure)
    state = opt.state_dict()["state"][0]
    assert sorted(state) == ["H_diag", "al", "d", "func_evals", "n_iter", "old_dirs", "old_stps",
                             "prev_flat_grad", "prev_loss", "ro", "t"]
    assert len(state["al"]) == 5


def test_state_is_cleared_after_parameters_changed_their_type():
    """The state of the old type keeps the parameters out of the common kernel until it is gone."""
    p = whet.ones(2, requires_grad=True)
    opt = optim.Adam([p], lr=0.1)
    for k in range(4):
        if k == 1:
            p.data = p.data.double()
        if k == 3:
            opt.state.clear()
        p.grad = whet.ones_like(p)
        opt.step()
    assert opt.state[p]["step"] == 1 and opt.state[p]["exp_avg"].dtype == whet.float64


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam, optim.RMSprop, optim.ASGD, optim.Muon])
def test_a_rate_of_several_elements_is_refused(make):
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        make([nn.Parameter(whet.ones(2, 2))], lr=whet.tensor([0.1, 0.2]))


def test_options_out_of_bounds_are_refused_in_the_words_of_pytorch():
    params = [nn.Parameter(whet.ones(2, 2))]
    for make, words in ((lambda: optim.Adafactor(params, d=0.5),
                         "^Clipping threshold d should be >= 1 but is: 0.5"),
                        (lambda: optim.Muon(params, lr=-1), "^Learning rate should be >= 0"),
                        (lambda: optim.Muon(params, adjust_lr_fn="x"), "x is not supported")):
        with pytest.raises(ValueError, match=words):
            make()


def test_adafactor_refuses_sparse_gradients_and_sparse_adam_sparse_parameters():
    p = nn.Parameter(whet.ones(2))
    p.grad = whet.ones(2).to_sparse()
    with pytest.raises(RuntimeError, match="Adafactor does not support sparse gradients$"):
        optim.Adafactor([p]).step()
    with pytest.raises(RuntimeError, match="Adamax does not support sparse gradients$"):
        optim.Adamax([p]).step()
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 0\]\]"):
        optim.SparseAdam([whet.ones(2).to_sparse().requires_grad_()])
