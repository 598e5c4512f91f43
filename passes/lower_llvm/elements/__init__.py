"""Kernels over single elements: pointwise ones, optimizer steps, gathers."""
from __future__ import annotations
