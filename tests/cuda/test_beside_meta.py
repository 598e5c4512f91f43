"""Tensors of GPUs beside tensors on `meta`, whichever were asked for first."""
import copy
import os
import subprocess
import sys

import pytest
import whet

PROGRAM = """
import whet
def cuda():
    x = whet.arange(6.0, device="cuda").reshape(2, 3)
    assert (x @ x.T + x[:, [0, 1]]).cpu().tolist() == [[5.0, 15.0], [17.0, 54.0]]
    assert x.sort(descending=True)[0].cpu().tolist() == [[2.0, 1.0, 0.0], [5.0, 4.0, 3.0]]
    assert x.is_cuda and not x.is_meta and x[x > 1].numel() == 4
def meta():
    x = whet.empty(2, 3, device="meta")
    assert (x @ x.T + x[:, [0, 1]]).shape == (2, 2) and x.is_meta and not x.is_cuda
for part in {}:
    part()
"""


@pytest.mark.parametrize("order", ["(cuda, meta, cuda)", "(meta, cuda, meta)"])
def test_in_either_order(order):
    subprocess.run([sys.executable, "-c", PROGRAM.format(order)], check=True,
                   env={**os.environ, "WHET_GPU": "sim"})


def test_ways_between_them(gpus):
    x = whet.ones(2, 3).T.cuda()
    t = x.to("meta")
    assert t.is_meta and t.stride() == x.stride()
    assert whet.empty_like(t, device="cuda").is_cuda
    assert t.copy_(x) is t
    for copy_out in (lambda: t.cuda(), lambda: x.copy_(t)):
        with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
            copy_out()
    for one, other in ((x, t), (t, x)):
        for mixed in (lambda a, b: a + b, lambda a, b: a.add_(b)):
            with pytest.raises(RuntimeError, match="is not on the expected device"):
                mixed(one, other)


def test_copies_share_what_tensors_shared(gpus):
    for device in ("cuda", "meta"):
        x = whet.ones(3, device=device)
        one, other = copy.deepcopy([x, x.detach()])
        assert one._array is other._array is not x._array
