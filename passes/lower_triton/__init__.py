"""Kernels to Triton source text, and that text to a cubin or through Triton's interpreter.

Input: the kernels of `ir/` that the CPU's lowering takes. Output: a `Source`, which is text
and what its parameters are (`source.py`). `compile.py` makes a cubin of it, `simulate.py` runs it
without a GPU. Results have the CPU's bits.
Nothing here imports triton before it is asked to.
"""
