"""Row programs on devices, however their rows lie: the CPU's bits, and no copy to line them up."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cuda import pointwise
from whet.cuda import rows as on_device

from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]


def random(*shape, seed=0):
    return whet.tensor(np.random.default_rng(seed).standard_normal(shape).astype("f4"))


CALLS = {
    "sum": lambda x, d: x.sum(d), "mean": lambda x, d: x.mean(d, keepdim=True),
    "amax": lambda x, d: x.amax(d), "softmax": lambda x, d: x.softmax(d[0]),
    "argmax": lambda x, d: x.argmax(d[0]), "var": lambda x, d: x.var(d),
    "logsumexp": lambda x, d: x.logsumexp(d)}
VIEWS = {
    "as it is": lambda x: x, "turned": lambda x: x.permute(2, 0, 3, 1),
    "part": lambda x: x[:, 1:, ::2, 1:3], "channels last": lambda x: x.to(
        memory_format=whet.channels_last),
    "expanded": lambda x: x[:, :1].expand(-1, 4, -1, -1)}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("call", CALLS)
def test_rows_of_any_strides(gpus, call, view):
    x = random(3, 4, 5, 6)
    a, b = (VIEWS[view](t) for t in (x.cuda(), x))
    for dims in ((0,), (1,), (3,), (0, 2, 3), (1, 2), (0, 1, 2, 3)):
        got, want = CALLS[call](a, dims), CALLS[call](b, dims)
        same(got, want)


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 2, 3), (1, 3)])
def test_rows_are_not_lined_up_by_copies(gpus, monkeypatch, dims):
    x = random(3, 4, 5, 6).cuda()
    monkeypatch.setattr(pointwise, "copied", None)
    monkeypatch.setattr(on_device, "copied", None)
    x.sum(dims)


@pytest.mark.parametrize("shape,dims", [((40000,), (0,)), ((2, 35000), (1,)), ((9000, 3), (0,)),
                                        ((2, 9000, 3), (1,))])
def test_few_long_rows_are_shared_by_many_programs(gpus, shape, dims):
    x = random(*shape)
    for call in ("sum", "amax", "argmax", "var"):
        same(CALLS[call](x.cuda(), dims), CALLS[call](x, dims))
    if len(shape) == 2:
        same(x.cuda().softmax(dims[0]), x.softmax(dims[0]))


@pytest.mark.parametrize("shape", [(3, 3000), (40000,)])
def test_the_first_of_equal_extrema_is_the_position(gpus, shape):
    x = whet.tensor(np.random.default_rng(0).integers(0, 3, shape).astype("f4"))
    for flat in (x, x * 0):
        for call in (lambda x: x.argmax(-1), lambda x: x.argmin(-1), lambda x: x.max(-1).indices):
            same(call(flat.cuda()), call(flat))


def test_norms_and_their_gradients_of_images(gpus):
    x, w, b = random(3, 4, 5, 6), random(4, seed=1), random(4, seed=2)
    grads = []
    for device in ("cpu", "cuda"):
        xs = [t.detach().to(device).requires_grad_() for t in (x, w, b)]
        y = F.batch_norm(xs[0], None, None, xs[1], xs[2], training=True)
        z = F.group_norm(y, 2, xs[1], xs[2]) * F.instance_norm(xs[0])
        grads.append([y, z, *whet.autograd.grad(z.square().sum(), xs)])
    for got, want in zip(*grads[::-1], strict=True):
        same(got, want)
