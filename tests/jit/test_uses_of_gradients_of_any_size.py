"""What people do with results through which gradients flow, at sizes that no run had: eager's
gradients, graphs and errors."""
import gc
import math
import random
import threading

import pytest
import whet
from whet import jit, nn
from whet.jit.policy import account, many_sizes

SIZES = [1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 20, 31, 33, 40, 64, 65, 100, 130]
CALLS = 30
USES = {}                        # name -> what is done with (a model, its results, its argument)


def use(fn):
    """Register a use; what it gives must be what eager gives."""
    USES[fn.__name__] = fn
    return fn


def given(*shape):
    """Numbers that are the same at each call."""
    return whet.randn(*shape, generator=whet.Generator().manual_seed(3))


def network():
    whet.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 8))


def results(model):
    """A function that gives a tensor, sums, and a view."""
    def fn(x):
        h = model(x)
        return h.relu(), h.sum(1), h[:, ::2]
    return fn


@use
def of_one(model, out, x):
    out[random.Random(len(x)).randrange(3)].square().sum().backward()


@use
def of_all(model, out, x):
    (out[0].sum() + out[1].square().sum() + out[2].exp().sum()).backward()


@use
def one_after_the_other(model, out, x):
    for k, t in enumerate(out):
        t.sum().backward(retain_graph=k < 2)


@use
def a_second_time(model, out, x):
    for _ in range(2):
        out[0].square().sum().backward()


@use
def a_weight_was_written_to(model, out, x):
    with whet.no_grad():
        model[3].weight.mul_(1)
    out[0].square().sum().backward()


@use
def the_argument_was_written_to(model, out, x):
    with whet.no_grad():
        x.mul_(2)
    out[0].sum().backward()


@use
def a_result_is_written_to(model, out, x):
    for t in out[1:]:
        t.mul_(3)
    (out[1].sum() + out[2].sum()).backward()


@use
def hooks(model, out, x):
    seen = []
    out[1].register_hook(lambda g: seen.append(g.tolist()) or g * 2)
    handles = [model[0].weight.register_hook(lambda g: seen.append(g.sum().item())),
               model[0].bias.register_post_accumulate_grad_hook(
                   lambda p: seen.append(p.grad.tolist()))]
    out[1].retain_grad()
    (out[1] * 2).sum().backward()
    for handle in handles:
        handle.remove()
    return seen, out[1].grad.tolist()


@use
def of_some_inputs(model, out, x):
    other = whet.zeros(3, requires_grad=True)
    found = whet.autograd.grad(out[1].sum(), [x, model[0].bias, other], allow_unused=True)
    return [None if g is None else g.tolist() for g in found]


@use
def of_what_is_not_there(model, out, x):
    whet.autograd.grad(out[1].sum(), [x, whet.zeros(3, requires_grad=True)])


@use
def second_and_third_derivatives(model, out, x):
    g, = whet.autograd.grad(out[1].square().sum(), x, create_graph=True)
    h, = whet.autograd.grad(g.sum(), x, create_graph=True)
    h.square().sum().backward()


@use
def a_look_at_the_graph(model, out, x):
    seen, todo = [], [out[1].grad_fn]
    while todo:
        node = todo.pop()
        if node is not None:
            seen.append((node.name(), [a for a in dir(node) if a.startswith("_saved")]))
            todo += [n for n, _ in node.next_functions]
    out[1].sum().backward()
    return seen


@use
def a_parameter_is_frozen(model, out, x):
    model[0].weight.requires_grad_(False)
    out[1].sum().backward()
    model[0].weight.requires_grad_(True)


@use
def nothing(model, out, x):
    del out
    gc.collect()


@use
def gradients_that_lie_otherwise(model, out, x):
    out[0].backward(given(*out[0].shape[::-1]).t())


@use
def gradients_of_another_type(model, out, x):
    out[0].backward(given(*out[0].shape).double())


@use
def gradients_of_another_shape(model, out, x):
    out[0].backward(given(3, 3))


@use
def several_gradients_at_once(model, out, x):
    some = whet.eye(out[1].numel())[:3]
    return whet.autograd.grad(out[1], x, some, is_grads_batched=True)[0].tolist()


@use
def with_anomaly_detection(model, out, x):
    with whet.autograd.set_detect_anomaly(True):
        out[1].sum().backward()


@use
def on_another_thread(model, out, x):
    thread = threading.Thread(target=lambda: out[1].sum().backward())
    thread.start()
    thread.join()


def seen(traced, sizes, uses):
    """What each call gives, or raises, and the gradients after it."""
    model, found = network(), []
    f = jit.trace(results(model)) if traced else results(model)
    for k, (n, name) in enumerate(zip(sizes, uses)):
        whet.manual_seed(k)
        x = whet.randn(n, 8).requires_grad_()
        try:
            got = USES[name](model, f(x), x)
        except RuntimeError as e:
            got = str(e)
        grads = [p.grad for p in (*model.parameters(), x)]
        found.append((n, name, got, [None if g is None else g.numpy().tobytes() for g in grads]))
        if k % 3 == 0:
            model.zero_grad()
    return found, f


@pytest.mark.drawn(2)
@pytest.mark.parametrize("seed", range(16))
def test_uses_of_gradients_at_sizes_that_no_run_had(seed, monkeypatch):
    monkeypatch.setattr(account, "GRACE", math.inf)
    monkeypatch.setattr(many_sizes, "SOUNDING", 1 << 30)
    draw = random.Random(seed)
    sizes, uses = draw.choices(SIZES, k=CALLS), draw.choices([*USES], k=CALLS)
    (eager, _), (mine, f) = seen(False, sizes, uses), seen(True, sizes, uses)
    for a, b in zip(eager, mine):
        assert a == b
    assert f._calls.policy.summary().unseen > 2
