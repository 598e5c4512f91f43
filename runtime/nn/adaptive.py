"""Softmax over many classes of unequal frequency."""
from collections import namedtuple

import whet

from . import functional as F
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities by way of a small head (the frequent classes, and one entry a cluster) and
    a projection for each cluster of rare classes.

    >>> import whet
    >>> from whet import nn
    >>> m = nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10])
    >>> m.log_prob(whet.ones(3, 16)).shape
    whet.Size([3, 20])
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None,
                 dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (cutoffs != sorted(set(cutoffs)) or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1
                or any(int(c) != c for c in cutoffs)):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1")
        kind = {"device": device, "dtype": dtype}
        self.in_features, self.n_classes, self.div_value = in_features, n_classes, div_value
        self.head_bias = head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inside = int(in_features // div_value ** (i + 1))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, inside, bias=False, **kind),
                           Linear(inside, size, bias=False, **kind)))

    def reset_parameters(self):
        """As the linear layers."""
        self.head.reset_parameters()
        for projection, out in self.tail:
            projection.reset_parameters()
            out.reset_parameters()

    def forward(self, input, target):
        """(log-probability of each target, their negated mean)"""
        if (input.ndim, target.ndim) not in ((2, 1), (1, 0)):
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported" if target.ndim >
                1 else
                f"AdaptiveLogSoftmaxWithLoss: input of {input.ndim}D needs a target of "
                f"{input.ndim - 1}D, got {target.ndim}D")
        single = target.ndim == 0
        if single:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        if input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if target.numel() and (int(target.min()) < 0 or int(target.max()) >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{int(target.min())}, {int(target.max())}] were found. ")
        output = input.new_zeros((input.shape[0],))
        # where the head has the target, or its cluster
        entry = target
        for i in range(self.n_clusters):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel():
                entry = entry.index_fill(0, rows, self.shortlist_size + i)
                logprob = F.log_softmax(self.tail[i](input.index_select(0, rows)), 1)
                output = output.index_add(
                    0, rows, logprob.gather(1, (target[rows] - low).unsqueeze(1)).squeeze(1))
        head = F.log_softmax(self.head(input), 1)
        output = output + head.gather(1, entry.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, 1)
        parts = [head[:, :self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            parts.append(
                F.log_softmax(tail(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return whet.cat(parts, 1)

    def log_prob(self, input):
        """Log-probabilities of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input):
        """The likeliest class of each row (all classes are computed only where the head points
        to a cluster)."""
        head = self.head(input)
        best = head.argmax(1)
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel():
            full = self._get_full_log_prob(input.index_select(0, rows), head.index_select(0, rows))
            best[rows] = full.argmax(1)
        return best
