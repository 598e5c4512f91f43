"""Facts of Python's values. Which types are immutable? Whose code is a function? What do instances
hold? Which numbers and texts vary between calls? When are two arrays equal to the bit?

Input: one value. Output: a fact about it. Nothing here records a run or compares two calls, so
every other package of the tracer may use it.
"""
