"""The CTC loss against its recursion for one sequence at a time, with ragged lengths."""
import math

import numpy as np
import pytest
import whet
import whet.nn.functional as F
from whet.autograd import gradcheck, gradgradcheck

INS, OUTS = [6, 4, 6, 0, 0, 3], [3, 2, 0, 0, 1, 3]
LABELS = [[1, 1, 2], [3, 2, -7], [99, 0, 0], [0, 0, 0], [2, 0, 0], [1, 1, 1]]


def scores(dtype=whet.float64):
    whet.manual_seed(0)
    return F.log_softmax(whet.randn(6, len(INS), 4, dtype=dtype), -1)


def alone(lp, labels, blank=0):
    """Minus the log-probability of all alignments of one sequence."""
    states = [blank]
    for k in labels:
        states += [k, blank]
    alpha = np.full(len(states), -np.inf)
    alpha[0] = 0
    for t, row in enumerate(lp):
        new = np.full(len(states), -np.inf)
        for i, k in enumerate(states):
            if not t:
                new[i] = 0 if i < 2 else -np.inf
            else:
                skips = i >= 2 and k != blank and k != states[i - 2]
                for way in range(3 if skips else 2):
                    if i - way >= 0:
                        new[i] = np.logaddexp(new[i], alpha[i - way])
            new[i] += row[k]
        alpha = new
    return -np.logaddexp.reduce(alpha[-2:] if len(labels) else alpha[-1:])


@pytest.mark.parametrize("in_a_row", [False, True])
def test_losses_are_those_of_each_sequence(in_a_row):
    lp = scores()
    wanted = [alone(lp.numpy()[:n, b], LABELS[b][:m]) for b, (n, m) in enumerate(zip(INS, OUTS))]
    targets = [k for row, m in zip(LABELS, OUTS) for k in row[:m]] if in_a_row else LABELS
    found = F.ctc_loss(lp, whet.tensor(targets), INS, OUTS, reduction="none")
    assert np.allclose(found.numpy(), wanted) and math.isinf(wanted[4]) and math.isinf(wanted[5])
    finite = F.ctc_loss(lp, whet.tensor(targets), INS, OUTS, reduction="sum", zero_infinity=True)
    assert np.isclose(finite.item(), sum(x for x in wanted if x < math.inf))


def test_gradients_of_two_orders():
    lp = scores().requires_grad_()

    def f(lp):
        return F.ctc_loss(lp, whet.tensor(LABELS), INS, OUTS, zero_infinity=True)
    assert gradcheck(f, (lp,)) and gradgradcheck(f, (lp,))


def test_scores_of_minus_infinity_leave_other_alignments():
    lp = scores(whet.float32)
    lp[1:3, :, 2] = -math.inf
    lp.requires_grad_()
    loss = F.ctc_loss(lp, whet.tensor(LABELS), INS, OUTS, reduction="none")
    loss[:2].sum().backward()
    assert not whet.isnan(loss).any() and not whet.isnan(lp.grad[:, :2]).any()


def test_a_replay_takes_other_labels():
    traced = whet.jit.trace(lambda lp, y: F.ctc_loss(lp, y, [6] * 6, [2] * 6))
    lp = scores(whet.float32)
    for k in range(6):
        y = (whet.arange(12).reshape(6, 2) * (k + 1)) % 3 + 1
        assert whet.equal(traced(lp, y), F.ctc_loss(lp, y, [6] * 6, [2] * 6))
    assert "6 calls replayed" in traced.explain() or "5 of 6 calls replayed" in traced.explain()


@pytest.mark.parametrize("in_a_row", [False, True])
def test_tensors_of_lengths_give_what_lists_give(in_a_row):
    lp = scores().requires_grad_()
    targets = whet.tensor([k for row, m in zip(LABELS, OUTS) for k in row[:m]] if in_a_row else
                          LABELS)
    found = []
    for ins, outs in ((INS, OUTS), (whet.tensor(INS, dtype=whet.int32), whet.tensor(OUTS))):
        loss = F.ctc_loss(lp, targets, ins, outs, zero_infinity=True, reduction="sum")
        found.append((loss, *whet.autograd.grad(loss, lp)))
    assert all(whet.equal(a, b) for a, b in zip(*found))


def test_a_replay_takes_other_lengths():
    """Tensors of lengths are data, of the gradient, too: no call is recorded anew for them."""
    def step(lp, y, ins, outs):
        lp = lp.detach().requires_grad_()
        loss = F.ctc_loss(lp, y, ins, outs)
        return loss, *whet.autograd.grad(loss, lp)
    traced, lp = whet.jit.trace(step), scores(whet.float32)
    y = whet.arange(18).reshape(6, 3) % 3 + 1
    for k in range(8):
        ins, outs = 6 - (whet.arange(6) + k) % 3, (whet.arange(6) * (k + 1)) % 3
        assert all(whet.equal(a, b) for a, b in zip(
            traced(lp, y, ins, outs), step(lp, y, ins, outs)))
    assert "1 recording" in traced.explain()


def test_lengths_of_wrong_values_are_refused():
    lp = scores()
    for ins, outs, told in (([7] * 6, [2] * 6, "at most 6, but got value 7"),
                            ([6] * 6, [-1] * 6, "at least 0, but got value -1"),
                            ([6] * 6, [4] * 6, "at least 4, the longest")):
        for given in (list, whet.tensor):
            with pytest.raises(RuntimeError, match=told):
                F.ctc_loss(lp, whet.tensor(LABELS), given(ins), given(outs))
    for given in (list, whet.tensor):
        with pytest.raises(RuntimeError, match="to have size 12 at dimension 0"):
            F.ctc_loss(lp, whet.ones(11, dtype=whet.int64), [6] * 6, given([2] * 6))
