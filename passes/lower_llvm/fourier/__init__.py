"""Fourier transforms. Numbers lie in lanes of several transforms, or of several parts of one."""
