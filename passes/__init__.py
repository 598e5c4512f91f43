"""Passes from a list of recorded nodes to a list of fused ones, and the lowering of those to code.

Input: a `Listing`, which is nodes in order and what is known of their values (`listing.py`).
Output: another `Listing` whose nodes are kernels; `lower_llvm/` and `lower_triton/` write them.
`pipeline.py` has the passes in order. Each is a function in a file of its own, whose docstring
shows a list before and after it. Files that are no pass: `value_uses.py` answers who reads and
writes what, `fusion_memory.py` what a fusion costs in memory. `partition.py` divides what a forward
keeps from what its backward computes again. `repeat_for_sizes.py` repeats all decisions for other
sizes, and `compare_nodes.py` says whether two recorded lists are one.
"""

