"""What a recording depends on, and how it is looked at before each replay.

Input: the arguments of a call, and the function with all that it can reach.
Output: a signature of the arguments, a record of what was seen outside, and a table of both for
machine code. A call that is not as recorded is a miss. What cannot be looked at refuses the
recording.
"""
