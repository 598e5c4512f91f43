"""Elements at places that indices name, sorted rows and scans on simulated devices: the CPU's bits,
whatever the order in which programs run; bad indices become eager's errors."""
import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cuda import device_state
from whet.cuda.simulated.driver import SimulatedDriver
from whet.passes.lower_triton import indexed, sorted_rows

from tests.cuda import compiles
from tests.cuda.planted_faults import Fault
from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = [needs_triton, pytest.mark.usefixtures("no_host")]


def both(call, *tensors):
    """The same call on the CPU and on a device."""
    want = call(*tensors)
    got = call(*[t.cuda() for t in tensors])
    for a, b in zip(*[x if isinstance(x, tuple) else (x,) for x in (got, want)], strict=True):
        same(a, b)


DTYPES = (whet.float32, whet.float16, whet.bfloat16, whet.float64, whet.int64, whet.uint8,
          whet.bool)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_read_and_put_in_the_order_of_the_index(gpus, dtype):
    x = (whet.randn(7, 5) * 10).abs().to(dtype)
    i = whet.randint(7, (40,))
    v = (whet.randn(40, 5) * 10).abs().to(dtype)
    both(lambda x, i, v: x[i], x, i, v)
    for _ in range(2):                      # in memory that is new, and in memory that is not
        both(lambda x, i, v: x.clone().index_put_((i,), v), x, i, v)
    both(lambda x, i, v: x.t().index_copy(1, i, v.t()), x, i, v)
    if dtype is not whet.bool:
        both(lambda x, i, v: x.index_add(0, i, v), x, i, v)
        both(lambda x, i, v: x.scatter_reduce(0, i[:, None].expand(40, 5), v, "mean"), x, i, v)


def test_sums_meet_in_the_order_of_the_index_and_no_other():
    """Of numbers whose sum depends on their order, on schedules of many seeds."""
    v = whet.tensor([1e8, 1.0, -1e8, 1.0] * 30)
    i = whet.zeros(120, dtype=whet.int64)
    want = whet.zeros(2).scatter_add(0, i, v)
    assert want[0] != whet.zeros(2).scatter_add(0, i, v.flip(0))[0]
    for seed in range(5):
        with device_state.use(SimulatedDriver(seed)):
            same(whet.zeros(2).cuda().scatter_add(0, i.cuda(), v.cuda()), want)


def test_what_was_there_counts_only_where_it_is_to(gpus):
    x, i, v = whet.randn(5), whet.tensor([1, 1, 3]), whet.randn(3)
    for kind in ("sum", "amax", "mean"):
        both(lambda x, i, v, k=kind: x.scatter_reduce(0, i, v, k, include_self=False), x, i, v)


def test_indices_of_all_kinds_name_places(gpus):
    x, i, j = whet.randn(3, 4, 5), whet.tensor([[0, -1, 2]]), whet.tensor([[1], [-4]])
    both(lambda x, i, j: x[i, j], x, i, j)
    both(lambda x, i, j: x[:, i, j], x, i, j)
    both(lambda x, i, j: x[i, :, j], x, i, j)
    both(lambda x, i, j: x.permute(2, 0, 1)[:, i], x, i, j)
    both(lambda x, i, j: x.gather(1, i[:, :, None] .abs()), x, i, j)
    both(lambda x, i, j: x.take(i), x, i, j)
    both(lambda x, i, j: x[i.to(whet.int32)], x, i, j)
    both(lambda x, i, j: x[[0, 2], 1:] + x[whet.tensor([1, 1])][:, 1:], x, i, j)
    mask = x > 0.3
    both(lambda x, m: x[m], x, mask)
    both(lambda x, m: x.masked_select(m), x, mask)
    both(lambda x, m: whet.nonzero(m), x, mask)
    both(lambda x, m: x[m[:, 0, 0]], x, mask)

    def written(x, m):
        x = x.clone()
        x[m] = 7.0
        x[:, whet.tensor([1, 1], device=x.device)] = x[:, :2] + 1
        return x
    both(written, x, mask)


def test_gradients_of_reads_and_writes_are_the_cpus(gpus):
    def gradient(w, i):
        w = w.detach().requires_grad_()
        y = whet.nn.functional.embedding(i, w)
        z = w.index_select(1, i[0]).cumsum(1).sort(1).values.topk(2).values
        (y.square().sum() + z.sum() + w.gather(0, i[:, :1].expand(2, 3)).prod()
         + w.cummax(0).values.sum() + w.median()).backward()
        return w.grad
    both(gradient, whet.randn(6, 4), whet.tensor([[3, 1, 3], [0, 2, 3]]))


