"""What recordings know of Python's values: which types never change, whose code a function is, what
instances hold, which numbers and texts vary between calls, when two arrays are equal to the bit.

Input: one value. Output: a fact about it. Nothing here records a run or compares two calls, so
every other package of the tracer may use it.
"""
