"""The lasting effects of a run: changes of Python's state, and the result of the call.

Input: the state before and after a recorded run, and what it returned.
Output: places that a replay sets again, and a recipe by which it builds the result.
A change that cannot be made again refuses the recording.
"""
