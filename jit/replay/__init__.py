"""Recordings in use: does one hold for a call, and what its replay does.

Input: the arguments of a call, and the recordings with its key. Output: the result, computed
by the recorded program, recipe and effects. Fails: where a guard on data fails or memory is
short. Everything written is then put back, and the call is made eagerly."""
