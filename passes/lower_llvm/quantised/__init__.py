"""Products and convolutions of 8-bit integers, with sums of 32 bits.

A sum of products of integers is exact modulo 2**32 in any order, so all machines give the same
bits by nature. What follows a sum (`epilogue.py`) is a few roundings of float32, stated there.
"""
