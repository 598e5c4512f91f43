"""Module: registration, names, state, hooks, copies."""
import copy
import pickle
import weakref
from collections import OrderedDict

import pytest
import whet
from whet import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.BatchNorm1d(4))
        self.scale = nn.Parameter(whet.ones(4))
        self.register_buffer("seen", whet.zeros(1))
        self.register_buffer("scratch", whet.zeros(2), persistent=False)

    def forward(self, x):
        return self.b(self.a(x)) * self.scale


def same(a, b):
    return a.shape == b.shape and bool((a == b).all())


def test_members_are_found_in_order():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == [
        "scale", "a.weight", "a.bias", "b.0.weight", "b.0.bias", "b.2.weight", "b.2.bias"]
    assert [n for n, _ in net.named_buffers()] == [
        "seen", "scratch", "b.2.running_mean", "b.2.running_var", "b.2.num_batches_tracked"]
    assert [n for n, _ in net.named_modules()] == ["", "a", "b", "b.0", "b.1", "b.2"]
    assert [n for n, _ in net.named_children()] == ["a", "b"]
    assert net.get_submodule("b.0") is net.b[0] and net.get_parameter("b.0.bias") is net.b[0].bias
    assert net.get_buffer("b.2.running_var") is net.b[2].running_var
    with pytest.raises(AttributeError, match="has no attribute `c`"):
        net.get_submodule("b.c")
    with pytest.raises(AttributeError, match="is not an nn.Parameter"):
        net.get_parameter("seen")


def test_shared_members_are_named_once_unless_asked():
    net = Net()
    net.again = net.a
    assert (len(list(net.parameters())) == 7
            and len(list(net.named_parameters(remove_duplicate=False))) == 9)
    assert "again.weight" in net.state_dict()


def test_assignment_registers_and_replaces():
    m = nn.Module()
    m.x = 1
    m.x = nn.Parameter(whet.ones(2))
    assert list(m._parameters) == ["x"]
    m.x = None
    assert m.x is None and "x" in m._parameters
    m.x = nn.Parameter(whet.zeros(2))
    with pytest.raises(TypeError, match="as parameter 'x'"):
        m.x = whet.ones(2)
    m.y = nn.Linear(1, 1)
    with pytest.raises(TypeError, match="as child module 'y'"):
        m.y = 3
    m.register_buffer("z", None)
    m.z = whet.ones(1)
    assert list(dict(m.named_buffers())) == ["z"]
    with pytest.raises(TypeError, match="as buffer 'z'"):
        m.z = "text"
    del m.x, m.y, m.z
    assert not m._parameters and not m._modules and not m._buffers
    assert not hasattr(m, "x")


def test_names_are_checked():
    m = nn.Module()
    m.plain = 1
    for register in (m.register_parameter, m.register_buffer, m.add_module):
        with pytest.raises(KeyError, match="already exists"):
            register("plain", None)
        with pytest.raises(KeyError, match="contain"):
            register("a.b", None)
        with pytest.raises(KeyError, match="empty string"):
            register("", None)
    with pytest.raises(TypeError):
        m.register_parameter("p", whet.ones(1))
    with pytest.raises(ValueError, match="non-leaf"):
        p = nn.Parameter(whet.ones(1))
        m.register_parameter("p", (p * 2)._as(nn.Parameter))
    with pytest.raises(AttributeError, match="before Module.__init__"):
        class Early(nn.Module):
            def __init__(self):
                self.w = nn.Parameter(whet.ones(1))
        Early()
    with pytest.raises(AttributeError, match="'Module' object has no attribute 'nothing'"):
        m.nothing  # noqa: B018


def test_explicit_buffers():
    m = nn.Module()
    m.kept, m.passing = nn.Buffer(whet.ones(1)), nn.Buffer(whet.ones(1), persistent=False)
    assert list(m.state_dict()) == ["kept"] and len(list(m.buffers())) == 2


def test_members_can_be_changed_through_the_mappings():
    net = Net()
    net._modules["a"] = nn.Identity()
    assert isinstance(net.a, nn.Identity)
    del net._parameters["scale"]
    assert not hasattr(net, "scale")


