"""The CTC loss: of sequences of scores whose alignment with their labels is not known."""
import math

from ..dtypes import INT, float32, int64
from ..ir import scalar as s
from .autocast_to_float32 import precise
from .loss import reduced
from .pointwise_family import PointwiseOp
from .registry import is_tensor
from .sample_inputs import reals
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

    ins = _ctc_lengths("input_lengths", input_lengths, batch, steps)
    outs = _ctc_lengths("target_lengths", target_lengths, batch)
    if not 0 <= blank < classes:
        raise RuntimeError(
            f"ctc_loss(): blank must be in label range, 0 to {classes - 1}, got {blank}")
    _ctc_check_targets(targets, batch, outs)
    r = _ctc_losses(lp, _ctc_labels(targets, outs, blank), ins, outs, blank)
    if zero_infinity:
        r = F["where"](r == math.inf, 0.0, r)
    if reduction == "mean":
        n = F["tensor"]([max(m, 1) for m in outs], dtype=r.dtype, device=r.device)
        return (r / n).mean()
    return reduced(r.squeeze(0) if single and reduction == "none" else r, reduction)


def _ctc_lengths(name, lengths, batch, most=math.inf):
    """Lengths as ints, one for each sequence of the batch, none above `most`."""
    if is_tensor(lengths):
        if lengths.dtype.kind != INT:
            raise RuntimeError(f"ctc_loss(): {name} must be integral, got {lengths.dtype}")
        lengths = lengths.reshape(-1).tolist()
    found = [int(i) for i in (lengths if isinstance(lengths, list | tuple) else [lengths])]
    if len(found) != batch:
        raise RuntimeError(
            f"ctc_loss(): {name} must be of size batch_size, {batch}, got {len(found)}")
    for n in found:
        if not 0 <= n <= most:
            bound = "least 0" if n < 0 else f"most {most}"
            raise RuntimeError(
                f"ctc_loss(): Expected {name} to have value at {bound}, but got value {n}")
    return found


def _ctc_check_targets(targets, batch, lengths):
    """Raise an error where targets do not have the labels that their lengths tell of: a row for
    each sequence, or all labels in one."""
    if targets.ndim == 1:
        if targets.shape[0] != sum(lengths):
            raise RuntimeError(
                f"ctc_loss(): Expected targets to have size {sum(lengths)} at dimension 0, the sum "
                f"of target_lengths, but got size {targets.shape[0]}")
    elif targets.shape[0] != batch or targets.shape[1] < max(lengths, default=0):
        raise RuntimeError(
            f"ctc_loss(): Expected targets to have size {batch} at dimension 0 and at least "
            f"{max(lengths, default=0)}, the longest of target_lengths, at dimension 1, "
            f"but got {targets.shape}")


def _ctc_labels(targets, lengths, blank):
    """A row of labels for each sequence, with blanks behind its own."""
    most = max(lengths, default=0)
    count = F["arange"](most, device=targets.device)
    if targets.ndim == 1:
        starts = [sum(lengths[:b]) for b in range(len(lengths))]
        at = F["tensor"](starts, dtype=int64, device=targets.device).unsqueeze(1) + count
        rows = targets[at.clamp(max=max(sum(lengths) - 1, 0))] if most else at
    else:
        rows = targets[:, :most]
    own = count < F["tensor"](lengths, dtype=int64, device=targets.device).unsqueeze(1)
    return F["where"](own, rows.to(int64), blank)


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


def _ctc_losses(lp, labels, ins, outs, blank):
    """The forward recursion over labels with blanks between them, in log space, of all sequences
    at once."""
    if lp.dtype.itemsize == 2:
        return _ctc_losses(lp.to(float32), labels, ins, outs, blank).to(lp.dtype)
    steps, batch, _ = lp.shape
    states = 2 * labels.shape[1] + 1
    at = {"device": lp.device}
    blanks = F["full"]((batch, labels.shape[1] + 1), blank, dtype=int64, **at)
    pairs = F["stack"]([blanks[:, 1:], labels], 2).flatten(1)
    extended = F["cat"]([pairs, blanks[:, :1]], 1)
    before = F["cat"]([extended[:, :2], extended[:, :-2]], 1)
    barred = F["where"]((extended == blank) | (extended == before), LOWEST, 0.0).to(lp.dtype)
    scores = F["gather"](lp, 2, extended.unsqueeze(0).expand(steps, -1, -1)).unbind(0)
    nowhere = F["full"]((batch, 2), LOWEST, dtype=lp.dtype, **at)
    # a sequence of no steps is done where it has no labels
    number = F["arange"](states, **at)
    alpha = F["where"](number < 1, 0.0, LOWEST).to(lp.dtype).expand(batch, states)
    lengths = F["tensor"](ins, dtype=int64, **at).unsqueeze(1)
    for t in range(max(ins, default=0)):
        if t:
            behind = F["cat"]([nowhere, alpha], 1)
            new = ctc_advance(alpha, behind[:, 1:-1], behind[:, :-2], barred, scores[t])
        else:
            first = F["where"](number < 2, 0.0, LOWEST).to(lp.dtype)
            new = scores[0] + first
        alpha = new if t < min(ins, default=0) else F["where"](t < lengths, new, alpha)
    ends = F["tensor"]([[2 * m, max(2 * m - 1, 0)] for m in outs], dtype=int64, **at)
    last = F["gather"](alpha, 1, ends)
    # without labels there is one end
    alone = F["tensor"]([[0.0, 0.0 if m else LOWEST] for m in outs], dtype=lp.dtype, **at)
    total = F["logsumexp"](last + alone, 1)
    return F["where"](total < LOWEST / 2, math.inf, -total)
