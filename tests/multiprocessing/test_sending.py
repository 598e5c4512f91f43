"""Tensors between processes: one memory at both ends, and nothing left of it."""
import os
import time

import pytest
import whet
import whet.multiprocessing as mp
from whet import nn

METHODS = ["fork", "spawn", "forkserver"]


def _answer(inbox, outbox, model):
    doubled, view = inbox.get(timeout=60)
    doubled.mul_(2)
    with whet.no_grad():
        for p in model.parameters():
            p.add_(1)
    outbox.put((doubled.is_shared(), view.tolist(), model.weight.requires_grad))


@pytest.mark.parametrize("method", METHODS)
def test_what_one_writes_the_other_reads(method):
    context = mp.get_context(method)
    inbox, outbox = context.Queue(), context.Queue()
    model = nn.Linear(3, 2)
    model.share_memory()
    before = model.weight.detach().clone()
    process = context.Process(target=_answer, args=(inbox, outbox, model))
    process.start()
    a, b = whet.ones(4), whet.arange(6).reshape(2, 3)
    inbox.put((a, b.t()[1]))
    assert outbox.get(timeout=60) == (True, [1, 4], True)
    process.join(60)
    assert process.exitcode == 0
    assert whet.equal(a, whet.full((4,), 2.0)) and a.is_shared() and not b.is_shared()
    assert whet.equal(model.weight, before + 1)


def _train(model, steps):
    optimizer = whet.optim.SGD(model.parameters(), lr=0.05)
    x = whet.linspace(-1, 1, 32).unsqueeze(1)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - (3 * x + 1)).square().mean()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_train_one_model(method):
    model = nn.Linear(1, 1)
    model.share_memory()
    context = mp.get_context(method)
    processes = [context.Process(target=_train, args=(model, 150)) for _ in range(2)]
    for p in processes:
        p.start()
    for p in processes:
        p.join(120)
        assert p.exitcode == 0
    assert abs(model.weight.item() - 3) < 0.2 and abs(model.bias.item() - 1) < 0.2
    assert model.weight.grad is None


def test_large_tensors_are_not_copied_again():
    big = whet.ones(25_000_000).share_memory_()
    here, there = mp.Pipe()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        here.send(big)
        got = there.recv()
        times.append(time.perf_counter() - began)
    got[7] = 5
    assert big[7].item() == 5 and min(times) < 0.02


def test_tensors_that_share_memory_share_it_at_the_other_end():
    base = whet.arange(6.0).share_memory_()
    here, there = mp.Pipe()
    here.send((base, base[2:4], whet.empty(0, 3)))
    a, b, empty = there.recv()
    b[0] = 9
    assert a[2].item() == 9 == base[2].item() and empty.shape == (0, 3)


def test_a_tensor_with_history_is_not_sent():
    here, _ = mp.Pipe()
    with pytest.raises(RuntimeError, match="detach"):
        here.send(whet.ones(2, requires_grad=True) * 2)
    leaf = whet.ones(2, requires_grad=True)
    here, there = mp.Pipe()
    here.send(leaf)
    assert there.recv().requires_grad


def test_small_tensors_share_a_mapping_and_a_fork_begins_another():
    held = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    tensors = [whet.full((5,), float(i)).share_memory_() for i in range(300)]
    if held:
        assert len(os.listdir("/proc/self/fd")) < held + 20
    outbox = mp.get_context("fork").SimpleQueue()

    def child():
        mine = [whet.full((5,), -1.0).share_memory_() for _ in range(300)]
        outbox.put(sum(t.sum().item() for t in mine))
    process = mp.get_context("fork").Process(target=child)
    process.start()
    assert outbox.get() == -1500
    process.join()
    assert all((t == i).all() for i, t in enumerate(tensors))


def _wait_or_fail(i, how):
    if i == 1:
        how()
    time.sleep(60)


def _raise():
    raise ValueError("number one")


def _exit():
    os._exit(7)


def test_the_first_error_ends_all():
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: number one") as e:
        mp.spawn(_wait_or_fail, (_raise,), nprocs=2)
    assert e.value.error_index == 1
    began = time.monotonic()
    with pytest.raises(mp.ProcessExitedException, match="exited with code 7") as e:
        mp.start_processes(_wait_or_fail, (_exit,), nprocs=3, start_method="fork")
    assert e.value.exit_code == 7 and time.monotonic() - began < 20


def test_processes_can_be_waited_for():
    waiting = mp.start_processes(time.sleep, (), nprocs=2, join=False, start_method="fork")
    assert len(waiting.pids()) == 2
    while not waiting.join(timeout=0.05):
        pass
    with pytest.raises(ValueError, match="none of"):
        mp.set_sharing_strategy("file_system")