def test_state_dict_shares_memory_and_loads():
    net, other = Net(), Net()
    state = net.state_dict()
    assert "scratch" not in state and list(state)[0] == "scale" and not state["scale"].requires_grad
    assert state._metadata["b.2"] == {"version": 2} and state._metadata[""] == {"version": 1}
    with whet.no_grad():
        net.scale.fill_(5)
    assert same(state["scale"], net.scale)
    kept = other.a.weight
    assert str(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert other.a.weight is kept and same(kept, net.a.weight)
    assert net.state_dict(keep_vars=True)["scale"] is net.scale


def test_load_state_dict_says_all_that_is_wrong_and_changes_nothing():
    net = Net()
    before = {k: v.clone() for k, v in net.state_dict().items()}
    state = OrderedDict((k, whet.zeros_like(v)) for k, v in before.items())
    del state["a.bias"]
    state["b.2.bias"], state["extra"], state["b.7.x"] = whet.zeros(7), whet.zeros(1), whet.zeros(1)
    with pytest.raises(RuntimeError) as e:
        net.load_state_dict(state)
    text = str(e.value)
    assert text.startswith("Error(s) in loading state_dict for Net:")
    assert ('Missing key(s) in state_dict: "a.bias".' in text
            and 'Unexpected key(s) in state_dict: "extra", "b.7.x".' in text)
    assert (
        "size mismatch for b.2.bias: copying a param with shape whet.Size([7]) from checkpoint, "
        "the shape in current"
        in text)
    assert all(same(v, before[k]) for k, v in net.state_dict().items())
    state["b.2.bias"] = whet.zeros(4)
    missing, unexpected = net.load_state_dict(state, strict=False)
    assert missing == ["a.bias"] and unexpected == ["extra", "b.7.x"]
    with pytest.raises(TypeError, match="dict-like"):
        net.load_state_dict(3)
    with pytest.raises(RuntimeError, match="Tensor-like"):
        net.load_state_dict({**before, "scale": 3})


def test_load_with_assign_takes_the_tensors():
    net, state = Net(), {k: v.clone() for k, v in Net().state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert isinstance(net.scale, nn.Parameter) and net.scale.data_ptr() == state["scale"].data_ptr()
    assert net.seen is state["seen"]


def test_batch_norm_loads_checkpoints_without_a_counter():
    bn = nn.BatchNorm1d(2)
    state = {k: v for k, v in bn.state_dict().items() if k != "num_batches_tracked"}
    bn.load_state_dict(state)


def test_extra_state():
    class Extra(nn.Module):
        value = 3

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]
    m = nn.Sequential(Extra())
    m[0].value = 9
    state = m.state_dict()
    assert state["0._extra_state"] == {"value": 9}
    n = nn.Sequential(Extra())
    n.load_state_dict(state)
    assert n[0].value == 9
    with pytest.raises(RuntimeError, match="Missing"):
        n.load_state_dict({})


def test_state_dict_hooks():
    net, seen = nn.Linear(1, 1), []
    net.register_state_dict_pre_hook(lambda module, prefix, keep: seen.append("before"))
    net.register_state_dict_post_hook(lambda module, state, prefix, meta: state.update(more=whet.ones(1)))
    net.register_load_state_dict_pre_hook(lambda module, state, prefix, *rest: state.pop(
        prefix + "more"))
    net.register_load_state_dict_post_hook(lambda module, keys: seen.append(tuple(keys)))
    net.load_state_dict(net.state_dict())
    assert seen == ["before", ([], [])]


def test_forward_hooks():
    m, log = nn.Linear(2, 2), []
    h1 = m.register_forward_pre_hook(lambda mod, args: log.append("pre") or (args[0] * 2,))
    h2 = m.register_forward_hook(lambda mod, args, out: log.append("post") or out + 1)
    x = whet.ones(1, 2)
    want = whet.nn.functional.linear(x * 2, m.weight, m.bias) + 1
    assert same(m(x), want) and log == ["pre", "post"]
    h1.remove()
    h2.remove()
    assert same(m(x), whet.nn.functional.linear(x, m.weight, m.bias))
    m.register_forward_hook(lambda mod, args, out: log.append("second"))
    m.register_forward_hook(lambda mod, args, out: log.append("first"), prepend=True)
    m(x)
    assert log[2:] == ["first", "second"]


def test_forward_hooks_with_kwargs_and_always():
    class M(nn.Module):
        def forward(self, x, y=0):
            if y < 0:
                raise ValueError("negative")
            return x + y
    m, log = M(), []
    m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"y": kwargs["y"] + 1}),
                                with_kwargs=True)
    m.register_forward_hook(lambda mod, args, kwargs, out: log.append(kwargs["y"]),
                            with_kwargs=True,
                            always_call=True)
    assert m(1, y=2) == 4
    with pytest.raises(ValueError):
        m(1, y=-9)
    assert log == [3, -8]


