"""What a recording depends on, and how it is compared before each replay.

Input: the arguments of a call, and the function with everything that it can reach.
Output: a signature of the arguments, and places outside with what they held. A call that differs
is a miss. What cannot be compared refuses the recording. `tables/` makes machine code compare.
"""
