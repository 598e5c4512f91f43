"""Calls of several sizes that vary: two recordings are of one size by chance, and what is planned
from them does not go by it. Each call is compared with eager mode's."""

import pytest
import whet
from whet.ir.symbolic_size import Unsized
from whet.jit.replay import families

from tests.jit.test_families_of_steps import Twice

pytestmark = pytest.mark.usefixtures("never_sounded")


def attention(checkpoint=False):
    project = whet.nn.Linear(8, 8)
    optimizer = whet.optim.SGD(project.parameters(), 0.1)

    def layer(x):
        b, s, _ = x.size()
        k = project(x).view(b, s, 2, 4).transpose(1, 2)
        out = (k @ k.transpose(2, 3)).softmax(-1) @ k
        return out.transpose(1, 2).reshape(b, s, -1) + x

    def step(x):
        y = whet.utils.checkpoint.checkpoint(layer, x, use_reentrant=False) if checkpoint \
            else layer(x)
        loss = y.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()
    return step, [*project.parameters()]


@pytest.mark.parametrize("checkpoint", (False, True))
def test_recordings_that_share_one_of_two_sizes(checkpoint):
    """The second is of the first one's batch, the third of its length."""
    calls = Twice(lambda: attention(checkpoint))
    for b, s in [(5, 7), (5, 7), (5, 11), (3, 7), (3, 6), *((b, s) for b in (2, 4, 6, 7, 9)
                                                          for s in (8, 9, 12, 13))]:
        calls(whet.randn(b, s, 8))
    assert calls.unseen >= 16


def test_what_was_planned_for_fewer_sizes_goes_on():
    """A table of one size that varies serves its calls, beside what goes by two."""
    model = whet.nn.Sequential(whet.nn.Linear(8, 8), whet.nn.ReLU(), whet.nn.Linear(8, 8))
    calls = Twice(lambda: (lambda x: model(x) + x.mean(0), []))
    with whet.no_grad():
        for s in (7, 7, 11, *range(12, 40)):
            calls(whet.randn(5, s, 8))
        for b, s in [(3, 6), (4, 9), (5, 41), (6, 10), (5, 42), (5, 43), (2, 50), (5, 44)] * 2:
            calls(whet.randn(b, s, 8))
    assert calls.unseen >= 32


def test_a_plan_for_more_sizes_that_fails_leaves_the_one_there_is(monkeypatch):
    """It is tried once."""
    make, tried = families.Family.__init__, []

    def of_one_size(self, first, other):
        make(self, first, other)
        tried.append(len(self.sizes))
        if len(self.sizes) > 1:
            raise Unsized("it goes by two sizes")
    monkeypatch.setattr(families.Family, "__init__", of_one_size)
    calls = Twice(lambda: (lambda x: x.relu() @ x.T, []))
    for b, s in [(5, 7), (5, 11), (3, 6), (5, 12), (4, 8), (5, 13), (6, 9), (5, 14)]:
        calls(whet.randn(b, s))
    assert calls.traced.explain(data=True)["calls"]["replayed"] == 3 and tried == [1, 2]
