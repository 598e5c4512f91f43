"""What ops do on devices is found out once: later calls with operands that are alike take the steps
for other memory, other numbers, other streams."""
import random

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.cuda import plan_code, plans, pointwise
from whet.ir import scalar as S
from whet.ops.convert import move_op

from tests.cuda.sweep import same
from tests.triton_runs import needs_triton

pytestmark = needs_triton


def kept(gpus):
    """How many plans there are; none may be void."""
    found = {key: plan for key, plan in gpus.plans.items() if key[0] is not move_op}
    assert all(plan.run is not None for plan in found.values())
    return len(found)


def test_a_plan_is_found_out_once(gpus, no_host):
    x, y = whet.randn(3, 4).cuda(), whet.randn(3, 4).cuda()
    first = x + y
    same(first, x.cpu() + y.cpu())
    there = kept(gpus)
    for a, b in ((y, x), (x, x), (first, y)):
        same(a + b, a.cpu() + b.cpu())
        assert kept(gpus) == there
    same(x + y.t().contiguous().t(), x.cpu() + y.cpu())
    assert kept(gpus) > there


@pytest.mark.parametrize(
    "numbers", [(2.5, -0.0, 0.0, float("inf"), 1e-45), (3, -7, 1 << 40), (True,)])
def test_numbers_are_told_at_each_call(gpus, no_host, numbers):
    x = whet.tensor([[1.5, -2.0], [0.0, float("nan")]])
    there = x.cuda()
    plans_at = []
    for number in (*2 * numbers[:1], *3 * numbers):
        same(there * number, x * number)
        same(there.clone().fill_(number), x.clone().fill_(number))
        same(whet.full((3,), number, device="cuda", dtype=whet.float64),
             whet.full((3,), number, dtype=whet.float64))
        plans_at.append(kept(gpus))
    assert plans_at[-1] <= plans_at[0] + 1          # fill_ has two ways


def test_the_default_type_decides_about_results(gpus, no_host):
    x = whet.arange(5)
    there = x.cuda()
    try:
        for dtype in (whet.float32, whet.float64, whet.float32):
            whet.set_default_dtype(dtype)
            same(there / 2, x / 2)
            same(there.exp(), x.exp())
            assert (there / 2).dtype is dtype
    finally:
        whet.set_default_dtype(whet.float32)


def test_types_and_devices_have_plans_of_their_own(gpus, no_host):
    x = whet.tensor([1.0, -2.0, 3.0])
    for _ in range(2):
        for dtype in (whet.float32, whet.int32, whet.float64, whet.int64):
            for index in (0, 1):
                there = x.to(dtype).to(f"cuda:{index}")
                got = there * 3 + there
                assert got.device.index == index
                full = whet.full((3,), 2, dtype=dtype, device=f"cuda:{index}")
                assert full.device.index == index and full.tolist() == [2] * 3
                same(got, x.to(dtype) * 3 + x.to(dtype))


def test_what_a_plan_gives_is_made_anew_at_each_call(gpus):
    """Also where the op makes it of constants alone."""
    from whet.cuda.transfers import to_device
    x = whet.ones(3).cuda()._array
    for _ in range(3):
        made = plans.planned("constant", 0, [x], {}, lambda xs: to_device(np.arange(3), 0, False))
        assert made.tolist() == [0, 1, 2]
        made.fill(7)


def test_attributes_that_are_equal_are_not_always_the_same(gpus, no_host):
    """-0.0 is equal to 0.0, True to 1."""
    x = whet.tensor([-1.0, 0.0, 1.0])
    for low in (0.0, -0.0, 0, False):
        same(x.cuda().clamp(min=low), x.clamp(min=low))
        same(F.pad(x.cuda(), (1, 1), value=low), F.pad(x, (1, 1), value=low))


def test_operands_that_lie_on_one_another_have_no_plan(gpus, no_host):
    x, there = whet.arange(5000.0), whet.arange(5000.0).cuda()       # several programs
    for a in (x, there):
        a[1:] += a[:-1]
        a[:-2].mul_(a[2:])
        a += a
    same(there, x)


def test_formats_are_attributes_and_a_view_is_not_copied_onto_itself(gpus, no_host):
    x = whet.randn(2, 3, 4, 5)
    there = x.cuda()
    same(there.transpose(1, 2).contiguous(), x.transpose(1, 2).contiguous())
    a = there.contiguous(memory_format=whet.channels_last)
    assert a.stride() == x.contiguous(memory_format=whet.channels_last).stride()
    before = kept(gpus)
    for t in (x, there):
        t[:, 1] += 1
    same(there, x)
    assert kept(gpus) <= before + 3


def test_other_addresses_other_plans(gpus, no_host):
    """Vectors of elements are read where all addresses are multiples of 16 only."""
    x = whet.arange(64.0)
    there = x.cuda()
    for first in range(6):
        same(there[first:first + 32] * 2, x[first:first + 32] * 2)


