"""Fourier transforms. The lanes of a vector belong to several transforms, or to parts of one."""
