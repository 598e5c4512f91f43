"""Hooks of modules and optimizers: dicts by handle id, where PyTorch's libraries find them."""
import copy
import pickle
from collections import OrderedDict

import pytest
import whet
from whet import nn
from whet.utils.hooks import RemovableHandle

LISTS = {
    "_forward_pre_hooks": "register_forward_pre_hook",
    "_forward_hooks": "register_forward_hook",
    "_backward_pre_hooks": "register_full_backward_pre_hook",
    "_backward_hooks": "register_full_backward_hook",
    "_state_dict_pre_hooks": "register_state_dict_pre_hook",
    "_state_dict_hooks": "register_state_dict_post_hook",
    "_load_state_dict_pre_hooks": "_register_load_state_dict_pre_hook",
    "_load_state_dict_post_hooks": "register_load_state_dict_post_hook"}


@pytest.mark.parametrize(("name", "register"), LISTS.items())
def test_an_attribute_is_the_dict_that_hooks_are_registered_in(name, register):
    layer = nn.Linear(1, 1)
    found = getattr(layer, name)
    assert isinstance(found, OrderedDict) and not found

    def hook(*args):
        return None
    handle = getattr(layer, register)(hook)
    assert getattr(layer, name) is found and found == {handle.id: hook}
    assert handle.hooks_dict_ref() is found
    handle.remove()
    assert not found


def test_what_is_done_to_the_dict_is_done_to_the_calls():
    layer, x = nn.Identity(), whet.ones(2)
    first = layer.register_forward_hook(lambda module, args, out: out + 1)
    layer.register_forward_hook(lambda module, args, out: out * 5)
    assert layer(x).tolist() == [10, 10]
    layer._forward_hooks.move_to_end(first.id)
    assert layer(x).tolist() == [6, 6]
    layer._forward_hooks[-1] = lambda module, args, out: out - 6
    assert layer(x).tolist() == [0, 0]
    layer._forward_hooks = OrderedDict()
    assert layer(x) is x
    layer.register_forward_hook(lambda module, args, out: out + 1)
    assert layer(x).tolist() == [2, 2]
    layer._forward_hooks.clear()
    assert layer(x) is x


def test_ids_of_hooks_that_take_keywords_or_are_always_called():
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda m, args, kwargs: None, with_kwargs=True)
    after = layer.register_forward_hook(lambda m, args, kwargs, out: None, with_kwargs=True,
                                        always_call=True)
    assert list(layer._forward_pre_hooks_with_kwargs) == [before.id]
    assert list(layer._forward_hooks_with_kwargs) == [after.id]
    assert list(layer._forward_hooks_always_called) == [after.id]
    after.remove()
    assert not layer._forward_hooks_with_kwargs and not layer._forward_hooks_always_called


def test_a_traced_call_that_reads_the_attributes_replays_until_they_change():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

    def run(x):
        return model(x) + sum(len(m._forward_hooks) for m in model.modules())
    traced, x = whet.jit.trace(run), whet.ones(1, 2)
    for _ in range(4):
        assert whet.equal(traced(x), run(x))
    assert traced.explain(data=True)["paths"][0]["calls"] >= 2
    model[0]._forward_hooks[-1] = lambda module, args, out: out + 100
    for _ in range(3):
        assert whet.equal(traced(x), run(x)) and float(run(x)[0, 0].detach()) > 90


def test_backward_hooks_of_before_full_ones():
    layer, seen = nn.Linear(2, 2), []
    assert layer._is_full_backward_hook is None
    layer.register_backward_hook(lambda module, grads_in, grads_out: seen.append(grads_out))
    assert layer._is_full_backward_hook is False
    x = whet.ones(1, 2, requires_grad=True)
    (layer(x) * 3).sum().backward()
    assert len(seen) == 1 and seen[0][0].tolist() == [[3, 3]]
    with pytest.raises(RuntimeError, match="both regular backward hooks and full"):
        layer.register_full_backward_hook(print)
    other = nn.Linear(2, 2)
    other.register_full_backward_hook(lambda module, grads_in, grads_out: None)
    assert other._is_full_backward_hook is True
    with pytest.raises(RuntimeError, match="both regular backward hooks and full"):
        other.register_backward_hook(print)


def test_backward_hooks_see_the_first_tensor_of_a_structure():
    class Pair(nn.Module):
        def forward(self, x):
            return {"none": None, "a": x * 2, "b": x * 4}
    model, seen = Pair(), []
    model.register_backward_hook(lambda module, grads_in, grads_out: seen.append(grads_out[0]))
    out = model(whet.ones(2, requires_grad=True))
    (out["a"] * 5 + out["b"]).sum().backward()
    assert [g.tolist() for g in seen] == [[5, 5]]


def test_a_copy_has_hooks_of_its_own():
    layer = nn.Linear(1, 1)
    handle = layer.register_forward_hook(lambda module, args, out: None)
    twin = copy.deepcopy(layer)
    twin._forward_hooks.clear()
    assert list(layer._forward_hooks) == [handle.id]


def test_handles_of_dicts_that_a_program_has_itself():
    hooks, facts = OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=facts)
    hooks[handle.id], facts[handle.id] = print, True
    handle.remove()
    assert not hooks and not facts
    leaf = whet.ones(1, requires_grad=True)
    for handle in (leaf.register_hook(lambda g: None),
                   (leaf * 2).grad_fn.register_hook(lambda gi, go: None),
                   leaf.register_post_accumulate_grad_hook(lambda t: None)):
        assert isinstance(handle, RemovableHandle)


