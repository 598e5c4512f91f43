"""Why a call is not recorded or not replayed: the exceptions that say so, and the reasons they
carry, in the users' own names and lines.

Input: what was found. Output: a `Reason`, whose text says what was done, where, and what to write
instead.
"""