def test_global_hooks():
    from whet.nn.module import register_module_forward_hook, register_module_forward_pre_hook
    seen = []
    handles = [register_module_forward_pre_hook(lambda m, a: seen.append(type(m).__name__)),
               register_module_forward_hook(lambda m, a, out: seen.append("done"))]
    try:
        nn.Sequential(nn.Identity())(1)
    finally:
        for h in handles:
            h.remove()
    assert seen == ["Sequential", "Identity", "done", "done"]
    nn.Identity()(1)
    assert len(seen) == 4


def test_full_backward_hooks():
    m, seen = nn.Linear(2, 3), {}
    m.register_full_backward_pre_hook(lambda mod, gout: seen.update(pre=gout))
    m.register_full_backward_hook(lambda mod, gin, gout: seen.update(gin=gin, gout=gout))
    x = whet.ones(4, 2, requires_grad=True)
    (m(x) * 2).sum().backward()
    assert same(seen["pre"][0], whet.full((4, 3), 2.0)) and same(seen["gout"][0], seen["pre"][0])
    assert same(seen["gin"][0], x.grad) and bool((x.grad != 0).any())


def test_backward_hooks_replace_gradients():
    m = nn.Linear(2, 2)
    m.register_full_backward_pre_hook(lambda mod, gout: (gout[0] * 10,))
    m.register_full_backward_hook(lambda mod, gin, gout: (gin[0] * 0,))
    x = whet.ones(1, 2, requires_grad=True)
    m(x).sum().backward()
    assert same(x.grad, whet.zeros(1, 2)) and same(m.bias.grad, whet.full((2,), 10.0))


def test_backward_hook_without_input_gradient():
    m, seen = nn.Linear(2, 2), []
    m.register_full_backward_hook(lambda mod, gin, gout: seen.append(gin))
    m(whet.ones(1, 2)).sum().backward()
    assert seen == [(None,)]


def test_gradients_that_a_backward_hook_saw_are_let_go():
    """Also where somebody keeps a result of the module, and the graph with it."""
    m, seen = nn.Linear(2, 2), []
    m.register_full_backward_hook(lambda mod, gin, gout: seen.append(weakref.ref(gout[0])))
    y = m(whet.ones(1, 2, requires_grad=True))
    (y * 2).sum().backward()
    assert y.grad_fn is not None and seen[0]() is None


def test_copies():
    net = Net()
    net.double_of = net.a                                   # sharing survives
    twin = copy.deepcopy(net)
    assert twin.double_of is twin.a and twin.a is not net.a
    assert same(twin.a.weight, net.a.weight) and twin.a.weight.data_ptr() != net.a.weight.data_ptr()
    assert isinstance(twin.scale, nn.Parameter) and twin.scale.requires_grad
    back = pickle.loads(
        pickle.dumps(nn.Sequential(nn.Linear(2, 3), nn.MaxPool2d(2), nn.CrossEntropyLoss())))
    assert (repr(back) == repr(
        nn.Sequential(nn.Linear(2, 3), nn.MaxPool2d(2), nn.CrossEntropyLoss())))
    shallow = copy.copy(net)
    assert shallow.a is net.a and shallow.scale is net.scale
    shallow.more = nn.Parameter(whet.ones(1))
    del shallow.scale
    assert "more" not in dict(net.named_parameters()) and "scale" in dict(net.named_parameters())


