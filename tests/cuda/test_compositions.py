"""What is made of several ops works on a device, and its result is there: tables, steps and random
numbers that a function makes for itself must not be left on the CPU."""
import pickle

import pytest
import whet
import whet.nn as nn
import whet.nn.functional as F

from tests.cuda import compositions
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.filterwarnings("ignore")]
C = "cuda"
OPTIMIZERS = ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam",
              "Rprop", "ASGD", "Adafactor")


def names():
    """What expressions may use, anew."""
    def r(*size):
        return whet.randn(*size, device=C, requires_grad=True)

    def i(*size, n=3):
        return whet.randint(0, n, size, device=C)
    return {"whet": whet, "nn": nn, "F": F, "D": whet.distributions, "C": C, "r": r, "i": i,
            "o": lambda *size: whet.ones(*size, device=C),
            "z": lambda *size: whet.zeros(*size, device=C)}


def numbers():
    """The same, and a matrix, a vector and a batch of matrices that want no gradients."""
    found = names()
    found["r"] = lambda *size: whet.randn(*size, device=C)
    return found | {"x": found["r"](4, 4), "v": found["r"](5), "b": found["r"](2, 3, 4)}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("call", compositions.expressions(compositions.FUNCTIONS))
def test_functions(gpus, call):
    assert eval(call, numbers()).is_cuda


@pytest.mark.drawn(2)
@pytest.mark.parametrize("call", compositions.expressions(compositions.MODULES))
def test_modules_forward_and_backward(gpus, call):
    y = eval(call, names())
    assert y.is_cuda
    if y.requires_grad:
        y.sum().backward()


@pytest.mark.drawn(2)
@pytest.mark.parametrize("make", compositions.expressions(compositions.DISTRIBUTIONS))
def test_distributions(gpus, make):
    d = eval(make, names())
    sample = d.sample((2,))
    assert sample.is_cuda and d.log_prob(sample).is_cuda
    if getattr(d, "has_enumerate_support", False):
        assert d.enumerate_support().is_cuda


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(gpus, name):
    p = nn.Parameter(whet.randn(3, 4, device=C))
    optimizer = getattr(whet.optim, name)([p], lr=0.1)

    def loss():
        optimizer.zero_grad()
        found = (p * p).sum()
        found.backward()
        return found
    for _ in range(2):
        optimizer.step(loss)
    optimizer.load_state_dict(optimizer.state_dict())
    assert p.is_cuda and all(s.is_cuda for s in optimizer.state[p].values()
                             if whet.is_tensor(s) and s.ndim)


def test_transforms(gpus):
    from whet import func
    m, x = nn.Linear(3, 2).to(C), whet.randn(5, 3, device=C)

    def loss(p, x):
        return func.functional_call(m, p, (x,)).pow(2).sum()
    each = func.vmap(func.grad(loss), (None, 0))(dict(m.named_parameters()), x)
    assert each["weight"].shape == (5, 2, 3) and each["weight"].is_cuda
    for jacobian in (func.jacrev, func.jacfwd):
        assert jacobian(lambda x: x.sin())(x[0]).is_cuda
    assert func.hessian(lambda x: (x ** 3).sum())(x[0]).is_cuda


def test_mixed_precision(gpus):
    m, x = nn.Linear(8, 4).to(C), whet.randn(5, 8, device=C)
    scaler, optimizer = whet.amp.GradScaler(init_scale=64.0), whet.optim.SGD(
        m.parameters(), lr=0.1)
    assert scaler.is_enabled()
    with whet.autocast("cuda"):
        y = m(x)
        assert whet.is_autocast_enabled("cuda") and not whet.is_autocast_enabled("cpu")
        assert (whet.randn(2, 3) @ whet.randn(3, 2)).dtype is whet.float32
    assert y.dtype is whet.float16 and whet.get_autocast_dtype("cuda") is whet.float16
    before = m.weight.detach().clone()
    scaler.scale(y.float().sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert not m.weight.equal(before) and m.weight.dtype is whet.float32
    with whet.autocast("cpu"):
        assert m(x).dtype is whet.float32


def test_pickles_and_pinned_batches(gpus):
    m = pickle.loads(pickle.dumps(nn.Linear(3, 2).to(C)))
    assert m.weight.is_cuda and isinstance(m.weight, nn.Parameter) and m.weight.requires_grad
    data = whet.utils.data.TensorDataset(whet.randn(6, 3), whet.arange(6))
    for x, y in whet.utils.data.DataLoader(data, batch_size=4, pin_memory=True):
        assert x.is_pinned() and y.is_pinned()