BAD = {
    "index": (lambda x, i: x[i], IndexError, "index 9 is out of bounds for dimension 0 with"),
    "gather": (lambda x, i: x.gather(0, i), RuntimeError, "index 9 is out of bounds for dim"),
    "index_select": (lambda x, i: x.index_select(0, i), IndexError, "index 9 is out of bounds"),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x[:3]), RuntimeError, "index 9 is out of"),
    "index_put": (lambda x, i: x.index_put_((i,), x[:3]), IndexError, "index 9 is out of bounds")}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_index_is_eagers_error_at_the_next_wait(gpus, name):
    call, error, words = BAD[name]
    x, i = whet.arange(4.), whet.tensor([0, 9, -7] if name == "index" else [0, 9, 1])
    with pytest.raises(error, match=words):
        call(x.clone(), i)
    y = x.cuda()
    call(y, i.cuda())                                   # nobody has waited
    with pytest.raises(error, match=f"{words}.*by `{name}`, which cuda:0 was given before"):
        y.sum().item()
    whet.cuda.synchronize()                             # it is said once, and the device goes on
    same(y[whet.tensor([1]).cuda()] + 0, y.cpu()[1:2])


def test_an_error_of_another_stream_is_told_by_those_who_wait_for_it(gpus):
    x, s = whet.arange(4.).cuda(), whet.cuda.Stream()
    i = whet.tensor([5]).cuda()
    s.wait_stream(whet.cuda.current_stream())
    with whet.cuda.stream(s):
        x[i]
    assert x.sum().item() == 6
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        s.synchronize()


@pytest.mark.parametrize("kind", ("sum", "prod", "mean", "amax"))
@pytest.mark.parametrize("dim", (0, 1, 2))
def test_values_meet_within_rows(gpus, dim, kind):
    x, values = whet.randn(3, 4, 50), whet.randn(3, 4, 70 if dim == 2 else 50)
    i = whet.randint(0, x.shape[dim], values.shape)
    both(lambda x, i, v: x.scatter_reduce(dim, i, v, kind, include_self=kind != "prod"),
         x, i, values)


@pytest.mark.parametrize("dtype", (whet.float32, whet.bfloat16, whet.float64, whet.int32,
                                   whet.uint8, whet.bool))
def test_rows_are_put_in_order(gpus, dtype):
    x = (whet.randn(3, 200) * 3).to(dtype)
    if dtype.is_floating_point:
        x[1, ::7], x[2, ::5], x[0, 3], x[0, 4] = float("nan"), -0.0, 0.0, float("inf")
    for descending in (False, True):
        both(lambda x, d=descending: tuple(x.sort(1, d)), x)
    if dtype is not whet.bool:       # which of them is the larger one is not asked of those
        both(lambda x: tuple(x.t().topk(5, 0)), x)
    both(lambda x: tuple(x.kthvalue(150)), x)
    both(lambda x: tuple(x.median(1)), x)
    both(lambda x: tuple(x.nanmedian(1)), x)
    both(lambda x: tuple(x.mode(1)), x)


def test_values_are_found_in_sorted_rows(gpus):
    rows, values = whet.randint(9, (3, 70)).sort(1).values, whet.randint(11, (3, 20))
    for right in (False, True):
        both(lambda r, v, right=right: whet.searchsorted(r, v, right=right), rows, values)
    both(lambda r, v: whet.bucketize(v, r[0]), rows, values)


def test_distinct_values_and_counts(gpus):
    x = whet.randint(5, (4, 9))
    for consecutive in (whet.unique, whet.unique_consecutive):
        both(lambda x, f=consecutive: f(x, return_inverse=True, return_counts=True), x)
        both(lambda x, f=consecutive: f(x), x.float() - 2)
    both(lambda x: x[0].bincount(minlength=3), x)
    both(lambda x, w: x[1].bincount(w), x, whet.randn(9))
    both(lambda x: x.tril(1).triu(-1), x)


