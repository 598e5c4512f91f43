"""Checks that replays do what the function does.

Comes in: a recording, and runs of the function on copies of the same inputs.
Goes out: nothing, or a small program that shows the difference and a recording that is given up.
"""
