"""Gradients that leave a traced call.

Input: the recorded run, and eager's graph behind its results.
Output: one node in front of which a second program computes the backward, or eager's own graph,
made again. Hooks and nodes whose backward only Python knows refuse the recording.
"""
