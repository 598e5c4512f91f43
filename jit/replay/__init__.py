"""A recording when it is used: does it fit the call, and what its replay does.

Comes in: the arguments of a call, and the recordings of their kind.
Goes out: the result, by the program, the recipe and the effects that were recorded.
Gives up: where a guard on data fails or memory is short. What was written is put back then, and the
call is made eagerly.
"""
