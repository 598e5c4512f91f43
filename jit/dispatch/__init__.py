"""Dispatches a call of a traced function: finds its key, the recording that holds for it, and what
to do if there is none.

Input: the arguments of a call that no table in machine code fits.
Output: the result, by a replay, by an eager call, or by an eager call that is recorded.
Calls are eager where tracing does not pay, where it was refused, and while it is switched off.
"""
