"""Checks that replays do what the function does.

Input: a recording, and runs of the function on copies of the same inputs.
Output: nothing, or a small program that shows the difference and a recording that is given up.
"""
