"""Products of matrices: one canonical order of sums, and a kernel for each form of the operands.

Input: element types and how operands lie, from the plans of `runtime/cpu/gemm.py` and its
neighbours. Output: a kernel whose work units those plans share out.

    gemm.py            the usual one, with what is computed of each element as it is stored
    few_rows.py        few rows, whose matrix is read once
    one_row.py         one row or column, in an order of sums of its own
    small_matrices.py  many small matrices
    recurrences.py     a product a step, all steps in one launch
    sparse.py          operands that are lists of entries
    distances.py       sums over differences of rows

`pack.py` has the copies that bring operands into the order of register tiles.
"""
from __future__ import annotations
