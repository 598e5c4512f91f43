"""From a ModelProto to a plan of steps that whet runs.

Input: a graph with its initialisers, functions and subgraphs. Output: a `Plan`, in which names
are slots and nodes are steps. `operators/` defines what each operator does, a function each, whose
signature is the operator's. Fails if an operator, an attribute or an input is not as ONNX has
it: all of a model's faults are listed together, before anything runs.
"""