def test_modules_are_freed_without_the_garbage_collector():
    import gc
    import weakref
    gc.disable()
    try:
        net = Net()
        net(whet.ones(2, 3)).sum().backward()
        gone = weakref.ref(net)
        del net
        assert gone() is None
    finally:
        gc.enable()


def test_conversion_keeps_parameters_and_integers():
    net = Net()
    p = net.a.weight
    net(whet.ones(2, 3)).sum().backward()
    net.double()
    assert net.a.weight is p and p.dtype is whet.float64 and p.grad.dtype is whet.float64
    assert (net.b[2].running_var.dtype is whet.float64
            and net.b[2].num_batches_tracked.dtype is whet.int64)
    net.to(whet.float16)
    assert p.dtype is whet.float16
    net.to(whet.ones(1, dtype=whet.float32))
    assert p.dtype is whet.float32
    net.bfloat16().float().half().to("cpu", whet.float32)
    with pytest.raises(TypeError, match="only accepts floating point"):
        net.to(whet.int32)
    with pytest.raises(TypeError, match="unexpected keyword"):
        net.to(nonsense=1)


def test_train_eval_zero_grad_requires_grad_apply():
    net = Net()
    assert net.eval() is net and not net.b[2].training
    assert net.train().b[2].training
    with pytest.raises(ValueError):
        net.train(1)
    net(whet.ones(2, 3)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert same(net.a.bias.grad, whet.zeros(4))
    net.zero_grad()
    assert net.a.bias.grad is None
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    names = []
    net.apply(lambda m: names.append(type(m).__name__))
    assert names == ["Linear", "Linear", "ReLU", "BatchNorm1d", "Sequential", "Net"]


def test_repr():
    assert repr(nn.Linear(2, 3)) == "Linear(in_features=2, out_features=3, bias=True)"
    assert repr(nn.Sequential()) == "Sequential()"
    assert repr(nn.Sequential(nn.ReLU(), nn.Conv2d(1, 2, 3, padding=1, bias=False))) == (
        "Sequential(\n  (0): ReLU()\n  (1): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), "
        "padding=(1, 1), bias=False)\n)")
    assert repr(nn.ModuleList([nn.ReLU(inplace=True)] * 3 + [nn.Dropout(0.1)])) == (
        "ModuleList(\n  (0-2): 3 x ReLU(inplace=True)\n  (3): Dropout(p=0.1, inplace=False)\n)")
    assert repr(nn.Parameter(whet.ones(1))).startswith("Parameter containing:\ntensor([1.]")


def test_unexpected_arguments():
    class M(nn.Module):
        def __init__(self):
            super().__init__(3)
    with pytest.raises(TypeError, match="unexpected argument"):
        M()
    with pytest.raises(NotImplementedError, match="forward"):
        nn.Module()(1)


def test_sequential():
    s = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3))
    assert len(s) == 3 and s[-1] is s[2] and len(s[1:]) == 2 and isinstance(s[:2], nn.Sequential)
    del s[1]
    assert list(s._modules) == ["0", "1"] and s[1].out_features == 3
    s.append(nn.ReLU()).insert(0, nn.Identity()).extend([nn.Tanh()])
    assert [type(m).__name__ for m in s] == ["Identity", "Linear", "Linear", "ReLU", "Tanh"]
    assert type(s.pop(0)).__name__ == "Identity" and len(s + s) == 8 and len(s * 2) == 8
    s[0] = nn.Tanh()
    assert isinstance(s[0], nn.Tanh)
    with pytest.raises(IndexError):
        s[9]
    named = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    assert named.first is named[0] and list(named[1:]._modules) == ["second"]


def test_module_list_and_dict():
    m = nn.ModuleList([nn.ReLU()])
    m += [nn.Tanh(), nn.Sigmoid()]
    assert len(m) == 3 and isinstance(m[-1], nn.Sigmoid) and isinstance(m[:2], nn.ModuleList)
    assert m.insert(0, nn.Identity()) is None
    assert isinstance(m[0], nn.Identity) and isinstance(m[3], nn.Sigmoid)
    d = nn.ModuleDict({"a": nn.ReLU(), "keys_": nn.Tanh()})
    d["c"] = nn.Linear(1, 1)
    assert list(d) == ["a", "keys_", "c"] and "a" in d and len(d) == 3
    d.update([("a", nn.Sigmoid())])
    assert isinstance(d["a"], nn.Sigmoid) and isinstance(d.pop("a"), nn.Sigmoid) and "a" not in d
    assert [n for n, _ in d.items()] == ["keys_", "c"]
    d.clear()
    assert not len(d)
    with pytest.raises(ValueError, match="length 3; 2 is required"):
        d.update([(1, 2, 3)])