@pytest.mark.parametrize("shape, dim", (((3, 20, 2), 1), ((2, 17), 1)))
def test_running_results_are_joined_in_the_cpus_order(gpus, shape, dim):
    x = whet.randn(*shape)
    both(lambda x: x.cumsum(dim), x)
    if x.numel() < 1000:
        both(lambda x: x.to(whet.bfloat16).cumprod(dim), x)
        both(lambda x: (x * 3).to(whet.int32).cumsum(dim), x)
        both(lambda x: whet.logcumsumexp(x, dim), x)
        x[..., :1] = float("nan")
        both(lambda x: tuple(x.cummin(dim)), x)
        both(lambda x: tuple((x * 2).long().cummax(dim)), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_are_repeated(gpus, dtype):
    x = (whet.randn(2, 3, 5) * 10).abs().to(dtype)
    for repeats in (0, 1, 3):
        for dim in (0, 1, 2, None):
            both(lambda x, n=repeats, d=dim: x.repeat_interleave(n, d), x)
    both(lambda x: x.mT[:, ::2].repeat_interleave(2, 1), x)
    both(lambda x: x[:0].repeat_interleave(2, 0), x)
    if dtype.is_floating_point:
        both(lambda x: whet.autograd.grad((y := x.clone().requires_grad_())
                                          .repeat_interleave(3, 1).square().sum(), y)[0], x)


@pytest.mark.parametrize("mode", ("sum", "mean", "max"))
@pytest.mark.parametrize("width", (0, 1, 3, 40))
def test_rows_of_bags_are_added_in_the_cpus_order(gpus, mode, width):
    i, table = whet.randint(0, 50, (6, width)), whet.randn(50, 19)
    table[3] = -0.0
    for dtype in (whet.float32, whet.float64, whet.float16):
        both(lambda i, t: F.embedding_bag(i, t, mode=mode), i, table.to(dtype))
    if width:
        both(lambda i, t: F.embedding_bag(i, t, mode=mode, padding_idx=3), i, table)
        both(lambda i, t, at: F.embedding_bag(i.reshape(-1), t, at, mode=mode), i, table,
             whet.arange(0, 6 * width, width))


# ---- planted faults ------------------------------------------------------------------------------
FAULTS = {
    "a value that comes first stays": Fault(indexed, "lower_put", {"== number)": "!= number)"}),
    "sums from a segment's second value on": Fault(indexed, "lower_combine", {"j += 1": "j += 2"}),
    "values of the first row": Fault(indexed, "lower_combine", {" + j // row * row": ""}),
    "runs that are joined unstably":
        Fault(sorted_rows, "lower_merge", {"run % 2 == 1": "run % 2 == 0"}),
    "an index that is not looked at": Fault(indexed, "lower_take", {">= size0": ">= size0 + 9"})}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(gpus, monkeypatch, fault):
    FAULTS[fault].plant(monkeypatch)
    x, i, v = whet.randn(5), whet.tensor([1, 1, 3, 1, 0] * 14), whet.randn(70)
    with pytest.raises((AssertionError, whet.cuda.CudaError)):
        both(lambda x, i, v: x.clone().index_put_((i,), v), x, i, v)
        both(lambda x, i, v: x.index_add(0, i, v), x, i, v)
        both(lambda x, i, v: x.reshape(5, 1).scatter_add(1, i.reshape(5, 14) * 0,
                                                         v.reshape(5, 14)), x, i, v)
        both(lambda x, i, v: tuple(i.sort()), x, i, v)
        with pytest.raises(IndexError):
            x.cuda()[i.cuda() + 4].cpu()


def test_these_kernels_compile_for_gpus(gpus):
    """Some of them here; `python -m tests.cuda.compiles` has all, for four targets."""
    x, i = whet.randn(4, 70).cuda(), whet.tensor([2, 0, -1]).cuda()
    x[i], x.index_add(0, i.abs(), x[:3]), x.clone().index_put_((i,), x[:3]), x[x > 0]
    x.sort(1), whet.searchsorted(x, x), x.cumsum(1), x.cummax(0), whet.logcumsumexp(x, 1)
    sources = {source for _, source, _ in gpus.kernels}
    names = {s.name for s in sources}
    assert {"take_kernel", "places_kernel", "put_kernel", "claims_kernel", "combine_sum_kernel",
            "compress_kernel", "runs_kernel", "merge_kernel", "search_kernel", "scan_sum_totals",
            "scan_sum_carries", "scan_sum_bases", "scan_sum_results", "scan_max_kernel",
            "scan_logsumexp_totals"} <= names
    compiles.check([s for s in sources if s.name in ("places_kernel", "put_kernel")], (90,))


def test_the_mask_of_a_walk_matters(gpus):
    """Elements beyond the end are neither read nor written: a fence would be."""
    for n in (1, 1023, 1025):
        x, i = whet.randn(n), whet.arange(n).flip(0)
        both(lambda x, i: x[i], x, i)
    assert np.isfinite(x.numpy()).all()


def test_lookups_and_losses_do_not_wait(gpus, monkeypatch):
    """Indices and classes are checked where they are read; whoever waits next is told."""
    import whet.nn.functional as F
    w, x = whet.randn(5, 40), whet.randn(3, 5)
    i, t = whet.tensor([4, 0, 2]), whet.tensor([1, -100, 4])
    there = [a.cuda() for a in (w, x, i, t)]
    F.embedding(there[2], there[0])         # what kernels note bad data in is laid out once
    monkeypatch.setattr(gpus.driver, "copy_and_wait", None)
    rows = F.embedding(there[2], there[0])
    loss = F.cross_entropy(there[1], there[3])
    monkeypatch.undo()
    same(rows, F.embedding(i, w))
    same(loss, F.cross_entropy(x, t))
    for bad in (5, -1):
        for call in (lambda: F.embedding(whet.tensor([bad]).cuda(), there[0]),
                     lambda: F.cross_entropy(there[1], whet.tensor([0, bad, 1]).cuda())):
            with pytest.raises((IndexError, RuntimeError), match=f"index {bad} is out of"):
                call().cpu()
