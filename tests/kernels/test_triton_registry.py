"""Tests made from the registry: what each op's samples launch on the CPU, forward and backward,
has the same bits as Triton kernels."""
import pytest
import whet
from whet.ops.registry import REGISTRY

from tests.ops.test_ops import TESTED, calls, run
from tests.triton_runs import listening, needs_triton

done: set = set()               # equal kernels on equal layouts are run once


@pytest.mark.drawn(2)
@needs_triton
@pytest.mark.parametrize("name", TESTED)
def test_what_an_op_launches_has_the_same_bits_in_triton(name, monkeypatch):
    op = REGISTRY[name]
    with listening(monkeypatch) as heard:
        for sample in calls(op, dtype=whet.float32):
            outs = run(op, sample)
            live = [
                o for i, o in enumerate(outs) if i not in op.nondiff_outputs and o.requires_grad]
            if live:
                leaves = [a for a in sample.args if whet.is_tensor(a) and a.requires_grad]
                whet.autograd.grad(live, leaves, [whet.ones_like(o) for o in live],
                                   allow_unused=True)
    assert heard.all or op.family not in ("pointwise", "reduce", "rows")
    heard.replay(done)
