"""The CTC loss: of sequences of scores whose alignment with their labels is not known.

The states of an alignment are the labels with blanks between them. All steps of all sequences are
one op, and so are those of its gradient. Lengths are data: none of them is a number that Python
goes on from, but for what is wrong with it.
"""
import functools
import math

from ..autograd.engine import grad
from ..cpu import memory, neighbour_steps, taped_launches
from ..cpu.neighbour_steps import Read, Steps
from ..cpu.pointwise import move
from ..cpu.rows import contiguous
from ..dtypes import INT, float32, float64, int64
from ..ir import scalar as s
from .autocast_to_float32 import precise
from .batching import native
from .from_data import tensor
from .gradients_by_decomposition import by_decomposition
from .loss import reduced
from .onnx import sort_and_scan as in_onnx
from .pad import pad
from .pointwise_family import PointwiseOp
from .registry import Op, apply, is_tensor
from .sample_inputs import Sample, reals
from .surface import FUNCTIONS as F
from .surface import function


@function(method=False)
@precise
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean",
             zero_infinity=False):
    """Connectionist temporal classification: minus the log-probability of all alignments of the
    targets.

    >>> import whet
    >>> import whet.nn.functional as F
    >>> log_probs = whet.zeros(4, 1, 3).log_softmax(-1)
    >>> F.ctc_loss(log_probs, whet.tensor([[1, 2]]), [4], [2])
    tensor(0.8432)
    """
    single = log_probs.ndim == 2
    lp = log_probs.unsqueeze(1) if single else log_probs
    if lp.ndim != 3:
        raise RuntimeError(f"ctc_loss(): Expected 2 or 3 dimensions of log_probs, got {lp.ndim}")
    steps, batch, classes = lp.shape

    if not 0 <= blank < classes:
        raise RuntimeError(
            f"ctc_loss(): blank must be in label range, 0 to {classes - 1}, got {blank}")
    ins, _ = _lengths("input_lengths", input_lengths, batch, steps, lp.device)
    outs, numbers = _lengths("target_lengths", target_lengths, batch, None, lp.device)
    _check_targets(targets, batch, outs, numbers)
    r = _losses(lp, _labels(targets, outs, numbers, blank), ins, outs, blank)
    if zero_infinity:
        r = F["where"](r == math.inf, 0.0, r)
    if reduction == "mean":
        return (r / outs.clamp(min=1).to(r.dtype)).mean()
    return reduced(r.squeeze(0) if single and reduction == "none" else r, reduction)


def _lengths(name, lengths, batch, most, device):
    """(lengths as integers of 64 bits, one for each sequence of the batch, none above `most`; the
    same as numbers, where they were given so)."""
    numbers = None
    if is_tensor(lengths):
        if lengths.dtype.category != INT:
            raise RuntimeError(f"ctc_loss(): {name} must be integral, got {lengths.dtype}")
        found = lengths.reshape(-1).to(device=device, dtype=int64)
    else:
        numbers = [int(i) for i in (lengths if isinstance(lengths, list | tuple) else [lengths])]
        found = F["tensor"](numbers, dtype=int64, device=device)
    if found.shape[0] != batch:
        raise RuntimeError(
            f"ctc_loss(): {name} must be of size batch_size, {batch}, got {found.shape[0]}")
    wrong = found < 0 if most is None else (found < 0) | (found > most)
    if (wrong.any() if numbers is None else any(
            n < 0 or most is not None and n > most for n in numbers)):
        first = found[wrong][0].item()
        bound = "least 0" if first < 0 else f"most {most}"
        raise RuntimeError(
            f"ctc_loss(): Expected {name} to have value at {bound}, but got value {first}")
    return found, numbers


def _check_targets(targets, batch, lengths, numbers):
    """Raise an error where targets do not have the labels that their lengths tell of: a row for
    each sequence, or all labels in one."""
    size = targets.shape[-1]
    if targets.ndim == 1:
        if (lengths.sum() != size).any() if numbers is None else sum(numbers) != size:
            raise RuntimeError(
                f"ctc_loss(): Expected targets to have size {lengths.sum().item()} at dimension 0, "
                f"the sum of target_lengths, but got size {size}")
    elif targets.shape[0] != batch or (
            (lengths > size).any() if numbers is None else max(numbers, default=0) > size):
        longest = max(lengths.tolist(), default=0)
        raise RuntimeError(
            f"ctc_loss(): Expected targets to have size {batch} at dimension 0 and at least "
            f"{longest}, the longest of target_lengths, at dimension 1, but got {targets.shape}")


