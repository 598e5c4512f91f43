"""Records a real run of the function.

Input: the function and the arguments of one call, which runs as eager code does. Output: the
nodes of the run. Whatever differs between calls (numbers, arrays, texts, random streams) is
replaced by stand-ins meanwhile (`stand_ins/`). A run that acts outside of the framework, or reads
what cannot be compared, is not recorded."""
