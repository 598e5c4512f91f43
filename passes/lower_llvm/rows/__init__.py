"""Kernels over rows of elements: reductions, norms, softmax, running sums, sorting."""