def _labels(targets, lengths, numbers, blank):
    """A row of labels for each sequence, with blanks behind its own."""
    each = lengths.unsqueeze(1)
    number = F["arange"](targets.shape[-1], device=targets.device)
    if numbers is not None:
        number = number[:max(numbers, default=0)]
    elif targets.ndim == 1:
        # the longest is as long as there are numbers below some length
        number = number[(number < each).any(0)]
    own = number < each
    if targets.ndim == 1:
        rows = targets[(lengths.cumsum(0).unsqueeze(1) - each + number).where(own, 0)]
    else:
        rows = targets[:, :number.shape[0]]
    return F["where"](own, rows.to(int64), blank)


def _losses(lp, labels, ins, outs, blank):
    """The forward recursion over labels with blanks between them, in log space, of all sequences
    at once."""
    if lp.dtype.itemsize == 2:
        return _losses(lp.to(float32), labels, ins, outs, blank).to(lp.dtype)
    blanks = F["full"]((*labels.shape, 1), blank, dtype=int64, device=lp.device)
    pairs = F["cat"]([blanks, labels.unsqueeze(2)], 2).flatten(1)
    extended = pad(pairs, (0, 1), value=blank)
    before = F["cat"]([extended[:, :2], extended[:, :-2]], 1)
    barred = ((extended == blank) | (extended == before)).to(lp.dtype) * LOWEST
    places = extended.unsqueeze(1).expand(-1, lp.shape[0], -1)
    scores = F["gather"](lp.transpose(0, 1), 2, places)
    if lp.device.type == "cpu" and lp.dtype in (float32, float64):
        last, _ = apply(alignments_op, (scores, _start(scores), barred, ins), {})
    else:
        last = _by_ops(scores, _start(scores), barred, ins)
    end = 2 * outs.unsqueeze(1)
    # without labels there is one end
    other = F["gather"](last, 1, (end - 1).clamp(min=0)).where(end > 0, LOWEST)
    total = F["logsumexp"](F["cat"]([F["gather"](last, 1, end), other], 1), 1)
    return F["where"](total < LOWEST / 2, math.inf, -total)


def _ctc_advance(stay, step, skip, barred, score):
    """The log of all ways to a label: from itself, from the one before, from the one before that
    where the step is not barred (then a number as low as can be is added)."""
    skip = skip + barred
    most = s.maximum(s.maximum(stay, step), skip)
    most = s.maximum(most, LOWEST)
    total = s.exp(stay - most) + s.exp(step - most) + s.exp(skip - most)
    return s.log(total) + most + score


def _ctc_slopes(g, y, stay, step, skip, barred, score):
    """The part of each way in all of them."""
    before = s.where(y > 1e8 * LOWEST, y - score, 0)      # what is impossible has no slope
    third = g * s.exp(skip + barred - before)
    return [g * s.exp(stay - before), g * s.exp(step - before), third, third, g]


LOWEST = -1e30                  # the log of nothing, in sums that must stay numbers
ctc_advance = PointwiseOp("ctc_advance", _ctc_advance, vjp=_ctc_slopes, kinds="f",
                          samples=(reals(-3, 0),) * 5)


# ---- all steps as one op -------------------------------------------------------------------------
def _filled(scores, lengths):
    """Memory for the states before each step and after the last, and the lengths, dense."""
    *batch, steps, states = scores.shape
    return memory.empty((*batch, steps + 1, states), scores.dtype), contiguous(lengths)


def _forward(scores, first, barred, lengths):
    """(the states after the last step, those before each step and that after the last)."""
    alphas, lengths = _filled(scores, lengths)
    move(alphas[..., 0, :], first)
    elem = neighbour_steps.ELEMENTS[scores.dtype]
    neighbour_steps.run(forward_steps(elem), lengths,
                        [alphas, contiguous(scores), contiguous(barred)])
    last = memory.empty(first.shape, scores.dtype)
    move(last, alphas[..., -1, :])
    return last, alphas


