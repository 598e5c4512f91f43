"""Records a real run of the function.

Input: the function and the arguments of one call, which runs as eager code does. Output: the
nodes of the run, and stand-ins for everything that differs between calls: numbers, arrays, texts,
random streams. A run that acts outside of the framework, or reads what nobody can compare, is not
recorded."""