def test_memory_that_is_let_go_of_is_given_back(gpus, monkeypatch):
    """A plan that asks for memory for a time lets go of it in time, and not before. (It may hold
    what lies in one block a little longer.) The call without a plan comes first: machine code
    would repeat it by the plan that there is."""
    x = whet.randn(1, 4096)
    there, want = x.cuda(), x.sort(1).values

    def peak():
        whet.cuda.reset_peak_memory_stats()
        same(there.sort(1).values, want)
        return whet.cuda.max_memory_allocated()
    with monkeypatch.context() as without:
        without.setattr(plans, "planned", lambda what, index, arrays, attrs, body, by_value=True:
                        body(arrays))
        unplanned = peak()
    assert not gpus.plans
    peaks = [peak() for _ in range(3)]
    assert kept(gpus)
    assert peaks == peaks[:1] * 3 and peaks[0] <= 1.5 * unplanned


def test_a_plan_is_for_every_stream(gpus_of):
    """Constants are there before any stream reads them."""
    x, w = whet.randn(1, 2, 6, 6), whet.randn(3, 2, 2, 2)
    want = F.conv2d(x, w)
    for seed in range(10):
        gpus_of(seed)
        there = x.cuda(), w.cuda()
        whet.cuda.synchronize()
        made = []
        for _ in range(2):
            with whet.cuda.stream(whet.cuda.Stream()):
                made.append((F.conv2d(*there), whet.cuda.current_stream()))
        for y, s in made[::-1]:
            with whet.cuda.stream(s):
                same(y, want)


def test_values_that_are_equal_are_told_apart():
    values = 0.0, -0.0, 1, True, 1.0, (1, 0.0), (1, -0.0), [1, 0.0]
    assert len({plans.key_part(v) for v in values}) == len(values)


def test_numbers_that_decide_about_kernels_are_told(gpus, no_host):
    x = whet.randn(4, 6)
    there, i = x.cuda(), whet.tensor([1, 1, 0])
    for number in (1e-5, 0.5, 1e-5, 2.0):
        same(F.layer_norm(there, (6,), eps=number), F.layer_norm(x, (6,), eps=number))
        a, b = there.clone(), x.clone()
        a[i.cuda()] = b[i] = number
        same(a, b)


def test_a_number_that_a_kernel_is_not_told_of_has_no_plan(gpus):
    x = whet.ones(3).cuda()._array
    for number in (2.0, 3.0):
        made = plans.planned("times", 0, [x, number], {}, lambda xs: pointwise.compute(
            pointwise.Expressions("times", (S.arg(0) * S.arg(1),)),
            [xs[0], np.asarray(xs[1], "f4")], 0)[0], by_value=False)
        assert made.tolist() == [number] * 3


def test_plans_of_another_time_are_forgotten(gpus, monkeypatch):
    monkeypatch.setattr(plans, "MOST", 4)
    for n in range(1, 12):
        x = whet.randn(n)
        same(x.cuda() * 2, x * 2)
    assert len(gpus.plans) <= 4


def test_bad_data_is_told_at_each_call(gpus):
    x = whet.randn(5, 3).cuda()
    for bad in (7, None, -9, None):
        index = whet.tensor([0, 2 if bad is None else bad]).cuda()
        if bad is None:
            same(x[index], x.cpu()[index.cpu()])
        else:
            with pytest.raises(IndexError, match=f"index {bad} is out of bounds"):
                x[index].cpu()


def test_random_calls_are_the_cpus(gpus, no_host):
    """Calls in any order, of operands that are alike and operands that are not."""
    chance = random.Random(0)
    calls = [
        lambda a, b: a + b, lambda a, b: a * 2, lambda a, b: a.sum(0), lambda a, b: a.softmax(-1),
        lambda a, b: a @ b.mT, lambda a, b: a.t(), lambda a, b: whet.cat([a, b]),
        lambda a, b: a.clone().add_(b, alpha=3), lambda a, b: whet.where(a > b, a, 0.5),
        lambda a, b: a[..., 1:] - b[..., :-1], lambda a, b: a.cumsum(1)]
    shapes = [(3, 4), (4, 3), (5, 4)]
    values = {s: [whet.tensor(np.random.default_rng(k).standard_normal(s).astype("f4"))
                  for k in range(3)] for s in shapes}
    there = {s: [a.cuda() for a in made] for s, made in values.items()}
    for _ in range(60):
        call, s = chance.choice(calls), chance.choice(shapes)
        i, j, turned = chance.randrange(3), chance.randrange(3), chance.random() < 0.3
        pairs = [(v[s][i], v[s][j]) for v in (there, values)]
        if turned:
            pairs = [(a.t(), b.t()) for a, b in pairs]
        same(*(call(a, b) for a, b in pairs))


@pytest.mark.parametrize("seed", range(20))
def test_memories_that_are_there_together_lie_apart(seed):
    draw, steps, alive, number = random.Random(seed), [], [], 0
    for _ in range(60):
        if alive and draw.random() < 0.5:
            steps.append(plan_code.Drop(alive.pop(draw.randrange(len(alive)))))
        else:
            steps.append(plan_code.Ask(number, draw.choice([0, 1, 511, 512, 513, 70000]), ""))
            alive.append(number)
            number += 1
    room, there = plan_code.shared_room(steps), {}
    gone = {s.memory for s in steps if type(s) is plan_code.Drop}
    assert set(room.places) == (gone if len(gone) > 1 else set())
    for s in steps:
        if type(s) is plan_code.Drop:
            there.pop(s.memory, None)
        elif s.memory in room.places:
            at, size = room.places[s.memory], max(s.size, 1)
            assert at % 512 == 0 and at + size <= room.size
            assert all(at + size <= low or high <= at for low, high in there.values())
            there[s.memory] = at, at + size