def test_parameter_list_and_dict():
    p = nn.ParameterList([whet.ones(1), whet.ones(2)])
    p.append(whet.ones(3))
    assert ([tuple(x.shape) for x in p] == [(1,), (2,), (3,)]
            and all(isinstance(x, nn.Parameter) for x in p))
    assert list(p.state_dict()) == ["0", "1", "2"] and len(p[1:]) == 2
    assert tuple(p.pop().shape) == (3,) and len(p) == 2
    d = nn.ParameterDict({"a": whet.ones(1), "b": whet.ones(2)})
    d["values_"] = whet.ones(3)
    assert list(d.keys()) == ["a", "b", "values_"] and len(list(d.parameters())) == 3
    d |= {"c": whet.ones(4)}
    assert (tuple(d.pop("c").shape) == (4,) and d.get("zzz") is None
            and tuple(d.setdefault("e", whet.ones(5)).shape) == (5,))
    with pytest.raises(TypeError):
        d[1] = whet.ones(1)


def test_lazy_modules():
    x = whet.ones(2, 5)
    m = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    assert m[0].has_uninitialized_params() and "Uninitialized" in repr(m[0].weight)
    with pytest.raises(RuntimeError, match="uninitialized"):
        m[0].weight.shape  # noqa: B018
    copy.deepcopy(m)(x)
    y = m(x)
    assert (type(m[0]) is nn.Linear and m[0].in_features == 5 and y.shape == (2, 3)
            and type(m[1]) is nn.BatchNorm1d)
    assert type(m[0].weight) is nn.Parameter and "_hooks" not in m[0].__dict__
    fresh = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    fresh.load_state_dict(m.state_dict())
    assert same(fresh[0].weight, m[0].weight)
    fresh.eval()
    m.eval()
    assert same(fresh(x), m(x)) and type(fresh[0]) is nn.Linear
    with pytest.raises(RuntimeError, match="shape of an uninitialized parameter"):
        nn.Linear(5, 3).load_state_dict(nn.LazyLinear(3).state_dict())
    conv = nn.LazyConv2d(4, 3, groups=2)
    conv(whet.ones(1, 6, 5, 5))
    assert conv.in_channels == 6 and tuple(conv.weight.shape) == (4, 3, 3, 3)


def test_data_parallel_of_one():
    m = nn.DataParallel(nn.Linear(2, 2))
    assert (list(m.state_dict()) == ["module.weight", "module.bias"]
            and m(whet.ones(1, 2)).shape == (1, 2))


# ---- classes with a `__getattr__` of their own ---------------------------------------------------
class Asked(nn.Module):
    """Says what it was asked for."""

    def __init__(self):
        super().__init__()
        self.weight, self.inner = nn.Parameter(whet.ones(2)), nn.Linear(2, 2)
        self.register_buffer("offset", whet.ones(2))
        self.plain, self.names = 3.0, []

    def __getattr__(self, name):
        if "names" in self.__dict__:
            self.names.append(name)
        found = super().__getattr__(name)
        return found * 2 if name == "weight" else found

    def forward(self, x):
        return self.inner(x * self.weight + self.offset) * self.plain


def test_a_getattr_of_ones_own_is_asked_for_members():
    m = Asked()
    y = m(whet.ones(2))
    assert [n for n in m.names if n in ("weight", "inner", "offset", "plain")] \
        == ["inner", "weight", "offset"]
    assert y.tolist() == (m.inner(whet.full((2,), 3.0)) * 3).tolist()
    assert sorted(m.state_dict()) == ["inner.bias", "inner.weight", "offset", "weight"]
    assert [tuple(p.shape) for p in m.parameters()] == [(2,), (2, 2), (2,)]
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        m.other()


