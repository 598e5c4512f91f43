"""A real run of the function, written down as it happens.

Comes in: the function and the arguments of one call, which runs as eager code does.
Goes out: the nodes of the run, and stand-ins for what is another value at each call: numbers,
arrays, texts, random streams. What acts outside of the framework, or reads what nobody can compare,
refuses the recording.
"""