def test_hooks_of_optimizers():
    opt, seen = whet.optim.SGD([whet.ones(1, requires_grad=True)], lr=0.1), []
    for kind in ("step_pre", "step_post", "state_dict_pre", "state_dict_post",
                 "load_state_dict_pre", "load_state_dict_post"):
        hooks = getattr(opt, f"_optimizer_{kind}_hooks")
        assert isinstance(hooks, OrderedDict) and not hooks
        handle = getattr(opt, f"register_{kind}_hook")(
            lambda *args, kind=kind: seen.append(kind))
        assert list(hooks) == [handle.id]
    opt.step()
    opt.load_state_dict(opt.state_dict())
    assert seen == ["step_pre", "step_post", "state_dict_pre", "state_dict_post",
                    "load_state_dict_pre", "load_state_dict_post"]
    opt._optimizer_step_pre_hooks.clear()
    opt.step()
    assert seen[6:] == ["step_post"]


def test_a_post_hook_of_a_state_dict_may_not_return_another():
    layer = nn.Linear(2, 2)
    layer.register_state_dict_post_hook(lambda *_: {})
    with pytest.raises(RuntimeError, match="must return None"):
        layer.state_dict()
    layer = nn.Linear(2, 2)
    layer._register_state_dict_hook(lambda *_: {"other": 1})
    assert layer.state_dict() == {"other": 1}


def test_an_error_of_a_hook_that_is_always_called_does_not_hide_the_modules():
    class Broken(nn.Module):
        def forward(self, x):
            raise RuntimeError("of the module")

    def hook(*_):
        raise ValueError("of the hook")

    broken = Broken()
    broken.register_forward_hook(hook, always_call=True)
    with pytest.warns(UserWarning, match="of the hook"):
        with pytest.raises(RuntimeError, match="of the module"):
            broken(whet.ones(1))


def test_hooks_see_what_modules_get_and_may_give_another():
    from whet.nn import module as m
    seen = []
    handles = [m.register_module_parameter_registration_hook(
                   lambda module, name, p: seen.append((type(module).__name__, name))),
               m.register_module_buffer_registration_hook(
                   lambda module, name, b: seen.append((type(module).__name__, name))),
               m.register_module_module_registration_hook(
                   lambda module, name, child: nn.Tanh() if isinstance(child, nn.ReLU) else None)]
    try:
        model = nn.Sequential(nn.Linear(1, 1), nn.ReLU(), nn.BatchNorm1d(1, affine=False))
        model.last = nn.ReLU()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [("Linear", "weight"), ("Linear", "bias"), ("BatchNorm1d", "weight"),
                    ("BatchNorm1d", "bias"), ("BatchNorm1d", "running_mean"),
                    ("BatchNorm1d", "running_var"), ("BatchNorm1d", "num_batches_tracked")]
    assert isinstance(model[1], nn.Tanh) and isinstance(model.last, nn.Tanh)
    assert isinstance(nn.Sequential(nn.ReLU())[0], nn.ReLU)


def test_a_traced_function_sees_hooks_that_were_registered_since():
    from whet.nn import module as m

    @whet.jit.trace
    def weight_of_new():
        holder = nn.Module()
        holder.weight = nn.Parameter(whet.ones(2))
        return holder.weight * 2

    for _ in range(3):
        assert weight_of_new().tolist() == [2, 2]
    with m.register_module_parameter_registration_hook(
            lambda module, name, p: nn.Parameter(p.detach() * 5)):
        for _ in range(3):
            assert weight_of_new().tolist() == [10, 10]
    assert weight_of_new().tolist() == [2, 2]


class Renamed(nn.Linear):
    """Takes its weight by an older name."""

    def __init__(self):
        super().__init__(1, 1, bias=False)
        self.asked = 0
        self.register_load_state_dict_pre_hook(Renamed.rename)

    def rename(self, state, prefix, *rest):
        self.asked += 1
        if prefix + "w" in state:
            state[prefix + "weight"] = state.pop(prefix + "w")


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_hook_before_loading_gets_the_module_that_it_is_called_for(again):
    first = Renamed()
    second = again(first)
    second.load_state_dict({"w": whet.full((1, 1), 5.)})
    assert (first.asked, second.asked, second.weight.item()) == (0, 1, 5)


def test_a_backward_hook_may_return_that_no_input_has_a_gradient():
    layer, seen = nn.Linear(2, 3), []
    layer.register_full_backward_hook(lambda module, into, out: seen.append(into) or into)
    layer(whet.ones(1, 2)).sum().backward()
    assert seen == [(None,)] and layer.weight.grad.tolist() == [[1, 1]] * 3


def test_a_result_whose_gradients_no_backward_hook_sees_is_warned_of():
    class Named(nn.Module):
        def forward(self, x):
            return {"double": x * 2}
    layer, seen = Named(), []
    layer.register_full_backward_hook(lambda *args: seen.append(args))
    x = whet.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        layer(x)["double"].sum().backward()
    assert not seen and x.grad.tolist() == [2, 2]


def test_gradients_that_come_past_a_result_are_not_shown_to_backward_hooks():
    layer, shown = nn.Sigmoid(), []
    layer.register_full_backward_hook(lambda module, into, out: shown.append(len(out)))
    x = whet.tensor([0.5], requires_grad=True)
    slope, = whet.autograd.grad(layer(x).sum(), x, create_graph=True)
    slope.sum().backward()
    y = x.detach().sigmoid()
    assert shown == [1] and abs(float(x.grad - y * (1 - y) * (1 - 2 * y))) < 1e-6


def test_the_prefix_of_a_wrapper_is_taken_off_a_checkpoint():
    layer = nn.Sequential(nn.BatchNorm1d(2))
    wrapped = nn.Module()
    wrapped.module = layer
    state = wrapped.state_dict()
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == list(layer.state_dict())
    assert state._metadata[""] == {"version": 1} and state._metadata["0"] == {"version": 2}
    layer.load_state_dict(state)