def test_a_traced_getattr_of_ones_own():
    m = Asked()
    m.names = None
    Quiet = type("Quiet", (Asked,), {"__getattr__": lambda self, name: nn.Module.__getattr__(
        self, name) * 2 if name == "weight" else nn.Module.__getattr__(self, name)})
    m.__class__ = Quiet
    f, x = whet.jit.trace(m), whet.ones(2)
    for i in range(6):
        if i == 3:
            with whet.no_grad():
                m.offset = whet.zeros(2)
        assert f(x).equal(m(x))
    assert f.explain(data=True)["calls"]["replayed"] >= 2


class Wrapped(nn.Module):
    """What it has not, its inner module has."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)


def test_a_module_in_place_of_another():
    m = Wrapped(nn.Linear(2, 3))
    assert m.weight is m.inner.weight and m.out_features == 3
    assert m.__getattr__("inner") is m.inner
    assert nn.Linear(2, 2).__getattr__("weight").shape == (2, 2)


class Tagged(nn.Parameter):
    def __new__(cls, data=None, requires_grad=True, tag=None):
        made = nn.Parameter.__new__(cls, data, requires_grad)
        made.tag = tag
        return made


def test_parameters_and_losses_of_ones_own():
    assert Tagged(whet.ones(2), tag="a").tag == "a"

    class Loss(nn.modules.loss._WeightedLoss):
        def __init__(self, weight=None, reduction="sum"):
            super().__init__(weight, reduction=reduction)

        def forward(self, x):
            return getattr(x * self.weight, self.reduction)()
    loss = Loss(whet.tensor([1.0, 2.0]))
    assert loss(whet.ones(2)).item() == 3 and "weight" in loss.state_dict()
    assert nn.modules.loss._Loss(reduction="none").reduction == "none"


def test_a_state_is_shown_as_the_ordered_dict_that_it_is():
    model = nn.Linear(1, 1)
    shown = str(model.state_dict())
    assert shown == str(OrderedDict(model.state_dict()))
    assert shown.startswith("OrderedDict(") and "'weight'" in shown and "tensor([[" in shown


def test_assigned_parameters_are_trained_where_those_before_were():
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad_(False)
    given = {"weight": nn.Parameter(whet.ones(2, 2)),
             "bias": nn.Parameter(whet.ones(2), requires_grad=False)}
    layer.load_state_dict(given, assign=True)
    assert layer.bias is given["bias"] and layer.bias.requires_grad
    assert layer.weight is given["weight"] and not layer.weight.requires_grad


def test_a_parametrized_weight_norm_loads_states_of_the_older_one():
    old = nn.utils.weight_norm(nn.Linear(3, 2))
    new = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 2)))
    new.load_state_dict({f"0.{name}": t for name, t in old.state_dict().items()})
    x = whet.randn(4, 3)
    assert whet.allclose(new(x), old(x))


@pytest.mark.parametrize("assign", [False, True])
def test_scalars_of_checkpoints_of_long_ago_have_one_dimension(assign):
    norm = nn.BatchNorm1d(2)
    state = norm.state_dict() | {"num_batches_tracked": whet.tensor([5])}
    norm.load_state_dict(state, assign=assign)
    assert norm.num_batches_tracked.shape == () and norm.num_batches_tracked == 5


def test_functions_refuse_parameters_without_a_shape():
    m = nn.LazyLinear(3)
    for f in (lambda w: w + 1, lambda w: w.sum(), lambda w: w.detach(), lambda w: w.uniform_(),
              lambda w: whet.nn.functional.linear(whet.ones(2, 2), w), lambda w: w.numel()):
        with pytest.raises(ValueError, match="uninitialized parameter in .*LazyModule"):
            f(m.weight)
    assert m.double().weight.dtype is whet.float64 and m.weight.is_floating_point()
    norm = nn.LazyBatchNorm1d().double()
    assert type(norm.running_mean) is nn.UninitializedBuffer
    assert norm(whet.ones(2, 3, dtype=whet.float64)).dtype is whet.float64
    assert list(norm.state_dict())[2:] == ["running_mean", "running_var", "num_batches_tracked"]
