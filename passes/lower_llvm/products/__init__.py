"""Products of matrices: one canonical order of sums, and a kernel for each form of the operands."""
from __future__ import annotations
