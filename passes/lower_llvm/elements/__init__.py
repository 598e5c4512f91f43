"""Kernels over single elements: pointwise ones, optimizer steps, gathers."""