@functools.lru_cache
def forward_steps(elem):
    """What a step does with an alignment's states, which lie in a row."""
    ways = [Read(0, 0, -way, LOWEST) for way in range(3)]
    return Steps(elem, (1, 0, None), (*ways, Read(2, None), Read(1, 0)),
                 _ctc_advance(*map(s.arg, range(5))))


def _backward(g, alphas, scores, _first, barred, lengths):
    """The gradients of the scores, and of the states before the first step, from that of the states
    after the last."""
    made, lengths = _filled(scores, lengths)
    taped_launches.partial(made)
    move(made[..., -1, :], g)
    slopes = memory.empty(scores.shape, scores.dtype)
    elem = neighbour_steps.ELEMENTS[scores.dtype]
    neighbour_steps.run(backward_steps(elem), lengths, [
        made, contiguous(alphas), contiguous(scores), contiguous(barred), slopes])
    start = memory.empty(g.shape, g.dtype)
    move(start, made[..., 0, :])
    return slopes, start


@functools.lru_cache
def backward_steps(elem):
    """The step back: a state's gradient is the sum of its parts in the three that go on from it."""
    reads, total = [Read(1, 0)], s.lift(0.0)
    for way in range(3):
        # outside of the row there is nothing to have a part of: the exponential is zero
        reads += [Read(0, 1, way), Read(1, 1, way, -LOWEST), Read(2, 0, way), Read(3, None, way)]
        g, y, score, barred = (s.arg(len(reads) - 4 + i) for i in range(4))
        part = _ctc_slopes(g, y, s.arg(0), s.arg(0), s.arg(0), barred, score)[way]
        total = total + part
    return Steps(elem, (1, 1, 0, None, 0), tuple(reads), total, s.arg(1), back=True)


def _by_ops(scores, first, barred, lengths):
    """The states after the last step, step by step in ops: for devices, and for gradients of
    gradients."""
    alpha, rows = first, scores.unbind(-2)
    nowhere = first.new_full((*first.shape[:-1], 2), LOWEST)
    for t, score in enumerate(rows):
        behind = F["cat"]([nowhere, alpha], -1)
        new = ctc_advance(alpha, behind[..., 1:-1], behind[..., :-2], barred, score)
        alpha = F["where"]((t < lengths).unsqueeze(-1), new, alpha)
    return alpha


def _backward_by_ops(g, _alphas, scores, first, barred, lengths):
    """The gradients, step by step in ops: for devices, and for gradients of gradients."""
    scores, first = (
        x if x.requires_grad else x.detach().requires_grad_() for x in (scores, first))
    last = _by_ops(scores, first, barred, lengths)
    return grad(last, [scores, first], g, create_graph=True)


def _start(scores):
    """The states before the first step: all alignments begin with the blank in front."""
    number = F["arange"](scores.shape[-1], device=scores.device)
    start = F["where"](number < 1, 0.0, LOWEST).to(scores.dtype)
    return start.expand(*scores.shape[:-2], scores.shape[-1])


_gradients_by_ops = by_decomposition(_by_ops)


def _vjp(g, y, scores, first, barred, lengths, *, needs):
    if needs[2]:            # only tests ask for it
        return _gradients_by_ops(g[0], None, scores, first, barred, lengths, needs=needs)
    return [*apply(backward_op, (g[0], y[1], scores, first, barred, lengths), {}), None, None]


def _samples(make):
    for steps, batch, states in ((3, (2,), 5), (4, (2, 1), 3), (2, (1,), 19)):
        barred = make(*batch, states).sign().clamp(max=0) * -LOWEST
        lengths = tensor([steps, steps - 1][:batch[0]]).reshape(batch)
        yield Sample(make(*batch, steps, states), make(*batch, states), barred, lengths)


alignments_op = Op("alignments", _forward, _vjp, samples=_samples, nondiff_outputs=(1,),
                   batch=native, onnx=in_onnx.alignments)
backward_op = Op("alignments_backward", _backward, by_decomposition(_backward_by_ops), inner=True,
                 batch=native)
for _o in (alignments_op, backward_op):
    _o.family, _o.total, _o.launches, _o.any_sizes = "scan", True, True, True
