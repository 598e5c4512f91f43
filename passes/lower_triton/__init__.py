"""Kernels to Triton source text, and that text to a cubin or through Triton's interpreter.
Nothing here imports triton before it is asked to."""
