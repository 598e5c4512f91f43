"""Programs that were written for many processes, in a group of one."""
import pytest
import whet
from whet import distributed as dist
from whet import nn
from whet.nn.parallel import DistributedDataParallel as DDP
from whet.utils.data import DataLoader, DistributedSampler, TensorDataset


@pytest.fixture
def alone():
    """A group of one, which ends with the test."""
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_without_a_group_there_is_nothing_to_ask(monkeypatch):
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    for ask in (dist.get_rank, dist.get_world_size, dist.get_backend, dist.barrier,
                dist.destroy_process_group, dist.new_group, lambda: dist.all_reduce(whet.ones(1)),
                lambda: DDP(nn.Linear(1, 1)), lambda: DistributedSampler(range(3))):
        with pytest.raises(ValueError, match="process group has not been initialized"):
            ask()
    with pytest.raises(ValueError, match="environment variable RANK expected, but not set"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="Invalid backend: 'glue'"):
        dist.init_process_group("glue", rank=0, world_size=1)


def test_the_environment_tells_of_the_group(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(NotImplementedError, match="world_size is 2"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group()
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo", rank=0, world_size=1)
    part = dist.new_group([0])
    assert dist.get_process_group_ranks(part) == [0] and dist.get_rank(part) == 0
    with pytest.raises(ValueError, match="world_size"):
        dist.new_group([0, 1])
    dist.destroy_process_group(part)
    assert dist.is_initialized()
    dist.destroy_process_group()
    assert not dist.is_initialized()


def test_what_a_member_sends_it_receives(alone):
    x, out = whet.arange(6.0), whet.zeros(6)
    for op in dist.ReduceOp:
        work = dist.all_reduce(x, op=op, async_op=True)
        assert work.wait() and work.is_completed() and x.tolist() == [0, 1, 2, 3, 4, 5]
    copies = [
        lambda: dist.all_gather([out], x),
        lambda: dist.all_gather_into_tensor(out, x.reshape(1, 6)),
        lambda: dist.gather(x, [out]),
        lambda: dist.scatter(out, [x]),
        lambda: dist.reduce_scatter(out, [x]),
        lambda: dist.reduce_scatter_tensor(out, x),
        lambda: dist.all_to_all([out], [x]),
        lambda: dist.all_to_all_single(out, x)]
    for copy in copies:
        out.zero_()
        assert copy() is None and out.tolist() == x.tolist()
    made, sent = [None], {"a": [1]}
    dist.all_gather_object(made, sent)
    assert made == [sent] and made[0] is not sent
    dist.broadcast_object_list(made, src=0)
    dist.scatter_object_list(objects := [None], [3])
    assert made == [sent] and objects == [3]
    assert dist.broadcast(x, 0) is dist.reduce(x, 0) is dist.barrier() is None


@pytest.mark.parametrize("call, error, words", [
    (lambda x: dist.all_gather([x, x], x), ValueError, "tensor_list must have a tensor for each"),
    (lambda x: dist.all_gather([whet.ones(3)], x), ValueError, "3 elements, and input 2"),
    (lambda x: dist.all_gather([x.double()], x), TypeError, "must have one type"),
    (lambda x: dist.broadcast(x, 1), ValueError, "Global rank 1 is not part of group"),
    (lambda x: dist.gather(x), ValueError, "gather_list"),
    (lambda x: dist.scatter(x), ValueError, "scatter_list"),
    (lambda x: dist.send(x, 0), ValueError, "Invalid destination rank"),
    (lambda x: dist.recv(x, 0), ValueError, "Invalid source rank"),
    (lambda x: DDP(nn.ReLU()), RuntimeError, "is not needed")])
def test_what_cannot_be_raises(alone, call, error, words):
    with pytest.raises(error, match=words):
        call(whet.ones(2))


def trained(trace):
    """The losses of a loop as programs for many processes have it, and the model."""
    whet.manual_seed(0)
    model = DDP(nn.Linear(4, 2))
    optimizer = whet.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(whet.randn(24, 4), whet.randn(24, 2))
    sampler = DistributedSampler(data, shuffle=True, seed=3)

    @trace
    def step(x, y):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        dist.all_reduce(total, op=dist.ReduceOp.SUM)
        return total / dist.get_world_size()
    losses = []
    for epoch in range(3):
        sampler.set_epoch(epoch)
        losses += [step(x, y).item() for x, y in DataLoader(data, 6, sampler=sampler)]
        with model.no_sync():
            dist.barrier()
    return losses, model, step


def test_a_loop_for_many_processes(alone):
    losses, model, _ = trained(lambda f: f)
    assert losses[-1] < losses[0]
    assert sorted(model.state_dict()) == ["module.bias", "module.weight"]
    again, _, step = trained(whet.jit.trace)
    assert again == losses and step._policy.summary().replayed


def test_a_trace_goes_by_the_group(alone):
    f = whet.jit.trace(lambda x: x * (2 if dist.is_initialized() else 3))
    assert [f(whet.ones(1)).item() for _ in range(4)] == [2.0] * 4
    dist.destroy_process_group()
    assert [f(whet.ones(1)).item() for _ in range(4)] == [3.0] * 4
